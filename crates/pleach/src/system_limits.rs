//! Limits of the system: open files and memory.

use std::fs;
use std::path::{Path, PathBuf};

/// Descriptors reserved for the store and webhooks, at least.
const LEAST_RESERVE: usize = 64;
/// Connections that are always allowed.
const LEAST_CONNECTIONS: usize = 8;

/// Raises the limit on open files to the hard limit; the default is too low for many connections.
/// Errors are ignored.
#[cfg(target_os = "linux")]
pub(crate) fn allow_many_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn allow_many_files() {}

/// How many files the process may open.
pub(crate) fn open_files() -> usize {
    #[cfg(target_os = "linux")]
    if let Some(files) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        return usize::try_from(files).unwrap_or(usize::MAX);
    }
    usize::MAX
}

/// How many connections are possible besides the files that are open now, at most `most`.
pub(crate) fn connections(most: usize) -> usize {
    let open = fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    connections_of(open_files(), open).min(most)
}

/// A tenth of the descriptors is reserved for the store and webhooks.
fn connections_of(files: usize, open: usize) -> usize {
    let reserve = LEAST_RESERVE.max(files / 10);
    files.saturating_sub(open + reserve).max(LEAST_CONNECTIONS)
}

/// The memory that the process and its control group may use, if there is a limit.
pub(crate) fn memory_limit() -> Option<u64> {
    limit_of_group(&fs::read_to_string("/proc/self/cgroup").ok()?, Path::new("/sys/fs/cgroup"))
}

/// The smallest limit of a control group and its ancestors.
fn limit_of_group(groups: &str, mounted: &Path) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (root, file) = if controllers.is_empty() {
            (mounted.to_owned(), "memory.max")
        } else if controllers.split(',').any(|one| one == "memory") {
            (mounted.join("memory"), "memory.limit_in_bytes")
        } else {
            return None;
        };
        // A container may see the path of its group outside, which is not mounted.
        let group: PathBuf = root.join(path.trim_start_matches('/'));
        let around = group.ancestors().take_while(|group| group.starts_with(&root));
        around.filter_map(|group| fs::read_to_string(group.join(file)).ok()?.trim().parse().ok()).min()
    });
    // Version 1 has a number of this size for "none".
    limits.filter(|limit| *limit < 1 << 60).min()
}

/// A number of bytes, with an optional unit: `512Mi`, `2G`.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &text[digits.len()..] {
        "" => 1,
        "k" => 1_000,
        "M" => 1_000_000,
        "G" => 1_000_000_000,
        "Ki" => 1 << 10,
        "Mi" => 1 << 20,
        "Gi" => 1 << 30,
        other => return Err(format!("unknown unit {other:?}; there are k, M, G, Ki, Mi and Gi")),
    };
    let number: u64 = digits.parse().map_err(|_| format!("{digits:?} is no number of bytes"))?;
    number.checked_mul(unit).ok_or_else(|| "that is too much".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_reserved_for_the_store() {
        for (files, open, want) in [(256, 20, 172), (1024, 20, 902), (1_000_000, 20, 899_980), (50, 20, 8)] {
            assert_eq!(connections_of(files, open), want, "{files}");
        }
    }

    #[test]
    fn the_smallest_limit_of_the_control_groups_counts() {
        let mounted = tempfile::tempdir().expect("a temporary directory");
        let put = |path: &str, text: &str| {
            let path = mounted.path().join(path);
            fs::create_dir_all(path.parent().expect("it has one")).expect("made");
            fs::write(path, text).expect("written");
        };
        put("a/b/memory.max", "max\n");
        put("a/memory.max", "1000000\n");
        put("memory/old/memory.limit_in_bytes", "9223372036854771712\n");
        put("memory/new/memory.limit_in_bytes", "500\n");
        put("memory.max", "7\n");
        for (groups, want) in [
            ("0::/a/b\n", Some(7)),
            ("5:cpu:/x\n4:cpu,memory:/new\n", Some(500)),
            ("4:memory:/old\n", None),
            ("4:memory:/elsewhere\n", None),
            ("", None),
        ] {
            assert_eq!(limit_of_group(groups, mounted.path()), want, "{groups}");
        }
    }

    #[test]
    fn bytes_have_units() {
        for (text, want) in [
            ("1000", Some(1000)),
            ("2Gi", Some(2 << 30)),
            ("3M", Some(3_000_000)),
            ("x", None),
            ("1T", None),
            ("", None),
        ] {
            assert_eq!(parse_bytes(text).ok(), want, "{text}");
        }
    }
}
