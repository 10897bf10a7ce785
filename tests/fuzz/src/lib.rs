//! Fuzz targets: for every input no panic, an invariant of the code under test, and a bound on work.
//!
//! A target is a plain function of bytes in [`TARGETS`]. `tests/smoke.rs` runs each with some thousands of inputs
//! made from its seeds; `fuzz/` runs them under libFuzzer. Work is counted in two ways, which complement each other:
//! steps (`pleach_work`), which count what recursion and charged loops do, and bytes allocated, which count copies
//! that are not charged. Both are bounded by a constant per input byte, so that quadratic work shows on long inputs.
//!
//! Targets do not read files and have no state: the same input always does the same.

mod bytes;
mod rules;
mod schemas;
mod targets;

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

pub use targets::TARGETS;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// A function under test with its seeds and bounds.
pub struct Target {
    /// The name of the target, and of its file in `fuzz/fuzz_targets`.
    pub name: &'static str,
    /// Checks one input; panics if something does not hold.
    pub run: fn(&[u8]),
    /// Inputs to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// The most steps an input may take.
    pub steps: Bound,
    /// The most bytes an input may allocate, counting what is freed again.
    pub allocated: Bound,
}

/// A bound that is linear in the size of the input.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// The allowance of an empty input.
    pub base: u64,
    /// The allowance of each byte of input.
    pub per_byte: u64,
}

impl Bound {
    /// The most for an input of this size.
    pub fn of(self, bytes: usize) -> u64 {
        self.base + self.per_byte * bytes as u64
    }
}

/// The cost of an input.
#[derive(Clone, Copy, Debug, Default)]
pub struct Work {
    /// Steps, see `pleach_work`.
    pub steps: u64,
    /// Bytes allocated by the whole process.
    pub allocated: u64,
}

impl Target {
    /// Checks one input and its bounds; panics if something does not hold.
    pub fn check(&self, data: &[u8]) -> Work {
        let work = self.measure(data);
        for (what, found, bound) in
            [("steps", work.steps, self.steps), ("bytes allocated", work.allocated, self.allocated)]
        {
            let most = bound.of(data.len());
            assert!(found <= most, "{}: {found} {what} for {} bytes, at most {most}", self.name, data.len());
        }
        work
    }

    /// Checks one input without its bounds.
    pub fn measure(&self, data: &[u8]) -> Work {
        let region = Region::new(ALLOCATOR);
        let ((), steps) = pleach_work::measure(|| (self.run)(data));
        Work { steps, allocated: region.change().bytes_allocated as u64 }
    }
}

/// Checks one input of the target of this name.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    target.expect("fuzz/ names only targets of the table").check(data);
}
