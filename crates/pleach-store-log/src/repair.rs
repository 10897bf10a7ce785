//! Repair: rebuilds a damaged store from what can be read of it.
//!
//! Opening refuses damaged files. Repair skips what is broken to the next intact frame and reports what
//! is missing. The result is a checkpoint; the damaged files are kept in a subdirectory. An intact
//! store is left alone, except for keys to be deleted.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use pleach_store::{Commit, Expect, Key, Op, Revision, StoreError, Versioned};
use pleach_store_mvcc::{Index, Step, Stop};
use tokio::sync::oneshot;

use crate::{
    checkpoint::{self, UNFINISHED, Writer},
    disk::{Disk, RealDisk},
    format::{self, Entry, Items, Search},
    frames::{Frames, Next},
    log,
    options::{Options, cannot_open},
    recover::{self, Mode},
    sync_marker,
};

/// Options of a repair.
#[derive(Debug, Clone, Default)]
pub struct Repair {
    /// Report what would be done, and change nothing.
    pub dry_run: bool,
    /// Keys to delete.
    pub delete_keys: Vec<Key>,
    /// How many revisions to skip when commits were lost: clients may have seen the lost revisions,
    /// which must not be reused.
    pub skip: u64,
}

/// The result of a repair.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct RepairReport {
    /// Descriptions of the damage. Empty: the store is intact.
    pub damage: Vec<String>,
    /// Ranges of revisions whose commits cannot be read. Their changes are missing.
    pub lost: Vec<(Revision, Revision)>,
    /// Keys whose value could not be decoded, with the reason. They are kept unless deleted by the
    /// caller.
    pub undecodable: Vec<(Key, String)>,
    /// Keys that were deleted.
    pub deleted: Vec<Key>,
    /// Keys to be deleted that do not exist.
    pub unknown: Vec<Key>,
    /// The directory with copies of what was changed or removed, if anything was.
    pub kept_in: Option<PathBuf>,
    /// How many keys the store has afterwards.
    pub keys: u64,
    /// The revision of the store afterwards.
    pub revision: Revision,
}

/// Repairs the store in a directory that no process has open. `decode` returns what is wrong with a
/// value.
pub fn repair(
    directory: impl AsRef<Path>,
    plan: &Repair,
    decode: impl Fn(&Versioned) -> Result<(), String>,
) -> Result<RepairReport, StoreError> {
    let directory = directory.as_ref();
    if !directory.is_dir() {
        return Err(cannot_open(directory, io::ErrorKind::NotFound.into()));
    }
    let disk = RealDisk::open_exclusive(directory).map_err(|error| cannot_open(directory, error))?;
    let disk: Arc<dyn Disk> = Arc::new(disk);
    let mut repaired = RepairReport::default();
    let (items, sound) = match recover::recover(&disk, Mode::ReadOnly, None) {
        Ok(found) => {
            repaired.revision = found.index.current();
            (live_items(&found.index), true)
        }
        Err(StoreError::Damaged { reason }) => {
            refuse_newer(&*disk)?;
            repaired.damage.push(reason.split("; restore a backup").next().unwrap_or_default().to_owned());
            (salvage(&*disk, &mut repaired, plan.skip)?, false)
        }
        Err(other) => return Err(other),
    };
    let mut kept = items;
    let mut removed = Vec::new();
    for key in &plan.delete_keys {
        match kept.remove(key) {
            Some(item) => {
                repaired.deleted.push(key.clone());
                removed.push(item);
            }
            None => repaired.unknown.push(key.clone()),
        }
    }
    repaired.undecodable =
        kept.values().filter_map(|item| decode(item).err().map(|why| (item.key.clone(), why))).collect();
    repaired.keys = kept.len() as u64;
    if plan.dry_run || (sound && removed.is_empty()) {
        return Ok(repaired);
    }
    let aside = make_repair_directory(directory)?;
    save_deleted_values(&aside, &removed)?;
    repaired.kept_in = Some(aside.clone());
    if sound {
        delete(disk, &repaired.deleted)?;
        repaired.revision = Revision(repaired.revision.0 + 1);
    } else {
        replace(&*disk, directory, &aside, &kept, repaired.revision)?;
    }
    Ok(repaired)
}

fn live_items(index: &Index) -> BTreeMap<Key, Versioned> {
    let mut items = Vec::new();
    let everything = Step { items: usize::MAX, visits: usize::MAX };
    let stop = index.collect(("", None), index.current(), everything, &mut items);
    debug_assert!(matches!(stop, Stop::End));
    items.into_iter().map(|item| (item.key.clone(), item)).collect()
}

/// Files of a newer format are not damaged.
fn refuse_newer(disk: &dyn Disk) -> Result<(), StoreError> {
    for name in names(disk)? {
        let Ok(file) = disk.open(&name) else { continue };
        let mut header = [0; format::HEADER];
        if file.fill_at(&mut header, 0).unwrap_or(false)
            && let Some(version) = format::newer_version(&header)
        {
            let reason = format!("{name} has format version {version}: use a newer program");
            return Err(StoreError::damaged(reason));
        }
    }
    Ok(())
}

/// The names of segments and checkpoints.
fn names(disk: &dyn Disk) -> Result<Vec<String>, StoreError> {
    let listed = disk.list().map_err(|error| StoreError::io("cannot list the store's directory", error))?;
    let ours = |name: &String| checkpoint::checkpoint_revision(name).or(log::segment_base(name)).is_some();
    Ok(listed.into_iter().filter(ours).collect())
}

/// The readable part of a damaged store.
struct Salvage<'a> {
    disk: &'a dyn Disk,
    repaired: &'a mut RepairReport,
    items: BTreeMap<Key, Versioned>,
    current: Revision,
}

fn salvage(
    disk: &dyn Disk,
    repaired: &mut RepairReport,
    skip: u64,
) -> Result<BTreeMap<Key, Versioned>, StoreError> {
    let names = names(disk)?;
    let mut checkpoints: Vec<Revision> =
        names.iter().filter_map(|name| checkpoint::checkpoint_revision(name)).collect();
    checkpoints.sort_unstable();
    let mut segments: Vec<Revision> = names.iter().filter_map(|name| log::segment_base(name)).collect();
    segments.sort_unstable();
    let mut salvage = Salvage { disk, repaired, items: BTreeMap::new(), current: Revision::FIRST };
    // The newest that can be read; usually there is only one.
    while let Some(revision) = checkpoints.pop() {
        if salvage.checkpoint(revision) {
            break;
        }
    }
    for (position, &base) in segments.iter().enumerate() {
        let next = segments.get(position + 1).copied();
        if next.is_none_or(|next| next > salvage.current) {
            salvage.segment(base, next);
        }
    }
    let synced = sync_marker::read(disk).ok().flatten();
    if let Some(synced) = synced
        && synced.revision > salvage.current
    {
        salvage.lose_up_to(synced.revision);
        salvage.current = synced.revision;
    }
    let Salvage { repaired, items, current, .. } = salvage;
    let skip = if repaired.lost.is_empty() { 0 } else { skip };
    repaired.revision = Revision(current.0.saturating_add(skip).min(u64::MAX / 2));
    Ok(items)
}

impl Salvage<'_> {
    fn report(&mut self, what: String) {
        // The first one came from recovery.
        if !self.repaired.damage.contains(&what) {
            self.repaired.damage.push(what);
        }
    }

    fn lose_up_to(&mut self, last: Revision) {
        self.repaired.lost.push((self.current.next(), last));
    }

    /// Reads the frames of a file, skipping what is broken.
    fn frames(&mut self, name: &str, mut each: impl FnMut(&mut Self, &[u8], u64)) -> bool {
        let Ok(file) = self.disk.open(name) else {
            self.report(format!("{name} cannot be opened"));
            return false;
        };
        let Ok(mut frames) = Frames::begin(&*file, name) else { return false };
        if frames.header_leniently().is_err() {
            self.report(format!("{name} has no header"));
            return false;
        }
        loop {
            let offset = frames.offset;
            match frames.next() {
                Ok(Next::Frame(body)) => {
                    let body = body.to_vec();
                    each(self, &body, offset);
                }
                Ok(Next::End) => return true,
                Ok(Next::Broken) => {
                    let found = frames.search();
                    let until = if let Ok(Search::Found(_)) = found { frames.offset } else { frames.size() };
                    self.report(format!("{name}: bytes {offset} to {until} cannot be read"));
                    if !matches!(found, Ok(Search::Found(_))) {
                        return true;
                    }
                }
                Err(error) => {
                    self.report(error.to_string());
                    return true;
                }
            }
        }
    }

    /// Reads a checkpoint; `false` if nothing of it is readable.
    fn checkpoint(&mut self, revision: Revision) -> bool {
        let name = checkpoint::checkpoint_name(revision);
        let (mut count, mut ended) = (0, None);
        let read = self.frames(&name, |salvage, body, offset| match format::read_items(body) {
            Some(Items::Some(items)) => {
                count += items.len() as u64;
                salvage.items.extend(items.into_iter().map(|item| (item.key.clone(), item)));
            }
            Some(Items::End(items)) => ended = Some(items),
            None => salvage.report(format!("{name} holds something unreadable at byte {offset}")),
        });
        if !read || (count == 0 && ended.is_none()) {
            return false;
        }
        match ended {
            Some(wanted) if wanted > count => {
                let missing = wanted - count;
                self.report(format!("{name}: {missing} of {wanted} keys cannot be read"));
            }
            None => self.report(format!("{name} has lost its end, and with it an unknown number of keys")),
            Some(_) => {}
        }
        self.current = revision;
        true
    }

    fn segment(&mut self, base: Revision, next: Option<Revision>) {
        let name = log::segment_name(base);
        self.frames(&name, |salvage, body, offset| match format::read_log_frame(body) {
            Some((_, entries)) => entries.into_iter().for_each(|entry| salvage.entry(entry, next)),
            None => salvage.report(format!("{name} holds something unreadable at byte {offset}")),
        });
    }

    fn entry(&mut self, entry: Entry, next: Option<Revision>) {
        let Entry::Commit { revision, changes } = entry else { return };
        // Frames after the base of the next segment were refused.
        if revision <= self.current || next.is_some_and(|next| revision > next) {
            return;
        }
        if revision > self.current.next() {
            self.lose_up_to(revision.before());
        }
        for (key, value) in changes {
            match value {
                Some(value) => {
                    let created = self.items.get(&key).map_or(revision, |before| before.created);
                    self.items.insert(key.clone(), Versioned { key, value, created, revision });
                }
                None => drop(self.items.remove(&key)),
            }
        }
        self.current = revision;
    }
}

/// Creates the directory for what is changed or removed.
fn make_repair_directory(directory: &Path) -> Result<PathBuf, StoreError> {
    let mut number = 1_u64;
    loop {
        let aside = directory.join(format!("repair-{number}"));
        match fs::create_dir(&aside) {
            Ok(()) => return Ok(aside),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(StoreError::io(format!("cannot make {}", aside.display()), error)),
        }
    }
}

/// Saves deleted values in numbered files, with an index of their keys.
fn save_deleted_values(aside: &Path, removed: &[Versioned]) -> Result<(), StoreError> {
    let keep = || {
        let mut keys = String::new();
        for (number, item) in removed.iter().enumerate() {
            fs::write(aside.join(format!("value-{number}")), &item.value)?;
            keys.push_str(&format!("value-{number} {}\n", item.key));
        }
        if removed.is_empty() { Ok(()) } else { fs::write(aside.join("keys"), keys) }
    };
    keep().map_err(|error| StoreError::io(format!("cannot write to {}", aside.display()), error))
}

/// Deletes keys of an intact store.
fn delete(disk: Arc<dyn Disk>, keys: &[Key]) -> Result<(), StoreError> {
    let store = Options::new().reserve_bytes(0).open_disk(disk)?;
    let ops = keys.iter().map(|key| Op::delete(key.clone(), Expect::Anything));
    let (reply, answer) = oneshot::channel();
    if !store.shared.queue.push(ops.collect::<Commit>(), reply) {
        return Err(StoreError::Closed);
    }
    answer.blocking_recv().unwrap_or(Err(StoreError::Closed)).map(drop)
}

/// Replaces the damaged files by a checkpoint. If interrupted, repair can be run again with the same
/// result.
fn replace(
    disk: &dyn Disk,
    directory: &Path,
    aside: &Path,
    items: &BTreeMap<Key, Versioned>,
    revision: Revision,
) -> Result<(), StoreError> {
    let old = names(disk)?;
    for name in old.iter().map(String::as_str).chain([sync_marker::NAME]) {
        let (from, to) = (directory.join(name), aside.join(name));
        // The marker is written in place, so it is copied. So are all where there are no hard links.
        let linked =
            if name == sync_marker::NAME { Err(()) } else { fs::hard_link(&from, &to).map_err(drop) };
        match linked.or_else(|()| fs::copy(&from, &to).map(drop)) {
            Err(error) if from.exists() => {
                return Err(StoreError::io(format!("cannot keep a copy of {name}"), error));
            }
            _ => {}
        }
    }
    let name = checkpoint::checkpoint_name(revision);
    let written = (|| {
        let mut writer = Writer::begin(disk, &name, revision)?;
        for item in items.values() {
            writer.put(item)?;
        }
        writer.finish()
    })();
    if let Err(error) = written {
        let _ = disk.remove(&format!("{name}{UNFINISHED}"));
        return Err(error);
    }
    for old in old.iter().filter(|old| **old != name) {
        disk.remove(old).map_err(|error| StoreError::io(format!("cannot remove {old}"), error))?;
    }
    disk.sync_names().map_err(|error| StoreError::io("cannot sync the store's directory", error))
}
