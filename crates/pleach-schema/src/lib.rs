//! What the OpenAPI schema of a CustomResourceDefinition means.
//!
//! The static side reads a schema ([`props`]) and says whether a CRD may carry it ([`structural`]).
//! No IO, no clock, no CRD object: whoever decodes a whole CustomResourceDefinition calls in here
//! with its schemas. Nothing here rejects: every check returns a list of field errors.

pub mod check;
pub mod decode;
pub mod default_check;
pub mod options;
pub mod props;
mod report;
pub mod rules;
pub mod structural;
mod walk;

pub use check::{SchemaContext, validate_schema};
pub use compile::{Node, NodeRef, Schema, SchemaOptions};
pub use decode::Decoder;
pub use options::{Environments, Expressions, Options};
pub use props::{JSONSchemaProps, SchemaBox, SchemaList, SchemaMap, SchemaOrArray, SchemaOrBool};
pub use record::Settled;
pub use settle::{Record, SettleOptions};
pub use structural::Structural;
