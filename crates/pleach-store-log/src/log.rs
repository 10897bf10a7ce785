//! The write-ahead log: segment files, appended to by the committer thread.
//!
//! A segment is named after the revision it follows. Only the newest is written to; it is closed when
//! it is large enough. A new segment's header and name are durable before its first frame. The file of
//! the next segment is opened early, so that a process out of file descriptors can go on; if that
//! fails, the current segment grows.
//!
//! **Invariant:** `append` returns `Ok` only when the frame is durable. A frame whose write or sync
//! failed is truncated, so that a refused commit does not come back.
//!
//! After a transient error (a full disk, no descriptors) the next append tries again: if the truncation
//! succeeded, in the same segment; if not, in a new one, and frames of the old segment after the new
//! one's base are ignored. After any other failed write or sync the log is read-only: a second sync may
//! report success for lost data.

use std::{io, sync::Arc};

use pleach_store::{Revision, StoreError};

use crate::{
    checkpoint::UNFINISHED,
    disk::{Disk, DiskFile},
    format::{self, FileKind, Salt},
    sync_marker::{SyncMarker, SyncedPosition},
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

/// The open log.
#[derive(Debug)]
pub(crate) struct Log {
    disk: Arc<dyn Disk>,
    segment: Option<Segment>,
    /// An empty file for the next segment, under a temporary name.
    next: Option<Box<dyn DiskFile>>,
    /// A segment that reaches this size is closed.
    segment_bytes: u64,
    sync: bool,
    marker: SyncMarker,
    failed: Option<Arc<str>>,
    /// An error was logged, and no append has succeeded since.
    failing: bool,
}

#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) base: Revision,
    pub(crate) file: Box<dyn DiskFile>,
    pub(crate) salt: Salt,
    pub(crate) size: u64,
}

/// Whether the error is `ENOSPC` or a quota.
pub(crate) fn is_no_space(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Whether an error can go away without a restart, and does not affect synced data.
fn is_transient(error: &StoreError) -> bool {
    /// `ENFILE`, `EMFILE`, `ENOBUFS`: not among [`io::ErrorKind`]s.
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
    /// A log that continues in a segment, or in a new one when there is none.
    pub(crate) fn new(disk: Arc<dyn Disk>, segment: Option<Segment>, segment_bytes: u64, sync: bool) -> Self {
        Self {
            disk,
            segment,
            next: None,
            segment_bytes,
            sync,
            marker: SyncMarker::default(),
            failed: None,
            failing: false,
        }
    }

    /// Why the log is read-only.
    pub(crate) fn failed(&self) -> Option<&Arc<str>> {
        self.failed.as_ref()
    }

    /// Appends a frame that follows `base` and ends at `last`, and syncs. `frame` was started with
    /// [`format::begin_frame`]. Returns the segment it is in and the segment's size.
    pub(crate) fn append(
        &mut self,
        frame: &mut [u8],
        (base, last): (Revision, Revision),
    ) -> Result<(Revision, u64), StoreError> {
        if let Some(reason) = &self.failed {
            return Err(StoreError::ReadOnly { reason: Arc::clone(reason) });
        }
        let mut written = self.write(frame, base);
        // A file may fail to grow for reasons of its own; try another.
        if let Err(StoreError::Io { source, .. }) = &written
            && source.kind() == io::ErrorKind::FileTooLarge
            && self.segment.as_ref().is_some_and(|segment| segment.base != base)
        {
            self.segment = None;
            written = self.write(frame, base);
        }
        let (segment, size) = written?;
        if std::mem::take(&mut self.failing) {
            tracing::info!("the store is writable again");
        }
        // Without syncs nothing is known to be durable.
        if self.sync {
            self.marker.write(&*self.disk, SyncedPosition { revision: last, segment, offset: size });
        }
        if self.next.is_none() && size > self.segment_bytes / 2 {
            // Retried with the next frame.
            self.next = self.disk.create(&next_name()).ok();
        }
        Ok((segment, size))
    }

    /// Starts a new segment at `base`.
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
            Err(SegmentError { error, named }) => {
                if named {
                    self.segment = None;
                }
                Err(error)
            }
        }
    }

    /// Syncs the sync marker.
    pub(crate) fn close(mut self) {
        self.marker.sync();
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
                    // The current segment grows past its limit.
                    Err(SegmentError { named: false, .. }) if open => {}
                    Err(SegmentError { error, .. }) => {
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
                // Best effort: the disk has just failed.
                let cut = segment.file.truncate(size).and_then(|()| segment.file.sync());
                if is_transient(&error) {
                    self.report(&error);
                    if cut.is_err() {
                        self.segment = None;
                    }
                } else {
                    tracing::error!(%error, "the store is read-only until it is reopened");
                    let reason = format!("{error}; the store is read-only until it is reopened");
                    self.failed = Some(reason.into());
                }
                Err(error)
            }
        }
    }

    fn report(&mut self, error: &StoreError) {
        if !std::mem::replace(&mut self.failing, true) {
            tracing::error!(%error, "write to the log failed; later writes will be tried");
        }
    }

    fn begin_segment(&mut self, base: Revision) -> Result<Segment, SegmentError> {
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
        let segment = begin().map_err(|error| SegmentError { error: failed(error), named: false })?;
        named().map_err(|error| SegmentError { error: failed(error), named: true })?;
        Ok(segment)
    }
}

/// A new segment could not be started.
struct SegmentError {
    error: StoreError,
    /// Whether its file may exist. If so, the segment before it must not be written to: frames after
    /// the new segment's base are ignored.
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
