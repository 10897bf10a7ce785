//! The shape of Go structs as data, and what decoding into one does to a value.
//!
//! The API server decodes metadata, CRDs and options into Go structs and writes them back. What a
//! client sees of that (unknown keys gone, `null` turned into nothing or `""`, empty fields left
//! out, times rewritten, Go's own words when a type is wrong) happens here in place: a value that
//! is normal already is walked once and nothing is allocated.
//!
//! As in Go, a wrong type does not end the decoding and the first one is reported, while a text that
//! does not parse (a time) ends it at once and wins. Keys are compared by case. Places are not told
//! apart within lists and maps: the message names `ownerReferences.uid`, whichever item it was.
//! Only the order differs: keys are met sorted here, in document order there; for unknown fields
//! [`in_document_order`] mends that.

mod json;
mod order;

use std::fmt::Write as _;

use pleach_go::base64;
use pleach_json::{Map, Value, format_float};

use crate::path::{Path, Segment};
pub use order::in_document_order;
use pleach_go::time::{is_normal_rfc3339, parse_rfc3339, parse_rfc3339_micro};

/// The most unknown fields that are reported.
pub const MAX_UNKNOWN_FIELDS: usize = 100;

/// A Go type that JSON is decoded into.
#[derive(Clone, Copy, Debug)]
pub enum GoType {
    /// A string, or a named type of one: `string`, `types.UID`.
    String(&'static str),
    /// `bool`
    Bool,
    /// `int32`
    Int32,
    /// `int64`
    Int64,
    /// `metav1.Time`
    Time,
    /// `metav1.MicroTime`
    MicroTime,
    /// `[]byte`: base64 text
    Bytes,
    /// JSON that is kept as it is, behind a pointer
    Raw,
    /// `map[string]T`
    Map(&'static GoType),
    /// `[]T`
    Slice(&'static GoType),
    /// `*T`
    Pointer(&'static GoType),
    /// A struct
    Struct(&'static GoStruct),
    /// A type that decodes itself, by the given function; the name is Go's.
    Foreign(&'static str, ForeignDecode),
}

/// How a [`GoType::Foreign`] is decoded in place. An `Err` ends the whole decoding.
pub type ForeignDecode = fn(&mut Decoder<'_>, &mut Value, Place<'_>) -> Result<(), String>;

/// Plain `string`.
pub const STRING: GoType = GoType::String("string");

/// A struct and its fields in the order of declaration, which is the order Go writes them in.
#[derive(Debug)]
pub struct GoStruct {
    /// The name without its package: `ObjectMeta`.
    pub name: &'static str,
    /// The package's name: `v1`.
    pub package: &'static str,
    /// At most 64.
    pub fields: &'static [GoField],
}

/// A field of a struct.
#[derive(Debug)]
pub struct GoField {
    /// The JSON key.
    pub name: &'static str,
    /// What it holds.
    pub ty: GoType,
    /// When it is left out.
    pub omit: Omit,
}

/// When a field is left out of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Omit {
    /// Never: a missing one is written as its zero value.
    Never,
    /// `omitempty`: a zero number or string, a nil pointer, an empty list or map.
    Empty,
    /// `omitzero`: also a time that is none.
    Zero,
}

/// A field that is always written.
pub const fn always(name: &'static str, ty: GoType) -> GoField {
    GoField { name, ty, omit: Omit::Never }
}

/// A field with `omitempty`.
pub const fn omitempty(name: &'static str, ty: GoType) -> GoField {
    GoField { name, ty, omit: Omit::Empty }
}

/// A field with `omitzero`.
pub const fn omitzero(name: &'static str, ty: GoType) -> GoField {
    GoField { name, ty, omit: Omit::Zero }
}

impl GoStruct {
    fn position(&self, key: &str) -> Option<usize> {
        self.fields.iter().position(|f| f.name == key)
    }

    /// The struct with nothing set, as it is written.
    pub fn zero(&self) -> Value {
        let always = self.fields.iter().filter(|f| f.omit == Omit::Never);
        always.map(|f| (f.name.into(), f.ty.zero())).collect::<Map>().into()
    }
}

impl GoType {
    /// The name Go gives the type, pointers left out as its messages do.
    pub fn go_name(&self) -> String {
        match self {
            Self::String(name) | Self::Foreign(name, _) => (*name).to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::Int32 => "int32".to_owned(),
            Self::Int64 => "int64".to_owned(),
            Self::Time | Self::MicroTime => "string".to_owned(),
            Self::Bytes => "[]uint8".to_owned(),
            Self::Raw => "v1.JSON".to_owned(),
            Self::Map(of) => format!("map[string]{}", of.go_name()),
            Self::Slice(of) => format!("[]{}", of.go_name()),
            Self::Pointer(to) => to.go_name(),
            Self::Struct(s) => format!("{}.{}", s.package, s.name),
        }
    }

    /// The value of a variable nobody set, as it is written.
    fn zero(&self) -> Value {
        match self {
            Self::String(_) => Value::from(""),
            Self::Bool => Value::Bool(false),
            Self::Int32 | Self::Int64 => Value::Int(0),
            Self::Struct(s) => s.zero(),
            Self::Time
            | Self::MicroTime
            | Self::Bytes
            | Self::Raw
            | Self::Map(_)
            | Self::Slice(_)
            | Self::Pointer(_)
            | Self::Foreign(..) => Value::Null,
        }
    }
}

/// Where the decoder is: for the paths of unknown fields and for Go's messages.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// Names are fields, keys are map keys, indexes are list items.
    pub path: &'a Path<'a>,
    /// The innermost struct.
    pub owner: Option<&'static str>,
}

/// Decodes values in place and remembers what it met.
#[derive(Debug)]
pub struct Decoder<'a> {
    prefix: &'a str,
    strict: bool,
    literal_numbers: bool,
    saved: Option<String>,
    unknown: Vec<String>,
}

impl<'a> Decoder<'a> {
    /// A decoder that drops unknown fields silently. Floats with an integral value are taken for
    /// integers, as for JSON that Go has read and written once before.
    pub fn lenient() -> Self {
        Self { prefix: "", strict: false, literal_numbers: false, saved: None, unknown: Vec::new() }
    }

    /// A decoder that notes unknown fields, their paths starting with `prefix`.
    pub fn noting_unknown(prefix: &'a str) -> Self {
        Self { prefix, strict: true, ..Self::lenient() }
    }

    /// The numbers are the client's own: `1.0` is not an integer.
    #[must_use]
    pub fn with_literal_numbers(mut self) -> Self {
        self.literal_numbers = true;
        self
    }

    /// Whether unknown fields are noted.
    pub fn is_strict(&self) -> bool {
        self.strict
    }

    /// Stops or resumes noting unknown fields; types with decoders of their own do that.
    pub fn set_strict(&mut self, strict: bool) {
        self.strict = strict;
    }

    /// Whether a value of the wrong type was met.
    pub fn has_error(&self) -> bool {
        self.saved.is_some()
    }

    /// The first value of the wrong type, and the paths of unknown fields.
    pub fn finish(self) -> (Option<String>, Vec<String>) {
        (self.saved, self.unknown)
    }

    /// The paths of unknown fields met so far, at most [`MAX_UNKNOWN_FIELDS`].
    pub fn into_unknown(self) -> Vec<String> {
        self.unknown
    }

    /// Decodes a whole document. On error the value is in no particular state.
    pub fn decode(&mut self, value: &mut Value, ty: &GoType) -> Result<(), String> {
        self.value(value, ty, Place { path: &Path::ROOT, owner: None })?;
        self.saved.take().map_or(Ok(()), Err)
    }

    /// Decodes a value within a document. An `Err` ends the decoding; lesser errors are saved.
    pub fn value(&mut self, value: &mut Value, ty: &GoType, place: Place<'_>) -> Result<(), String> {
        if value.is_null() {
            if !matches!(ty, GoType::Foreign(..)) {
                *value = ty.zero();
            }
            return Ok(());
        }
        match (ty, &mut *value) {
            (GoType::String(_), Value::String(_))
            | (GoType::Bool, Value::Bool(_))
            | (GoType::Int64, Value::Int(_))
            | (GoType::Raw, _) => {}
            (GoType::Int32, Value::Int(i)) if i32::try_from(*i).is_ok() => {}
            (GoType::Int32 | GoType::Int64, Value::Int(_) | Value::Float(_)) => {
                self.integer(value, ty, place);
            }
            (GoType::Time | GoType::MicroTime, Value::String(text)) => {
                if matches!(ty, GoType::MicroTime) {
                    let time = parse_rfc3339_micro(text)?;
                    *value = if time.is_zero() { Value::Null } else { time.to_rfc3339_micro().into() };
                } else if !is_normal_rfc3339(text) {
                    let time = parse_rfc3339(text)?;
                    *value = if time.is_zero() { Value::Null } else { time.to_rfc3339().into() };
                }
            }
            // The text of a time is read by its own decoder, and what that says ends everything.
            (GoType::Time | GoType::MicroTime, other) => return Err(type_error(kind(other), ty, place)),
            (GoType::Bytes, Value::String(text)) => match base64::decode(text) {
                Ok(bytes) => *value = base64::encode(&bytes).into(),
                Err(error) => self.save(error),
            },
            (GoType::Map(of), Value::Object(map)) => {
                for (key, item) in map.entries_mut() {
                    self.value(item, of, Place { path: &place.path.key(key), owner: place.owner })?;
                }
            }
            (GoType::Slice(of), Value::Array(items)) => {
                pleach_work::charge(8 * items.len() as u64);
                // What is made of an empty object is shared: a list of them would grow a hundredfold.
                let mut made_of_empty: Option<Value> = None;
                for (i, item) in items.iter_mut().enumerate() {
                    let empty =
                        matches!((of, &*item), (GoType::Struct(_), Value::Object(map)) if map.is_empty());
                    if let Some(made) = made_of_empty.as_ref().filter(|_| empty) {
                        *item = made.clone();
                        continue;
                    }
                    self.value(item, of, Place { path: &place.path.index(i), owner: place.owner })?;
                    if empty {
                        made_of_empty = Some(item.clone());
                    }
                }
            }
            (GoType::Pointer(to), _) => self.value(value, to, place)?,
            (GoType::Struct(shape), Value::Object(map)) => self.fields(map, shape, place)?,
            (GoType::Foreign(_, decode), _) => decode(self, value, place)?,
            (_, other) => {
                let kind = kind(other);
                self.save_type_error(kind, ty, place);
            }
        }
        Ok(())
    }

    /// Decodes the members of an object into the fields of a struct.
    pub fn fields(&mut self, map: &mut Map, shape: &GoStruct, place: Place<'_>) -> Result<(), String> {
        let mut seen = 0_u64;
        let mut dropped: Vec<usize> = Vec::new();
        for (i, (key, value)) in map.entries_mut().iter_mut().enumerate() {
            let Some(at) = shape.position(key) else {
                self.unknown(place.path, key);
                dropped.push(i);
                continue;
            };
            let field = &shape.fields[at];
            let was_null = value.is_null();
            let path = place.path.child(field.name);
            self.value(value, &field.ty, Place { path: &path, owner: Some(shape.name) })?;
            if field.omit != Omit::Never && is_empty(value, field, was_null) {
                dropped.push(i);
            } else {
                seen |= 1 << at;
            }
        }
        if !dropped.is_empty() {
            let mut at = 0;
            let mut dropped = dropped.into_iter().peekable();
            map.retain(|_, _| {
                at += 1;
                dropped.next_if_eq(&(at - 1)).is_none()
            });
        }
        for (at, field) in shape.fields.iter().enumerate() {
            if field.omit == Omit::Never && seen & (1 << at) == 0 {
                map.insert(field.name, field.ty.zero());
            }
        }
        Ok(())
    }

    fn integer(&mut self, value: &mut Value, ty: &GoType, place: Place<'_>) {
        let fits = |i: i64| matches!(ty, GoType::Int64) || i32::try_from(i).is_ok();
        let text = match value {
            Value::Int(i) => i.to_string(),
            Value::Float(f) => {
                let text = format_float(*f);
                if self.literal_numbers {
                    // How the client wrote it is not known any more; this is the likeliest.
                    if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') { text + ".0" } else { text }
                } else if let Some(i) = text.parse().ok().filter(|i| fits(*i)) {
                    *value = Value::Int(i);
                    return;
                } else {
                    text
                }
            }
            _ => return,
        };
        self.save_type_error(&format!("number {text}"), ty, place);
    }

    /// Notes a key that no field has.
    pub fn unknown(&mut self, parent: &Path<'_>, key: &str) {
        if self.strict && self.unknown.len() < MAX_UNKNOWN_FIELDS {
            let path = strict_path(self.prefix, &parent.child(key));
            self.unknown.push(path);
        }
    }

    /// Remembers that a value of the kind `found` cannot be a `ty`, unless something was wrong before.
    pub fn save_type_error(&mut self, found: &str, ty: &GoType, place: Place<'_>) {
        if self.saved.is_none() {
            self.saved = Some(type_error(found, ty, place));
        }
    }

    /// Remembers an error, unless something was wrong before.
    pub fn save(&mut self, error: String) {
        self.saved.get_or_insert(error);
    }
}

fn is_empty(value: &Value, field: &GoField, was_null: bool) -> bool {
    match (&field.ty, value) {
        (GoType::Pointer(_) | GoType::Raw, _) => was_null,
        (GoType::Struct(_), _) => false,
        (GoType::Time | GoType::MicroTime, _) => field.omit == Omit::Zero && value.is_null(),
        (_, Value::Null | Value::Bool(false) | Value::Int(0)) => true,
        (_, Value::String(s)) => s.is_empty(),
        (_, Value::Array(items)) => items.is_empty(),
        (GoType::Map(_), Value::Object(map)) => map.is_empty(),
        _ => false,
    }
}

/// Whether decoding would change nothing, note nothing and find nothing wrong. May say no although
/// that is so: whoever asks then decodes, which finds out.
pub(crate) fn is_normal(value: &Value, ty: &GoType) -> bool {
    match (ty, value) {
        (_, Value::Null) => false,
        (GoType::String(_), Value::String(_))
        | (GoType::Bool, Value::Bool(_))
        | (GoType::Int64, Value::Int(_))
        | (GoType::Raw, _) => true,
        (GoType::Int32, Value::Int(i)) => i32::try_from(*i).is_ok(),
        (GoType::Time, Value::String(text)) => is_normal_rfc3339(text),
        (GoType::Map(of), Value::Object(map)) => map.values().all(|value| is_normal(value, of)),
        (GoType::Slice(of), Value::Array(items)) => items.iter().all(|item| is_normal(item, of)),
        (GoType::Pointer(to), _) => is_normal(value, to),
        (GoType::Struct(shape), Value::Object(map)) => has_normal_fields(map, shape),
        _ => false,
    }
}

fn has_normal_fields(map: &Map, shape: &GoStruct) -> bool {
    let mut seen = 0_u64;
    for (key, value) in map {
        let Some(at) = shape.position(key) else { return false };
        let field = &shape.fields[at];
        if !is_normal(value, &field.ty) || (field.omit != Omit::Never && is_empty(value, field, false)) {
            return false;
        }
        seen |= 1 << at;
    }
    shape.fields.iter().enumerate().all(|(at, field)| field.omit != Omit::Never || seen & (1 << at) != 0)
}

/// What Go calls a JSON value in its messages.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Go's words for a value of the wrong type.
pub fn type_error(found: &str, ty: &GoType, place: Place<'_>) -> String {
    let Some(owner) = place.owner else {
        return format!("json: cannot unmarshal {found} into Go value of type {}", ty.go_name());
    };
    let mut names = Vec::new();
    let mut at = Some(place.path);
    while let Some(path) = at {
        if let Segment::Name(name) = path.segment() {
            names.push(name);
        }
        at = path.parent();
    }
    names.reverse();
    format!(
        "json: cannot unmarshal {found} into Go struct field {owner}.{} of type {}",
        names.join("."),
        ty.go_name()
    )
}

/// A path as the strict decoder writes it: map keys after a dot.
fn strict_path(prefix: &str, path: &Path<'_>) -> String {
    let mut steps = Vec::new();
    let mut at = Some(path);
    while let Some(path) = at {
        steps.push(path.segment());
        at = path.parent();
    }
    let mut out = prefix.to_owned();
    for step in steps.into_iter().rev() {
        match step {
            Segment::Root => {}
            Segment::Name(name) | Segment::Key(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Segment::Index(i) => {
                let _ = write!(out, "[{i}]");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests;
