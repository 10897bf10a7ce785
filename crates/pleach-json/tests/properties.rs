//! Properties of every value: reading undoes writing, and reading never panics.

use pleach_json::{Map, Str, Value, parse, parse_strict, parse_strict_with, to_string_pretty, to_vec};
use proptest::prelude::*;

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        prop::num::f64::NORMAL.prop_map(Value::Float),
        any::<String>().prop_map(Value::from),
        "[a-z<>&\"\\\\\u{2028}]{0,30}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::vec(("[a-c]{0,2}|.{0,30}", inner), 0..8).prop_map(|members| {
                Value::Object(members.into_iter().map(|(k, v)| (Str::from(k), v)).collect::<Map>())
            }),
        ]
    })
}

/// Objects that have much in common.
fn alike() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        (0..3i64).prop_map(Value::Int),
        Just(Value::Float(0.5)),
        Just(Value::Null),
        prop_oneof!["a\"b", "a\\\\", "<", "\n", "é", ""].prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 48, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(("[ab\"]", inner), 0..4).prop_map(|members| {
                Value::Object(members.into_iter().map(|(k, v)| (Str::from(k), v)).collect::<Map>())
            }),
        ]
    })
}

/// Floats with an integral value are written without a point and come back as integers, as in Go.
fn settled(value: &Value) -> Value {
    parse(&to_vec(value)).expect("what is written can be read")
}

proptest! {
    #[test]
    fn reading_undoes_writing(value in value()) {
        let value = settled(&value);
        let text = to_vec(&value);
        prop_assert_eq!(&parse(&text).expect("own text"), &value);
        prop_assert_eq!(&parse(to_string_pretty(&value, 4).as_bytes()).expect("own pretty text"), &value);
        let strict = parse_strict(&text).expect("own text");
        prop_assert_eq!(&strict.value, &value);
        prop_assert!(strict.duplicates.is_empty());
    }

    #[test]
    fn hints_change_no_result(
        value in alike(),
        earlier in alike(),
        at in any::<prop::sample::Index>(),
        byte in prop_oneof![Just(b'"'), Just(b','), Just(b'}'), Just(b'1'), Just(b'\n'), Just(b'a')],
    ) {
        let mut text = to_vec(&value);
        for earlier in [&earlier, &value] {
            let parsed = parse_strict_with(&text, earlier.into()).expect("own text");
            prop_assert_eq!(&parsed.value, &value);
            let pretty = to_string_pretty(&value, 2);
            prop_assert_eq!(&parse_strict_with(pretty.as_bytes(), earlier.into()).expect("own text").value, &value);
        }
        // Nor in a text that is spoilt somewhere.
        let at = at.index(text.len());
        text[at] = byte;
        let (like, plain) = (parse_strict_with(&text, (&value).into()), parse_strict(&text));
        prop_assert_eq!(format!("{like:?}"), format!("{plain:?}"));
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse_strict(&bytes);
    }

    #[test]
    fn json_like_text_is_judged_as_serde_json_judges_it(text in "[\\[\\]{}:,\"a1\\-.e \\\\u0n]{0,24}") {
        let ours = parse(text.as_bytes());
        match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(_) => prop_assert!(ours.is_ok(), "{text} {ours:?}"),
            // Lone surrogates are the one thing that only Go accepts; this alphabet has none.
            Err(_) => prop_assert!(ours.is_err(), "{text} {ours:?}"),
        }
    }

    #[test]
    fn cutting_a_document_anywhere_is_an_error_at_the_end(value in value(), at in 0.0..1.0) {
        let text = to_vec(&Value::from(vec![value]));
        let cut = ((text.len() as f64) * at) as usize;
        let error = parse(&text[..cut]).expect_err("half a list");
        prop_assert_eq!(error.to_string(), "unexpected end of JSON input");
    }
}
