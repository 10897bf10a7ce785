//! The store's files: recovery of a directory that was changed behind its back.
//!
//! A fuzzer does not find checksums, so files are put together here with checksums that fit, from bodies that the
//! input chooses; a part of the input then changes bytes, cuts files and removes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use pleach_store::contract::block_on;
use pleach_store::{Commit, Expect, Op, RangeQuery, Store, StoreError};
use pleach_store_log::{LogStore, MemoryDisk, Options};

use crate::bytes::{Bytes, SEPARATOR};

/// Everything in a store: its revision, and each key with its value and revision.
type Content = (u64, Vec<(String, Vec<u8>, u64)>);

fn content(store: &LogStore) -> Content {
    let range = block_on(store.range(RangeQuery::prefix(""))).expect("what was recovered is read");
    let item = |found: &pleach_store::Versioned| {
        (found.key.as_str().to_owned(), found.value.to_vec(), found.revision.0)
    };
    (range.revision.0, range.items.iter().map(item).collect())
}

fn open(disk: &MemoryDisk) -> Result<LogStore, StoreError> {
    Options::new().reserve_bytes(0).open_disk(Arc::new(disk.clone()))
}

/// A directory as the input says: it is refused and left as it was, or recovered; recovering again finds the same,
/// and the store takes a write that is there afterwards.
pub(super) fn log(data: &[u8]) {
    let disk = directory(data);
    let before = disk.files();
    let store = match open(&disk) {
        Ok(store) => store,
        Err(error) => {
            if matches!(error, StoreError::Damaged { .. }) {
                assert_eq!(disk.files(), before, "a damaged store is left as it is: {error}");
            }
            return;
        }
    };
    let found = content(&store);
    store.close();
    let store = open(&disk).expect("what was recovered opens again");
    assert_eq!(content(&store), found, "recovering twice is recovering once");
    let put = Op::put("fuzz/new", Expect::Anything, b"value".to_vec());
    let revision = block_on(store.commit(Commit::from_iter([put]))).expect("a recovered store takes a write");
    assert!(revision.0 > found.0);
    let with_write = content(&store);
    store.close();
    let store = open(&disk).expect("what was written opens again");
    assert_eq!(content(&store), with_write);
    store.close();
}

/// The files of an input: a list of files, a separator, and changes to them.
fn directory(data: &[u8]) -> MemoryDisk {
    let mut bytes = Bytes(data);
    let mut files: BTreeMap<String, Vec<u8>> = (0..bytes.next() % 4).map(|_| file(&mut bytes)).collect();
    if bytes.next() == SEPARATOR {
        for _ in 0..bytes.next() % 8 {
            change(&mut files, &mut bytes);
        }
    }
    MemoryDisk::of(files)
}

fn change(files: &mut BTreeMap<String, Vec<u8>>, bytes: &mut Bytes<'_>) {
    let (which, what, at, with) = (bytes.next(), bytes.next(), bytes.next_u16(), bytes.next());
    let Some(name) = files.keys().nth(usize::from(which) % files.len().max(1)).cloned() else { return };
    let content = files.entry(name.clone()).or_default();
    let at = usize::from(at) % (content.len() + 1);
    match what % 8 {
        0 | 1 if at < content.len() => content[at] ^= with,
        2 => content.truncate(at),
        3 => content.insert(at, with),
        4 => drop(content.splice(at.., std::iter::repeat_n(with, 40))),
        5 => drop(files.remove(&name)),
        6 => {
            let copy = content.clone();
            files.insert(format!("{:020}.log", u64::from(with)), copy);
        }
        7 => drop(files.insert(
            ["LOCK", "x.log", "00000000000000000003.log.tmp"][usize::from(with) % 3].into(),
            vec![with],
        )),
        _ => {}
    }
}

/// A file with a header and frames. In the first format, which every version reads.
fn file(bytes: &mut Bytes<'_>) -> (String, Vec<u8>) {
    let is_checkpoint = bytes.next().is_multiple_of(4);
    let base = u64::from(bytes.next());
    let salt = u32::from(bytes.next());
    let mut out = b"pleach\0\n".to_vec();
    out.extend_from_slice(&1_u32.to_le_bytes());
    out.extend_from_slice(&u32::from(is_checkpoint).to_le_bytes());
    out.extend_from_slice(&base.to_le_bytes());
    out.extend_from_slice(&salt.to_le_bytes());
    let crc = crc32fast::hash(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    let mut revision = base;
    let mut items = 0_u64;
    for _ in 0..bytes.next() % 8 {
        let body =
            if is_checkpoint { checkpoint(bytes, base, &mut items) } else { commits(bytes, &mut revision) };
        frame(&mut out, salt, &body);
    }
    if is_checkpoint && !bytes.next().is_multiple_of(8) {
        frame(&mut out, salt, &[&u32::MAX.to_le_bytes()[..], &items.to_le_bytes()].concat());
    }
    (format!("{base:020}.{}", if is_checkpoint { "checkpoint" } else { "log" }), out)
}

fn frame(out: &mut Vec<u8>, salt: u32, body: &[u8]) {
    let size = (body.len() as u32).to_le_bytes();
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&salt.to_le_bytes());
    hasher.update(&size);
    hasher.update(body);
    out.extend_from_slice(&[0xf5, b'P', b'L', 0x0a]);
    out.extend_from_slice(&size);
    out.extend_from_slice(&hasher.finalize().to_le_bytes());
    out.extend_from_slice(body);
}

fn text(bytes: &mut Bytes<'_>, out: &mut Vec<u8>) {
    let size = usize::from(bytes.next() % 16);
    let content = bytes.take(size);
    out.extend_from_slice(&(content.len() as u32).to_le_bytes());
    out.extend_from_slice(content);
}

/// A group commit, mostly of the next revisions.
fn commits(bytes: &mut Bytes<'_>, revision: &mut u64) -> Vec<u8> {
    let odd = bytes.next();
    if odd == 0xfe {
        let size = usize::from(bytes.next());
        return bytes.take(size).to_vec();
    }
    let mut out = if odd == 0xfd { 7_u64 } else { *revision }.to_le_bytes().to_vec();
    for _ in 0..odd % 4 {
        if odd & 0x40 != 0 {
            out.push(2);
            out.extend_from_slice(&u64::from(bytes.next()).to_le_bytes());
            continue;
        }
        *revision += 1;
        out.push(1);
        out.extend_from_slice(&revision.to_le_bytes());
        let count = u32::from(bytes.next() % 3);
        out.extend_from_slice(&count.to_le_bytes());
        for _ in 0..count {
            text(bytes, &mut out);
            if bytes.next().is_multiple_of(4) {
                out.extend_from_slice(&u32::MAX.to_le_bytes());
            } else {
                text(bytes, &mut out);
            }
        }
    }
    out
}

/// Items of a checkpoint.
fn checkpoint(bytes: &mut Bytes<'_>, revision: u64, items: &mut u64) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..bytes.next() % 4 {
        *items += 1;
        text(bytes, &mut out);
        let written = revision.saturating_sub(u64::from(bytes.next() % 4));
        out.extend_from_slice(&written.saturating_sub(u64::from(bytes.next() % 2)).to_le_bytes());
        out.extend_from_slice(&written.to_le_bytes());
        text(bytes, &mut out);
    }
    out
}

pub(super) fn log_seeds() -> Vec<Vec<u8>> {
    // One segment of three commits; then a checkpoint with a segment behind it; then changes to both.
    let commit = |key: &[u8], value: &[u8]| {
        [&[1, 1, key.len() as u8][..], key, &[1, value.len() as u8], value].concat()
    };
    let segment =
        |base: u8, commits: &[Vec<u8>]| [&[1, base, 9, commits.len() as u8][..], &commits.concat()].concat();
    let three = segment(0, &[commit(b"a", b"1"), commit(b"b", b"2"), commit(b"a", b"3")]);
    let item =
        |key: &[u8], value: &[u8]| [&[key.len() as u8][..], key, &[0, 1, value.len() as u8], value].concat();
    let checkpoint = [&[0, 3, 5, 1, 2][..], &item(b"a", b"3"), &item(b"b", b"2"), &[1]].concat();
    let after = segment(3, &[commit(b"c", b"4"), vec![0x41, 2], commit(b"a", b"")]);
    let both = [&[2][..], &checkpoint, &after].concat();
    let mut all = vec![vec![], [&[1][..], &three].concat(), both.clone()];
    for change in [[0, 2, 100, 0, 0], [1, 0, 60, 0, 1], [0, 5, 0, 0, 0], [1, 6, 0, 0, 4], [0, 3, 50, 0, 7]] {
        all.push([&both[..], &[SEPARATOR, 1], &change].concat());
        all.push([&[1][..], &three, &[SEPARATOR, 1], &change].concat());
    }
    all
}
