//! Checkpoints: everything that exists at one revision, in one file.
//!
//! Written beside the log under a temporary name, synced, then renamed, so it is complete or absent. A
//! backup is the same file elsewhere. Reading streams it.

use pleach_store::{Key, Revision, StoreError, Versioned};

use crate::{
    disk::{Disk, DiskFile},
    format::{self, FRAME, FileKind, HEADER, Items, Salt},
    frames::{Frames, Next},
};

const SUFFIX: &str = ".checkpoint";
/// The suffix of unfinished files; recovery removes them.
pub(crate) const UNFINISHED: &str = ".tmp";
/// A frame of items is written out when it reaches this size.
pub(crate) const FRAME_BYTES: usize = 256 << 10;

/// The name of the checkpoint at a revision.
pub(crate) fn checkpoint_name(revision: Revision) -> String {
    format!("{:020}{SUFFIX}", revision.0)
}

/// The revision of a checkpoint of this name; `None` when it is not a checkpoint's name.
pub(crate) fn checkpoint_revision(name: &str) -> Option<Revision> {
    name.strip_suffix(SUFFIX).filter(|digits| digits.len() == 20)?.parse().ok().map(Revision)
}

/// A checkpoint being written.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    disk: &'a dyn Disk,
    name: String,
    file: Box<dyn DiskFile>,
    salt: Salt,
    size: u64,
    items: u64,
    frame: Vec<u8>,
}

impl<'a> Writer<'a> {
    /// Creates the file `name` for the state at a revision.
    pub(crate) fn begin(disk: &'a dyn Disk, name: &str, revision: Revision) -> Result<Self, StoreError> {
        let salt = Salt::draw();
        let begin = || {
            let mut file = disk.create(&format!("{name}{UNFINISHED}"))?;
            file.write_at(&format::header(FileKind::Checkpoint, revision, salt), 0)?;
            Ok(file)
        };
        let file = begin().map_err(failed)?;
        let mut frame = Vec::with_capacity(FRAME_BYTES + FRAME_BYTES / 4);
        format::begin_frame(&mut frame);
        Ok(Self { disk, name: name.into(), file, salt, size: HEADER as u64, items: 0, frame })
    }

    /// Adds an item.
    pub(crate) fn put(&mut self, item: &Versioned) -> Result<(), StoreError> {
        format::put_item(&mut self.frame, item);
        self.items += 1;
        if self.frame.len() >= FRAME_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        if self.frame.len() > FRAME {
            format::finish_frame(&mut self.frame, 0, self.salt);
            self.file.write_at(&self.frame, self.size).map_err(failed)?;
            self.size += self.frame.len() as u64;
            self.frame.clear();
            format::begin_frame(&mut self.frame);
        }
        Ok(())
    }

    /// Closes, renames and syncs the file. Returns its size.
    pub(crate) fn finish(mut self) -> Result<u64, StoreError> {
        self.flush()?;
        format::put_end(&mut self.frame, self.items);
        self.flush()?;
        let Self { disk, name, mut file, size, .. } = self;
        let finish = || {
            file.sync()?;
            drop(file);
            disk.rename(&format!("{name}{UNFINISHED}"), &name)?;
            disk.sync_names()
        };
        finish().map_err(failed)?;
        Ok(size)
    }
}

fn failed(error: std::io::Error) -> StoreError {
    StoreError::io("cannot write a checkpoint", error)
}

/// Reads a checkpoint item by item. Returns its revision, the number of items, and its size.
pub(crate) fn read(
    disk: &dyn Disk,
    name: &str,
    mut begin: impl FnMut(Revision),
    mut each: impl FnMut(Versioned),
) -> Result<(Revision, u64, u64), StoreError> {
    let file = disk.open(name).map_err(|error| StoreError::io(format!("cannot open {name}"), error))?;
    let mut frames = Frames::begin(&*file, name)?;
    let revision = frames.header(FileKind::Checkpoint)?;
    begin(revision);
    let mut count = 0;
    let mut last: Option<Key> = None;
    loop {
        let offset = frames.offset;
        let damaged = || StoreError::damaged(format!("{name} is damaged at byte {offset}"));
        let Next::Frame(body) = frames.next()? else { return Err(damaged()) };
        match format::read_items(body).ok_or_else(damaged)? {
            Items::Some(items) => {
                count += items.len() as u64;
                for item in &items {
                    let ascends = last.as_ref().is_none_or(|last| *last < item.key);
                    if !ascends || item.revision > revision || item.created > item.revision {
                        return Err(damaged());
                    }
                    last = Some(item.key.clone());
                }
                items.into_iter().for_each(&mut each);
            }
            Items::End(items) if items == count && frames.at_end() => {
                return Ok((revision, count, frames.offset));
            }
            Items::End(_) => return Err(damaged()),
        }
    }
}
