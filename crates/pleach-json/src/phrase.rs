//! Objects that stand alike in many texts.
//!
//! Thousands of objects have the same `fieldsV1`, thousands of characters long. Whoever knows a few of
//! them by heart need not spell them: where one stands in a text it is recognized by comparing bytes and
//! shared, and where a shared one is written its text is copied.

use crate::{Map, Value, to_vec};

/// An object and its text.
#[derive(Clone, Debug)]
pub struct Phrase {
    object: Map,
    text: Box<[u8]>,
}

impl Phrase {
    /// An object that reads back as it is (see [`Value::reads_back`]) and is not empty.
    pub fn new(object: Map) -> Option<Self> {
        let value = Value::Object(object);
        let text = to_vec(&value).into_boxed_slice();
        match value {
            Value::Object(object) if !object.is_empty() && Value::from(object.clone()).reads_back(None) => {
                Some(Self { object, text })
            }
            _ => None,
        }
    }

    /// The object.
    pub fn object(&self) -> &Map {
        &self.object
    }

    /// What it is written as.
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

/// Objects that are known by heart: the values of one key, wherever that stands.
#[derive(Clone, Debug, Default)]
pub struct Phrases {
    key: &'static str,
    known: Vec<Phrase>,
}

impl Phrases {
    /// Values of a key.
    pub fn new(key: &'static str, known: Vec<Phrase>) -> Self {
        Self { key, known }
    }

    /// What is known.
    pub fn known(&self) -> &[Phrase] {
        &self.known
    }

    /// The text of an object that is shared with one of them.
    #[inline]
    pub fn text_of(&self, object: &Map) -> Option<&[u8]> {
        self.known.iter().find(|phrase| phrase.object.is_same(object)).map(Phrase::text)
    }

    /// The object that begins here as the value of `key`, and where it ends.
    #[inline]
    pub(crate) fn found(&self, key: &str, text: &[u8], at: usize) -> Option<(&Map, usize)> {
        if key != self.key {
            return None;
        }
        // No object's text is the beginning of another's.
        let phrase = self.known.iter().find(|phrase| text[at..].starts_with(&phrase.text))?;
        Some((&phrase.object, at + phrase.text.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hints, json, parse, parse_strict_with, write_with};

    fn phrases(known: &[Value]) -> Phrases {
        let phrase = |value: &Value| Phrase::new(value.as_object().unwrap().clone()).unwrap();
        Phrases::new("x", known.iter().map(phrase).collect())
    }

    /// How many known objects a value shares.
    fn count(value: &Value, phrases: &Phrases) -> usize {
        match value {
            Value::Object(map) if phrases.text_of(map).is_some() => 1,
            Value::Object(map) => map.values().map(|value| count(value, phrases)).sum(),
            Value::Array(items) => items.iter().map(|item| count(item, phrases)).sum(),
            _ => 0,
        }
    }

    #[test]
    fn what_is_recognized_is_shared_and_the_value_is_the_same() {
        let known = [json!({"a": {"b": {}}}), json!({"a": {}}), json!({"k:\"q\"": 1.5})];
        let phrases = phrases(&known);
        let hints = Hints { phrases: Some(&phrases), ..Hints::default() };
        for (text, shared) in [
            (r#"{"l":[{"x":{"a":{"b":{}}}},{"x":{"a":{}}}]}"#, 2),
            (r#"{"x": {"a":{}} , "y":{"a":{}}}"#, 1),
            (r#"{"x":{"k:\"q\"":1.5}}"#, 1),
            (r#"{"x":{"a":{ }}}"#, 0),
            (r#"{"x":{"a":{},"b":1}}"#, 0),
            (r#"{"x":[{"a":{}}]}"#, 0),
            (r#"{"x":{"a":{}},"x":{"a":{}}}"#, 1),
        ] {
            let plain = crate::parse_strict(text.as_bytes()).unwrap();
            let parsed = parse_strict_with(text.as_bytes(), hints).unwrap();
            assert_eq!(parsed, plain, "{text}");
            assert_eq!(count(&parsed.value, &phrases), shared, "{text}");
            let mut written = Vec::new();
            write_with(&parsed.value, &phrases, &mut written);
            assert_eq!(written, to_vec(&plain.value), "{text}");
        }
        for text in [r#"{"x":{"a":{}"#, r#"{"x":{"a":{}}"#, r#"{"x":{"a":{}}}}"#, r#"{"x":{"a":{}}x}"#] {
            let parsed = parse_strict_with(text.as_bytes(), hints);
            assert_eq!(
                format!("{parsed:?}"),
                format!("{:?}", crate::parse_strict(text.as_bytes())),
                "{text}"
            );
        }
    }

    #[test]
    fn what_would_not_read_back_is_no_phrase() {
        assert!(Phrase::new(Map::new()).is_none());
        assert!(Phrase::new(json!({"a": 1.0}).as_object().unwrap().clone()).is_none());
        let known = Phrase::new(json!({"a": 1}).as_object().unwrap().clone()).unwrap();
        assert_eq!(parse(known.text()).unwrap(), Value::from(known.object().clone()));
    }
}
