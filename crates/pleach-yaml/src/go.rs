//! Values in the syntax of Go, as error texts show them.

use pleach_go::fmt::{Syntax, float_v, go_syntax, go_v};
use pleach_go::strconv::quote;
use pleach_json::{Str, Value};

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
    float_v(float)
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

/// A value as `%#v` prints it.
pub(crate) fn value(value: &Value) -> String {
    go_syntax(value, Syntax { map_type: "map[interface {}]interface {}", scalar: value_scalar })
}

fn value_scalar(value: &Value) -> String {
    match value {
        Value::Bool(b) => scalar(&Scalar::Bool(*b)),
        Value::Int(int) => scalar(&Scalar::Int(*int)),
        Value::Float(float) => scalar(&Scalar::Float(*float)),
        other => go_v(other).into_owned(),
    }
}
