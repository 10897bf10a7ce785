//! Recovery: builds the index from the checkpoint and the log when a store is opened.
//!
//! Loads the newest checkpoint and replays the log after it. Every frame is checked, and revisions must
//! be consecutive. A broken end of the newest segment is an unacknowledged group commit that a crash
//! interrupted; it is truncated. Everything else is damage: a broken frame before the end, a gap, a log
//! that ends before the [sync marker](crate::sync_marker). Then the store is not opened and nothing is
//! changed: silently dropping acknowledged commits would be worse.
//!
//! **Invariant:** recovery is idempotent; a crash during it leaves the same to do.

use std::sync::Arc;

use bytes::Bytes;
use pleach_store::{Batch, Key, Revision, StoreError, Versioned};
use pleach_store_mvcc::Index;

use crate::{
    checkpoint::{self, UNFINISHED},
    codec::{Decoded, ValueCodec},
    disk::Disk,
    format::{self, Entry, FileKind, HEADER, Search},
    frames::{Frames, Next},
    log::{self, Segment},
    sync_marker::{self, SyncedPosition},
};

/// The recovered state.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) index: Index,
    /// The segment to append to.
    pub(crate) segment: Option<Segment>,
    /// The revision of the checkpoint, if there is one, and its size.
    pub(crate) checkpoint: Option<(Revision, u64)>,
    /// The segments in use, oldest first, with their sizes.
    pub(crate) segments: Vec<(Revision, u64)>,
    /// Commits replayed from the log.
    pub(crate) replayed: u64,
    /// Whether values were read that the codec would encode differently now.
    pub(crate) stale: bool,
    /// Bytes of an incomplete write at the end of the log.
    pub(crate) torn: u64,
    /// Obsolete files, and leftovers of a crash.
    spare: Vec<String>,
    /// The damage at the end of the log.
    broken: Option<String>,
}

/// Appended to the description of damage.
const ADVICE: &str =
    "restore a backup, or see what can be saved with `pleach store repair --dry-run <data directory>`";

fn advise(error: StoreError) -> StoreError {
    match error {
        StoreError::Damaged { reason } => StoreError::damaged(format!("{reason}; {ADVICE}")),
        other => other,
    }
}

/// Whether recovery may change files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The directory is locked: remove leftovers, truncate a broken end.
    ReadWrite,
    /// Another process may be writing: change nothing.
    ReadOnly,
}

/// Reads what is on disk. Values are decoded, if there is a codec.
pub(crate) fn recover(
    disk: &Arc<dyn Disk>,
    mode: Mode,
    codec: Option<&dyn ValueCodec>,
) -> Result<Recovered, StoreError> {
    let mut found = read(disk, codec).map_err(advise)?;
    if mode == Mode::ReadWrite {
        clean_up(&**disk, &mut found)?;
    }
    Ok(found)
}

fn read(disk: &Arc<dyn Disk>, codec: Option<&dyn ValueCodec>) -> Result<Recovered, StoreError> {
    // Before the files: an open store writes the marker after the log.
    let synced = sync_marker::read(&**disk)
        .map_err(|error| StoreError::io(format!("cannot read {}", sync_marker::NAME), error))?;
    let names = disk.list().map_err(|error| StoreError::io("cannot list the store's directory", error))?;
    let mut recovery = Recovery { disk, codec, found: empty() };
    recovery.found.spare.extend(names.iter().filter(|name| name.ends_with(UNFINISHED)).cloned());
    let mut checkpoints: Vec<Revision> =
        names.iter().filter_map(|name| checkpoint::checkpoint_revision(name)).collect();
    checkpoints.sort_unstable();
    if let Some(newest) = checkpoints.pop() {
        recovery.load(newest)?;
    }
    recovery.found.spare.extend(checkpoints.into_iter().map(checkpoint::checkpoint_name));
    let mut segments: Vec<Revision> = names.iter().filter_map(|name| log::segment_base(name)).collect();
    segments.sort_unstable();
    recovery.replay(&segments)?;
    if let Some(synced) = synced {
        recovery.check_marker(synced, &names)?;
    }
    Ok(recovery.found)
}

/// Removes obsolete files and truncates an incomplete write.
fn clean_up(disk: &dyn Disk, found: &mut Recovered) -> Result<(), StoreError> {
    for name in found.spare.drain(..) {
        disk.remove(&name).map_err(|error| StoreError::io(format!("cannot remove {name}"), error))?;
    }
    if let Some(Segment { base, file, size, .. }) = &mut found.segment {
        let name = log::segment_name(*base);
        if found.torn > 0 {
            tracing::info!(segment = name, bytes = found.torn, "truncating an incomplete write");
            let cut = file.truncate(*size).and_then(|()| file.sync());
            cut.map_err(|error| StoreError::io(format!("cannot truncate {name}"), error))?;
        }
        // The segment's name may not be synced yet.
        disk.sync_names().map_err(|error| StoreError::io("cannot sync the store's directory", error))?;
    }
    Ok(())
}

fn empty() -> Recovered {
    Recovered {
        index: Index::new(Revision::FIRST),
        segment: None,
        checkpoint: None,
        segments: Vec::new(),
        replayed: 0,
        stale: false,
        torn: 0,
        spare: Vec::new(),
        broken: None,
    }
}

struct Recovery<'a> {
    disk: &'a Arc<dyn Disk>,
    codec: Option<&'a dyn ValueCodec>,
    found: Recovered,
}

/// Decodes a value, and notes whether it is stale.
fn decoded(codec: Option<&dyn ValueCodec>, stale: &mut bool, key: &Key, value: Bytes) -> Bytes {
    let Some(codec) = codec else { return value };
    let Decoded { value, is_stale } = codec.decode(key, value);
    *stale |= is_stale;
    value
}

impl Recovery<'_> {
    fn load(&mut self, revision: Revision) -> Result<(), StoreError> {
        let name = checkpoint::checkpoint_name(revision);
        let index = std::cell::RefCell::new(Index::new(revision));
        let (codec, stale) = (self.codec, &mut self.found.stale);
        let (found, _, size) = checkpoint::read(
            &**self.disk,
            &name,
            |revision| *index.borrow_mut() = Index::new(revision),
            |item| {
                let value = decoded(codec, stale, &item.key, item.value);
                index.borrow_mut().load(Versioned { value, ..item });
            },
        )?;
        if found != revision {
            return Err(StoreError::damaged(format!("{name} is the checkpoint of revision {found}")));
        }
        self.found.index = index.into_inner();
        self.found.checkpoint = Some((revision, size));
        Ok(())
    }

    fn replay(&mut self, mut segments: &[Revision]) -> Result<(), StoreError> {
        // Frames are written only after the header is durable: a newest segment without one is empty,
        // and the one before it is continued.
        let mut without_header = None;
        if let Some((&newest, others)) = segments.split_last()
            && self.has_no_header(newest)?
        {
            (without_header, segments) = (Some(newest), others);
        }
        for (position, &base) in segments.iter().enumerate() {
            let name = log::segment_name(base);
            // A segment is obsolete when the next one starts at or before the checkpoint.
            let checkpoint = self.found.checkpoint.map(|(revision, _)| revision);
            let next = segments.get(position + 1).copied();
            if next.is_some_and(|next| Some(next) <= checkpoint) {
                self.found.spare.push(name);
                continue;
            }
            if base > self.found.index.current() {
                return Err(self.gap(&name, base));
            }
            self.replay_segment(&name, base, next)?;
        }
        if let Some(base) = without_header {
            let name = log::segment_name(base);
            if base > self.found.index.current() {
                return Err(self.gap(&name, base));
            }
            self.found.broken = Some(format!("{name} has no header"));
            self.found.spare.push(name);
        }
        Ok(())
    }

    fn has_no_header(&self, base: Revision) -> Result<bool, StoreError> {
        let name = log::segment_name(base);
        let file =
            self.disk.open(&name).map_err(|error| StoreError::io(format!("cannot open {name}"), error))?;
        let mut frames = Frames::begin(&*file, &name)?;
        Ok(frames.size() <= HEADER as u64 && frames.header(FileKind::Log).is_err())
    }

    fn replay_segment(
        &mut self,
        name: &str,
        base: Revision,
        next: Option<Revision>,
    ) -> Result<(), StoreError> {
        let file =
            self.disk.open(name).map_err(|error| StoreError::io(format!("cannot open {name}"), error))?;
        let mut frames = Frames::begin(&*file, name)?;
        let found = frames.header(FileKind::Log)?;
        if found != base {
            return Err(StoreError::damaged(format!("{name} follows revision {found}")));
        }
        // Frames after the base of the next segment were refused and could not be truncated.
        while next.is_none_or(|next| self.found.index.current() < next) {
            let offset = frames.offset;
            match frames.next()? {
                Next::Frame(body) => self.replay_frame(body, name, offset)?,
                Next::End => break,
                Next::Broken => {
                    if next.is_some() || frames.search()? != Search::Nothing {
                        return Err(StoreError::damaged(format!(
                            "{name} is damaged at byte {offset}, and commits follow"
                        )));
                    }
                    self.found.torn = frames.size() - offset;
                    self.found.broken = Some(format!("{name} is damaged at byte {offset}"));
                    break;
                }
            }
        }
        let (size, salt) = (frames.offset, frames.salt);
        self.found.segments.push((base, size));
        if next.is_none()
            && let Some(salt) = salt
        {
            self.found.segment = Some(Segment { base, file, salt, size });
        }
        Ok(())
    }

    /// Compares what was recovered with the sync marker.
    fn check_marker(&self, synced: SyncedPosition, names: &[String]) -> Result<(), StoreError> {
        let current = self.found.index.current();
        if synced.revision <= current {
            return Ok(());
        }
        let SyncedPosition { revision, segment, offset } = synced;
        let name = log::segment_name(segment);
        let why = match &self.found.broken {
            _ if !names.contains(&name) => format!("{name} is missing"),
            Some(broken) => broken.clone(),
            None => format!("{name} was {offset} bytes long, and is shorter now"),
        };
        Err(StoreError::damaged(format!(
            "{why}: commits up to revision {revision} were acknowledged, and those after {current} cannot be \
             read"
        )))
    }

    fn replay_frame(&mut self, body: &[u8], name: &str, offset: u64) -> Result<(), StoreError> {
        let unreadable =
            || StoreError::damaged(format!("{name} holds something unreadable at byte {offset}"));
        let (base, entries) = format::read_log_frame(body).ok_or_else(unreadable)?;
        let Recovered { index, stale, replayed, .. } = &mut self.found;
        if base > index.current() {
            return Err(self.gap(name, base));
        }
        for entry in entries {
            match entry {
                // Contained in the checkpoint.
                Entry::Commit { revision, .. } if revision <= index.current() => {}
                Entry::Commit { revision, changes } => {
                    if names_a_key_twice(&changes) {
                        return Err(unreadable());
                    }
                    let events: Vec<_> = changes
                        .into_iter()
                        .filter_map(|(key, value)| {
                            let value = value.map(|value| decoded(self.codec, stale, &key, value));
                            let previous = index.live(key.as_str());
                            // All versions of a key share its text.
                            let key = previous.as_ref().map_or(key, |previous| previous.key.clone());
                            Index::event(revision, key, value, previous)
                        })
                        .collect();
                    match Batch::new(events) {
                        Some(batch) if revision == index.current().next() => index.apply(batch),
                        _ => return Err(unreadable()),
                    }
                    *replayed += 1;
                }
                Entry::Compacted(oldest) => index.compact(oldest.min(index.current())),
            }
        }
        Ok(())
    }

    fn gap(&self, name: &str, base: Revision) -> StoreError {
        let current = self.found.index.current();
        StoreError::damaged(format!(
            "{name} follows revision {base}, but the log before it ends at {current}"
        ))
    }
}

fn names_a_key_twice(changes: &[(Key, Option<Bytes>)]) -> bool {
    let mut keys: Vec<&Key> = changes.iter().map(|(key, _)| key).collect();
    keys.sort_unstable();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}
