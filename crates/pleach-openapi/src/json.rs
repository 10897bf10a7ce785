//! JSON encoder with the key order of a shape.

use pleach_json::{Map, Str, Value, grow_stack, write_string, write_to};
use smallvec::SmallVec;

use crate::shape::{Object, Shape};

/// Writes a value.
pub(crate) fn write(shape: &Shape, value: &Value, out: &mut Vec<u8>) {
    match (shape, value) {
        (Shape::Object(object), Value::Object(members)) => {
            grow_stack(|| write_object(object, members, out));
        }
        (Shape::Map(_, shape), Value::Object(members)) => grow_stack(|| {
            out.push(b'{');
            for (i, (key, value)) in members.iter().enumerate() {
                write_member(i == 0, key, shape, value, out);
            }
            out.push(b'}');
        }),
        (Shape::List(shape), Value::Array(items)) => grow_stack(|| {
            out.push(b'[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                write(shape, item, out);
            }
            out.push(b']');
        }),
        (Shape::Choice(choose), value) => write(choose(value).1, value, out),
        (_, value) => write_to(value, out),
    }
}

fn write_object(object: &Object, members: &Map, out: &mut Vec<u8>) {
    // Members in the shape's order, then extensions.
    let mut ranked: SmallVec<[(usize, &Str, &Value); 12]> =
        members.iter().map(|(key, value)| (object.rank(key), key, value)).collect();
    ranked.sort_by_key(|(rank, ..)| *rank);
    out.push(b'{');
    for (i, (rank, key, value)) in ranked.into_iter().enumerate() {
        let shape = object.members.get(rank).map_or(&Shape::Any, |(.., shape)| *shape);
        write_member(i == 0, key, shape, value, out);
    }
    out.push(b'}');
}

fn write_member(first: bool, key: &str, shape: &Shape, value: &Value, out: &mut Vec<u8>) {
    if !first {
        out.push(b',');
    }
    write_string(key, out);
    out.push(b':');
    write(shape, value, out);
}

impl Object {
    /// The rank of a key; extensions come last.
    pub(crate) fn rank(&self, key: &str) -> usize {
        self.members.iter().position(|(known, ..)| *known == key).unwrap_or(self.members.len())
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::shape;

    #[test]
    fn keys_are_in_the_order_of_the_shape() {
        let schema = json!({
            "x-kubernetes-map-type": "atomic", "type": "object", "description": "d", "nullable": true,
            "properties": {"b": {"type": "string", "default": "<"}, "a": {"$ref": "#/x"}},
        });
        let mut out = Vec::new();
        write(&shape::v3::SCHEMA, &schema, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r##"{"description":"d","type":"object","nullable":true,"properties":{"a":{"$ref":"#/x"},"b":{"type":"string","default":"\u003c"}},"x-kubernetes-map-type":"atomic"}"##
        );
    }
}
