//! Damage is distinguished from a crash, byte by byte.

use super::*;
use crate::format::HEADER;

/// A closed store of several commits in one segment, and its model.
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

/// A disk without the sync marker.
fn without_marker(disk: &SimDisk) -> SimDisk {
    let copy = disk.copy();
    crate::disk::Disk::remove(&copy, crate::sync_marker::NAME).expect("a marker");
    copy
}

#[track_caller]
fn is_refused(disk: &SimDisk, name: &str, context: &str) -> String {
    let before: Vec<_> = disk.list_names().iter().map(|name| disk.with_file(name, |b| b.clone())).collect();
    match open(disk, Options::new()) {
        Err(StoreError::Damaged { reason }) => {
            assert!(reason.contains(name), "{context}: {reason}");
            assert!(reason.contains("pleach store repair"), "{context}: {reason}");
            let after: Vec<_> =
                disk.list_names().iter().map(|name| disk.with_file(name, |b| b.clone())).collect();
            assert_eq!(before, after, "{context}: nothing is changed");
            reason.to_string()
        }
        other => panic!("{context}: {other:?}"),
    }
}

#[test]
fn any_changed_byte_of_the_log_is_noticed() {
    let (disk, _) = written();
    let log = file_with(&disk, ".log");
    for at in 0..disk.with_file(&log, |bytes| bytes.len()) {
        for mask in [0x01, 0x10, 0xff] {
            let copy = disk.copy();
            copy.with_file(&log, |bytes| bytes[at] ^= mask);
            is_refused(&copy, &log, &format!("byte {at}"));
        }
    }
}

#[test]
fn a_log_that_is_shorter_than_what_was_synced_is_noticed() {
    let (disk, _) = written();
    let log = file_with(&disk, ".log");
    for at in 0..disk.with_file(&log, |bytes| bytes.len()) {
        let copy = disk.copy();
        copy.with_file(&log, |bytes| bytes.truncate(at));
        let reason = is_refused(&copy, &log, &format!("cut at {at}"));
        assert!(reason.contains("commits up to revision 7 were acknowledged"), "{reason}");
    }
    crate::disk::Disk::remove(&disk, &log).expect("a removal");
    let reason = is_refused(&disk, &log, "gone");
    assert!(reason.contains("is missing"), "{reason}");
}

#[test]
fn an_incomplete_write_after_the_sync_marker_is_truncated() {
    let (disk, model) = written();
    let log = file_with(&disk, ".log");
    let size = disk.with_file(&log, |bytes| bytes.len());
    let longer = disk.copy();
    let store = open(&longer, Options::new()).expect("a store");
    put(&store, "late", "not acknowledged: the machine stopped before").expect("a write");
    drop(store);
    let bytes = longer.with_file(&log, |bytes| bytes.clone());
    for end in size..bytes.len() {
        let copy = disk.copy();
        copy.with_file(&log, |log| *log = bytes[..end].to_vec());
        let store = open(&copy, Options::new()).unwrap_or_else(|error| panic!("{end}: {error}"));
        assert_eq!(revision(&store), revision(&model), "{end}");
        assert_prefix(&store, &model, &format!("{end}"));
    }
}

#[test]
fn without_a_sync_marker_only_the_last_frame_can_look_unfinished() {
    let (disk, model) = written();
    let disk = without_marker(&disk);
    let log = file_with(&disk, ".log");
    let size = disk.with_file(&log, |bytes| bytes.len());
    let last = revision(&model);
    let mut cut = 0;
    for at in 0..size {
        let copy = disk.copy();
        copy.with_file(&log, |bytes| bytes[at] ^= 0x10);
        match open(&copy, Options::new()) {
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
fn without_a_sync_marker_a_log_cut_anywhere_is_a_prefix() {
    let (disk, model) = written();
    let disk = without_marker(&disk);
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
    for missing in &segments {
        let copy = disk.copy();
        crate::disk::Disk::remove(&copy, missing).expect("a removal");
        let opened = open(&copy, small());
        assert!(matches!(opened, Err(StoreError::Damaged { .. })), "without {missing}: {opened:?}");
        let copy = disk.copy();
        copy.with_file(missing, Vec::clear);
        let opened = open(&copy, small());
        assert!(matches!(opened, Err(StoreError::Damaged { .. })), "{missing} emptied: {opened:?}");
    }
    let copy = disk.copy();
    for name in &segments {
        crate::disk::Disk::remove(&copy, name).expect("a removal");
    }
    assert!(matches!(open(&copy, small()), Err(StoreError::Damaged { .. })), "no log at all");
}

#[test]
fn a_newest_segment_without_a_header_is_ignored() {
    let (disk, model) = written();
    let disk = without_marker(&disk);
    let log = file_with(&disk, ".log");
    for base in [1, 4, 7] {
        for content in [&b""[..], b"half a header"] {
            let whole = disk.copy();
            let name = crate::log::segment_name(Revision(base));
            if name == log {
                continue;
            }
            crate::disk::Disk::create(&whole, &name).expect("a file");
            whole.with_file(&name, |bytes| bytes.extend_from_slice(content));
            let broken = whole.copy();
            broken.with_file(&log, |bytes| bytes[HEADER + 20] ^= 1);
            for _ in 0..2 {
                is_refused(&broken, &log, &format!("{name} beside a damaged segment"));
                let store = open(&whole, Options::new()).expect("a store");
                assert_eq!(revision(&store), revision(&model), "{name}");
                assert_prefix(&store, &model, &name);
            }
        }
    }
}

#[test]
fn a_newer_format_is_refused() {
    let (disk, _) = written();
    let log = file_with(&disk, ".log");
    disk.with_file(&log, |bytes| bytes[8] = 3);
    let Err(error) = open(&disk, Options::new()) else { panic!("opened") };
    let said = error.to_string();
    assert!(said.contains("format version 3") && said.contains("newer program"), "{said}");
}

#[test]
fn a_stored_value_cannot_pass_for_a_frame() {
    let (disk, _) = written();
    let log = file_with(&disk, ".log");
    // Frames of this log, as a client that has read another store's file might send.
    let frames = disk.with_file(&log, |bytes| bytes[HEADER..].to_vec());
    let other = SimDisk::new();
    let store = open(&other, Options::new()).expect("a store");
    put(&store, "a", "one").expect("a write");
    put(&store, "b", frames).expect("a write");
    drop(store);
    let log = file_with(&other, ".log");
    // The last frame, which contains them, is incomplete.
    let other = without_marker(&other);
    other.with_file(&log, |bytes| {
        let end = bytes.len() - 1;
        bytes[end] ^= 1;
    });
    let store = open(&other, Options::new()).expect("an unfinished write is cut off");
    assert_eq!(revision(&store), Revision(2));
}

#[test]
fn a_valid_frame_with_invalid_content_is_damage() {
    use crate::format;
    let (disk, _) = written();
    let log = file_with(&disk, ".log");
    let mut rng = TestRng::new(11);
    for round in 0..300 {
        let copy = disk.copy();
        copy.with_file(&log, |bytes| {
            let header = *bytes.first_chunk::<HEADER>().expect("a header");
            let (_, salt) =
                format::read_header(&header, format::FileKind::Log, &log).expect("a sound header");
            let start = format::begin_frame(bytes);
            // The right base, then random bytes.
            format::put_base(bytes, Revision(7));
            bytes.extend((0..=rng.below(40)).map(|_| rng.below(4) as u8));
            format::finish_frame(bytes, start, salt);
        });
        match open(&copy, Options::new()) {
            // The bytes happened to be valid, most likely a compaction.
            Ok(store) => assert_eq!(revision(&store), Revision(7), "round {round}"),
            Err(StoreError::Damaged { reason }) => assert!(reason.contains("unreadable"), "{reason}"),
            Err(other) => panic!("round {round}: {other}"),
        }
    }
}

#[test]
fn a_store_of_format_version_1_is_read_and_appended_to() {
    // Written by the first version of this program: three commits, no sync marker.
    const FIRST: &[u8] = include_bytes!("first_format.log");
    let disk = SimDisk::new();
    let name = crate::log::segment_name(Revision::FIRST);
    drop(crate::disk::Disk::create(&disk, &name).expect("a file"));
    disk.with_file(&name, |bytes| *bytes = FIRST.to_vec());
    let wanted = |store: &LogStore| {
        let items = list_at(store, None).items;
        items
            .iter()
            .map(|item| format!("{}={}@{}", item.key, item.value.len(), item.revision))
            .collect::<Vec<_>>()
    };
    let store = open(&disk, Options::new()).expect("a store");
    assert_eq!(wanted(&store), ["a=3@4", "b=1000@3"]);
    put(&store, "c", "new").expect("a write");
    drop(store);
    let store = open(&disk, Options::new().segment_bytes(1)).expect("a store");
    put(&store, "d", "in a new segment").expect("a write");
    drop(store);
    let store = open(&disk, Options::new()).expect("a store");
    assert_eq!(wanted(&store), ["a=3@4", "b=1000@3", "c=3@5", "d=16@6"]);
    let versions: Vec<u8> =
        files_with(&disk, ".log").iter().map(|name| disk.with_file(name, |bytes| bytes[8])).collect();
    assert_eq!(versions, [1, 2]);
    // Stored values cannot make a search for frames slow.
    let copy = without_marker(&disk);
    let last = file_with(&copy, ".log");
    crate::disk::Disk::remove(&copy, &last).expect("a removal");
    copy.with_file(&name, |bytes| {
        for _ in 0..50_000 {
            bytes.extend_from_slice(&[0xf5, b'P', b'L', 0x0a, 0, 0, 1, 0, 1, 2, 3, 4]);
        }
    });
    is_refused(&copy, &name, "too much looks like a frame");
}
