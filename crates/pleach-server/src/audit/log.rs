//! The audit log: a line of JSON per event, to standard output or to a file with rotation.
//!
//! A thread of its own writes. When it does not keep up, requests wait: an event that is due is not lost.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use tokio::runtime::{Handle, RuntimeFlavor};

use super::MOST_WAITING;

/// Events that wait to be written.
const QUEUE: usize = 10_000;
/// How long a request that waits for room sleeps at a time.
const PAUSE: Duration = Duration::from_millis(1);

/// The file of the log and its rotation.
#[derive(Clone, Debug)]
pub struct LogOptions {
    /// The file; `-` is standard output.
    pub path: PathBuf,
    /// The size at which a file is rotated, in bytes; 0 for never.
    pub max_size: u64,
    /// How many rotated files are kept; 0 for all.
    pub max_backups: usize,
    /// How many days rotated files are kept; 0 for ever.
    pub max_age_days: u64,
}

/// Writes lines in the background.
pub struct AuditLog {
    lines: Option<SyncSender<Vec<u8>>>,
    /// How many bytes wait.
    waiting: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
}

impl AuditLog {
    /// Opens the log.
    pub fn open(options: LogOptions) -> io::Result<Self> {
        let mut output = Output::open(options)?;
        let (lines, receiver) = sync_channel(QUEUE);
        let waiting = Arc::new(AtomicUsize::new(0));
        let taken = waiting.clone();
        let thread = std::thread::Builder::new().name("audit-log".into()).spawn(move || {
            write_all(&receiver, &taken, &mut output);
        })?;
        Ok(Self { lines: Some(lines), waiting, thread: Some(thread) })
    }

    /// Writes a line, which has its end.
    pub fn write(&self, line: Vec<u8>) {
        let Some(lines) = &self.lines else { return };
        let length = line.len();
        let has_room = || self.waiting.load(Ordering::Acquire) <= MOST_WAITING;
        let line = if has_room() {
            self.waiting.fetch_add(length, Ordering::AcqRel);
            match lines.try_send(line) {
                Err(TrySendError::Full(line)) => {
                    self.waiting.fetch_sub(length, Ordering::AcqRel);
                    line
                }
                Ok(()) | Err(TrySendError::Disconnected(_)) => return,
            }
        } else {
            line
        };
        // Other requests are served while this one waits.
        let wait = move || {
            while !has_room() {
                std::thread::sleep(PAUSE);
            }
            self.waiting.fetch_add(length, Ordering::AcqRel);
            let _ = lines.send(line);
        };
        match Handle::try_current() {
            Ok(runtime) if runtime.runtime_flavor() == RuntimeFlavor::MultiThread => {
                tokio::task::block_in_place(wait);
            }
            _ => wait(),
        }
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        drop(self.lines.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write_all(lines: &Receiver<Vec<u8>>, waiting: &AtomicUsize, output: &mut Output) {
    let mut failed = false;
    let mut check = |result: io::Result<()>| {
        if let Err(error) = &result
            && !std::mem::replace(&mut failed, true)
        {
            tracing::error!(%error, "cannot write the audit log");
        }
        failed &= result.is_err();
    };
    while let Ok(line) = lines.recv() {
        let mut next = Some(line);
        while let Some(line) = next {
            check(output.write(&line));
            waiting.fetch_sub(line.len(), Ordering::AcqRel);
            next = lines.try_recv().ok();
        }
        check(output.flush());
    }
}

enum Output {
    Stdout,
    File { options: LogOptions, file: BufWriter<File>, size: u64 },
}

impl Output {
    fn open(options: LogOptions) -> io::Result<Self> {
        if options.path == Path::new("-") {
            return Ok(Self::Stdout);
        }
        let (file, size) = append(&options.path)?;
        Ok(Self::File { options, file, size })
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        match self {
            Self::Stdout => io::stdout().write_all(line),
            Self::File { options, file, size } => {
                let mut rotated = Ok(());
                if options.max_size > 0 && *size > 0 && *size + line.len() as u64 > options.max_size {
                    rotated = file.flush().and_then(|()| rotate(options)).and_then(|()| {
                        (*file, *size) = append(&options.path)?;
                        Ok(())
                    });
                }
                // Where the next file cannot be opened, this one goes on, and the next line tries again.
                *size += line.len() as u64;
                file.write_all(line).and(rotated)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout => io::stdout().flush(),
            Self::File { file, .. } => file.flush(),
        }
    }
}

fn append(path: &Path) -> io::Result<(BufWriter<File>, u64)> {
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path).map_err(|error| {
        io::Error::new(error.kind(), format!("cannot open the audit log {}: {error}", path.display()))
    })?;
    let size = file.metadata()?.len();
    Ok((BufWriter::new(file), size))
}

/// Renames the file by the time of its end, and removes backups that are too old or too many.
fn rotate(options: &LogOptions) -> io::Result<()> {
    let path = &options.path;
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let (stem, extension) = parts(path);
    let mut moved =
        path.with_file_name(format!("{stem}-{}{extension}", now.strftime("%Y-%m-%dT%H-%M-%S%.3f")));
    for more in 1..1_000 {
        if !moved.exists() {
            break;
        }
        moved = path
            .with_file_name(format!("{stem}-{}-{more:03}{extension}", now.strftime("%Y-%m-%dT%H-%M-%S%.3f")));
    }
    match fs::rename(path, moved) {
        // It was renamed before, and the next file could not be opened then.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        renamed => renamed?,
    }
    let mut backups = backups(path)?;
    backups.sort();
    let too_many =
        if options.max_backups > 0 { backups.len().saturating_sub(options.max_backups) } else { 0 };
    let too_old = Duration::from_secs(options.max_age_days * 24 * 3_600);
    for (i, backup) in backups.iter().enumerate() {
        let changed = fs::metadata(backup).and_then(|found| found.modified()).ok();
        let age = changed.and_then(|changed| SystemTime::now().duration_since(changed).ok());
        if i < too_many || (options.max_age_days > 0 && age.is_some_and(|age| age > too_old)) {
            let _ = fs::remove_file(backup);
        }
    }
    Ok(())
}

/// The name of a file before its extension, and the extension with its dot.
fn parts(path: &Path) -> (String, String) {
    let text = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().into_owned());
    let extension = text(path.extension()).map(|extension| format!(".{extension}"));
    (text(path.file_stem()).unwrap_or_default(), extension.unwrap_or_default())
}

/// The rotated files.
fn backups(path: &Path) -> io::Result<Vec<PathBuf>> {
    let (stem, extension) = parts(path);
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut found = Vec::new();
    for entry in fs::read_dir(parent)? {
        let entry = entry?.path();
        let name = entry.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let date = name.strip_prefix(&format!("{stem}-")).and_then(|rest| rest.strip_suffix(&extension));
        if date.is_some_and(|date| date.starts_with(|first: char| first.is_ascii_digit())) {
            found.push(entry);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn files_are_rotated_and_the_oldest_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        let options = LogOptions { path: path.clone(), max_size: 100, max_backups: 2, max_age_days: 0 };
        let log = AuditLog::open(options).unwrap();
        for i in 0..50 {
            log.write(format!("line {i:04} {}\n", "x".repeat(20)).into_bytes());
        }
        drop(log);
        let rotated = backups(&path).unwrap();
        assert_eq!(rotated.len(), 2, "{rotated:?}");
        let all: String =
            rotated.iter().chain([&path]).map(|path| fs::read_to_string(path).unwrap()).collect();
        assert!(all.lines().all(|line| line.len() == 30), "whole lines");
        assert!(fs::read_to_string(&path).unwrap().contains("line 0049"));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_rotation_that_fails_is_tried_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        let options = LogOptions { path: path.clone(), max_size: 10, max_backups: 0, max_age_days: 0 };
        let mut output = Output::open(options).unwrap();
        output.write(b"1234567\n").unwrap();
        output.flush().unwrap();
        // As after a rotation whose next file could not be opened: the name is free, and then something else's.
        fs::rename(&path, directory.path().join("audit-2020-01-01T00-00-00.000.log")).unwrap();
        output.write(b"2234567\n").unwrap();
        output.flush().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "2234567\n");
        fs::remove_file(&path).unwrap();
        let Output::File { options, .. } = &mut output else { panic!("a file") };
        options.path = directory.path().join("none").join("audit.log");
        assert!(output.write(b"3234567\n").is_err());
        let Output::File { options, .. } = &mut output else { panic!("a file") };
        options.path = path.clone();
        output.write(b"4234567\n").unwrap();
        output.flush().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "4234567\n");
    }

    #[test]
    fn a_log_that_cannot_be_opened_is_an_error() {
        let options =
            LogOptions { path: "/nowhere/audit.log".into(), max_size: 0, max_backups: 0, max_age_days: 0 };
        assert!(AuditLog::open(options).err().unwrap().to_string().contains("/nowhere/audit.log"));
    }
}
