//! CPU time and memory of processes, as the kernel counts them.

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
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_ascii_whitespace().next().and_then(|kb| kb.parse::<f64>().ok()).unwrap_or_default() / 1024.0
}
