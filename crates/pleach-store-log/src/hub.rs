//! From commits to watchers.
//!
//! One thread hands each commit, in order, to the mailboxes whose prefix it touches; finding them
//! costs a hash lookup per distinct prefix length, not a walk over all watchers. Events are
//! shared; a mailbox holds a bounded number of them, of a bounded number of bytes: compaction may
//! let go of what waits there, and then the mailbox is what keeps it in memory.
//!
//! A watcher is either *level*, and reads its mailbox, or *behind*, and reads the history in the
//! index itself at its own pace, which costs no memory. It starts behind; when it has read the
//! history to the end it becomes level; when its mailbox is full it falls behind again. Only
//! when history has been compacted before it got there is it overtaken. So a slow watcher never
//! holds up anybody, and loses nothing before it is told so.
//!
//! **Invariant** of becoming level: a commit is announced in `reached` before any mailbox sees
//! it, and a watcher becomes level under its mailbox's lock only if `reached` is not past what it
//! has read. So every later commit finds it level. Earlier ones may come twice; a watcher skips
//! what is not after what it has seen.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::SeqCst},
    },
    task::Waker,
};

use pleach_store::{Batch, Key, Revision};

/// All watchers, and how far they have been told.
#[derive(Debug)]
pub(crate) struct Hub {
    watchers: Mutex<Watchers>,
    /// The commit being handed out, or the last one that was.
    reached: AtomicU64,
    /// The last commit that was handed out to everybody.
    published: AtomicU64,
    capacity: Capacity,
}

/// What a mailbox holds at most.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Capacity {
    pub(crate) commits: usize,
    pub(crate) bytes: usize,
}

#[derive(Debug, Default)]
struct Watchers {
    by_prefix: HashMap<Key, Vec<Arc<Mailbox>>, foldhash::quality::RandomState>,
    /// The lengths of those prefixes, and how many have each.
    lengths: BTreeMap<usize, usize>,
    count: u64,
    closed: bool,
}

/// Where a watcher gets its commits.
#[derive(Debug)]
pub(crate) struct Mailbox {
    inner: Mutex<Mail>,
}

/// What is in a mailbox.
#[derive(Debug)]
pub(crate) struct Mail {
    batches: VecDeque<Batch>,
    /// What they take together.
    bytes: usize,
    /// Whether commits are missing after those in here.
    pub(crate) behind: bool,
    pub(crate) closed: bool,
    pub(crate) waker: Option<Waker>,
}

impl Mail {
    /// Takes the oldest commit.
    pub(crate) fn pop(&mut self) -> Option<Batch> {
        let batch = self.batches.pop_front()?;
        self.bytes -= batch.bytes();
        Some(batch)
    }

    /// The commits that wait, oldest first.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Batch> {
        self.batches.iter()
    }
}

impl Mailbox {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Mail> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deliver(&self, batch: &Batch, bytes: usize, capacity: Capacity) {
        let mut mail = self.lock();
        if mail.behind {
            return;
        }
        if mail.batches.len() < capacity.commits && mail.bytes + bytes <= capacity.bytes {
            mail.batches.push_back(batch.clone());
            mail.bytes += bytes;
        } else {
            mail.behind = true;
        }
        let waker = mail.waker.take();
        drop(mail);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Hub {
    pub(crate) fn new(current: Revision, capacity: Capacity) -> Self {
        Self {
            watchers: Mutex::default(),
            reached: AtomicU64::new(current.0),
            published: AtomicU64::new(current.0),
            capacity,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Watchers> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn reached(&self) -> Revision {
        Revision(self.reached.load(SeqCst))
    }

    pub(crate) fn published(&self) -> Revision {
        Revision(self.published.load(SeqCst))
    }

    pub(crate) fn watchers(&self) -> u64 {
        self.lock().count
    }

    /// What a watcher holds of history at most.
    pub(crate) fn capacity(&self) -> Capacity {
        self.capacity
    }

    /// The bytes that wait in the fullest mailbox.
    #[cfg(test)]
    pub(crate) fn fullest(&self) -> usize {
        self.lock().by_prefix.values().flatten().map(|mailbox| mailbox.lock().bytes).max().unwrap_or(0)
    }

    /// A new watcher's mailbox. It is behind.
    pub(crate) fn register(&self, prefix: &Key) -> Arc<Mailbox> {
        let mut watchers = self.lock();
        let closed = watchers.closed;
        let mail = Mail { batches: VecDeque::new(), bytes: 0, behind: true, closed, waker: None };
        let mailbox = Arc::new(Mailbox { inner: Mutex::new(mail) });
        watchers.count += 1;
        let same = watchers.by_prefix.entry(prefix.clone()).or_default();
        same.push(Arc::clone(&mailbox));
        if same.len() == 1 {
            *watchers.lengths.entry(prefix.as_str().len()).or_default() += 1;
        }
        mailbox
    }

    /// Forgets a watcher.
    pub(crate) fn unregister(&self, prefix: &Key, mailbox: &Arc<Mailbox>) {
        let mut watchers = self.lock();
        let Some(same) = watchers.by_prefix.get_mut(prefix) else { return };
        let Some(position) = same.iter().position(|one| Arc::ptr_eq(one, mailbox)) else { return };
        same.swap_remove(position);
        let last = same.is_empty();
        watchers.count -= 1;
        if last {
            watchers.by_prefix.remove(prefix);
            let length = prefix.as_str().len();
            if let Some(count) = watchers.lengths.get_mut(&length) {
                *count -= 1;
                if *count == 0 {
                    watchers.lengths.remove(&length);
                }
            }
        }
    }

    /// Moves on from `base` to `current` if nobody watches, which spares waking the publisher.
    pub(crate) fn skip(&self, base: Revision, current: Revision) -> bool {
        let watchers = self.lock();
        let nobody = watchers.count == 0 && self.published() == base;
        if nobody {
            self.reached.store(current.0, SeqCst);
            self.published.store(current.0, SeqCst);
        }
        nobody
    }

    /// Hands out the next commits, in order; those handed out or skipped already are left out.
    pub(crate) fn publish(&self, batches: &[Batch]) {
        for batch in batches {
            let watchers = self.lock();
            if batch.revision() <= self.published() {
                continue;
            }
            self.reached.store(batch.revision().0, SeqCst);
            watchers.deliver(batch, self.capacity);
            self.published.store(batch.revision().0, SeqCst);
        }
    }

    /// Ends all watches, now and to come.
    pub(crate) fn close(&self) {
        let mut watchers = self.lock();
        watchers.closed = true;
        let all: Vec<_> = watchers.by_prefix.values().flatten().cloned().collect();
        drop(watchers);
        for mailbox in all {
            let mut mail = mailbox.lock();
            mail.closed = true;
            let waker = mail.waker.take();
            drop(mail);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

impl Watchers {
    fn deliver(&self, batch: &Batch, capacity: Capacity) {
        if self.count == 0 {
            return;
        }
        if let [event] = &**batch {
            let bytes = batch.bytes();
            for (_, same) in self.prefixes_of(&event.key) {
                for mailbox in same {
                    mailbox.deliver(batch, bytes, capacity);
                }
            }
            return;
        }
        let mut prefixes: Vec<_> = batch.iter().flat_map(|event| self.prefixes_of(&event.key)).collect();
        prefixes.sort_unstable_by_key(|(prefix, _)| *prefix);
        prefixes.dedup_by_key(|(prefix, _)| *prefix);
        for (prefix, same) in prefixes {
            if let Some(part) = batch.under(prefix.as_str()) {
                let bytes = part.bytes();
                for mailbox in same {
                    mailbox.deliver(&part, bytes, capacity);
                }
            }
        }
    }

    /// The watched prefixes a key lies under.
    fn prefixes_of<'a>(&'a self, key: &'a Key) -> impl Iterator<Item = (&'a Key, &'a Vec<Arc<Mailbox>>)> {
        // A length that falls within a character is no prefix of this key: `get` says so.
        let heads = self.lengths.keys().filter_map(|&length| key.as_str().get(..length));
        heads.filter_map(|head| self.by_prefix.get_key_value(head))
    }
}
