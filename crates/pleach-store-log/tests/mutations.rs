//! Randomly damaged files: opening them gives everything acknowledged before the damage, or an error.
//! It never panics, and allocates at most a constant times the size of the files.
//!
//! A single test, because the allocator's counters are per process. Seeded; `PLEACH_MUTATIONS` sets the
//! number of rounds.

use std::{alloc::System, collections::BTreeMap, sync::Arc};

use pleach_store::{
    Commit, Expect, Key, ModelStore, Range, RangeQuery, Revision, Store, StoreError, WatchItem,
    contract::{TestRng, block_on},
};
use pleach_store_log::{LogStore, MemoryDisk, Options};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bound of what opening may allocate: a multiple of the files' size, plus a constant.
const TIMES: usize = 48;
const ITSELF: usize = 1 << 20;

/// Files by name.
type Files = BTreeMap<String, Vec<u8>>;

fn options() -> Options {
    Options::new().segment_bytes(3_000).checkpoint_bytes(u64::MAX).reserve_bytes(0)
}

/// A store with a checkpoint, segments and a sync marker; its model; and the revision at the end of
/// each frame.
struct Written {
    files: Files,
    model: ModelStore,
    /// The segment, where the frame ends, and its revision.
    ends: Vec<(String, usize, Revision)>,
}

fn written(seed: u64) -> Written {
    let disk = MemoryDisk::default();
    let model = ModelStore::new();
    let store = options().open_disk(Arc::new(disk.clone())).expect("a store");
    let mut rng = TestRng::new(seed);
    let mut ends = Vec::new();
    for n in 0..40 {
        let key = format!("k/{}", rng.below(9));
        let value: Vec<u8> = (0..rng.below(400)).map(|_| rng.below(256) as u8).collect();
        let commit = if rng.below(5) == 0 {
            Commit::delete(key.as_str(), Expect::Anything)
        } else {
            Commit::put(key.as_str(), Expect::Anything, value)
        };
        let wanted = block_on(model.commit(commit.clone())).expect("the model takes it");
        assert_eq!(block_on(store.commit(commit)).expect("a commit"), wanted);
        // A delete of an absent key may come first; it starts no segment.
        let newest = disk.files().into_iter().rfind(|(name, _)| name.ends_with(".log"));
        ends.extend(newest.map(|(name, content)| (name, content.len(), wanted)));
        if n == 15 {
            block_on(store.compact(wanted)).expect("a compaction");
            store.checkpoint().expect("a checkpoint");
        }
    }
    drop(store);
    Written { files: disk.files(), model, ends }
}

fn random_file<'f>(files: &'f mut Files, rng: &mut TestRng) -> (&'f String, &'f mut Vec<u8>) {
    let place = rng.below(files.len() as u64) as usize;
    files.iter_mut().nth(place).expect("a file")
}

/// Damages one file; returns its name and the first byte that differs.
fn damage(files: &mut Files, rng: &mut TestRng) -> (String, usize) {
    let (name, bytes) = random_file(files, rng);
    let name = name.clone();
    let size = bytes.len() as u64;
    let at = rng.below(size.max(1)) as usize;
    let until = (at + 1 + rng.below(64) as usize).min(bytes.len());
    let before = bytes.clone();
    match rng.below(8) {
        0 => bytes[at] ^= 1 << rng.below(8),
        1 => bytes.truncate(at),
        2 => bytes[at..until].fill(0),
        3 => bytes[at..until].iter_mut().for_each(|byte| *byte = rng.below(256) as u8),
        4 => bytes.extend((0..=rng.below(100)).map(|_| rng.below(256) as u8)),
        // A maximal length or count.
        5 => bytes[at..until.min(at + 4)].fill(0xff),
        6 => {
            let part = bytes[at..until].to_vec();
            bytes.splice(at..at, part);
        }
        _ => {
            files.remove(&name);
            return (name, 0);
        }
    }
    let same = before.iter().zip(bytes.iter()).take_while(|(one, other)| one == other).count();
    (name, same)
}

fn list(store: &dyn Store, at: Revision) -> Range {
    block_on(store.range(RangeQuery::prefix("").at(at))).expect("a range")
}

/// Asserts that the store holds a prefix of the model.
fn assert_prefix(store: &LogStore, model: &ModelStore, context: &str) -> Revision {
    let stats = block_on(store.stats()).expect("figures");
    assert!(stats.revision <= block_on(model.revision()).expect("a revision"), "{context}");
    for at in stats.oldest.0..=stats.revision.0 {
        assert_eq!(list(store, Revision(at)), list(model, Revision(at)), "{context}: at {at}");
    }
    let mut watch = block_on(store.watch(Key::new(""), stats.oldest)).expect("a watch");
    for at in stats.oldest.0 + 1..=stats.revision.0 {
        let Some(Ok(WatchItem::Events(batch))) = block_on(watch.next()) else { panic!("{context}") };
        assert_eq!(batch.revision(), Revision(at), "{context}");
    }
    stats.revision
}

/// Opens the files, counting allocations.
fn open(files: Files, context: &str) -> Result<LogStore, StoreError> {
    let size: usize = files.values().map(Vec::len).sum();
    let disk = Arc::new(MemoryDisk::of(files));
    let region = Region::new(ALLOCATOR);
    let opened = options().open_disk(disk);
    let allocated = region.change().bytes_allocated;
    assert!(allocated <= TIMES * size + ITSELF, "{context}: {allocated} bytes allocated for {size}");
    opened
}

fn random_damage(rounds: u64) -> (u64, u64) {
    let (mut opened, mut refused) = (0, 0);
    for seed in 0..rounds {
        let all = written(seed / 50);
        let last = all.ends.last().expect("a commit").2;
        let mut rng = TestRng::new(seed);
        let mut files = all.files;
        let (name, from) = damage(&mut files, &mut rng);
        let context = format!("seed {seed}: {name} from byte {from}");
        // Every other time without the sync marker, as after a power cut.
        let noted = seed % 2 == 0 && name != "SYNCED";
        if !noted {
            files.remove("SYNCED");
        }
        match open(files, &context) {
            Ok(store) => {
                opened += 1;
                let found = assert_prefix(&store, &all.model, &context);
                let before = all.ends.iter().filter(|(segment, end, _)| {
                    *segment < name || (*segment == name && *end <= from) || !name.ends_with(".log")
                });
                let wanted =
                    if noted { last } else { before.map(|(_, _, at)| *at).max().unwrap_or_default() };
                assert!(found >= wanted, "{context}: {found} is there of {wanted}");
            }
            Err(StoreError::Damaged { reason }) => {
                refused += 1;
                assert!(reason.contains("pleach store repair"), "{context}: {reason}");
            }
            Err(other) => panic!("{context}: {other}"),
        }
    }
    (opened, refused)
}

/// A frame with a correct checksum may hold anything: from a faulty or malicious writer.
fn sound_nonsense(rounds: u64) {
    for seed in 0..rounds {
        let all = written(seed / 50);
        let mut rng = TestRng::new(seed ^ 0xabcd);
        let mut files = all.files;
        let synced = files.remove_entry("SYNCED");
        let (name, bytes) = random_file(&mut files, &mut rng);
        let name = name.clone();
        {
            // The header's checksum covers the first 28 bytes; the frame's covers salt, size and body.
            let salt = bytes[24..28].to_vec();
            let (start, head) = (32, 12);
            let size =
                u32::from_le_bytes(bytes[start + 4..start + 8].try_into().expect("four bytes")) as usize;
            let body = start + head..start + head + size;
            for _ in 0..=rng.below(3) {
                let at = body.start + rng.below(size as u64) as usize;
                bytes[at] = [0, 1, 2, 0xff, rng.below(256) as u8][rng.below(5) as usize];
            }
            let mut crc = crc32fast::Hasher::new();
            crc.update(&salt);
            crc.update(&(size as u32).to_le_bytes());
            crc.update(&bytes[body]);
            bytes[start + 8..start + 12].copy_from_slice(&crc.finalize().to_le_bytes());
        }
        files.extend(synced);
        match open(files, &format!("seed {seed}: {name}")) {
            Ok(store) => drop(list(&store, block_on(store.revision()).expect("a revision"))),
            Err(StoreError::Damaged { .. }) => {}
            Err(other) => panic!("seed {seed}: {other}"),
        }
    }
}

#[test]
fn damaged_files_are_read_as_far_as_they_go_or_refused() {
    let rounds = std::env::var("PLEACH_MUTATIONS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(600);
    let (opened, refused) = random_damage(rounds);
    assert!(opened > rounds / 20 && refused > rounds / 4, "{opened} opened, {refused} refused");
    sound_nonsense(rounds);
}
