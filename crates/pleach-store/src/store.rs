//! [`Store`]: the storage interface of the engine.

use std::{pin::Pin, sync::Arc};

use crate::{Commit, Key, Range, RangeQuery, Revision, StoreError, Versioned, Watch};

/// The result of a store operation, as a boxed future.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A revisioned key-value store.
///
/// A backend keeps the invariants in the crate's documentation; codecs, retries and caches are the
/// engine's. Reads never wait for writes.
pub trait Store: Send + Sync + 'static {
    /// The value of a key, now or at a revision.
    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> StoreFuture<'a, Option<Versioned>>;

    /// Many keys in order, now or at a revision.
    fn range(&self, query: RangeQuery) -> StoreFuture<'_, Range>;

    /// Atomic: all preconditions held and the revision grew by one, or nothing happened. A successful
    /// commit is as durable as the backend makes it. Dropping the future does not cancel the commit.
    fn commit(&self, commit: Commit) -> StoreFuture<'_, Revision>;

    /// Changes under a prefix with a revision greater than `after`.
    fn watch(&self, prefix: Key, after: Revision) -> StoreFuture<'_, Watch>;

    /// The current revision.
    fn revision(&self) -> StoreFuture<'_, Revision>;

    /// Compacts history before a revision. Reads at `before` and watches after it still succeed.
    /// Compacting again, or less, does nothing.
    fn compact(&self, before: Revision) -> StoreFuture<'_, ()>;

    /// Statistics.
    fn stats(&self) -> StoreFuture<'_, Stats>;

    /// [`Store::get`] at latest without a future, for backends that read from memory; `None`
    /// when the backend has to wait for something.
    fn try_get(&self, key: &Key) -> Option<Result<Option<Versioned>, StoreError>> {
        let _ = key;
        None
    }

    /// The revision of a cache in front of the store, for reads that may be older than the latest: reading at it
    /// costs no round trip. `None` for a backend whose latest state is at hand.
    fn cached_revision(&self) -> Option<Revision> {
        None
    }

    /// Whether other processes write to the store as well.
    fn is_shared(&self) -> bool {
        false
    }

    /// Appends metrics of the backend that [`Stats`] do not have, in Prometheus' text format.
    fn write_metrics(&self, out: &mut String) {
        let _ = out;
    }
}

/// Statistics of a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// The current revision.
    pub revision: Revision,
    /// The oldest readable revision.
    pub oldest: Revision,
    /// The number of keys.
    pub keys: u64,
    /// Bytes of the current values.
    pub value_bytes: u64,
    /// Events in the history.
    pub history: u64,
    /// Open watches.
    pub watchers: u64,
    /// Bytes on disk; zero for a store that has none.
    pub disk_bytes: u64,
    /// Approximate memory of the history.
    pub history_bytes: u64,
    /// How many times history was compacted since the store was opened.
    pub compactions: u64,
    /// How many checkpoints were written since the store was opened.
    pub checkpoints: u64,
    /// The revision of the last checkpoint.
    pub checkpoint: Option<Revision>,
    /// Why the last checkpoint, or removal of old files, failed. It is retried, and writes go on.
    pub maintenance_error: Option<Arc<str>>,
    /// Why only deletes are allowed: the disk is full, or the store is over its quota. Cleared when
    /// there is space.
    pub no_space: Option<Arc<str>>,
    /// Why the store is read-only.
    pub read_only: Option<Arc<str>>,
    /// Why the store cannot be reached.
    pub unavailable: Option<Arc<str>>,
}
