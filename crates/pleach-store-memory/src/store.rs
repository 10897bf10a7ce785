//! [`MemoryStore`]: the implementation of [`Store`].
//!
//! The current values are in a map, the recent past in a history of commits: a read at an earlier revision takes back,
//! from what is there now, the commits since. Watchers are positions in that history.

use std::collections::{BTreeMap, VecDeque};
use std::future::ready;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use pleach_store::{
    Batch, Commit, Event, Key, Range, RangeQuery, Revision, Stats, Store, StoreError, StoreFuture,
    VALUE_LIMIT, Versioned, Watch, WatchItem, WatchStream,
};

use crate::cow_map::CowMap;

/// Commits of history that are kept.
const HISTORY: usize = 10_000;

/// A store in memory. Clones are the same store; [`MemoryStore::fork`] makes another one.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
    value_limit: u64,
}

#[derive(Debug)]
struct State {
    current: Revision,
    oldest: Revision,
    map: CowMap,
    /// The commits after `oldest`, oldest first.
    history: VecDeque<Batch>,
    /// Wakers of watchers that wait, by number.
    waiting: BTreeMap<u64, Waker>,
    watchers: u64,
    next_watcher: u64,
    compactions: u64,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::with(State::new(Revision::FIRST, CowMap::default()))
    }

    fn with(state: State) -> Self {
        Self { state: Arc::new(Mutex::new(state)), value_limit: VALUE_LIMIT }
    }

    /// The same store with another limit on values than [`VALUE_LIMIT`].
    #[must_use]
    pub fn value_limit(mut self, bytes: u64) -> Self {
        self.value_limit = bytes;
        self
    }

    /// Another store with everything that is in this one now, at the same revision. Its history begins there: reads at
    /// earlier revisions fail as after compaction.
    #[must_use]
    pub fn fork(&self) -> Self {
        let state = self.lock();
        let forked = State::new(state.current, state.map.clone());
        drop(state);
        Self { value_limit: self.value_limit, ..Self::with(forked) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// Nothing panics while the state is half changed.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now<'a, T: Send + 'a>(answer: Result<T, StoreError>) -> StoreFuture<'a, T> {
    Box::pin(ready(answer))
}

impl Store for MemoryStore {
    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> StoreFuture<'a, Option<Versioned>> {
        let state = self.lock();
        now(state.resolve_revision(at).map(|at| state.get(key.as_str(), at)))
    }

    fn range(&self, query: RangeQuery) -> StoreFuture<'_, Range> {
        now(self.lock().range(&query))
    }

    fn commit(&self, commit: Commit) -> StoreFuture<'_, Revision> {
        if let Err(error) = commit.check_values(self.value_limit) {
            return now(Err(error));
        }
        let mut state = self.lock();
        let answer = state.commit(commit);
        if state.history.len() > HISTORY {
            let before = state.history[state.history.len() - HISTORY].revision();
            state.compact(before);
        }
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_values().for_each(Waker::wake);
        now(answer)
    }

    fn watch(&self, prefix: Key, after: Revision) -> StoreFuture<'_, Watch> {
        let mut state = self.lock();
        if let Err(error) = state.resolve_revision(Some(after)) {
            return now(Err(error));
        }
        state.watchers += 1;
        state.next_watcher += 1;
        let cursor =
            Cursor { state: Arc::clone(&self.state), number: state.next_watcher, prefix, seen: after };
        drop(state);
        now(Ok(Watch::new(cursor)))
    }

    fn revision(&self) -> StoreFuture<'_, Revision> {
        now(Ok(self.lock().current))
    }

    fn compact(&self, before: Revision) -> StoreFuture<'_, ()> {
        let mut state = self.lock();
        if before > state.current {
            return now(Err(StoreError::Future { requested: before, current: state.current }));
        }
        state.compact(before);
        now(Ok(()))
    }

    fn stats(&self) -> StoreFuture<'_, Stats> {
        let state = self.lock();
        let mut stats = Stats::default();
        stats.revision = state.current;
        stats.oldest = state.oldest;
        (stats.keys, stats.value_bytes) = state.map.size();
        stats.history = state.history.iter().map(|batch| batch.len() as u64).sum();
        stats.watchers = state.watchers;
        stats.compactions = state.compactions;
        now(Ok(stats))
    }

    fn try_get(&self, key: &Key) -> Option<Result<Option<Versioned>, StoreError>> {
        Some(Ok(self.lock().map.get(key.as_str()).cloned()))
    }
}

impl State {
    fn new(revision: Revision, map: CowMap) -> Self {
        Self {
            current: revision,
            oldest: revision,
            map,
            history: VecDeque::new(),
            waiting: BTreeMap::new(),
            watchers: 0,
            next_watcher: 0,
            compactions: 0,
        }
    }

    /// The revision to read at: an error if it is compacted or in the future.
    fn resolve_revision(&self, at: Option<Revision>) -> Result<Revision, StoreError> {
        match at {
            None => Ok(self.current),
            Some(at) if at < self.oldest => Err(StoreError::Compacted { requested: at, oldest: self.oldest }),
            Some(at) if at > self.current => Err(StoreError::Future { requested: at, current: self.current }),
            Some(at) => Ok(at),
        }
    }

    /// The commits after a revision, oldest first.
    fn since(&self, revision: Revision) -> impl Iterator<Item = &Batch> {
        let skip = self.history.partition_point(|batch| batch.revision() <= revision);
        self.history.range(skip..)
    }

    fn get(&self, key: &str, at: Revision) -> Option<Versioned> {
        let changed = self.since(at).flatten().find(|event| event.key.as_str() == key);
        changed.map_or_else(|| self.map.get(key).cloned(), |event| event.previous.clone())
    }

    /// The keys of a range that have changed after a revision, with their values at it.
    fn changed_since(
        &self,
        at: Revision,
        within: impl Fn(&Key) -> bool,
    ) -> BTreeMap<&Key, Option<&Versioned>> {
        let mut changed = BTreeMap::new();
        for event in self.since(at).flatten().filter(|event| within(&event.key)) {
            changed.entry(&event.key).or_insert(event.previous.as_ref());
        }
        changed
    }

    fn range(&self, query: &RangeQuery) -> Result<Range, StoreError> {
        let revision = self.resolve_revision(query.at)?;
        let mut range = Range { items: Vec::new(), revision, more: false, remaining: 0 };
        if query.is_empty() {
            return Ok(range);
        }
        let is_before_end = |key: &Key| query.end.as_ref().is_none_or(|end| key < end);
        let limit = query.limit.unwrap_or(usize::MAX);
        let mut take = |item: &Versioned| {
            if range.items.len() < limit {
                range.items.push(item.clone());
            } else {
                range.remaining += 1;
            }
        };
        let changed = self.changed_since(revision, |key| *key >= query.start && is_before_end(key));
        let mut changed = changed.into_iter().peekable();
        self.map.walk(&query.start, |item| {
            if !is_before_end(&item.key) {
                return ControlFlow::Break(());
            }
            // Keys that are gone now, or have changed, in their place.
            while let Some((key, then)) = changed.next_if(|(key, _)| **key <= item.key) {
                then.into_iter().for_each(&mut take);
                if *key == item.key {
                    return ControlFlow::Continue(());
                }
            }
            take(item);
            ControlFlow::Continue(())
        });
        changed.filter_map(|(_, then)| then).for_each(take);
        range.more = range.remaining > 0;
        Ok(range)
    }

    fn commit(&mut self, commit: Commit) -> Result<Revision, StoreError> {
        commit.check()?;
        commit.expectations(|key| self.map.get(key.as_str()).cloned())?;
        let revision = self.current.next();
        let mut events = Vec::new();
        for op in commit.ops {
            let previous = self.map.get(op.key.as_str()).cloned();
            let value = match (op.value, &previous) {
                (None, None) => continue,
                (None, Some(_)) => {
                    self.map.remove(op.key.as_str());
                    None
                }
                (Some(value), previous) => {
                    let created = previous.as_ref().map_or(revision, |previous| previous.created);
                    let item = Versioned { key: op.key.clone(), value, created, revision };
                    self.map.insert(item.clone());
                    Some(item)
                }
            };
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
    }
}

/// A watch: a position in the history.
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
        let next = state.since(self.seen).find_map(|batch| batch.under(self.prefix.as_str()));
        if let Some(batch) = next {
            self.seen = batch.revision();
            return Poll::Ready(Some(Ok(WatchItem::Events(batch))));
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
        let unread = state.since(self.seen).find(|batch| batch.under(self.prefix.as_str()).is_some());
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
