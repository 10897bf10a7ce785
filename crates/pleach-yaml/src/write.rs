//! Writing YAML text, as `sigs.k8s.io/yaml` and therefore `kubectl get -o yaml` does.
//!
//! Block style throughout, sequences not indented below their key, keys in natural order, lines
//! folded at 80 columns. What a plain text would be read as decides whether it needs quotes.

mod order;
mod scalar;
mod style;

use pleach_json::{Map, Value, format_float, grow_stack};

use scalar::Emitter;

/// The value as YAML text.
pub fn to_yaml(value: &Value) -> String {
    let mut out = String::with_capacity(256);
    write_to(value, &mut out);
    out
}

/// Appends the value as YAML text, which ends with a line break.
pub fn write_to(value: &Value, out: &mut String) {
    let mut emitter = Emitter::new(out);
    match value {
        Value::Object(map) if !map.is_empty() => mapping(map, 0, &mut emitter),
        Value::Array(items) if !items.is_empty() => sequence(items, 0, &mut emitter),
        scalar => leaf(scalar, 2, &mut emitter),
    }
}

/// Writes the members, standing where the first key goes.
fn mapping(map: &Map, indent: usize, emitter: &mut Emitter<'_>) {
    for (i, (key, value)) in order::natural(map).into_iter().enumerate() {
        if i > 0 {
            emitter.indent(indent);
        }
        if style::is_simple_key(key) {
            emitter.key(key);
            emitter.put(":");
        } else {
            emitter.put("? ");
            emitter.text(key, indent + 2);
            emitter.end_line();
            emitter.indent(indent);
            emitter.put(":");
            // After an explicit key a collection starts on the same line.
            match value {
                Value::Object(inner) if !inner.is_empty() => {
                    emitter.put(" ");
                    grow_stack(|| mapping(inner, indent + 2, emitter));
                    continue;
                }
                Value::Array(items) if !items.is_empty() => {
                    emitter.put(" ");
                    grow_stack(|| sequence(items, indent + 2, emitter));
                    continue;
                }
                _ => {}
            }
        }
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                emitter.end_line();
                emitter.indent(indent + 2);
                grow_stack(|| mapping(inner, indent + 2, emitter));
            }
            Value::Array(items) if !items.is_empty() => {
                emitter.end_line();
                emitter.indent(indent);
                grow_stack(|| sequence(items, indent, emitter));
            }
            scalar => {
                emitter.put(" ");
                leaf(scalar, indent + 2, emitter);
            }
        }
    }
}

/// Writes the items, standing where the first dash goes.
fn sequence(items: &[Value], indent: usize, emitter: &mut Emitter<'_>) {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            emitter.indent(indent);
        }
        emitter.put("- ");
        match item {
            Value::Object(map) if !map.is_empty() => grow_stack(|| mapping(map, indent + 2, emitter)),
            Value::Array(inner) if !inner.is_empty() => grow_stack(|| sequence(inner, indent + 2, emitter)),
            scalar => leaf(scalar, indent + 2, emitter),
        }
    }
}

/// Writes what fits behind a colon or a dash, and ends the line.
fn leaf(value: &Value, indent: usize, emitter: &mut Emitter<'_>) {
    match value {
        Value::Null => emitter.put("null"),
        Value::Bool(true) => emitter.put("true"),
        Value::Bool(false) => emitter.put("false"),
        Value::Int(int) => emitter.put(&int.to_string()),
        Value::Float(float) => emitter.put(&float_text(*float)),
        Value::String(text) => emitter.text(text, indent),
        Value::Array(_) => emitter.put("[]"),
        Value::Object(_) => emitter.put("{}"),
    }
    emitter.end_line();
}

/// A float the way it leaves after going through JSON: integers up to 64 bits stay integers.
fn float_text(float: f64) -> String {
    let json = format_float(float);
    if let Ok(int) = json.parse::<i64>() {
        return int.to_string();
    }
    if json.parse::<u64>().is_ok() {
        return json;
    }
    crate::go::short_float(float)
}
