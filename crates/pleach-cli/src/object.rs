//! Objects in files: the stages of a write, without a server. The stages are `pleach_pipeline`'s.

use pleach_json::Value;
use pleach_pipeline::offline;
pub use pleach_pipeline::offline::Verdict;
use pleach_schema::{Record, Settled};

use crate::catalog::DefinedVersion;

/// A decoded object.
#[derive(Debug)]
pub struct Decoded {
    /// The object: pruned, nulls dropped, coerced, defaulted.
    pub value: Value,
    /// The paths of unknown fields in the order the server reports them.
    pub unknown: Vec<String>,
    /// The changes of settling.
    pub settled: Settled,
}

/// Decodes and settles an object. The error is the server's.
pub fn decode(version: &DefinedVersion, value: Value, record: Record) -> Result<Decoded, String> {
    let decoded = offline::decode(version.resource(), value, record)?;
    Ok(Decoded { value: decoded.value.into_value(), unknown: decoded.strict, settled: decoded.changes })
}

/// Prepares a new object: the fields that the server sets, except for times and uids.
pub fn prepare_for_create(version: &DefinedVersion, value: &mut Value) {
    offline::prepare_for_create(version.resource(), value);
}

/// The server's answer to a new object, which has been decoded.
pub fn create(version: &DefinedVersion, value: &mut Value) -> Verdict {
    offline::create(version.resource(), value)
}

/// The server's answer to an object that replaces `old`. Both have been decoded.
pub fn update(version: &DefinedVersion, value: &mut Value, old: &mut Value) -> Verdict {
    offline::update(version.resource(), value, old)
}
