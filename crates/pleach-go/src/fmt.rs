//! The verbs of Go's `fmt`, as far as error messages of kube-apiserver use them: `%v` and `%T`.
//! `%q` is [`crate::strconv::quote`].

use std::borrow::Cow;

use pleach_json::{Value, grow_stack};

/// A value as Go's `%v` prints it.
pub fn go_v(value: &Value) -> Cow<'_, str> {
    if let Value::String(text) = value {
        return text.as_str().into();
    }
    let mut out = String::new();
    write_go_v(value, &mut out);
    out.into()
}

/// Into one text: a text for each level would be copied at each level.
fn write_go_v(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Int(i) => out.push_str(&i.to_string()),
        Value::Float(f) => out.push_str(&float_v(*f)),
        Value::String(s) => out.push_str(s),
        Value::Array(items) => grow_stack(|| {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                write_go_v(item, out);
            }
            out.push(']');
        }),
        Value::Object(members) => grow_stack(|| {
            out.push_str("map[");
            for (i, (key, member)) in members.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                out.push_str(key);
                out.push(':');
                write_go_v(member, out);
            }
            out.push(']');
        }),
    }
}

/// The Go type of a decoded value, as `%T` prints it.
pub fn go_type(value: &Value) -> &'static str {
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

/// A float as Go's `%v` prints it: shortest text, exponent form below 1e-4 and from 1e6 on.
pub fn float_v(value: f64) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf".into() } else { "-Inf".into() };
    }
    if value == 0.0 {
        return if value.is_sign_negative() { "-0".into() } else { "0".into() };
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').expect("Rust's {:e} always has an exponent");
    let exponent: i32 = exponent.parse().expect("Rust's {:e} exponent is an integer");
    if (-4..6).contains(&exponent) {
        format!("{value}")
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{digits}e{sign}{:02}", exponent.abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_percent_v() {
        for (value, want) in [
            (1e6, "1e+06"),
            (1.5, "1.5"),
            (1e20, "1e+20"),
            (1e21, "1e+21"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-2.0, "-2"),
            (123_456_789.0, "1.23456789e+08"),
        ] {
            assert_eq!(float_v(value), want);
        }
    }
}
