//! The CEL type of a schema node.
//!
//! Types come from the structural part alone. A node whose type is not said (preserved unknown
//! fields) has none, and neither has a list or map of such nodes. Where a whole resource sits, the
//! root or an embedded one, `apiVersion`, `kind`, `metadata.name` and `metadata.generateName` are
//! there whatever the schema says, and nothing else of metadata.

use std::collections::HashSet;
use std::sync::Arc;

use pleach_cel::{DeclType, ListKind, ObjectType};
use pleach_json::{Str, Value, grow_stack};

use crate::props::JSONSchemaProps;

/// The name of the type of `self`. Upstream has a random number there.
pub(super) const SELF_TYPE: &str = "selfType1";

/// Types further down than this many bytes of name are numbered instead: names must not grow with
/// the square of the schema's depth.
const LONGEST_NAME: usize = 2_000;

/// The type of a node; `is_resource` says that it is the root or an embedded resource.
pub fn decl_type(schema: &JSONSchemaProps, is_resource: bool) -> Option<DeclType> {
    typed(schema, is_resource, &mut Name { text: SELF_TYPE.into(), numbered: 0 })
}

/// The name of the type that is being built: longer on the way down and as before on return.
struct Name {
    text: String,
    numbered: usize,
}

impl Name {
    fn below<T>(&mut self, part: &str, body: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.text.len();
        if length < LONGEST_NAME {
            self.text.push('.');
            self.text.push_str(part);
        }
        let out = grow_stack(|| body(self));
        self.text.truncate(length);
        out
    }

    fn of_object(&mut self) -> Str {
        if self.text.len() < LONGEST_NAME {
            return self.text.as_str().into();
        }
        self.numbered += 1;
        format!("{SELF_TYPE}.@{}", self.numbered).into()
    }
}

fn typed(schema: &JSONSchemaProps, is_resource: bool, name: &mut Name) -> Option<DeclType> {
    let value = schema.value();
    let decl = if schema.x_int_or_string {
        DeclType::int_or_string(value.max_length)
    } else {
        match schema.type_.as_str() {
            "array" => {
                let items = schema.items()?;
                let item = name.below("@idx", |name| typed(items, items.x_embedded_resource, name))?;
                DeclType::list(item, list_kind(schema), value.max_items)
            }
            "object" => match schema.additional_properties() {
                Some(additional) if !is_resource => {
                    let element =
                        name.below("@elem", |name| typed(additional, additional.x_embedded_resource, name))?;
                    DeclType::map(element, value.max_properties)
                }
                _ => object(schema, is_resource, name),
            },
            "string" => string(schema),
            "boolean" => DeclType::boolean(),
            "integer" => DeclType::integer(),
            "number" => DeclType::number(),
            _ => return None,
        }
    };
    Some(decl.nullable(schema.nullable))
}

fn list_kind(schema: &JSONSchemaProps) -> ListKind {
    match schema.list_type() {
        "set" => ListKind::Set,
        "map" => ListKind::Map(Arc::from(schema.list_map_keys())),
        _ => ListKind::Atomic,
    }
}

fn string(schema: &JSONSchemaProps) -> DeclType {
    let value = schema.value();
    match value.format.as_str() {
        "byte" => DeclType::bytes(value.max_length),
        "date" => DeclType::date(),
        "date-time" => DeclType::date_time(),
        "duration" => DeclType::duration(),
        _ => {
            let values = value.enum_.as_ref().filter(|values| !values.is_empty());
            let longest =
                values.map(|values| values.iter().filter_map(Value::as_str).map(str::len).max().unwrap_or(0));
            DeclType::string(value.max_length, longest.map(|n| n as u64))
        }
    }
}

fn object(schema: &JSONSchemaProps, is_resource: bool, name: &mut Name) -> DeclType {
    let with_meta = is_resource && !declares_meta(schema);
    let mut object = ObjectType::new(name.of_object());
    for (property, child) in schema.properties() {
        if with_meta && matches!(property.as_str(), "apiVersion" | "kind" | "metadata") {
            continue;
        }
        let part = pleach_cel::names::escape(property);
        let decl = name
            .below(part.as_deref().unwrap_or_default(), |name| typed(child, child.x_embedded_resource, name));
        object = match decl {
            Some(decl) => object.with_field(property.clone(), decl),
            None => object.with_untyped(property.clone()),
        };
    }
    if with_meta {
        let text = || DeclType::string(None, None);
        let metadata = ObjectType::new(name.below("metadata", Name::of_object))
            .with_field("name", text())
            .with_field("generateName", text());
        object = object
            .with_field("apiVersion", text())
            .with_field("kind", text())
            .with_field("metadata", DeclType::object(metadata, []));
    }
    let mut seen = HashSet::new();
    let certain = schema.required().iter().filter(|name| seen.insert(name.as_str())).filter(|name| {
        let is_meta = with_meta && matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
        is_meta || schema.property(name).is_some_and(|child| child.default_value().is_null())
    });
    DeclType::object(object, certain.map(Str::as_str))
}

/// Whether a resource's schema says all about `apiVersion`, `kind`, `metadata.name` and
/// `metadata.generateName`: then it is taken as it is.
fn declares_meta(schema: &JSONSchemaProps) -> bool {
    let is = |schema: &JSONSchemaProps, name, type_: &str| {
        schema.property(name).is_some_and(|property| property.type_ == type_)
    };
    is(schema, "kind", "string")
        && is(schema, "apiVersion", "string")
        && schema.property("metadata").is_some_and(|metadata| {
            metadata.type_ == "object"
                && is(metadata, "name", "string")
                && is(metadata, "generateName", "string")
        })
}
