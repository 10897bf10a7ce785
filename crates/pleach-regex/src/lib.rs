//! Go's regular expressions: the RE2 syntax, semantics, limits and error texts of `regexp`.
//!
//! Kubernetes schemas (`pattern`) and CEL (`matches`, `find`, `findAll`) speak Go's dialect, and
//! what Go says about a bad pattern is part of what clients read. This crate parses that dialect
//! itself and hands the result to `regex-automata`; matching is linear in the text.
//!
//! It knows nothing of JSON, schemas or CEL, does no IO, and keeps no global state: whoever wants
//! patterns shared owns a [`Cache`].
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
//! **Invariant:** a pattern is accepted exactly when Go accepts it (checked against a table of
//! Go's answers), with one exception: different classes of one pattern may hold at most two
//! million ranges together, which takes a pattern made for the purpose.

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
