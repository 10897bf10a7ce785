//! Watcher registry: delivers commits to the watchers of the keys they change.
//!
//! The publisher thread puts each commit, in order, into the queues of the prefixes it touches: a hash
//! lookup per distinct prefix length, not a walk over all watchers. Events are shared. A queue is
//! bounded in commits and bytes, since it may hold history that is compacted already.
//!
//! A watcher is *live* (etcd: synced) and reads its queue, or *behind* (unsynced) and reads history
//! from the index, which takes no memory. It starts behind, becomes live at the end of history, and
//! falls behind again when its queue is full. It fails only when history it has not read was compacted.
//! A slow watcher delays nothing else.
//!
//! **Invariant**: `reached` is set to a commit before any queue gets it, and a watcher becomes live,
//! under its queue's lock, only if `reached` is not past what it has read. So a live watcher gets every
//! later commit. Earlier ones may come twice and are skipped.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    task::Waker,
};

use pleach_store::{Batch, Key, Revision};

/// All watchers, and how far commits were published.
#[derive(Debug)]
pub struct Watchers {
    registry: Mutex<Registry>,
    /// The commit being published, or the last one that was.
    reached: AtomicU64,
    /// The last commit published to all watchers.
    published: AtomicU64,
    capacity: Capacity,
}

/// The bounds of a watcher's queue.
#[derive(Debug, Clone, Copy)]
pub struct Capacity {
    /// At most this many commits.
    pub commits: usize,
    /// At most this many bytes of keys and values.
    pub bytes: usize,
}

#[derive(Debug, Default)]
struct Registry {
    by_prefix: HashMap<Key, Vec<Arc<WatchQueue>>, foldhash::quality::RandomState>,
    /// The lengths of those prefixes, with how many prefixes have each.
    lengths: BTreeMap<usize, usize>,
    count: u64,
    closed: bool,
}

/// Commits for one watcher.
#[derive(Debug)]
pub(crate) struct WatchQueue {
    inner: Mutex<QueueState>,
}

/// The content of a [`WatchQueue`].
#[derive(Debug)]
pub(crate) struct QueueState {
    batches: VecDeque<Batch>,
    /// Bytes of the batches.
    bytes: usize,
    /// Whether commits after those in the queue were left out.
    pub(crate) behind: bool,
    pub(crate) closed: bool,
    pub(crate) waker: Option<Waker>,
}

impl QueueState {
    /// Takes the oldest commit.
    pub(crate) fn pop(&mut self) -> Option<Batch> {
        let batch = self.batches.pop_front()?;
        self.bytes -= batch.bytes();
        Some(batch)
    }

    /// The queued commits, oldest first.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Batch> {
        self.batches.iter()
    }
}

impl WatchQueue {
    pub(crate) fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a commit. The task that waits for it is woken by the caller.
    fn deliver(&self, batch: &Batch, bytes: usize, capacity: Capacity) -> Option<Waker> {
        let mut state = self.lock();
        if state.behind {
            return None;
        }
        if state.batches.len() < capacity.commits && state.bytes + bytes <= capacity.bytes {
            state.batches.push_back(batch.clone());
            state.bytes += bytes;
        } else {
            state.behind = true;
        }
        state.waker.take()
    }
}

impl Watchers {
    /// No watchers; commits up to `current` are not published.
    pub fn new(current: Revision, capacity: Capacity) -> Self {
        Self {
            registry: Mutex::default(),
            reached: AtomicU64::new(current.0),
            published: AtomicU64::new(current.0),
            capacity,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The commit being published, or the last one that was.
    pub fn reached(&self) -> Revision {
        Revision(self.reached.load(SeqCst))
    }

    /// The last commit published to all watchers.
    pub fn published(&self) -> Revision {
        Revision(self.published.load(SeqCst))
    }

    /// Open watches.
    pub fn count(&self) -> u64 {
        self.lock().count
    }

    /// The bounds of a watcher's queue.
    pub fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// The bytes in the fullest queue.
    pub fn fullest(&self) -> usize {
        self.lock().by_prefix.values().flatten().map(|queue| queue.lock().bytes).max().unwrap_or(0)
    }

    /// Adds a watcher, which starts behind.
    pub(crate) fn register(&self, prefix: &Key) -> Arc<WatchQueue> {
        let mut registry = self.lock();
        let closed = registry.closed;
        let state = QueueState { batches: VecDeque::new(), bytes: 0, behind: true, closed, waker: None };
        let queue = Arc::new(WatchQueue { inner: Mutex::new(state) });
        registry.count += 1;
        let same = registry.by_prefix.entry(prefix.clone()).or_default();
        same.push(Arc::clone(&queue));
        if same.len() == 1 {
            *registry.lengths.entry(prefix.as_str().len()).or_default() += 1;
        }
        queue
    }

    /// Removes a watcher.
    pub(crate) fn unregister(&self, prefix: &Key, queue: &Arc<WatchQueue>) {
        let mut registry = self.lock();
        let Some(same) = registry.by_prefix.get_mut(prefix) else { return };
        let Some(position) = same.iter().position(|one| Arc::ptr_eq(one, queue)) else { return };
        same.swap_remove(position);
        let last = same.is_empty();
        registry.count -= 1;
        if last {
            registry.by_prefix.remove(prefix);
            let length = prefix.as_str().len();
            if let Some(count) = registry.lengths.get_mut(&length) {
                *count -= 1;
                if *count == 0 {
                    registry.lengths.remove(&length);
                }
            }
        }
    }

    /// Advances from `base` to `current` if there are no watchers, which saves waking the publisher.
    pub fn skip(&self, base: Revision, current: Revision) -> bool {
        let registry = self.lock();
        let unwatched = registry.count == 0 && self.published() == base;
        if unwatched {
            self.reached.store(current.0, SeqCst);
            self.published.store(current.0, SeqCst);
        }
        unwatched
    }

    /// Delivers commits in order; those published or skipped already are left out.
    ///
    /// A watcher is woken once for all of them, and when no lock is held any more.
    pub fn publish(&self, batches: &[Batch]) {
        let mut wakers = Vec::new();
        for batch in batches {
            let registry = self.lock();
            if batch.revision() <= self.published() {
                continue;
            }
            self.reached.store(batch.revision().0, SeqCst);
            registry.deliver(batch, self.capacity, &mut wakers);
            self.published.store(batch.revision().0, SeqCst);
        }
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Nothing changed up to a revision. Called by the owner between two calls of [`Watchers::publish`].
    pub fn advance(&self, revision: Revision) {
        let _registry = self.lock();
        if revision > self.published() {
            self.reached.store(revision.0, SeqCst);
            self.published.store(revision.0, SeqCst);
        }
    }

    /// Everything was replaced at a revision: all watchers are behind, and find their history gone.
    pub(crate) fn reset(&self, revision: Revision) {
        let registry = self.lock();
        self.reached.store(revision.0, SeqCst);
        self.published.store(revision.0, SeqCst);
        let all: Vec<_> = registry.by_prefix.values().flatten().cloned().collect();
        drop(registry);
        for queue in all {
            let mut state = queue.lock();
            state.behind = true;
            let waker = state.waker.take();
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }

    /// Ends all watches, and those that are opened later.
    pub fn close(&self) {
        let mut registry = self.lock();
        registry.closed = true;
        let all: Vec<_> = registry.by_prefix.values().flatten().cloned().collect();
        drop(registry);
        for queue in all {
            let mut state = queue.lock();
            state.closed = true;
            let waker = state.waker.take();
            drop(state);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl Registry {
    fn deliver(&self, batch: &Batch, capacity: Capacity, wakers: &mut Vec<Waker>) {
        if self.count == 0 {
            return;
        }
        if let [event] = &**batch {
            let bytes = batch.bytes();
            for (_, same) in self.prefixes_of(&event.key) {
                wakers.extend(same.iter().filter_map(|queue| queue.deliver(batch, bytes, capacity)));
            }
            return;
        }
        let mut prefixes: Vec<_> = batch.iter().flat_map(|event| self.prefixes_of(&event.key)).collect();
        prefixes.sort_unstable_by_key(|(prefix, _)| *prefix);
        prefixes.dedup_by_key(|(prefix, _)| *prefix);
        for (prefix, same) in prefixes {
            if let Some(part) = batch.under(prefix.as_str()) {
                let bytes = part.bytes();
                wakers.extend(same.iter().filter_map(|queue| queue.deliver(&part, bytes, capacity)));
            }
        }
    }

    /// The watched prefixes of a key.
    fn prefixes_of<'a>(&'a self, key: &'a Key) -> impl Iterator<Item = (&'a Key, &'a Vec<Arc<WatchQueue>>)> {
        // `get` is `None` for a length inside a character.
        let heads = self.lengths.keys().filter_map(|&length| key.as_str().get(..length));
        heads.filter_map(|head| self.by_prefix.get_key_value(head))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    use pleach_store::{Event, Versioned};

    use super::*;

    /// Counts how often it is woken, and how often while the registry was locked.
    struct Woken {
        watchers: Arc<Watchers>,
        times: AtomicUsize,
        locked: AtomicUsize,
    }

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.times.fetch_add(1, SeqCst);
            if self.watchers.registry.try_lock().is_err() {
                self.locked.fetch_add(1, SeqCst);
            }
        }
    }

    fn commit(revision: u64) -> Batch {
        let (key, revision) = (Key::new("/foos/a"), Revision(revision));
        let value = Versioned { key: key.clone(), value: vec![0; 10].into(), revision, created: revision };
        Batch::of(Arc::new(Event { key, revision, value: Some(value), previous: None }))
    }

    #[test]
    fn a_watcher_is_woken_once_for_many_commits_and_without_a_lock() {
        let capacity = Capacity { commits: 2, bytes: 1 << 20 };
        let watchers = Arc::new(Watchers::new(Revision(0), capacity));
        let queue = watchers.register(&Key::new("/foos/"));
        let woken = Arc::new(Woken {
            watchers: watchers.clone(),
            times: AtomicUsize::new(0),
            locked: AtomicUsize::new(0),
        });
        let wait = |behind| {
            let mut state = queue.lock();
            state.behind = behind;
            state.waker = Some(woken.clone().into());
        };
        wait(false);
        watchers.publish(&[commit(1), commit(2)]);
        assert_eq!((woken.times.load(SeqCst), woken.locked.load(SeqCst)), (1, 0));
        assert_eq!(queue.lock().waiting().count(), 2);
        wait(false);
        watchers.publish(&[commit(2), commit(3), commit(4)]);
        assert!(queue.lock().behind, "the queue is full");
        assert_eq!(
            (woken.times.load(SeqCst), woken.locked.load(SeqCst)),
            (2, 0),
            "it is woken to read history"
        );
    }
}
