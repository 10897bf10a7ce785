//! Hostile patterns: legal in Go, or just beyond its limits.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use pleach_regex::{ErrorCode, Regex};

/// The maximum memory of the automata of one pattern.
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

/// The steps of a search, automata included, and whether they were enough.
fn steps(regex: &Regex, text: &str, limit: u64, all: bool) -> (u64, bool) {
    let mut left = limit;
    let enough = if all {
        regex.find_all_within(text, None, &mut left).is_ok()
    } else {
        regex.is_match_within(text, &mut left).is_ok()
    };
    (limit - left, enough)
}

#[test]
fn searches_are_metered() {
    const LIMIT: u64 = 1_000_000;
    let text = |n: usize| "x".repeat(n);
    for (why, pattern, all, growth) in [
        ("each match looks at the rest", "x*y|x", true, 4.0),
        ("the same, matching nothing", "(x*y)?", true, 4.0),
        ("the same with more to it", "(?:x+x+)+y|x", true, 4.0),
        ("words", "x{1,10}", true, 2.0),
        ("one long match", "x+", true, 2.0),
        ("no match", "y", true, 2.0),
        ("a test", "(x+x+)+y", false, 2.0),
        ("a test beyond the complete automaton", "(x|y)*y(x|y){30}", false, 2.0),
        ("the machine of last resort", r"\pL{0,1000}\pL{0,1000}y", false, 3.0),
    ] {
        let regex = Regex::new(pattern).unwrap();
        // Automata are built once.
        steps(&regex, &text(1_000), u64::MAX, all);
        let ((few, _), (twice, _)) =
            (steps(&regex, &text(1_000), u64::MAX, all), steps(&regex, &text(2_000), u64::MAX, all));
        let grows = twice as f64 / few as f64;
        assert!(
            (growth * 0.8..growth * 1.2).contains(&grows),
            "{why}: {few} steps, {twice} for twice as much"
        );
        let (taken, enough) = steps(&regex, &text(20_000), LIMIT, all);
        assert!(taken <= LIMIT, "{why}");
        let linear = 20 * few;
        assert_eq!(enough, if growth > 2.0 { false } else { linear < LIMIT }, "{why}: {taken} steps");
    }
}

#[test]
fn state_construction_is_metered() {
    // Every byte leads to a new state.
    let mut seed = 1u64;
    let text: String = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if seed >> 63 == 0 { 'a' } else { 'b' }
    })
    .take(5_000)
    .collect();
    let regex = Regex::new("(a|b)*a(a|b){500}c").unwrap();
    let (taken, _) = steps(&regex, &text, u64::MAX, false);
    assert!(taken > 100 * text.len() as u64, "{taken} steps for {} bytes", text.len());
    assert_eq!(steps(&regex, &text, 100_000, false), (100_000, false));
}

#[test]
fn building_is_counted() {
    let regex = Regex::new("(a{1,100}b{1,100}){1,9}").unwrap();
    assert_eq!(steps(&regex, "a", 1_000, false), (1_000, false), "nothing is built that is not paid for");
    assert_eq!(regex.memory(), 0);
}
