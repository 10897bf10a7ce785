//! Numbered slots, one per key, each with the versions of that key.
//!
//! Slots are in blocks that never move, so that growing does not copy them.

use std::collections::VecDeque;

use bytes::Bytes;
use pleach_store::{Key, Revision, Versioned};

const BLOCK: usize = 1024;

/// A version of a key.
#[derive(Debug, Clone)]
pub(super) struct Version {
    pub(super) revision: Revision,
    pub(super) created: Revision,
    /// `None`: deleted.
    pub(super) value: Option<Bytes>,
}

/// A key and its versions.
#[derive(Debug)]
pub(super) struct Slot {
    key: Key,
    head: Version,
    /// Versions before the head, oldest first. Boxed: few keys have any, and every key pays for a slot.
    #[expect(clippy::box_collection, reason = "eight bytes in the slot instead of thirty-two")]
    older: Option<Box<VecDeque<Version>>>,
}

impl Slot {
    pub(super) fn new(key: Key, head: Version) -> Self {
        Self { key, head, older: None }
    }

    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    pub(super) fn is_live(&self) -> bool {
        self.head.value.is_some()
    }

    pub(super) fn live(&self) -> Option<Versioned> {
        self.show(&self.head)
    }

    pub(super) fn at(&self, at: Revision) -> Option<Versioned> {
        if self.head.revision <= at {
            return self.show(&self.head);
        }
        let older = self.older.as_ref()?;
        let upto = older.partition_point(|version| version.revision <= at);
        self.show(older.get(upto.checked_sub(1)?)?)
    }

    fn show(&self, version: &Version) -> Option<Versioned> {
        let value = version.value.clone()?;
        let Version { revision, created, .. } = *version;
        Some(Versioned { key: self.key.clone(), value, created, revision })
    }

    pub(super) fn replace_form(&mut self, revision: Revision, value: Bytes) {
        if self.head.revision == revision
            && self.head.value.as_ref().is_some_and(|old| old.len() == value.len())
        {
            self.head.value = Some(value);
        }
    }

    pub(super) fn push(&mut self, version: Version) {
        let before = std::mem::replace(&mut self.head, version);
        self.older.get_or_insert_default().push_back(before);
    }

    /// Drops versions that reads at `floor` or later cannot see; `true` when none is left.
    pub(super) fn forget(&mut self, floor: Revision) -> bool {
        if self.head.revision <= floor {
            self.older = None;
            // A deletion at or before the floor reads as if the key had never existed.
            return self.head.value.is_none();
        }
        if let Some(older) = &mut self.older {
            // The last version up to the floor is still read there, unless it is a deletion.
            let upto = older.partition_point(|version| version.revision <= floor);
            let spare = match upto.checked_sub(1) {
                Some(last) if older[last].value.is_some() => last,
                _ => upto,
            };
            older.drain(..spare);
            if older.is_empty() {
                self.older = None;
            }
        }
        false
    }
}

/// All slots, by number.
#[derive(Debug, Default)]
pub(super) struct Slots {
    blocks: Vec<Vec<Slot>>,
    free: Vec<u32>,
}

impl Slots {
    pub(super) fn get(&self, number: u32) -> &Slot {
        &self.blocks[number as usize / BLOCK][number as usize % BLOCK]
    }

    pub(super) fn get_mut(&mut self, number: u32) -> &mut Slot {
        &mut self.blocks[number as usize / BLOCK][number as usize % BLOCK]
    }

    pub(super) fn insert(&mut self, slot: Slot) -> u32 {
        if let Some(number) = self.free.pop() {
            *self.get_mut(number) = slot;
            return number;
        }
        if self.blocks.last().is_none_or(|block| block.len() == BLOCK) {
            self.blocks.push(Vec::with_capacity(BLOCK));
        }
        let block = self.blocks.len() - 1;
        let last = &mut self.blocks[block];
        last.push(slot);
        u32::try_from(block * BLOCK + last.len() - 1).expect("memory ends before four billion keys")
    }

    pub(super) fn remove(&mut self, number: u32) {
        let nothing = Version { revision: Revision(0), created: Revision(0), value: None };
        *self.get_mut(number) = Slot::new(Key::new(""), nothing);
        self.free.push(number);
    }
}
