//! File system abstraction: the operations that the store needs.
//!
//! A trait so that tests can use a simulated disk that fails on the n-th call or loses unsynced data. A
//! disk is one flat directory. **The store relies on:** a write is durable only after
//! [`DiskFile::sync`] of that file; a created, renamed or removed name only after [`Disk::sync_names`];
//! a rename replaces its target atomically.

mod memory;
mod real;
#[cfg(test)]
pub(crate) mod sim;

use std::{fmt, io};

pub use memory::MemoryDisk;
pub use real::RealDisk;

/// One directory of files.
pub trait Disk: Send + Sync + fmt::Debug + 'static {
    /// The names of all files.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Creates an empty file, replacing what had its name.
    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Opens a file that exists.
    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>>;
    /// Renames a file, replacing what had that name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Syncs the directory: creations, renames and removals become durable.
    fn sync_names(&self) -> io::Result<()>;

    /// Allocates space under a name; removing the file frees it.
    fn reserve(&self, name: &str, bytes: u64) -> io::Result<()> {
        const CHUNK: usize = 64 << 10;
        let mut file = self.create(name)?;
        // Nothing a file system could compress or leave as a hole.
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

    /// Free space, if known.
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
    /// Truncates the file.
    fn truncate(&mut self, size: u64) -> io::Result<()>;
    /// Syncs content and length.
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
