//! Options for opening a store.

use std::{io, path::Path, sync::Arc, time::Duration};

use pleach_store::{StoreError, VALUE_LIMIT};

use crate::{
    codec::ValueCodec,
    disk::{Disk, RealDisk},
    store::LogStore,
};

/// Options for opening a store, with production defaults.
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
    pub(crate) codec: Option<Arc<dyn ValueCodec>>,
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
            codec: None,
        }
    }
}

impl Options {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long history is kept; older history is compacted. 5 minutes.
    #[must_use]
    pub fn history_age(mut self, age: Duration) -> Self {
        self.history_age = age;
        self
    }

    /// How many commits of history are kept. 200,000.
    #[must_use]
    pub fn history_commits(mut self, commits: u64) -> Self {
        self.history_commits = commits.max(1);
        self
    }

    /// Approximate memory limit of history. 64 MiB.
    #[must_use]
    pub fn history_bytes(mut self, bytes: u64) -> Self {
        self.history_bytes = bytes.max(1);
        self
    }

    /// How many commits are queued for one watcher before it reads from history. 256.
    #[must_use]
    pub fn watch_queue(mut self, commits: usize) -> Self {
        self.watch_queue = commits.max(1);
        self
    }

    /// How many bytes of commits are queued for one watcher before it reads from history. Also bounds
    /// what it reads from history at a time, except for a single commit. 1 MiB.
    #[must_use]
    pub fn watch_queue_bytes(mut self, bytes: usize) -> Self {
        self.watch_queue_bytes = bytes;
        self
    }

    /// The largest value of a put. 1.5 MiB, as etcd's `--max-request-bytes`. Stored values may be
    /// larger.
    #[must_use]
    pub fn value_bytes(mut self, bytes: u64) -> Self {
        self.value_bytes = bytes;
        self
    }

    /// The size of the store's files over which only deletes are allowed; zero: no quota. Before that,
    /// history is compacted and a checkpoint written. Zero.
    #[must_use]
    pub fn quota_bytes(mut self, bytes: u64) -> Self {
        self.quota_bytes = bytes;
        self
    }

    /// The largest reserve file, which leaves space for deletes and checkpoints when the disk is full;
    /// its size is that of a checkpoint, at least 4 MiB. Zero: none. 64 MiB.
    #[must_use]
    pub fn reserve_bytes(mut self, bytes: u64) -> Self {
        self.reserve_bytes = bytes;
        self
    }

    /// The largest commit, keys and values together. 64 MiB; at most 512 MiB.
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

    /// How much garbage the log must have before a checkpoint is written, unless the checkpoint itself
    /// is larger. 64 MiB.
    #[must_use]
    pub fn checkpoint_bytes(mut self, bytes: u64) -> Self {
        self.checkpoint_bytes = bytes;
        self
    }

    /// Whether commits are synced. Without it a crash of the machine (not of the process) loses
    /// acknowledged commits and may damage the store. For tests.
    #[must_use]
    pub fn sync(mut self, sync: bool) -> Self {
        self.sync = sync;
        self
    }

    /// Writes values in another form, such as an encrypted one. None.
    #[must_use]
    pub fn codec(mut self, codec: Option<Arc<dyn ValueCodec>>) -> Self {
        self.codec = codec;
        self
    }

    /// Opens the store in a directory, which is created if missing, and recovers it after a crash.
    pub fn open(self, directory: impl AsRef<Path>) -> Result<LogStore, StoreError> {
        let directory = directory.as_ref();
        let disk = RealDisk::open_exclusive(directory).map_err(|error| cannot_open(directory, error))?;
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
