//! Everything that is stored, in memory: what each key was over time, and what each commit did.
//!
//! A key has a *slot*, numbered, with its versions. Point reads find it by hash ([`names`]),
//! ranges in key order ([`order`]), and neither copies bytes. Commits in memory are the *history*:
//! watches replay it, and compaction walks it, since each superseded version belongs to exactly
//! one event. The index does no IO and knows no lock; its owner keeps it behind one that is held
//! for microseconds, which is why everything long comes in steps here.
//!
//! **Invariants:** history holds the commits `pruned + 1 ..= current`, without a gap; a chain
//! answers for every revision from `pruned` on; `pruned <= oldest <= current`.

mod names;
mod order;
mod slots;
#[cfg(test)]
mod tests;

use std::{collections::VecDeque, ops::ControlFlow, sync::Arc};

use bytes::Bytes;
use names::Names;
use order::Order;
use pleach_store::{Batch, Event, Key, Revision, StoreError, Versioned};
use slots::{Slot, Slots, Version};

use crate::format;

/// What an event costs in memory beside the value it superseded, roughly.
const EVENT_BYTES: u64 = 256;

/// The whole store in memory.
#[derive(Debug)]
pub(crate) struct Index {
    slots: Slots,
    names: Names,
    order: Order,
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

/// How much of a range one step may do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Step {
    /// Return at most this many items.
    pub(crate) items: usize,
    /// Look at no more than this many keys.
    pub(crate) visits: usize,
}

/// Where a step of a range stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// At the end of the range.
    End,
    /// Before this key, having done as much as the step allows.
    Before(Key),
}

impl Stop {
    /// The key to go on from, if there is more.
    pub(crate) fn before(self) -> Option<Key> {
        match self {
            Self::End => None,
            Self::Before(key) => Some(key),
        }
    }
}

impl Index {
    /// An empty index whose history begins at a revision.
    pub(crate) fn new(revision: Revision) -> Self {
        Self {
            slots: Slots::default(),
            names: Names::default(),
            order: Order::default(),
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

    pub(crate) fn current(&self) -> Revision {
        self.current
    }

    pub(crate) fn oldest(&self) -> Revision {
        self.oldest
    }

    /// History up to here has been let go of; at most `oldest`, less while something needs it.
    pub(crate) fn pruned(&self) -> Revision {
        self.pruned
    }

    /// Keys that exist, and the bytes of their values.
    pub(crate) fn live_size(&self) -> (u64, u64) {
        (self.keys, self.value_bytes)
    }

    /// What a checkpoint of everything that exists now would take.
    pub(crate) fn checkpoint_bytes(&self) -> u64 {
        format::checkpoint_bytes(self.keys, self.key_bytes + self.value_bytes)
    }

    /// Events in the history, and roughly the bytes that it alone keeps.
    pub(crate) fn history_size(&self) -> (u64, u64) {
        (self.history_events, self.history_bytes)
    }

    /// The revision a question is about, if it can still and already be answered.
    pub(crate) fn moment(&self, at: Option<Revision>) -> Result<Revision, StoreError> {
        match at {
            None => Ok(self.current),
            Some(at) if at < self.oldest => Err(StoreError::Compacted { requested: at, oldest: self.oldest }),
            Some(at) if at > self.current => Err(StoreError::Future { requested: at, current: self.current }),
            Some(at) => Ok(at),
        }
    }

    /// What exists under a key now.
    pub(crate) fn live(&self, key: &str) -> Option<Versioned> {
        self.find(key)?.live()
    }

    /// What the value under a key takes, if it exists now.
    pub(crate) fn value_size(&self, key: &str) -> Option<u64> {
        self.live(key).map(|live| live.value.len() as u64)
    }

    /// What existed under a key at a revision not yet pruned.
    pub(crate) fn get(&self, key: &str, at: Revision) -> Option<Versioned> {
        self.find(key)?.at(at)
    }

    fn find(&self, key: &str) -> Option<&Slot> {
        self.names.find(key, &self.slots).map(|slot| self.slots.get(slot))
    }

    /// Puts in an item of a checkpoint. For an index being built, before any commit.
    pub(crate) fn load(&mut self, item: Versioned) {
        self.keys += 1;
        self.key_bytes += item.key.as_str().len() as u64;
        self.value_bytes += item.value.len() as u64;
        let Versioned { key, value, created, revision } = item;
        self.insert(key, Version { revision, created, value: Some(value) });
    }

    fn insert(&mut self, key: Key, version: Version) {
        let hash = self.names.hash(key.as_str());
        let slot = self.slots.insert(Slot::new(key, version));
        self.names.insert(hash, slot);
        self.order.insert(slot, &self.slots);
    }

    /// The events a change makes here and now: `None` when it changes nothing.
    pub(crate) fn event(
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
    pub(crate) fn apply(&mut self, batch: Batch) {
        debug_assert_eq!(batch.revision(), self.current.next(), "history has no gaps");
        for event in &batch {
            self.apply_event(event);
        }
        self.current = batch.revision();
        self.history.push_back(batch);
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
        let found = self.names.find(event.key.as_str(), &self.slots);
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
            (None, Some(_)) => self.order.revive(slot, &self.slots),
            (Some(_), None) => self.order.bury(slot, &self.slots),
            _ => {}
        }
        self.slots.get_mut(slot).push(version);
    }

    /// Collects what existed in a range at a revision, as far as one step goes.
    pub(crate) fn collect(
        &self,
        (start, end): (&str, Option<&str>),
        at: Revision,
        step: Step,
        items: &mut Vec<Versioned>,
    ) -> Stop {
        let (full, mut visits) = (items.len().saturating_add(step.items), 0);
        let stopped = self.order.walk(start, &self.slots, |slot| {
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
    pub(crate) fn count(&self, (start, end): (&str, Option<&str>)) -> u64 {
        self.order.count(start, end, &self.slots)
    }

    /// The commits after a revision, oldest first. `after` is not before [`Index::pruned`].
    pub(crate) fn history(&self, after: Revision) -> impl Iterator<Item = &Batch> {
        let skip = after.0.saturating_sub(self.pruned.0) as usize;
        self.history.range(skip.min(self.history.len())..)
    }

    /// Gives up answering for what is before a revision. Nothing is let go of yet.
    pub(crate) fn compact(&mut self, before: Revision) {
        debug_assert!(before <= self.current);
        self.oldest = self.oldest.max(before);
    }

    /// Lets go of history up to `floor`, and of the versions it superseded, until `limit` events
    /// are gone. Gives back what may be expensive to drop, to be dropped without the lock.
    pub(crate) fn prune(&mut self, floor: Revision, limit: usize) -> Vec<Batch> {
        let floor = floor.min(self.oldest);
        let (mut gone, mut events) = (Vec::new(), 0);
        while self.pruned < floor
            && events < limit
            && let Some(batch) = self.history.pop_front()
        {
            events += batch.len();
            self.pruned = batch.revision();
            for event in &batch {
                self.history_events -= 1;
                let previous = event.previous.as_ref().map_or(0, |previous| previous.value.len() as u64);
                self.history_bytes -= EVENT_BYTES + previous;
                self.forget(event);
            }
            gone.push(batch);
        }
        gone
    }

    /// Drops the versions of a key that an event up to `pruned` superseded, and the key itself
    /// when nothing is left of it.
    fn forget(&mut self, event: &Event) {
        let Some(slot) = self.names.find(event.key.as_str(), &self.slots) else { return };
        if self.slots.get_mut(slot).forget(event.revision) {
            self.order.remove(slot, &self.slots);
            self.names.remove(event.key.as_str(), slot);
            self.slots.remove(slot);
        }
    }
}
