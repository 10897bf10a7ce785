//! [`LogStore`]: the implementation of [`Store`].

use std::{
    fmt,
    future::ready,
    path::Path,
    sync::{Arc, atomic::Ordering::Relaxed},
    thread::{self, JoinHandle},
};

use pleach_store::{
    Commit, Key, Range, RangeQuery, Revision, Stats, Store, StoreError, StoreFuture, Versioned, Watch,
};
use pleach_store_mvcc::{MvccWatchStream, read_range};
use tokio::sync::oneshot;

use crate::{
    committer,
    disk::Disk,
    log::Log,
    maintenance,
    options::Options,
    publisher,
    recover::{self, Mode},
    shared::{Files, Shared},
};

/// A durable store in a directory. Dropping it writes queued commits and unlocks the directory.
pub struct LogStore {
    pub(crate) shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

impl LogStore {
    /// Opens the store in a directory with the default options.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, StoreError> {
        Options::new().open(directory)
    }

    /// Options for opening a store.
    pub fn options() -> Options {
        Options::new()
    }

    pub(crate) fn start(disk: Arc<dyn Disk>, options: Options) -> Result<Self, StoreError> {
        let found = recover::recover(&disk, Mode::ReadWrite, options.codec.as_deref())?;
        let log = Log::new(Arc::clone(&disk), found.segment, options.segment_bytes, options.sync);
        let files =
            Files { segments: found.segments.into(), checkpoint: found.checkpoint, maintenance_error: None };
        let shared = Arc::new(Shared::new(found.index, files, disk, options));
        shared.stale.store(found.stale, Relaxed);
        shared.space.adopt(&*shared.disk);
        let mut store = Self { shared, threads: Vec::new() };
        store.spawn("store-commit", move |shared| committer::run(shared, log))?;
        store.spawn("store-publish", publisher::run)?;
        store.spawn("store-keep", maintenance::run)?;
        Ok(store)
    }

    fn spawn(&mut self, name: &str, body: impl FnOnce(&Shared) + Send + 'static) -> Result<(), StoreError> {
        let shared = Arc::clone(&self.shared);
        let spawned = thread::Builder::new().name(name.into()).spawn(move || body(&shared));
        self.threads
            .push(spawned.map_err(|error| StoreError::io("cannot start a thread of the store", error))?);
        Ok(())
    }

    /// Writes a checkpoint now, and removes the files it replaces.
    pub fn checkpoint(&self) -> Result<(), StoreError> {
        maintenance::write_checkpoint(&self.shared, false)
    }

    /// Whether values were read whose form on disk is not the one that the codec gives them now.
    pub fn has_stale_values(&self) -> bool {
        self.shared.stale.load(Relaxed)
    }

    /// Writes all values once more, in the form that the codec gives them now, and removes all other files. History
    /// is dropped: it is in the old form.
    pub fn rewrite(&self) -> Result<(), StoreError> {
        maintenance::rewrite(&self.shared, true)?;
        self.shared.stale.store(false, Relaxed);
        Ok(())
    }

    /// Writes queued commits, ends all watches, and unlocks the directory.
    pub fn close(self) {
        drop(self);
    }

    fn shut_down(&mut self) {
        self.shared.queue.close();
        let mut threads = self.threads.drain(..);
        // The committer first: what it still writes is published.
        if let Some(committer) = threads.next() {
            let _ = committer.join();
        }
        self.shared.closing.store(true, Relaxed);
        self.shared.committed.notify();
        self.shared.grown.notify();
        self.shared.rolled.notify();
        for thread in threads {
            let _ = thread.join();
        }
        self.shared.mvcc.watchers.close();
    }

    /// Checks a commit before it is queued. Visible values are durable, so a failed expectation is
    /// final.
    fn precheck(&self, commit: &Commit) -> Result<(), StoreError> {
        commit.check()?;
        commit.check_values(self.shared.options.value_bytes)?;
        let size = commit.ops.iter().map(|op| {
            op.key.as_str().len() as u64 + op.value.as_ref().map_or(0, |value| value.len() as u64) + 32
        });
        let (size, limit) = (size.sum(), self.shared.options.commit_bytes);
        if size > limit {
            return Err(StoreError::TooLarge { size, limit });
        }
        let index = self.shared.index();
        commit.expectations(|key| index.live(key.as_str()))?;
        self.shared.space.admit(commit, |key| index.value_size(key.as_str()))?;
        drop(index);
        match self.shared.failed() {
            Some(reason) => Err(StoreError::ReadOnly { reason }),
            None => Ok(()),
        }
    }
}

/// A ready future.
fn now<'a, T: Send + 'a>(answer: Result<T, StoreError>) -> StoreFuture<'a, T> {
    Box::pin(ready(answer))
}

impl Store for LogStore {
    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> StoreFuture<'a, Option<Versioned>> {
        let index = self.shared.index();
        let found = match at {
            None => Ok(index.live(key.as_str())),
            Some(_) => index.resolve_revision(at).map(|at| index.get(key.as_str(), at)),
        };
        now(found)
    }

    fn range(&self, query: RangeQuery) -> StoreFuture<'_, Range> {
        Box::pin(read_range(&self.shared.mvcc, query))
    }

    fn commit(&self, commit: Commit) -> StoreFuture<'_, Revision> {
        if let Err(error) = self.precheck(&commit) {
            return now(Err(error));
        }
        let (reply, answer) = oneshot::channel();
        if !self.shared.queue.push(commit, reply) {
            return now(Err(StoreError::Closed));
        }
        Box::pin(async move { answer.await.unwrap_or(Err(StoreError::Closed)) })
    }

    fn watch(&self, prefix: Key, after: Revision) -> StoreFuture<'_, Watch> {
        let checked = self.shared.index().resolve_revision(Some(after));
        now(checked
            .map(|after| Watch::new(MvccWatchStream::new(Arc::clone(&self.shared.mvcc), prefix, after))))
    }

    fn revision(&self) -> StoreFuture<'_, Revision> {
        now(Ok(self.shared.index().current()))
    }

    fn compact(&self, before: Revision) -> StoreFuture<'_, ()> {
        now(self.shared.compact(before))
    }

    fn stats(&self) -> StoreFuture<'_, Stats> {
        let mut stats = Stats::default();
        {
            let index = self.shared.index();
            stats.revision = index.current();
            stats.oldest = index.oldest();
            (stats.keys, stats.value_bytes) = index.live_size();
            (stats.history, stats.history_bytes) = index.history_size();
        }
        stats.watchers = self.shared.mvcc.watchers.count();
        {
            let files = self.shared.files();
            stats.disk_bytes = files.bytes();
            stats.checkpoint = files.checkpoint.map(|(revision, _)| revision);
            stats.maintenance_error.clone_from(&files.maintenance_error);
        }
        stats.checkpoints = self.shared.checkpoints.load(Relaxed);
        stats.compactions = self.shared.compactions.load(Relaxed);
        stats.read_only = self.shared.failed();
        stats.no_space = self.shared.space.alarm();
        now(Ok(stats))
    }

    fn try_get(&self, key: &Key) -> Option<Result<Option<Versioned>, StoreError>> {
        Some(Ok(self.shared.index().live(key.as_str())))
    }
}

/// Prints where it is, not its content.
impl fmt::Debug for LogStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogStore").field("revision", &self.shared.index().current()).finish_non_exhaustive()
    }
}

impl Drop for LogStore {
    fn drop(&mut self) {
        self.shut_down();
    }
}
