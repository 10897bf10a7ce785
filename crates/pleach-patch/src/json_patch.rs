//! JSON patch (RFC 6902), as evanphx/json-patch applies it.
//!
//! A patch is read once and applied to as many documents as the retries take. Members of the wrong
//! type or missing ones are noticed when their operation runs, as upstream notices them.

mod apply;
mod decode;
mod place;
mod written;

use pleach_json::Value;

use crate::error::{DecodeError, PatchError};
pub use decode::StrictPatch;

/// The server takes no patch of more operations.
pub const MAX_OPERATIONS: usize = 10_000;

/// How many bytes of JSON the copy operations of a patch may add together.
pub const COPY_SIZE_LIMIT: usize = 3 * 1024 * 1024;

/// A list of operations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct JsonPatch {
    operations: Vec<Operation>,
}

#[derive(Debug, Clone, PartialEq)]
struct Operation {
    op: Op,
    path: Member,
    from: Member,
    /// Missing members are null.
    value: Value,
    /// The value is there but null or left out.
    no_value: bool,
    /// Every scalar of the value is written as Go would write it. A test compares the written
    /// forms, so it fails for a value that is not.
    canonical: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Op {
    Add,
    Remove,
    Replace,
    Move,
    Copy,
    Test,
    Unknown(String),
}

/// A member that should be a string.
#[derive(Debug, Clone, PartialEq)]
enum Member {
    Text(String),
    Missing,
    /// Of another type, with the error of decoding it.
    Wrong(String),
}

impl JsonPatch {
    /// Reads a patch.
    pub fn parse(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode::parse(bytes)
    }

    /// Reads a patch and notes members that do not belong there and members set twice.
    pub fn parse_strict(bytes: &[u8]) -> Result<StrictPatch, DecodeError> {
        decode::parse_strict(bytes)
    }

    /// A patch from a value. Its numbers and strings count as written the way Go writes them.
    pub fn from_value(value: &Value) -> Result<Self, DecodeError> {
        decode::from_value(value)
    }

    /// How many operations there are.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }
}

/// Applies a patch to an object or array. Copying is limited to [`COPY_SIZE_LIMIT`].
pub fn apply_json_patch(document: Value, patch: &JsonPatch) -> Result<Value, PatchError> {
    apply::apply(document, patch, COPY_SIZE_LIMIT)
}
