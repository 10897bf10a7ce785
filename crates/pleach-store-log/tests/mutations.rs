//! Randomly damaged files: opening them gives everything acknowledged before the damage, or an error.
//! It never panics, and allocates at most a constant times the size of the files.
//!
//! A single test, because the allocator's counters are per process. Seeded; `PLEACH_MUTATIONS` sets the
//! number of rounds.

use std::{
    alloc::System,
    collections::BTreeMap,
    io,
    sync::{Arc, Mutex, MutexGuard},
};

use pleach_store::{
    Commit, Expect, Key, ModelStore, Range, RangeQuery, Revision, Store, StoreError, WatchItem,
    contract::{TestRng, block_on},
};
use pleach_store_log::{Disk, DiskFile, LogStore, Options};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Bound of what opening may allocate: a multiple of the files' size, plus a constant.
const TIMES: usize = 48;
const ITSELF: usize = 1 << 20;

type Content = Arc<Mutex<Vec<u8>>>;

/// Files in memory.
#[derive(Debug, Default)]
struct Memory(Mutex<BTreeMap<String, Content>>);

#[derive(Debug)]
struct File(Content);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no panic")
}

impl Memory {
    fn copy(&self) -> Self {
        let files = lock(&self.0);
        let copied =
            files.iter().map(|(name, bytes)| (name.clone(), Arc::new(Mutex::new(lock(bytes).clone()))));
        Self(Mutex::new(copied.collect()))
    }

    fn names(&self) -> Vec<String> {
        lock(&self.0).keys().cloned().collect()
    }

    fn content(&self, name: &str) -> Content {
        Arc::clone(&lock(&self.0)[name])
    }

    fn size(&self) -> usize {
        lock(&self.0).values().map(|bytes| lock(bytes).len()).sum()
    }
}

fn missing() -> io::Error {
    io::Error::from(io::ErrorKind::NotFound)
}

impl Disk for Memory {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.names())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let content = Content::default();
        lock(&self.0).insert(name.into(), Arc::clone(&content));
        Ok(Box::new(File(content)))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let content = lock(&self.0).get(name).cloned();
        Ok(Box::new(File(content.ok_or_else(missing)?)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut files = lock(&self.0);
        let content = files.remove(from).ok_or_else(missing)?;
        files.insert(to.into(), content);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        lock(&self.0).remove(name).map(drop).ok_or_else(missing)
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }
}

impl DiskFile for File {
    fn size(&self) -> io::Result<u64> {
        Ok(lock(&self.0).len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let content = lock(&self.0);
        let from = content.get(offset as usize..).unwrap_or_default();
        let size = from.len().min(buffer.len());
        buffer[..size].copy_from_slice(&from[..size]);
        Ok(size)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut content = lock(&self.0);
        let end = offset as usize + bytes.len();
        if content.len() < end {
            content.resize(end, 0);
        }
        content[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        lock(&self.0).resize(size as usize, 0);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn options() -> Options {
    Options::new().segment_bytes(3_000).checkpoint_bytes(u64::MAX).reserve_bytes(0)
}

/// A store with a checkpoint, segments and a sync marker; its model; and the revision at the end of
/// each frame.
struct Written {
    files: Memory,
    model: ModelStore,
    /// The segment, where the frame ends, and its revision.
    ends: Vec<(String, usize, Revision)>,
}

fn written(seed: u64) -> Written {
    let disk = Arc::new(Memory::default());
    let model = ModelStore::new();
    let store = options().open_disk(Arc::<Memory>::clone(&disk) as Arc<dyn Disk>).expect("a store");
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
        if let Some(newest) = disk.names().into_iter().rfind(|name| name.ends_with(".log")) {
            let end = lock(&disk.content(&newest)).len();
            ends.push((newest, end, wanted));
        }
        if n == 15 {
            block_on(store.compact(wanted)).expect("a compaction");
            store.checkpoint().expect("a checkpoint");
        }
    }
    drop(store);
    Written { files: disk.copy(), model, ends }
}

/// Damages one file; returns its name and the first byte that differs.
fn damage(files: &Memory, rng: &mut TestRng) -> (String, usize) {
    let names: Vec<String> = files.names();
    let name = names[rng.below(names.len() as u64) as usize].clone();
    let content = files.content(&name);
    let mut bytes = lock(&content);
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
            drop(bytes);
            Disk::remove(files, &name).expect("a file");
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
fn open(files: Memory, context: &str) -> Result<LogStore, StoreError> {
    let size = files.size();
    let region = Region::new(ALLOCATOR);
    let opened = options().open_disk(Arc::new(files));
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
        let files = all.files.copy();
        let (name, from) = damage(&files, &mut rng);
        let context = format!("seed {seed}: {name} from byte {from}");
        // Every other time without the sync marker, as after a power cut.
        let noted = seed % 2 == 0 && name != "SYNCED";
        if !noted {
            let _ = Disk::remove(&files, "SYNCED");
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
        let files = all.files.copy();
        let names: Vec<_> = files.names().into_iter().filter(|name| name != "SYNCED").collect();
        let name = &names[rng.below(names.len() as u64) as usize];
        {
            let content = files.content(name);
            let mut bytes = lock(&content);
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
