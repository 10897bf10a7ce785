//! The table's types as `pleach_go` decodes them.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pleach_go::json::{Decoder, GoField, GoStruct, GoType, STRING, always};
use pleach_json::Value;

use crate::{TypeExpr, get};

/// The struct that objects of a type are decoded into. Made once; types of the table live as long as the program.
pub fn go_struct(name: &str) -> Option<&'static GoStruct> {
    static MADE: Mutex<Option<HashMap<&'static str, &'static GoStruct>>> = Mutex::new(None);
    let find = || MADE.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(name).copied();
    if let Some(known) = find() {
        return Some(known);
    }
    let def = get(name)?;
    let (path, short) = name.split_once('.')?;
    let package = path.rsplit_once('/').map_or(path, |(_, package)| package);
    let short: &'static str = def.name.get(def.name.len() - short.len()..)?;
    let package: &'static str = def.name.get(path.len() - package.len()..path.len())?;
    let fields = def.flat().into_iter().map(|(embedded, field)| GoField {
        name: field.name,
        ty: go_type(&field.ty),
        omit: field.omit,
        embedded: embedded.leak(),
    });
    let fields: Vec<GoField> = fields.collect();
    let made: &'static GoStruct =
        Box::leak(Box::new(GoStruct { name: short, package, fields: Vec::leak(fields) }));
    let mut known = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    Some(known.get_or_insert_default().entry(def.name).or_insert(made))
}

/// The struct of a kind, with metadata as it is, which is decoded before.
pub fn go_root(name: &str) -> Option<&'static GoStruct> {
    static MADE: Mutex<Option<HashMap<&'static str, &'static GoStruct>>> = Mutex::new(None);
    let find = || MADE.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.get(name).copied();
    if let Some(known) = find() {
        return Some(known);
    }
    let def = get(name)?;
    let inner = go_struct(name)?;
    let fields = inner.fields.iter().map(|field| match field.name {
        "metadata" => always("metadata", GoType::Raw),
        _ => GoField { name: field.name, ty: field.ty, omit: field.omit, embedded: field.embedded },
    });
    let fields: Vec<GoField> = fields.collect();
    let made: &'static GoStruct =
        Box::leak(Box::new(GoStruct { name: inner.name, package: inner.package, fields: Vec::leak(fields) }));
    let mut known = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    Some(known.get_or_insert_default().entry(def.name).or_insert(made))
}

/// Whether the fields of an object besides its metadata have the types of a kind. The error is Go's.
pub fn check(name: &str, object: &Value) -> Result<(), String> {
    let Some(root) = go_root(name) else { return Ok(()) };
    Decoder::lenient().with_literal_numbers().decode(&mut object.clone(), &GoType::Struct(root))
}

/// The empty object of a kind, as Go encodes it.
pub fn zero(name: &str) -> Value {
    go_struct(name).map_or_else(Value::object, GoStruct::zero)
}

/// The same without metadata, kept for ever.
pub fn blank(name: &'static str) -> &'static Value {
    static MADE: Mutex<Option<HashMap<&'static str, &'static Value>>> = Mutex::new(None);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    made.get_or_insert_default().entry(name).or_insert_with(|| {
        let mut zero = zero(name);
        if let Some(members) = zero.as_object_mut() {
            members.remove("metadata");
        }
        Box::leak(Box::new(zero))
    })
}

fn go_type(ty: &TypeExpr) -> GoType {
    let leak = |ty: &TypeExpr| -> &'static GoType { Box::leak(Box::new(go_type(ty))) };
    match ty {
        TypeExpr::String(name) => GoType::String(name),
        TypeExpr::Bool => GoType::Bool,
        TypeExpr::Int32 => GoType::Int32,
        TypeExpr::Int64 => GoType::Int64,
        TypeExpr::Float64 => GoType::Float64,
        TypeExpr::Time => GoType::Time,
        TypeExpr::MicroTime => GoType::MicroTime,
        TypeExpr::Quantity => GoType::Quantity,
        TypeExpr::IntOrString => GoType::IntOrString,
        TypeExpr::Bytes => GoType::Bytes,
        TypeExpr::Texts => GoType::Slice(&STRING),
        // A map of quantities is a list of resources, of which there is no less than a thousandth.
        TypeExpr::Map(of) if matches!(**of, TypeExpr::Quantity) => GoType::Map(&GoType::ResourceQuantity),
        TypeExpr::Map(of) => GoType::Map(leak(of)),
        TypeExpr::List(of) => GoType::Slice(leak(of)),
        TypeExpr::Pointer(to) => GoType::Pointer(leak(to)),
        // Schemas nest, and have a decoder of their own.
        TypeExpr::Raw | TypeExpr::SchemaOrBool | TypeExpr::SchemaOrList | TypeExpr::SchemaOrTexts => {
            GoType::Raw
        }
        TypeExpr::Struct(name) if name.ends_with(".JSONSchemaProps") => GoType::Raw,
        TypeExpr::Struct(name) => GoType::Struct(go_struct(name).expect("a type of the table")),
    }
}
