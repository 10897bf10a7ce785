//! Values in the syntax of Go, as error texts show them.

use std::fmt::Write as _;

use pleach_json::{Str, Value, grow_stack};

use crate::read::Scalar;

/// A key the way JSON has it: other scalars become text. Floats go through float32.
pub(crate) fn key_text(key: Scalar) -> Str {
    match key {
        Scalar::Text(text) => text,
        Scalar::Bool(b) => if b { "true" } else { "false" }.into(),
        Scalar::Int(int) => int.to_string().into(),
        Scalar::Float(float) => key_float(float as f32).into(),
        Scalar::Merge => "<<".into(),
        Scalar::Uint(int) => int.to_string().into(),
        Scalar::Null => Str::default(),
    }
}

/// The shortest text for a float, with an exponent below 1e-4 and from a million on.
pub(crate) fn short_float(float: f64) -> String {
    with_exponent(format!("{float:e}"), 6, || format!("{float}"))
}

fn key_float(float: f32) -> String {
    if float.is_nan() {
        return ".nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    with_exponent(format!("{float:e}"), 6, || format!("{float}"))
}

/// `scientific` in Go's spelling if its exponent is below -4 or at least `limit`, else `plain`.
fn with_exponent(scientific: String, limit: i32, plain: impl FnOnce() -> String) -> String {
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let Ok(exponent) = exponent.parse::<i32>() else { return scientific };
    if (-4..limit).contains(&exponent) {
        return plain();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// A scalar as `%#v` prints it.
pub(crate) fn scalar(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Null => "<nil>".to_owned(),
        Scalar::Bool(b) => b.to_string(),
        Scalar::Int(int) => int.to_string(),
        Scalar::Uint(int) => format!("{int:#x}"),
        Scalar::Float(float) if float.is_nan() => "NaN".to_owned(),
        Scalar::Float(float) if float.is_infinite() => if *float > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
        Scalar::Float(float) => with_exponent(format!("{float:e}"), 21, || format!("{float}")),
        Scalar::Text(text) => quote(text),
        Scalar::Merge => quote("<<"),
    }
}

/// Texts are cut after this many bytes: an error need not repeat a document.
const MAX_TEXT: usize = 64 * 1024;

/// A value as `%#v` prints it.
pub(crate) fn value(value: &Value) -> String {
    let mut out = String::new();
    write_value(value, &mut out);
    out
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("interface {}(nil)"),
        Value::Bool(b) => out.push_str(&scalar(&Scalar::Bool(*b))),
        Value::Int(int) => out.push_str(&scalar(&Scalar::Int(*int))),
        Value::Float(float) => out.push_str(&scalar(&Scalar::Float(*float))),
        Value::String(text) => out.push_str(&quote(text)),
        Value::Array(items) => grow_stack(|| {
            out.push_str("[]interface {}{");
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                if out.len() > MAX_TEXT {
                    break;
                }
                write_value(item, out);
            }
            out.push('}');
        }),
        Value::Object(map) => grow_stack(|| {
            out.push_str("map[interface {}]interface {}{");
            for (i, (key, member)) in map.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                if out.len() > MAX_TEXT {
                    break;
                }
                out.push_str(&quote(key));
                out.push(':');
                write_value(member, out);
            }
            out.push('}');
        }),
    }
}

/// Text as `%q` prints it.
fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            ' '..='~' => out.push(c),
            '\0'..='\u{7f}' => write!(out, "\\x{:02x}", u32::from(c)).unwrap_or_default(),
            // `escape_debug` spares what Go calls printable, marks after a letter included.
            _ if ['a', c].iter().collect::<String>().escape_debug().count() == 2 => out.push(c),
            '\u{80}'..='\u{ffff}' => write!(out, "\\u{:04x}", u32::from(c)).unwrap_or_default(),
            _ => write!(out, "\\U{:08x}", u32::from(c)).unwrap_or_default(),
        }
    }
    out.push('"');
    out
}
