//! `field.Error`: an error about one field, printed as the API server prints it.
//!
//! The schema engine and the metadata rules return lists of these and never reject anything
//! themselves; the engine turns a list into a 422 `Status`.

mod list;

use std::fmt;

use pleach_json::Value;

pub use list::{FieldErrors, MAX_BYTES, MAX_ERRORS};
pub(crate) use list::{MORE, bodies};

use pleach_go::fmt::float_v;
use pleach_go::strconv::quote;

/// The kinds of field error; each has a fixed reason and prefix on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorType {
    /// A value that was referred to does not exist.
    NotFound,
    /// A required value is missing.
    Required,
    /// A value that must be unique is repeated.
    Duplicate,
    /// The value is malformed.
    Invalid,
    /// The value is not one of a closed list.
    NotSupported,
    /// The value is well formed but not allowed here.
    Forbidden,
    /// The value is too long.
    TooLong,
    /// There are too many items.
    TooMany,
    /// There are too few items.
    TooFew,
    /// The server failed.
    Internal,
    /// The value has the wrong type.
    TypeInvalid,
    /// The value does not equal the one it is bound to.
    TypeMismatch,
}

impl ErrorType {
    /// The `reason` of the cause in a `Status`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::TooFew => "FieldValueTooFew",
            Self::Internal => "InternalError",
            Self::TypeInvalid | Self::TypeMismatch => "FieldValueTypeInvalid",
        }
    }

    /// How the message starts.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid | Self::TypeMismatch => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::TooFew => "Too few",
            Self::Internal => "Internal error",
        }
    }
}

/// The value an error shows.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum BadValue {
    /// None is shown.
    #[default]
    Omitted,
    /// Numbers and booleans as Go's `%v`, strings as `%q`, the rest as JSON.
    Value(Value),
    /// Text shown as it stands: upstream printed an internal structure here.
    Raw(String),
}

impl<T: Into<Value>> From<T> for BadValue {
    fn from(value: T) -> Self {
        Self::Value(value.into())
    }
}

/// The steps that an error is charged beside its text. It takes some hundred bytes, so that a request cannot fill the memory with
/// errors wherever they are collected.
const ERROR_STEPS: u64 = 300;

/// One thing wrong with one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldError {
    /// The type of the error.
    pub error_type: ErrorType,
    /// The path as printed; `<nil>` where upstream had none.
    pub field: String,
    /// The value that was found.
    pub bad_value: BadValue,
    /// The rest of the sentence; may be empty.
    pub detail: String,
}

impl FieldError {
    /// An error of any type.
    pub fn new(
        error_type: ErrorType,
        field: impl fmt::Display,
        bad_value: impl Into<BadValue>,
        detail: impl Into<String>,
    ) -> Self {
        Self { bad_value: bad_value.into(), ..Self::without_value(error_type, field, detail) }
    }

    fn without_value(error_type: ErrorType, field: impl fmt::Display, detail: impl Into<String>) -> Self {
        let (field, detail) = (field.to_string(), detail.into());
        pleach_work::charge(ERROR_STEPS + (field.len() + detail.len()) as u64);
        Self { error_type, field, bad_value: BadValue::Omitted, detail }
    }

    /// A required value is missing.
    pub fn required(field: impl fmt::Display, detail: impl Into<String>) -> Self {
        Self::without_value(ErrorType::Required, field, detail)
    }

    /// Not allowed here.
    pub fn forbidden(field: impl fmt::Display, detail: impl Into<String>) -> Self {
        Self::without_value(ErrorType::Forbidden, field, detail)
    }

    /// Malformed.
    pub fn invalid(field: impl fmt::Display, value: impl Into<BadValue>, detail: impl Into<String>) -> Self {
        Self::new(ErrorType::Invalid, field, value, detail)
    }

    /// Of the wrong type.
    pub fn type_invalid(
        field: impl fmt::Display,
        value: impl Into<BadValue>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(ErrorType::TypeInvalid, field, value, detail)
    }

    /// Not one of `supported`, which are listed in the order given.
    pub fn not_supported<S: AsRef<str>>(
        field: impl fmt::Display,
        value: impl Into<BadValue>,
        supported: &[S],
    ) -> Self {
        let detail = if supported.is_empty() {
            String::new()
        } else {
            let list: Vec<String> = supported.iter().map(|s| quote(s.as_ref())).collect();
            format!("supported values: {}", list.join(", "))
        };
        Self::new(ErrorType::NotSupported, field, value, detail)
    }

    /// Repeated where values must be unique.
    pub fn duplicate(field: impl fmt::Display, value: impl Into<BadValue>) -> Self {
        Self::new(ErrorType::Duplicate, field, value, "")
    }

    /// Longer than `max` bytes.
    pub fn too_long(field: impl fmt::Display, max: i64) -> Self {
        let detail = match max {
            n if n < 0 => "value is too long".to_owned(),
            1 => "may not be more than 1 byte".to_owned(),
            _ => format!("may not be more than {max} bytes"),
        };
        Self::without_value(ErrorType::TooLong, field, detail)
    }

    /// More than `max` items.
    pub fn too_many(field: impl fmt::Display, actual: i64, max: i64) -> Self {
        let detail = match max {
            n if n < 0 => "has too many items".to_owned(),
            1 => "must have at most 1 item".to_owned(),
            _ => format!("must have at most {max} items"),
        };
        let bad_value = if actual < 0 { BadValue::Omitted } else { BadValue::Value(Value::Int(actual)) };
        Self { bad_value, ..Self::without_value(ErrorType::TooMany, field, detail) }
    }

    /// The server could not decide.
    pub fn internal(field: impl fmt::Display, detail: impl Into<String>) -> Self {
        Self::without_value(ErrorType::Internal, field, detail)
    }

    /// The message without the field, as in causes.
    pub fn body(&self) -> String {
        let mut out = self.error_type.prefix().to_owned();
        match &self.bad_value {
            BadValue::Omitted => {}
            BadValue::Raw(text) => {
                out.push_str(": ");
                out.push_str(text);
            }
            BadValue::Value(value) => {
                out.push_str(": ");
                match value {
                    Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
                    Value::Int(i) => out.push_str(&i.to_string()),
                    Value::Float(x) => out.push_str(&float_v(*x)),
                    Value::String(s) => out.push_str(&quote(s)),
                    other => out.push_str(&pleach_json::to_string(other)),
                }
            }
        }
        if !self.detail.is_empty() {
            out.push_str(": ");
            out.push_str(&self.detail);
        }
        out
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.body())
    }
}

/// Several errors as one text: a single one as it is, more in brackets, equal texts once. What is beyond the
/// limits is not in it.
pub fn aggregate(errors: &[FieldError]) -> String {
    let (bodies, complete) = list::bodies(errors);
    aggregate_bodies(errors, &bodies, complete)
}

/// The same for errors whose bodies are known. `complete` is whether no error is missing.
pub(crate) fn aggregate_bodies(errors: &[FieldError], bodies: &[String], complete: bool) -> String {
    let mut seen = std::collections::HashSet::with_capacity(bodies.len());
    let mut out = String::new();
    let mut several = !complete;
    for (error, body) in errors.iter().zip(bodies) {
        if !seen.insert((error.field.as_str(), body.as_str())) {
            continue;
        }
        if seen.len() > 1 {
            several = true;
            out.push_str(", ");
        }
        out.push_str(&error.field);
        out.push_str(": ");
        out.push_str(body);
    }
    if !complete {
        out.push_str(", ");
        out.push_str(list::MORE);
    }
    if several { format!("[{out}]") } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_read_as_upstream() {
        for (error, want) in [
            (FieldError::required("spec.a", ""), "spec.a: Required value"),
            (FieldError::invalid("spec.a", "x", "must be y"), "spec.a: Invalid value: \"x\": must be y"),
            (FieldError::invalid("spec.a", 1e6, "must be y"), "spec.a: Invalid value: 1e+06: must be y"),
            (FieldError::too_many("spec.l", 3, 1), "spec.l: Too many: 3: must have at most 1 item"),
            (FieldError::too_long("spec.l", 63), "spec.l: Too long: may not be more than 63 bytes"),
            (
                FieldError::not_supported("spec.e", "c", &["a", "b"]),
                "spec.e: Unsupported value: \"c\": supported values: \"a\", \"b\"",
            ),
            (FieldError::duplicate("spec.s[1]", Value::Null), "spec.s[1]: Duplicate value: null"),
        ] {
            assert_eq!(error.to_string(), want);
        }
    }

    #[test]
    fn equal_messages_are_aggregated_once() {
        let e = FieldError::required("a", "");
        assert_eq!(aggregate(&[e.clone(), e.clone()]), "a: Required value");
        assert_eq!(
            aggregate(&[e.clone(), FieldError::required("b", "")]),
            "[a: Required value, b: Required value]"
        );
    }
}
