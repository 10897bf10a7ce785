//! The most memory that a computation has at a time.
//!
//! The allocator counts what is allocated and what is freed; a thread looks at the difference ten thousand times a
//! second. What is there for less than that is not seen, but nothing that matters is so short.

use std::alloc::System;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn in_use() -> usize {
    let stats = ALLOCATOR.stats();
    let grown = (stats.bytes_allocated - stats.bytes_deallocated) as isize;
    usize::try_from(grown).unwrap_or_default()
}

/// The result of a computation and the memory that it took at its peak.
pub(crate) fn of<R>(work: impl FnOnce() -> R) -> (R, usize) {
    let (done, most) = (AtomicBool::new(false), AtomicUsize::new(0));
    let before = in_use();
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                most.fetch_max(in_use(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_micros(100));
            }
        });
        let result = work();
        most.fetch_max(in_use(), Ordering::Relaxed);
        done.store(true, Ordering::Relaxed);
        result
    });
    (result, most.into_inner().saturating_sub(before))
}
