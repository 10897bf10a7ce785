//! YAML as Kubernetes reads and writes it.
//!
//! Reading gives what `sigs.k8s.io/yaml` gives after turning YAML into JSON: scalars resolved by
//! the rules of YAML 1.1 as go-yaml knows them, keys turned into text, merge keys applied, aliases
//! expanded within a budget. [`parse`] and [`parse_strict`] read the first document, as the server
//! does; [`documents`] reads a stream and gives [`SpanTree`]s for diagnostics when asked.
//! Writing ([`to_yaml`]) gives what `kubectl get -o yaml` prints.
//!
//! This crate never does IO and knows nothing of Kubernetes kinds.

pub mod config;
mod error;
mod go;
mod read;
mod spans;
mod write;

pub use error::{DuplicateKey, DuplicateKeys, YamlError};
#[doc(hidden)]
pub use read::parse_slowly;
pub use read::{Document, Documents, LazySpans, Parsed, documents, parse, parse_strict, parse_strict_with};
pub use spans::{Span, SpanTree, Spans, Step};
pub use write::{DEEPEST, Writer, to_yaml, write_item_to, write_to};
