//! The baseline of a parse: an earlier value that the text is compared with, container by container.
//!
//! A client that updates an object sends all of it again. Containers that are equal in the text and in the
//! baseline are shared with the baseline. Where the text is what this crate would write, and most clients
//! write the same, equality is a comparison of bytes and the container is not parsed. Otherwise an equal
//! container is found when it ends, before memory is allocated for it.

use crate::spans::SpannedChildren;
use crate::{Array, Map, SpannedValue, Value};

/// The container that the one being parsed is compared with, if there is one.
#[derive(Clone, Copy)]
pub(super) struct Baseline<'l>(Option<SpannedChildren<'l>>);

impl<'l> Baseline<'l> {
    pub(super) fn of(spanned: Option<SpannedValue<'l>>) -> Self {
        Self(spanned.filter(|spanned| spanned.value().is_container()).map(SpannedValue::children))
    }

    fn value(&self) -> Option<&'l Value> {
        self.0.as_ref().map(|children| children.of().value())
    }

    pub(super) fn items(&self) -> Option<&'l Array> {
        self.value().and_then(Value::as_array)
    }

    pub(super) fn members(&self) -> Option<&'l Map> {
        self.value().and_then(Value::as_object)
    }

    /// The container itself, if its text is at this offset, and the offset after it.
    #[inline]
    pub(super) fn find_at(&self, text: &[u8], at: usize) -> Option<(&SpannedValue<'l>, usize)> {
        let spanned = self.0.as_ref()?.of();
        let own = spanned.text()?;
        // No container's text is a prefix of another's.
        text[at..].starts_with(own).then(|| (spanned, at + own.len()))
    }

    /// The baseline of the member `key`, which is parsed after `before` others.
    pub(super) fn member(&mut self, before: usize, key: &str) -> Self {
        Self::of(self.0.as_mut().and_then(|children| children.member(before, key)))
    }

    /// The baseline of an item.
    pub(super) fn item(&mut self, i: usize) -> Self {
        Self::of(self.0.as_mut().and_then(|children| children.item(i)))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Value, json, parse_strict_with};

    #[test]
    fn equal_containers_are_shared_and_the_result_is_the_same() {
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
            (
                "changed containers are not",
                r#"{"a":{"b":[1,{"c":"x"}],"d":{"e":2}},"g":{"h":{"i":true}}}"#,
                &["g"],
            ),
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
        // What only looks alike is parsed.
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
