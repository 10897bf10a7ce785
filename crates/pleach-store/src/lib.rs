//! The storage interface: a revisioned key-value store with watches, like etcd's MVCC store.
//!
//! Knows keys, bytes and revisions; never JSON or Kubernetes, a disk, a clock or a thread.
//!
//! * [`Store`], the trait: get, range, commit, watch, compact;
//! * [`ModelStore`], an in-memory reference implementation, for tests and for servers without a data
//!   directory;
//! * `contract` (feature `contract`): the tests that every backend passes.
//!
//! **Invariants** every backend keeps:
//! * history is linear: each commit that changes anything has the next revision, which all its changes
//!   carry;
//! * a read at a revision sees exactly the commits up to it, each as a whole;
//! * a watch returns every change after its starting revision once, in order, or ends with an error;
//! * after `compact(r)`, reads at `r` or later and watches after `r` or later succeed, and older ones
//!   fail with [`StoreError::Compacted`];
//! * a commit with a value over the limit ([`VALUE_LIMIT`] by default) fails with
//!   [`StoreError::TooLarge`] and changes nothing.

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
pub use commit::{Check, Commit, Expect, Op, VALUE_LIMIT};
pub use error::StoreError;
pub use key::Key;
pub use model::ModelStore;
pub use range::{Range, RangeQuery};
pub use store::{Stats, Store, StoreFuture};
pub use version::{Revision, Versioned};
pub use watch::{Batch, Event, Watch, WatchItem, WatchStream};
