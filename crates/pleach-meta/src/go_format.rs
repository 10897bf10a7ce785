//! Text as Go's `fmt` writes it, where messages on the wire were made that way.

mod printable;

use std::borrow::Cow;
use std::fmt::Write as _;

use pleach_json::{Value, grow_stack};

use printable::PRINTABLE;

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

/// A string as Go's `%q` prints it.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if is_print(c) => out.push(c),
            c if (c as u32) < 0x80 => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c if (c as u32) < 0x1_0000 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => {
                let _ = write!(out, "\\U{:08x}", c as u32);
            }
        }
    }
    out.push('"');
    out
}

/// Whether Go's `strconv.IsPrint` holds: letters, marks, numbers, punctuation, symbols and the
/// ASCII space.
pub fn is_print(c: char) -> bool {
    let code = c as u32;
    if code < 0x7f {
        return code >= 0x20;
    }
    let after = PRINTABLE.partition_point(|&(first, _)| first <= code);
    after > 0 && code <= PRINTABLE[after - 1].1
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

    #[test]
    fn printable_is_what_go_prints() {
        for (c, want, why) in [
            (' ', true, "the one space that is printed"),
            ('\u{7f}', false, "delete"),
            ('\u{a0}', false, "no-break space"),
            ('\u{ad}', false, "soft hyphen is a format character"),
            ('\u{301}', true, "a combining mark stands for itself"),
            ('\u{378}', false, "unassigned"),
            ('\u{200b}', false, "zero width space"),
            ('\u{e000}', false, "private use"),
            ('\u{fffd}', true, "the replacement character is a symbol"),
            ('\u{1F600}', true, "emoji"),
            ('\u{1FAE8}', true, "new in Unicode 15.0"),
            ('\u{1FAE9}', false, "new in Unicode 16.0, which Go does not know yet"),
            ('\u{E01EF}', true, "the last printable one"),
            ('\u{10FFFF}', false, "no character"),
        ] {
            assert_eq!(is_print(c), want, "{:04x}: {why}", c as u32);
        }
    }

    #[test]
    fn strings_quote_as_percent_q() {
        assert_eq!(quote("a\"b\\\n\u{1}é\u{200b}\u{1F600}"), "\"a\\\"b\\\\\\n\\x01é\\u200b😀\"");
    }
}
