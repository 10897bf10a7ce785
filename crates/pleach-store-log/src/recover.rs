//! From the files to the index: what opening does.
//!
//! The newest checkpoint is read and the log after it replayed. Every frame is checked, and every
//! commit must be the next. A broken end of the newest segment is what a crash leaves of a group
//! commit nobody was told about; it is cut off. Anything else that does not add up is damage, and
//! the store is not opened: silently dropping commits that were acknowledged is worse.
//!
//! **Invariant:** recovering twice is recovering once; a crash in here leaves the same to do.

use std::sync::Arc;

use pleach_store::{Batch, Revision, StoreError};

use crate::{
    checkpoint::{self, UNFINISHED},
    disk::Disk,
    format::{self, Entry, FileKind, HEADER},
    frames::{Frames, Next},
    index::Index,
    log::{self, Segment},
};

/// What was found on disk.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) index: Index,
    /// The segment to go on in.
    pub(crate) segment: Option<Segment>,
    /// The revision of the checkpoint, if there is one, and its size.
    pub(crate) checkpoint: Option<(Revision, u64)>,
    /// The segments that are needed, oldest first, and their sizes.
    pub(crate) segments: Vec<(Revision, u64)>,
    /// Commits replayed from the log.
    pub(crate) replayed: u64,
    /// Bytes of an unfinished write at the end of the log.
    pub(crate) torn: u64,
}

/// Whether recovery may mend what a crash left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The directory is ours: remove leftovers, cut off a broken end.
    Mend,
    /// Another process may be writing: look, and change nothing.
    Look,
}

/// Reads what is on disk.
pub(crate) fn recover(disk: &Arc<dyn Disk>, mode: Mode) -> Result<Recovered, StoreError> {
    let names = disk.list().map_err(|error| StoreError::io("cannot list the store's directory", error))?;
    let mut recovery = Recovery { disk, mode, found: nothing() };
    if mode == Mode::Mend {
        for name in names.iter().filter(|name| name.ends_with(UNFINISHED)) {
            recovery.remove(name)?;
        }
    }
    let mut checkpoints: Vec<Revision> =
        names.iter().filter_map(|name| checkpoint::checkpoint_revision(name)).collect();
    checkpoints.sort_unstable();
    if let Some(newest) = checkpoints.pop() {
        recovery.load(newest)?;
    }
    let mut segments: Vec<Revision> = names.iter().filter_map(|name| log::segment_base(name)).collect();
    segments.sort_unstable();
    recovery.replay(&segments)?;
    if mode == Mode::Mend {
        for old in checkpoints {
            recovery.remove(&checkpoint::checkpoint_name(old))?;
        }
    }
    Ok(recovery.found)
}

fn nothing() -> Recovered {
    Recovered {
        index: Index::new(Revision::FIRST),
        segment: None,
        checkpoint: None,
        segments: Vec::new(),
        replayed: 0,
        torn: 0,
    }
}

struct Recovery<'a> {
    disk: &'a Arc<dyn Disk>,
    mode: Mode,
    found: Recovered,
}

impl Recovery<'_> {
    fn remove(&self, name: &str) -> Result<(), StoreError> {
        self.disk.remove(name).map_err(|error| StoreError::io(format!("cannot remove {name}"), error))
    }

    fn load(&mut self, revision: Revision) -> Result<(), StoreError> {
        let name = checkpoint::checkpoint_name(revision);
        let index = std::cell::RefCell::new(Index::new(revision));
        let (found, _, size) = checkpoint::read(
            &**self.disk,
            &name,
            |revision| *index.borrow_mut() = Index::new(revision),
            |item| index.borrow_mut().load(item),
        )?;
        if found != revision {
            return Err(StoreError::damaged(format!("{name} is the checkpoint of revision {found}")));
        }
        self.found.index = index.into_inner();
        self.found.checkpoint = Some((revision, size));
        Ok(())
    }

    fn replay(&mut self, segments: &[Revision]) -> Result<(), StoreError> {
        for (position, &base) in segments.iter().enumerate() {
            let name = log::segment_name(base);
            // A segment is spare when the one after it begins no later than the checkpoint ends.
            let checkpoint = self.found.checkpoint.map(|(revision, _)| revision);
            let spare = segments.get(position + 1).is_some_and(|next| Some(*next) <= checkpoint);
            if spare {
                if self.mode == Mode::Mend {
                    self.remove(&name)?;
                }
                continue;
            }
            if base > self.found.index.current() {
                return Err(self.gap(&name, base));
            }
            self.replay_segment(&name, base, position + 1 == segments.len())?;
        }
        Ok(())
    }

    fn replay_segment(&mut self, name: &str, base: Revision, newest: bool) -> Result<(), StoreError> {
        let mut file =
            self.disk.open(name).map_err(|error| StoreError::io(format!("cannot open {name}"), error))?;
        let mut frames = Frames::begin(&*file, name)?;
        // Nothing is written behind a header that is not durable: it holds nothing.
        if newest && frames.size() <= HEADER as u64 && frames.header(FileKind::Log).is_err() {
            return if self.mode == Mode::Mend { self.remove(name) } else { Ok(()) };
        }
        frames.offset = 0;
        let found = frames.header(FileKind::Log)?;
        if found != base {
            return Err(StoreError::damaged(format!("{name} follows revision {found}")));
        }
        loop {
            let offset = frames.offset;
            match frames.next()? {
                Next::Frame(body) => self.replay_frame(body, name, offset)?,
                Next::End => break,
                Next::Broken => {
                    if !newest || frames.goes_on()? {
                        return Err(StoreError::damaged(format!(
                            "{name} is damaged at byte {offset}, and commits follow; restore a backup"
                        )));
                    }
                    self.found.torn = frames.size() - offset;
                    break;
                }
            }
        }
        let (size, salt) = (frames.offset, frames.salt.expect("the header has been read"));
        self.found.segments.push((base, size));
        if newest {
            if self.found.torn > 0 && self.mode == Mode::Mend {
                tracing::info!(segment = name, bytes = self.found.torn, "cutting off an unfinished write");
                let cut = file.truncate(size).and_then(|()| file.sync());
                cut.map_err(|error| StoreError::io(format!("cannot mend the end of {name}"), error))?;
            }
            self.found.segment = Some(Segment { base, file, salt, size });
        }
        Ok(())
    }

    fn replay_frame(&mut self, body: &[u8], name: &str, offset: u64) -> Result<(), StoreError> {
        let unreadable =
            || StoreError::damaged(format!("{name} holds something unreadable at byte {offset}"));
        let (base, entries) = format::read_log_frame(body).ok_or_else(unreadable)?;
        let index = &mut self.found.index;
        if base > index.current() {
            return Err(self.gap(name, base));
        }
        for entry in entries {
            match entry {
                // The checkpoint has it.
                Entry::Commit { revision, .. } if revision <= index.current() => {}
                Entry::Commit { revision, changes } => {
                    let events: Vec<_> = changes
                        .into_iter()
                        .filter_map(|(key, value)| {
                            let previous = index.live(key.as_str());
                            // Keys are shared by all versions of them.
                            let key = previous.as_ref().map_or(key, |previous| previous.key.clone());
                            Index::event(revision, key, value, previous)
                        })
                        .collect();
                    match Batch::new(events) {
                        Some(batch) if revision == index.current().next() => index.apply(batch),
                        _ => return Err(unreadable()),
                    }
                    self.found.replayed += 1;
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
