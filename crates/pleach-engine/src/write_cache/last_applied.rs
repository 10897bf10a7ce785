//! The last applied configuration of an object, kept in the write cache.
//!
//! An applied configuration lacks the fields of other managers and the defaults, so the live object is a poor
//! baseline to parse it against; the configuration before is a good one. Where the two share a container, its
//! field set and, if the live object still has it, its merge result are those of the last apply.

use bytes::Bytes;
use pleach_json::{SpannedValue, Spans, Str, Value};

use super::recent_objects::memory_of;

/// A configuration that a manager applied, with its text.
pub(crate) struct AppliedConfiguration {
    pub(crate) manager: Str,
    pub(crate) subresource: &'static str,
    /// Of the version and schema that it was applied under.
    pub(crate) fingerprint: u64,
    pub(crate) config: Value,
    pub(crate) text: Bytes,
    pub(crate) spans: Spans,
}

/// The configuration that was last applied to an object, and the object that resulted.
pub(crate) struct LastApplied {
    applied: AppliedConfiguration,
    pub(crate) result: Value,
}

impl LastApplied {
    pub(super) fn new(applied: AppliedConfiguration, result: Value) -> Self {
        Self { applied, result }
    }

    /// The configuration.
    pub(crate) fn config(&self) -> &Value {
        &self.applied.config
    }

    /// The configuration with its text and spans.
    pub(crate) fn spanned(&self) -> SpannedValue<'_> {
        SpannedValue::new(&self.applied.config, &self.applied.text, &self.applied.spans)
    }

    /// About how much memory it takes.
    pub(super) fn size(&self) -> usize {
        memory_of(&self.applied.text)
    }

    /// Whether this manager applied it, at the same endpoint and under the same schema.
    pub(crate) fn is_by(&self, manager: &str, subresource: &str, fingerprint: u64) -> bool {
        let AppliedConfiguration { manager: name, subresource: at, fingerprint: under, .. } = &self.applied;
        name == manager && *at == subresource && *under == fingerprint
    }
}
