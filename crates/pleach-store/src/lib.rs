//! Bytes under keys, along one line of history.
//!
//! This crate is the seam between the engine and whatever keeps its objects. It knows keys,
//! bytes and revisions; it never knows JSON or Kubernetes, and it never touches a disk, a clock
//! or a thread. It holds:
//!
//! * [`Store`], the trait: read, range, commit, watch, compact, and the values they speak of;
//! * [`ModelStore`], a map behind a lock: what "correct" means, and the store of tests and of
//!   servers that may forget everything when they stop;
//! * `contract` (feature `contract`): functions over a store that every backend passes.
//!
//! **Invariants** every backend keeps:
//! * history is one line: each commit that changes anything has the next revision, and every
//!   change of that commit carries it;
//! * a read at a revision sees exactly the commits up to it, all of each or nothing of it;
//! * a watch gives every change after its starting point once, in order, or ends with an error;
//! * after `compact(r)`, reads at `r` or later and watches after `r` or later still answer, and
//!   older ones fail with [`StoreError::Compacted`];
//! * a commit with a value over the store's limit ([`VALUE_LIMIT`] unless it is told otherwise)
//!   fails with [`StoreError::TooLarge`] and changes nothing.

mod commit;
#[cfg(feature = "contract")]
pub mod contract;
mod error;
mod key;
mod model;
mod range;
mod store;
mod version;
mod watch;

pub use bytes::Bytes;
pub use commit::{Commit, Expect, Op, VALUE_LIMIT};
pub use error::StoreError;
pub use key::Key;
pub use model::ModelStore;
pub use range::{Range, RangeQuery};
pub use store::{Answer, Stats, Store};
pub use version::{Revision, Versioned};
pub use watch::{Batch, Event, Feed, Watch, WatchItem};
