//! Backup, restore, check, and locking.

use std::{os::unix::fs::PermissionsExt, path::Path, sync::Arc, thread};

use pleach_store::{Commit, Expect, Key, Range, RangeQuery, Revision, Store, StoreError, contract::block_on};
use pleach_store_log::{LogStore, Options, backup, check, restore};
use tempfile::TempDir;

fn put(store: &LogStore, key: &str, value: &str) -> Revision {
    let commit = Commit::put(key, Expect::Anything, value.as_bytes().to_vec());
    block_on(store.commit(commit)).expect("a write")
}

fn list(store: &LogStore) -> Range {
    block_on(store.range(RangeQuery::prefix(""))).expect("a range")
}

fn filled(directory: &Path) -> LogStore {
    let store = LogStore::open(directory).expect("a store");
    for n in 0..50 {
        put(&store, &format!("k/{}", n % 20), &format!("value {n}"));
    }
    block_on(store.commit(Commit::delete("k/3", Expect::Anything))).expect("a delete");
    store
}

#[test]
fn a_backup_of_an_open_store_restores() {
    let room = TempDir::new().expect("a directory");
    let store = filled(&room.path().join("store"));
    let file = room.path().join("backup");
    let report = store.backup(&file).expect("a backup");
    let wanted = list(&store);
    assert_eq!((report.revision, report.keys), (wanted.revision, 19));
    put(&store, "late", "not in it");
    let restored = restore(&file, room.path().join("restored"), 0).expect("a restore");
    assert_eq!(restored.keys, 19);
    let other = LogStore::open(room.path().join("restored")).expect("a store");
    assert_eq!(list(&other), wanted);
    assert_eq!(put(&other, "new", "x"), wanted.revision.next());
}

#[test]
fn a_backup_of_a_closed_store_and_of_one_another_process_writes_to() {
    let room = TempDir::new().expect("a directory");
    let directory = room.path().join("store");
    let options = Options::new().segment_bytes(2_000).checkpoint_bytes(2_000).history_commits(20).sync(false);
    let store = Arc::new(options.open(&directory).expect("a store"));
    let writer = {
        let store = Arc::clone(&store);
        thread::spawn(move || {
            for n in 0..3_000 {
                // Both keys always have the same value.
                let ops = ["a", "b"].map(|key| {
                    pleach_store::Op::put(key, Expect::Anything, format!("{n:0>100}").into_bytes())
                });
                block_on(store.commit(Commit::from_iter(ops))).expect("a write");
            }
        })
    };
    let mut last = Revision(0);
    for n in 0..10 {
        let file = room.path().join(format!("backup-{n}"));
        // Through the directory, as another process would.
        let report = backup(&directory, &file).expect("a backup");
        assert!(report.revision >= last, "later backups are later");
        last = report.revision;
        let target = room.path().join(format!("restored-{n}"));
        restore(&file, &target, 0).expect("a restore");
        let items = list(&LogStore::open(&target).expect("a store")).items;
        assert!(items.windows(2).all(|pair| pair[0].value == pair[1].value), "a consistent snapshot");
    }
    writer.join().expect("no panic");
    let wanted = list(&store);
    drop(store);
    let file = room.path().join("backup");
    assert_eq!(backup(&directory, &file).expect("a backup").revision, wanted.revision);
    restore(&file, room.path().join("restored"), 0).expect("a restore");
    assert_eq!(list(&LogStore::open(room.path().join("restored")).expect("a store")), wanted);
}

#[test]
fn a_restore_can_skip_revisions_clients_may_have_seen() {
    let room = TempDir::new().expect("a directory");
    let store = filled(&room.path().join("store"));
    let file = room.path().join("backup");
    let report = store.backup(&file).expect("a backup");
    let target = room.path().join("restored");
    restore(&file, &target, 1_000).expect("a restore");
    let other = LogStore::open(&target).expect("a store");
    let current = Revision(report.revision.0 + 1_000);
    assert_eq!(block_on(other.revision()).expect("a revision"), current);
    let answer = block_on(other.watch(Key::new(""), Revision(report.revision.0 + 7)));
    assert!(matches!(answer, Err(StoreError::Compacted { .. })), "clients list again");
    assert_eq!(put(&other, "new", "x"), current.next());
}

#[test]
fn restore_refuses_an_existing_store_and_a_damaged_backup() {
    let room = TempDir::new().expect("a directory");
    let directory = room.path().join("store");
    let store = filled(&directory);
    let file = room.path().join("backup");
    store.backup(&file).expect("a backup");
    let into_open = restore(&file, &directory, 0).expect_err("it is open").to_string();
    assert!(into_open.contains("another process"), "{into_open}");
    drop(store);
    let into_closed = restore(&file, &directory, 0).expect_err("there is a store").to_string();
    assert!(into_closed.contains("a store in it already"), "{into_closed}");
    let mut bytes = std::fs::read(&file).expect("the file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&file, bytes).expect("the file");
    let target = room.path().join("restored");
    assert!(matches!(restore(&file, &target, 0), Err(StoreError::Damaged { .. })));
    assert!(list(&LogStore::open(&target).expect("a store")).items.is_empty(), "nothing was restored");
}

#[test]
fn check_reports_statistics_and_damage() {
    let room = TempDir::new().expect("a directory");
    let directory = room.path().join("store");
    let store = filled(&directory);
    let while_open = check(&directory).expect("sound");
    drop(store);
    let report = check(&directory).expect("sound");
    assert_eq!(report, while_open);
    assert_eq!((report.keys, report.revision, report.replayed, report.unfinished), (19, Revision(52), 51, 0));
    let log = std::fs::read_dir(&directory).expect("a directory").filter_map(Result::ok);
    let log = log.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "log"));
    let log = log.expect("a log");
    let sound = std::fs::read(&log).expect("the log");
    std::fs::write(&log, [&sound[..], b"torn"].concat()).expect("the log");
    let report = check(&directory).expect("an unfinished write is no damage");
    assert_eq!((report.unfinished, report.revision), (4, Revision(52)));
    assert_eq!(std::fs::metadata(&log).expect("the log").len(), sound.len() as u64 + 4, "it changes nothing");
    std::fs::write(&log, &sound[..sound.len() - 5]).expect("the log");
    let error = check(&directory).expect_err("what was acknowledged is cut").to_string();
    assert!(error.contains("commits up to revision 52 were acknowledged, and those after 51"), "{error}");
    let mut broken = sound.clone();
    broken[200] ^= 1;
    std::fs::write(&log, broken).expect("the log");
    let error = check(&directory).expect_err("damaged").to_string();
    assert!(error.contains("damaged at byte") && error.contains("restore a backup"), "{error}");
    assert!(check(room.path().join("nowhere")).is_err());
}

#[test]
fn a_directory_is_locked_and_private() {
    let room = TempDir::new().expect("a directory");
    let directory = room.path().join("deep").join("store");
    let store = filled(&directory);
    let error = LogStore::open(&directory).expect_err("it is open").to_string();
    assert!(error.contains("another process has this store open"), "{error}");
    let mode = |path: &Path| std::fs::metadata(path).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode(&directory), 0o700);
    for entry in std::fs::read_dir(&directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    drop(store);
    LogStore::open(&directory).expect("a closed store opens");
}

#[test]
fn close_writes_queued_commits_and_ends_watches() {
    let room = TempDir::new().expect("a directory");
    let store = LogStore::open(room.path()).expect("a store");
    let mut watch = block_on(store.watch(Key::new(""), Revision::FIRST)).expect("a watch");
    for n in 0..20 {
        // Not waited for.
        drop(store.commit(Commit::put(format!("k/{n}"), Expect::Absent, "v")));
    }
    store.close();
    let mut events = 0;
    loop {
        match block_on(watch.next()) {
            Some(Ok(_)) => events += 1,
            Some(Err(StoreError::Closed)) => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(events, 20);
    assert_eq!(list(&LogStore::open(room.path()).expect("a store")).items.len(), 20);
}

#[test]
fn values_over_the_limit_are_kept_backed_up_and_restored() {
    let room = TempDir::new().expect("a directory");
    let (directory, file) = (room.path().join("store"), room.path().join("backup"));
    let large = vec![b'x'; 3_000_000];
    let store = Options::new().value_bytes(u64::MAX).open(&directory).expect("a store");
    block_on(store.commit(Commit::put("large", Expect::Absent, large.clone()))).expect("a write");
    drop(store);
    let store = LogStore::open(&directory).expect("a store with the usual limit");
    store.backup(&file).expect("a backup");
    store.checkpoint().expect("a checkpoint");
    restore(&file, room.path().join("restored"), 0).expect("a restore");
    let other = LogStore::open(room.path().join("restored")).expect("a store");
    for store in [&store, &other] {
        let found = block_on(store.get(&Key::new("large"), None)).expect("a read").expect("the key");
        assert!(found.value == large);
        let refused = block_on(store.commit(Commit::put("large", Expect::Anything, large.clone())));
        assert!(matches!(refused, Err(StoreError::TooLarge { size: 3_000_000, limit: 1_572_864 })));
        block_on(store.commit(Commit::delete("large", Expect::At(found.revision)))).expect("a delete");
    }
}
