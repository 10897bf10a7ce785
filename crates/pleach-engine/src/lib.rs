//! The engine: requests for objects, from the decoded request to the store and back.
//!
//! ```text
//! WRITE  bytes ─decode→ settle ─managers→ mutate ─prepare→ validate ─approve→ convert ─→ commit
//! READ   stored ─settle→ convert ─shape→ bytes          (skipped for records that are known clean)
//! WATCH  commit ─store's watch→ selectors ─shared frame→ each watcher
//! ```
//!
//! Kinds and the stages decode, settle, prepare and validate are in `pleach_pipeline`. The engine adds the parts that need
//! a store: field managers, admission, the commit, reads, lists, watches and background controllers. It knows no HTTP,
//! sockets, TLS or argv; time, randomness and the caller of webhooks are handed to it.
//!
//! **Invariant:** every key is made by [`keys`], every stored byte by [`record`], every status code
//! by [`rejection`].

mod admission;
mod allocation;
pub mod apply;
pub mod audit;
pub mod authorization;
pub mod catalog;
mod controllers;
mod convert;
pub mod definitions;
pub mod delete;
pub mod deterministic;
pub mod engine;
mod event_cache;
pub mod flow_control;
mod fork;
mod generations;
pub mod keys;
pub mod limits;
pub mod list;
mod list_sizes;
pub mod live;
mod lookup;
mod managed;
pub mod object;
pub mod options;
mod patch;
mod pod_requests;
mod policies;
mod rbac;
pub mod read;
pub mod record;
pub mod rejection;
mod retire;
mod scale;
mod scaling;
mod select;
pub mod shape;
mod start;
pub mod target;
#[cfg(test)]
mod testing;
pub mod token;
mod typed_forms;
pub mod unstored;
pub mod watch;
pub mod webhooks;
pub mod write;
mod write_cache;

pub use pleach_cel::set_compatibility_version;
pub use pleach_pipeline::{compile, emulated, gates, kind, kinds, types};
pub(crate) use pleach_pipeline::{decode, prepare, settle};

pub use admission::{AdmissionMetrics, AdmissionPlugins};
pub use allocation::ServiceRanges;
pub use controllers::EnabledControllers;
pub use controllers::token_controller as secret_tokens;
pub use engine::{Clock, Engine, Instant, Randomness, uuid_v4};
pub use rejection::Rejection;
