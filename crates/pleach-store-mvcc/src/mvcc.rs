//! [`Mvcc`]: the index, its readers' pins and its watchers.
//!
//! The index has one lock, held for microseconds: shared by readers, exclusive for commits and
//! compaction, both in short steps. No IO under it.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
};

use pleach_store::{Batch, Revision};

use crate::{
    index::Index,
    watchers::{Capacity, Watchers},
};

/// How many changes are applied or pruned per hold of the index lock, at least; a commit is not split.
pub const STEP: usize = 64;

/// The state of one store.
#[derive(Debug)]
pub struct Mvcc {
    index: RwLock<Index>,
    /// Revisions in use by range reads and snapshots, with how many; compaction keeps them.
    pins: Mutex<BTreeMap<Revision, usize>>,
    /// The open watches.
    pub watchers: Watchers,
}

impl Mvcc {
    /// The state that an index holds, without watchers.
    pub fn new(index: Index, capacity: Capacity) -> Self {
        let watchers = Watchers::new(index.current(), capacity);
        Self { index: RwLock::new(index), pins: Mutex::default(), watchers }
    }

    /// The index, for reading.
    pub fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The index, for a short change.
    pub fn index_mut(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a revision readable until the pin is dropped. `index` proves that the revision was found
    /// readable under the same lock.
    pub fn pin(&self, _index: &Index, revision: Revision) -> Pin<'_> {
        *self.pins().entry(revision).or_default() += 1;
        Pin { mvcc: self, revision }
    }

    fn pins(&self) -> MutexGuard<'_, BTreeMap<Revision, usize>> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prunes compacted history that no reader needs and that was published.
    pub fn prune(&self) {
        loop {
            let mut index = self.index_mut();
            let needed = self.pins().keys().next().copied().unwrap_or(Revision(u64::MAX));
            let gone: Vec<Batch> = index.prune(needed.min(self.watchers.published()), STEP);
            drop(index);
            // Dropped outside the lock.
            if gone.is_empty() {
                return;
            }
        }
    }

    /// Replaces everything: what happened between the two states is not known. Open watches end with
    /// [`pleach_store::StoreError::WatchCompacted`] after the events they have not returned yet, and
    /// range reads that are not finished fail.
    pub fn reset(&self, index: Index) {
        let revision = index.current();
        let before = std::mem::replace(&mut *self.index_mut(), index);
        self.watchers.reset(revision);
        drop(before);
    }
}

/// Keeps a revision readable while it exists.
#[derive(Debug)]
pub struct Pin<'a> {
    mvcc: &'a Mvcc,
    revision: Revision,
}

impl Pin<'_> {
    /// The revision that is kept.
    pub fn revision(&self) -> Revision {
        self.revision
    }
}

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        let mut pins = self.mvcc.pins();
        if let Some(readers) = pins.get_mut(&self.revision) {
            *readers -= 1;
            if *readers == 0 {
                pins.remove(&self.revision);
            }
        }
    }
}
