//! [`RealDisk`]: a directory of the file system, locked by one process.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use super::{Disk, DiskFile};

/// The lock file. Never removed: a lock on a replaceable file guards nothing.
const LOCK: &str = "LOCK";

/// A directory of the file system. Its files are private to their owner.
#[derive(Debug)]
pub struct RealDisk {
    directory: PathBuf,
    /// Held until dropped; the system releases it when the process dies.
    held: Option<File>,
    /// The open directory: syncing names must not need a new descriptor.
    opened: File,
    /// Parent directories that were created; synced with the first names in the directory, so that
    /// opening an empty store does not wait for the disk.
    created_in: Mutex<Vec<PathBuf>>,
}

impl RealDisk {
    /// Locks the directory, creating it if missing. Fails with [`io::ErrorKind::WouldBlock`] when
    /// another process has locked it.
    pub fn open_exclusive(directory: &Path) -> io::Result<Self> {
        let missing = directory.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.is_dir());
        let parent_of = |path: &Path| match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let created_in: Vec<PathBuf> = missing.map(parent_of).collect();
        if !created_in.is_empty() {
            DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(directory.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                directory: directory.into(),
                held: Some(lock),
                opened: File::open(directory)?,
                created_in: Mutex::new(created_in),
            }),
            Err(TryLockError::WouldBlock) => Err(io::Error::new(
                io::ErrorKind::WouldBlock,
                "another process has this store open; stop it first, or use another directory",
            )),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Opens a directory without locking it, to read what a process may be writing.
    pub fn open_read_only(directory: &Path) -> io::Result<Self> {
        if !fs::metadata(directory)?.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "not a directory"));
        }
        let opened = File::open(directory)?;
        Ok(Self { directory: directory.into(), held: None, opened, created_in: Mutex::default() })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }
}

impl Disk for RealDisk {
    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            // File names that are not UTF-8 are not ours.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true).mode(0o600);
        Ok(Box::new(options.open(self.path(name))?))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).write(self.held.is_some());
        Ok(Box::new(options.open(self.path(name))?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path(name))
    }

    fn sync_names(&self) -> io::Result<()> {
        self.opened.sync_all()?;
        let mut created_in = self.created_in.lock().unwrap_or_else(PoisonError::into_inner);
        for directory in &*created_in {
            File::open(directory)?.sync_all()?;
        }
        created_in.clear();
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn reserve(&self, name: &str, bytes: u64) -> io::Result<()> {
        use rustix::fs::{FallocateFlags, fallocate};
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(self.path(name))?;
        Ok(fallocate(&file, FallocateFlags::empty(), 0, bytes)?)
    }

    #[cfg(target_os = "linux")]
    fn free(&self) -> Option<u64> {
        let room = rustix::fs::fstatvfs(&self.opened).ok()?;
        Some(room.f_bavail.saturating_mul(room.f_frsize))
    }
}

impl DiskFile for File {
    fn size(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, buffer, offset)
    }

    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn truncate(&mut self, size: u64) -> io::Result<()> {
        self.set_len(size)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}
