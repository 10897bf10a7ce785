//! The schemas of the table's types: for field ownership in server-side apply, and for the types of CEL expressions.

use pleach_json::{Map, Value, json};
use pleach_schema::{JSONSchemaProps, Schema, SchemaOptions};

use super::{FieldDef, TypeDef, TypeExpr, get};

/// The compiled schema of a type.
pub fn schema(name: &str) -> Schema {
    Schema::from_value(&schema_value(name), SchemaOptions::default())
}

/// The schema of a type with `apiVersion`, `kind` and metadata, as type checking of CEL expressions sees it: quantities
/// have no type there.
pub fn cel_schema(name: &str) -> Option<JSONSchemaProps> {
    JSONSchemaProps::from_value(&of_struct(name, Quantities::Untyped, None)).ok()
}

/// A struct whose schema is being made, and the one that it is in.
#[derive(Clone, Copy)]
struct Struct<'s> {
    name: &'s str,
    outer: Option<&'s Self>,
}

impl Struct<'_> {
    /// Whether this is, or is in, the struct of that name.
    fn is_within(&self, name: &str) -> bool {
        self.name == name || self.outer.is_some_and(|outer| outer.is_within(name))
    }
}

/// The schema of quantities.
#[derive(Clone, Copy)]
enum Quantities {
    IntOrString,
    Untyped,
}

/// The schema without `apiVersion`, `kind` and `metadata`.
pub fn schema_value(name: &str) -> Value {
    let mut schema = of_struct(name, Quantities::IntOrString, None);
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for field in ["apiVersion", "kind", "metadata"] {
            properties.remove(field);
        }
    }
    schema
}

fn of_struct(name: &str, quantities: Quantities, outer: Option<&Struct<'_>>) -> Value {
    // A struct within itself is an object of which nothing is known.
    let is_recursive = outer.is_some_and(|outer| outer.is_within(name));
    let Some(def) = get(name).filter(|_| !is_recursive) else { return json!({"type": "object"}) };
    let within = Struct { name, outer };
    struct_schema(def, |field| of_field(field, quantities, &within)).into()
}

/// The schema of a struct, given those of its fields.
pub(super) fn struct_schema(
    def: &'static TypeDef,
    mut of_field: impl FnMut(&'static FieldDef) -> Value,
) -> Map {
    let mut properties = Map::new();
    let mut required: Vec<Value> = Vec::new();
    for (_, field) in def.flat() {
        properties.insert(field.name, of_field(field));
        if field.required {
            required.push(field.name.into());
        }
    }
    let mut schema = Map::new();
    schema.insert("type", "object");
    schema.insert("properties", properties);
    if !required.is_empty() {
        schema.insert("required", required);
    }
    if def.atomic {
        schema.insert("x-kubernetes-map-type", "atomic");
    }
    schema
}

fn of_field(field: &FieldDef, quantities: Quantities, within: &Struct<'_>) -> Value {
    let mut schema = of_type(&field.ty, quantities, within);
    let Some(members) = schema.as_object_mut() else { return schema };
    if field.set {
        members.insert("x-kubernetes-list-type", "set");
    } else if !field.list_keys.is_empty() {
        members.insert("x-kubernetes-list-type", "map");
        let keys: Vec<Value> = field.list_keys.iter().map(|key| Value::from(*key)).collect();
        members.insert("x-kubernetes-list-map-keys", keys);
    }
    if field.atomic || field.granular {
        let owned = if field.atomic { "atomic" } else { "granular" };
        members.insert("x-kubernetes-map-type", owned);
    }
    if let Some(default) = field.default.and_then(|text| pleach_json::parse(text.as_bytes()).ok()) {
        members.insert("default", default);
    }
    schema
}

fn of_type(ty: &TypeExpr, quantities: Quantities, within: &Struct<'_>) -> Value {
    match ty {
        TypeExpr::String(_) => json!({"type": "string"}),
        TypeExpr::Bytes => json!({"type": "string", "format": "byte"}),
        TypeExpr::Bool => json!({"type": "boolean"}),
        TypeExpr::Int32 => json!({"type": "integer", "format": "int32"}),
        TypeExpr::Int64 => json!({"type": "integer", "format": "int64"}),
        TypeExpr::Float64 => json!({"type": "number", "format": "double"}),
        TypeExpr::Time | TypeExpr::MicroTime => json!({"type": "string", "format": "date-time"}),
        TypeExpr::Quantity if matches!(quantities, Quantities::Untyped) => json!({}),
        TypeExpr::Quantity | TypeExpr::IntOrString => json!({"x-kubernetes-int-or-string": true}),
        TypeExpr::Raw => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        TypeExpr::Texts => {
            json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "atomic"})
        }
        TypeExpr::Map(of) => {
            json!({"type": "object", "additionalProperties": (of_type(of, quantities, within))})
        }
        TypeExpr::List(of) => {
            json!({"type": "array", "items": (of_type(of, quantities, within)), "x-kubernetes-list-type": "atomic"})
        }
        TypeExpr::Pointer(to) => of_type(to, quantities, within),
        // Schemas nest; their fields are owned without a schema.
        TypeExpr::SchemaOrBool | TypeExpr::SchemaOrList | TypeExpr::SchemaOrTexts => {
            json!({"x-kubernetes-preserve-unknown-fields": true})
        }
        TypeExpr::Struct(name)
            if name.ends_with(".JSONSchemaProps") && matches!(quantities, Quantities::IntOrString) =>
        {
            json!({"x-kubernetes-preserve-unknown-fields": true})
        }
        TypeExpr::Struct(name) => of_struct(name, quantities, Some(within)),
    }
}
