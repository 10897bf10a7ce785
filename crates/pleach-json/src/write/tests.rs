use super::*;
use crate::{Map, json};

#[test]
fn floats_are_printed_as_go_prints_them() {
    let cases = [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (1.5, "1.5"),
        (-2.25, "-2.25"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (123e300, "1.23e+302"),
        (1e-6, "0.000001"),
        (9.5e-7, "9.5e-7"),
        (1e-10, "1e-10"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (9_223_372_036_854_775_808.0, "9223372036854776000"),
        (0.300_000_000_000_000_04, "0.30000000000000004"),
        (1e15, "1000000000000000"),
        (f64::NAN, "null"),
    ];
    for (float, text) in cases {
        assert_eq!(format_float(float), text);
    }
}

#[test]
fn integers_are_printed_whole() {
    for int in [0, 7, -1, 10, 1234, i64::MAX, i64::MIN] {
        assert_eq!(to_string(&Value::Int(int)), int.to_string());
    }
}

#[test]
fn strings_are_escaped_as_go_escapes_them() {
    let cases = [
        ("plain", r#""plain""#),
        ("", r#""""#),
        ("\"\\/", r#""\"\\/""#),
        ("<a href='x'>&", r#""\u003ca href='x'\u003e\u0026""#),
        ("\u{8}\u{c}\n\r\t\u{0}\u{1f}\u{7f}", "\"\\b\\f\\n\\r\\t\\u0000\\u001f\u{7f}\""),
        ("é€😀", "\"é€😀\""),
        ("\u{2027}\u{2028}\u{2029}\u{202a}", "\"\u{2027}\\u2028\\u2029\u{202a}\""),
    ];
    for (text, written) in cases {
        assert_eq!(to_string(&Value::from(text)), written);
    }
}

#[test]
fn every_character_is_written_alike_at_every_offset() {
    let naively = |text: &str| {
        let written: String = text
            .chars()
            .map(|c| match c {
                '"' => "\\\"".to_owned(),
                '\\' => "\\\\".to_owned(),
                '\n' => "\\n".to_owned(),
                '\r' => "\\r".to_owned(),
                '\t' => "\\t".to_owned(),
                '\u{8}' => "\\b".to_owned(),
                '\u{c}' => "\\f".to_owned(),
                '\0'..' ' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => format!("\\u{:04x}", c as u32),
                other => other.to_string(),
            })
            .collect();
        format!("\"{written}\"")
    };
    let characters = ('\0'..='\u{ff}').chain("\u{2027}\u{2028}\u{2029}\u{202a}é€😀".chars());
    for c in characters {
        for before in 0..20 {
            for after in [0, 1, 3, 7, 8, 20] {
                let text = format!("{}{c}{}", "a".repeat(before), "b".repeat(after));
                let wanted = naively(&text);
                let mut alone = b"x".to_vec();
                write_string(&text, &mut alone);
                assert_eq!(alone, format!("x{wanted}").into_bytes(), "{c:?} {before} {after}");
                let list = Value::from(vec![Value::from(text.as_str()), Value::Null, Value::from(text)]);
                assert_eq!(to_string(&list), format!("[{wanted},null,{wanted}]"), "{c:?} {before} {after}");
            }
        }
    }
    let long = "\"<é\u{2028}".repeat(5_000);
    assert_eq!(to_string(&Value::from(long.as_str())), naively(&long));
}

#[test]
fn layouts_match_go() {
    let value = json!({"a": [], "b": {}, "c": [1, {"d": null}], "e": [[true]]});
    assert_eq!(to_string(&value), r#"{"a":[],"b":{},"c":[1,{"d":null}],"e":[[true]]}"#);
    let pretty = "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n      \"d\": null\n    }\n  ],\n  \"e\": [\n    [\n      true\n    ]\n  ]\n}";
    assert_eq!(to_string_pretty(&value, 2), pretty);
    assert_eq!(to_string_pretty(&Value::from(Map::new()), 4), "{}");
}
