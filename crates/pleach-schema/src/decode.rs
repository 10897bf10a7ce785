//! Typed decoding with the errors that Go's `encoding/json` gives.
//!
//! Clients see Go's words when a CRD has the wrong shape: the name of the innermost Go struct, the
//! struct fields on the way (map keys and list positions are not among them) and the Go type that
//! was wanted. A [`Decoder`] carries that trail, the first error, and the paths of fields that no
//! struct has, which strict decoding reports.
//!
//! Some Go types decode themselves (`JSON`, `JSONSchemaPropsOrBool` and their like). Inside those
//! nothing is strict, and an error ends the whole decoding: see [`Decoder::unmarshaler`].
//!
//! Odd: Go reports the first error in document order and the unknown fields likewise, but a
//! [`Value`] has its keys sorted. The first in key order stands in for it.

use pleach_json::{Str, Value, grow_stack};

/// At most this many unknown fields are reported for one document.
const MAX_UNKNOWN: usize = 100;

/// The state of decoding one document.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The package name in Go type names, `v1` or `v1beta1`.
    package: &'static str,
    /// The struct whose field was entered last.
    structure: &'static str,
    /// The struct fields on the way.
    fields: Vec<&'static str>,
    /// The way as unknown fields print it.
    path: String,
    /// How many self-decoding types enclose this place.
    lenient: usize,
    /// The struct that holds the outermost of them: Go's message names that one.
    holder: &'static str,
    /// The first error.
    error: Option<String>,
    /// Whether `error` came out of a self-decoding type: decoding ends there.
    ended: bool,
    unknown: Vec<String>,
    /// Whether `x-kubernetes-unions` is a field.
    unions: bool,
}

impl Decoder {
    /// A decoder for types of the Go package `package`: `v1` or `v1beta1`.
    pub fn new(package: &'static str) -> Self {
        Self { package, ..Self::default() }
    }

    /// Starts below other structs: `structure` is the one whose field was entered last, `fields` are
    /// the fields on the way, `path` is the same way as unknown fields print it.
    #[must_use]
    pub fn within(mut self, structure: &'static str, fields: &[&'static str], path: &str) -> Self {
        self.structure = structure;
        self.fields = fields.to_vec();
        path.clone_into(&mut self.path);
        self
    }

    /// Whether `x-kubernetes-unions` is a field, which it is not for stock Kubernetes.
    #[must_use]
    pub fn with_unions(mut self, unions: bool) -> Self {
        self.unions = unions;
        self
    }

    /// Whether `x-kubernetes-unions` is a field.
    pub fn knows_unions(&self) -> bool {
        self.unions
    }

    /// The name of a type of this package in an error: `v1.JSON`.
    pub fn go_type(&self, name: &str) -> String {
        format!("{}.{name}", self.package)
    }

    /// The first error and the unknown fields, in the order they were met.
    pub fn finish(self) -> (Option<String>, Vec<String>) {
        (self.error, self.unknown)
    }

    /// Whether an error has ended the decoding.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Decodes the members of a struct with the fields `known`; `field` is called for each of those
    /// that is there, null included. Anything but an object or null is an error; null leaves the
    /// struct as it is.
    pub fn structure(
        &mut self,
        name: &'static str,
        value: &Value,
        known: &[&'static str],
        mut field: impl FnMut(&mut Self, &'static str, &Value),
    ) {
        let Value::Object(members) = value else {
            if !value.is_null() {
                let want = self.go_type(name);
                self.mismatch(value, &want);
            }
            return;
        };
        for (key, member) in members {
            if self.ended {
                return;
            }
            let Some(&key) = known.iter().find(|k| **k == key.as_str()) else {
                self.unknown_field(key);
                continue;
            };
            let outer = self.structure;
            let length = self.path.len();
            self.structure = name;
            self.fields.push(key);
            self.push_name(key);
            grow_stack(|| field(self, key, member));
            self.path.truncate(length);
            self.fields.pop();
            self.structure = outer;
        }
    }

    /// Decodes the members of a map; null leaves it absent.
    pub fn map(&mut self, value: &Value, want: &str, mut member: impl FnMut(&mut Self, &Str, &Value)) {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    if self.ended {
                        return;
                    }
                    let length = self.path.len();
                    self.push_name(key);
                    grow_stack(|| member(self, key, value));
                    self.path.truncate(length);
                }
            }
            Value::Null => {}
            other => self.mismatch(other, want),
        }
    }

    /// Decodes the items of a list; null leaves it absent.
    pub fn list<T>(
        &mut self,
        value: &Value,
        want: &str,
        mut item: impl FnMut(&mut Self, &Value) -> T,
    ) -> Option<Vec<T>> {
        match value {
            Value::Array(items) => {
                let mut out = Vec::with_capacity(items.len());
                for (i, value) in items.iter().enumerate() {
                    if self.ended {
                        break;
                    }
                    let length = self.path.len();
                    self.push_index(i);
                    out.push(grow_stack(|| item(self, value)));
                    self.path.truncate(length);
                }
                Some(out)
            }
            Value::Null => None,
            other => {
                self.mismatch(other, want);
                None
            }
        }
    }

    /// A list of strings.
    pub fn strings(&mut self, value: &Value) -> Option<Vec<Str>> {
        self.list(value, "[]string", |d, v| d.string(v).unwrap_or_default())
    }

    /// A string; null is none.
    pub fn string(&mut self, value: &Value) -> Option<Str> {
        self.string_type(value, "string")
    }

    /// The same for a type of another name that is a string.
    pub fn string_type(&mut self, value: &Value, go_type: &str) -> Option<Str> {
        match value {
            Value::String(s) => Some(s.clone()),
            Value::Null => None,
            other => {
                self.mismatch(other, go_type);
                None
            }
        }
    }

    /// A boolean; null is none.
    pub fn boolean(&mut self, value: &Value) -> Option<bool> {
        match value {
            Value::Bool(b) => Some(*b),
            Value::Null => None,
            other => {
                self.mismatch(other, "bool");
                None
            }
        }
    }

    /// An integer of 64 bits; null is none.
    pub fn int64(&mut self, value: &Value) -> Option<i64> {
        match value {
            Value::Int(i) => Some(*i),
            Value::Null => None,
            Value::Float(f) => {
                self.fail(&format!("number {}", number_text(*f)), "int64");
                None
            }
            other => {
                self.mismatch(other, "int64");
                None
            }
        }
    }

    /// An integer of 32 bits; null is none.
    pub fn int32(&mut self, value: &Value) -> Option<i32> {
        match value {
            Value::Int(i) => {
                let fits = i32::try_from(*i).ok();
                if fits.is_none() {
                    self.fail(&format!("number {i}"), "int32");
                }
                fits
            }
            Value::Null => None,
            Value::Float(f) => {
                self.fail(&format!("number {}", number_text(*f)), "int32");
                None
            }
            other => {
                self.mismatch(other, "int32");
                None
            }
        }
    }

    /// A number; null is none.
    pub fn float64(&mut self, value: &Value) -> Option<f64> {
        match value {
            Value::Int(i) => Some(*i as f64),
            Value::Float(f) => Some(*f),
            Value::Null => None,
            other => {
                self.mismatch(other, "float64");
                None
            }
        }
    }

    /// Runs `body` as the `UnmarshalJSON` of a self-decoding type: not strict, and with an error that
    /// ends everything around it and wins over earlier ones.
    pub fn unmarshaler<T>(&mut self, body: impl FnOnce(&mut Self) -> T) -> T {
        let saved = self.error.take();
        if self.lenient == 0 {
            self.holder = self.structure;
        }
        self.lenient += 1;
        let out = body(self);
        self.lenient -= 1;
        if self.error.is_some() {
            self.ended = true;
        } else {
            self.error = saved;
        }
        out
    }

    /// Records an error in words of its own, as a self-decoding type gives it.
    pub fn error(&mut self, text: impl Into<String>) {
        if self.error.is_none() {
            self.error = Some(text.into());
        }
    }

    /// Records that `value` is not of the Go type `want`.
    pub fn mismatch(&mut self, value: &Value, want: &str) {
        let got = match value {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Int(_) | Value::Float(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        self.fail(got, want);
    }

    fn fail(&mut self, got: &str, want: &str) {
        if self.error.is_some() {
            return;
        }
        self.error = Some(if self.fields.is_empty() {
            format!("json: cannot unmarshal {got} into Go value of type {want}")
        } else {
            let structure = if self.lenient == 0 { self.structure } else { self.holder };
            let fields = self.fields.join(".");
            format!("json: cannot unmarshal {got} into Go struct field {structure}.{fields} of type {want}")
        });
    }

    fn unknown_field(&mut self, key: &str) {
        if self.lenient > 0 || self.unknown.len() >= MAX_UNKNOWN {
            return;
        }
        let dot = if self.path.is_empty() { "" } else { "." };
        self.unknown.push(format!("{}{dot}{key}", self.path));
    }

    fn push_name(&mut self, name: &str) {
        if self.lenient == 0 {
            if !self.path.is_empty() {
                self.path.push('.');
            }
            self.path.push_str(name);
        }
    }

    fn push_index(&mut self, index: usize) {
        if self.lenient == 0 {
            self.path.push('[');
            self.path.push_str(&index.to_string());
            self.path.push(']');
        }
    }
}

/// A number as it most likely stood in the document: the text itself is gone by now.
fn number_text(number: f64) -> String {
    if number.fract() != 0.0 {
        return number.to_string();
    }
    // Integers beyond 64 bits are floats here although nothing in their text says so.
    let point = if number.abs() < 9e18 { ".0" } else { "" };
    format!("{number:.0}{point}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_no_integers_show_their_text() {
        for (number, want) in
            [(1.5, "1.5"), (-1.0, "-1.0"), (9_223_372_036_854_775_808.0, "9223372036854775808")]
        {
            assert_eq!(number_text(number), want);
        }
    }
}
