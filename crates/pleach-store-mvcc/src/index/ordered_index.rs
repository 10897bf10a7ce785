//! Ordered index: slots sorted by key, with counts.
//!
//! A sorted list in leaves of a few hundred slot numbers; the leaves are in a `BTreeMap` by the lowest
//! key each may hold. Four bytes per key. Each leaf knows how many of its keys exist, so counting what
//! remains after a page adds up leaves instead of walking all keys.

use std::{
    collections::BTreeMap,
    ops::{Bound, ControlFlow},
};

use pleach_store::Key;

use super::slots::{Slot, Slots};

/// A leaf that reaches this size is split.
const MAX_LEAF: usize = 512;
/// A leaf that shrinks to this size is merged into the one before it, if that has room.
const MIN_LEAF: usize = 64;

#[derive(Debug, Default)]
struct Leaf {
    slots: Vec<u32>,
    /// How many of the slots' keys exist now.
    live: u32,
}

impl Leaf {
    fn new(slots: Vec<u32>, all: &Slots) -> Self {
        let live = slots.iter().filter(|&&slot| all.get(slot).is_live()).count() as u32;
        Self { slots, live }
    }

    /// The position of the first slot whose key is not before `key`.
    fn seek(&self, key: &str, all: &Slots) -> usize {
        self.slots.partition_point(|&slot| all.get(slot).key().as_str() < key)
    }
}

/// All slots, sorted by key.
#[derive(Debug)]
pub(super) struct OrderedIndex {
    /// Leaves by a bound: a leaf's keys are not before it, and before the next leaf's. The first
    /// bound is the empty key, so that every key has a leaf.
    leaves: BTreeMap<Key, Leaf>,
}

impl Default for OrderedIndex {
    fn default() -> Self {
        Self { leaves: BTreeMap::from([(Key::new(""), Leaf::default())]) }
    }
}

impl OrderedIndex {
    fn leaf_mut(&mut self, key: &str) -> (&Key, &mut Leaf) {
        let upto = (Bound::Unbounded, Bound::Included(key));
        self.leaves.range_mut::<str, _>(upto).next_back().expect("the first leaf is bound by the empty key")
    }

    /// Adds a slot with a new key.
    pub(super) fn insert(&mut self, slot: u32, all: &Slots) {
        let added = all.get(slot);
        let key = added.key().as_str();
        let (_, leaf) = self.leaf_mut(key);
        // Keys often come in order: try the end before searching.
        let at = match leaf.slots.last() {
            Some(&last) if all.get(last).key().as_str() > key => leaf.seek(key, all),
            _ => leaf.slots.len(),
        };
        leaf.slots.insert(at, slot);
        leaf.live += u32::from(added.is_live());
        if leaf.slots.len() >= MAX_LEAF {
            // After an append more are likely to follow: leave this leaf full.
            let cut = if at + 1 == leaf.slots.len() { MAX_LEAF - MAX_LEAF / 8 } else { MAX_LEAF / 2 };
            let right = Leaf::new(leaf.slots.split_off(cut), all);
            leaf.slots.shrink_to_fit();
            leaf.live -= right.live;
            let bound = all.get(right.slots[0]).key().clone();
            self.leaves.insert(bound, right);
        }
    }

    /// A slot's key exists again. Called before the slot changes.
    pub(super) fn mark_live(&mut self, slot: u32, all: &Slots) {
        self.leaf_mut(all.get(slot).key().as_str()).1.live += 1;
    }

    /// A slot's key was deleted. Called before the slot changes.
    pub(super) fn mark_deleted(&mut self, slot: u32, all: &Slots) {
        self.leaf_mut(all.get(slot).key().as_str()).1.live -= 1;
    }

    /// Removes a slot.
    pub(super) fn remove(&mut self, slot: u32, all: &Slots) {
        let gone = all.get(slot);
        let key = gone.key().as_str();
        let (bound, leaf) = self.leaf_mut(key);
        let at = leaf.seek(key, all);
        debug_assert_eq!(leaf.slots.get(at), Some(&slot));
        leaf.slots.remove(at);
        leaf.live -= u32::from(gone.is_live());
        if leaf.slots.len() <= MIN_LEAF && !bound.as_str().is_empty() {
            let bound = bound.clone();
            self.merge_back(&bound);
        }
    }

    fn merge_back(&mut self, bound: &Key) {
        let size = self.leaves[bound].slots.len();
        let before = (Bound::Unbounded, Bound::Excluded(bound));
        let (at, previous) =
            self.leaves.range::<Key, _>(before).next_back().expect("only the first leaf has none before");
        if size > 0 && previous.slots.len() + size > MAX_LEAF / 2 {
            return;
        }
        let at = at.clone();
        let leaf = self.leaves.remove(bound).expect("the caller found it");
        let previous = self.leaves.get_mut(&at).expect("just found");
        previous.slots.extend(leaf.slots);
        previous.live += leaf.live;
    }

    /// Visits slots in order from a key until the callback breaks; returns its break value.
    pub(super) fn walk<B>(
        &self,
        start: &str,
        all: &Slots,
        mut visit: impl FnMut(&Slot) -> ControlFlow<B>,
    ) -> Option<B> {
        let upto = (Bound::Unbounded, Bound::Included(start));
        let (first, leaf) = self.leaves.range::<str, _>(upto).next_back()?;
        let head = &leaf.slots[leaf.seek(start, all)..];
        let rest = self.leaves.range::<Key, _>((Bound::Excluded(first), Bound::Unbounded));
        for slots in std::iter::once(head).chain(rest.map(|(_, leaf)| &*leaf.slots)) {
            for &slot in slots {
                if let ControlFlow::Break(stop) = visit(all.get(slot)) {
                    return Some(stop);
                }
            }
        }
        None
    }

    #[cfg(test)]
    pub(super) fn leaves(&self) -> usize {
        self.leaves.len()
    }

    /// How many keys in `start..end` exist now.
    pub(super) fn count(&self, start: &str, end: Option<&str>, all: &Slots) -> u64 {
        let from = self.rank(start, all);
        let to = match end {
            Some(end) if end <= start => return 0,
            Some(end) => self.rank(end, all),
            None => self.rank_of_end(),
        };
        to - from
    }

    /// How many keys before `key` exist now.
    fn rank(&self, key: &str, all: &Slots) -> u64 {
        let upto = (Bound::Unbounded, Bound::Included(key));
        let mut leaves = self.leaves.range::<str, _>(upto);
        let Some((_, last)) = leaves.next_back() else { return 0 };
        let head = &last.slots[..last.seek(key, all)];
        let within = head.iter().filter(|&&slot| all.get(slot).is_live()).count() as u64;
        within + leaves.map(|(_, leaf)| u64::from(leaf.live)).sum::<u64>()
    }

    fn rank_of_end(&self) -> u64 {
        self.leaves.values().map(|leaf| u64::from(leaf.live)).sum()
    }
}
