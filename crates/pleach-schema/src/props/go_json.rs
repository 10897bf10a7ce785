//! A schema as it prints inside an error message: the API server's internal struct, which has no
//! JSON names, written by Go's `encoding/json` with all its fields.

use std::fmt::Write as _;

use pleach_json::{Str, Value, grow_stack};

use super::{JSONSchemaProps, SchemaMap, SchemaOrArray, SchemaOrBool, ValidationRule};

/// The text of the internal struct.
pub(crate) fn go_json(schema: &JSONSchemaProps) -> String {
    let mut out = String::new();
    schema_text(&mut out, schema);
    out
}

fn json(value: &Value) -> String {
    pleach_json::to_string(value)
}

fn text(s: &Str) -> String {
    json(&Value::String(s.clone()))
}

fn optional<T>(value: Option<T>, print: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "null".to_owned(), print)
}

fn int(value: Option<i64>) -> String {
    optional(value, |i| i.to_string())
}

fn float(value: Option<f64>) -> String {
    optional(value, |f| json(&Value::Float(f)))
}

fn joined<'a, T: 'a>(
    list: Option<impl IntoIterator<Item = &'a T>>,
    mut print: impl FnMut(&mut String, &'a T),
) -> String {
    optional(list, |list| {
        let mut out = String::from("[");
        for (i, item) in list.into_iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            print(&mut out, item);
        }
        out + "]"
    })
}

fn texts(list: Option<&Vec<Str>>) -> String {
    joined(list, |out, s| out.push_str(&text(s)))
}

fn schemas(list: Option<&[JSONSchemaProps]>) -> String {
    joined(list, schema_text)
}

fn members<'a, T: 'a>(
    map: Option<impl IntoIterator<Item = &'a (Str, T)>>,
    mut print: impl FnMut(&mut String, &'a T),
) -> String {
    optional(map, |map| {
        let mut out = String::from("{");
        for (i, (name, value)) in map.into_iter().enumerate() {
            if i > 0 {
                out.push(',');
            }
            let _ = write!(out, "{}:", text(name));
            print(&mut out, value);
        }
        out + "}"
    })
}

fn schema_map(map: Option<&SchemaMap>) -> String {
    members(map.map(|map| map.iter()), schema_text)
}

fn boxed(schema: Option<&JSONSchemaProps>) -> String {
    optional(schema, go_json)
}

/// The text of the internal struct of `items`.
pub(crate) fn go_json_items(items: &SchemaOrArray) -> String {
    let list = match items {
        SchemaOrArray::List(list) => Some(list.as_slice()),
        _ => None,
    };
    format!("{{\"Schema\":{},\"JSONSchemas\":{}}}", boxed(items.schema()), schemas(list))
}

fn or_bool(value: Option<&SchemaOrBool>) -> String {
    optional(value, |value| {
        format!("{{\"Allows\":{},\"Schema\":{}}}", value.allows(), boxed(value.schema()))
    })
}

impl ValidationRule {
    /// The rule as it prints inside an error message.
    pub fn go_json(&self) -> String {
        format!(
            "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
            text(&self.rule),
            text(&self.message),
            text(&self.message_expression),
            optional(self.reason.as_ref(), text),
            text(&self.field_path),
            optional(self.optional_old_self, |b| b.to_string()),
        )
    }
}

fn schema_text(out: &mut String, schema: &JSONSchemaProps) {
    grow_stack(|| fields(out, schema));
}

fn fields(out: &mut String, schema: &JSONSchemaProps) {
    let (value, rare) = (schema.value(), schema.rare());
    let list = |list: &Option<super::SchemaList>| schemas(list.as_ref().map(|list| list.as_slice()));
    let docs = optional(rare.external_docs.as_ref(), |docs| {
        format!("{{\"Description\":{},\"URL\":{}}}", text(&docs.description), text(&docs.url))
    });
    let dependencies = members(rare.dependencies.as_ref(), |out, dependency| {
        let _ = write!(
            out,
            "{{\"Schema\":{},\"Property\":{}}}",
            boxed(dependency.schema.as_deref()),
            texts(dependency.property.as_ref())
        );
    });
    let pairs: [(&str, String); 43] = [
        ("ID", text(&rare.id)),
        ("Schema", text(&rare.schema)),
        ("Ref", optional(rare.ref_.as_ref(), text)),
        ("Description", text(&schema.description)),
        ("Type", text(&schema.type_)),
        ("Nullable", schema.nullable.to_string()),
        ("Format", text(&value.format)),
        ("Title", text(&rare.title)),
        ("Default", json(&rare.default)),
        ("Maximum", float(value.maximum)),
        ("ExclusiveMaximum", value.exclusive_maximum.to_string()),
        ("Minimum", float(value.minimum)),
        ("ExclusiveMinimum", value.exclusive_minimum.to_string()),
        ("MaxLength", int(value.max_length)),
        ("MinLength", int(value.min_length)),
        ("Pattern", text(&value.pattern)),
        ("MaxItems", int(value.max_items)),
        ("MinItems", int(value.min_items)),
        ("UniqueItems", value.unique_items.to_string()),
        ("MultipleOf", float(value.multiple_of)),
        ("Enum", joined(value.enum_.as_ref(), |out, v| out.push_str(&json(v)))),
        ("MaxProperties", int(value.max_properties)),
        ("MinProperties", int(value.min_properties)),
        ("Required", texts(schema.required.as_ref())),
        ("Items", optional(schema.items.as_ref(), go_json_items)),
        ("AllOf", list(&value.all_of)),
        ("OneOf", list(&value.one_of)),
        ("AnyOf", list(&value.any_of)),
        ("Not", boxed(schema.not())),
        ("Properties", schema_map(schema.properties.as_ref())),
        ("AdditionalProperties", or_bool(schema.additional_properties.as_ref())),
        ("PatternProperties", schema_map(rare.pattern_properties.as_ref())),
        ("Dependencies", dependencies),
        ("AdditionalItems", or_bool(rare.additional_items.as_ref())),
        ("Definitions", schema_map(rare.definitions.as_ref())),
        ("ExternalDocs", docs),
        ("Example", json(&rare.example)),
        ("XPreserveUnknownFields", optional(schema.x_preserve_unknown_fields, |b| b.to_string())),
        ("XEmbeddedResource", schema.x_embedded_resource.to_string()),
        ("XIntOrString", schema.x_int_or_string.to_string()),
        ("XListMapKeys", texts(rare.x_list_map_keys.as_ref())),
        ("XListType", optional(rare.x_list_type.as_ref(), text)),
        ("XMapType", optional(rare.x_map_type.as_ref(), text)),
    ];
    out.push('{');
    for (name, value) in pairs {
        let _ = write!(out, "\"{name}\":{value},");
    }
    let rules = joined(rare.x_validations.as_ref(), |out, rule: &ValidationRule| out.push_str(&rule.go_json()));
    let _ = write!(out, "\"XValidations\":{rules}}}");
}
