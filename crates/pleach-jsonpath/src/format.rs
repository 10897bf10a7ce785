//! Values as text, in Go's forms: `%v`, type names, and what a template prints.

use crate::eval::Item;
use pleach_json::{Value, grow_stack};
use std::fmt::Write as _;

/// Appends what a template prints for one result.
///
/// Upstream distinguishes a null inside the object from an object that is nothing at all.
pub(crate) fn print(item: Item<'_>, out: &mut String) {
    match item {
        None => out.push_str("<no value>"),
        Some(value @ (Value::Array(_) | Value::Object(_))) => out.push_str(&pleach_json::to_string(value)),
        Some(Value::Null) => out.push_str("null"),
        Some(scalar) => write_go_value(scalar, out),
    }
}

/// A value as Go's `%v` writes it in a message.
pub(crate) fn go_value(item: Item<'_>) -> String {
    let mut out = String::new();
    match item {
        None => out.push_str("<invalid reflect.Value>"),
        Some(value) => write_go_value(value, &mut out),
    }
    out
}

fn write_go_value(value: &Value, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = match value {
        Value::Null => write!(out, "<nil>"),
        Value::Bool(bool) => write!(out, "{bool}"),
        Value::Int(int) => write!(out, "{int}"),
        Value::Float(float) => {
            write_float(*float, out);
            Ok(())
        }
        Value::String(text) => write!(out, "{text}"),
        Value::Array(array) => {
            out.push('[');
            for (at, element) in array.iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                grow_stack(|| write_go_value(element, out));
            }
            out.push(']');
            Ok(())
        }
        Value::Object(map) => {
            out.push_str("map[");
            for (at, (key, member)) in map.iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                grow_stack(|| write_go_value(member, out));
            }
            out.push(']');
            Ok(())
        }
    };
}

/// The fewest digits that say which float it is, with an exponent when that is below -4 or above 5.
fn write_float(float: f64, out: &mut String) {
    if float.is_nan() {
        out.push_str("NaN");
        return;
    }
    if float.is_infinite() {
        out.push_str(if float > 0.0 { "+Inf" } else { "-Inf" });
        return;
    }
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // Writing to a string cannot fail.
    let _ = if (-4..=5).contains(&exponent) {
        write!(out, "{float}")
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{digits}e{sign}{:02}", exponent.abs())
    };
}

/// The name of the Go type that holds a value.
pub(crate) fn type_name(item: Item<'_>) -> &'static str {
    match item {
        None | Some(Value::Null) => "<nil>",
        Some(Value::Bool(_)) => "bool",
        Some(Value::Int(_)) => "int64",
        Some(Value::Float(_)) => "float64",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "[]interface {}",
        Some(Value::Object(_)) => "map[string]interface {}",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_as_go_writes_them() {
        for (float, want) in [
            (1.0, "1"),
            (1.5, "1.5"),
            (100_000.0, "100000"),
            (1_000_000.0, "1e+06"),
            (1e21, "1e+21"),
            (123_456_789.0, "1.23456789e+08"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-2.5e-10, "-2.5e-10"),
            (f64::MAX, "1.7976931348623157e+308"),
            (-0.0, "-0"),
        ] {
            let mut out = String::new();
            write_float(float, &mut out);
            assert_eq!(out, want);
        }
    }
}
