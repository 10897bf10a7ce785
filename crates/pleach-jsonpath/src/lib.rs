//! JSONPath in the dialect of Kubernetes.
//!
//! Printer columns and `kubectl -o jsonpath` use a dialect of their own: templates with actions in
//! braces, `range` and `end`, filters, Go's formatting. [`JsonPath`] is that dialect, with
//! upstream's error texts. Scale and selectable fields use plain dotted paths: [`KeyPath`].
//!
//! Paths are parsed once; `{.spec.replicas}` is evaluated without allocating. Templates do not change
//! objects. No IO.
//!
//! Two deliberate differences from upstream: keys are sorted where Go's map order would decide, and an
//! error is returned where upstream panics.

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
