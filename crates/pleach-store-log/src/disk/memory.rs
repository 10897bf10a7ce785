//! A directory in memory, for tests: its files can be read, changed and copied from outside.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Disk, DiskFile};

/// The content of a file, which outlives its name while it is open.
type Inode = Arc<Mutex<Vec<u8>>>;

/// Files in memory. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct MemoryDisk(Arc<Mutex<BTreeMap<String, Inode>>>);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryDisk {
    /// A disk with these files, by name.
    pub fn of(files: BTreeMap<String, Vec<u8>>) -> Self {
        let inode = |(name, content)| (name, Arc::new(Mutex::new(content)));
        Self(Arc::new(Mutex::new(files.into_iter().map(inode).collect())))
    }

    /// A copy of all files, by name.
    pub fn files(&self) -> BTreeMap<String, Vec<u8>> {
        lock(&self.0).iter().map(|(name, inode)| (name.clone(), lock(inode).clone())).collect()
    }
}

#[derive(Debug)]
struct File(Inode);

impl Disk for MemoryDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        Ok(lock(&self.0).keys().cloned().collect())
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        lock(&self.0).insert(name.into(), Inode::default());
        self.open(name)
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let inode = lock(&self.0).get(name).cloned().ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(File(inode)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut names = lock(&self.0);
        let inode = names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        names.insert(to.into(), inode);
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        lock(&self.0).remove(name).map(drop).ok_or(io::ErrorKind::NotFound.into())
    }

    fn sync_names(&self) -> io::Result<()> {
        Ok(())
    }
}

impl DiskFile for File {
    fn size(&self) -> io::Result<u64> {
        Ok(lock(&self.0).len() as u64)
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let content = lock(&self.0);
        let from = content.get(offset as usize..).unwrap_or_default();
        let size = from.len().min(buffer.len());
        buffer[..size].copy_from_slice(&from[..size]);
        Ok(size)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut content = lock(&self.0);
        let end = offset as usize + bytes.len();
        if content.len() < end {
            content.resize(end, 0);
        }
        content[offset as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        lock(&self.0).resize(size as usize, 0);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
