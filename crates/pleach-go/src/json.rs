//! Go's `encoding/json`: decoding into structs, with its error messages.
//!
//! The API server decodes metadata, CRDs and options into Go structs and encodes them again. Clients
//! see it: unknown keys are dropped, `null` becomes the zero value, empty fields are left out, times are
//! normalized, and a wrong type is reported with the innermost Go struct, the struct fields on the way
//! (without map keys and list indexes) and the Go type.
//!
//! One [`Decoder`] does it in two ways: in place, by the table of a struct ([`GoStruct`]), or by calls
//! of a reader that builds Rust types ([`Decoder::structure`] and its like).
//!
//! As in Go, a wrong type does not end the decoding and the first one is reported, while the error of a
//! type with an `UnmarshalJSON` of its own (a time, `JSONSchemaPropsOrBool`) ends it and wins. Keys are
//! compared case-sensitively. Different from Go: members are visited in the order of their keys, not of
//! the document; for unknown fields [`in_document_order`] restores that order.

mod encode;
mod order;
mod shape;
mod table;
mod visit;

use std::fmt::Write as _;

use pleach_json::{Str, Value, format_float};
pub use pleach_json::{UnmarshalTypeError, value_kind};

pub use order::in_document_order;
pub use shape::{GoField, GoStruct, GoType, Omit, STRING, always, omitempty, omitzero};
pub use table::is_normal;

/// At most this many unknown fields are reported for one document.
pub const MAX_UNKNOWN_FIELDS: usize = 100;

/// The error of a value that cannot be decoded as a whole into `go_type`.
pub fn type_error(value: &Value, go_type: &str) -> String {
    UnmarshalTypeError { value: value_kind(value), field: None, go_type }.to_string()
}

/// The error of a value that cannot be decoded into the field `path` of `structure`.
pub fn field_type_error(value: &Value, structure: &str, path: &str, go_type: &str) -> String {
    UnmarshalTypeError { value: value_kind(value), field: Some((structure, path)), go_type }.to_string()
}

/// A step from a document to a place in it.
#[derive(Clone, Debug)]
enum Step {
    /// A field of a struct.
    Field(&'static str),
    /// A struct within a struct, which JSON does not show.
    Embedded(&'static str),
    /// A key of a map.
    Key(Str),
    /// A position in a list.
    Index(usize),
}

/// The state of decoding one document.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The package name in Go type names, `v1` or `v1beta1`.
    package: &'static str,
    /// The path of the document, where it is part of another one.
    prefix: Str,
    /// The struct whose field was entered last.
    structure: &'static str,
    trail: Vec<Step>,
    /// How many steps of `trail` are in `prefix`.
    skipped: usize,
    /// Whether unknown fields are collected.
    strict: bool,
    /// Whether `1.0` is not an integer.
    literal_numbers: bool,
    /// Whether fields are known that stock Kubernetes does not have.
    extensions: bool,
    /// How many types with an `UnmarshalJSON` of their own enclose this place.
    unmarshalers: usize,
    /// The struct that holds the outermost of them: Go's message names that one.
    holder: &'static str,
    /// The first error.
    error: Option<String>,
    /// Whether `error` came out of an `UnmarshalJSON`: decoding ends there.
    ended: bool,
    unknown: Vec<String>,
}

impl Decoder {
    /// A strict decoder for the client's own document and types of the Go package `package`.
    pub fn new(package: &'static str) -> Self {
        Self { package, strict: true, literal_numbers: true, ..Self::default() }
    }

    /// A decoder that drops unknown fields silently. Floats with an integral value are taken for
    /// integers, as for JSON that Go has decoded and encoded once before.
    pub fn lenient() -> Self {
        Self::default()
    }

    /// A decoder that collects unknown fields, their paths starting with `prefix`.
    pub fn noting_unknown(prefix: &str) -> Self {
        Self { prefix: prefix.into(), strict: true, ..Self::default() }
    }

    /// The numbers are the client's own: `1.0` is not an integer.
    #[must_use]
    pub fn with_literal_numbers(mut self) -> Self {
        self.literal_numbers = true;
        self
    }

    /// Whether fields are known that stock Kubernetes does not have, such as `x-kubernetes-unions`.
    #[must_use]
    pub fn with_extensions(mut self, extensions: bool) -> Self {
        self.extensions = extensions;
        self
    }

    /// Starts below other structs: `structure` is the one whose field was entered last, `fields` are
    /// the fields on the way, `path` is the same way as unknown fields print it.
    #[must_use]
    pub fn within(mut self, structure: &'static str, fields: &[&'static str], path: &str) -> Self {
        self.structure = structure;
        self.trail = fields.iter().map(|field| Step::Field(field)).collect();
        self.skipped = fields.len();
        self.prefix = path.into();
        self
    }

    /// Whether fields are known that stock Kubernetes does not have.
    pub fn knows_extensions(&self) -> bool {
        self.extensions
    }

    /// The name of a type of this package in an error: `v1.JSON`.
    pub fn go_type(&self, name: &str) -> String {
        format!("{}.{name}", self.package)
    }

    /// Whether an error was recorded.
    pub fn has_error(&self) -> bool {
        self.error.is_some()
    }

    /// Whether an error has ended the decoding.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// The first error, and the paths of unknown fields.
    pub fn finish(self) -> (Option<String>, Vec<String>) {
        (self.error, self.unknown)
    }

    /// The paths of unknown fields met so far, at most [`MAX_UNKNOWN_FIELDS`].
    pub fn into_unknown(self) -> Vec<String> {
        self.unknown
    }

    /// Records an error in words of its own, as an `UnmarshalJSON` gives it. The first one counts.
    pub fn error(&mut self, text: impl Into<String>) {
        if self.error.is_none() {
            self.error = Some(text.into());
        }
    }

    /// Records that `value` is not of the Go type `want`.
    pub fn mismatch(&mut self, value: &Value, want: &str) {
        self.type_error(value_kind(value), want);
    }

    /// Records that a number is not of the integer type `want`.
    fn not_integer(&mut self, value: &Value, want: &str) {
        let found = match value {
            Value::Int(i) => format!("number {i}"),
            Value::Float(f) if self.literal_numbers => format!("number {}", number_text(*f)),
            Value::Float(f) => format!("number {}", format_float(*f)),
            other => value_kind(other).to_owned(),
        };
        self.type_error(&found, want);
    }

    fn type_error(&mut self, found: &str, want: &str) {
        if self.error.is_some() {
            return;
        }
        let fields: Vec<&str> = self
            .trail
            .iter()
            .filter_map(|step| match step {
                Step::Field(name) | Step::Embedded(name) => Some(*name),
                Step::Key(_) | Step::Index(_) => None,
            })
            .collect();
        let path = fields.join(".");
        let structure = if self.unmarshalers == 0 { self.structure } else { self.holder };
        let field = (!fields.is_empty()).then_some((structure, path.as_str()));
        self.error = Some(UnmarshalTypeError { value: found, field, go_type: want }.to_string());
    }

    /// Collects a key that no field has.
    fn unknown_field(&mut self, key: &str) {
        if !self.strict || self.unmarshalers > 0 || self.unknown.len() >= MAX_UNKNOWN_FIELDS {
            return;
        }
        let mut path = self.prefix.to_string();
        for step in &self.trail[self.skipped..] {
            match step {
                Step::Field(name) => push_name(&mut path, name),
                Step::Embedded(_) => {}
                Step::Key(key) => push_name(&mut path, key),
                Step::Index(i) => {
                    let _ = write!(path, "[{i}]");
                }
            }
        }
        push_name(&mut path, key);
        self.unknown.push(path);
    }

    /// Runs `body` one step further down.
    fn at<T>(&mut self, step: Step, body: impl FnOnce(&mut Self) -> T) -> T {
        self.trail.push(step);
        let out = body(self);
        self.trail.pop();
        out
    }

    /// Runs `body` in a field of a struct.
    fn in_field<T>(
        &mut self,
        structure: &'static str,
        field: &'static str,
        body: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let outer = std::mem::replace(&mut self.structure, structure);
        let out = self.at(Step::Field(field), body);
        self.structure = outer;
        out
    }

    /// Runs `body` in a field of a struct that is embedded in another: errors name it, paths do not.
    fn in_embedded<T>(
        &mut self,
        structure: &'static str,
        embedded: &'static str,
        field: &'static str,
        body: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let outer = std::mem::replace(&mut self.structure, structure);
        let out = self.at(Step::Embedded(embedded), |d| d.at(Step::Field(field), body));
        self.structure = outer;
        out
    }

    /// Runs `body` as the `UnmarshalJSON` of a type: not strict, and with an error that ends everything
    /// around it and wins over earlier ones.
    pub fn unmarshaler<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        let saved = self.error.take();
        if self.unmarshalers == 0 {
            self.holder = self.structure;
        }
        self.unmarshalers += 1;
        let out = body(self);
        self.unmarshalers -= 1;
        if self.error.is_some() {
            self.ended = true;
        } else {
            self.error = saved;
        }
        out
    }
}

fn push_name(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

/// A number as it most likely stood in the document: its text is not kept.
fn number_text(number: f64) -> String {
    if number.fract() != 0.0 {
        return number.to_string();
    }
    // Integers beyond 64 bits are floats although nothing in their text says so.
    let point = if number.abs() < 9e18 { ".0" } else { "" };
    format!("{number:.0}{point}")
}

#[cfg(test)]
mod tests;
