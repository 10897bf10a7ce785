//! Properties: reading undoes writing, and reading never panics.

use pleach_json::{Map, Str, Value};
use pleach_yaml::{documents, parse, parse_strict, to_yaml};
use proptest::prelude::*;

/// Random texts of characters that are special in YAML.
const TRICKY: &str = "[ \\t\\n:#\\-?,\\[\\]{}&*!|>'\"%@`~ab01.e_+\\\\é]{0,12}";

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        prop::num::f64::NORMAL.prop_map(Value::Float),
        TRICKY.prop_map(Value::from),
        "[a-z ]{60,200}".prop_map(Value::from),
        "\\PC{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((TRICKY, inner), 0..6).prop_map(|members| {
                Value::Object(members.into_iter().map(|(k, v)| (Str::from(k), v)).collect::<Map>())
            }),
        ]
    })
}

/// Line breaks of YAML 1.1 only, with the indentation of what follows.
#[test]
fn far_line_breaks_are_read_as_go_reads_them() {
    for (text, want) in [
        ("k: '\u{2028}  x'", "\u{2028}x"),
        ("k: 'a \u{2028}  x'", "a\u{2028}x"),
        ("k: 'a\u{2029}\u{2028}  x y'", "a\u{2029}\u{2028}x y"),
        ("k: \"a\u{2028}  x\"", "a\u{2028}x"),
        ("k: a\u{2028}  x", "a\u{2028}x"),
        (r#"k: "a \L x""#, "a \u{2028} x"),
    ] {
        let read = parse(text.as_bytes()).expect("YAML");
        assert_eq!(read.get("k").and_then(Value::as_str), Some(want), "{text:?}");
        let value = pleach_json::json!({"k": [want]});
        assert_eq!(parse(to_yaml(&value).as_bytes()).expect("own text"), value, "{want:?}");
    }
}

/// `depth` nested collections, alternating.
fn nested(depth: usize, mut value: Value) -> Value {
    for level in 0..depth {
        value = if level % 3 == 0 { vec![value].into() } else { pleach_json::json!({"k": value}) };
    }
    value
}

#[test]
fn deep_values_are_not_indented_without_end() {
    let long_key = pleach_json::Map::from(vec![
        ("x".repeat(5_000).as_str().into(), Value::Int(1)),
        ("y".into(), "z".into()),
    ]);
    let long_key = Value::from(long_key);
    for (depth, inside) in [
        (
            60,
            pleach_json::json!({"a": [], "b": {}, "c": "x: y", "d": 1.5, "e": (vec![Value::Null, true.into()])}),
        ),
        (200, pleach_json::json!({"\u{7f}\u{85}\u{feff}": "\u{1}\u{2028}\u{e9}", "2": 1, "10": "<&>"})),
        (9_000, Value::from(vec![Value::Int(1); 2_000])),
        (300, long_key.clone()),
    ] {
        let value = nested(depth, inside);
        let json = pleach_json::to_vec(&value).len();
        let text = to_yaml(&value);
        assert!(text.len() < 20_000 + 4 * json, "{depth} levels, {json} bytes: {}", text.len());
        assert_eq!(parse(text.as_bytes()).expect("own text"), value, "{depth} levels");
    }
}

#[test]
fn lines_of_a_long_text_are_not_indented_without_end() {
    for unit in ["a\n", "a ", "\u{1}\n"] {
        let value = nested(60, unit.repeat(500_000).into());
        let text = to_yaml(&value);
        assert!(text.len() < 8_000_000, "{unit:?}: {}", text.len());
        assert_eq!(parse(text.as_bytes()).expect("own text"), value, "{unit:?}");
    }
}

#[test]
fn text_that_is_written_in_pieces_is_the_same_text() {
    let items: Vec<Value> =
        (0..2_000).map(|i| nested(i % 90, pleach_json::json!({"i": (i as i64)}))).collect();
    let value = pleach_json::json!({"items": items, "kind": "List"});
    let whole = to_yaml(&value);
    for limit in [1, 100, 4096] {
        let mut writer = pleach_yaml::Writer::new(value.clone());
        let mut pieces = String::new();
        loop {
            let mut piece = String::new();
            let more = writer.write(&mut piece, limit);
            assert!(piece.len() < limit + 200, "a piece of {} bytes", piece.len());
            pieces += &piece;
            if !more {
                break;
            }
        }
        assert_eq!(pieces, whole);
    }
}

proptest! {
    #[test]
    fn reading_undoes_writing(value in value()) {
        // Through JSON first: there a float with an integral value becomes an integer.
        let value = pleach_json::parse(&pleach_json::to_vec(&value)).expect("own JSON");
        let text = to_yaml(&value);
        let read = parse_strict(text.as_bytes());
        prop_assert!(read.is_ok(), "{text}\n{read:?}");
        let read = read.expect("just looked");
        prop_assert!(read.duplicates.is_empty());
        prop_assert_eq!(&read.value, &value, "{}", text);
    }

    /// JSON takes the fast path; with a leading comment it does not.
    #[test]
    fn json_means_the_same_as_yaml(value in value(), indent in 0_usize..3) {
        let value = pleach_json::json!({"k": value});
        let text = if indent == 0 { value.to_string() } else { pleach_json::to_string_pretty(&value, indent) };
        let short = parse(text.as_bytes());
        let long = parse(format!("# c\n{text}").as_bytes());
        match (short, long) {
            (Ok(short), Ok(long)) => prop_assert_eq!(short, long),
            (short, long) => prop_assert_eq!(short.is_err(), long.is_err()),
        }
    }

    #[test]
    fn spans_follow_the_value(value in value()) {
        let text = to_yaml(&Value::from(vec![value]));
        for document in documents(&text) {
            let document = document.expect("own text");
            let items = document.value.as_array().expect("a list").len();
            let spans = document.places.tree(&text);
            prop_assert!(spans.child(0.into()).is_some() == (items > 0));
            prop_assert!(text.get(spans.spans().value.clone()).is_some());
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[ \\t\\n:#\\-?,\\[\\]{}&*!|>'\"%@`~ab1.\\\\\u{feff}\r]{0,60}") {
        let _ = parse_strict(text.as_bytes()).map_err(|error| error.to_string());
        let _: Vec<_> = documents(&text).take(50).collect();
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let _ = parse(&bytes);
    }
}
