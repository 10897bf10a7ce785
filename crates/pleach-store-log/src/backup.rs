//! Backup, restore and check, for the command line.
//!
//! A backup is one file: everything that existed at one revision. It is taken from an open store, or
//! from a directory that another process may be writing to: files are only appended to or replaced as a
//! whole, so reading them gives a prefix of history, and is retried when a file was replaced meanwhile.

use std::{io, path::Path, sync::Arc};

use pleach_store::{Revision, StoreError};

use crate::{
    checkpoint::{self, Writer},
    disk::{Disk, RealDisk},
    maintenance::{self, SnapshotAt},
    options::{Options, cannot_open},
    recover::{self, Mode, Recovered},
    shared::{Files, Shared},
    store::LogStore,
};

/// How often reading is retried when files are replaced meanwhile.
const ATTEMPTS: usize = 10;

/// Statistics of a store or a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The current revision.
    pub revision: Revision,
    /// The oldest revision that can be read.
    pub oldest: Revision,
    /// Keys that exist.
    pub keys: u64,
    /// Bytes of their values.
    pub value_bytes: u64,
    /// Bytes of the files.
    pub disk_bytes: u64,
    /// Commits in the log after the checkpoint, which opening replays.
    pub replayed: u64,
    /// Bytes of an incomplete write at the end of the log. Normal after a crash, and while the store is
    /// being written to; opening truncates them.
    pub unfinished: u64,
}

impl LogStore {
    /// Writes a backup to a file. Does not block commits.
    pub fn backup(&self, file: impl AsRef<Path>) -> Result<Report, StoreError> {
        write_backup(&self.shared, file.as_ref())
    }
}

/// Writes a backup of the store in a directory to a file, whether or not a process has it open.
pub fn backup(directory: impl AsRef<Path>, file: impl AsRef<Path>) -> Result<Report, StoreError> {
    let (disk, found) = read_store(directory.as_ref())?;
    let files =
        Files { segments: found.segments.into(), checkpoint: found.checkpoint, maintenance_error: None };
    write_backup(&Shared::new(found.index, files, disk, Options::new()), file.as_ref())
}

/// Restores a backup into a directory that has no store.
///
/// The revision continues `skip` after the backup's. Clients may have seen later revisions than the
/// backup's; a skip larger than their number keeps those from being reused.
pub fn restore(file: impl AsRef<Path>, directory: impl AsRef<Path>, skip: u64) -> Result<Report, StoreError> {
    let (source, name) = parent_of(file.as_ref())?;
    let directory = directory.as_ref();
    let target = RealDisk::open_exclusive(directory).map_err(|error| cannot_open(directory, error))?;
    let names = target.list().map_err(|error| cannot_open(directory, error))?;
    if names
        .iter()
        .any(|name| checkpoint::checkpoint_revision(name).or(crate::log::segment_base(name)).is_some())
    {
        let error = io::Error::new(io::ErrorKind::AlreadyExists, "there is a store in it already");
        return Err(cannot_open(directory, error));
    }
    // Read and checked as a whole before anything is written.
    let mut report = check_backup(&source, &name)?;
    let revision = Revision(report.revision.0.saturating_add(skip).min(u64::MAX / 2));
    let mut writer = Writer::begin(&target, &checkpoint::checkpoint_name(revision), revision)?;
    let mut written = Ok(());
    checkpoint::read(
        &source,
        &name,
        |_| {},
        |item| {
            if written.is_ok() {
                written = writer.put(&item);
            }
        },
    )?;
    written?;
    report.disk_bytes = writer.finish()?;
    (report.revision, report.oldest) = (revision, revision);
    Ok(report)
}

/// Reads all of a store's directory, or of a backup, without changing it. The error says what is
/// damaged.
pub fn check(path: impl AsRef<Path>) -> Result<Report, StoreError> {
    let path = path.as_ref();
    if path.is_file() {
        let (source, name) = parent_of(path)?;
        return check_backup(&source, &name);
    }
    let (_, found) = read_store(path)?;
    let (keys, value_bytes) = found.index.live_size();
    let log_bytes: u64 = found.segments.iter().map(|(_, size)| size).sum();
    Ok(Report {
        revision: found.index.current(),
        oldest: found.index.oldest(),
        keys,
        value_bytes,
        disk_bytes: log_bytes + found.torn + found.checkpoint.map_or(0, |(_, size)| size),
        replayed: found.replayed,
        unfinished: found.torn,
    })
}

fn check_backup(source: &RealDisk, name: &str) -> Result<Report, StoreError> {
    let mut value_bytes = 0;
    let (revision, keys, disk_bytes) =
        checkpoint::read(source, name, |_| {}, |item| value_bytes += item.value.len() as u64)?;
    Ok(Report { revision, oldest: revision, keys, value_bytes, disk_bytes, replayed: 0, unfinished: 0 })
}

fn write_backup(shared: &Shared, file: &Path) -> Result<Report, StoreError> {
    let (target, name) = parent_of(file)?;
    let (revision, disk_bytes) =
        maintenance::write_snapshot(shared, &target, Some(&name), SnapshotAt::Latest)?;
    let checked = check_backup(&target, &name)?;
    debug_assert_eq!((checked.revision, checked.disk_bytes), (revision, disk_bytes));
    Ok(checked)
}

/// Reads the store in a directory without locking it.
fn read_store(directory: &Path) -> Result<(Arc<dyn Disk>, Recovered), StoreError> {
    let disk = RealDisk::open_read_only(directory).map_err(|error| cannot_open(directory, error))?;
    let disk: Arc<dyn Disk> = Arc::new(disk);
    let mut attempt = 0;
    loop {
        attempt += 1;
        match recover::recover(&disk, Mode::ReadOnly, None) {
            // A checkpoint has replaced the files that were listed.
            Err(StoreError::Io { source, .. })
                if source.kind() == io::ErrorKind::NotFound && attempt < ATTEMPTS => {}
            found => return Ok((disk, found?)),
        }
    }
}

/// The directory of a file, as a [`RealDisk`], and the file's name.
fn parent_of(file: &Path) -> Result<(RealDisk, String), StoreError> {
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = file.file_name().and_then(|name| name.to_str());
    let found = match name {
        Some(name) => RealDisk::open_read_only(parent).map(|disk| (disk, name.to_owned())),
        None => Err(io::Error::new(io::ErrorKind::InvalidInput, "not the name of a file")),
    };
    found.map_err(|error| StoreError::io(format!("cannot use {}", file.display()), error))
}
