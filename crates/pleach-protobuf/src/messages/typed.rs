//! Messages of kinds whose types are in the table of types: made from it when they are first used.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pleach_pipeline::types::{self, FieldDef, TypeExpr};

use super::meta::OBJECT_META;
use super::{Field, FieldType, Message, Rule};

/// The message of a type.
pub(super) fn message(name: &'static str) -> Option<&'static Message> {
    static MADE: Mutex<Option<HashMap<&'static str, &'static Message>>> = Mutex::new(None);
    let find = || MADE.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(name).copied();
    if let Some(known) = find() {
        return Some(known);
    }
    let def = types::get(name)?;
    let mut fields: Vec<Field> = def.fields.iter().filter(|field| field.number != 0).map(field).collect();
    fields.sort_by_key(|field| field.number);
    // Types live as long as the program.
    let made: &'static Message = Box::leak(Box::new(Message { fields: Vec::leak(fields) }));
    let mut known = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    Some(known.get_or_insert_default().entry(name).or_insert(made))
}

fn field(def: &FieldDef) -> Field {
    let (rule, ty) = match &def.ty {
        _ if def.embedded => (Rule::Inline, &def.ty),
        TypeExpr::Pointer(to) => (Rule::Pointer, &**to),
        TypeExpr::List(of) => (Rule::Many, &**of),
        TypeExpr::Map(of) => (Rule::Map, &**of),
        other => (Rule::Plain, other),
    };
    Field { number: def.number, name: if def.embedded { "" } else { def.name }, kind: field_type(ty), rule }
}

fn field_type(ty: &TypeExpr) -> FieldType {
    match ty {
        TypeExpr::String(_) => FieldType::Text,
        TypeExpr::Bool => FieldType::Bool,
        TypeExpr::Int32 | TypeExpr::Int64 => FieldType::Int,
        TypeExpr::Float64 => FieldType::Double,
        TypeExpr::Time => FieldType::Time,
        TypeExpr::MicroTime => FieldType::MicroTime,
        TypeExpr::Quantity => FieldType::Quantity,
        TypeExpr::IntOrString => FieldType::IntOrString,
        TypeExpr::Raw => FieldType::Json,
        TypeExpr::Bytes => FieldType::Bytes,
        TypeExpr::Texts => FieldType::TextList,
        TypeExpr::Struct("meta/v1.ObjectMeta") => FieldType::Message(&OBJECT_META),
        TypeExpr::Struct(name) => message(name).map_or(FieldType::Json, FieldType::Message),
        // No type of the API nests these.
        TypeExpr::Map(of) | TypeExpr::List(of) | TypeExpr::Pointer(of) => field_type(of),
    }
}
