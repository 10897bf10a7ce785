use super::*;
use crate::{json, to_string};

#[test]
fn numbers_are_integers_or_floats_as_kubernetes_tells_them_apart() {
    let cases: [(&str, Value, &str); 18] = [
        ("0", Value::Int(0), "an integer"),
        ("-0", Value::Int(0), "minus zero is the integer zero"),
        ("1.0", Value::Float(1.0), "a point makes a float"),
        ("1e3", Value::Float(1000.0), "an exponent makes a float"),
        ("1E+3", Value::Float(1000.0), "signed exponent"),
        ("-0.0", Value::Float(-0.0), "a float keeps its sign"),
        ("999999999999999999", Value::Int(999_999_999_999_999_999), "eighteen digits"),
        ("9223372036854775807", Value::Int(i64::MAX), "the largest integer"),
        ("-9223372036854775808", Value::Int(i64::MIN), "the smallest integer"),
        ("9223372036854775808", Value::Float(9_223_372_036_854_775_808.0), "one more is a float"),
        ("-9223372036854775809", Value::Float(-9_223_372_036_854_775_808.0), "one less is a float"),
        ("18446744073709551615", Value::Float(18_446_744_073_709_551_615.0), "uint64 is a float"),
        ("1e-400", Value::Float(0.0), "underflow is zero"),
        ("1e308", Value::Float(1e308), "near the end of the range"),
        ("0.1e1", Value::Float(1.0), "fraction and exponent"),
        ("12345678901234567890", Value::Float(12_345_678_901_234_567_890.0), "twenty digits"),
        ("2.2250738585072011e-308", Value::Float(2.225_073_858_507_201e-308), "hard to round"),
        ("-1", Value::Int(-1), "negative"),
    ];
    for (text, value, why) in cases {
        let parsed = parse(text.as_bytes()).expect(why);
        assert_eq!(parsed, value, "{text}: {why}");
        if let (Value::Float(a), Value::Float(b)) = (&parsed, &value) {
            assert_eq!(a.is_sign_negative(), b.is_sign_negative(), "{text}: {why}");
        }
    }
}

#[test]
fn strings_are_repaired_as_go_repairs_them() {
    let cases: [(&[u8], &str, &str); 14] = [
        (br#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t", "short escapes"),
        (br#""\u00e9\u20AC""#, "é€", "hexadecimal in both cases"),
        (br#""\ud83d\ude00""#, "😀", "a surrogate pair"),
        (br#""\ud800""#, "\u{fffd}", "a lone first half"),
        (br#""\ude00x""#, "\u{fffd}x", "a lone second half"),
        (br#""\ud800\ud83d\ude00""#, "\u{fffd}😀", "the second escape starts a pair of its own"),
        (br#""\ud800\u0041""#, "\u{fffd}A", "the second escape is a plain character"),
        (br#""\u0000""#, "\0", "zero"),
        (b"\"a\xffb\"", "a\u{fffd}b", "a byte that is never UTF-8"),
        (b"\"\xe2\x82\"", "\u{fffd}\u{fffd}", "each byte of a cut sequence"),
        (b"\"\xed\xa0\x80\"", "\u{fffd}\u{fffd}\u{fffd}", "an encoded surrogate"),
        (b"\"\xf0\x9f\x98\x80\xff\"", "😀\u{fffd}", "valid before invalid"),
        (b"\"\x7f\"", "\x7f", "delete is an ordinary character"),
        ("\"0123456789é0123456789é\"".as_bytes(), "0123456789é0123456789é", "across words"),
    ];
    for (text, value, why) in cases {
        assert_eq!(parse(text).as_ref().map(Value::as_str), Ok(Some(value)), "{why}");
    }
}

#[test]
fn every_stop_byte_is_found_at_every_offset() {
    for length in 0..40 {
        let plain = "é".repeat(length / 2) + &"x".repeat(length % 2);
        let text = format!("[\"{plain}\",\"{plain}\\n{plain}\"]");
        let expected = json!([plain.as_str(), format!("{plain}\n{plain}")]);
        assert_eq!(parse(text.as_bytes()), Ok(expected), "{length}");
        let bad = format!("\"{plain}\u{1f}");
        let error = parse(bad.as_bytes()).expect_err("control character");
        assert_eq!(error.offset(), plain.len() + 1);
    }
}

#[test]
fn the_last_of_equal_keys_wins_and_strict_names_them() {
    let cases: [(&str, &str, &[&str], &str); 8] = [
        (r#"{"a":1,"b":2}"#, r#"{"a":1,"b":2}"#, &[], "none"),
        (r#"{"a":1,"a":2}"#, r#"{"a":2}"#, &["a"], "at the root"),
        (r#"{"a":1,"a":2,"a":3}"#, r#"{"a":3}"#, &["a"], "named once"),
        (r#"{"c":[{"d":1,"d":2}]}"#, r#"{"c":[{"d":2}]}"#, &["c[0].d"], "inside a list"),
        (
            r#"{"a":{"x":1,"x":2},"a":{"y":1,"y":2}}"#,
            r#"{"a":{"y":2}}"#,
            &["a.x", "a", "a.y"],
            "document order, lost values too",
        ),
        (r#"{"a":1,"\u0061":2}"#, r#"{"a":2}"#, &["a"], "escapes are undone before comparing"),
        (r#"{"a":1,"A":2}"#, r#"{"A":2,"a":1}"#, &[], "case matters"),
        (r#"[[1,{"k":"]","k":[2]}],"x"]"#, r#"[[1,{"k":[2]}],"x"]"#, &["[0][1].k"], "a list at the root"),
    ];
    for (text, value, duplicates, why) in cases {
        let parsed = parse_strict(text.as_bytes()).expect(why);
        assert_eq!(to_string(&parsed.value), value, "{why}");
        assert_eq!(parsed.duplicates, duplicates, "{why}");
        assert_eq!(parse(text.as_bytes()).expect(why), parsed.value, "{why}");
    }
    let many: Vec<_> = (0..200).map(|i| format!(r#""{i}":0,"{i}":1"#)).collect();
    let parsed = parse_strict(format!("{{{}}}", many.join(",")).as_bytes()).expect("many");
    assert_eq!(parsed.duplicates.len(), 100);
}

#[test]
fn nesting_is_limited_and_costs_no_stack() {
    let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(nested(MAX_DEPTH).as_bytes()).is_ok());
    let error = parse(nested(MAX_DEPTH + 1).as_bytes()).expect_err("too deep");
    assert_eq!(error.to_string(), "exceeded max depth");
    assert_eq!(error.offset(), MAX_DEPTH);
    let objects = format!("{}1{}", r#"{"a":"#.repeat(MAX_DEPTH), "}".repeat(MAX_DEPTH));
    let value = parse(objects.as_bytes()).expect("deep objects");
    assert_eq!(to_string(&value), objects);
}

#[test]
fn paths_met_again_and_again_cost_no_more_than_reading() {
    let depth = 9_000;
    let repeated = vec![r#""k":{"x":1,"x":1}"#; 20_000].join(",");
    let text = format!("{}{{{repeated}}}{}", r#"{"deep":"#.repeat(depth), "}".repeat(depth));
    let start = std::time::Instant::now();
    let parsed = parse_strict(text.as_bytes()).expect("it is JSON");
    assert_eq!(parsed.duplicates.len(), 2);
    assert!(start.elapsed() < std::time::Duration::from_secs(10), "{:?}", start.elapsed());
}
