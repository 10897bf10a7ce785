//! What a text is probably like: a value that was read before.
//!
//! A client that changes an object sends all of it again. While such a text is read, the parser goes
//! along the value there is already, and what is equal is taken from there. Where the text is what this
//! crate would write, and most clients write the same, that is seen by comparing bytes; nothing of it
//! is read as JSON. Otherwise a container that turns out equal is taken from there when it ends, and
//! what was read of it is dropped before it ever got memory of its own.

use super::string::plain_run;
use crate::write::{write_float, write_int};
use crate::{Array, Map, Value, grow_stack};

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

    /// The container itself, if it stands in the text at this place as it would be written, and where
    /// it ends.
    #[inline]
    pub(super) fn found(self, text: &str, at: usize) -> Option<(Value, usize)> {
        match self {
            Self::Nothing => None,
            Self::Items(items) => {
                items_end(items, text.as_bytes(), at).map(|end| (items.clone().into(), end))
            }
            Self::Members(members) => {
                members_end(members, text.as_bytes(), at).map(|end| (members.clone().into(), end))
            }
        }
    }
}

/// Where a value ends that begins here as it would be written; nothing if it does not.
#[inline]
fn end(value: &Value, text: &[u8], at: usize) -> Option<usize> {
    match value {
        Value::String(string) => string_end(string, text, at),
        Value::Object(members) => members_end(members, text, at),
        Value::Array(items) => items_end(items, text, at),
        Value::Null => word_end(b"null", text, at),
        Value::Bool(true) => word_end(b"true", text, at),
        Value::Bool(false) => word_end(b"false", text, at),
        // Whatever follows a number is asked for next, so that it cannot be the start of another.
        Value::Int(int) => written_end(|out| write_int(*int, out), text, at),
        Value::Float(float) => written_end(|out| write_float(*float, out), text, at),
    }
}

#[inline]
fn byte_end(byte: u8, text: &[u8], at: usize) -> Option<usize> {
    (text.get(at) == Some(&byte)).then_some(at + 1)
}

#[inline]
fn word_end(word: &[u8], text: &[u8], at: usize) -> Option<usize> {
    let end = at + word.len();
    (text.get(at..end) == Some(word)).then_some(end)
}

fn written_end(write: impl FnOnce(&mut Vec<u8>), text: &[u8], at: usize) -> Option<usize> {
    let mut written = Vec::with_capacity(24);
    write(&mut written);
    word_end(&written, text, at)
}

#[inline]
fn string_end(string: &str, text: &[u8], at: usize) -> Option<usize> {
    let string = string.as_bytes();
    let mut at = byte_end(b'"', text, at)?;
    let mut done = 0;
    loop {
        let plain = plain_run(string, done);
        at = word_end(&string[done..done + plain], text, at)?;
        done += plain;
        match string.get(done) {
            None => return byte_end(b'"', text, at),
            // Nobody writes these two in another way.
            Some(&escaped @ (b'"' | b'\\')) => {
                at = word_end(&[b'\\', escaped], text, at)?;
                done += 1;
            }
            Some(_) => return None,
        }
    }
}

fn members_end(members: &Map, text: &[u8], at: usize) -> Option<usize> {
    let mut at = byte_end(b'{', text, at)?;
    grow_stack(|| {
        for (i, (key, value)) in members.entries().iter().enumerate() {
            if i > 0 {
                at = byte_end(b',', text, at)?;
            }
            at = string_end(key, text, at)?;
            at = byte_end(b':', text, at)?;
            at = end(value, text, at)?;
        }
        byte_end(b'}', text, at)
    })
}

fn items_end(items: &Array, text: &[u8], at: usize) -> Option<usize> {
    let mut at = byte_end(b'[', text, at)?;
    grow_stack(|| {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                at = byte_end(b',', text, at)?;
            }
            at = end(item, text, at)?;
        }
        byte_end(b']', text, at)
    })
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
            let parsed = parse_strict_like(text.as_bytes(), Some(&odd));
            assert_eq!(format!("{parsed:?}"), format!("{plain:?}"), "{text}");
        }
        let whole = parse_strict_like(&crate::to_vec(&earlier), Some(&earlier)).unwrap().value;
        assert!(whole.is_same(&earlier));
        assert!(parse_strict_like(b"[1]", Some(&earlier)).unwrap().value == json!([1]));
    }
}
