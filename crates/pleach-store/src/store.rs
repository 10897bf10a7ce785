//! The seam: what the engine asks of whatever keeps its objects.

use std::{pin::Pin, sync::Arc};

use crate::{Commit, Key, Range, RangeQuery, Revision, StoreError, Versioned, Watch};

/// An answer that may take a while.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Bytes under keys, along one line of history.
///
/// Codecs, retries and caches are the engine's, written once; a backend keeps the invariants in
/// the crate's documentation and nothing more. Reads never wait for writes.
pub trait Store: Send + Sync + 'static {
    /// What is stored under a key, now or at a revision.
    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> Answer<'a, Option<Versioned>>;

    /// Many keys in order, now or at a revision.
    fn range(&self, query: RangeQuery) -> Answer<'_, Range>;

    /// All or nothing: every expectation held and history grew by one, or nothing happened.
    /// Once answered, the commit is as durable as the backend makes anything. Dropping the
    /// answer does not take the commit back.
    fn commit(&self, commit: Commit) -> Answer<'_, Revision>;

    /// Changes under a prefix with a revision greater than `after`.
    fn watch(&self, prefix: Key, after: Revision) -> Answer<'_, Watch>;

    /// Where history ends now.
    fn revision(&self) -> Answer<'_, Revision>;

    /// Gives up history before a revision. Reads at `before` and watches after it still answer.
    /// Asking for what is already given up does nothing.
    fn compact(&self, before: Revision) -> Answer<'_, ()>;

    /// Figures about the store.
    fn stats(&self) -> Answer<'_, Stats>;

    /// [`Store::get`] at latest without a future, for backends that read from memory; `None`
    /// when the backend has to wait for something.
    fn try_get(&self, key: &Key) -> Option<Result<Option<Versioned>, StoreError>> {
        let _ = key;
        None
    }
}

/// Figures about a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Where history ends.
    pub revision: Revision,
    /// The oldest revision that still answers.
    pub oldest: Revision,
    /// Keys that exist now.
    pub keys: u64,
    /// Bytes of the values that exist now.
    pub value_bytes: u64,
    /// Changes kept for reads and watches in the past.
    pub history: u64,
    /// Open watches.
    pub watchers: u64,
    /// Bytes on disk; zero for a store that has none.
    pub disk_bytes: u64,
    /// Roughly the memory that history takes beside what exists now.
    pub history_bytes: u64,
    /// How many times history was compacted since the store was opened.
    pub compactions: u64,
    /// How many checkpoints were written since the store was opened.
    pub checkpoints: u64,
    /// Why what the store does by itself (checkpoints, removal of old files) did not succeed the
    /// last time. It is tried again, and writes go on.
    pub trouble: Option<Arc<str>>,
    /// Why the store takes only deletes, when it does: the disk is full, or the store over its quota.
    /// It ends by itself when there is room.
    pub no_space: Option<Arc<str>>,
    /// Why the store takes no writes, when it does not.
    pub read_only: Option<Arc<str>>,
}
