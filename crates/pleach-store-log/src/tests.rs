//! Tests on the simulated disk: faults, crashes, damage.

mod bug_classes;
mod codec;
mod damage;
mod disk_full;
mod faults;
mod watch_memory;

use std::sync::Arc;

use pleach_store::{
    Batch, Bytes, Commit, Expect, Key, ModelStore, Op, RangeQuery, Revision, Store, StoreError, Watch,
    WatchItem,
    contract::{TestRng, block_on},
};

use crate::{LogStore, Options, disk::sim::SimDisk};

/// Small limits, so that a short workload reaches every code path.
fn small() -> Options {
    Options::new().segment_bytes(600).checkpoint_bytes(1).watch_queue(2)
}

fn open(disk: &SimDisk, options: Options) -> Result<LogStore, StoreError> {
    options.open_disk(Arc::new(disk.clone()))
}

fn put(store: &dyn Store, key: &str, value: impl Into<Bytes>) -> Result<Revision, StoreError> {
    block_on(store.commit(Commit::put(key, Expect::Anything, value)))
}

fn delete(store: &dyn Store, key: &str) -> Result<Revision, StoreError> {
    block_on(store.commit(Commit::delete(key, Expect::Anything)))
}

fn list_at(store: &dyn Store, at: Option<Revision>) -> pleach_store::Range {
    let mut query = RangeQuery::prefix("");
    query.at = at;
    block_on(store.range(query)).expect("a range")
}

fn revision(store: &dyn Store) -> Revision {
    block_on(store.revision()).expect("a revision")
}

fn oldest(store: &dyn Store) -> Revision {
    block_on(store.stats()).expect("figures").oldest
}

/// Waits for a condition that another thread establishes.
#[track_caller]
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = std::time::Instant::now();
    while !holds() {
        assert!(begin.elapsed() < std::time::Duration::from_mins(1), "waited in vain: {what}");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Why the store allows only deletes.
fn alarm(store: &dyn Store) -> Option<Arc<str>> {
    block_on(store.stats()).expect("figures").no_space
}

fn watch(store: &dyn Store, prefix: &str, after: Revision) -> Watch {
    block_on(store.watch(Key::new(prefix), after)).expect("a watch")
}

fn next(watch: &mut Watch) -> Result<Batch, StoreError> {
    loop {
        match block_on(watch.next()).expect("the watch goes on")? {
            WatchItem::Events(batch) => return Ok(batch),
            WatchItem::Progress(_) => {}
        }
    }
}

/// Asserts that the store holds a prefix of what the model holds: every readable list and event is
/// equal. The model has the whole history.
#[track_caller]
fn assert_prefix(store: &dyn Store, model: &ModelStore, context: &str) {
    let (first, last) = (oldest(store), revision(store));
    assert!(last <= revision(model), "{context}: the store is at {last}, ahead of everything attempted");
    for at in first.0..=last.0 {
        let (mine, wanted) = (list_at(store, Some(Revision(at))), list_at(model, Some(Revision(at))));
        assert_eq!(mine, wanted, "{context}: the list at {at}");
    }
    assert_eq!(list_at(store, None), list_at(model, Some(last)), "{context}");
    let (mut mine, mut wanted) = (watch(store, "", first), watch(model, "", first));
    for _ in first.0..last.0 {
        assert_eq!(next(&mut mine).expect("an event"), next(&mut wanted).expect("an event"), "{context}");
    }
}

/// A random commit without expectations, whose result does not depend on its order.
fn random_commit(rng: &mut TestRng, number: u64) -> Commit {
    let op = |rng: &mut TestRng, slot: u64| {
        let key = Key::new(format!("k/{}/{}", slot, rng.below(4)));
        let size = rng.below(120) as usize;
        let value = (rng.below(4) > 0).then(|| Bytes::from(format!("{number}:{}", "x".repeat(size))));
        Op { key, expect: Expect::Anything, value }
    };
    (0..=rng.below(3)).map(|slot| op(rng, slot)).collect()
}
