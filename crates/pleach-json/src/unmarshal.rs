//! Go's `json.UnmarshalTypeError`: a JSON value that does not fit the Go type it is decoded into.

use std::fmt;

use crate::Value;

/// The error, as Go prints it.
#[derive(Clone, Copy, Debug)]
pub struct UnmarshalTypeError<'a> {
    /// The JSON value: `string`, `number 1.5`.
    pub value: &'a str,
    /// The innermost struct and the path of fields, if the value is in a struct.
    pub field: Option<(&'a str, &'a str)>,
    /// The Go type that was wanted.
    pub go_type: &'a str,
}

impl fmt::Display for UnmarshalTypeError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, field, go_type } = self;
        write!(f, "json: cannot unmarshal {value} into Go ")?;
        match field {
            Some((structure, path)) => write!(f, "struct field {structure}.{path}")?,
            None => f.write_str("value")?,
        }
        write!(f, " of type {go_type}")
    }
}

/// The name of a JSON value in errors of Go's decoder: `null`, `bool`, `number`, `string`, `array`, `object`.
pub fn value_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Float(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
