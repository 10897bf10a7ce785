//! An engine with a fixed clock and counted randomness: the same requests give the same bytes.
//!
//! For tests and benchmarks. uids, generated names and timestamps of an engine that uses both depend on the order of
//! its requests only.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use pleach_store::Store;

use crate::admission::AdmissionPlugins;
use crate::engine::{Clock, Engine, Instant, Randomness};

/// An engine over a store, with the default admission plugins; not started yet.
///
/// Its write cache is off where `PLEACH_NO_WRITE_CACHE` is set, as that of the server: whole test suites can be run
/// without it.
pub fn engine(store: Arc<dyn Store>) -> Engine {
    let (clock, randomness) = (Arc::new(FixedClock::default()), Arc::new(CountedRandomness::default()));
    Engine::new(store, clock, randomness, AdmissionPlugins::default())
        .with_write_cache(std::env::var_os("PLEACH_NO_WRITE_CACHE").is_none())
}

/// A clock that always shows the same time, 2027-01-15 08:00:00 UTC by default.
#[derive(Clone, Copy, Debug)]
pub struct FixedClock(pub Instant);

impl Default for FixedClock {
    fn default() -> Self {
        Self(Instant { seconds: 1_800_000_000, nanoseconds: 0 })
    }
}

impl Clock for FixedClock {
    fn now(&self) -> Instant {
        self.0
    }
}

/// A counter in the place of randomness: every call gives another value, and every run the same ones.
#[derive(Debug, Default)]
pub struct CountedRandomness(AtomicU64);

impl Randomness for CountedRandomness {
    fn fill(&self, buffer: &mut [u8]) {
        let count = self.0.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        buffer.iter_mut().zip(count.into_iter().cycle()).for_each(|(byte, digit)| *byte = digit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_differ_within_a_run_and_agree_between_runs() {
        let run = || {
            let randomness = CountedRandomness::default();
            let mut values = [[0; 16]; 3];
            values.iter_mut().for_each(|value| randomness.fill(value));
            values
        };
        let values = run();
        assert_eq!(values, run());
        assert!(values[0] != values[1] && values[1] != values[2]);
    }
}
