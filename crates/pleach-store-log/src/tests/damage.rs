//! Damage is told from a crash, byte by byte.

use super::*;
use crate::format::HEADER;

/// A store of several commits in one segment, closed; the model of it.
fn written() -> (SimDisk, ModelStore) {
    let (disk, model) = (SimDisk::new(), ModelStore::new());
    let store = open(&disk, Options::new()).expect("a store");
    for n in 0..6 {
        for at in [&store as &dyn Store, &model] {
            put(at, &format!("k/{}", n % 4), format!("value {n}")).expect("a write");
        }
    }
    drop(store);
    (disk, model)
}

fn files_with(disk: &SimDisk, suffix: &str) -> Vec<String> {
    disk.list_names().into_iter().filter(|name| name.ends_with(suffix)).collect()
}

fn file_with(disk: &SimDisk, suffix: &str) -> String {
    files_with(disk, suffix).pop().expect("such a file")
}

#[test]
fn any_changed_byte_of_the_log_is_noticed() {
    let (disk, model) = written();
    let log = file_with(&disk, ".log");
    let size = disk.with_file(&log, |bytes| bytes.len());
    let last = revision(&model);
    let mut cut = 0;
    for at in 0..size {
        let copy = disk.copy();
        copy.with_file(&log, |bytes| bytes[at] ^= 0x10);
        match open(&copy, Options::new()) {
            // Only the last frame can look like one that was never finished.
            Ok(store) => {
                assert_eq!(revision(&store), last.before(), "byte {at}");
                assert_prefix(&store, &model, &format!("byte {at}"));
                cut += 1;
            }
            Err(StoreError::Damaged { reason }) => assert!(reason.contains(&log), "byte {at}: {reason}"),
            Err(other) => panic!("byte {at}: {other}"),
        }
    }
    assert!(cut > 0 && cut < size / 3, "{cut} of {size}");
}

#[test]
fn a_log_cut_anywhere_is_a_prefix() {
    let (disk, model) = written();
    let log = file_with(&disk, ".log");
    let size = disk.with_file(&log, |bytes| bytes.len());
    for at in 0..size {
        let copy = disk.copy();
        copy.with_file(&log, |bytes| bytes.truncate(at));
        let store = open(&copy, Options::new()).unwrap_or_else(|error| panic!("cut at {at}: {error}"));
        assert_prefix(&store, &model, &format!("cut at {at}"));
        assert!(at >= HEADER || revision(&store) == Revision::FIRST);
    }
}

#[test]
fn any_changed_byte_of_a_checkpoint_is_noticed() {
    let (disk, _) = written();
    let store = open(&disk, Options::new()).expect("a store");
    block_on(store.compact(revision(&store))).expect("a compaction");
    store.checkpoint().expect("a checkpoint");
    drop(store);
    let name = file_with(&disk, ".checkpoint");
    for at in 0..disk.with_file(&name, |bytes| bytes.len()) {
        let copy = disk.copy();
        copy.with_file(&name, |bytes| bytes[at] ^= 0x10);
        let opened = open(&copy, Options::new());
        assert!(matches!(opened, Err(StoreError::Damaged { .. })), "byte {at}: {opened:?}");
        copy.with_file(&name, |bytes| bytes.truncate(at));
        let opened = open(&copy, Options::new());
        assert!(matches!(opened, Err(StoreError::Damaged { .. })), "cut at {at}: {opened:?}");
    }
}

#[test]
fn a_missing_segment_is_noticed() {
    let disk = SimDisk::new();
    let store = open(&disk, small()).expect("a store");
    for n in 0..30 {
        put(&store, &format!("k/{n}"), vec![b'x'; 100]).expect("a write");
    }
    drop(store);
    let segments = files_with(&disk, ".log");
    assert!(segments.len() > 3, "{segments:?}");
    for missing in &segments[..segments.len() - 1] {
        let copy = disk.copy();
        crate::disk::Disk::remove(&copy, missing).expect("a removal");
        let opened = open(&copy, small());
        assert!(matches!(opened, Err(StoreError::Damaged { .. })), "without {missing}: {opened:?}");
    }
}

#[test]
fn a_newer_format_is_refused() {
    let (disk, _) = written();
    let log = file_with(&disk, ".log");
    disk.with_file(&log, |bytes| bytes[8] = 2);
    let Err(error) = open(&disk, Options::new()) else { panic!("opened") };
    let said = error.to_string();
    assert!(said.contains("format version 2") && said.contains("newer program"), "{said}");
}

#[test]
fn what_a_client_stores_cannot_pass_for_a_frame() {
    let (disk, _) = written();
    let log = file_with(&disk, ".log");
    // Frames of this very log, as a client that has read the file of another store might send.
    let frames = disk.with_file(&log, |bytes| bytes[HEADER..].to_vec());
    let other = SimDisk::new();
    let store = open(&other, Options::new()).expect("a store");
    put(&store, "a", "one").expect("a write");
    put(&store, "b", frames).expect("a write");
    drop(store);
    let log = file_with(&other, ".log");
    // The last frame, with those in it, never made it to the disk whole.
    other.with_file(&log, |bytes| {
        let end = bytes.len() - 1;
        bytes[end] ^= 1;
    });
    let store = open(&other, Options::new()).expect("an unfinished write is cut off");
    assert_eq!(revision(&store), Revision(2));
}

#[test]
fn a_sound_frame_that_makes_no_sense_is_damage() {
    use crate::format;
    let (disk, _) = written();
    let log = file_with(&disk, ".log");
    let mut dice = Dice::new(11);
    for round in 0..300 {
        let copy = disk.copy();
        copy.with_file(&log, |bytes| {
            let header = *bytes.first_chunk::<HEADER>().expect("a header");
            let (_, salt) =
                format::read_header(&header, format::FileKind::Log, &log).expect("a sound header");
            let start = format::begin_frame(bytes);
            // Follows on the last revision, then anything.
            format::put_base(bytes, Revision(7));
            bytes.extend((0..=dice.roll(40)).map(|_| dice.roll(4) as u8));
            format::finish_frame(bytes, start, salt);
        });
        match open(&copy, Options::new()) {
            // By chance it was something: history given up, most likely.
            Ok(store) => assert_eq!(revision(&store), Revision(7), "round {round}"),
            Err(StoreError::Damaged { reason }) => assert!(reason.contains("unreadable"), "{reason}"),
            Err(other) => panic!("round {round}: {other}"),
        }
    }
}
