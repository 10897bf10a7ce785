//! The OpenAPI schema of a CustomResourceDefinition: reading, checking, and applying it to objects.
//!
//! The static side reads a schema ([`props`]) and validates it for a CRD ([`check`], [`structural`]).
//! The runtime side compiles it ([`compile`]) and applies it to objects.
//! No IO, no clock, no CRD object: the caller decodes the CustomResourceDefinition and passes its schemas.
//! Nothing here rejects: every check returns a list of field errors.
//!
//! # In tests of a controller
//!
//! The errors that an API server would report for the schema of a `#[derive(CustomResource)]` type, and for an
//! object of it. With kube-rs, `serde_json::to_vec(&Widget::crd())` is the first text and
//! `serde_json::to_vec(&Widget::new("a", spec))` the second:
//!
//! ```
//! use pleach_json::{Value, parse};
//! use pleach_meta::Path;
//! use pleach_schema::{
//!     JSONSchemaProps, Options, Record, Schema, SchemaContext, SchemaOptions, SettleOptions, Write,
//!     validate_schema,
//! };
//!
//! /// The schema of the first version of a CRD.
//! fn schema_of(crd: &[u8]) -> JSONSchemaProps {
//!     let crd = parse(crd).expect("JSON");
//!     let versions = crd.at(&["spec", "versions"]).and_then(Value::as_array).expect("versions");
//!     let schema = versions[0].at(&["schema", "openAPIV3Schema"]).expect("a schema");
//!     JSONSchemaProps::from_value(schema).expect("a schema")
//! }
//!
//! /// The errors of the CRD.
//! fn crd_errors(crd: &[u8]) -> Vec<String> {
//!     let path = Path::new("spec.versions[0].schema");
//!     let context = SchemaContext { path, status_enabled: false, options: Options::CREATE };
//!     validate_schema(&schema_of(crd), &context).iter().map(ToString::to_string).collect()
//! }
//!
//! /// The unknown fields and the errors of an object.
//! fn object_errors(crd: &[u8], object: &[u8]) -> Vec<String> {
//!     let schema = Schema::compile(&schema_of(crd), SchemaOptions::default());
//!     let mut object = parse(object).expect("JSON");
//!     let settled = schema.settle(&mut object, SettleOptions::request(Record::Unknown)).expect("an object");
//!     let verdict = schema.validate(&object, Write::Create, Vec::new(), |_| {});
//!     let unknown = settled.pruned.iter().map(|path| format!("unknown field {path}"));
//!     unknown.chain(verdict.errors.iter().map(ToString::to_string)).collect()
//! }
//!
//! // let crd = serde_json::to_vec(&Widget::crd()).unwrap();
//! let crd = br#"{"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": {
//!     "type": "object",
//!     "properties": {"spec": {
//!         "type": "object",
//!         "required": ["size"],
//!         "properties": {"size": {"type": "integer", "minimum": 1}},
//!         "x-kubernetes-validations": [{"rule": "self.size != 13", "message": "not thirteen"}]
//!     }}
//! }}}]}}"#;
//! assert_eq!(crd_errors(crd), Vec::<String>::new());
//!
//! // let object = serde_json::to_vec(&Widget::new("a", WidgetSpec { size: 13 })).unwrap();
//! let object = br#"{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"},
//!     "spec": {"size": 13, "siez": 1}}"#;
//! assert_eq!(
//!     object_errors(crd, object),
//!     ["unknown field spec.siez", "spec: Invalid value: not thirteen"]
//! );
//! ```

// Schemas: reading, validation, rewriting.
mod cel_types;
pub mod check;
pub mod default_check;
mod expand;
pub mod options;
pub mod props;
pub mod rules;
pub mod skeleton;
pub mod structural;
pub mod structuralize;
pub mod unions;
mod walk;

// Objects: pruning, defaulting, validation.
pub mod compile;
mod embedded;
mod field_path;
pub mod formats;
pub mod keywords;
pub mod list_type;
pub mod ratchet;
pub mod run_rules;
pub mod settle;
pub mod stages;
pub mod validate;

pub use check::{SchemaContext, rule_costs, validate_schema};
pub use compile::{Node, NodeRef, Schema, SchemaOptions};
pub use options::{Environments, Expressions, Options};
pub use pleach_go::json::Decoder;
pub use props::{JSONSchemaProps, SchemaBox, SchemaList, SchemaMap, SchemaOrArray, SchemaOrBool};
pub use run_rules::{RuleOutcome, run_rules};
pub use settle::record::Settled;
pub use settle::{Record, SettleOptions};
pub use stages::{Verdict, Write};
pub use structural::Structural;
