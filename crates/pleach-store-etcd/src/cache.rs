//! The cache: what etcd holds, in the store's form, with recent history and watchers.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use bytes::Bytes;
use pleach_store::{Batch, Event, Key, Revision, Versioned};
use pleach_store_mvcc::{Capacity, Index, Mvcc, Step};

use crate::{
    codec::Codec,
    messages::{KeyValue, WatchEvent},
    options::Options,
    waiters::Waiters,
};

/// The bounds of a watcher's queue, as in the embedded store.
const WATCH_QUEUE: Capacity = Capacity { commits: 256, bytes: 1 << 20 };

/// The number of values that are checked between two steps of other work.
const REFRESHED_AT_ONCE: usize = 256;

pub(crate) struct Cache {
    pub(crate) mvcc: Arc<Mvcc>,
    pub(crate) codec: Arc<dyn Codec>,
    pub(crate) waiters: Waiters,
    /// Commits that were sent: their values in etcd's form and in the store's, so that the watch's event
    /// need not be decoded.
    in_flight: Mutex<HashMap<Key, (Bytes, Bytes)>>,
    pub(crate) compactions: AtomicU64,
    history_bytes: u64,
    history_commits: u64,
}

impl Cache {
    pub(crate) fn new(codec: Arc<dyn Codec>, index: Index, options: &Options) -> Self {
        Self {
            mvcc: Arc::new(Mvcc::new(index, WATCH_QUEUE)),
            codec,
            waiters: Waiters::default(),
            in_flight: Mutex::default(),
            compactions: AtomicU64::new(0),
            history_bytes: options.history_bytes,
            history_commits: options.history_commits,
        }
    }

    /// How far the cache is, as readers and watchers see it.
    pub(crate) fn current(&self) -> Revision {
        self.mvcc.watchers.published()
    }

    fn in_flight(&self) -> MutexGuard<'_, HashMap<Key, (Bytes, Bytes)>> {
        self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Remembers both forms of a value that is about to be sent.
    pub(crate) fn sent(&self, key: &Key, encoded: &Bytes, value: &Bytes) {
        if encoded.as_ptr() != value.as_ptr() {
            self.in_flight().insert(key.clone(), (encoded.clone(), value.clone()));
        }
    }

    /// Forgets a value that was sent.
    pub(crate) fn forget(&self, key: &Key) {
        self.in_flight().remove(key);
    }

    /// A value that came from etcd.
    fn decode(&self, key: &Key, encoded: Bytes) -> Bytes {
        let sent = self.in_flight().get(key).filter(|sent| sent.0 == encoded).map(|sent| sent.1.clone());
        // What is kept must not keep the whole response alive.
        sent.unwrap_or_else(|| {
            let decoded = self.codec.decode_value(key, encoded.clone());
            if decoded.as_ptr() == encoded.as_ptr() { Bytes::copy_from_slice(&decoded) } else { decoded }
        })
    }

    /// A key and value from etcd; `None` if the key is not the store's.
    pub(crate) fn item(&self, kv: KeyValue) -> Option<Versioned> {
        item(&*self.codec, kv)
    }

    /// Applies events in etcd's order. Events of one revision must come together; revisions that were
    /// applied already are skipped.
    pub(crate) fn apply(&self, events: Vec<WatchEvent>) {
        let mut events = events.into_iter().filter_map(|event| Some((event.kind, event.kv?))).peekable();
        let mut batches = Vec::new();
        while let Some((_, first)) = events.peek() {
            let revision = Revision(first.mod_revision as u64);
            let mut changes = Vec::new();
            while let Some((kind, kv)) = events.next_if(|(_, kv)| kv.mod_revision as u64 == revision.0) {
                let Some(key) = self.codec.decode_key(&kv.key) else { continue };
                let value = (kind == 0).then(|| self.decode(&key, kv.value));
                changes.push((key, value, Revision(kv.create_revision as u64)));
            }
            let mut index = self.mvcc.index_mut();
            if revision <= index.current() {
                continue;
            }
            let events = changes.into_iter().filter_map(|(key, value, created)| {
                let previous = index.live(key.as_str());
                let value = value.map(|value| Versioned { key: key.clone(), value, created, revision });
                (value.is_some() || previous.is_some())
                    .then(|| Arc::new(Event { revision, key, value, previous }))
            });
            match Batch::new(events) {
                Some(batch) => {
                    index.apply(batch.clone());
                    drop(index);
                    batches.push(batch);
                }
                None => index.advance(revision),
            }
        }
        self.mvcc.watchers.publish(&batches);
        self.trim();
        self.reached();
    }

    /// Nothing changed up to a revision.
    pub(crate) fn advance(&self, revision: Revision) {
        self.mvcc.index_mut().advance(revision);
        self.reached();
    }

    /// Tells watchers and waiting callers how far the cache is.
    fn reached(&self) {
        let current = self.mvcc.index().current();
        self.mvcc.watchers.advance(current);
        self.waiters.reached(current);
    }

    /// Replaces everything, after history was lost.
    pub(crate) fn reset(&self, index: Index) {
        self.mvcc.reset(index);
        self.reached();
    }

    /// Drops history over the limits. Reads of it go to etcd.
    fn trim(&self) {
        let before = {
            let index = self.mvcc.index();
            let (events, bytes) = index.history_size();
            if events <= self.history_commits && bytes <= self.history_bytes {
                return;
            }
            // A tenth at once.
            let (mut events_over, mut bytes_over) = (
                events.saturating_sub(self.history_commits - self.history_commits / 10),
                bytes.saturating_sub(self.history_bytes - self.history_bytes / 10),
            );
            let mut before = index.oldest();
            for batch in index.history(before) {
                if events_over == 0 && bytes_over == 0 {
                    break;
                }
                before = batch.revision();
                events_over = events_over.saturating_sub(batch.len() as u64);
                bytes_over = bytes_over.saturating_sub(batch.bytes() as u64);
            }
            before
        };
        self.compact(before);
    }

    /// Lets the codec look at every value once more, in steps.
    pub(crate) fn refresh(&self) {
        let mut start = Key::new("");
        let step = Step { items: REFRESHED_AT_ONCE, visits: REFRESHED_AT_ONCE };
        loop {
            let mut items = Vec::new();
            let stop = {
                let index = self.mvcc.index();
                index.collect((start.as_str(), None), index.current(), step, &mut items)
            };
            let forms: Vec<_> = items
                .into_iter()
                .filter_map(|item| Some((self.codec.refresh(&item.key, &item.value)?, item)))
                .collect();
            {
                let mut index = self.mvcc.index_mut();
                for (form, item) in forms {
                    index.replace_form(item.key.as_str(), item.revision, form);
                }
            }
            match stop.before() {
                Some(key) => start = key,
                None => return,
            }
        }
    }

    /// Drops history before a revision.
    pub(crate) fn compact(&self, before: Revision) {
        {
            let mut index = self.mvcc.index_mut();
            if before > index.oldest() && before <= index.current() {
                index.compact(before);
                self.compactions.fetch_add(1, Relaxed);
            }
        }
        self.mvcc.prune();
    }
}

/// A key and value from etcd; `None` if the key is not the store's.
pub(crate) fn item(codec: &dyn Codec, kv: KeyValue) -> Option<Versioned> {
    let key = codec.decode_key(&kv.key)?;
    let decoded = codec.decode_value(&key, kv.value.clone());
    let value =
        if decoded.as_ptr() == kv.value.as_ptr() { Bytes::copy_from_slice(&decoded) } else { decoded };
    let (created, revision) = (Revision(kv.create_revision as u64), Revision(kv.mod_revision as u64));
    Some(Versioned { key, value, created, revision })
}
