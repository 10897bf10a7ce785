//! State shared by the threads and callers of one open store.
//!
//! The index has one lock, held for microseconds: shared by readers, exclusive for the committer and
//! compaction, both in short steps. No IO under it.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use pleach_store::{Batch, Revision, StoreError};

use crate::{
    committer::Queue,
    disk::Disk,
    index::Index,
    notify::Notify,
    options::Options,
    space::Space,
    watchers::{Capacity, Watchers},
};

/// How many changes are applied or pruned per hold of the index lock, at least; a commit is not split.
pub(crate) const STEP: usize = 64;

/// One open store.
#[derive(Debug)]
pub(crate) struct Shared {
    index: RwLock<Index>,
    /// Revisions in use by range reads and snapshots, with how many; compaction keeps them.
    pins: Mutex<BTreeMap<Revision, usize>>,
    pub(crate) watchers: Watchers,
    pub(crate) queue: Queue,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) options: Options,
    files: Mutex<Files>,
    /// There is something to publish.
    pub(crate) committed: Notify,
    /// Something was published.
    pub(crate) published: Notify,
    /// History or the log has grown.
    pub(crate) grown: Notify,
    /// A requested segment was started, or could not be.
    pub(crate) rolled: Notify,
    pub(crate) space: Space,
    /// Held while a checkpoint is written.
    pub(crate) checkpointing: Mutex<()>,
    pub(crate) closing: AtomicBool,
    pub(crate) compactions: AtomicU64,
    pub(crate) checkpoints: AtomicU64,
    failed: Mutex<Option<Arc<str>>>,
}

/// The files on disk.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// Segments, oldest first: the revision each follows, and its size.
    pub(crate) segments: VecDeque<(Revision, u64)>,
    /// The checkpoint: its revision and size.
    pub(crate) checkpoint: Option<(Revision, u64)>,
    /// Why the last checkpoint, or removal of old files, failed.
    pub(crate) maintenance_error: Option<Arc<str>>,
}

impl Files {
    /// Bytes of segments that a checkpoint at `revision` would replace.
    pub(crate) fn spare_bytes(&self, revision: Revision) -> u64 {
        let nexts = self.segments.iter().skip(1);
        self.segments.iter().zip(nexts).filter(|(_, next)| next.0 <= revision).map(|(spare, _)| spare.1).sum()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.segments.iter().map(|(_, size)| size).sum::<u64>() + self.checkpoint.map_or(0, |(_, size)| size)
    }
}

impl Shared {
    pub(crate) fn new(index: Index, files: Files, disk: Arc<dyn Disk>, options: Options) -> Self {
        Self {
            watchers: Watchers::new(
                index.current(),
                Capacity { commits: options.watch_queue, bytes: options.watch_queue_bytes },
            ),
            index: RwLock::new(index),
            pins: Mutex::default(),
            queue: Queue::default(),
            rolled: Notify::default(),
            space: Space::new(options.quota_bytes, options.reserve_bytes, files.bytes()),
            disk,
            options,
            files: Mutex::new(files),
            committed: Notify::default(),
            published: Notify::default(),
            grown: Notify::default(),
            checkpointing: Mutex::default(),
            closing: AtomicBool::new(false),
            compactions: AtomicU64::new(0),
            checkpoints: AtomicU64::new(0),
            failed: Mutex::default(),
        }
    }

    pub(crate) fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn index_mut(&self) -> RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why the store is read-only.
    pub(crate) fn failed(&self) -> Option<Arc<str>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn set_failed(&self, reason: Arc<str>) {
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.load(Relaxed)
    }

    /// Keeps a revision readable until the pin is dropped. `index` proves that the revision was found
    /// readable under the same lock.
    pub(crate) fn pin(&self, _index: &Index, revision: Revision) -> Pin<'_> {
        *self.pins().entry(revision).or_default() += 1;
        Pin { shared: self, revision }
    }

    fn pins(&self) -> MutexGuard<'_, BTreeMap<Revision, usize>> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Compacts history before a revision, then prunes it as far as nothing needs it.
    pub(crate) fn compact(&self, before: Revision) -> Result<(), StoreError> {
        {
            let mut index = self.index_mut();
            if before > index.current() {
                return Err(StoreError::Future { requested: before, current: index.current() });
            }
            if before > index.oldest() {
                index.compact(before);
                self.compactions.fetch_add(1, Relaxed);
                self.queue.note_compaction(before);
            }
        }
        self.prune();
        Ok(())
    }

    /// Prunes compacted history that no reader needs and that was published.
    pub(crate) fn prune(&self) {
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
}

/// Keeps a revision readable while it exists.
#[derive(Debug)]
pub(crate) struct Pin<'a> {
    shared: &'a Shared,
    revision: Revision,
}

impl Pin<'_> {
    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }
}

impl Drop for Pin<'_> {
    fn drop(&mut self) {
        let mut pins = self.shared.pins();
        if let Some(readers) = pins.get_mut(&self.revision) {
            *readers -= 1;
            if *readers == 0 {
                pins.remove(&self.revision);
            }
        }
    }
}
