//! Reads a file frame by frame.
//!
//! Broken frames are reported, not interpreted. The file need not fit in memory.

use pleach_store::{Revision, StoreError};

use crate::{
    disk::DiskFile,
    format::{self, FRAME, FileKind, HEADER, Salt, Search},
};

/// The frames of a file, one after the other.
pub(crate) struct Frames<'a> {
    file: &'a dyn DiskFile,
    name: &'a str,
    size: u64,
    /// Known once the header has been read.
    pub(crate) salt: Option<Salt>,
    /// Where the next frame begins.
    pub(crate) offset: u64,
    body: Vec<u8>,
}

/// The next frame of a file.
pub(crate) enum Next<'a> {
    /// The body of a valid frame.
    Frame(&'a [u8]),
    /// The file ends after a valid frame.
    End,
    /// Not a valid frame.
    Broken,
}

impl<'a> Frames<'a> {
    pub(crate) fn begin(file: &'a dyn DiskFile, name: &'a str) -> Result<Self, StoreError> {
        let size = file.size().map_err(|error| StoreError::io(format!("cannot read {name}"), error))?;
        Ok(Self { file, name, size, salt: None, offset: 0, body: Vec::new() })
    }

    /// How long the file is.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn at_end(&self) -> bool {
        self.offset >= self.size
    }

    /// Reads the header, which comes first.
    pub(crate) fn header(&mut self, kind: FileKind) -> Result<Revision, StoreError> {
        let mut header = [0; HEADER];
        if !self.fill(&mut header, 0)? {
            return Err(StoreError::damaged(format!("{} ends within its header", self.name)));
        }
        self.offset = HEADER as u64;
        let (revision, salt) = format::read_header(&header, kind, self.name)?;
        self.salt = Some(salt);
        Ok(revision)
    }

    /// Reads the header of a file that may be damaged: only the salt.
    pub(crate) fn header_leniently(&mut self) -> Result<(), StoreError> {
        let mut header = [0; HEADER];
        if !self.fill(&mut header, 0)? {
            return Err(StoreError::damaged(format!("{} ends within its header", self.name)));
        }
        self.offset = HEADER as u64;
        self.salt = Some(format::salt_of(&header));
        Ok(())
    }

    /// Reads the next frame.
    pub(crate) fn next(&mut self) -> Result<Next<'_>, StoreError> {
        if self.at_end() {
            return Ok(Next::End);
        }
        let mut head = [0; FRAME];
        if !self.fill(&mut head, self.offset)? {
            return Ok(Next::Broken);
        }
        let head = self.salt.and_then(|salt| format::frame_head(&head, salt));
        let Some((size, crc)) = head else { return Ok(Next::Broken) };
        let begin = self.offset + FRAME as u64;
        if begin + size as u64 > self.size {
            return Ok(Next::Broken);
        }
        let mut body = std::mem::take(&mut self.body);
        body.resize(size, 0);
        let filled = self.fill(&mut body, begin)?;
        self.body = body;
        if !filled || !self.salt.is_some_and(|salt| format::frame_holds(salt, crc, &self.body)) {
            return Ok(Next::Broken);
        }
        self.offset = begin + size as u64;
        Ok(Next::Frame(&self.body))
    }

    /// Searches for the next valid frame after the broken one at the current offset, and moves there if
    /// there is one.
    pub(crate) fn search(&mut self) -> Result<Search, StoreError> {
        let mut rest = vec![0; usize::try_from(self.size - self.offset).unwrap_or(usize::MAX)];
        let read = self.fill(&mut rest, self.offset)?;
        let found = match (self.salt, rest.get(1..)) {
            (Some(salt), Some(rest)) if read => format::find_frame(rest, salt),
            _ => Search::Nothing,
        };
        if let Search::Found(at) = found {
            self.offset += 1 + at as u64;
        }
        Ok(found)
    }

    fn fill(&self, buffer: &mut [u8], offset: u64) -> Result<bool, StoreError> {
        let cannot = |error| StoreError::io(format!("cannot read {}", self.name), error);
        self.file.fill_at(buffer, offset).map_err(cannot)
    }
}
