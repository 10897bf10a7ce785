//! Kinds, and the stages of a write that need no server.
//!
//! ```text
//! bytes ─decode→ settle (prune, drop nulls, coerce, default) → prepare → validate → convert
//! ```
//!
//! A [`Kind`](kind::Kind) is data; CRDs make kinds ([`compile`]), and so do the manifests of the built-in kinds
//! ([`kinds`]). What a schema cannot say about a kind is its [`Strategy`](strategy::Strategy). The server and the
//! command line run the same stages on the same kinds. No store, no async, no clock, no HTTP: time, names and uids
//! are handed in, and conversion webhooks are called by the server.

pub mod body;
pub mod cel_type;
pub mod columns;
pub mod compile;
pub mod convert;
pub mod decode;
pub mod emulated;
mod error;
pub mod gates;
pub mod kind;
pub mod kinds;
pub mod offline;
mod omitempty;
pub mod prepare;
pub mod resource;
pub mod settle;
pub mod strategy;
mod subject;
mod typed;
pub mod types;
pub mod validate;

pub use error::Error;
pub use subject::Subject;
pub use typed::Typed;
