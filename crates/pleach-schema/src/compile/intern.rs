//! Interns compiled nodes: equal nodes are one node.
//!
//! Real CRDs repeat themselves: a pod template, a label selector, a condition. Every node is
//! looked up here before it is kept, by its hash and then whole, so that equal sub-schemas of all
//! CRDs are stored once and "is it the same schema" is a comparison of pointers.
//!
//! The table holds weak references: when the last user of a node goes, its entry goes too.
//! Shards, picked by hash, keep compiling threads from waiting for one another.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use smallvec::SmallVec;

use super::node::{Node, NodeRef};

const SHARDS: usize = 32;

/// Nodes by hash. Two nodes with one hash are possible, if not likely.
type Shard = HashMap<u64, SmallVec<[Weak<Node>; 1]>, BuildHasherDefault<Identity>>;

static TABLE: [Mutex<Option<Shard>>; SHARDS] = [const { Mutex::new(None) }; SHARDS];

/// The keys are hashes already.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*b);
        }
    }
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

fn shard(hash: u64) -> MutexGuard<'static, Option<Shard>> {
    // The top bits: the low ones place the entry within the shard. A panic under the lock would
    // leave a whole entry or none.
    TABLE[(hash >> 59) as usize].lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most different nodes that are kept for one hash. The hash is not collision resistant: beyond
/// this, nodes are not interned.
const MOST_ALIKE: usize = 16;

/// The interned node that equals this one, or this one, interned.
pub(super) fn intern(mut node: Node) -> NodeRef {
    // Nodes of equal hash that differ are dropped after the lock is: their drop takes it.
    let mut others = Vec::new();
    let mut guard = shard(node.identity);
    let entry = guard.get_or_insert_default().entry(node.identity).or_default();
    for known in entry.iter().filter_map(Weak::upgrade) {
        if known.is_same(&node) {
            drop(guard);
            return known;
        }
        others.push(known);
    }
    if entry.len() >= MOST_ALIKE {
        drop(guard);
        return Arc::new(node);
    }
    node.interned = true;
    let new = Arc::new(node);
    entry.push(Arc::downgrade(&new));
    drop(guard);
    new
}

/// Drops the entries of nodes with this hash that are no longer in use.
pub(super) fn forget(identity: u64) {
    let mut guard = shard(identity);
    let Some(table) = guard.as_mut() else { return };
    if let Some(entry) = table.get_mut(&identity) {
        entry.retain(|known| known.strong_count() > 0);
        if entry.is_empty() {
            table.remove(&identity);
        }
    }
}

/// How many different nodes all compiled schemas have together.
pub fn distinct_nodes() -> usize {
    TABLE
        .iter()
        .map(|shard| {
            let guard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            guard.as_ref().map_or(0, |table| table.values().map(SmallVec::len).sum())
        })
        .sum()
}
