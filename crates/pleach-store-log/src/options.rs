//! How a store is opened.

use std::{io, path::Path, sync::Arc, time::Duration};

use pleach_store::{StoreError, VALUE_LIMIT};

use crate::{
    disk::{Disk, RealDisk},
    store::LogStore,
};

/// What can be chosen when a store is opened; the rest has production defaults.
#[derive(Debug, Clone)]
pub struct Options {
    pub(crate) history_age: Duration,
    pub(crate) history_commits: u64,
    pub(crate) history_bytes: u64,
    pub(crate) watch_queue: usize,
    pub(crate) watch_queue_bytes: usize,
    pub(crate) value_bytes: u64,
    pub(crate) quota_bytes: u64,
    pub(crate) reserve_bytes: u64,
    pub(crate) commit_bytes: u64,
    pub(crate) segment_bytes: u64,
    pub(crate) checkpoint_bytes: u64,
    pub(crate) sync: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            history_age: Duration::from_mins(5),
            history_commits: 200_000,
            history_bytes: 64 << 20,
            watch_queue: 256,
            watch_queue_bytes: 1 << 20,
            value_bytes: VALUE_LIMIT,
            quota_bytes: 0,
            reserve_bytes: 64 << 20,
            commit_bytes: 64 << 20,
            segment_bytes: 32 << 20,
            checkpoint_bytes: 64 << 20,
            sync: true,
        }
    }
}

impl Options {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long history is kept at most; what is older is compacted. Five minutes.
    #[must_use]
    pub fn history_age(mut self, age: Duration) -> Self {
        self.history_age = age;
        self
    }

    /// How many commits of history are kept at most. 200,000.
    #[must_use]
    pub fn history_commits(mut self, commits: u64) -> Self {
        self.history_commits = commits.max(1);
        self
    }

    /// How much memory history may take, roughly, beside what exists now. 64 MiB.
    #[must_use]
    pub fn history_bytes(mut self, bytes: u64) -> Self {
        self.history_bytes = bytes.max(1);
        self
    }

    /// How many commits wait in memory for one watcher before it reads from history. 256.
    #[must_use]
    pub fn watch_queue(mut self, commits: usize) -> Self {
        self.watch_queue = commits.max(1);
        self
    }

    /// How many bytes of commits wait in memory for one watcher before it reads from history. What
    /// it reads there at a time is bounded by the same number, or one commit. 1 MiB.
    #[must_use]
    pub fn watch_queue_bytes(mut self, bytes: usize) -> Self {
        self.watch_queue_bytes = bytes;
        self
    }

    /// The largest value a commit may put. 1.5 MiB, as etcd's `--max-request-bytes`. What is stored
    /// already may be larger.
    #[must_use]
    pub fn value_bytes(mut self, bytes: u64) -> Self {
        self.value_bytes = bytes;
        self
    }

    /// How many bytes of files the store may take before it accepts only deletes; zero: any number.
    /// History is given up and the log shortened before that. Zero.
    #[must_use]
    pub fn quota_bytes(mut self, bytes: u64) -> Self {
        self.quota_bytes = bytes;
        self
    }

    /// How much of the disk is held back for deletes and checkpoints when it is full, at most; it is
    /// as much as a checkpoint would take, 4 MiB at least. Zero: nothing. 64 MiB.
    #[must_use]
    pub fn reserve_bytes(mut self, bytes: u64) -> Self {
        self.reserve_bytes = bytes;
        self
    }

    /// The largest commit taken, keys and values together. 64 MiB; never above 512 MiB.
    #[must_use]
    pub fn commit_bytes(mut self, bytes: u64) -> Self {
        self.commit_bytes = bytes.min(512 << 20);
        self
    }

    /// The size at which a segment of the log is closed. 32 MiB.
    #[must_use]
    pub fn segment_bytes(mut self, bytes: u64) -> Self {
        self.segment_bytes = bytes;
        self
    }

    /// How much of the log must be superfluous before a checkpoint is written, unless the
    /// checkpoint itself is larger. 64 MiB.
    #[must_use]
    pub fn checkpoint_bytes(mut self, bytes: u64) -> Self {
        self.checkpoint_bytes = bytes;
        self
    }

    /// Whether a commit waits until it is on disk. Without it, a crash of the machine (not of the
    /// process) loses what was acknowledged, and may damage the store. For tests.
    #[must_use]
    pub fn sync(mut self, sync: bool) -> Self {
        self.sync = sync;
        self
    }

    /// Opens the store in a directory, which is created if need be, and recovers it after a crash.
    pub fn open(self, directory: impl AsRef<Path>) -> Result<LogStore, StoreError> {
        let directory = directory.as_ref();
        let disk = RealDisk::hold(directory).map_err(|error| cannot_open(directory, error))?;
        self.open_disk(Arc::new(disk))
    }

    /// Opens the store on a disk of the caller's.
    pub fn open_disk(self, disk: Arc<dyn Disk>) -> Result<LogStore, StoreError> {
        LogStore::start(disk, self)
    }
}

pub(crate) fn cannot_open(directory: &Path, error: io::Error) -> StoreError {
    StoreError::io(format!("cannot open the store in {}", directory.display()), error)
}
