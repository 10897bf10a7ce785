//! Validation of printer columns and subresources, which have simple JSON paths.

use pleach_json::{Str, Value};
use pleach_meta::{BadValue, FieldError, Path};

use crate::types::{Column, Subresources};

const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

pub(super) fn validate_column(column: &Column, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if column.name.is_empty() {
        errors.push(FieldError::required(path.child("name"), ""));
    }
    let one_of = |list: &[&str]| format!("must be one of {}", list.join(","));
    if column.type_.is_empty() {
        errors.push(FieldError::required(path.child("type"), one_of(&TYPES)));
    } else if !TYPES.contains(&column.type_.as_str()) {
        errors.push(FieldError::invalid(path.child("type"), column.type_.clone(), one_of(&TYPES)));
    }
    if !column.format.is_empty() && !FORMATS.contains(&column.format.as_str()) {
        errors.push(FieldError::invalid(path.child("format"), column.format.clone(), one_of(&FORMATS)));
    }
    let path = path.child("JSONPath");
    if column.json_path.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if let Some(detail) = not_simple(&column.json_path) {
        errors.push(FieldError::invalid(path, column.json_path.clone(), detail));
    }
}

/// Validates that a path starts at the root; the rest of it is not checked.
fn not_simple(path: &str) -> Option<&'static str> {
    (!path.starts_with('.')).then_some("must be a simple json path starting with .")
}

pub(super) fn validate_subresources(
    subresources: &Subresources,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    let Some(scale) = &subresources.scale else { return };
    let path = path.child("scale");
    let mut replicas = |key: &str, text: &Str, under: &str, detail: &str| {
        let path = path.child(key);
        if text.is_empty() {
            errors.push(FieldError::required(path, ""));
        } else if let Some(detail) = not_simple(text) {
            errors.push(FieldError::invalid(path, text.clone(), detail));
        } else if !text.starts_with(under) {
            errors.push(FieldError::invalid(path, text.clone(), detail));
        }
    };
    replicas("specReplicasPath", &scale.spec_replicas_path, ".spec.", "should be a json path under .spec");
    replicas(
        "statusReplicasPath",
        &scale.status_replicas_path,
        ".status.",
        "should be a json path under .status",
    );
    if let Some(text) = scale.label_selector_path.as_ref().filter(|text| !text.is_empty()) {
        let path = path.child("labelSelectorPath");
        let shown = || BadValue::Raw(pleach_json::to_string(&Value::from(text.clone())));
        if let Some(detail) = not_simple(text) {
            errors.push(FieldError::invalid(path, shown(), detail));
        } else if !text.starts_with(".spec.") && !text.starts_with(".status.") {
            let detail = "should be a json path under either .spec or .status";
            errors.push(FieldError::invalid(path, shown(), detail));
        }
    }
}
