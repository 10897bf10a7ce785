//! Wall time, CPU time, memory, and report lines.

use std::fmt;
use std::future::Future;
use std::ops::Add;
use std::time::{Duration, Instant};

/// Time that something took.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spent {
    /// By the clock.
    pub(crate) clock: Duration,
    /// On processors, by all threads.
    pub(crate) processor: Duration,
}

impl Spent {
    /// The same for one of many.
    pub(crate) fn each(self, count: usize) -> String {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        format!("{} each", Self { clock: self.clock / count, processor: self.processor / count })
    }
}

impl Add for Spent {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { clock: self.clock + other.clock, processor: self.processor + other.processor }
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        write!(f, "{:.3} ms, processor {:.3} ms", milliseconds(self.clock), milliseconds(self.processor))
    }
}

/// How long something takes.
pub(crate) async fn time<T>(work: impl Future<Output = T>) -> (T, Spent) {
    let (clock, processor) = (Instant::now(), of_process());
    let done = work.await;
    (done, Spent { clock: clock.elapsed(), processor: of_process().saturating_sub(processor) })
}

/// Time on processors, of all threads of this process.
fn of_process() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanoseconds = threads.filter_map(|thread| {
        // A thread may end while it is being looked for.
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// Bytes allocated and not freed.
pub(crate) fn held() -> isize {
    let stats = crate::ALLOCATOR.stats();
    stats.bytes_allocated as isize - stats.bytes_deallocated as isize
}

/// The middle of some measurements, by the clock.
pub(crate) fn median(all: &mut [Spent]) -> Spent {
    all.sort_unstable();
    all[all.len() / 2]
}

/// Bytes for people.
pub(crate) fn size(bytes: usize) -> String {
    memory(bytes as isize)
}

/// Bytes more or less, for people.
pub(crate) fn memory(bytes: isize) -> String {
    match bytes.abs() {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{:.1} KB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

/// One line of the report.
pub(crate) fn report(what: &str, found: &str, remark: &str) {
    println!("{what:<44} {found:<44} {remark}");
}
