//! Values as Go prints them in error texts.

use pleach_json::{Value, format_float, grow_stack};

/// Texts are cut after this many bytes: an error need not repeat a document.
const MAX_TEXT: usize = 64 * 1024;

/// A value as `%v` prints it.
pub(super) fn printed(value: &Value) -> String {
    let mut out = String::new();
    print(value, &mut out);
    out
}

/// A list as `%v` prints it.
pub(super) fn list(items: &[Value]) -> String {
    let mut out = String::new();
    print_list(items, &mut out);
    out
}

/// Into one text: a text for each level would be copied at each level.
fn print(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        Value::Int(int) => out.push_str(&int.to_string()),
        Value::Float(float) => out.push_str(&format_float(*float)),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => print_list(items, out),
        Value::Object(map) => grow_stack(|| {
            out.push_str("map[");
            for (i, (key, member)) in map.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                if out.len() > MAX_TEXT {
                    break;
                }
                out.push_str(key);
                out.push(':');
                print(member, out);
            }
            out.push(']');
        }),
    }
}

fn print_list(items: &[Value], out: &mut String) {
    grow_stack(|| {
        out.push('[');
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                out.push(' ');
            }
            if out.len() > MAX_TEXT {
                break;
            }
            print(item, out);
        }
        out.push(']');
    });
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
