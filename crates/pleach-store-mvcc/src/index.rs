//! The in-memory index: all keys with their versions, and the history of commits.
//!
//! Each key has a numbered *slot* with its versions, found by hash ([`hash_index`]) for point reads and
//! in key order ([`ordered_index`]) for ranges; neither copies bytes. The *history* is the commits in
//! memory: watches replay it, and compaction walks it, since each superseded version belongs to exactly
//! one event. No IO and no lock here: the owner's lock is held for microseconds, so long operations
//! come in steps.
//!
//! **Invariants:** history holds all commits of `pruned + 1 ..= current`, in order; revisions without a
//! commit are those that changed nothing here ([`Index::advance`]). A chain answers for every revision
//! from `pruned` on; `pruned <= oldest <= current`.

mod hash_index;
mod ordered_index;
mod slots;
#[cfg(test)]
mod tests;

use std::{collections::VecDeque, ops::ControlFlow, sync::Arc};

use bytes::Bytes;
use hash_index::HashIndex;
use ordered_index::OrderedIndex;
use pleach_store::{Batch, Event, Key, Revision, StoreError, Versioned};
use slots::{Slot, Slots, Version};

/// Approximate memory of an event besides the value it superseded.
const EVENT_BYTES: u64 = 256;

/// The index.
#[derive(Debug)]
pub struct Index {
    slots: Slots,
    by_hash: HashIndex,
    by_key: OrderedIndex,
    history: VecDeque<Batch>,
    pruned: Revision,
    oldest: Revision,
    current: Revision,
    keys: u64,
    key_bytes: u64,
    value_bytes: u64,
    history_events: u64,
    history_bytes: u64,
}

/// The bounds of one step of a range read.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// Return at most this many items.
    pub items: usize,
    /// Visit no more than this many keys.
    pub visits: usize,
}

/// Where a step of a range stopped.
#[derive(Debug)]
pub enum Stop {
    /// At the end of the range.
    End,
    /// Before this key, at the bounds of the step.
    Before(Key),
}

impl Stop {
    /// The key to continue from, if there is more.
    pub fn before(self) -> Option<Key> {
        match self {
            Self::End => None,
            Self::Before(key) => Some(key),
        }
    }
}

impl Index {
    /// An empty index whose history starts at a revision.
    pub fn new(revision: Revision) -> Self {
        Self {
            slots: Slots::default(),
            by_hash: HashIndex::default(),
            by_key: OrderedIndex::default(),
            history: VecDeque::new(),
            pruned: revision,
            oldest: revision,
            current: revision,
            keys: 0,
            key_bytes: 0,
            value_bytes: 0,
            history_events: 0,
            history_bytes: 0,
        }
    }

    /// The revision of the last commit, or what it was advanced to.
    pub fn current(&self) -> Revision {
        self.current
    }

    /// The oldest readable revision.
    pub fn oldest(&self) -> Revision {
        self.oldest
    }

    /// History up to here has been dropped; at most `oldest`, less while something needs it.
    pub fn pruned(&self) -> Revision {
        self.pruned
    }

    /// Keys that exist, and the bytes of their values.
    pub fn live_size(&self) -> (u64, u64) {
        (self.keys, self.value_bytes)
    }

    /// The bytes of the keys that exist.
    pub fn key_bytes(&self) -> u64 {
        self.key_bytes
    }

    /// Events in the history, and approximately the bytes that only history keeps alive.
    pub fn history_size(&self) -> (u64, u64) {
        (self.history_events, self.history_bytes)
    }

    /// The revision to read at: an error if it is compacted or in the future.
    pub fn resolve_revision(&self, at: Option<Revision>) -> Result<Revision, StoreError> {
        match at {
            None => Ok(self.current),
            Some(at) if at < self.oldest => Err(StoreError::Compacted { requested: at, oldest: self.oldest }),
            Some(at) if at > self.current => Err(StoreError::Future { requested: at, current: self.current }),
            Some(at) => Ok(at),
        }
    }

    /// The current value of a key.
    pub fn live(&self, key: &str) -> Option<Versioned> {
        self.find(key)?.live()
    }

    /// The size of the current value of a key.
    pub fn value_size(&self, key: &str) -> Option<u64> {
        self.live(key).map(|live| live.value.len() as u64)
    }

    /// The value of a key at a revision not yet pruned.
    pub fn get(&self, key: &str, at: Revision) -> Option<Versioned> {
        self.find(key)?.at(at)
    }

    fn find(&self, key: &str) -> Option<&Slot> {
        self.by_hash.find(key, &self.slots).map(|slot| self.slots.get(slot))
    }

    /// Adds an item of a checkpoint, before any commit.
    pub fn load(&mut self, item: Versioned) {
        self.keys += 1;
        self.key_bytes += item.key.as_str().len() as u64;
        self.value_bytes += item.value.len() as u64;
        let Versioned { key, value, created, revision } = item;
        self.insert(key, Version { revision, created, value: Some(value) });
    }

    fn insert(&mut self, key: Key, version: Version) {
        let hash = self.by_hash.hash(key.as_str());
        let slot = self.slots.insert(Slot::new(key, version));
        self.by_hash.insert(hash, slot);
        self.by_key.insert(slot, &self.slots);
    }

    /// Replaces the current value of a key by another form of the same value, if it was written at this revision. Both
    /// forms must have the same size.
    pub fn replace_form(&mut self, key: &str, revision: Revision, value: Bytes) {
        if let Some(slot) = self.by_hash.find(key, &self.slots) {
            self.slots.get_mut(slot).replace_form(revision, value);
        }
    }

    /// The event of a change; `None` when it changes nothing.
    pub fn event(
        revision: Revision,
        key: Key,
        value: Option<Bytes>,
        previous: Option<Versioned>,
    ) -> Option<Arc<Event>> {
        let value = match (value, &previous) {
            (None, None) => return None,
            (None, Some(_)) => None,
            (Some(value), previous) => {
                let created = previous.as_ref().map_or(revision, |previous| previous.created);
                Some(Versioned { key: key.clone(), value, created, revision })
            }
        };
        Some(Arc::new(Event { revision, key, value, previous }))
    }

    /// Adds the next commit.
    pub fn apply(&mut self, batch: Batch) {
        debug_assert!(batch.revision() > self.current, "history goes up");
        for event in &batch {
            self.apply_event(event);
        }
        self.current = batch.revision();
        self.history.push_back(batch);
    }

    /// Nothing changed up to a revision.
    pub fn advance(&mut self, revision: Revision) {
        self.current = self.current.max(revision);
    }

    fn apply_event(&mut self, event: &Event) {
        let size = |side: &Option<Versioned>| side.as_ref().map_or(0, |side| side.value.len() as u64);
        self.value_bytes += size(&event.value);
        self.value_bytes -= size(&event.previous);
        self.history_events += 1;
        self.history_bytes += EVENT_BYTES + size(&event.previous);
        let version = Version {
            revision: event.revision,
            created: event.value.as_ref().map_or(event.revision, |value| value.created),
            value: event.value.as_ref().map(|value| value.value.clone()),
        };
        let found = self.by_hash.find(event.key.as_str(), &self.slots);
        let name = event.key.as_str().len() as u64;
        match (&event.previous, &event.value) {
            (None, Some(_)) => (self.keys, self.key_bytes) = (self.keys + 1, self.key_bytes + name),
            (Some(_), None) => (self.keys, self.key_bytes) = (self.keys - 1, self.key_bytes - name),
            _ => {}
        }
        let Some(slot) = found else {
            self.insert(event.key.clone(), version);
            return;
        };
        match (&event.previous, &event.value) {
            (None, Some(_)) => self.by_key.mark_live(slot, &self.slots),
            (Some(_), None) => self.by_key.mark_deleted(slot, &self.slots),
            _ => {}
        }
        self.slots.get_mut(slot).push(version);
    }

    /// Collects what existed in a range at a revision, within the bounds of one step.
    pub fn collect(
        &self,
        (start, end): (&str, Option<&str>),
        at: Revision,
        step: Step,
        items: &mut Vec<Versioned>,
    ) -> Stop {
        let (full, mut visits) = (items.len().saturating_add(step.items), 0);
        let stopped = self.by_key.walk(start, &self.slots, |slot| {
            if end.is_some_and(|end| slot.key().as_str() >= end) {
                return ControlFlow::Break(Stop::End);
            }
            if items.len() == full || visits == step.visits {
                return ControlFlow::Break(Stop::Before(slot.key().clone()));
            }
            visits += 1;
            items.extend(slot.at(at));
            ControlFlow::Continue(())
        });
        stopped.unwrap_or(Stop::End)
    }

    /// How many keys of a range exist now.
    pub fn count(&self, (start, end): (&str, Option<&str>)) -> u64 {
        self.by_key.count(start, end, &self.slots)
    }

    /// The commits after a revision, oldest first. `after` is not before [`Index::pruned`].
    pub fn history(&self, after: Revision) -> impl Iterator<Item = &Batch> {
        let skip = self.history.partition_point(|batch| batch.revision() <= after);
        self.history.range(skip..)
    }

    /// Makes revisions before `before` unreadable. Nothing is dropped yet.
    pub fn compact(&mut self, before: Revision) {
        debug_assert!(before <= self.current);
        self.oldest = self.oldest.max(before);
    }

    /// Drops history up to `floor`, and the versions it superseded, up to `limit` events. They are
    /// returned, to be dropped outside the lock.
    pub fn prune(&mut self, floor: Revision, limit: usize) -> Vec<Batch> {
        let floor = floor.min(self.oldest);
        let (mut gone, mut events) = (Vec::new(), 0);
        while events < limit
            && self.history.front().is_some_and(|batch| batch.revision() <= floor)
            && let Some(batch) = self.history.pop_front()
        {
            events += batch.len();
            self.pruned = batch.revision();
            for event in &batch {
                self.history_events -= 1;
                let previous = event.previous.as_ref().map_or(0, |previous| previous.value.len() as u64);
                self.history_bytes -= EVENT_BYTES + previous;
                self.prune_key(event);
            }
            gone.push(batch);
        }
        if events < limit {
            self.pruned = self.pruned.max(floor);
        }
        gone
    }

    /// Drops the versions of a key that an event up to `pruned` superseded, and the slot when it has
    /// none left.
    fn prune_key(&mut self, event: &Event) {
        let Some(slot) = self.by_hash.find(event.key.as_str(), &self.slots) else { return };
        if self.slots.get_mut(slot).forget(event.revision) {
            self.by_key.remove(slot, &self.slots);
            self.by_hash.remove(event.key.as_str(), slot);
            self.slots.remove(slot);
        }
    }
}
