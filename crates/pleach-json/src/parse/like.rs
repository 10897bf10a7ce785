//! What a text is probably like: a value that was read before.
//!
//! A client that changes an object sends all of it again. While such a text is read, the parser goes
//! along the value there is already; a container that turns out equal is taken from there, and what
//! was just read of it is dropped before it ever got memory of its own.

use crate::{Array, Map, Value};

/// The container that the one being read is compared with.
#[derive(Clone, Copy)]
pub(super) enum Like<'l> {
    Nothing,
    Items(&'l Array),
    Members(&'l Map),
}

impl<'l> Like<'l> {
    pub(super) fn of(value: &'l Value) -> Self {
        match value {
            Value::Array(items) => Self::Items(items),
            Value::Object(members) => Self::Members(members),
            _ => Self::Nothing,
        }
    }
}

/// What the member `key` is like, which is read after `before` others.
pub(super) fn member<'l>(members: &'l Map, before: usize, key: &str) -> Like<'l> {
    let found = match members.entries().get(before) {
        Some((name, value)) if name == key => Some(value),
        _ => members.get(key),
    };
    found.map_or(Like::Nothing, Like::of)
}

#[cfg(test)]
mod tests {
    use crate::{Value, json, parse_strict_like};

    #[test]
    fn what_is_equal_is_shared_and_nothing_else_changes() {
        let earlier = json!({
            "a": {"b": [1, {"c": "x"}], "d": {"e": 1.5}},
            "empty": {}, "f": [[], [2]], "g": {"h": {"i": true}},
        });
        for (why, text, shared) in [
            (
                "the whole",
                r#"{"a":{"b":[1,{"c":"x"}],"d":{"e":1.5}},"empty":{},"f":[[],[2]],"g":{"h":{"i":true}}}"#,
                &["a", "f", "g"][..],
            ),
            ("in any order", r#"{"g":{"h":{"i":true}},"a":{"d":{"e":1.5},"b":[1,{"c":"x"}]}}"#, &["a", "g"]),
            ("what changed is not", r#"{"a":{"b":[1,{"c":"x"}],"d":{"e":2}},"g":{"h":{"i":true}}}"#, &["g"]),
            ("an integer is no float", r#"{"f":[[],[2.0]],"g":{"h":{"i":true}}}"#, &["g"]),
            ("a key too many", r#"{"g":{"h":{"i":true},"j":0}}"#, &[]),
            ("a key too few", r#"{"f":[[]],"a":{"d":{"e":1.5}}}"#, &[]),
            ("another kind", r#"{"a":[],"f":{"x":[2]},"g":null}"#, &[]),
            ("a key twice", r#"{"g":{"h":{"i":false}},"g":{"h":{"i":true},"h":{"i":true}}}"#, &["g"]),
        ] {
            let plain = crate::parse_strict(text.as_bytes()).unwrap();
            let parsed = parse_strict_like(text.as_bytes(), Some(&earlier)).unwrap();
            assert_eq!(parsed, plain, "{why}");
            for key in ["a", "f", "g"] {
                let same = |(a, b): (&Value, &Value)| a.is_same(b);
                let is = earlier.get(key).zip(parsed.value.get(key)).is_some_and(same);
                assert_eq!(is, shared.contains(&key), "{why}: {key}");
            }
        }
        let whole = parse_strict_like(&crate::to_vec(&earlier), Some(&earlier)).unwrap().value;
        assert!(whole.is_same(&earlier));
        assert!(parse_strict_like(b"[1]", Some(&earlier)).unwrap().value == json!([1]));
    }
}
