//! One test for each class of bug found in revisioned, watchable stores.

use super::*;
use crate::disk::sim::Fault;

#[test]
fn the_revision_does_not_go_back_after_a_crash() {
    let disk = SimDisk::new();
    let mut acknowledged = Revision::FIRST;
    let mut left = disk;
    for round in 0..20 {
        let store = open(&left, small()).expect("a store");
        assert!(revision(&store) >= acknowledged, "round {round}");
        for n in 0..5 {
            acknowledged = put(&store, &format!("k/{n}"), format!("{round}")).expect("a write");
        }
        block_on(store.compact(acknowledged)).expect("a compaction");
        if round % 3 == 0 {
            store.checkpoint().expect("a checkpoint");
        }
        // Not closed: the store is dropped, the disk stays as it is.
        left = left.crash(&mut TestRng::new(round));
    }
}

#[test]
fn visible_revisions_are_not_reused() {
    let disk = SimDisk::new();
    let store = open(&disk, small()).expect("a store");
    put(&store, "a", "one").expect("a write");
    disk.set_fault(Some(Fault { at: 0, sticky: true, torn: 50, code: None }));
    put(&store, "a", "lost").expect_err("the disk is broken");
    let seen = list_at(&store, None);
    let left = disk.crash(&mut TestRng::new(1));
    let store = open(&left, small()).expect("a store");
    assert_eq!(list_at(&store, Some(seen.revision)), seen);
}

#[test]
fn events_are_neither_lost_nor_doubled_when_a_queue_overflows() {
    let store = open(&SimDisk::new(), small()).expect("a store");
    let mut watch = watch(&store, "k/", Revision::FIRST);
    let (mut seen, mut written, mut rng) = (Revision::FIRST, Revision::FIRST, TestRng::new(3));
    while written.0 < 600 {
        // The watcher falls behind and catches up many times.
        for _ in 0..rng.below(9) {
            written = put(&store, &format!("k/{}", rng.below(5)), "v").expect("a write");
        }
        for _ in 0..rng.below(9) {
            if seen < written {
                let batch = next(&mut watch).expect("an event");
                assert_eq!(batch.revision(), seen.next());
                seen = batch.revision();
            }
        }
    }
}

#[test]
fn events_are_in_order_while_a_watcher_catches_up_with_writers() {
    let store = Arc::new(open(&SimDisk::new(), small()).expect("a store"));
    let writers: Vec<_> = (0..3)
        .map(|writer| {
            let store = Arc::clone(&store);
            std::thread::spawn(move || {
                for n in 0..400 {
                    put(&*store, &format!("k/{writer}"), format!("{n}")).expect("a write");
                }
            })
        })
        .collect();
    let mut seen = Revision::FIRST;
    let mut watch = watch(&*store, "k/", Revision::FIRST);
    while seen.0 < 1 + 1200 {
        let batch = next(&mut watch).expect("an event");
        assert_eq!(batch.revision(), seen.next());
        seen = batch.revision();
    }
    for writer in writers {
        writer.join().expect("no panic");
    }
}

#[test]
fn progress_is_not_ahead_of_events_while_a_watcher_is_behind() {
    let store = open(&SimDisk::new(), small()).expect("a store");
    let mut watch = watch(&store, "k/", Revision::FIRST);
    let mut rng = TestRng::new(9);
    let mut unread = std::collections::VecDeque::new();
    for _ in 0..500 {
        match rng.below(5) {
            0 | 1 => unread.push_back(put(&store, "k/1", "v").expect("a write")),
            2 | 3 => drop(put(&store, "other", "v").expect("a write")),
            _ => {
                if let Some(wanted) = unread.pop_front() {
                    assert_eq!(next(&mut watch).expect("an event").revision(), wanted);
                }
            }
        }
        if let Some(first) = unread.front() {
            assert!(watch.progress() < *first, "progress {} before {first}", watch.progress());
        }
    }
}

#[test]
fn a_starved_watcher_loses_no_event() {
    let store = open(&SimDisk::new(), small()).expect("a store");
    let mut starved = watch(&store, "k/", Revision::FIRST);
    for n in 0..3_000 {
        put(&store, &format!("k/{}", n % 11), "v").expect("a write");
    }
    for wanted in 2..=3_001 {
        assert_eq!(next(&mut starved).expect("an event").revision(), Revision(wanted));
    }
    assert_eq!(starved.progress(), Revision(3_001));
}

#[test]
fn a_watch_at_the_compacted_revision_succeeds_also_after_a_restart() {
    let disk = SimDisk::new();
    let mut store = open(&disk, small()).expect("a store");
    for n in 0..20 {
        put(&store, "k", format!("{n}")).expect("a write");
    }
    block_on(store.compact(Revision(10))).expect("a compaction");
    put(&store, "k", "last").expect("a write");
    for restarted in [false, true] {
        if restarted {
            drop(store);
            store = open(&disk, small()).expect("a store");
        }
        let ask = |after| block_on(store.watch(Key::new("k"), Revision(after)));
        assert!(matches!(ask(9), Err(StoreError::Compacted { oldest: Revision(10), .. })), "before it");
        for (after, why) in [(10, "at it"), (11, "after it"), (21, "before the last"), (22, "at the present")]
        {
            let mut watch = ask(after).unwrap_or_else(|error| panic!("{why}: {error}"));
            for wanted in after + 1..=22 {
                assert_eq!(next(&mut watch).expect("an event").revision(), Revision(wanted), "{why}");
            }
        }
        assert!(matches!(ask(23), Err(StoreError::Future { current: Revision(22), .. })), "in the future");
    }
}

#[test]
fn a_delete_is_not_dropped_by_compaction() {
    let disk = SimDisk::new();
    let mut store = open(&disk, small()).expect("a store");
    put(&store, "a", "one").expect("a write");
    let before = put(&store, "b", "one").expect("a write");
    let deleted = delete(&store, "a").expect("a delete");
    put(&store, "b", "two").expect("a write");
    block_on(store.compact(before)).expect("a compaction");
    store.checkpoint().expect("a checkpoint");
    for restarted in [false, true] {
        if restarted {
            drop(store);
            store = open(&disk, small()).expect("a store");
        }
        let batch = next(&mut watch(&store, "", before)).expect("an event");
        assert_eq!((batch.revision(), &batch[0].value), (deleted, &None));
        assert_eq!(batch[0].previous.as_ref().expect("what was deleted").value, "one");
    }
}

#[test]
fn compaction_right_behind_the_writer_drops_nothing_undelivered() {
    let store = open(&SimDisk::new(), Options::new().watch_queue(1_000)).expect("a store");
    let mut level = watch(&store, "k/", Revision::FIRST);
    for n in 0..500 {
        let written = put(&store, "k/1", format!("{n}")).expect("a write");
        block_on(store.compact(written)).expect("a compaction");
    }
    for wanted in 2..=501 {
        assert_eq!(next(&mut level).expect("an event").revision(), Revision(wanted));
    }
}

#[test]
fn a_deleted_object_does_not_reappear() {
    let disk = SimDisk::new();
    let mut store = open(&disk, small()).expect("a store");
    put(&store, "a", "one").expect("a write");
    put(&store, "b", "one").expect("a write");
    store.checkpoint().expect("a checkpoint");
    let deleted = delete(&store, "a").expect("a delete");
    let gone = |store: &LogStore, when: &str| {
        assert_eq!(block_on(store.get(&Key::new("a"), None)).expect("a read"), None, "{when}");
        let keys: Vec<_> = list_at(store, None).items.into_iter().map(|item| item.key).collect();
        assert_eq!(keys, [Key::new("b")], "{when}");
    };
    gone(&store, "at once");
    block_on(store.compact(deleted)).expect("a compaction");
    gone(&store, "after compaction");
    drop(store);
    store = open(&disk, small()).expect("a store");
    gone(&store, "after a restart");
    store.checkpoint().expect("a checkpoint");
    gone(&store, "after a checkpoint");
    let left = disk.crash(&mut TestRng::new(5));
    gone(&open(&left, small()).expect("a store"), "after a crash");
}

#[test]
fn history_survives_a_restart_for_watches_that_resume() {
    let disk = SimDisk::new();
    let store = open(&disk, small()).expect("a store");
    for n in 0..40 {
        put(&store, &format!("k/{}", n % 3), vec![b'x'; 50]).expect("a write");
        if n == 20 {
            block_on(store.compact(Revision(12))).expect("a compaction");
            store.checkpoint().expect("a checkpoint");
        }
    }
    let before: Vec<_> = {
        let mut watch = watch(&store, "", Revision(15));
        (16..=41).map(|_| next(&mut watch).expect("an event")).collect()
    };
    drop(store);
    let store = open(&disk, small()).expect("a store");
    let mut watch = watch(&store, "", Revision(15));
    for wanted in before {
        assert_eq!(next(&mut watch).expect("an event"), wanted);
    }
}

#[test]
fn a_watch_fails_only_when_its_history_was_compacted() {
    let store = open(&SimDisk::new(), small()).expect("a store");
    let mut watch = watch(&store, "k/", Revision::FIRST);
    for n in 0..50 {
        put(&store, "k/1", format!("{n}")).expect("a write");
    }
    block_on(store.compact(Revision(40))).expect("a compaction");
    let mut seen = Revision::FIRST;
    let error = loop {
        match next(&mut watch) {
            Ok(batch) => {
                assert_eq!(batch.revision(), seen.next(), "what was queued still comes, without a gap");
                seen = batch.revision();
            }
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::WatchCompacted), "{error}");
    assert!(watch.progress() <= seen);
    assert!(block_on(watch.next()).is_none());
}
