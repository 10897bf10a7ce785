//! Schemas and values made from bytes.
//!
//! A fuzzer that mutates JSON text mostly finds syntax errors. Here every byte string is a schema:
//! bytes choose keywords, types and names, and what is left over is ignored.

use crate::bytes::Bytes;
use pleach_json::{Map, Value, json};

const NAMES: [&str; 8] = ["a", "b", "spec", "metadata", "kind", "apiVersion", "x y", ""];
const TYPES: [&str; 8] = ["object", "array", "string", "integer", "number", "boolean", "", "null"];
const RULES: [&str; 6] = ["true", "self == oldSelf", "self.a == 'x'", "self.all(x, x == x)", "(", ""];

/// A name.
pub(crate) fn name(bytes: &mut Bytes<'_>) -> &'static str {
    bytes.pick(&NAMES)
}

/// A schema as JSON.
pub(crate) fn schema(bytes: &mut Bytes<'_>, depth: usize) -> Value {
    let mut out = Map::new();
    let keywords = bytes.next() % 6;
    let type_ = bytes.pick(&TYPES);
    if !type_.is_empty() {
        out.insert("type", type_);
    }
    for _ in 0..keywords {
        keyword(bytes, depth, &mut out);
    }
    out.into()
}

fn keyword(bytes: &mut Bytes<'_>, depth: usize, out: &mut Map) {
    let choice = bytes.next() % 32;
    if depth == 0 && choice < 10 {
        return;
    }
    let small = |bytes: &mut Bytes<'_>| Value::Int(i64::from(bytes.next() % 5) - 1);
    match choice {
        0..=2 => {
            let count = bytes.next() % 4;
            let members = (0..count).map(|_| (name(bytes).into(), schema(bytes, depth - 1)));
            out.insert("properties", members.collect::<Map>());
        }
        3 => drop(out.insert("items", schema(bytes, depth - 1))),
        4 => drop(out.insert("additionalProperties", schema(bytes, depth - 1))),
        5 => drop(out.insert("not", schema(bytes, depth - 1))),
        6..=8 => {
            let keyword = ["allOf", "anyOf", "oneOf"][usize::from(choice) - 6];
            let count = bytes.next() % 3;
            let list: Vec<Value> = (0..count).map(|_| schema(bytes, depth - 1)).collect();
            out.insert(keyword, list);
        }
        9 => drop(out.insert("dependencies", json!({(name(bytes)): schema(bytes, depth - 1)}))),
        10 => drop(out.insert("additionalProperties", bytes.next().is_multiple_of(2))),
        11 => drop(out.insert("required", json!([name(bytes)]))),
        12 => drop(out.insert("default", value(bytes, 2))),
        13 => drop(out.insert("enum", json!([value(bytes, 1), value(bytes, 0)]))),
        14 => drop(out.insert("nullable", true)),
        15 => drop(out.insert("pattern", bytes.pick(&["a", "(", "^x+$", "[z-a]"]))),
        16 => drop(out.insert("maxLength", small(bytes))),
        17 => drop(out.insert("minimum", small(bytes))),
        18 => drop(out.insert("maxItems", small(bytes))),
        19 => drop(out.insert("maxProperties", small(bytes))),
        20 => drop(out.insert("x-kubernetes-preserve-unknown-fields", !bytes.next().is_multiple_of(8))),
        21 => drop(out.insert("x-kubernetes-embedded-resource", true)),
        22 => drop(out.insert("x-kubernetes-int-or-string", true)),
        23 => drop(out.insert("x-kubernetes-list-type", bytes.pick(&["set", "map", "atomic", "zz"]))),
        24 => drop(out.insert("x-kubernetes-list-map-keys", json!([name(bytes)]))),
        25 => drop(out.insert("x-kubernetes-map-type", bytes.pick(&["granular", "atomic"]))),
        26 => drop(out.insert(
            "x-kubernetes-validations",
            json!([{"rule": bytes.pick(&RULES), "fieldPath": bytes.pick(&["", ".a", "['a']"])}]),
        )),
        27 => {
            let fields = Map::from_iter([(name(bytes).into(), name(bytes).into())]);
            out.insert("x-kubernetes-unions", json!([{"discriminator": name(bytes), "fields": fields}]));
        }
        28 => drop(out.insert("format", bytes.pick(&["date", "int32", "byte", "zz"]))),
        29 => drop(out.insert("uniqueItems", true)),
        30 => drop(out.insert("description", "d")),
        _ => drop(out.insert(bytes.pick(&["$ref", "id", "$schema", "title"]), "x")),
    }
}

/// A value.
pub(crate) fn value(bytes: &mut Bytes<'_>, depth: usize) -> Value {
    match bytes.next() % if depth == 0 { 6 } else { 10 } {
        0 => Value::Null,
        1 => Value::Bool(true),
        2 => Value::Int(i64::from(bytes.next()) - 5),
        3 => Value::Float(f64::from(bytes.next()) / 2.0),
        4 => Value::from("2024-01-01"),
        5 => Value::from(name(bytes)),
        6 | 7 => {
            let count = bytes.next() % 4;
            (0..count).map(|_| value(bytes, depth - 1)).collect::<Vec<_>>().into()
        }
        _ => {
            let count = bytes.next() % 4;
            let members = (0..count).map(|_| (name(bytes).into(), value(bytes, depth - 1)));
            members.collect::<Map>().into()
        }
    }
}
