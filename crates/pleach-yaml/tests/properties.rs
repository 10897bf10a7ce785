//! What holds for every value and every text: reading undoes writing, and reading never panics.

use pleach_json::{Map, Str, Value};
use pleach_yaml::{documents, parse, parse_strict, to_yaml};
use proptest::prelude::*;

/// Texts of the characters that YAML makes much of.
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

/// Breaks that YAML 1.1 knows and later editions do not, with the indentation of what follows them.
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

    /// JSON is read a short way when it starts with a brace and the long way when a comment does.
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
