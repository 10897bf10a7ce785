//! Encoding a decoded value with the fields of structs in declaration order.
//!
//! Field errors that show a struct print it like this; everything on the wire has sorted keys.

use pleach_json::{Value, write_string, write_to};

use super::GoType;

impl GoType {
    /// The JSON text of `value`, which was decoded as this type.
    pub fn to_json(&self, value: &Value) -> String {
        let mut out = Vec::new();
        self.write_json(value, &mut out);
        String::from_utf8(out).expect("JSON text is UTF-8")
    }

    fn write_json(&self, value: &Value, out: &mut Vec<u8>) {
        match (self, value) {
            (Self::Pointer(to), _) => to.write_json(value, out),
            (Self::Slice(of), Value::Array(items)) => {
                out.push(b'[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    of.write_json(item, out);
                }
                out.push(b']');
            }
            (Self::Map(of), Value::Object(map)) => {
                let members = map.iter().map(|(key, item)| (key.as_str(), *of, item));
                write_members(members, out);
            }
            (Self::Struct(shape), Value::Object(map)) => {
                let members = shape.fields.iter().filter_map(|f| Some((f.name, &f.ty, map.get(f.name)?)));
                write_members(members, out);
            }
            _ => write_to(value, out),
        }
    }
}

fn write_members<'a>(members: impl Iterator<Item = (&'a str, &'a GoType, &'a Value)>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (i, (key, ty, value)) in members.enumerate() {
        if i > 0 {
            out.push(b',');
        }
        write_string(key, out);
        out.push(b':');
        ty.write_json(value, out);
    }
    out.push(b'}');
}
