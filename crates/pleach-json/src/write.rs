//! Writing JSON text, byte for byte as Go's encoder does.
//!
//! Keys come in order because [`Map`](crate::Map) keeps them so. `<`, `>`, `&`, U+2028 and U+2029
//! are escaped, floats take the shortest form that reads back. Nesting costs heap, never stack.
//!
//! Go refuses NaN and the infinities; no value read from JSON holds one, and here they are `null`.

mod indent;
mod number;
mod room;
mod string;

use std::slice;

pub use indent::{DEEPEST, Indenter};
pub use number::{format_float, write_float, write_int};
pub use string::write_string;

use crate::{InternedObjects, Map, Str, Value};
use room::Room;

/// The value as JSON text.
pub fn to_vec(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(STEP);
    write_to(value, &mut out);
    out
}

/// The value as JSON text.
pub fn to_string(value: &Value) -> String {
    into_text(to_vec(value))
}

/// The value as JSON text with a line per item and `indent` spaces per level, as Go's
/// `MarshalIndent` sets it, up to [`DEEPEST`] levels. There is no line break at the end.
pub fn to_string_pretty(value: &Value, indent: usize) -> String {
    let mut out = Vec::with_capacity(STEP);
    write(value, &mut out, &mut Pretty { indent });
    into_text(out)
}

/// Appends the value as JSON text.
pub fn write_to(value: &Value, out: &mut Vec<u8>) {
    write(value, out, &mut Compact);
}

/// Appends the value as JSON text, where most of some objects is known.
pub fn write_with(value: &Value, interned: &InternedObjects, out: &mut Vec<u8>) {
    write(value, out, &mut WithInterned(interned));
}

/// Appends the value as JSON text with a line per item; see [`to_string_pretty`].
pub fn write_pretty_to(value: &Value, indent: usize, out: &mut Vec<u8>) {
    write(value, out, &mut Pretty { indent });
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("the writer copies characters whole")
}

/// The separators between tokens.
trait Layout {
    fn line(&mut self, out: &mut Room<'_>, depth: usize);
    fn colon(&mut self, out: &mut Room<'_>);
    /// The text of an object, where that is known.
    #[inline]
    fn interned(&self, _: &Map) -> Option<&[u8]> {
        None
    }
}

struct Compact;

impl Layout for Compact {
    #[inline]
    fn line(&mut self, _: &mut Room<'_>, _: usize) {}
    #[inline]
    fn colon(&mut self, out: &mut Room<'_>) {
        out.byte(b':');
    }
}

struct WithInterned<'p>(&'p InternedObjects);

impl Layout for WithInterned<'_> {
    #[inline]
    fn line(&mut self, _: &mut Room<'_>, _: usize) {}
    #[inline]
    fn colon(&mut self, out: &mut Room<'_>) {
        out.byte(b':');
    }
    #[inline]
    fn interned(&self, object: &Map) -> Option<&[u8]> {
        self.0.text_of(object)
    }
}

struct Pretty {
    indent: usize,
}

impl Layout for Pretty {
    fn line(&mut self, out: &mut Room<'_>, depth: usize) {
        out.byte(b'\n');
        out.blanks(depth.min(DEEPEST) * self.indent);
    }
    fn colon(&mut self, out: &mut Room<'_>) {
        out.bytes(*b": ");
    }
}

/// The rest of an open container.
enum Frame<'a> {
    /// The document itself, of which nothing is left.
    Root,
    Array(slice::Iter<'a, Value>),
    Object(slice::Iter<'a, (Str, Value)>),
}

/// How much room is made at a time.
const STEP: usize = 512;

fn write<L: Layout>(root: &Value, out: &mut Vec<u8>, layout: &mut L) {
    let mut out = Room::new(out, STEP);
    let mut frames: Vec<Frame<'_>> = Vec::new();
    let mut frame = Frame::Root;
    let mut value = root;
    loop {
        let mut first = false;
        match value {
            Value::Null => out.bytes(*b"null"),
            Value::Bool(true) => out.bytes(*b"true"),
            Value::Bool(false) => out.bytes(*b"false"),
            Value::Int(int) => out.int(*int),
            Value::Float(float) => out.append(|out| write_float(*float, out)),
            Value::String(text) => out.string(text),
            Value::Array(items) if items.is_empty() => out.bytes(*b"[]"),
            Value::Object(map) if map.is_empty() => out.bytes(*b"{}"),
            Value::Array(items) => {
                out.byte(b'[');
                frames.push(std::mem::replace(&mut frame, Frame::Array(items.iter())));
                first = true;
            }
            Value::Object(map) => match layout.interned(map) {
                Some(text) => out.slice(text),
                None => {
                    out.byte(b'{');
                    frames.push(std::mem::replace(&mut frame, Frame::Object(map.entries().iter())));
                    first = true;
                }
            },
        }
        value = loop {
            match &mut frame {
                Frame::Root => return out.close(),
                Frame::Array(items) => {
                    if let Some(item) = items.next() {
                        if !first {
                            out.byte(b',');
                        }
                        layout.line(&mut out, frames.len());
                        break item;
                    }
                    layout.line(&mut out, frames.len() - 1);
                    out.byte(b']');
                }
                Frame::Object(members) => {
                    if let Some((key, member)) = members.next() {
                        if !first {
                            out.byte(b',');
                        }
                        layout.line(&mut out, frames.len());
                        out.string(key);
                        layout.colon(&mut out);
                        break member;
                    }
                    layout.line(&mut out, frames.len() - 1);
                    out.byte(b'}');
                }
            }
            frame = frames.pop().expect("the document is below every container");
            first = false;
        };
    }
}

#[cfg(test)]
mod tests;
