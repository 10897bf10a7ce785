//! The list of versions as it prints inside an error message: the API server's internal structs,
//! which have no JSON names, written with all their fields.

use std::fmt::Write as _;

use pleach_json::{Str, Value};

use crate::types::{Column, SelectableField, Subresources, Validation, Version};

fn text(s: &Str) -> String {
    pleach_json::to_string(&Value::String(s.clone()))
}

fn optional<T>(value: Option<T>, print: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| "null".to_owned(), print)
}

fn list<T>(items: Option<&[T]>, print: impl Fn(&T) -> String) -> String {
    optional(items, |items| format!("[{}]", items.iter().map(print).collect::<Vec<_>>().join(",")))
}

/// The text of `spec.versions`.
pub(crate) fn versions(versions: Option<&[Version]>) -> String {
    list(versions, version)
}

fn version(v: &Version) -> String {
    let mut out = String::new();
    let _ = write!(
        out,
        "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{},\
         \"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
        text(&v.name),
        v.served,
        v.storage,
        v.deprecated,
        optional(v.deprecation_warning.as_ref(), text),
        optional(v.schema.as_ref(), validation),
        optional(v.subresources.as_ref(), subresources),
        list(v.additional_printer_columns.as_deref(), column),
        list(v.selectable_fields.as_deref(), selectable_field),
    );
    out
}

fn validation(validation: &Validation) -> String {
    let schema = validation.open_api_v3_schema.as_ref();
    format!("{{\"OpenAPIV3Schema\":{}}}", optional(schema, |s| s.go_json()))
}

fn subresources(s: &Subresources) -> String {
    let scale = optional(s.scale.as_ref(), |scale| {
        format!(
            "{{\"SpecReplicasPath\":{},\"StatusReplicasPath\":{},\"LabelSelectorPath\":{}}}",
            text(&scale.spec_replicas_path),
            text(&scale.status_replicas_path),
            optional(scale.label_selector_path.as_ref(), text),
        )
    });
    format!("{{\"Status\":{},\"Scale\":{scale}}}", if s.status { "{}" } else { "null" })
}

fn column(c: &Column) -> String {
    format!(
        "{{\"Name\":{},\"Type\":{},\"Format\":{},\"Description\":{},\"Priority\":{},\"JSONPath\":{}}}",
        text(&c.name),
        text(&c.type_),
        text(&c.format),
        text(&c.description),
        c.priority,
        text(&c.json_path),
    )
}

fn selectable_field(f: &SelectableField) -> String {
    format!("{{\"JSONPath\":{}}}", text(&f.json_path))
}
