//! The protobuf messages of the API, made from the table of types ([`pleach_types`]) when they are first used.
//!
//! Fields stand in the order of their numbers.

use std::collections::HashMap;
use std::sync::{OnceLock, PoisonError, RwLock};

use pleach_types::{FieldDef, TypeDef, TypeExpr};
use pleach_work::Constant;

/// A message.
#[derive(Debug)]
pub(crate) struct Message {
    def: &'static TypeDef,
    fields: OnceLock<Vec<Field>>,
}

impl Message {
    /// Its fields. Types that nest are made level by level.
    pub(crate) fn fields(&self) -> &[Field] {
        self.fields.get_or_init(|| {
            let numbered = self.def.fields.iter().filter(|field| field.number != 0);
            let mut fields: Vec<Field> = numbered.map(field).collect();
            fields.sort_by_key(|field| field.number);
            fields
        })
    }
}

/// One field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) number: u32,
    /// The JSON key; empty for [`Rule::Inline`].
    pub(crate) name: &'static str,
    pub(crate) kind: FieldType,
    pub(crate) rule: Rule,
}

/// The type of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldType {
    Text,
    Int,
    Bool,
    Double,
    /// Bytes, which JSON has as base64.
    Bytes,
    /// `{1 seconds, 2 nanos}`; whole seconds in JSON.
    Time,
    /// The same; microseconds in JSON.
    MicroTime,
    Message(&'static Message),
    /// `{1 raw}`: a value as JSON text.
    Json,
    /// `{1 text}`: a quantity.
    Quantity,
    /// `{1 type, 2 number, 3 text}`: a number or a text.
    IntOrString,
    /// `{1 items}`: a list of texts that is a message of its own.
    TextList,
    /// `{1 allows, 2 schema}`: a boolean or a schema.
    SchemaOrBool,
    /// `{1 schema, 2 schemas}`: a schema or a list of them.
    SchemaOrList,
    /// `{1 schema, 2 texts}`: a schema or a list of texts.
    SchemaOrTexts,
}

/// How often a field occurs, and what an empty one means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// Always there in Go, and always written; JSON leaves it out when it is empty, unless it is a message.
    Plain,
    /// A pointer in Go, there or not: empty is not absent.
    Pointer,
    /// A list.
    Many,
    /// A map from texts: entries are messages `{1 key, 2 value}`.
    Map,
    /// A message whose fields JSON has among those around it.
    Inline,
}

/// The message of a kind; `None` for kinds that have no protobuf form.
pub(crate) fn message(api_version: &str, kind: &str) -> Option<&'static Message> {
    let def = pleach_types::of_kind(api_version, kind).or_else(|| match api_version {
        // Discovery documents and `Status` are of `meta/v1`, and say `v1` or nothing.
        "" | "v1" | "meta.k8s.io/v1beta1" => pleach_types::of_kind("meta.k8s.io/v1", kind),
        _ => None,
    })?;
    Some(of(def))
}

/// The message of a type. Types live as long as the program, and so do their messages.
fn of(def: &'static TypeDef) -> &'static Message {
    static MADE: RwLock<Option<HashMap<&'static str, &'static Message>>> = RwLock::new(None);
    let made = MADE.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = made.as_ref().and_then(|made| made.get(def.name)) {
        return known;
    }
    drop(made);
    let mut made = MADE.write().unwrap_or_else(PoisonError::into_inner);
    let leak = || -> &'static Message { Box::leak(Box::new(Message { def, fields: OnceLock::new() })) };
    made.get_or_insert_default().entry(def.name).or_insert_with(leak)
}

/// The message of a type that is in the table.
fn named(name: &str) -> &'static Message {
    of(pleach_types::get(name).expect("a type of the table"))
}

pub(crate) static STATUS: Constant<&'static Message> = Constant::new(|| named("meta/v1.Status"));
pub(crate) static LIST_META: Constant<&'static Message> = Constant::new(|| named("meta/v1.ListMeta"));
pub(crate) static DELETE_OPTIONS: Constant<&'static Message> =
    Constant::new(|| named("meta/v1.DeleteOptions"));
pub(crate) static JSON_SCHEMA_PROPS: Constant<&'static Message> =
    Constant::new(|| named("apiextensions/v1.JSONSchemaProps"));

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
        TypeExpr::SchemaOrBool => FieldType::SchemaOrBool,
        TypeExpr::SchemaOrList => FieldType::SchemaOrList,
        TypeExpr::SchemaOrTexts => FieldType::SchemaOrTexts,
        TypeExpr::Struct(name) => FieldType::Message(named(name)),
        // No type of the API nests these.
        TypeExpr::Map(of) | TypeExpr::List(of) | TypeExpr::Pointer(of) => field_type(of),
    }
}

/// `apiVersion` and kind of all types of the table with both, in a fixed order.
#[cfg(test)]
pub(crate) fn kinds() -> Vec<(String, &'static str)> {
    let kind = |name: &'static str| {
        let (package, kind) = name.split_once('.')?;
        let (package, version) = package.split_once('/')?;
        let group = match package {
            "core" => String::new(),
            "apps" | "batch" | "autoscaling" | "policy" => format!("{package}/"),
            "rbac" => "rbac.authorization.k8s.io/".to_owned(),
            _ => format!("{package}.k8s.io/"),
        };
        let api_version = format!("{group}{version}");
        pleach_types::of_kind(&api_version, kind).is_some().then_some((api_version, kind))
    };
    let mut kinds: Vec<_> = pleach_types::names().filter_map(kind).collect();
    kinds.sort();
    kinds
}
