//! The system's clock and randomness, for the engine.

use std::cell::RefCell;
use std::time::{SystemTime, UNIX_EPOCH};

use pleach_engine::{Clock, Instant, Randomness};

/// The system clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Instant {
        instant(SystemTime::now())
    }
}

/// A time of the system clock, which may be before 1970.
fn instant(time: SystemTime) -> Instant {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => Instant { seconds: since.as_secs() as i64, nanoseconds: since.subsec_nanos() },
        Err(error) => {
            let before = error.duration();
            let (seconds, nanoseconds) = match before.subsec_nanos() {
                0 => (before.as_secs() as i64, 0),
                part => (before.as_secs() as i64 + 1, 1_000_000_000 - part),
            };
            Instant { seconds: -seconds, nanoseconds }
        }
    }
}

/// The system's randomness, fetched in blocks: asking the kernel costs more than the few bytes of a
/// uid.
pub(crate) struct SystemRandomness;

/// Unused random bytes.
struct Pool {
    bytes: [u8; 512],
    /// How many of them are left, at the end.
    left: usize,
}

thread_local! {
    static POOL: RefCell<Pool> = const { RefCell::new(Pool { bytes: [0; 512], left: 0 }) };
}

impl Randomness for SystemRandomness {
    fn fill(&self, buffer: &mut [u8]) {
        POOL.with_borrow_mut(|pool| pool.fill(buffer));
    }
}

impl Pool {
    fn fill(&mut self, buffer: &mut [u8]) {
        if buffer.len() > self.bytes.len() {
            return fetch(buffer);
        }
        if buffer.len() > self.left {
            fetch(&mut self.bytes);
            self.left = self.bytes.len();
        }
        let from = self.bytes.len() - self.left;
        let taken = &mut self.bytes[from..from + buffer.len()];
        buffer.copy_from_slice(taken);
        taken.fill(0);
        self.left -= buffer.len();
    }
}

fn fetch(buffer: &mut [u8]) {
    getrandom::fill(buffer).expect("the operating system has randomness");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_may_be_before_1970() {
        use std::time::Duration;
        let at = |before| instant(UNIX_EPOCH - before);
        assert_eq!(at(Duration::ZERO), Instant { seconds: 0, nanoseconds: 0 });
        assert_eq!(at(Duration::from_secs(5)), Instant { seconds: -5, nanoseconds: 0 });
        assert_eq!(at(Duration::from_millis(1_250)), Instant { seconds: -2, nanoseconds: 750_000_000 });
    }

    #[test]
    fn no_byte_is_handed_out_twice() {
        let mut seen = std::collections::HashSet::new();
        for _ in 0..1_000 {
            let mut bytes = [0; 16];
            SystemRandomness.fill(&mut bytes);
            assert!(seen.insert(bytes));
        }
        let mut many = [0; 4_096];
        SystemRandomness.fill(&mut many);
        assert!(many.chunks(16).all(|part| part != [0; 16]));
    }
}
