//! `fieldsV1`: a set of paths as a JSON object.
//!
//! Every step is a key, `f:name`, `k:{"name":"a"}`, `v:"x"` or `i:0`; what goes on is its value, and
//! `.` inside says that the step is a member too. A member that nothing goes on from is just `{}`.

use std::fmt::Write as _;

use pleach_json::{Map, Str, Value, grow_stack};

use crate::element::PathElement;
use crate::set::Set;

/// The set that a `fieldsV1` says. Steps of a kind that is not known are left out.
pub fn decode_fields(fields: &Value) -> Result<Set, String> {
    Ok(decode_level(fields)?.0)
}

/// What is below a step, and whether the step itself is a member.
fn decode_level(fields: &Value) -> Result<(Set, bool), String> {
    let members = match fields {
        Value::Null => return Ok((Set::new(), true)),
        Value::Object(members) => members,
        other => return Err(format!("expect {{ or n, but found {other}")),
    };
    grow_stack(|| {
        let mut set = Set::new();
        let mut member = false;
        let mut sorted = true;
        for (key, below) in members.entries() {
            if key == "." {
                member = true;
                continue;
            }
            let Some(element) = decode_element(key)? else { continue };
            // Keys of lists sort by value, their texts do not.
            sorted &= matches!(element, PathElement::Field(_));
            let (children, is_member) = decode_level(below)?;
            set.push(element, is_member, children);
        }
        if !sorted {
            set.sort();
        }
        member |= set.is_empty();
        Ok((set, member))
    })
}

/// A step; none if it is of a kind that is not known.
fn decode_element(key: &str) -> Result<Option<PathElement>, String> {
    let bad = |what: &str| Err(format!("parsing key as path element: {what}"));
    let (kind, rest) = match key.as_bytes() {
        [] | [_] => return bad("key must be 2 characters long:"),
        [kind, b':', ..] => (*kind, &key[2..]),
        _ => return bad(&format!("missing colon: {key}")),
    };
    let parsed = || pleach_json::parse(rest.as_bytes()).map_err(|error| error.to_string());
    Ok(Some(match kind {
        b'f' => PathElement::Field(rest.into()),
        b'v' => PathElement::Value(parsed()?),
        b'i' => match rest.parse() {
            Ok(index) => PathElement::Index(index),
            Err(_) => return bad(&format!("strconv.Atoi: parsing \"{rest}\": invalid syntax")),
        },
        b'k' => match parsed()? {
            Value::Object(fields) => PathElement::Key(fields.into_vec().into()),
            Value::Null => PathElement::Key(Box::new([])),
            other => return bad(&format!("expect {{ or n, but found {other}")),
        },
        _ => return Ok(None),
    }))
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
        for (why, fields, want) in [
            ("the root is never a member", json!({".": {}, "f:a": {".": {}}}), json!({"f:a": {}})),
            ("null is nothing below", json!({"f:a": null}), json!({"f:a": {}})),
            ("nothing at all", json!(null), json!({})),
            ("a kind of step that is not known", json!({"x:a": {}}), json!({})),
            ("what leads only there is a member", json!({"f:a": {"x:b": {}}}), json!({"f:a": {}})),
            ("what a dot says does not matter", json!({"f:a": {".": 1}}), json!({"f:a": {}})),
            ("keys are sorted", json!({"k:{\"b\":1,\"a\":2}": {}}), json!({"k:{\"a\":2,\"b\":1}": {}})),
            ("numbers are numbers", json!({"v:1e3": {}}), json!({"v:1000": {}})),
            ("texts are escaped", json!({"v:\"<\"": {}}), json!({"v:\"\\u003c\"": {}})),
            ("keys that are null are none", json!({"k:null": {}}), json!({"k:{}": {}})),
        ] {
            assert_eq!(encode_fields(&decode_fields(&fields).unwrap()), want, "{why}");
        }
    }

    #[test]
    fn malformed() {
        for bad in [
            json!([]),
            json!(1),
            json!({"f:a": 1}),
            json!({"f:a": []}),
            json!({"spec": {}}),
            json!({"ff:a": {}}),
            json!({":a": {}}),
            json!({"": {}}),
            json!({"f": {}}),
            json!({"k:[]": {}}),
            json!({"k:{": {}}),
            json!({"v:": {}}),
            json!({"i:x": {}}),
            json!({"i:1.5": {}}),
        ] {
            assert!(decode_fields(&bad).is_err(), "{bad}");
        }
    }
}
