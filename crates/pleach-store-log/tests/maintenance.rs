//! Automatic compaction and checkpoints.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use pleach_store::{Commit, Expect, RangeQuery, Revision, Stats, Store, contract::block_on};
use pleach_store_log::{LogStore, Options};
use tempfile::TempDir;

fn put(store: &LogStore, key: &str, size: usize) -> Revision {
    block_on(store.commit(Commit::put(key, Expect::Anything, vec![b'x'; size]))).expect("a write")
}

fn stats(store: &LogStore) -> Stats {
    block_on(store.stats()).expect("figures")
}

#[track_caller]
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_secs(20), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn open(directory: &Path, options: Options) -> LogStore {
    options.sync(false).open(directory).expect("a store")
}

#[test]
fn history_is_compacted_by_age() {
    let room = TempDir::new().expect("a directory");
    let store = open(room.path(), Options::new().history_age(Duration::from_millis(100)));
    let last = put(&store, "a", 10);
    assert_eq!(stats(&store).oldest, Revision::FIRST, "not at once");
    wait_until("it is old", || stats(&store).oldest == last && stats(&store).history == 0);
    let compactions = stats(&store).compactions;
    std::thread::sleep(Duration::from_millis(150));
    assert_eq!(stats(&store).compactions, compactions, "a quiet store is left alone");
}

#[test]
fn history_is_compacted_by_count() {
    let room = TempDir::new().expect("a directory");
    let store = open(room.path(), Options::new().history_commits(100));
    for n in 0..1_000 {
        put(&store, &format!("k/{}", n % 10), 10);
        assert!(stats(&store).revision.0 - stats(&store).oldest.0 <= 201, "never more than twice the bound");
    }
    wait_until("it is short", || stats(&store).history <= 100);
    assert!(stats(&store).history >= 50, "what may be kept is kept");
}

#[test]
fn history_is_compacted_by_size() {
    let room = TempDir::new().expect("a directory");
    let store = open(room.path(), Options::new().history_bytes(100_000));
    for _ in 0..500 {
        put(&store, "a", 1_000);
    }
    wait_until("it is small", || stats(&store).history * 1_256 <= 100_000);
    assert_eq!(stats(&store).keys, 1);
}

#[test]
fn the_log_is_kept_short() {
    let room = TempDir::new().expect("a directory");
    let options = || Options::new().history_commits(50).segment_bytes(10_000).checkpoint_bytes(20_000);
    let store = open(room.path(), options());
    put(&store, "old", 100);
    for n in 0..3_000 {
        put(&store, &format!("k/{}", n % 10), 500);
    }
    // Ten values, fifty commits of history, and garbage below the checkpoint threshold.
    wait_until("old segments are gone", || stats(&store).disk_bytes < 100_000);
    let wanted = block_on(store.range(RangeQuery::prefix(""))).expect("a range");
    drop(store);
    let store = open(room.path(), options());
    assert_eq!(block_on(store.range(RangeQuery::prefix(""))).expect("a range"), wanted);
    let on_disk: u64 = std::fs::read_dir(room.path())
        .expect("a directory")
        .map(|entry| entry.expect("an entry"))
        .filter(|entry| !["RESERVE", "SYNCED"].iter().any(|name| entry.file_name() == *name))
        .map(|entry| entry.metadata().expect("its size").len())
        .sum();
    assert_eq!(stats(&store).disk_bytes, on_disk, "the figure is true");
}

#[test]
fn the_reserve_is_allocated_on_disk() {
    let room = TempDir::new().expect("a directory");
    let reserve = room.path().join("RESERVE");
    let size = || std::fs::metadata(&reserve).map_or(0, |found| found.len());
    put(&open(room.path(), Options::new()), "a", 100);
    let store = open(room.path(), Options::new());
    wait_until("there is a reserve", || size() >= 64 << 10);
    drop(store);
    let store = open(room.path(), Options::new().reserve_bytes(0));
    wait_until("it is not wanted any more", || !reserve.exists());
    put(&store, "a", 100);
}
