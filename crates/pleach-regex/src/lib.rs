//! Go's regular expressions: the RE2 syntax, semantics, limits and error texts of `regexp`.
//!
//! Kubernetes schemas (`pattern`) and CEL (`matches`, `find`, `findAll`) use Go's dialect, and clients
//! see its errors. This crate parses that dialect itself and matches with `regex-automata`, in linear
//! time.
//!
//! No JSON, schemas or CEL, no IO, no global state: to share patterns, use a [`Cache`].
//!
//! ```
//! use pleach_regex::Regex;
//!
//! let name = Regex::new(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")?;
//! assert!(name.is_match("my-name"));
//!
//! let error = Regex::new("a**").unwrap_err();
//! assert_eq!(error.to_string(), "error parsing regexp: invalid nested repetition operator: `**`");
//! # Ok::<(), pleach_regex::Error>(())
//! ```
//!
//! **Invariant:** a pattern is accepted exactly when Go accepts it (checked against a table recorded
//! from Go), with one exception: the distinct classes of a pattern may have at most two million ranges
//! in total.

mod ast;
mod cache;
mod class;
mod engine;
mod error;
mod hir;
mod metered;
mod parse;
mod regex;
mod replace;
mod unicode;
mod vm;

pub use cache::Cache;
pub use error::{Error, ErrorCode};
pub use metered::Exhausted;
pub use regex::Regex;
