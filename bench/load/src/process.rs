//! CPU time and memory of processes, as the kernel counts them.

use std::collections::HashSet;

/// Clock ticks per second in `/proc`, which Linux fixes for user space.
const TICKS: f64 = 100.0;

/// The CPU time of some processes together, user and system, in seconds.
pub(crate) fn cpu(pids: &[u32]) -> f64 {
    pids.iter().filter_map(|pid| ticks(*pid)).sum::<f64>() / TICKS
}

fn ticks(pid: u32) -> Option<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may have spaces in it; the fields that count come after its closing bracket.
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let (user, system): (f64, f64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(user + system)
}

/// The work of processes since they were started, as the kernel counts it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Work {
    /// CPU time in seconds.
    pub(crate) cpu: f64,
    /// Calls of `write` and `writev`.
    pub(crate) writes: f64,
    /// Bytes that those calls wrote.
    pub(crate) written: f64,
    /// Context switches of all threads.
    pub(crate) switches: f64,
}

impl Work {
    /// Up to now.
    pub(crate) fn of(pids: &[u32]) -> Self {
        let sum = |count: fn(u32) -> f64| pids.iter().map(|pid| count(*pid)).sum();
        Self {
            cpu: cpu(pids),
            writes: sum(|pid| field(&format!("/proc/{pid}/io"), "syscw:")),
            written: sum(|pid| field(&format!("/proc/{pid}/io"), "wchar:")),
            switches: sum(switches),
        }
    }

    /// The work since another moment, for each of so many.
    pub(crate) fn since(self, before: Self, count: usize) -> Self {
        let each = |now: f64, before: f64| (now - before) / count as f64;
        Self {
            cpu: each(self.cpu, before.cpu),
            writes: each(self.writes, before.writes),
            written: each(self.written, before.written),
            switches: each(self.switches, before.switches),
        }
    }
}

fn switches(pid: u32) -> f64 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads
        .map(|thread| {
            let status = thread.path().join("status");
            let status = status.to_string_lossy();
            field(&status, "voluntary_ctxt_switches:") + field(&status, "nonvoluntary_ctxt_switches:")
        })
        .sum()
}

/// The number behind a word in a file of `/proc`; 0 if there is none.
fn field(file: &str, name: &str) -> f64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_ascii_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

/// Resident memory in MB.
pub(crate) fn resident(pid: u32) -> f64 {
    memory(pid, "VmRSS:")
}

/// The most resident memory that there was, in MB.
pub(crate) fn peak(pid: u32) -> f64 {
    memory(pid, "VmHWM:")
}

fn memory(pid: u32, name: &str) -> f64 {
    field(&format!("/proc/{pid}/status"), name) / 1024.0
}

/// How many connections a process has to a port.
pub(crate) fn connections(pid: u32, port: u16) -> usize {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let sockets: HashSet<String> = descriptors
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .filter_map(|target| Some(target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let remote = format!(":{port:04X}");
    let is_one = |line: &&str| {
        let mut fields = line.split_ascii_whitespace().skip(2);
        // The remote address, the state (1: established), and after five more the inode.
        let (to, state, inode) = (fields.next(), fields.next(), fields.nth(5));
        to.is_some_and(|to| to.ends_with(&remote))
            && state == Some("01")
            && inode.is_some_and(|inode| sockets.contains(inode))
    };
    std::fs::read_to_string(format!("/proc/{pid}/net/tcp")).unwrap_or_default().lines().filter(is_one).count()
}
