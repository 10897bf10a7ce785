//! Writing JSON text, byte for byte as Go's encoder does.
//!
//! Keys come in order because [`Map`](crate::Map) keeps them so. `<`, `>`, `&`, U+2028 and U+2029
//! are escaped, floats take the shortest form that reads back. Nesting costs heap, never stack.
//!
//! Go refuses NaN and the infinities; no value read from JSON holds one, and here they are `null`.

mod number;
mod string;

use std::slice;

pub use number::{format_float, write_float, write_int};
pub use string::write_string;

use crate::{Str, Value};

/// The value as JSON text.
pub fn to_vec(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(128);
    write_to(value, &mut out);
    out
}

/// The value as JSON text.
pub fn to_string(value: &Value) -> String {
    into_text(to_vec(value))
}

/// The value as JSON text with a line per item and `indent` spaces per level, as Go's
/// `MarshalIndent` sets it. There is no line break at the end.
pub fn to_string_pretty(value: &Value, indent: usize) -> String {
    let mut out = Vec::with_capacity(256);
    write(value, &mut out, &mut Pretty { indent });
    into_text(out)
}

/// Appends the value as JSON text.
pub fn write_to(value: &Value, out: &mut Vec<u8>) {
    write(value, out, &mut Compact);
}

/// Appends the value as JSON text with a line per item; see [`to_string_pretty`].
pub fn write_pretty_to(value: &Value, indent: usize, out: &mut Vec<u8>) {
    write(value, out, &mut Pretty { indent });
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("the writer copies characters whole")
}

/// What stands between the tokens.
trait Layout {
    fn line(&mut self, out: &mut Vec<u8>, depth: usize);
    fn colon(&mut self, out: &mut Vec<u8>);
}

struct Compact;

impl Layout for Compact {
    #[inline]
    fn line(&mut self, _: &mut Vec<u8>, _: usize) {}
    #[inline]
    fn colon(&mut self, out: &mut Vec<u8>) {
        out.push(b':');
    }
}

struct Pretty {
    indent: usize,
}

impl Layout for Pretty {
    fn line(&mut self, out: &mut Vec<u8>, depth: usize) {
        out.push(b'\n');
        out.resize(out.len() + depth * self.indent, b' ');
    }
    fn colon(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b": ");
    }
}

/// What is left to write of an open container.
enum Frame<'a> {
    Array(slice::Iter<'a, Value>),
    Object(slice::Iter<'a, (Str, Value)>),
}

fn write<L: Layout>(root: &Value, out: &mut Vec<u8>, layout: &mut L) {
    let mut frames: Vec<Frame<'_>> = Vec::new();
    let mut value = root;
    loop {
        let mut first = false;
        match value {
            Value::Null => out.extend_from_slice(b"null"),
            Value::Bool(true) => out.extend_from_slice(b"true"),
            Value::Bool(false) => out.extend_from_slice(b"false"),
            Value::Int(int) => write_int(*int, out),
            Value::Float(float) => write_float(*float, out),
            Value::String(text) => write_string(text, out),
            Value::Array(items) if items.is_empty() => out.extend_from_slice(b"[]"),
            Value::Object(map) if map.is_empty() => out.extend_from_slice(b"{}"),
            Value::Array(items) => {
                out.push(b'[');
                frames.push(Frame::Array(items.iter()));
                first = true;
            }
            Value::Object(map) => {
                out.push(b'{');
                frames.push(Frame::Object(map.entries().iter()));
                first = true;
            }
        }
        value = loop {
            let depth = frames.len();
            match frames.last_mut() {
                None => return,
                Some(Frame::Array(items)) => {
                    if let Some(item) = items.next() {
                        if !first {
                            out.push(b',');
                        }
                        layout.line(out, depth);
                        break item;
                    }
                    layout.line(out, depth - 1);
                    out.push(b']');
                }
                Some(Frame::Object(members)) => {
                    if let Some((key, member)) = members.next() {
                        if !first {
                            out.push(b',');
                        }
                        layout.line(out, depth);
                        write_string(key, out);
                        layout.colon(out);
                        break member;
                    }
                    layout.line(out, depth - 1);
                    out.push(b'}');
                }
            }
            frames.pop();
            first = false;
        };
    }
}

#[cfg(test)]
mod tests;
