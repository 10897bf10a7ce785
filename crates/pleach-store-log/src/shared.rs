//! State shared by the threads and callers of one open store.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLockReadGuard, RwLockWriteGuard,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use pleach_store::{Revision, StoreError};
use pleach_store_mvcc::{Capacity, Index, Mvcc};

use crate::{committer::Queue, disk::Disk, format, notify::Notify, options::Options, space::Space};

/// One open store.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) mvcc: Arc<Mvcc>,
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
    /// Whether values were read whose form on disk is not the one they would be written in.
    pub(crate) stale: AtomicBool,
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
            mvcc: Arc::new(Mvcc::new(
                index,
                Capacity { commits: options.watch_queue, bytes: options.watch_queue_bytes },
            )),
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
            stale: AtomicBool::new(false),
            failed: Mutex::default(),
        }
    }

    pub(crate) fn index(&self) -> RwLockReadGuard<'_, Index> {
        self.mvcc.index()
    }

    pub(crate) fn index_mut(&self) -> RwLockWriteGuard<'_, Index> {
        self.mvcc.index_mut()
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

    /// The size of a checkpoint of all live objects.
    pub(crate) fn checkpoint_bytes(&self) -> u64 {
        let index = self.index();
        let (keys, value_bytes) = index.live_size();
        let overhead = self.options.codec.as_ref().map_or(0, |codec| codec.overhead());
        format::checkpoint_bytes(keys, index.key_bytes() + value_bytes + keys * overhead)
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
        self.mvcc.prune();
        Ok(())
    }
}
