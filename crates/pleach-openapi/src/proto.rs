//! Protobuf encoder.
//!
//! The length of a nested message comes before its bytes. [`Writer`] writes from the end to the start,
//! so that the length is known without measuring twice or copying.

use pleach_json::{Map, Value, grow_stack};

use crate::shape::{Object, Shape};

/// Bytes in reverse.
#[derive(Default)]
pub(crate) struct Writer(Vec<u8>);

const VARINT: u32 = 0;
const DOUBLE: u32 = 1;
const BYTES: u32 = 2;

impl Writer {
    /// The bytes in the order they are sent.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.0.reverse();
        self.0
    }

    fn varint(&mut self, mut number: u64) {
        let start = self.0.len();
        loop {
            let low = (number & 0x7f) as u8;
            number >>= 7;
            self.0.push(if number == 0 { low } else { low | 0x80 });
            if number == 0 {
                break;
            }
        }
        self.0[start..].reverse();
    }

    fn tag(&mut self, number: u32, wire: u32) {
        self.varint(u64::from(number << 3 | wire));
    }

    fn text(&mut self, number: u32, text: &[u8]) {
        self.0.extend(text.iter().rev());
        self.varint(text.len() as u64);
        self.tag(number, BYTES);
    }

    /// A message: what `write` adds, with its length and its number before it.
    fn message(&mut self, number: u32, write: impl FnOnce(&mut Self)) {
        let start = self.0.len();
        grow_stack(|| write(self));
        let length = self.0.len() - start;
        self.varint(length as u64);
        self.tag(number, BYTES);
    }

    /// An entry of a map.
    pub(crate) fn named(&mut self, number: u32, name: &str, shape: &Shape, value: &Value) {
        self.message(number, |writer| {
            writer.field(2, shape, value);
            writer.text(1, name.as_bytes());
        });
    }

    /// A field; a value that does not fit its shape is left out.
    pub(crate) fn field(&mut self, number: u32, shape: &Shape, value: &Value) {
        match (shape, value) {
            (Shape::Text, Value::String(text)) => self.text(number, text.as_bytes()),
            (Shape::Flag, Value::Bool(flag)) => {
                self.varint(u64::from(*flag));
                self.tag(number, VARINT);
            }
            (Shape::Int, value) => {
                if let Some(int) = value.as_int() {
                    self.varint(int as u64);
                    self.tag(number, VARINT);
                }
            }
            (Shape::Number, value) => {
                if let Some(float) = value.as_number() {
                    self.0.extend(float.to_le_bytes().iter().rev());
                    self.tag(number, DOUBLE);
                }
            }
            (Shape::Any, value) => self.yaml(number, &pleach_yaml::to_yaml(value)),
            (Shape::List(shape), Value::Array(items)) => {
                for item in items.iter().rev() {
                    self.field(number, shape, item);
                }
            }
            (Shape::Object(object), Value::Object(members)) => {
                self.message(number, |writer| writer.object(object, members));
            }
            (Shape::Map(pairs, shape), Value::Object(members)) => self.message(number, |writer| {
                for (name, value) in members.iter().rev() {
                    writer.named(*pairs, name, shape, value);
                }
            }),
            (Shape::Choice(choose), value) => {
                let (chosen, shape) = choose(value);
                self.message(number, |writer| {
                    if chosen != 0 {
                        writer.field(chosen, shape, value);
                    }
                });
            }
            _ => {}
        }
    }

    fn yaml(&mut self, number: u32, text: &str) {
        self.message(number, |writer| writer.text(2, text.as_bytes()));
    }

    /// An extension whose members are in the order of their shape.
    fn ordered_extension(&mut self, number: u32, name: &str, object: &Object, value: &Value) {
        let known = object.members.iter().filter_map(|(key, ..)| Some((*key, value.get(key)?.clone())));
        let text: String = known
            .map(|(key, value)| pleach_yaml::to_yaml(&Map::from(vec![(key.into(), value)]).into()))
            .collect();
        self.message(number, |writer| {
            writer.yaml(2, &text);
            writer.text(1, name.as_bytes());
        });
    }

    fn object(&mut self, object: &Object, members: &Map) {
        for (key, value) in members.iter().rev() {
            match object.members.get(object.rank(key)) {
                Some((_, number, shape)) if *number != 0 => self.field(*number, shape, value),
                Some((_, _, Shape::Object(kind))) => {
                    self.ordered_extension(object.extensions, key, kind, value);
                }
                _ if object.extensions != 0 => self.named(object.extensions, key, &Shape::Any, value),
                _ => {}
            }
        }
    }
}

/// The tag and length before a message.
pub(crate) fn head(number: u32, length: usize, out: &mut Vec<u8>) {
    let mut head = Writer::default();
    head.varint(length as u64);
    head.tag(number, BYTES);
    out.extend(head.finish());
}

/// A message of fields that are encoded already.
pub(crate) fn frame(number: u32, inner: &[&[u8]], out: &mut Vec<u8>) {
    head(number, inner.iter().map(|part| part.len()).sum(), out);
    for part in inner {
        out.extend_from_slice(part);
    }
}

/// A string field.
pub(crate) fn text(number: u32, text: &str, out: &mut Vec<u8>) {
    let mut writer = Writer::default();
    writer.text(number, text.as_bytes());
    out.extend(writer.finish());
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::shape;

    #[test]
    fn fields_have_the_numbers_of_gnostic() {
        let mut writer = Writer::default();
        writer.field(1, &shape::v2::SCHEMA, &json!({"type": "string", "maxLength": 300}));
        // type is TypeItem{value} under 22, maxLength a varint under 11.
        assert_eq!(
            writer.finish(),
            [&[0x0a, 14, 0x58, 0xac, 0x02, 0xb2, 0x01, 8, 0x0a, 6][..], b"string"].concat()
        );
    }
}
