//! The body of a request, and what to do about fields that the schema does not know.

use bytes::Bytes;
use pleach_json::Value;

/// The handling of unknown and duplicate fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// Drop them silently.
    Ignore,
    /// Drop them with a warning.
    #[default]
    Warn,
    /// Reject the request.
    Strict,
}

/// How a body is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Format {
    /// JSON
    Json,
    /// YAML
    Yaml,
    /// Protobuf or CBOR, which the server has read: the object, or why it cannot be read.
    Read(Result<Value, Unreadable>),
}

/// Why a body cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It is not in the format of its content type.
    Body(String),
    /// It is, but it is no object of the kind.
    Object(String),
}

/// A request body, not yet decoded.
#[derive(Clone, Debug)]
pub struct Body {
    /// The bytes as sent.
    pub bytes: Bytes,
    /// How they are written.
    pub format: Format,
}
