//! The log on disk: segments, appended to by one thread.
//!
//! A segment is named after the revision it follows. Only the newest is written to; it is closed
//! when it is large enough. A new segment's header and name are durable before anything in it is.
//!
//! **Invariant:** `append` returns `Ok` only when the frame is durable. After the first failure
//! it never writes again: what a failed sync left on disk is not known, and a second sync may
//! lie. The failed frame is cut off if the disk still lets us, so that what was refused does not
//! come back; the next open judges the tail anyway.

use std::sync::Arc;

use pleach_store::{Revision, StoreError};

use crate::{
    disk::{Disk, DiskFile},
    format::{self, FileKind, Salt},
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
    /// A segment that reaches this size is closed.
    segment_bytes: u64,
    sync: bool,
    failed: Option<Arc<str>>,
}

#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) base: Revision,
    pub(crate) file: Box<dyn DiskFile>,
    pub(crate) salt: Salt,
    pub(crate) size: u64,
}

impl Log {
    /// A log that goes on in a segment, or in a new one when there is none.
    pub(crate) fn new(disk: Arc<dyn Disk>, segment: Option<Segment>, segment_bytes: u64, sync: bool) -> Self {
        Self { disk, segment, segment_bytes, sync, failed: None }
    }

    /// Why the log takes no more frames.
    pub(crate) fn failed(&self) -> Option<&Arc<str>> {
        self.failed.as_ref()
    }

    /// Appends a frame with this body that follows `base`, and makes it durable. `frame` was begun
    /// with [`format::begin_frame`]. The segment it is in now, and that one's size.
    pub(crate) fn append(&mut self, frame: &mut [u8], base: Revision) -> Result<(Revision, u64), StoreError> {
        if let Some(reason) = &self.failed {
            return Err(StoreError::ReadOnly { reason: Arc::clone(reason) });
        }
        self.try_append(frame, base).inspect_err(|error| {
            tracing::error!(%error, "the store takes no more writes until it is opened again");
            self.failed = Some(format!("{error}; it can be read, and written again once reopened").into());
            if let Some(Segment { file, size, .. }) = &mut self.segment {
                // Best effort, on a disk that has just failed.
                let _ = file.truncate(*size).and_then(|()| file.sync());
            }
        })
    }

    fn try_append(&mut self, frame: &mut [u8], base: Revision) -> Result<(Revision, u64), StoreError> {
        if self.segment.as_ref().is_some_and(|segment| segment.size >= self.segment_bytes) {
            self.segment = None;
        }
        let segment = match &mut self.segment {
            Some(segment) => segment,
            none => none.insert(begin_segment(&*self.disk, base)?),
        };
        format::finish_frame(frame, 0, segment.salt);
        let written = segment.file.write_at(frame, segment.size);
        written.map_err(|error| StoreError::io("cannot write to the log", error))?;
        if self.sync {
            segment.file.sync().map_err(|error| StoreError::io("cannot sync the log", error))?;
        }
        segment.size += frame.len() as u64;
        Ok((segment.base, segment.size))
    }
}

fn begin_segment(disk: &dyn Disk, base: Revision) -> Result<Segment, StoreError> {
    let salt = Salt::draw();
    let begin = || {
        let mut file = disk.create(&segment_name(base))?;
        file.write_at(&format::header(FileKind::Log, base, salt), 0)?;
        file.sync()?;
        disk.sync_names()?;
        Ok(Segment { base, file, salt, size: format::HEADER as u64 })
    };
    begin().map_err(|error| StoreError::io("cannot begin a new segment of the log", error))
}
