//! Fault injection: every call to the disk fails once, in every way, followed by a crash.
//!
//! After each: acknowledged commits are there, the content is a prefix of what was attempted, reads go
//! on while writes fail, and the store can be opened and written to again.

use super::*;
use crate::disk::sim::Fault;

/// The operations of a workload before it was stopped.
struct Run {
    /// Everything attempted, as if it had all succeeded.
    attempted: ModelStore,
    /// The last commit that was acknowledged.
    acknowledged: Revision,
    failed: bool,
}

/// A short workload: concurrent commits, a compaction and a checkpoint.
fn run_workload(disk: &SimDisk, seed: u64) -> Run {
    let attempted = ModelStore::new();
    let mut run = Run { attempted, acknowledged: Revision::FIRST, failed: false };
    let Ok(store) = open(disk, small()) else {
        run.failed = true;
        return run;
    };
    let mut rng = TestRng::new(seed);
    for round in 0..8 {
        // Queued together, so that some share a frame.
        let commits: Vec<_> = (0..3).map(|n| random_commit(&mut rng, round * 3 + n)).collect();
        let answers: Vec<_> = commits.iter().map(|commit| store.commit(commit.clone())).collect();
        let mut stopped = false;
        for (commit, answer) in commits.into_iter().zip(answers) {
            let answer = block_on(answer);
            // Without a segment nothing was written.
            if matches!(&answer, Err(StoreError::Io { doing, .. }) if doing.contains("begin a new segment")) {
                run.failed = true;
                continue;
            }
            let wanted = block_on(run.attempted.commit(commit)).expect("the model takes it");
            match answer {
                Ok(revision) => {
                    assert!(!stopped, "seed {seed}: acknowledged after a failure");
                    assert_eq!(revision, wanted, "seed {seed}");
                    run.acknowledged = revision;
                }
                Err(StoreError::Io { .. } | StoreError::ReadOnly { .. }) => stopped = true,
                Err(other) => panic!("seed {seed}: {other}"),
            }
        }
        if stopped {
            run.failed = true;
            // Reads go on and show only acknowledged commits; writes return the reason.
            assert_eq!(revision(&store), run.acknowledged, "seed {seed}");
            assert_prefix(&store, &run.attempted, "while it takes no writes");
            let refused = put(&store, "late", "x");
            assert!(matches!(&refused, Err(StoreError::ReadOnly { reason }) if reason.contains("simulated")));
            assert!(block_on(store.stats()).expect("figures").read_only.is_some());
            return run;
        }
        if round == 3 || round == 6 {
            let before = Revision(run.acknowledged.0.saturating_sub(2));
            block_on(store.compact(before)).expect("a compaction");
            // A failed checkpoint is retried later; commits go on.
            run.failed |= store.checkpoint().is_err();
        }
    }
    run
}

/// Asserts that a crashed store opens, holds what it must, and is writable.
#[track_caller]
fn survives(disk: &SimDisk, run: &Run, context: &str) {
    let store = open(disk, small()).unwrap_or_else(|error| panic!("{context}: {error}"));
    let found = revision(&store);
    assert!(found >= run.acknowledged, "{context}: {} was acknowledged, {found} is there", run.acknowledged);
    assert_prefix(&store, &run.attempted, context);
    let written = put(&store, "after", "the crash").unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_eq!(written, found.next(), "{context}");
    drop(store);
    let store = open(disk, small()).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert_eq!(revision(&store), written, "{context}");
    let found = block_on(store.get(&Key::new("after"), None)).expect("a read");
    assert_eq!(found.expect("the key").value, "the crash", "{context}");
}

fn calls_of_a_workload() -> u64 {
    let disk = SimDisk::new();
    assert!(!run_workload(&disk, 7).failed);
    // Grouping depends on timing: some runs make more calls than this one.
    disk.calls() + 10
}

#[test]
fn any_call_may_fail_once() {
    for at in 0..calls_of_a_workload() {
        for torn in [0, 40, 100] {
            let context = format!("call {at}, torn at {torn}%");
            let disk = SimDisk::new();
            disk.set_fault(Some(Fault { at, sticky: false, torn, code: None }));
            let run = run_workload(&disk, 7);
            disk.set_fault(None);
            // Only the process ends: unsynced data is kept.
            survives(&disk.copy(), &run, &context);
            for seed in 0..3 {
                survives(&disk.crash(&mut TestRng::new(at * 10 + seed)), &run, &context);
            }
        }
    }
}

#[test]
fn a_crash_at_any_disk_call_is_recovered_from() {
    for at in 0..calls_of_a_workload() {
        for (seed, torn) in [(1, 0), (2, 70), (3, 100)] {
            let disk = SimDisk::new();
            disk.set_fault(Some(Fault { at, sticky: true, torn, code: None }));
            let run = run_workload(&disk, 7);
            for luck in 0..4 {
                let context = format!("power off at call {at}, seed {seed}, luck {luck}");
                survives(&disk.crash(&mut TestRng::new(at * 100 + seed * 10 + luck)), &run, &context);
            }
        }
    }
}

#[test]
fn a_crash_during_recovery_is_recovered_from() {
    for at in (0..calls_of_a_workload()).step_by(3) {
        let disk = SimDisk::new();
        disk.set_fault(Some(Fault { at, sticky: true, torn: 60, code: None }));
        let run = run_workload(&disk, 7);
        for again in 0..6 {
            let mut rng = TestRng::new(at * 100 + again);
            let left = disk.crash(&mut rng);
            // Recovery makes few calls; each is the last one in turn.
            left.set_fault(Some(Fault { at: again, sticky: true, torn: 0, code: None }));
            drop(open(&left, small()));
            left.set_fault(None);
            survives(&left.crash(&mut rng), &run, &format!("power off at call {at}, then at {again}"));
        }
    }
}

#[test]
fn random_workloads_survive_random_faults() {
    for seed in 100..160 {
        let mut rng = TestRng::new(seed);
        let disk = SimDisk::new();
        let fault =
            Fault { at: rng.below(80), sticky: rng.below(2) == 0, torn: rng.below(101) as usize, code: None };
        disk.set_fault(Some(fault));
        let run = run_workload(&disk, seed);
        survives(&disk.crash(&mut rng), &run, &format!("seed {seed}, {fault:?}"));
    }
}

#[test]
fn a_conflict_is_not_returned_before_the_conflicting_commit_is_durable() {
    let disk = SimDisk::new();
    let store = open(&disk, small()).expect("a store");
    let first = put(&store, "a", "one").expect("a write");
    disk.set_fault(Some(Fault { at: 0, sticky: true, torn: 0, code: None }));
    let held = disk.clone();
    let create = |value: &'static str| store.commit(Commit::put("b", Expect::Absent, value));
    let (one, two) = (create("one"), create("two"));
    // A conflict with the first commit would have exposed a commit that never happened.
    for answer in [block_on(one), block_on(two)] {
        assert!(matches!(answer, Err(StoreError::Io { .. } | StoreError::ReadOnly { .. })), "{answer:?}");
    }
    assert_eq!(revision(&store), first);
    drop(held);
}

#[test]
fn a_failed_checkpoint_is_retried() {
    for at in 0..4 {
        let disk = SimDisk::new();
        let store = open(&disk, small()).expect("a store");
        for n in 0..30 {
            put(&store, &format!("k/{}", n % 5), vec![b'x'; 100]).expect("a write");
        }
        block_on(store.compact(revision(&store))).expect("a compaction");
        disk.set_fault(Some(Fault { at, sticky: false, torn: 50, code: None }));
        assert!(store.checkpoint().is_err(), "call {at}");
        put(&store, "k/0", "still written").expect("a write");
        store.checkpoint().expect("a checkpoint");
        let left = disk.list_names();
        assert_eq!(left.iter().filter(|name| name.ends_with(".checkpoint")).count(), 1, "{left:?}");
        let wanted = list_at(&store, None);
        drop(store);
        let store = open(&disk, small()).expect("a store");
        assert_eq!(list_at(&store, None), wanted);
    }
}

/// Transient errors: disk full, over quota, too many open files (process, system), interrupted.
const TRANSIENT: [i32; 5] = [28, 122, 24, 23, 4];

#[test]
fn transient_errors_are_recovered_from() {
    for code in TRANSIENT {
        for at in 0..60 {
            for torn in [0, 60, 100] {
                let context = format!("error {code} at call {at}, torn at {torn}%");
                let disk = SimDisk::new();
                let store = open(&disk, small().reserve_bytes(0)).expect("a store");
                disk.set_fault(Some(Fault { at, sticky: false, torn, code: Some(code) }));
                let acknowledged = ModelStore::new();
                let mut failed = 0;
                for n in 0..30_u64 {
                    let (key, value) = (format!("k/{}", n % 7), vec![b'x'; 90]);
                    match put(&store, &key, value.clone()) {
                        Ok(revision) => {
                            assert_eq!(put(&acknowledged, &key, value).ok(), Some(revision), "{context}");
                        }
                        Err(StoreError::Io { .. }) => {
                            failed += 1;
                            wait_until("there is room again", || alarm(&store).is_none());
                        }
                        Err(other) => panic!("{context}: {other}"),
                    }
                    if n % 10 == 9 {
                        block_on(store.compact(revision(&store))).expect("a compaction");
                        let _ = store.checkpoint();
                    }
                }
                // A failed commit may be retried by the caller; a successful one is there.
                assert!(failed <= 1, "{context}: {failed} failed");
                assert_prefix(&store, &acknowledged, &context);
                assert_eq!(block_on(store.stats()).expect("figures").read_only, None, "{context}");
                for seed in 0..2 {
                    let left = disk.crash(&mut TestRng::new(at * 10 + seed));
                    let found = open(&left, small()).unwrap_or_else(|error| panic!("{context}: {error}"));
                    assert!(revision(&found) >= revision(&acknowledged), "{context}");
                    assert_prefix(&found, &acknowledged, &context);
                }
                drop(store);
                let found = open(&disk, small()).unwrap_or_else(|error| panic!("{context}: {error}"));
                assert_eq!(list_at(&found, None), list_at(&acknowledged, None), "{context}");
            }
        }
    }
}

#[test]
fn a_failed_write_that_cannot_be_truncated_is_ignored() {
    // The write fails halfway, the truncation fails as well, then the disk works again.
    for (first, calls) in [(0, 2), (0, 3), (1, 2), (1, 3)] {
        let context = format!("calls {first} to {}", first + calls);
        let disk = SimDisk::new();
        let store = open(&disk, Options::new().reserve_bytes(0)).expect("a store");
        let acknowledged = ModelStore::new();
        for n in 0..3 {
            for at in [&store as &dyn Store, &acknowledged] {
                put(at, &format!("k/{n}"), "before").expect("a write");
            }
        }
        disk.set_fault(Some(Fault { at: first, sticky: true, torn: 100, code: Some(28) }));
        put(&store, "k/0", "refused").expect_err("no room");
        while disk.calls() < first + calls {
            put(&store, "k/0", "refused").expect_err("no room");
        }
        disk.set_fault(None);
        wait_until("there is room again", || alarm(&store).is_none());
        for n in 0..3 {
            for at in [&store as &dyn Store, &acknowledged] {
                put(at, &format!("k/{n}"), "after").unwrap_or_else(|error| panic!("{context}: {error}"));
            }
        }
        drop(store);
        for seed in 0..4 {
            let left = disk.crash(&mut TestRng::new(seed));
            let found = open(&left, Options::new()).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(revision(&found), revision(&acknowledged), "{context}");
            assert_prefix(&found, &acknowledged, &context);
        }
    }
}

#[test]
fn a_process_out_of_file_descriptors_goes_on_writing() {
    let disk = SimDisk::new();
    let store = open(&disk, small()).expect("a store");
    put(&store, "k/0", vec![b'x'; 300]).expect("a write");
    disk.set_no_create(Some(24));
    for n in 0..50 {
        put(&store, &format!("k/{n}"), vec![b'x'; 100]).expect("the open segment gets longer");
    }
    assert_eq!(block_on(store.stats()).expect("figures").read_only, None);
    disk.set_no_create(None);
    for n in 0..50 {
        put(&store, &format!("k/{n}"), vec![b'y'; 100]).expect("a write");
    }
    let segments = disk.list_names().iter().filter(|name| name.ends_with(".log")).count();
    assert!(segments > 3, "{segments} segments");
    let wanted = list_at(&store, None);
    drop(store);
    assert_eq!(list_at(&open(&disk, small()).expect("a store"), None), wanted);
}

#[test]
fn a_new_store_out_of_descriptors_writes_once_there_are_some() {
    let disk = SimDisk::new();
    let store = open(&disk, small()).expect("a store");
    for code in [24, 23] {
        disk.set_no_create(Some(code));
        let error = put(&store, "a", "one").expect_err("there is no segment").to_string();
        assert!(error.contains("cannot begin a new segment of the log: "), "{error}");
    }
    disk.set_no_create(None);
    assert_eq!(put(&store, "a", "one").expect("a write"), Revision(2));
}
