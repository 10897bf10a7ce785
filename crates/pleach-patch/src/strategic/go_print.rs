//! Values as Go prints them in error texts.

use pleach_json::{Value, format_float, grow_stack};

/// A value as `%v` prints it.
pub(super) fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Int(int) => int.to_string(),
        Value::Float(float) => format_float(*float),
        Value::String(text) => text.to_string(),
        Value::Array(items) => list(items),
        Value::Object(map) => grow_stack(|| {
            let members: Vec<_> =
                map.iter().map(|(key, member)| format!("{key}:{}", printed(member))).collect();
            format!("map[{}]", members.join(" "))
        }),
    }
}

/// A list as `%v` prints it.
pub(super) fn list(items: &[Value]) -> String {
    grow_stack(|| format!("[{}]", items.iter().map(printed).collect::<Vec<_>>().join(" ")))
}

/// The Go type of a value that was read from JSON.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
