//! Errors of the interface itself; what is wrong with an object is a [`crate::Verdict`].

use std::fmt;

/// Why a question could not be answered.
///
/// ```
/// use pleach_sdk::{Definition, Error};
///
/// let error = Definition::new(&serde_json::json!({"apiVersion": "v1", "kind": "Pod"})).unwrap_err();
/// assert!(matches!(error, Error::UnknownKind { .. }));
/// assert_eq!(error.to_string(), "no kind \"Pod\" is registered for version \"v1\"");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The value cannot be serialized to JSON, or deserialized from it.
    Json(serde_json::Error),
    /// The text is not YAML.
    Yaml(String),
    /// The object is of another kind, or of a version that the CRD does not have or serve.
    UnknownKind {
        /// Its `apiVersion`.
        api_version: String,
        /// Its `kind`.
        kind: String,
    },
    /// The object has a wrong shape: the server's answer is a 400 with this message.
    BadRequest(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => error.fmt(f),
            Self::Yaml(text) | Self::BadRequest(text) => f.write_str(text),
            Self::UnknownKind { api_version, kind } => {
                write!(f, "no kind \"{kind}\" is registered for version \"{api_version}\"")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Json(error) => Some(error),
            _ => None,
        }
    }
}
