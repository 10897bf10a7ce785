//! Memory limit: resident memory of the process, and whether there is room for more work.
//!
//! The measurement is per process. Without a limit nothing is measured. With one, the server refuses requests
//! from nine tenths of it on; requests in flight continue, and health endpoints stay reachable. Memory that
//! requests in flight may still need is not measured yet, so their bodies count several times over.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The interval of measurements.
const MEASURE_INTERVAL: Duration = Duration::from_millis(100);
/// The memory that a request needs, as a multiple of its body.
const MEMORY_PER_BODY: u64 = 8;
/// All bodies that are being received or worked on, in bytes.
pub const BODIES: u64 = 256 << 20;

/// Zero means no limit.
static LIMIT: AtomicU64 = AtomicU64::new(0);
static RESIDENT: AtomicU64 = AtomicU64::new(0);
static RECEIVED: AtomicU64 = AtomicU64::new(0);

/// Sets the limit, in bytes, and measures from now on. The task ends with the runtime.
pub async fn keep_below(limit: u64) {
    LIMIT.store(limit, Ordering::Relaxed);
    loop {
        if let Some(resident) = resident() {
            RESIDENT.store(resident, Ordering::Relaxed);
        }
        tokio::time::sleep(MEASURE_INTERVAL).await;
    }
}

/// Whether there is too little room for another request.
#[inline]
pub fn is_short() -> bool {
    let limit = LIMIT.load(Ordering::Relaxed);
    limit > 0 && is_short_of(limit, RESIDENT.load(Ordering::Relaxed), RECEIVED.load(Ordering::Relaxed))
}

fn is_short_of(limit: u64, resident: u64, received: u64) -> bool {
    resident.saturating_add(received.saturating_mul(MEMORY_PER_BODY)) >= limit / 10 * 9
}

/// Bytes that the process holds, as the system counts them.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// The share of one request in all bodies.
#[derive(Debug, Default)]
pub struct Receiving(u64);

impl Receiving {
    /// Counts more of a body; whether there is room for it.
    pub fn more(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        self.0 += bytes;
        let before = RECEIVED.fetch_add(bytes, Ordering::Relaxed);
        // The first bytes of a request are always admitted: another request has to wait.
        before + bytes <= BODIES && (self.0 > bytes || !is_short())
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        if self.0 > 0 {
            RECEIVED.fetch_sub(self.0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_count_before_they_are_measured() {
        const MB: u64 = 1 << 20;
        for (resident, received, short) in
            [(100, 0, false), (899, 0, false), (901, 0, true), (500, 40, false), (500, 60, true)]
        {
            assert_eq!(is_short_of(1000 * MB, resident * MB, received * MB), short, "{resident} {received}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_memory_of_this_process_is_known() {
        let held = vec![1_u8; 64 << 20];
        let resident = resident().unwrap();
        assert!(resident > 64 << 20, "{resident} with {} more", held.len());
    }

    #[test]
    fn bodies_are_counted_until_they_are_gone() {
        let mut receiving = Receiving::default();
        assert!(receiving.more(1000));
        assert!(RECEIVED.load(Ordering::Relaxed) >= 1000);
        let mut all = Receiving::default();
        assert!(!all.more(BODIES as usize), "not so much at once");
        drop((receiving, all));
    }
}
