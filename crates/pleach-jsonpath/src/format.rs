//! Values as text, in Go's forms: `%v`, type names, and what a template prints.

use std::borrow::Cow;

use pleach_go::fmt::{go_type, go_v};
use pleach_json::Value;

use crate::eval::Item;

/// Appends what a template prints for one result.
///
/// Upstream distinguishes a null inside the object from an object that is nothing at all.
pub(crate) fn print(item: Item<'_>, out: &mut String) {
    match item {
        None => out.push_str("<no value>"),
        Some(value @ (Value::Array(_) | Value::Object(_))) => out.push_str(&pleach_json::to_string(value)),
        Some(Value::Null) => out.push_str("null"),
        Some(scalar) => out.push_str(&go_v(scalar)),
    }
}

/// A value as Go's `%v` writes it in a message.
pub(crate) fn go_value(item: Item<'_>) -> Cow<'_, str> {
    item.map_or("<invalid reflect.Value>".into(), go_v)
}

/// The name of the Go type that holds a value.
pub(crate) fn type_name(item: Item<'_>) -> &'static str {
    item.map_or("<nil>", go_type)
}
