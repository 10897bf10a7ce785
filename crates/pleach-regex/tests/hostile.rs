//! Patterns made to hurt: legal in Go, or just beyond its limits.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use pleach_regex::{ErrorCode, Regex};

/// What the automata of one pattern may take.
const BOUND: usize = 96 << 20;

#[test]
fn large_patterns_stay_within_bounds() {
    for (why, pattern, matching, other) in [
        ("a Unicode class a thousand times", r"^\pL{0,1000}$", "é", "1"),
        ("the same under a count", r"^(\pL{0,500}){2}$", "aé", "a1"),
        ("a DFA would have 2^20 states", "(a|b)*a(a|b){20}$", "abbbbbbbbbbbbbbbbbbbb", "b"),
        ("classes that ignore case", r"^(?i)[\p{Lu}\p{Greek}]{1000}$|^x$", "x", "y"),
        ("empty loops", "^(((a*)*)*)*$", "aaa", "b"),
    ] {
        let regex = Regex::new(pattern).unwrap();
        assert!(regex.is_match(matching), "{why}");
        assert!(!regex.is_match(other), "{why}");
        assert!(regex.find(matching).is_some(), "{why}");
        assert!(regex.memory() < BOUND, "{why}: {} bytes", regex.memory());
    }
}

#[test]
fn the_largest_program_go_allows() {
    let regex = Regex::new(&r"(?:\pL{1000})".repeat(2000)).unwrap();
    assert!(!regex.is_match("abc"));
    assert!(regex.memory() < BOUND, "{} bytes", regex.memory());
    let more = Regex::new(&r"(?:a{1000})".repeat(3356)).unwrap_err();
    assert_eq!(more.code(), ErrorCode::Large);
}

#[test]
fn the_deepest_pattern_go_allows() {
    for (open, close) in [("(", ")"), ("(?:", ")*"), ("(x|", ")+?")] {
        let levels = if open == "(x|" { 333 } else { 999 };
        let pattern = open.repeat(levels) + "a" + &close.repeat(levels);
        let regex = Regex::new(&pattern).unwrap();
        assert!(regex.is_match("a"), "{open}");
        assert_eq!(regex.find("a"), Some(0..1), "{open}");
        let more = open.repeat(1001) + "a" + &close.repeat(1001);
        assert_eq!(Regex::new(&more).unwrap_err().code(), ErrorCode::NestingDepth, "{open}");
    }
}

#[test]
fn many_different_classes() {
    let class = |n: u32| format!("[\\pL\\x{{{n:x}}}]");
    let pattern: String = (0xf_0000..0xf_5000).map(class).collect();
    assert_eq!(Regex::new(&pattern).unwrap_err().code(), ErrorCode::Large);
}

#[test]
fn a_long_text_takes_linear_time() {
    let regex = Regex::new("^(a+)+$").unwrap();
    assert!(!regex.is_match(&("a".repeat(1 << 20) + "b")));
}
