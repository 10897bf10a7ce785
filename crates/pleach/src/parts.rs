//! What the engine is handed: the time and randomness of this machine.

use std::time::{SystemTime, UNIX_EPOCH};

use pleach_engine::{Clock, Instant, Randomness};

/// The machine's clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Instant { seconds: since.as_secs() as i64, nanoseconds: since.subsec_nanos() }
    }
}

/// The machine's randomness.
pub(crate) struct SystemRandomness;

impl Randomness for SystemRandomness {
    fn fill(&self, buffer: &mut [u8]) {
        getrandom::fill(buffer).expect("the operating system has randomness");
    }
}
