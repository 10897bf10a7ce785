//! What happens to an object between the wire and the store.
//!
//! ```text
//! WRITE  bytes ─decode→ settle ─managers→ mutate ─prepare→ validate ─approve→ convert ─→ commit
//! READ   stored ─settle→ convert ─shape→ bytes          (skipped for records that are known clean)
//! WATCH  commit ─store's watch→ selectors ─shared frame→ each watcher
//! ```
//!
//! Kinds are data ([`kind`], [`catalog`]); CRDs make them ([`compile`], [`definitions`]). The engine
//! knows no HTTP, sockets, TLS or argv; time, randomness and whoever calls webhooks are handed to it.
//!
//! **Invariant:** every key is made by [`keys`], every stored byte by [`record`], every status code
//! by [`rejection`].

mod admission;
pub mod apply;
pub mod builtin;
pub mod catalog;
pub mod compile;
mod convert;
pub mod crd;
pub mod decode;
pub mod definitions;
pub mod delete;
pub mod engine;
mod event_cache;
pub mod gates;
mod generations;
mod keyed_data;
pub mod keys;
pub mod kind;
pub mod limits;
pub mod list;
pub mod live;
mod managed;
mod namespace;
pub mod object;
pub mod options;
mod patch;
mod prepare;
pub mod read;
pub mod record;
pub mod rejection;
mod retire;
mod scale;
mod scaling;
mod select;
pub mod settle;
pub mod shape;
mod sweep;
pub mod target;
pub mod token;
mod validate;
pub mod watch;
pub mod webhooks;
pub mod write;
mod write_cache;

pub use engine::{Admission, Clock, Engine, Instant, Randomness, uuid_v4};
pub use rejection::Rejection;
