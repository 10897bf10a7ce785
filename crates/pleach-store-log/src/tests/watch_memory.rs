//! Memory that watchers hold when they do not read.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::*;

/// A value that counts its bytes while it exists.
struct Counted(Vec<u8>, Arc<AtomicUsize>);

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_sub(self.0.len(), SeqCst);
    }
}

fn counted(size: usize, alive: &Arc<AtomicUsize>) -> Bytes {
    alive.fetch_add(size, SeqCst);
    Bytes::from_owner(Counted(vec![b'x'; size], Arc::clone(alive)))
}

/// Writes while fifty watchers do not read and history is compacted at once. Returns the bytes still in
/// memory in the end, besides current values.
fn held_by_slow_watchers(sizes: impl Iterator<Item = usize>, limit: usize) -> (Vec<Watch>, usize) {
    let options = Options::new().watch_queue(1_000_000).watch_queue_bytes(limit);
    let store = open(&SimDisk::new(), options).expect("a store");
    let alive = Arc::new(AtomicUsize::new(0));
    let mut watches: Vec<_> = (0..50).map(|_| watch(&store, "k/", Revision::FIRST)).collect();
    let mut last = Revision::FIRST;
    for size in sizes {
        last = put(&store, "k/1", counted(size, &alive)).expect("a write");
        block_on(store.compact(last)).expect("a compaction");
    }
    last = put(&store, "k/1", "small").expect("a write").max(last);
    let mut level = watch(&store, "other", last);
    put(&store, "other", "published").expect("a write");
    next(&mut level).expect("everything before it has been handed out");
    block_on(store.compact(revision(&store))).expect("a compaction");
    assert!(store.shared.mvcc.watchers.fullest() <= limit);
    let held = alive.load(SeqCst);
    // Each gets what is queued for it, without a gap, and then an error.
    for watch in &mut watches {
        let mut seen = Revision::FIRST;
        let error = loop {
            match next(watch) {
                Ok(batch) => {
                    assert_eq!(batch.revision(), seen.next());
                    seen = batch.revision();
                }
                Err(error) => break error,
            }
        };
        assert!(matches!(error, StoreError::WatchCompacted), "{error}");
    }
    assert_eq!(alive.load(SeqCst), 0, "nothing is left when all has been read");
    (watches, held)
}

#[test]
fn slow_watchers_share_a_bounded_number_of_bytes() {
    // An event has the new and the previous value; all watchers share the events.
    let (_watches, held) = held_by_slow_watchers((0..500).map(|_| 10_000), 100_000);
    assert!(held > 0 && held <= 100_000, "{held} bytes");
}

#[test]
fn a_commit_larger_than_a_watchers_queue_does_not_wait_in_it() {
    let (_watches, held) = held_by_slow_watchers((0..20).map(|_| 1_000_000), 100_000);
    assert_eq!(held, 0);
}

#[test]
fn a_watcher_that_reads_history_takes_a_bounded_number_of_bytes_at_a_time() {
    let store = open(&SimDisk::new(), Options::new().watch_queue_bytes(100_000)).expect("a store");
    let alive = Arc::new(AtomicUsize::new(0));
    for _ in 0..200 {
        put(&store, "k/1", counted(50_000, &alive)).expect("a write");
    }
    put(&store, "k/1", "small").expect("a write");
    let mut slow = watch(&store, "k/", Revision::FIRST);
    drop(next(&mut slow).expect("an event"));
    block_on(store.compact(revision(&store))).expect("a compaction");
    let held = alive.load(SeqCst);
    assert!(held <= 2 * 100_000, "{held} bytes");
    for _ in 0..200 {
        if next(&mut slow).is_err() {
            return;
        }
    }
    panic!("it should have been overtaken");
}
