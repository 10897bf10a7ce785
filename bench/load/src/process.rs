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

/// Resident memory in MB.
pub(crate) fn resident(pid: u32) -> f64 {
    memory(pid, "VmRSS:")
}

/// The most resident memory that there was, in MB.
pub(crate) fn peak(pid: u32) -> f64 {
    memory(pid, "VmHWM:")
}

fn memory(pid: u32, field: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
    line.split_ascii_whitespace().next().and_then(|kb| kb.parse::<f64>().ok()).unwrap_or_default() / 1024.0
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
