//! The files below the store, as few operations as it needs.
//!
//! The seam exists so that tests can put a disk here that fails on the n-th call or forgets what
//! was not synced. A disk is one flat directory. **What the store relies on:** a write is on disk
//! only after [`DiskFile::sync`] of that file; a created, renamed or removed name only after
//! [`Disk::sync_names`]; a rename replaces its target in one step.

mod real;
#[cfg(test)]
pub(crate) mod sim;

use std::{fmt, io};

pub use real::RealDisk;

/// One directory of files.
pub trait Disk: Send + Sync + fmt::Debug + 'static {
    /// The names of the files there are.
    fn list(&self) -> io::Result<Vec<String>>;
    /// An empty file under this name, whatever was there before.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// A file that exists.
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Gives a file another name, replacing what had it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes names created, changed or removed so far durable.
    fn sync_names(&self) -> io::Result<()>;

    /// Holds room on the disk under a name; removing it gives the room back.
    fn reserve(&self, name: &str, bytes: u64) -> io::Result<()> {
        const CHUNK: usize = 64 << 10;
        let mut file = self.create(name)?;
        // Nothing that a file system could leave out or compress.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut offset = 0;
        while offset < bytes {
            let mut chunk = Vec::with_capacity(CHUNK);
            while chunk.len() < CHUNK {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                chunk.extend_from_slice(&state.to_le_bytes());
            }
            let size = CHUNK.min((bytes - offset) as usize);
            file.write_at(&chunk[..size], offset)?;
            offset += size as u64;
        }
        file.sync()
    }

    /// How much room there is, if the disk can say.
    fn free(&self) -> Option<u64> {
        None
    }
}

/// One file.
pub trait DiskFile: Send + fmt::Debug {
    /// How long the file is.
    fn size(&self) -> io::Result<u64>;
    /// Reads some bytes at an offset; zero at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all the bytes at an offset.
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Cuts the file to a length.
    fn truncate(&mut self, size: u64) -> io::Result<()>;
    /// Makes the content and length durable.
    fn sync(&mut self) -> io::Result<()>;
}

impl dyn DiskFile + '_ {
    /// Fills the buffer from an offset; `false` when the file ends before it is full.
    pub(crate) fn fill_at(&self, mut buffer: &mut [u8], mut offset: u64) -> io::Result<bool> {
        while !buffer.is_empty() {
            match self.read_at(buffer, offset) {
                Ok(0) => return Ok(false),
                Ok(read) => {
                    buffer = &mut buffer[read..];
                    offset += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
