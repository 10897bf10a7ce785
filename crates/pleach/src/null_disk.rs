//! A null disk for `--in-memory`: the store's log is discarded.

use std::io;
use std::sync::Arc;

use pleach_store::StoreError;
use pleach_store_log::{Disk, DiskFile, LogStore, Options};

/// The embedded store on a null disk.
pub(crate) fn open(options: Options) -> Result<LogStore, StoreError> {
    // Without a disk checkpoints and a reserve are useless.
    options.sync(false).checkpoint_bytes(u64::MAX).reserve_bytes(0).open_disk(Arc::new(NoDisk))
}

#[derive(Debug)]
struct NoDisk;

impl Disk for NoDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn create(&self, _: &str) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(NoFile { size: 0 }))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        Err(io::Error::new(io::ErrorKind::NotFound, format!("{name} is not kept")))
    }

    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _: &str) -> io::Result<()> {
        Ok(())
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Only tracks its size.
#[derive(Debug)]
struct NoFile {
    size: u64,
}

impl DiskFile for NoFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.size)
    }

    fn read_at(&self, _: &mut [u8], _: u64) -> io::Result<usize> {
        Ok(0)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.size = self.size.max(offset + bytes.len() as u64);
        Ok(())
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        self.size = size;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
