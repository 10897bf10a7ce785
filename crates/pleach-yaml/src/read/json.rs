//! Fast path for JSON.
//!
//! Clients that apply send JSON as YAML. It is read by the JSON parser, which is several times faster,
//! if the result is certain to be the same. Otherwise (escapes unknown to YAML 1.1, characters it
//! refuses or folds, keys that are too long, duplicate keys) the full parser reads it.

use pleach_json::{Hints, Map, Spans, Str, Value, grow_stack, parse_strict_with};

use super::characters::{BACKSLASH, BEYOND_ASCII, BREAK};
use super::resolve::float_value;

/// A key of this length is short enough for YAML even if every byte is escaped.
const MAX_KEY: usize = 150;

/// The value of a JSON text that means the same as YAML, and where its containers are if requested.
/// `traits` are those of the text; `read_before` says that the hint was read here.
pub(super) fn read(
    text: &str,
    traits: u8,
    hints: Hints<'_>,
    read_before: bool,
) -> Option<(Value, Option<Spans>)> {
    if !text.starts_with('{') || !is_plain(text.as_bytes(), traits) {
        return None;
    }
    let parsed = parse_strict_with(text.as_bytes(), hints).ok()?;
    if !parsed.duplicates.is_empty() {
        return None;
    }
    let mut value = parsed.value;
    let known = hints.baseline.filter(|_| read_before).map(|baseline| baseline.value());
    // Few texts have a float in another notation.
    (is_normalized(&value, known) || normalize(&mut value)).then_some((value, parsed.spans))
}

/// Whether both grammars agree on the text.
fn is_plain(bytes: &[u8], traits: u8) -> bool {
    (traits & BACKSLASH == 0 || !has_doubtful_escape(bytes))
        && (traits & BREAK == 0 || !has_colon_on_next_line(bytes))
        && (traits & BEYOND_ASCII == 0 || !has_doubtful_character(bytes))
}

/// Escapes that YAML 1.1 does not know: `\/`, and half a surrogate pair.
fn has_doubtful_escape(mut rest: &[u8]) -> bool {
    while let Some(at) = rest.iter().position(|&byte| byte == b'\\') {
        if let [b'/', ..] | [b'u', b'd' | b'D', ..] = &rest[at + 1..] {
            return true;
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
    false
}

/// A key must be on one line with its colon.
fn has_colon_on_next_line(mut rest: &[u8]) -> bool {
    while let Some(at) = rest.iter().position(|&byte| byte == b'\n' || byte == b'\r') {
        rest = rest[at..].trim_ascii_start();
        if rest.first() == Some(&b':') {
            return true;
        }
    }
    false
}

/// Line breaks beyond ASCII, and the byte order mark.
pub(super) fn has_doubtful_character(mut rest: &[u8]) -> bool {
    while let Some(at) = rest.iter().position(|&byte| matches!(byte, 0xC2 | 0xE2 | 0xEF)) {
        rest = &rest[at..];
        if let [0xC2, 0x85, ..] | [0xE2, 0x80, 0xA8 | 0xA9, ..] | [0xEF, 0xBB, 0xBF, ..] = rest {
            return true;
        }
        rest = &rest[1..];
    }
    false
}

/// Whether [`normalize`] changes nothing and does not fail. Parts shared with a normalized value are
/// skipped.
fn is_normalized(value: &Value, known: Option<&Value>) -> bool {
    if known.is_some_and(|known| known.is_same(value)) {
        return true;
    }
    match value {
        Value::Float(float) => float_value(*float) == *value,
        Value::Array(items) => {
            let known = known.and_then(Value::as_array);
            let item = |(i, item)| is_normalized(item, known.and_then(|known| known.get(i)));
            grow_stack(|| items.iter().enumerate().all(item))
        }
        Value::Object(map) => {
            let mut known = known.and_then(Value::as_object).map(Map::ascending);
            let member = |(key, value): &(Str, Value)| {
                key.len() <= MAX_KEY
                    && match value {
                        Value::Float(_) => is_normalized(value, None),
                        Value::Array(_) | Value::Object(_) => {
                            is_normalized(value, known.as_mut().and_then(|known| known.next(key)))
                        }
                        _ => true,
                    }
            };
            grow_stack(|| map.entries().iter().all(member))
        }
        _ => true,
    }
}

/// Converts floats to what go-yaml makes of them. Fails for keys that are too long.
fn normalize(value: &mut Value) -> bool {
    match value {
        Value::Float(float) => {
            *value = float_value(*float);
            true
        }
        Value::Array(items) => grow_stack(|| items.iter_mut().all(normalize)),
        Value::Object(map) => {
            grow_stack(|| map.iter_mut().all(|(key, member)| key.len() <= MAX_KEY && normalize(member)))
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::characters::traits;

    #[test]
    fn doubtful_json_falls_back_to_the_full_parser() {
        let cases = [
            (r#"{"a": [1, "x\ny", {"b": null}]}"#, true, "plain JSON"),
            ("{\n\t\"a\": 1,\n\t\"b\": \"ü\"\n}\n", true, "tabs and letters beyond ASCII"),
            (r#"{"a": "\\d+"}"#, true, "an escaped backslash"),
            (r#"{"a": "\u003cb\u003e ©€"}"#, true, "escapes that both know"),
            (r#"{"a": "\/"}"#, false, "an escape YAML does not know"),
            (r#"{"a": "\ud83d\ude00"}"#, false, "surrogates"),
            ("{\"a\": \"x\u{85}y\"}", false, "a line break to YAML"),
            ("{\"a\": \"x\u{2028}y\"}", false, "a line break to YAML"),
            ("{\"a\": \"x\u{feff}y\"}", false, "a byte order mark to YAML"),
            ("{\"a\"\n: 1}", false, "a colon on its own line"),
            (r#"{"a": 1, "a": 2}"#, false, "a key set twice"),
            (r#"{"a": 1e400}"#, false, "text to YAML"),
            ("[1]", false, "only objects matter"),
            ("a: 1", false, "no JSON"),
        ];
        for (text, short, why) in cases {
            assert_eq!(
                read(text, traits(text.as_bytes()), Hints::default(), false).is_some(),
                short,
                "{why}: {text}"
            );
        }
        let long = format!("{{\"{}\": 1}}", "k".repeat(MAX_KEY + 1));
        assert!(read(&long, traits(long.as_bytes()), Hints::default(), false).is_none(), "a long key");
    }
}
