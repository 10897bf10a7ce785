//! Hash index: from a key to its slot.
//!
//! Sharded, so that growing a table pauses the store for microseconds, not milliseconds. A table keeps
//! 32 bits of each hash beside the slot's number, so it grows without reading keys.

use std::hash::BuildHasher;

use foldhash::quality::RandomState;
use hashbrown::HashTable;

use super::slots::Slots;

const SHARDS: usize = 256;

#[derive(Debug, Clone, Copy)]
struct Name {
    tag: u32,
    slot: u32,
}

/// Slots by key. Seeded randomly, since clients choose keys.
#[derive(Debug)]
pub(super) struct HashIndex {
    hasher: RandomState,
    shards: Vec<HashTable<Name>>,
}

/// The hash of a key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hash(u64);

impl Hash {
    fn shard(self) -> usize {
        (self.0 >> 32) as usize % SHARDS
    }

    fn tag(self) -> u32 {
        self.0 as u32
    }
}

/// The hash in a table: the tag, spread over 64 bits.
fn spread(tag: u32) -> u64 {
    u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

impl Default for HashIndex {
    fn default() -> Self {
        Self { hasher: RandomState::default(), shards: (0..SHARDS).map(|_| HashTable::new()).collect() }
    }
}

impl HashIndex {
    pub(super) fn hash(&self, key: &str) -> Hash {
        Hash(self.hasher.hash_one(key))
    }

    pub(super) fn find(&self, key: &str, slots: &Slots) -> Option<u32> {
        let hash = self.hash(key);
        let same = |name: &Name| name.tag == hash.tag() && slots.get(name.slot).key().as_str() == key;
        self.shards[hash.shard()].find(spread(hash.tag()), same).map(|name| name.slot)
    }

    pub(super) fn insert(&mut self, hash: Hash, slot: u32) {
        let name = Name { tag: hash.tag(), slot };
        self.shards[hash.shard()].insert_unique(spread(name.tag), name, |name| spread(name.tag));
    }

    pub(super) fn remove(&mut self, key: &str, slot: u32) {
        let hash = self.hash(key);
        let found = self.shards[hash.shard()].find_entry(spread(hash.tag()), |name| name.slot == slot);
        if let Ok(found) = found {
            found.remove();
        }
    }
}
