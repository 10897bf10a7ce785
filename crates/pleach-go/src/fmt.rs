//! The verbs of Go's `fmt`, as far as error messages of kube-apiserver use them: `%v`, `%#v` and `%T`.
//! `%q` is [`crate::strconv::quote`].

use std::borrow::Cow;

use pleach_json::{Value, grow_stack};

use crate::strconv::quote;

/// Values in errors are cut after about this many bytes: an error need not repeat a document.
pub const MAX_SHOWN: usize = 64 << 10;

/// A value as Go's `%v` prints it.
pub fn go_v(value: &Value) -> Cow<'_, str> {
    if let Value::String(text) = value {
        return text.as_str().into();
    }
    let mut out = String::new();
    write_v(value, usize::MAX, &mut out);
    out.into()
}

/// A value as Go's `%v` prints it, cut at [`MAX_SHOWN`].
pub fn go_v_short(value: &Value) -> String {
    let mut out = String::new();
    write_v(value, MAX_SHOWN, &mut out);
    out
}

/// A list as Go's `%v` prints it, cut at [`MAX_SHOWN`].
pub fn go_v_list(items: &[Value]) -> String {
    let mut out = String::new();
    write_list(items, MAX_SHOWN, &mut out);
    out
}

/// Into one string: a string for each level would be copied at each level.
fn write_v(value: &Value, limit: usize, out: &mut String) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Int(i) => out.push_str(&i.to_string()),
        Value::Float(f) => out.push_str(&float_v(*f)),
        Value::String(s) => out.push_str(s),
        Value::Array(items) => write_list(items, limit, out),
        Value::Object(members) => grow_stack(|| {
            out.push_str("map[");
            for (i, (key, member)) in members.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                if out.len() > limit {
                    break;
                }
                out.push_str(key);
                out.push(':');
                write_v(member, limit, out);
            }
            out.push(']');
        }),
    }
}

fn write_list(items: &[Value], limit: usize, out: &mut String) {
    grow_stack(|| {
        out.push('[');
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                out.push(' ');
            }
            if out.len() > limit {
                break;
            }
            write_v(item, limit, out);
        }
        out.push(']');
    });
}

/// How [`go_syntax`] prints what differs between decoders.
#[derive(Clone, Copy, Debug)]
pub struct Syntax {
    /// The Go type of maps: `map[string]interface {}` of JSON, `map[interface {}]interface {}` of YAML.
    pub map_type: &'static str,
    /// Numbers and booleans.
    pub scalar: fn(&Value) -> String,
}

/// A value as Go's `%#v` prints it, cut at [`MAX_SHOWN`].
pub fn go_syntax(value: &Value, syntax: Syntax) -> String {
    let mut out = String::new();
    write_syntax(value, syntax, &mut out);
    out
}

fn write_syntax(value: &Value, syntax: Syntax, out: &mut String) {
    match value {
        Value::Null => out.push_str("interface {}(nil)"),
        Value::String(text) => out.push_str(&quote(text)),
        Value::Array(items) => grow_stack(|| {
            out.push_str("[]interface {}{");
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                if out.len() > MAX_SHOWN {
                    break;
                }
                write_syntax(item, syntax, out);
            }
            out.push('}');
        }),
        Value::Object(members) => grow_stack(|| {
            out.push_str(syntax.map_type);
            out.push('{');
            for (i, (key, member)) in members.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                if out.len() > MAX_SHOWN {
                    break;
                }
                out.push_str(&quote(key));
                out.push(':');
                write_syntax(member, syntax, out);
            }
            out.push('}');
        }),
        scalar => out.push_str(&(syntax.scalar)(scalar)),
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
