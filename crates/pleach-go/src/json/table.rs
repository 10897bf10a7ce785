//! Decoding in place by the table of a struct: the value becomes what Go would encode again. A value
//! that is normal already is walked once and nothing is allocated.

use pleach_json::{Map, Value, format_float};

use super::{Decoder, GoField, GoStruct, GoType, Omit, Step, UnmarshalTypeError, value_kind};
use crate::base64;
use crate::time::{is_normal_rfc3339, parse_rfc3339, parse_rfc3339_micro};

/// The steps that a missing field which Go always encodes is charged: it takes more memory than the text around it.
const ADDED: u64 = 100;

impl Decoder {
    /// Decodes a whole document in place. On error the value is in no particular state.
    pub fn decode(&mut self, value: &mut Value, ty: &GoType) -> Result<(), String> {
        self.value(value, ty);
        self.error.take().map_or(Ok(()), Err)
    }

    /// Decodes a value within a document in place.
    pub fn value(&mut self, value: &mut Value, ty: &GoType) {
        if value.is_null() {
            *value = ty.zero();
            return;
        }
        match (ty, &mut *value) {
            (GoType::String(_), Value::String(_))
            | (GoType::Bool, Value::Bool(_))
            | (GoType::Int64, Value::Int(_))
            | (GoType::Float64, Value::Int(_) | Value::Float(_))
            | (GoType::Raw, _) => {}
            (GoType::Int32, Value::Int(i)) if i32::try_from(*i).is_ok() => {}
            (GoType::Int32 | GoType::Int64, Value::Int(_) | Value::Float(_)) => self.integer(value, ty),
            (GoType::Time | GoType::MicroTime, _) => self.unmarshaler(|d| d.time(value, ty)),
            (GoType::Quantity | GoType::ResourceQuantity, _) => {
                self.unmarshaler(|d| d.quantity(value, matches!(ty, GoType::ResourceQuantity)));
            }
            (GoType::IntOrString, _) => self.unmarshaler(|d| d.int_or_string(value)),
            (GoType::Bytes, Value::String(text)) => match base64::decode(text) {
                Ok(bytes) => *value = base64::encode(&bytes).into(),
                Err(error) => self.error(error),
            },
            (GoType::Map(of), Value::Object(map)) => {
                for (key, item) in map.entries_mut() {
                    if self.ended {
                        return;
                    }
                    self.at(Step::Key(key.clone()), |d| d.value(item, of));
                }
            }
            (GoType::Slice(of), Value::Array(items)) => {
                pleach_work::charge(8 * items.len() as u64);
                // The zero value is shared: a list of empty objects would grow a hundredfold.
                let mut zero: Option<Value> = None;
                for (i, item) in items.iter_mut().enumerate() {
                    if self.ended {
                        return;
                    }
                    let empty =
                        matches!((of, &*item), (GoType::Struct(_), Value::Object(map)) if map.is_empty());
                    if let Some(zero) = zero.as_ref().filter(|_| empty) {
                        *item = zero.clone();
                        continue;
                    }
                    self.at(Step::Index(i), |d| d.value(item, of));
                    if empty {
                        zero = Some(item.clone());
                    }
                }
            }
            (GoType::Pointer(to), _) => self.value(value, to),
            (GoType::Struct(shape), Value::Object(map)) => self.fields(map, shape),
            (_, other) => self.type_error(value_kind(other), &ty.go_name()),
        }
    }

    /// Decodes the members of an object into the fields of a struct.
    pub fn fields(&mut self, map: &mut Map, shape: &GoStruct) {
        let mut seen = 0_u64;
        let mut dropped: Vec<usize> = Vec::new();
        for (i, (key, value)) in map.entries_mut().iter_mut().enumerate() {
            if self.ended {
                return;
            }
            let Some(at) = shape.position(key) else {
                self.unknown_field(key);
                dropped.push(i);
                continue;
            };
            let field = &shape.fields[at];
            let was_null = value.is_null();
            if field.embedded.is_empty() {
                self.in_field(shape.name, field.name, |d| d.value(value, &field.ty));
            } else {
                self.in_embedded(shape.name, field.embedded, field.name, |d| d.value(value, &field.ty));
            }
            if field.omit != Omit::Never && is_empty(value, field, was_null) {
                dropped.push(i);
            } else {
                seen |= 1 << at;
            }
        }
        if !dropped.is_empty() {
            let mut at = 0;
            let mut dropped = dropped.into_iter().peekable();
            map.retain(|_, _| {
                at += 1;
                dropped.next_if_eq(&(at - 1)).is_none()
            });
        }
        for (at, field) in shape.fields.iter().enumerate() {
            if field.omit == Omit::Never && seen & (1 << at) == 0 {
                pleach_work::charge(ADDED);
                map.insert(field.name, field.ty.zero());
            }
        }
    }

    fn quantity(&mut self, value: &mut Value, resource: bool) {
        let text = match &*value {
            Value::String(text) => text.to_string(),
            Value::Int(number) => number.to_string(),
            Value::Float(number) => format_float(*number),
            other => pleach_json::to_string(other),
        };
        match crate::quantity::normalized(&text, resource) {
            Ok(Some(text)) => *value = text.into(),
            Ok(None) if matches!(value, Value::String(_)) => {}
            Ok(None) => *value = text.into(),
            Err(error) => self.error(error),
        }
    }

    fn int_or_string(&mut self, value: &mut Value) {
        match value {
            Value::String(_) => {}
            Value::Int(number) if i32::try_from(*number).is_ok() => {}
            Value::Int(_) | Value::Float(_) => {
                let found = format!("number {}", pleach_json::to_string(value));
                self.error(UnmarshalTypeError { value: &found, field: None, go_type: "int32" }.to_string());
            }
            other => self.error(super::type_error(other, "int32")),
        }
    }

    fn time(&mut self, value: &mut Value, ty: &GoType) {
        let Value::String(text) = value else {
            self.mismatch(value, &ty.go_name());
            return;
        };
        let micro = matches!(ty, GoType::MicroTime);
        if !micro && is_normal_rfc3339(text) {
            return;
        }
        let parsed = if micro { parse_rfc3339_micro(text) } else { parse_rfc3339(text) };
        match parsed {
            Ok(time) if time.is_zero() => *value = Value::Null,
            Ok(time) if micro => *value = time.to_rfc3339_micro().into(),
            Ok(time) => *value = time.to_rfc3339().into(),
            Err(error) => self.error(error),
        }
    }

    fn integer(&mut self, value: &mut Value, ty: &GoType) {
        let fits = |i: &i64| matches!(ty, GoType::Int64) || i32::try_from(*i).is_ok();
        if let Value::Float(f) = value
            && !self.literal_numbers
            && let Some(i) = format_float(*f).parse().ok().filter(fits)
        {
            *value = Value::Int(i);
            return;
        }
        self.not_integer(value, &ty.go_name());
    }
}

fn is_empty(value: &Value, field: &GoField, was_null: bool) -> bool {
    match (&field.ty, value) {
        (GoType::Pointer(_) | GoType::Raw, _) => was_null,
        (GoType::Struct(shape), Value::Object(members)) => {
            field.omit == Omit::Zero && *members == shape.zero_members()
        }
        (GoType::Struct(_) | GoType::Quantity | GoType::ResourceQuantity | GoType::IntOrString, _) => false,
        (GoType::Time | GoType::MicroTime, _) => field.omit == Omit::Zero && value.is_null(),
        (_, Value::Null | Value::Bool(false) | Value::Int(0)) => true,
        (_, Value::String(s)) => s.is_empty(),
        (_, Value::Array(items)) => items.is_empty(),
        (GoType::Map(_), Value::Object(map)) => map.is_empty(),
        _ => false,
    }
}

/// Whether decoding is known to change nothing, report nothing unknown and find no error. `false` means
/// that it has to be tried.
pub fn is_normal(value: &Value, ty: &GoType) -> bool {
    match (ty, value) {
        (_, Value::Null) => false,
        (GoType::String(_) | GoType::IntOrString, Value::String(_))
        | (GoType::Bool, Value::Bool(_))
        | (GoType::Int64 | GoType::Float64, Value::Int(_))
        | (GoType::Float64, Value::Float(_))
        | (GoType::Raw, _) => true,
        (GoType::Int32 | GoType::IntOrString, Value::Int(i)) => i32::try_from(*i).is_ok(),
        (GoType::Quantity | GoType::ResourceQuantity, Value::String(text)) => {
            let resource = matches!(ty, GoType::ResourceQuantity);
            matches!(crate::quantity::normalized(text, resource), Ok(None))
        }
        (GoType::Time, Value::String(text)) => is_normal_rfc3339(text),
        (GoType::Map(of), Value::Object(map)) => map.values().all(|value| is_normal(value, of)),
        (GoType::Slice(of), Value::Array(items)) => items.iter().all(|item| is_normal(item, of)),
        (GoType::Pointer(to), _) => is_normal(value, to),
        (GoType::Struct(shape), Value::Object(map)) => has_normal_fields(map, shape),
        _ => false,
    }
}

fn has_normal_fields(map: &Map, shape: &GoStruct) -> bool {
    let mut seen = 0_u64;
    for (key, value) in map {
        let Some(at) = shape.position(key) else { return false };
        let field = &shape.fields[at];
        if !is_normal(value, &field.ty) || (field.omit != Omit::Never && is_empty(value, field, false)) {
            return false;
        }
        seen |= 1 << at;
    }
    shape.fields.iter().enumerate().all(|(at, field)| field.omit != Omit::Never || seen & (1 << at) != 0)
}
