//! Interned objects: values of one key that occur in many documents, kept with their JSON text.
//!
//! Thousands of objects have the same `fieldsV1`, thousands of characters long. The parser recognizes an
//! interned object by comparing bytes and shares it; the writer copies the text of a shared one.

use crate::{Map, Value, to_vec};

/// An object and its text.
#[derive(Clone, Debug)]
pub struct InternedObject {
    object: Map,
    text: Box<[u8]>,
}

impl InternedObject {
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

    /// Its JSON text.
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

/// The interned values of one key, at any depth of a document.
#[derive(Clone, Debug, Default)]
pub struct InternedObjects {
    key: &'static str,
    objects: Vec<InternedObject>,
}

impl InternedObjects {
    /// Values of a key.
    pub fn new(key: &'static str, objects: Vec<InternedObject>) -> Self {
        Self { key, objects }
    }

    /// All of them.
    pub fn objects(&self) -> &[InternedObject] {
        &self.objects
    }

    /// The text of an object that shares its members with one of them.
    #[inline]
    pub fn text_of(&self, object: &Map) -> Option<&[u8]> {
        self.objects.iter().find(|interned| interned.object.is_same(object)).map(InternedObject::text)
    }

    /// The object that begins here as the value of `key`, and where it ends.
    #[inline]
    pub(crate) fn find_at(&self, key: &str, text: &[u8], at: usize) -> Option<(&Map, usize)> {
        if key != self.key {
            return None;
        }
        // No object's text is a prefix of another's.
        let interned = self.objects.iter().find(|interned| text[at..].starts_with(&interned.text))?;
        Some((&interned.object, at + interned.text.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hints, json, parse, parse_strict_with, write_with};

    fn interned(known: &[Value]) -> InternedObjects {
        let interned = |value: &Value| InternedObject::new(value.as_object().unwrap().clone()).unwrap();
        InternedObjects::new("x", known.iter().map(interned).collect())
    }

    /// How many interned objects a value shares.
    fn count(value: &Value, interned: &InternedObjects) -> usize {
        match value {
            Value::Object(map) if interned.text_of(map).is_some() => 1,
            Value::Object(map) => map.values().map(|value| count(value, interned)).sum(),
            Value::Array(items) => items.iter().map(|item| count(item, interned)).sum(),
            _ => 0,
        }
    }

    #[test]
    fn recognized_objects_are_shared_and_equal_to_what_is_parsed() {
        let known = [json!({"a": {"b": {}}}), json!({"a": {}}), json!({"k:\"q\"": 1.5})];
        let interned = interned(&known);
        let hints = Hints { interned: Some(&interned), ..Hints::default() };
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
            assert_eq!(count(&parsed.value, &interned), shared, "{text}");
            let mut written = Vec::new();
            write_with(&parsed.value, &interned, &mut written);
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
    fn objects_that_do_not_round_trip_are_not_interned() {
        assert!(InternedObject::new(Map::new()).is_none());
        assert!(InternedObject::new(json!({"a": 1.0}).as_object().unwrap().clone()).is_none());
        let known = InternedObject::new(json!({"a": 1}).as_object().unwrap().clone()).unwrap();
        assert_eq!(parse(known.text()).unwrap(), Value::from(known.object().clone()));
    }
}
