//! [`ModelStore`]: the reference implementation, in memory.
//!
//! Other backends are compared with it, so it is simple rather than fast: every operation takes the one
//! lock, every commit wakes every watcher, and a watcher is a cursor into the shared history. Also used
//! by servers without a data directory.

use std::{
    collections::{BTreeMap, VecDeque},
    future::ready,
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use crate::{
    Batch, Commit, Event, Key, Range, RangeQuery, Revision, Stats, Store, StoreError, StoreFuture,
    VALUE_LIMIT, Versioned, Watch, WatchItem, WatchStream,
};

/// An in-memory store. Clones share it.
#[derive(Clone, Debug)]
pub struct ModelStore {
    state: Arc<Mutex<State>>,
    /// How many commits of history are kept before the oldest are compacted.
    keep: usize,
    /// The limit on values.
    value_limit: u64,
}

#[derive(Debug)]
struct State {
    current: Revision,
    oldest: Revision,
    /// The versions of each key, oldest first; a deletion has no value.
    chains: BTreeMap<Key, Vec<Entry>>,
    /// The history after `oldest`, oldest first.
    history: VecDeque<Batch>,
    /// Wakers of waiting watchers, by number.
    waiting: BTreeMap<u64, Waker>,
    watchers: u64,
    next_watcher: u64,
    compactions: u64,
}

#[derive(Debug)]
struct Entry {
    revision: Revision,
    value: Option<Versioned>,
}

impl Default for ModelStore {
    fn default() -> Self {
        Self::new()
    }
}

impl ModelStore {
    /// An empty store that keeps the history of its last hundred thousand commits.
    pub fn new() -> Self {
        Self::with_history(100_000)
    }

    /// An empty store that keeps the history of its last `keep` commits.
    pub fn with_history(keep: usize) -> Self {
        let state = State {
            current: Revision::FIRST,
            oldest: Revision::FIRST,
            chains: BTreeMap::new(),
            history: VecDeque::new(),
            waiting: BTreeMap::new(),
            watchers: 0,
            next_watcher: 0,
            compactions: 0,
        };
        Self { state: Arc::new(Mutex::new(state)), keep, value_limit: VALUE_LIMIT }
    }

    /// The same store with another limit on values than [`VALUE_LIMIT`].
    #[must_use]
    pub fn value_limit(mut self, bytes: u64) -> Self {
        self.value_limit = bytes;
        self
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// Nothing panics while the state is half changed.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Store for ModelStore {
    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> StoreFuture<'a, Option<Versioned>> {
        let state = self.lock();
        Box::pin(ready(state.resolve_revision(at).map(|at| state.get(key, at))))
    }

    fn range(&self, query: RangeQuery) -> StoreFuture<'_, Range> {
        Box::pin(ready(self.lock().range(&query)))
    }

    fn commit(&self, commit: Commit) -> StoreFuture<'_, Revision> {
        if let Err(error) = commit.check_values(self.value_limit) {
            return Box::pin(ready(Err(error)));
        }
        let mut state = self.lock();
        let answer = state.commit(commit);
        if state.history.len() > self.keep {
            let before = state.history[state.history.len() - self.keep - 1].revision();
            state.compact(before);
        }
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_values().for_each(Waker::wake);
        Box::pin(ready(answer))
    }

    fn watch(&self, prefix: Key, after: Revision) -> StoreFuture<'_, Watch> {
        let mut state = self.lock();
        if let Err(error) = state.resolve_revision(Some(after)) {
            return Box::pin(ready(Err(error)));
        }
        state.watchers += 1;
        state.next_watcher += 1;
        let cursor =
            Cursor { state: Arc::clone(&self.state), number: state.next_watcher, prefix, seen: after };
        drop(state);
        Box::pin(ready(Ok(Watch::new(cursor))))
    }

    fn revision(&self) -> StoreFuture<'_, Revision> {
        Box::pin(ready(Ok(self.lock().current)))
    }

    fn compact(&self, before: Revision) -> StoreFuture<'_, ()> {
        let mut state = self.lock();
        if before > state.current {
            return Box::pin(ready(Err(StoreError::Future { requested: before, current: state.current })));
        }
        state.compact(before);
        // A waiting watcher has seen everything, so compaction does not affect it.
        Box::pin(ready(Ok(())))
    }

    fn stats(&self) -> StoreFuture<'_, Stats> {
        let state = self.lock();
        let live = state.chains.values().filter_map(|chain| chain.last()?.value.as_ref());
        let (keys, value_bytes) =
            live.fold((0, 0), |(n, size), live| (n + 1, size + live.value.len() as u64));
        Box::pin(ready(Ok(Stats {
            revision: state.current,
            oldest: state.oldest,
            keys,
            value_bytes,
            history: state.history.iter().map(|batch| batch.len() as u64).sum(),
            watchers: state.watchers,
            compactions: state.compactions,
            ..Stats::default()
        })))
    }

    fn try_get(&self, key: &Key) -> Option<Result<Option<Versioned>, StoreError>> {
        let state = self.lock();
        Some(Ok(state.get(key, state.current)))
    }
}

impl State {
    /// The revision to read at: an error if it is compacted or in the future.
    fn resolve_revision(&self, at: Option<Revision>) -> Result<Revision, StoreError> {
        match at {
            None => Ok(self.current),
            Some(at) if at < self.oldest => Err(StoreError::Compacted { requested: at, oldest: self.oldest }),
            Some(at) if at > self.current => Err(StoreError::Future { requested: at, current: self.current }),
            Some(at) => Ok(at),
        }
    }

    fn get(&self, key: &Key, at: Revision) -> Option<Versioned> {
        self.chains.get(key).and_then(|chain| value_at(chain, at))
    }

    fn range(&self, query: &RangeQuery) -> Result<Range, StoreError> {
        let revision = self.resolve_revision(query.at)?;
        if query.is_empty() {
            return Ok(Range { items: Vec::new(), revision, more: false, remaining: 0 });
        }
        let end = query.end.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut items: Vec<Versioned> = self
            .chains
            .range::<Key, _>((Bound::Included(&query.start), end))
            .filter_map(|(_, chain)| value_at(chain, revision))
            .collect();
        let kept = query.limit.unwrap_or(items.len()).min(items.len());
        let remaining = (items.len() - kept) as u64;
        items.truncate(kept);
        Ok(Range { items, revision, more: remaining > 0, remaining })
    }

    fn commit(&mut self, commit: Commit) -> Result<Revision, StoreError> {
        commit.check()?;
        commit.expectations(|key| self.get(key, self.current))?;
        let revision = self.current.next();
        let mut events = Vec::new();
        for op in commit.ops {
            let previous = self.get(&op.key, self.current);
            let value = match (op.value, &previous) {
                (None, None) => continue,
                (None, Some(_)) => None,
                (Some(value), previous) => {
                    let created = previous.as_ref().map_or(revision, |previous| previous.created);
                    Some(Versioned { key: op.key.clone(), value, created, revision })
                }
            };
            self.chains.entry(op.key.clone()).or_default().push(Entry { revision, value: value.clone() });
            events.push(Arc::new(Event { revision, key: op.key, value, previous }));
        }
        if let Some(batch) = Batch::new(events) {
            self.history.push_back(batch);
            self.current = revision;
        }
        Ok(self.current)
    }

    fn compact(&mut self, before: Revision) {
        if before <= self.oldest {
            return;
        }
        self.oldest = before;
        self.compactions += 1;
        while self.history.front().is_some_and(|batch| batch.revision() <= before) {
            self.history.pop_front();
        }
        self.chains.retain(|_, chain| {
            // The last version up to `before` is still read there, unless it is a deletion.
            let upto = chain.partition_point(|entry| entry.revision <= before);
            let spare = match upto.checked_sub(1) {
                Some(last) if chain[last].value.is_some() => last,
                _ => upto,
            };
            chain.drain(..spare);
            !chain.is_empty()
        });
    }
}

fn value_at(chain: &[Entry], at: Revision) -> Option<Versioned> {
    let upto = chain.partition_point(|entry| entry.revision <= at);
    chain[..upto].last()?.value.clone()
}

/// A watch: a position in the shared history.
struct Cursor {
    state: Arc<Mutex<State>>,
    number: u64,
    prefix: Key,
    seen: Revision,
}

impl WatchStream for Cursor {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<WatchItem, StoreError>>> {
        let mut state = lock(&self.state);
        if self.seen < state.oldest {
            return Poll::Ready(Some(Err(StoreError::WatchCompacted)));
        }
        let next = state.history.partition_point(|batch| batch.revision() <= self.seen);
        for batch in state.history.range(next..) {
            if let Some(batch) = batch.under(self.prefix.as_str()) {
                self.seen = batch.revision();
                return Poll::Ready(Some(Ok(WatchItem::Events(batch))));
            }
        }
        self.seen = state.current;
        state.waiting.insert(self.number, cx.waker().clone());
        Poll::Pending
    }

    fn progress(&self) -> Revision {
        let state = lock(&self.state);
        if self.seen < state.oldest {
            return self.seen;
        }
        let next = state.history.partition_point(|batch| batch.revision() <= self.seen);
        let unread = state.history.range(next..).find(|batch| batch.under(self.prefix.as_str()).is_some());
        unread.map_or(state.current, |batch| batch.revision().before())
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        let mut state = lock(&self.state);
        state.watchers -= 1;
        state.waiting.remove(&self.number);
    }
}
