//! A full disk, and an exhausted quota.

use super::*;

const KIB: u64 = 1 << 10;

fn options() -> Options {
    Options::new().segment_bytes(64 * KIB).checkpoint_bytes(64 * KIB)
}

fn object(n: u64) -> String {
    format!("k/{n:04}")
}

/// Fills the disk with objects of 1 KiB until a write is refused; returns how many were written.
fn fill(store: &LogStore) -> (u64, StoreError) {
    for n in 0..100_000 {
        if let Err(error) = put(store, &object(n), vec![b'x'; 1024]) {
            return (n, error);
        }
    }
    panic!("it never ended");
}

/// Deletes all objects of a full disk. Maintenance gives back what deletes take of the reserve; where it is starved, on a
/// busy machine, a delete may be refused, and clients try again.
fn delete_all(store: &LogStore, taken: u64) {
    for n in 0..taken {
        wait_until(&format!("delete {n} of {taken}"), || delete(store, &object(n)).is_ok());
    }
}

fn full_disk() -> (SimDisk, LogStore, u64) {
    let disk = SimDisk::new();
    disk.set_capacity(Some(2048 * KIB));
    let store = open(&disk, options()).expect("a store");
    put(&store, "first", "x").expect("a write");
    store.shared.grown.notify();
    wait_until("room is held back", || disk.room() < 1900 * KIB);
    let (taken, error) = fill(&store);
    assert!(
        matches!(&error, StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull)
    );
    assert!(taken > 1000, "{taken}");
    (disk, store, taken)
}

#[test]
fn a_full_disk_allows_deletes_and_recovers_by_them() {
    let (disk, store, taken) = full_disk();
    assert!(alarm(&store).expect("an alarm").contains("cannot write to the log"));
    assert_eq!(block_on(store.stats()).expect("figures").read_only, None);
    // Reads go on, acknowledged commits are there.
    assert_eq!(list_at(&store, None).items.len() as u64, taken + 1);
    put(&store, "another", vec![b'x'; 2000]).expect_err("the disk is full");
    put(&store, &object(0), vec![b'y'; 1024]).expect("an update that adds nothing");
    delete_all(&store, taken);
    // Compaction and a checkpoint free space, which clears the alarm.
    wait_until("there is room again", || alarm(&store).is_none());
    for n in 0..100 {
        put(&store, &object(n), vec![b'z'; 1024]).expect("a write");
    }
    let wanted = list_at(&store, None);
    drop(store);
    assert_eq!(list_at(&open(&disk, options()).expect("a store"), None), wanted);
}

#[test]
fn a_full_disk_recovers_when_space_is_freed_elsewhere() {
    let (disk, store, _) = full_disk();
    disk.set_capacity(Some(100 * 1024 * KIB));
    wait_until("there is room again", || alarm(&store).is_none());
    put(&store, "another", vec![b'x'; 2000]).expect("a write");
    assert!(disk.room() < 100 * 1024 * KIB - disk.total(), "room is held back again");
}

#[test]
fn updates_do_not_use_up_the_reserve_for_deletes() {
    let (_disk, store, taken) = full_disk();
    // Like a controller that keeps writing status.
    let refused = (0..10_000).find(|_| put(&store, &object(1), vec![b'y'; 1024]).is_err());
    // Compaction may have freed space meanwhile; deletes must go on in any case.
    let _ = refused;
    delete_all(&store, taken);
}

#[test]
fn a_store_opens_on_a_full_disk() {
    let (disk, store, taken) = full_disk();
    drop(store);
    // Another program uses the last byte.
    let used = disk.total();
    let full = disk.copy();
    full.set_capacity(Some(used));
    let store = open(&full, options()).expect("a store on a full disk");
    assert_eq!(list_at(&store, None).items.len() as u64, taken + 1);
    put(&store, "another", vec![b'x'; 2000]).expect_err("the disk is full");
    assert!(alarm(&store).is_some());
    full.set_capacity(None);
    wait_until("there is room again", || alarm(&store).is_none());
    put(&store, "another", vec![b'x'; 2000]).expect("a write");
}

#[test]
fn over_quota_only_deletes_are_allowed() {
    let disk = SimDisk::new();
    let quota = 1024 * KIB;
    let options = || options().quota_bytes(quota).reserve_bytes(0);
    let store = open(&disk, options()).expect("a store");
    let (taken, error) = fill(&store);
    assert!(matches!(error, StoreError::QuotaExceeded { quota: 1_048_576, .. }), "{error}");
    assert!(alarm(&store).expect("an alarm").contains("quota"));
    assert!(taken > 400, "{taken}");
    // Also after a restart, when maintenance has freed what a checkpoint makes superfluous.
    drop(store);
    let store = open(&disk, options()).expect("a store");
    let refused = (0..2000).find_map(|n| put(&store, &format!("another/{n}"), vec![b'x'; 1024]).err());
    assert!(matches!(refused, Some(StoreError::QuotaExceeded { .. })), "{refused:?}");
    for n in 0..taken {
        delete(&store, &object(n)).expect("a delete");
    }
    wait_until("it is within its quota again", || alarm(&store).is_none());
    put(&store, "another", vec![b'x'; 2000]).expect("a write");
    assert!(disk.total() < quota, "{}", disk.total());
}

#[test]
fn history_does_not_use_up_a_quota() {
    let disk = SimDisk::new();
    let store = open(&disk, options().quota_bytes(1024 * KIB).reserve_bytes(0)).expect("a store");
    // Ten megabytes of updates of ten objects.
    for n in 0..10_000 {
        let mut written = put(&store, &object(n % 10), vec![b'x'; 1024]);
        if matches!(written, Err(StoreError::QuotaExceeded { .. })) {
            // Maintenance is starved on a busy machine: wait, as a client would.
            wait_until("the log is shortened", || alarm(&store).is_none());
            written = put(&store, &object(n % 10), vec![b'x'; 1024]);
        }
        written.expect("a write");
    }
}
