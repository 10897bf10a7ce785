//! From an object to its message, by the tables of [`super::messages`].
//!
//! The bytes are those that Go's generated code writes: fields in the order of their numbers, entries of maps in the
//! order of their keys, fields that are no pointers even when they are empty. Members that the table does not have are
//! left out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pleach_go::time::{parse_rfc3339, parse_rfc3339_micro};
use pleach_json::{Map, Value, grow_stack};

use super::messages::{Field, FieldType, JSON_SCHEMA_PROPS, Message, Rule};
use super::wire::Writer;

/// Writes the fields of a message.
pub(crate) fn write(out: &mut Writer, members: &Map, message: &'static Message) {
    grow_stack(|| {
        for field in message.fields().iter().rev() {
            if let (Rule::Inline, FieldType::Message(inner)) = (field.rule, field.kind) {
                let before = out.len();
                write(out, members, inner);
                out.close(field.number, before);
                continue;
            }
            match members.get(field.name) {
                Some(value) if !value.is_null() => write_field(out, field, value),
                _ if field.rule == Rule::Plain => write_empty(out, field),
                _ => {}
            }
        }
    });
}

fn write_field(out: &mut Writer, field: &Field, value: &Value) {
    match (field.rule, value) {
        (Rule::Many, Value::Array(items)) => {
            pleach_work::charge(items.len() as u64);
            for item in items.iter().rev() {
                element(out, field.number, field.kind, item);
            }
        }
        (Rule::Map, Value::Object(entries)) => {
            pleach_work::charge(entries.len() as u64);
            for (key, value) in entries.iter().rev() {
                let before = out.len();
                element(out, 2, field.kind, value);
                out.bytes(1, key.as_bytes());
                out.close(field.number, before);
            }
        }
        (Rule::Plain | Rule::Pointer, value) => element(out, field.number, field.kind, value),
        _ => {}
    }
}

/// A field that is not there and cannot be absent. Bytes can.
fn write_empty(out: &mut Writer, field: &Field) {
    match field.kind {
        FieldType::Int | FieldType::Bool => out.int(field.number, 0),
        FieldType::Message(message) => {
            let before = out.len();
            write(out, &Map::new(), message);
            out.close(field.number, before);
        }
        FieldType::Quantity => {
            let before = out.len();
            out.bytes(1, b"0");
            out.close(field.number, before);
        }
        FieldType::IntOrString => {
            let before = out.len();
            out.bytes(3, b"");
            out.int(2, 0);
            out.int(1, 0);
            out.close(field.number, before);
        }
        FieldType::Text | FieldType::Time | FieldType::MicroTime => out.bytes(field.number, &[]),
        _ => {}
    }
}

/// One value. Values of another type than the table has are left out: objects are checked before they are stored.
fn element(out: &mut Writer, number: u32, kind: FieldType, value: &Value) {
    let before = out.len();
    match (kind, value) {
        (FieldType::Text, Value::String(text)) => return out.bytes(number, text.as_bytes()),
        (FieldType::Int, Value::Int(value)) => return out.int(number, *value),
        (FieldType::Int, Value::Float(value)) => return out.int(number, *value as i64),
        (FieldType::Bool, Value::Bool(value)) => return out.int(number, i64::from(*value)),
        (FieldType::Double, value) => {
            return value.as_number().into_iter().for_each(|value| out.double(number, value));
        }
        (FieldType::Bytes, Value::String(text)) => {
            return out.bytes(number, &STANDARD.decode(text.as_bytes()).unwrap_or_default());
        }
        (FieldType::Time, Value::String(text)) => match parse_rfc3339(text) {
            Ok(time) if !time.is_zero() => {
                out.int(2, 0);
                out.int(1, time.seconds);
            }
            _ => {}
        },
        (FieldType::MicroTime, Value::String(text)) => match parse_rfc3339_micro(text) {
            Ok(time) if !time.is_zero() => {
                out.int(2, i64::from(time.nanos));
                out.int(1, time.seconds);
            }
            _ => {}
        },
        (FieldType::Message(message), Value::Object(members)) => write(out, members, message),
        (FieldType::Quantity, Value::String(text)) => out.bytes(1, text.as_bytes()),
        (FieldType::IntOrString, Value::Int(value)) => {
            out.bytes(3, b"");
            out.int(2, *value);
            out.int(1, 0);
        }
        (FieldType::IntOrString, Value::String(text)) => {
            out.bytes(3, text.as_bytes());
            out.int(2, 0);
            out.int(1, 1);
        }
        (FieldType::Json, value) => out.bytes(1, &pleach_json::to_vec(value)),
        (FieldType::TextList, Value::Array(items)) => texts(out, 1, items),
        (FieldType::SchemaOrBool, Value::Bool(allows)) => out.int(1, i64::from(*allows)),
        (FieldType::SchemaOrBool, Value::Object(schema)) => {
            write_schema(out, 2, schema);
            out.int(1, 1);
        }
        (FieldType::SchemaOrList | FieldType::SchemaOrTexts, Value::Object(schema)) => {
            write_schema(out, 1, schema);
        }
        (FieldType::SchemaOrList, Value::Array(items)) => {
            for schema in items.iter().rev().filter_map(Value::as_object) {
                write_schema(out, 2, schema);
            }
        }
        (FieldType::SchemaOrTexts, Value::Array(items)) => texts(out, 2, items),
        _ => return,
    }
    out.close(number, before);
}

fn texts(out: &mut Writer, number: u32, items: &[Value]) {
    items.iter().rev().filter_map(Value::as_str).for_each(|text| out.bytes(number, text.as_bytes()));
}

fn write_schema(out: &mut Writer, number: u32, schema: &Map) {
    let before = out.len();
    write(out, schema, *JSON_SCHEMA_PROPS);
    out.close(number, before);
}
