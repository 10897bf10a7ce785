//! Construction of protobuf well-known types ([`crate::message`]).
//!
//! Fields are evaluated in order, then converted; conversion errors name Go types, as the API server's
//! do.

use crate::eval::evaluator::{Evaluator, Outcome};
use crate::eval::node::{MessageNode, NodeId, ObjectNode};
use crate::message::{JSON_PATCH, Message, MessageKind};
use crate::value::{CelValue, Duration, Fault, Key, List, Map, ObjectValue, Opaque, Timestamp, key_text};
use crate::work::Work;
use pleach_json::grow_stack;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

/// Integers up to this are numbers in JSON, larger ones strings.
const LARGEST_JSON_INT: u64 = (1 << 53) - 1;

impl<'a> Evaluator<'a, '_> {
    /// Makes a message.
    pub(super) fn eval_message(&mut self, node: &'a MessageNode) -> Outcome<'a> {
        let mut given = Vec::with_capacity(node.fields.len());
        for (name, field, optional) in &node.fields {
            if let Some(value) = self.eval_field(name, *field, *optional)? {
                given.push((*name, value));
            }
        }
        make(self.work, node.message, &given).map_err(|fault| self.work.ended().unwrap_or(fault))
    }

    /// Makes an `Object` or a `JSONPatch`; the last of duplicate fields counts.
    pub(super) fn eval_object(&mut self, node: &'a ObjectNode) -> Outcome<'a> {
        let mut fields = BTreeMap::new();
        for (name, field, optional) in &node.fields {
            if let Some(value) = self.eval_field(name, *field, *optional)? {
                self.work.build_entries(1)?;
                if node.type_name == JSON_PATCH && name != "value" && value.as_str().is_none() {
                    let found = match &value {
                        CelValue::Null => "structpb.NullValue",
                        CelValue::Bool(_) => "bool",
                        CelValue::Int(_) => "int64",
                        CelValue::Uint(_) => "uint64",
                        CelValue::Double(_) => "float64",
                        CelValue::List(_) => "[]interface {}",
                        CelValue::Map(_) => "map[string]interface {}",
                        other => other.go_type(),
                    };
                    return Err(Fault::error(format!(
                        "unexpected type {found} for JSONPatchType '{name}' field"
                    )));
                }
                fields.insert(name.clone(), value);
            }
        }
        Ok(CelValue::Object(Arc::new(ObjectValue { type_name: node.type_name.clone(), fields })))
    }

    /// The value of a field; `None` if an optional has none.
    fn eval_field(
        &mut self,
        name: &str,
        field: NodeId,
        optional: bool,
    ) -> Result<Option<CelValue<'a>>, Fault> {
        match (self.eval(field)?, optional) {
            (value, false) => Ok(Some(value)),
            (CelValue::Optional(inner), true) => Ok(inner.map(|inner| (*inner).clone())),
            (other, true) => Err(Fault::error(format!(
                "cannot initialize optional entry '{name}' from non-optional value {}",
                key_text(&other)
            ))),
        }
    }
}

/// The value of a message with these fields; the last of duplicate fields counts.
fn make<'a>(
    work: &Work<'_>,
    message: &'static Message,
    given: &[(&'static str, CelValue<'a>)],
) -> Outcome<'a> {
    let failed = |field: &str, why: String| {
        Fault::error(format!("field type conversion error for {}.{field} value type: {why}", message.name))
    };
    let mut fields: BTreeMap<&'static str, CelValue<'a>> = BTreeMap::new();
    let mut last = None;
    for (field, value) in given {
        let converted = match (message.kind, *field) {
            (MessageKind::Wrapper(go_type), _) => native(value, go_type),
            (MessageKind::Any, "type_url") | (MessageKind::Value, "string_value") => native(value, "string"),
            (MessageKind::Any, _) => native(value, "[]uint8"),
            (MessageKind::Duration | MessageKind::Timestamp, "seconds") => native(value, "int64"),
            (MessageKind::Duration | MessageKind::Timestamp, _) => native(value, "int32"),
            (MessageKind::Value, "bool_value") => native(value, "bool"),
            (MessageKind::Value, "number_value") => native(value, "float64"),
            (MessageKind::Value, "null_value") => {
                native(value, "protoreflect.EnumNumber").map(|_| CelValue::Null)
            }
            (MessageKind::Value, "list_value") => match value {
                // Odd: an empty map is as good as an empty list.
                CelValue::Map(map) if map.is_empty() => Ok(CelValue::list(Vec::new())),
                CelValue::List(_) => json(work, value),
                other => native(other, "*structpb.ListValue"),
            },
            (MessageKind::Value, _) => match value {
                CelValue::Map(_) => json(work, value),
                other => native(other, "*structpb.Struct"),
            },
            (MessageKind::Struct, _) => match value {
                CelValue::Map(map) => json_object(work, map),
                other => return Err(unsupported_field(message, field, other)),
            },
            (MessageKind::ListValue, _) => match value {
                CelValue::List(list) => json_list(work, list),
                other => return Err(unsupported_field(message, field, other)),
            },
            (MessageKind::Empty, _) => return Err(Fault::no_such_overload()),
        };
        let converted = converted.map_err(|why| failed(field, why))?;
        last = Some(converted.clone());
        fields.insert(field, converted);
    }
    let int = |name: &str| match fields.get(name) {
        Some(CelValue::Int(i)) => *i,
        _ => 0,
    };
    Ok(match message.kind {
        MessageKind::Wrapper(go_type) => last.unwrap_or_else(|| zero(go_type)),
        MessageKind::Value => last.unwrap_or(CelValue::Null),
        MessageKind::Struct => last.unwrap_or_else(|| CelValue::Map(Map::of(BTreeMap::new()))),
        MessageKind::ListValue => last.unwrap_or_else(|| CelValue::list(Vec::new())),
        MessageKind::Empty => CelValue::opaque(Opaque::Empty),
        MessageKind::Duration => duration(int("seconds"), int("nanos")),
        MessageKind::Timestamp => timestamp(int("seconds"), int("nanos"))?,
        MessageKind::Any => return any(work, fields.get("type_url"), fields.get("value")),
    })
}

fn unsupported_field(message: &Message, field: &str, value: &CelValue<'_>) -> Fault {
    let ty = match value {
        CelValue::List(_) => "list(dyn)",
        CelValue::Map(_) => "map(dyn, dyn)",
        other => other.type_name(),
    };
    Fault::error(format!("unsupported field type for {}.{field}: {ty}", message.name))
}

fn zero<'a>(go_type: &str) -> CelValue<'a> {
    match go_type {
        "bool" => CelValue::Bool(false),
        "string" => CelValue::string(""),
        "[]uint8" => CelValue::Bytes([].into()),
        "float32" | "float64" => CelValue::Double(0.0),
        "uint32" | "uint64" => CelValue::Uint(0),
        _ => CelValue::Int(0),
    }
}

/// Seconds and nanoseconds, saturating.
fn duration<'a>(seconds: i64, nanos: i64) -> CelValue<'a> {
    let total = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    CelValue::Duration(Duration(total.clamp(i64::MIN.into(), i64::MAX.into()) as i64))
}

/// A timestamp; an error outside of the years 1 to 9999, which the API server allows only here.
fn timestamp<'a>(seconds: i64, nanos: i64) -> Outcome<'a> {
    let seconds = seconds.checked_add(nanos.div_euclid(1_000_000_000));
    let nanos = nanos.rem_euclid(1_000_000_000) as u32;
    let time = seconds.and_then(|seconds| Timestamp::from_unix(seconds, nanos));
    time.map(CelValue::Timestamp).ok_or(Fault::fixed("timestamp overflow"))
}

/// Converts a value to a Go type; the error is the API server's.
fn native<'a>(value: &CelValue<'a>, go_type: &str) -> Result<CelValue<'a>, String> {
    match (value, go_type) {
        (CelValue::Bool(_), "bool")
        | (CelValue::String(_), "string")
        | (CelValue::Bytes(_), "[]uint8")
        | (CelValue::Double(_), "float64")
        | (CelValue::Int(_), "int64")
        | (CelValue::Uint(_), "uint64") => Ok(value.clone()),
        (CelValue::Double(d), "float32") => Ok(CelValue::Double(f64::from(*d as f32))),
        (CelValue::Int(i), "int32" | "protoreflect.EnumNumber") if i32::try_from(*i).is_ok() => {
            Ok(value.clone())
        }
        (CelValue::Int(_), "int32" | "protoreflect.EnumNumber") => Err("integer overflow".into()),
        (CelValue::Uint(u), "uint32") if u32::try_from(*u).is_ok() => Ok(value.clone()),
        (CelValue::Uint(_), "uint32") => Err("unsigned integer overflow".into()),
        (CelValue::Optional(None), _) => Err("optional.none() dereference".into()),
        (CelValue::Optional(Some(inner)), _) => native(inner, go_type),
        (CelValue::Opaque(opaque), "string") if let Some(text) = opaque.text() => Ok(CelValue::string(text)),
        (CelValue::String(_), _) => Err(format!("unsupported native conversion from string to '{go_type}'")),
        (CelValue::Int(_) | CelValue::Uint(_), _) => {
            Err(format!("unsupported type conversion from '{}' to {go_type}", value.type_name()))
        }
        (CelValue::Type(_), _) => Err("type conversion not supported for 'type'".into()),
        (CelValue::List(List::View { decl: Some(_), .. }), _) => mismatch("'list(dyn)'", go_type),
        (CelValue::Map(Map::View { decl: Some(_), .. }), _) => mismatch("'map(dyn, dyn)'", go_type),
        (CelValue::List(_) | CelValue::Map(_) | CelValue::Bool(_), _) => mismatch(value.type_name(), go_type),
        (CelValue::Double(_), _) => mismatch("Double", go_type),
        (CelValue::Bytes(_), _) => mismatch("Bytes", go_type),
        (CelValue::Timestamp(_), _) => mismatch("'Timestamp'", go_type),
        (CelValue::Duration(_), _) => mismatch("'Duration'", go_type),
        (CelValue::Opaque(opaque), _) if **opaque == Opaque::Empty => {
            mismatch("'*dynamicpb.Message'", go_type)
        }
        (CelValue::Opaque(_), _) => {
            let name = value.type_name();
            mismatch(&format!("'{}'", name.rsplit('.').next().unwrap_or(name)), go_type)
        }
        (CelValue::Null | CelValue::Failed(_) | CelValue::Object(_), _) => {
            mismatch(&format!("'{}'", value.type_name()), go_type)
        }
    }
}

fn mismatch<T>(from: &str, go_type: &str) -> Result<T, String> {
    Err(format!("type conversion error from {from} to '{go_type}'"))
}

/// A value as JSON has it.
fn json<'a>(work: &Work<'_>, value: &CelValue<'a>) -> Result<CelValue<'a>, String> {
    work.charge(1).map_err(|fault| fault.to_string())?;
    Ok(match value {
        CelValue::Null | CelValue::Bool(_) | CelValue::Double(_) | CelValue::String(_) => value.clone(),
        CelValue::Int(i) if i.unsigned_abs() <= LARGEST_JSON_INT => CelValue::Double(*i as f64),
        CelValue::Int(i) => CelValue::string(i.to_string()),
        CelValue::Uint(u) if *u <= LARGEST_JSON_INT => CelValue::Double(*u as f64),
        CelValue::Uint(u) => CelValue::string(u.to_string()),
        CelValue::Bytes(bytes) => {
            work.build(2 * bytes.len()).map_err(|fault| fault.to_string())?;
            CelValue::string(base64(bytes))
        }
        CelValue::Duration(duration) => CelValue::string(duration.to_seconds_text()),
        CelValue::Timestamp(time) => CelValue::string(time.to_text()),
        CelValue::List(List::View { decl: Some(_), .. }) | CelValue::Map(Map::View { decl: Some(_), .. }) => {
            return native(value, "*structpb.Value");
        }
        CelValue::List(list) => return grow_stack(|| json_list(work, list)),
        CelValue::Map(map) => return grow_stack(|| json_object(work, map)),
        CelValue::Optional(Some(inner)) => return grow_stack(|| json(work, inner)),
        CelValue::Opaque(opaque) if **opaque == Opaque::Empty => CelValue::Map(Map::of(BTreeMap::new())),
        other => return native(other, "*structpb.Value"),
    })
}

fn json_list<'a>(work: &Work<'_>, list: &List<'a>) -> Result<CelValue<'a>, String> {
    work.build_items(list.len() + 2).map_err(|fault| fault.to_string())?;
    let items = work.items(list).map(|item| json(work, &item.map_err(|fault| fault.to_string())?));
    Ok(CelValue::list(items.collect::<Result<_, String>>()?))
}

fn json_object<'a>(work: &Work<'_>, map: &Map<'a>) -> Result<CelValue<'a>, String> {
    let charged = map.charge_walk(work).and_then(|()| work.build_entries(map.len() + 4));
    charged.map_err(|fault| fault.to_string())?;
    let mut entries = BTreeMap::new();
    for (key, value) in map {
        let key = Key::charged(work, &native(&key, "string")?).map_err(|fault| fault.to_string())?;
        let value = work.read(value).map_err(|fault| fault.to_string())?;
        entries.insert(key, json(work, &value)?);
    }
    Ok(CelValue::Map(Map::of(entries)))
}

/// With padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i)) as usize & 63];
            out.push(if i <= group.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

/// Unpacks an `Any`; one of an unknown type is not a value.
fn any<'a>(work: &Work<'_>, type_url: Option<&CelValue<'a>>, value: Option<&CelValue<'a>>) -> Outcome<'a> {
    let type_url = type_url.and_then(CelValue::as_str).unwrap_or_default();
    let bytes = match value {
        Some(CelValue::Bytes(bytes)) => bytes.as_ref(),
        _ => &[],
    };
    // Printed with escapes, or decoded to fields.
    work.read_bytes(type_url.len())?;
    work.build(bytes.len().saturating_mul(24))?;
    let message = Message::find(type_url.rsplit('/').next().unwrap_or_default());
    if let Some(unpacked) = message.and_then(|message| unpack(work, message, bytes)) {
        return Ok(unpacked);
    }
    let mut text = String::from("unsupported conversion to ref.Val: (*dynamicpb.Message)");
    if !type_url.is_empty() {
        _ = write!(text, "type_url:{}", quoted(type_url.as_bytes()));
    }
    if !bytes.is_empty() {
        _ = write!(text, "{}value:{}", if type_url.is_empty() { "" } else { " " }, quoted(bytes));
    }
    Err(Fault::error(text))
}

fn quoted(bytes: &[u8]) -> String {
    format!("\"{}\"", bytes.escape_ascii())
}

/// Reads the wire form of a message whose fields are scalars.
fn unpack<'a>(work: &Work<'_>, message: &'static Message, mut bytes: &[u8]) -> Option<CelValue<'a>> {
    if matches!(
        message.kind,
        MessageKind::Any | MessageKind::Struct | MessageKind::Value | MessageKind::ListValue
    ) && !bytes.is_empty()
        || message.kind == MessageKind::Any
    {
        return None;
    }
    let mut given = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes)?;
        let (field, ty) = *message.fields.get(usize::try_from(tag >> 3).ok()?.checked_sub(1)?)?;
        let value = match (tag & 7, ty) {
            (0, crate::types::T::Bool) => CelValue::Bool(varint(&mut bytes)? != 0),
            (0, crate::types::T::Int) => CelValue::Int(varint(&mut bytes)? as i64),
            (0, crate::types::T::Uint) => CelValue::Uint(varint(&mut bytes)?),
            (1, crate::types::T::Double) => {
                let (eight, rest) = bytes.split_first_chunk::<8>()?;
                bytes = rest;
                CelValue::Double(f64::from_le_bytes(*eight))
            }
            (5, crate::types::T::Double) => {
                let (four, rest) = bytes.split_first_chunk::<4>()?;
                bytes = rest;
                CelValue::Double(f32::from_le_bytes(*four).into())
            }
            (2, ty) => {
                let length = usize::try_from(varint(&mut bytes)?).ok()?;
                let (content, rest) = bytes.split_at_checked(length)?;
                bytes = rest;
                match ty {
                    crate::types::T::String => CelValue::string(std::str::from_utf8(content).ok()?),
                    crate::types::T::Bytes => CelValue::Bytes(content.into()),
                    _ => return None,
                }
            }
            _ => return None,
        };
        given.push((field, value));
    }
    make(work, message, &given).ok()
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
