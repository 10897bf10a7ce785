//! What a text is probably like: a value that was read before.
//!
//! A client that changes an object sends all of it again. While such a text is read, the parser goes
//! along the value there is already, and what is equal is taken from there. Where the text is what this
//! crate would write, and most clients write the same, that is seen by comparing bytes; nothing of it
//! is read as JSON. Otherwise a container that turns out equal is taken from there when it ends, and
//! what was read of it is dropped before it ever got memory of its own.

use crate::spans::Parts;
use crate::{Array, Map, Piece, Value};

/// The container that the one being read is compared with, if there is one.
#[derive(Clone, Copy)]
pub(super) struct Like<'l>(Option<Parts<'l>>);

impl<'l> Like<'l> {
    pub(super) fn of(piece: Option<Piece<'l>>) -> Self {
        Self(piece.filter(|piece| piece.value().is_container()).map(Piece::parts))
    }

    fn value(&self) -> Option<&'l Value> {
        self.0.as_ref().map(|parts| parts.of().value())
    }

    pub(super) fn items(&self) -> Option<&'l Array> {
        self.value().and_then(Value::as_array)
    }

    pub(super) fn members(&self) -> Option<&'l Map> {
        self.value().and_then(Value::as_object)
    }

    /// The container itself, if it stands in the text at this place as it would be written, and where
    /// it ends.
    #[inline]
    pub(super) fn found(&self, text: &[u8], at: usize) -> Option<(&Piece<'l>, usize)> {
        let piece = self.0.as_ref()?.of();
        let own = piece.text()?;
        // No container's text is the beginning of another's.
        text[at..].starts_with(own).then(|| (piece, at + own.len()))
    }

    /// What the member `key` is like, which is read after `before` others.
    pub(super) fn member(&mut self, before: usize, key: &str) -> Self {
        Self::of(self.0.as_mut().and_then(|parts| parts.member(before, key)))
    }

    /// What an item is like.
    pub(super) fn item(&mut self, i: usize) -> Self {
        Self::of(self.0.as_mut().and_then(|parts| parts.item(i)))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Value, json, parse_strict_with};

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
            let parsed = parse_strict_with(text.as_bytes(), (&earlier).into()).unwrap();
            assert_eq!(parsed, plain, "{why}");
            for key in ["a", "f", "g"] {
                let same = |(a, b): (&Value, &Value)| a.is_same(b);
                let is = earlier.get(key).zip(parsed.value.get(key)).is_some_and(same);
                assert_eq!(is, shared.contains(&key), "{why}: {key}");
            }
        }
        // What only looks alike is read.
        let odd = json!({"s": {"line": "a\nb", "q": "\"\\<é", "n": 12, "f": 0.25, "t": true, "z": null}});
        for text in [
            "{\"s\":{\"f\":0.25,\"line\":\"a\nb\",\"n\":12,\"q\":\"\",\"t\":true,\"z\":null}}",
            r#"{"s":{"f":0.25,"line":"a\nb","n":123,"q":"\"\\<é","t":true,"z":null}}"#,
            r#"{"s":{"f":0.250,"line":"a\nb","n":12,"q":"\"\\\u003cé","t":true,"z":null}}"#,
            r#"{"s":{"f":0.25,"line":"a\nb","n":12,"q":"\"\\<é","t":true,"z":null,"z":null}}"#,
            r#"{"s":{"f":0.25,"line":"a\nb","n":12,"q":"\"\\<é","t":true,"z":null}"#,
            r#"{"s":{"f":0.25,"line":"a\nb","n":12,"q":"\"\\<é","t":truer}}"#,
        ] {
            let plain = crate::parse_strict(text.as_bytes());
            let parsed = parse_strict_with(text.as_bytes(), (&odd).into());
            assert_eq!(format!("{parsed:?}"), format!("{plain:?}"), "{text}");
        }
        let whole = parse_strict_with(&crate::to_vec(&earlier), (&earlier).into()).unwrap().value;
        assert!(whole.is_same(&earlier));
        assert!(parse_strict_with(b"[1]", (&earlier).into()).unwrap().value == json!([1]));
    }
}
