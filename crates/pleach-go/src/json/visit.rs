//! Decoding by calls of a reader that builds Rust types, field by field.

use pleach_json::{Str, Value, grow_stack};

use super::{Decoder, Step};

impl Decoder {
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
            self.in_field(name, key, |d| grow_stack(|| field(d, key, member)));
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
                    self.at(Step::Key(key.clone()), |d| grow_stack(|| member(d, key, value)));
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
                    out.push(self.at(Step::Index(i), |d| grow_stack(|| item(d, value))));
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

    /// An `int64`; null is none.
    pub fn int64(&mut self, value: &Value) -> Option<i64> {
        match value {
            Value::Int(i) => Some(*i),
            Value::Null => None,
            other => {
                self.not_integer(other, "int64");
                None
            }
        }
    }

    /// An `int32`; null is none.
    pub fn int32(&mut self, value: &Value) -> Option<i32> {
        let fits = match value {
            Value::Int(i) => i32::try_from(*i).ok(),
            Value::Null => return None,
            _ => None,
        };
        if fits.is_none() {
            self.not_integer(value, "int32");
        }
        fits
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
}
