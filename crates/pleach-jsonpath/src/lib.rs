//! JSONPath in the dialect of Kubernetes.
//!
//! Printer columns and `kubectl -o jsonpath` use a dialect of their own: templates with actions in
//! braces, `range` and `end`, filters, Go's formatting. [`JsonPath`] is that dialect, with
//! upstream's error texts. Scale and selectable fields use plain dotted paths: [`KeyPath`].
//!
//! Paths are parsed once and asked many times; `{.spec.replicas}` is looked up without allocating.
//! This crate never changes an object through a template, does no IO, and does not decide what a
//! table cell is.
//!
//! Two things differ from upstream on purpose: where Go's map order would decide, keys are in
//! order; and where upstream panics (an index into nothing at all) there is an error.

mod error;
mod eval;
mod format;
mod keys;
mod node;
mod parse;
mod path;

pub use error::{FindError, ParseError};
pub use keys::KeyPath;
pub use path::{JsonPath, print_value};
