//! `fieldsV1`: a set of paths as a JSON object.
//!
//! Every step is a key, `f:name`, `k:{"name":"a"}`, `v:"x"` or `i:0`; the steps below it are its
//! value, where `.` says that the step is a member too. A member without steps below it is `{}`.

use pleach_json::{Map, Str, Value, grow_stack};
use pleach_work::charge;
use smol_str::SmolStrBuilder;

use crate::element::PathElement;
use crate::encoded::DOT;
use crate::set::Set;

/// The set that a `fieldsV1` says. Steps of a kind that is not known are left out.
pub fn decode_fields(fields: &Value) -> Result<Set, String> {
    Ok(decode_level(fields)?.0)
}

/// The set below a step, and whether the step itself is a member.
fn decode_level(fields: &Value) -> Result<(Set, bool), String> {
    match fields {
        Value::Null => Ok((Set::new(), true)),
        Value::Object(members) => decode_members(members),
        other => Err(format!("expect {{ or n, but found {other}")),
    }
}

pub(crate) fn decode_members(members: &Map) -> Result<(Set, bool), String> {
    if members.is_empty() {
        return Ok((Set::new(), true));
    }
    grow_stack(|| {
        charge(4 * members.len() as u64);
        let mut set = Set::with_capacity(members.len());
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
pub(crate) fn decode_element(key: &str) -> Result<Option<PathElement>, String> {
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
        b'i' => match pleach_go::strconv::atoi(rest) {
            Ok(index) => PathElement::Index(index),
            Err(error) => return bad(&error),
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

/// The set below a step; at the root there is no step that could be a member.
pub(crate) fn encode_level(set: &Set, member: bool) -> Map {
    let nodes = set.nodes();
    if nodes.is_empty() {
        return Map::new();
    }
    grow_stack(|| {
        charge(4 * nodes.len() as u64);
        // A member with further fields below has `.`; one without is an empty object.
        let mut members: Vec<(Str, Value)> = Vec::with_capacity(nodes.len() + usize::from(member));
        if member {
            members.push((DOT, Value::object()));
        }
        for node in nodes {
            members.push((encode_element(&node.element), encode_level(&node.children, node.member).into()));
        }
        Map::from(members)
    })
}

pub(crate) fn encode_element(element: &PathElement) -> Str {
    match element {
        PathElement::Field(name) => field_key(name),
        PathElement::Key(fields) => item_key(fields.iter().map(|(name, value)| (name.as_str(), value))),
        PathElement::Value(value) => value_key(value),
        PathElement::Index(index) => format!("i:{index}").into(),
    }
}

/// `f:name`
#[inline]
pub(crate) fn field_key(name: &str) -> Str {
    ["f:", name].into_iter().collect()
}

/// `k:{"name":"a"}`
pub(crate) fn item_key<'v>(fields: impl Iterator<Item = (&'v str, &'v Value)>) -> Str {
    let mut out = SmolStrBuilder::new();
    let mut open = "k:{";
    for (name, value) in fields {
        out.push_str(open);
        open = ",";
        write_plain(name, &mut out);
        out.push_str(":");
        write_scalar(value, &mut out);
    }
    out.push_str(if open == "," { "}" } else { "k:{}" });
    out.finish()
}

/// `k:{"name":"a"}`, as most keys are: one field that is a text.
pub(crate) fn text_key(name: &str, text: &str) -> Str {
    if is_all_plain(name) && is_all_plain(text) {
        return ["k:{\"", name, "\":\"", text, "\"}"].into_iter().collect();
    }
    item_key([(name, &Value::from(text))].into_iter())
}

/// `v:"x"`
pub(crate) fn value_key(value: &Value) -> Str {
    let mut out = SmolStrBuilder::new();
    out.push_str("v:");
    write_scalar(value, &mut out);
    out.finish()
}

fn write_scalar(value: &Value, out: &mut SmolStrBuilder) {
    match value {
        Value::String(text) => write_plain(text, out),
        other => out.push_str(&pleach_json::to_string(other)),
    }
}

/// A string; most have nothing in them that is written otherwise.
fn write_plain(text: &str, out: &mut SmolStrBuilder) {
    if is_all_plain(text) {
        out.push_str("\"");
        out.push_str(text);
        out.push_str("\"");
        return;
    }
    let mut quoted = Vec::with_capacity(text.len() + 8);
    pleach_json::write_string(text, &mut quoted);
    out.push_str(std::str::from_utf8(&quoted).expect("a string is written whole"));
}

pub(crate) fn is_all_plain(text: &str) -> bool {
    text.bytes().all(is_plain)
}

/// Whether a character is unescaped inside quotes for every encoder.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\' | b'<' | b'>' | b'&')
}

/// Whether a key is plainly as it would be written. A no says that it must be read to know.
pub(crate) fn is_canonical(key: &str) -> bool {
    match key.as_bytes() {
        [b'f', b':', ..] => true,
        [b'v', b':', value @ ..] => scalar(value).is_some_and(<[u8]>::is_empty),
        [b'i', b':', index @ ..] => integer(index).is_some_and(<[u8]>::is_empty),
        [b'k', b':', b'{', fields @ ..] => canonical_fields(fields),
        _ => false,
    }
}

fn canonical_fields(mut rest: &[u8]) -> bool {
    let mut last: Option<&[u8]> = None;
    loop {
        let Some(after) = string(rest) else { return false };
        let name = &rest[1..rest.len() - after.len() - 1];
        if last.is_some_and(|last| last >= name) {
            return false;
        }
        last = Some(name);
        let [b':', value @ ..] = after else { return false };
        match scalar(value) {
            Some([b'}']) => return true,
            Some([b',', more @ ..]) => rest = more,
            _ => return false,
        }
    }
}

/// The text after a scalar that is plainly as it would be written.
fn scalar(text: &[u8]) -> Option<&[u8]> {
    match text.first()? {
        b'"' => string(text),
        b't' => text.strip_prefix(b"true"),
        b'f' => text.strip_prefix(b"false"),
        b'n' => text.strip_prefix(b"null"),
        _ => integer(text),
    }
}

fn string(text: &[u8]) -> Option<&[u8]> {
    let [b'"', rest @ ..] = text else { return None };
    let end = rest.iter().position(|byte| !is_plain(*byte))?;
    (rest[end] == b'"').then(|| &rest[end + 1..])
}

/// Of at most 18 digits: all of these fit.
fn integer(text: &[u8]) -> Option<&[u8]> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let count = digits.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(digits.len());
    let leading_zero = digits.first() == Some(&b'0');
    let plain = match count {
        1 => !leading_zero || digits.len() == text.len(),
        2..=18 => !leading_zero,
        _ => false,
    };
    // A point or an exponent makes it another number.
    let rest = &digits[count..];
    (plain && !matches!(rest.first(), Some(b'.' | b'e' | b'E'))).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pleach_json::json;

    #[test]
    fn decoded_sets_encode_to_the_same_text() {
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
    fn empty_sets_are_removed() {
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
            (
                "steps that are written differently and are the same are one",
                json!({"i:0": {}, "i:-0": {".": {}, "f:a": {}}, "v:1": {}, "v:1e0": {"f:b": {}}}),
                json!({"i:0": {".": {}, "f:a": {}}, "v:1": {".": {}, "f:b": {}}}),
            ),
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
