//! The clock and the randomness of a test.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use pleach_engine::engine::{Clock, Instant, Randomness};
use tokio::sync::watch;

/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;

/// The time at which a clock starts: 2027-01-15 08:00:00 UTC.
const START: i64 = 1_800_000_000;

/// A clock that stands still until a test moves it.
#[derive(Debug)]
pub struct TestClock {
    /// Nanoseconds since 1970.
    now: AtomicI64,
    /// Counts moves.
    moves: watch::Sender<u64>,
}

impl Default for TestClock {
    fn default() -> Self {
        Self::at(START * SECOND)
    }
}

impl Clone for TestClock {
    fn clone(&self) -> Self {
        Self::at(self.nanoseconds())
    }
}

impl TestClock {
    fn at(nanoseconds: i64) -> Self {
        Self { now: AtomicI64::new(nanoseconds), moves: watch::Sender::new(0) }
    }

    /// Changes whenever the clock has been moved.
    pub(crate) fn moves(&self) -> watch::Receiver<u64> {
        self.moves.subscribe()
    }

    fn nanoseconds(&self) -> i64 {
        self.now.load(Ordering::Acquire)
    }

    /// Seconds since 1970.
    pub fn seconds(&self) -> i64 {
        self.nanoseconds().div_euclid(SECOND)
    }

    /// Moves it forwards.
    pub fn advance(&self, by: Duration) {
        let by = i64::try_from(by.as_nanos()).unwrap_or(i64::MAX);
        let _ =
            self.now.fetch_update(Ordering::AcqRel, Ordering::Acquire, |now| Some(now.saturating_add(by)));
        self.moves.send_modify(|count| *count += 1);
    }

    /// Sets it, in seconds since 1970.
    pub fn set(&self, seconds: i64) {
        self.now.store(seconds.saturating_mul(SECOND), Ordering::Release);
        self.moves.send_modify(|count| *count += 1);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Instant {
        let now = self.nanoseconds();
        Instant { seconds: now.div_euclid(SECOND), nanoseconds: now.rem_euclid(SECOND) as u32 }
    }
}

/// Randomness from a seed (SplitMix64): every run gives the same uids and generated names.
#[derive(Debug)]
pub struct SeededRandomness(AtomicU64);

impl SeededRandomness {
    /// Randomness of a seed.
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// The next number.
    pub fn next(&self) -> u64 {
        let mut z = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Clone for SeededRandomness {
    fn clone(&self) -> Self {
        Self::new(self.0.load(Ordering::Relaxed))
    }
}

impl Randomness for SeededRandomness {
    fn fill(&self, buffer: &mut [u8]) {
        for part in buffer.chunks_mut(8) {
            part.copy_from_slice(&self.next().to_le_bytes()[..part.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_stands_still_until_it_is_moved() {
        let clock = TestClock::default();
        let start = clock.now();
        assert_eq!(clock.now(), start);
        clock.advance(Duration::from_millis(1_500));
        assert_eq!(clock.now(), Instant { seconds: start.seconds + 1, nanoseconds: 500_000_000 });
        let copy = clock.clone();
        clock.set(-5);
        assert_eq!(clock.now(), Instant { seconds: -5, nanoseconds: 0 });
        assert_eq!(copy.seconds(), start.seconds + 1, "a copy goes on by itself");
    }

    #[test]
    fn a_seed_gives_the_same_bytes_again() {
        let run = |seed| {
            let randomness = SeededRandomness::new(seed);
            let mut bytes = [0; 20];
            randomness.fill(&mut bytes);
            bytes
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}
