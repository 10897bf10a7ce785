//! `fieldsV1`: a set of paths as a JSON object.
//!
//! Every step is a key, `f:name`, `k:{"name":"a"}`, `v:"x"` or `i:0`; what goes on is its value, and
//! `.` inside says that the step is a member too. A member that nothing goes on from is just `{}`.

use std::fmt::Write as _;

use pleach_json::{Map, Str, Value, grow_stack};

use crate::element::PathElement;
use crate::set::Set;

/// The set that a `fieldsV1` says.
pub fn decode_fields(fields: &Value) -> Result<Set, String> {
    let Value::Object(members) = fields else { return Err("fields must be an object".to_owned()) };
    Ok(decode_level(members)?.0)
}

/// What is below a step, and whether the step itself is a member.
fn decode_level(members: &Map) -> Result<(Set, bool), String> {
    grow_stack(|| {
        let mut set = Set::new();
        let mut member = members.is_empty();
        let mut sorted = true;
        for (key, below) in members.entries() {
            if key == "." {
                member = true;
                continue;
            }
            let Value::Object(below) = below else {
                return Err(format!("value of {key} must be an object"));
            };
            let element = decode_element(key)?;
            // Keys of lists sort by value, their texts do not.
            sorted &= matches!(element, PathElement::Field(_));
            let (children, is_member) = decode_level(below)?;
            set.push(element, is_member, children);
        }
        if !sorted {
            set.sort();
        }
        Ok((set, member))
    })
}

fn decode_element(key: &str) -> Result<PathElement, String> {
    let Some((kind, rest)) = key.split_once(':').filter(|(kind, _)| kind.len() == 1) else {
        return Err(format!("key must be 2 characters long and have a type: {key}"));
    };
    let parsed = || pleach_json::parse(rest.as_bytes()).map_err(|error| error.to_string());
    match kind {
        "f" => Ok(PathElement::Field(rest.into())),
        "v" => Ok(PathElement::Value(parsed()?)),
        "i" => rest.parse().map(PathElement::Index).map_err(|_| format!("bad index {rest}")),
        "k" => match parsed()? {
            Value::Object(fields) => Ok(PathElement::Key(fields.into_vec().into())),
            _ => Err(format!("key fields must be an object: {rest}")),
        },
        _ => Err(format!("unknown path element type in {key}")),
    }
}

/// The `fieldsV1` of a set.
pub fn encode_fields(set: &Set) -> Value {
    encode_level(set, false).into()
}

fn encode_level(set: &Set, member: bool) -> Map {
    grow_stack(|| {
        let nodes = set.nodes();
        // A member that goes on says so; one that does not is an empty object.
        let dot = member && !nodes.is_empty();
        let mut members: Vec<(Str, Value)> = Vec::with_capacity(nodes.len() + usize::from(dot));
        if dot {
            members.push((Str::new_static("."), Value::object()));
        }
        for node in nodes {
            members.push((encode_element(&node.element), encode_level(&node.children, node.member).into()));
        }
        Map::from(members)
    })
}

fn encode_element(element: &PathElement) -> Str {
    match element {
        PathElement::Field(name) => {
            // Most names fit inline with their prefix: no allocation.
            let mut text = pleach_json::Str::default();
            if name.len() <= 21 {
                let mut buffer = [0u8; 23];
                buffer[..2].copy_from_slice(b"f:");
                buffer[2..2 + name.len()].copy_from_slice(name.as_bytes());
                if let Ok(whole) = std::str::from_utf8(&buffer[..2 + name.len()]) {
                    text = whole.into();
                }
                return text;
            }
            format!("f:{name}").into()
        }
        PathElement::Key(fields) => {
            let mut text = b"k:{".to_vec();
            for (i, (name, value)) in fields.iter().enumerate() {
                if i > 0 {
                    text.push(b',');
                }
                pleach_json::write_string(name, &mut text);
                text.push(b':');
                pleach_json::write_to(value, &mut text);
            }
            text.push(b'}');
            String::from_utf8_lossy(&text).into()
        }
        PathElement::Value(value) => format!("v:{}", pleach_json::to_string(value)).into(),
        PathElement::Index(index) => {
            let mut text = String::from("i:");
            let _ = write!(text, "{index}");
            text.into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pleach_json::json;

    #[test]
    fn what_is_decoded_is_encoded_again() {
        for fields in [
            json!({}),
            json!({"f:spec": {}}),
            json!({"f:spec": {".": {}, "f:a": {}}}),
            json!({"f:l": {"k:{\"port\":443,\"protocol\":\"TCP\"}": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}}}}),
            json!({"f:s": {"v:\"a\"": {}, "v:1": {}, "v:true": {}}, "f:i": {"i:0": {}, "i:10": {}}}),
            json!({"f:": {}, "f:.": {}, "f:f:x": {}}),
        ] {
            let set = decode_fields(&fields).unwrap();
            assert_eq!(encode_fields(&set), fields);
        }
    }

    #[test]
    fn what_says_nothing_goes() {
        let set = decode_fields(&json!({".": {}, "f:a": {".": {}}})).unwrap();
        assert_eq!(encode_fields(&set), json!({"f:a": {}}), "the root is never a member");
    }

    #[test]
    fn malformed() {
        for bad in [
            json!([]),
            json!({"f:a": null}),
            json!({"f:a": 1}),
            json!({"x:a": {}}),
            json!({"spec": {}}),
            json!({"": {}}),
            json!({"k:[]": {}}),
            json!({"k:{": {}}),
            json!({"v:": {}}),
            json!({"i:x": {}}),
        ] {
            assert!(decode_fields(&bad).is_err(), "{bad}");
        }
    }
}
