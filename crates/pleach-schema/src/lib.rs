//! What the OpenAPI schema of a CustomResourceDefinition means.
//!
//! The static side reads a schema ([`props`]) and says whether a CRD may carry it ([`structural`]).
//! The runtime side compiles it ([`compile`]) and applies it to objects.
//! No IO, no clock, no CRD object: whoever decodes a whole CustomResourceDefinition calls in here
//! with its schemas. Nothing here rejects: every check returns a list of field errors.

// Schemas: read, checked, rewritten.
pub mod check;
pub mod decode;
pub mod default_check;
mod expand;
pub mod options;
pub mod props;
mod report;
pub mod rules;
pub mod skeleton;
pub mod structural;
pub mod structuralize;
pub mod unions;
mod walk;

// Objects: pruned, defaulted, validated.
pub mod coerce;
pub mod compile;
pub mod default;
pub mod formats;
pub mod keywords;
pub mod list_type;
pub mod nulls;
pub mod prune;
pub mod ratchet;
pub mod record;
pub mod run_rules;
pub mod settle;
pub mod stages;
mod trail;
pub mod validate;

pub use check::{SchemaContext, rule_costs, validate_schema};
pub use compile::{Node, NodeRef, Schema, SchemaOptions};
pub use decode::Decoder;
pub use options::{Environments, Expressions, Options};
pub use props::{JSONSchemaProps, SchemaBox, SchemaList, SchemaMap, SchemaOrArray, SchemaOrBool};
pub use record::Settled;
pub use run_rules::{RuleOutcome, run_rules};
pub use settle::{Record, SettleOptions};
pub use stages::{Verdict, Write};
pub use structural::Structural;
