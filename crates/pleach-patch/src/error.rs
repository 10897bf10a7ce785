//! Errors of decoding and applying patches.
//!
//! Texts are upstream's, letter for letter, odd ones included. Of a JSON patch that does not apply
//! a client of the server reads only that it does not; the text is for logs and for webhooks.

use pleach_json::ParseError;

/// A JSON patch that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The text is not JSON.
    #[error("{}", .0.sigs())]
    Json(#[from] ParseError),
    /// The text is JSON of another shape.
    #[error("{0}")]
    Shape(String),
}

/// A JSON patch that does not apply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PatchError(pub(crate) String);

impl PatchError {
    /// Whether a `test` operation found another value.
    pub fn is_failed_test(&self) -> bool {
        self.0.ends_with("test failed")
    }
}

/// A merge patch that is none, or a document that takes none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergePatchError {
    /// The patch is neither an object nor an array.
    #[error("Invalid JSON Patch")]
    Patch,
    /// The document is null.
    #[error("Invalid JSON Document")]
    Document,
}

/// A strategic merge patch that does not apply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StrategicError(pub(crate) String);

/// Whether an error of a strategic merge patch is the client's or the server's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The patch is malformed.
    Malformed,
    /// The patch contradicts itself.
    Unprocessable,
    /// Unexpected upstream too: reported as an internal error.
    Unforeseen,
}

impl StrategicError {
    /// Whether it is the client's error or the server's.
    pub fn fault(&self) -> Fault {
        match self.0.as_str() {
            "invalid JSON document"
            | "invalid patch format of primitive list"
            | "invalid patch format of retainKeys"
            | "invalid patch format of setElementOrder list"
            | "strategic merge patch format is not supported" => Fault::Malformed,
            "lists of lists are not supported" | "patch content doesn't match retainKeys list" => {
                Fault::Unprocessable
            }
            _ => Fault::Unforeseen,
        }
    }
}
