//! Brings an object into the shape its schema promises: prune, drop nulls, coerce, default.
//!
//! Where anything new comes in, whoever wrote it: a client, a patch, a webhook, the store. The
//! metadata of the object itself is not touched; it is decoded with the request.
//!
//! **Invariant:** settling twice is settling once.

use pleach_json::Value;
use pleach_meta::FieldError;

use crate::compile::Schema;
use crate::fill::fill;
use crate::prune::{Noted, Silent, prune_and_drop_nulls};
use crate::record::Settled;
use crate::survey::{Needs, survey};
use crate::{coerce, default};

/// How much of what was done is to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Record {
    /// Nothing; the fastest way.
    #[default]
    Nothing,
    /// The unknown fields: what field validation needs.
    Unknown,
    /// Everything, also what was not done and why.
    Everything,
}

/// How to settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettleOptions {
    /// What to tell.
    pub record: Record,
    /// Whether the object comes from the store: what does not fit is then dropped and not refused.
    pub stored: bool,
    /// Whether to fill in defaults. The result of a conversion is pruned, but not defaulted.
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

/// The object that an object to be settled may share containers with.
#[derive(Clone, Copy, Debug)]
pub enum Baseline<'a> {
    /// There is none: the object shares nothing.
    None,
    /// It may share containers with an object that is not known to be settled.
    Unknown,
    /// A settled object: containers shared with it are skipped.
    Settled(&'a Value),
}

impl<'a> Baseline<'a> {
    /// The settled object, if there is one.
    pub fn settled(self) -> Option<&'a Value> {
        match self {
            Self::Settled(value) => Some(value),
            Self::None | Self::Unknown => None,
        }
    }
}

impl Schema {
    /// Settles an object. An error is a request's: an embedded resource that is none.
    pub fn settle(&self, object: &mut Value, options: SettleOptions) -> Result<Settled, FieldError> {
        self.settle_against(object, Baseline::Unknown, options)
    }

    /// Only fills in defaults. An object that has them all is not copied, and what it shares with a settled
    /// baseline stays shared.
    pub fn fill_defaults(&self, object: &mut Value, baseline: Baseline<'_>) {
        let root = self.root();
        if root.below().embedded_resources() {
            default::default(object, root);
        } else if survey(object, baseline.settled(), root).defaults {
            // Whether something would have to be pruned is not asked.
            fill(object, baseline.settled(), root);
        }
    }

    /// The same as [`Self::settle`], skipping what the object shares with a settled baseline.
    pub fn settle_against(
        &self,
        object: &mut Value,
        baseline: Baseline<'_>,
        options: SettleOptions,
    ) -> Result<Settled, FieldError> {
        let mut settled = Settled::default();
        let root = self.root();
        let embedded = root.below().embedded_resources();
        // Whoever wants to know why nothing was done gets all the walks.
        let needs = if embedded || options.record == Record::Everything {
            Needs { pruning: true, defaults: true }
        } else if !matches!(baseline, Baseline::Unknown) && options.defaults {
            // Nothing that is shared with an unknown object would be copied.
            Needs { pruning: fill(object, baseline.settled(), root), defaults: false }
        } else {
            survey(object, baseline.settled(), root)
        };
        if needs.pruning && !self.preserves_unknown_fields() {
            if options.record == Record::Nothing {
                prune_and_drop_nulls(object, root, &mut Silent);
            } else {
                let mut noted = Noted::default();
                prune_and_drop_nulls(object, root, &mut noted);
                noted.pruned.sort_unstable();
                settled.pruned = noted.pruned;
                settled.nulls_dropped = noted.nulls;
            }
        }
        if embedded {
            if options.stored {
                coerce::coerce_stored(object, root);
            } else {
                let unknown = &mut settled.unknown_metadata;
                coerce::coerce(object, root, (options.record != Record::Nothing).then_some(unknown))?;
                settled.unknown_metadata.sort_unstable();
            }
        }
        if needs.defaults && options.defaults {
            match options.record {
                Record::Everything => settled.defaults = default::explain_defaults(object, root),
                Record::Nothing | Record::Unknown => default::default(object, root),
            }
        }
        Ok(settled)
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::SchemaOptions;

    fn schema(preserve_unknown_fields: bool) -> Schema {
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "a": {"type": "string", "default": "x"},
                "n": {"type": "string"},
                "e": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
            }},
        }});
        Schema::from_value(&schema, SchemaOptions { preserve_unknown_fields, ..SchemaOptions::default() })
    }

    #[test]
    fn everything_is_told() {
        let mut object = json!({"spec": {"z": 1, "n": null, "e": {"apiVersion": "v1", "kind": "K", "metadata": {"lost": 1}}}, "y": 1});
        let settled = schema(false).settle(&mut object, SettleOptions::request(Record::Everything)).unwrap();
        assert_eq!(
            object,
            json!({"spec": {"a": "x", "e": {"apiVersion": "v1", "kind": "K", "metadata": {}}}})
        );
        assert_eq!(settled.pruned, ["spec.z", "y"]);
        assert_eq!(settled.unknown_metadata, ["spec.e.metadata.lost"]);
        assert_eq!(settled.nulls_dropped, ["spec.n"]);
        assert_eq!(settled.defaults.applied[0].path, "spec.a");
        let again = schema(false).settle(&mut object, SettleOptions::request(Record::Everything)).unwrap();
        assert_eq!(again, Settled::default(), "twice is once");
    }

    #[test]
    fn a_crd_that_preserves_is_still_coerced_and_defaulted() {
        let mut object = json!({"spec": {"z": 1, "n": null, "e": {"apiVersion": "v1", "kind": "K", "metadata": {"lost": 1}}}});
        schema(true).settle(&mut object, SettleOptions::STORED).unwrap();
        assert_eq!(
            object,
            json!({"spec": {"a": "x", "z": 1, "n": null, "e": {"apiVersion": "v1", "kind": "K", "metadata": {}}}})
        );
    }

    #[test]
    fn the_fingerprint_knows_what_settling_depends_on() {
        let of = |schema: Value, preserve| {
            Schema::from_value(
                &schema,
                SchemaOptions { preserve_unknown_fields: preserve, ..SchemaOptions::default() },
            )
            .fingerprint()
        };
        let plain = json!({"type": "object", "properties": {"a": {"type": "string"}}});
        for (why, other, same) in [
            (
                "value rules do not matter",
                json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "maxLength": 3}}}),
                true,
            ),
            ("nor do types", json!({"type": "object", "properties": {"a": {"type": "integer"}}}), true),
            ("names do", json!({"type": "object", "properties": {"b": {"type": "string"}}}), false),
            (
                "defaults do",
                json!({"type": "object", "properties": {"a": {"type": "string", "default": "x"}}}),
                false,
            ),
            (
                "nullable does",
                json!({"type": "object", "properties": {"a": {"type": "string", "nullable": true}}}),
                false,
            ),
            (
                "what is below does",
                json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "string"}}}}}),
                false,
            ),
            (
                "preserving does",
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"a": {"type": "string"}}}),
                false,
            ),
        ] {
            assert_eq!(of(plain.clone(), false) == of(other, false), same, "{why}");
        }
        assert_ne!(of(plain.clone(), false), of(plain, true));
    }
}
