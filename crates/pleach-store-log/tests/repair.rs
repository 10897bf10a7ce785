//! Damaged stores are repaired, and the losses reported.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use pleach_store::{
    Commit, Expect, Key, RangeQuery, Revision, Store, StoreError, Versioned,
    contract::{TestRng, block_on},
};
use pleach_store_log::{LogStore, Options, Repair, RepairReport, check, repair};
use tempfile::TempDir;

const SKIP: u64 = 1_000;

fn plan() -> Repair {
    Repair { skip: SKIP, ..Repair::default() }
}

const FINE: fn(&Versioned) -> Result<(), String> = |_| Ok(());

fn put(store: &LogStore, key: &str, value: &str) -> Revision {
    block_on(store.commit(Commit::put(key, Expect::Anything, value.as_bytes().to_vec()))).expect("a write")
}

/// Twenty commits, each of its own key: `k/02` is at revision 2. Optionally with a checkpoint of the
/// first half.
fn filled(directory: &Path, checkpoint: bool) {
    let store = Options::new().reserve_bytes(0).open(directory).expect("a store");
    for n in 2..22 {
        assert_eq!(put(&store, &format!("k/{n:02}"), &format!("value {n}")), Revision(n));
        if checkpoint && n == 11 {
            block_on(store.compact(Revision(n))).expect("a compaction");
            store.checkpoint().expect("a checkpoint");
        }
    }
}

fn file(directory: &Path, suffix: &str) -> PathBuf {
    let names = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    names.filter(|path| path.to_string_lossy().ends_with(suffix)).max().expect("such a file")
}

/// Changes the bytes of a file.
fn change(path: &Path, how: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(path).expect("a file");
    how(&mut bytes);
    fs::write(path, bytes).expect("a file");
}

/// The offset of the frame that contains some text.
fn place_of(path: &Path, text: &str) -> usize {
    let bytes = fs::read(path).expect("a file");
    bytes.windows(text.len()).position(|part| part == text.as_bytes()).expect("the text")
}

fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry"));
    entries
        .filter(|entry| entry.path().is_file())
        .map(|entry| {
            (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).expect("a file"))
        })
        .collect()
}

fn keys(directory: &Path) -> (Vec<String>, Revision) {
    let store = LogStore::open(directory).expect("a store");
    let range = block_on(store.range(RangeQuery::prefix(""))).expect("a range");
    (range.items.iter().map(|item| item.key.to_string()).collect(), range.revision)
}

fn all_but(missing: &[u64]) -> Vec<String> {
    (2..22).filter(|n| !missing.contains(n)).map(|n| format!("k/{n:02}")).collect()
}

/// Repairs a damaged store, first as a dry run; returns the report.
#[track_caller]
fn mended(directory: &Path, plan: &Repair) -> RepairReport {
    assert!(matches!(LogStore::open(directory), Err(StoreError::Damaged { .. })), "it is damaged");
    let before = files(directory);
    let dry = repair(directory, &Repair { dry_run: true, ..plan.clone() }, FINE).expect("a dry run");
    assert_eq!(files(directory), before, "a dry run changes nothing");
    assert!(!dry.damage.is_empty() && dry.kept_in.is_none());
    let done = repair(directory, plan, FINE).expect("a repair");
    assert_eq!((&done.damage, &done.lost, done.keys), (&dry.damage, &dry.lost, dry.keys));
    let kept = files(done.kept_in.as_ref().expect("a copy"));
    for (name, bytes) in &before {
        let ours = name.ends_with(".log") || name.ends_with(".checkpoint") || name == "SYNCED";
        assert!(!ours || kept.get(name) == Some(bytes), "{name} is kept");
    }
    let report = check(directory).expect("it is sound");
    assert_eq!((report.revision, report.keys), (done.revision, done.keys));
    assert!(repair(directory, plan, FINE).expect("nothing to do").kept_in.is_none());
    done
}

#[test]
fn an_intact_store_is_not_changed() {
    let room = TempDir::new().expect("a directory");
    filled(room.path(), true);
    let before = files(room.path());
    let done = repair(room.path(), &plan(), FINE).expect("a repair");
    assert!(done.damage.is_empty() && done.lost.is_empty() && done.kept_in.is_none());
    assert_eq!((done.keys, done.revision), (20, Revision(21)));
    assert_eq!(files(room.path()), before);
    assert!(repair(room.path().join("nowhere"), &plan(), FINE).is_err());
    let store = LogStore::open(room.path()).expect("a store");
    let error = repair(room.path(), &plan(), FINE).expect_err("it is open").to_string();
    assert!(error.contains("another process has this store open"), "{error}");
    drop(store);
}

#[test]
fn a_damaged_commit_loses_only_itself() {
    for (n, lost) in [(9, (9, 9)), (21, (21, 21)), (2, (2, 2))] {
        let room = TempDir::new().expect("a directory");
        filled(room.path(), false);
        let log = file(room.path(), ".log");
        let at = place_of(&log, &format!("k/{n:02}"));
        change(&log, |bytes| bytes[at] ^= 1);
        let done = mended(room.path(), &plan());
        assert_eq!(done.lost, [(Revision(lost.0), Revision(lost.1))]);
        assert_eq!(keys(room.path()), (all_but(&[n]), Revision(21 + SKIP)));
    }
}

#[test]
fn a_truncated_or_missing_log_loses_its_commits() {
    let room = TempDir::new().expect("a directory");
    filled(room.path(), true);
    let log = file(room.path(), ".log");
    let at = place_of(&log, "k/20");
    change(&log, |bytes| bytes.truncate(at));
    assert_eq!(mended(room.path(), &plan()).lost, [(Revision(20), Revision(21))]);
    assert_eq!(keys(room.path()).0, all_but(&[20, 21]));

    let room = TempDir::new().expect("a directory");
    filled(room.path(), true);
    fs::remove_file(file(room.path(), ".log")).expect("a removal");
    assert_eq!(mended(room.path(), &plan()).lost, [(Revision(12), Revision(21))]);
    assert_eq!(keys(room.path()).0.len(), 10);
}

#[test]
fn a_damaged_checkpoint_is_read_as_far_as_it_goes() {
    let room = TempDir::new().expect("a directory");
    filled(room.path(), true);
    let checkpoint = file(room.path(), ".checkpoint");
    let at = place_of(&checkpoint, "k/05");
    change(&checkpoint, |bytes| bytes[at] ^= 1);
    // All its items are in one frame; the log before it still exists.
    let done = mended(room.path(), &plan());
    assert!(
        done.damage.iter().any(|said| said.contains("10 of 10 keys cannot be read")),
        "{:?}",
        done.damage
    );

    // A damaged header alone loses nothing.
    let room = TempDir::new().expect("a directory");
    filled(room.path(), true);
    for suffix in [".checkpoint", ".log"] {
        change(&file(room.path(), suffix), |bytes| bytes[29] ^= 1);
    }
    let done = mended(room.path(), &plan());
    assert!(done.lost.is_empty(), "{:?}", done.lost);
    assert_eq!(keys(room.path()), (all_but(&[]), Revision(21)), "nothing was lost, nothing is skipped");
}

#[test]
fn keys_are_deleted_and_their_values_kept() {
    for damaged in [false, true] {
        let room = TempDir::new().expect("a directory");
        filled(room.path(), false);
        let log = file(room.path(), ".log");
        let at = place_of(&log, "k/09");
        change(&log, |bytes| bytes[at] ^= u8::from(damaged));
        let bad = |item: &Versioned| {
            if item.key.as_str() == "k/07" { Err("no JSON".to_owned()) } else { Ok(()) }
        };
        let found = repair(room.path(), &Repair { dry_run: true, ..plan() }, bad).expect("a dry run");
        assert_eq!(found.undecodable, [(Key::new("k/07"), "no JSON".to_owned())]);
        let delete_keys = ["k/07", "k/99"].map(Key::new).to_vec();
        let done = repair(room.path(), &Repair { delete_keys, ..plan() }, bad).expect("a repair");
        assert_eq!((done.deleted, done.unknown), (vec![Key::new("k/07")], vec![Key::new("k/99")]));
        assert_eq!(done.undecodable, []);
        let (found, revision) = keys(room.path());
        assert_eq!(found, all_but(if damaged { &[7, 9] } else { &[7] }));
        assert_eq!(revision, done.revision);
        let kept = files(done.kept_in.as_ref().expect("a copy"));
        assert_eq!(kept["value-0"], b"value 7");
        assert_eq!(kept["keys"], b"value-0 k/07\n");
    }
}

#[test]
fn repair_refuses_a_newer_format() {
    let room = TempDir::new().expect("a directory");
    filled(room.path(), false);
    change(&file(room.path(), ".log"), |bytes| bytes[8] = 3);
    let before = files(room.path());
    let error = repair(room.path(), &plan(), FINE).expect_err("newer").to_string();
    assert!(error.contains("use a newer program"), "{error}");
    assert_eq!(files(room.path()), before);
}

#[test]
fn repair_of_random_damage_adds_nothing() {
    let originals = [true, false].map(|checkpoint| {
        let room = TempDir::new().expect("a directory");
        filled(room.path(), checkpoint);
        files(room.path())
    });
    for seed in 0..150 {
        let room = TempDir::new().expect("a directory");
        for (name, bytes) in &originals[(seed % 2) as usize] {
            fs::write(room.path().join(name), bytes).expect("a file");
        }
        let mut rng = TestRng::new(seed);
        for _ in 0..=rng.below(3) {
            let suffix =
                ["log", "checkpoint", "SYNCED"][rng.below(if seed % 2 == 0 { 3 } else { 1 }) as usize];
            change(&file(room.path(), suffix), |bytes| {
                let at = rng.below(bytes.len().max(1) as u64) as usize;
                match rng.below(4) {
                    0 => bytes.truncate(at),
                    1 => bytes.iter_mut().skip(at).take(40).for_each(|byte| *byte = 0),
                    2 => bytes.iter_mut().skip(at).take(4).for_each(|byte| *byte = 0xff),
                    _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1),
                }
            });
        }
        let done = repair(room.path(), &plan(), FINE);
        match done {
            Ok(_) => {}
            // The damage made the version look newer.
            Err(StoreError::Damaged { reason }) if reason.contains("newer program") => continue,
            Err(other) => panic!("seed {seed}: {other}"),
        }
        let store = LogStore::open(room.path()).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let range = block_on(store.range(RangeQuery::prefix(""))).expect("a range");
        for item in range.items {
            let n: u64 = item.key.as_str()[2..].parse().expect("a number");
            assert_eq!(
                (item.value, item.revision),
                (format!("value {n}").into(), Revision(n)),
                "seed {seed}"
            );
        }
    }
}
