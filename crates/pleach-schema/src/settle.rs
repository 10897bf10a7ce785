//! Settling: brings an object into the shape its schema promises. Prunes, drops nulls, coerces embedded
//! resources and applies defaults.
//!
//! Every object passes through it that comes from a request, a patch, a webhook or the store. The metadata of
//! the object itself is not touched; it is decoded with the request.
//!
//! **Invariant:** settling twice is settling once.

mod coerce;
mod defaults;
pub mod record;
mod recorder;
#[cfg(test)]
mod tests;
mod walk;

use pleach_json::Value;
use pleach_meta::{FieldError, Path};

use crate::compile::{Node, Schema};
use record::Settled;
pub(crate) use walk::is_resource_member;
use walk::{Stages, Walk};

/// How much of what settling does is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Record {
    /// Nothing.
    #[default]
    Nothing,
    /// The unknown fields and dropped nulls: what field validation needs.
    Unknown,
    /// Everything, also which defaults were not applied and why.
    Everything,
}

/// How to settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettleOptions {
    /// The changes to record.
    pub record: Record,
    /// Whether the object comes from the store: what cannot be coerced is then dropped and not refused.
    pub stored: bool,
    /// Whether to apply defaults. The result of a conversion is pruned, but not defaulted.
    pub defaults: bool,
}

impl SettleOptions {
    /// For the body of a request.
    pub const fn request(record: Record) -> Self {
        Self { record, stored: false, defaults: true }
    }

    /// For an object from the store, in the version it was stored in.
    pub const STORED: Self = Self { record: Record::Nothing, stored: true, defaults: true };

    /// For the result of a conversion.
    pub const CONVERTED: Self = Self { record: Record::Nothing, stored: true, defaults: false };
}

impl Schema {
    /// Settles an object. The error is that of a request: an embedded resource that cannot be coerced.
    pub fn settle(&self, object: &mut Value, options: SettleOptions) -> Result<Settled, FieldError> {
        self.settle_against(object, None, options)
    }

    /// The same as [`Self::settle`]; containers that the object shares with `baseline`, a settled object, are
    /// skipped.
    pub fn settle_against(
        &self,
        object: &mut Value,
        baseline: Option<&Value>,
        options: SettleOptions,
    ) -> Result<Settled, FieldError> {
        let root = self.root();
        let coerce = root.below().embedded_resources();
        let stages = Stages::of_object(!self.preserves_unknown_fields(), coerce, options.defaults);
        let mut walk = Walk::new(stages, options.stored, options.record);
        walk.start(object, baseline, root)?;
        Ok(walk.recorder.finish())
    }

    /// Only applies defaults. Containers that have them all are not copied, and what is shared with a settled
    /// baseline stays shared.
    pub fn fill_defaults(&self, object: &mut Value, baseline: Option<&Value>) {
        let mut walk = Walk::new(Stages::DEFAULTS, true, Record::Nothing);
        // Only coercion refuses anything.
        let _ = walk.start(object, baseline, self.root());
    }
}

/// Only coerces the embedded resources of a value, as those of a request.
pub(crate) fn coerce(value: &mut Value, node: &Node) -> Result<(), FieldError> {
    Walk::new(Stages::COERCE, false, Record::Nothing).start(value, None, node)
}

/// Prunes and coerces a default as it is stored in a schema.
pub(crate) fn clean_default(default: &mut Value, node: &Node) {
    // Nothing stored is refused.
    let _ = Walk::new(Stages::PRUNE_AND_COERCE, true, Record::Nothing).start(default, None, node);
}

impl Walk {
    /// Walks a value from its root.
    fn start(&mut self, value: &mut Value, baseline: Option<&Value>, node: &Node) -> Result<(), FieldError> {
        if self.stages.defaults {
            if node.default().is_some() {
                self.recorder.default_withheld(&Path::ROOT, record::Reason::OfTheRoot);
            }
            if !value.is_container() {
                self.recorder.no_object(value, node, &Path::ROOT);
            }
        }
        match self.visit(value, baseline, node, node.preserves_unknown_fields(), &Path::ROOT) {
            Ok(_) => Ok(()),
            Err(refused) => Err(refused.into_error()),
        }
    }
}
