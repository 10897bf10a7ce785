//! The log on disk: segments, appended to by one thread.
//!
//! A segment is named after the revision it follows. Only the newest is written to; it is closed
//! when it is large enough. A new segment's header and name are durable before anything in it is.
//! The file for the next one is opened well before it is needed, so that a process that has run out of
//! file descriptors can go on; when there is none to be had, the segment just gets longer.
//!
//! **Invariant:** `append` returns `Ok` only when the frame is durable. A frame whose write or sync
//! failed is cut off, so that what was refused does not come back.
//!
//! What follows a failure depends on what it was. A disk that is full, a process out of descriptors
//! and the like end some time: the next append tries again. A cut that succeeded leaves the segment as
//! it was after the last sync that did; otherwise the segment is left alone and a new one begun, and
//! whatever is in the old one after the new one's revision counts for nothing. After any other failed
//! write or sync (a broken disk) nothing is ever written again: a second sync may lie.

use std::{io, sync::Arc};

use pleach_store::{Revision, StoreError};

use crate::{
    checkpoint::UNFINISHED,
    disk::{Disk, DiskFile},
    format::{self, FileKind, Salt},
    synced::{Note, Synced},
};

const SUFFIX: &str = ".log";

/// The name of the segment that follows a revision.
pub(crate) fn segment_name(base: Revision) -> String {
    format!("{:020}{SUFFIX}", base.0)
}

/// The revision a segment of this name follows; `None` when it is not a segment's name.
pub(crate) fn segment_base(name: &str) -> Option<Revision> {
    name.strip_suffix(SUFFIX).filter(|digits| digits.len() == 20)?.parse().ok().map(Revision)
}

/// Where frames are appended.
#[derive(Debug)]
pub(crate) struct Log {
    disk: Arc<dyn Disk>,
    segment: Option<Segment>,
    /// An empty file for the next segment, under a name that opening the store removes.
    next: Option<Box<dyn DiskFile>>,
    /// A segment that reaches this size is closed.
    segment_bytes: u64,
    sync: bool,
    note: Note,
    failed: Option<Arc<str>>,
    /// A failure was reported, and no append has succeeded since.
    troubled: bool,
}

#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) base: Revision,
    pub(crate) file: Box<dyn DiskFile>,
    pub(crate) salt: Salt,
    pub(crate) size: u64,
}

/// Whether a failure says that there is no room on the disk.
pub(crate) fn is_no_space(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Whether a failure is of a kind that ends without a restart, and leaves what was synced alone.
fn is_transient(error: &StoreError) -> bool {
    /// `ENFILE`, `EMFILE`, `ENOBUFS`: not among the kinds of the standard library.
    const RAW: [i32; 3] = [23, 24, 105];
    let StoreError::Io { source, .. } = error else { return false };
    is_no_space(source)
        || matches!(
            source.kind(),
            io::ErrorKind::FileTooLarge
                | io::ErrorKind::Interrupted
                | io::ErrorKind::WouldBlock
                | io::ErrorKind::OutOfMemory
        )
        || source.raw_os_error().is_some_and(|code| RAW.contains(&code))
}

impl Log {
    /// A log that goes on in a segment, or in a new one when there is none.
    pub(crate) fn new(disk: Arc<dyn Disk>, segment: Option<Segment>, segment_bytes: u64, sync: bool) -> Self {
        Self {
            disk,
            segment,
            next: None,
            segment_bytes,
            sync,
            note: Note::default(),
            failed: None,
            troubled: false,
        }
    }

    /// Why the log takes no more frames.
    pub(crate) fn failed(&self) -> Option<&Arc<str>> {
        self.failed.as_ref()
    }

    /// Appends a frame with this body that follows `base` and ends at `last`, and makes it durable.
    /// `frame` was begun with [`format::begin_frame`]. The segment it is in now, and that one's size.
    pub(crate) fn append(
        &mut self,
        frame: &mut [u8],
        (base, last): (Revision, Revision),
    ) -> Result<(Revision, u64), StoreError> {
        if let Some(reason) = &self.failed {
            return Err(StoreError::ReadOnly { reason: Arc::clone(reason) });
        }
        let mut written = self.write(frame, base);
        // A file may not get longer for reasons of its own; another one may.
        if let Err(StoreError::Io { source, .. }) = &written
            && source.kind() == io::ErrorKind::FileTooLarge
            && self.segment.as_ref().is_some_and(|segment| segment.base != base)
        {
            self.segment = None;
            written = self.write(frame, base);
        }
        let (segment, size) = written?;
        if std::mem::take(&mut self.troubled) {
            tracing::info!("the store takes writes again");
        }
        // Without syncs nothing is known to be durable.
        if self.sync {
            self.note.write(&*self.disk, Synced { revision: last, segment, offset: size });
        }
        if self.next.is_none() && size > self.segment_bytes / 2 {
            // Tried again with the next frame.
            self.next = self.disk.create(&next_name()).ok();
        }
        Ok((segment, size))
    }

    /// Begins a new segment at `base`, so that the one before it is not written to any more.
    pub(crate) fn roll(&mut self, base: Revision) -> Result<Option<(Revision, u64)>, StoreError> {
        if self.failed.is_some() || self.segment.as_ref().is_none_or(|segment| segment.base == base) {
            return Ok(None);
        }
        match self.begin_segment(base) {
            Ok(segment) => {
                let place = (segment.base, segment.size);
                self.segment = Some(segment);
                Ok(Some(place))
            }
            Err(NotBegun { error, named }) => {
                if named {
                    self.segment = None;
                }
                Err(error)
            }
        }
    }

    /// Makes the note of what is durable durable itself.
    pub(crate) fn close(mut self) {
        self.note.sync();
        if self.next.take().is_some() {
            let _ = self.disk.remove(&next_name());
        }
    }

    fn write(&mut self, frame: &mut [u8], base: Revision) -> Result<(Revision, u64), StoreError> {
        match &self.segment {
            Some(segment) if segment.size < self.segment_bytes || segment.base == base => {}
            open => {
                let open = open.is_some();
                match self.begin_segment(base) {
                    Ok(segment) => self.segment = Some(segment),
                    // The segment gets longer than it should.
                    Err(NotBegun { named: false, .. }) if open => {}
                    Err(NotBegun { error, .. }) => {
                        self.segment = None;
                        self.report(&error);
                        return Err(error);
                    }
                }
            }
        }
        let Some(segment) = &mut self.segment else {
            return Err(StoreError::io("cannot write to the log", io::ErrorKind::NotFound.into()));
        };
        match write_frame(segment, frame, self.sync) {
            Ok(()) => Ok((segment.base, segment.size)),
            Err(error) => {
                let size = segment.size;
                // Best effort, on a disk that has just failed.
                let cut = segment.file.truncate(size).and_then(|()| segment.file.sync());
                if is_transient(&error) {
                    self.report(&error);
                    if cut.is_err() {
                        self.segment = None;
                    }
                } else {
                    tracing::error!(%error, "the store takes no more writes until it is opened again");
                    let reason = format!("{error}; it can be read, and written again once reopened");
                    self.failed = Some(reason.into());
                }
                Err(error)
            }
        }
    }

    fn report(&mut self, error: &StoreError) {
        if !std::mem::replace(&mut self.troubled, true) {
            tracing::error!(%error, "a write to the store failed; the next one is tried");
        }
    }

    fn begin_segment(&mut self, base: Revision) -> Result<Segment, NotBegun> {
        let (salt, disk) = (Salt::draw(), &self.disk);
        let next = self.next.take();
        let begin = || {
            let mut file = next.map_or_else(|| disk.create(&next_name()), Ok)?;
            file.write_at(&format::header(FileKind::Log, base, salt), 0)?;
            file.sync()?;
            Ok(Segment { base, file, salt, size: format::HEADER as u64 })
        };
        let named = || disk.rename(&next_name(), &segment_name(base)).and_then(|()| disk.sync_names());
        let failed = |error| StoreError::io("cannot begin a new segment of the log", error);
        let segment = begin().map_err(|error| NotBegun { error: failed(error), named: false })?;
        named().map_err(|error| NotBegun { error: failed(error), named: true })?;
        Ok(segment)
    }
}

/// Why there is no new segment.
struct NotBegun {
    error: StoreError,
    /// Whether a file of its name may be there. If so, the segment before it must not be written to:
    /// its frames would come after the revision at which another one begins.
    named: bool,
}

fn next_name() -> String {
    format!("next{SUFFIX}{UNFINISHED}")
}

fn write_frame(segment: &mut Segment, frame: &mut [u8], sync: bool) -> Result<(), StoreError> {
    format::finish_frame(frame, 0, segment.salt);
    let written = segment.file.write_at(frame, segment.size);
    written.map_err(|error| StoreError::io("cannot write to the log", error))?;
    if sync {
        segment.file.sync().map_err(|error| StoreError::io("cannot sync the log", error))?;
    }
    segment.size += frame.len() as u64;
    Ok(())
}
