//! Why a stage failed, apart from field errors.

use std::fmt;

/// Why a stage failed. The server answers each variant with another status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The request's object cannot be decoded: 400.
    BadRequest(String),
    /// 500 with reason `InternalError`.
    Internal(String),
    /// 500 without a reason, where upstream passes a plain error through.
    Plain(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadRequest(text) | Self::Plain(text) => f.write_str(text),
            Self::Internal(text) => write!(f, "Internal error occurred: {text}"),
        }
    }
}

impl std::error::Error for Error {}
