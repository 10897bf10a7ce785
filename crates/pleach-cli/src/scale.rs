//! What a kind with `/scale` demands of its objects.

use pleach_json::Value;
use pleach_meta::FieldError;

use crate::catalog::DefinedVersion;

/// The errors of an object's replicas and selector.
pub(crate) fn validate(version: &DefinedVersion, object: &Value) -> Vec<FieldError> {
    let Some(scale) = &version.scale else { return Vec::new() };
    let mut errors = Vec::new();
    for path in [&scale.spec_replicas_path, &scale.status_replicas_path] {
        let detail = match lookup(object, path) {
            Some(Value::Int(replicas)) if *replicas < 0 => "should be a non-negative integer".to_owned(),
            Some(Value::Int(replicas)) if *replicas > i64::from(i32::MAX) => {
                "should be less than or equal to 2147483647".to_owned()
            }
            None | Some(Value::Int(_)) => continue,
            Some(other) => accessor_error(path, other, "int64"),
        };
        let value = lookup(object, path).cloned().unwrap_or_default();
        errors.push(FieldError::invalid(path, value, detail));
    }
    if let Some(path) = scale.label_selector_path.as_ref().filter(|path| !path.is_empty())
        && let Some(other) = lookup(object, path)
        && other.as_str().is_none()
    {
        errors.push(FieldError::invalid(path, other.clone(), accessor_error(path, other, "string")));
    }
    errors
}

fn lookup<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.strip_prefix('.').unwrap_or(path).split('.').try_fold(object, |value, key| value.get(key))
}

fn accessor_error(path: &str, found: &Value, wanted: &str) -> String {
    let go_type = match found {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    };
    let shown = match found {
        Value::String(text) => text.to_string(),
        other => pleach_json::to_string(other),
    };
    format!("{path} accessor error: {shown} is of the type {go_type}, expected {wanted}")
}
