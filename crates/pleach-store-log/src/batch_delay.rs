//! Adaptive group commit: how long the committer waits for more commits before it syncs.
//!
//! A sync costs the same for one commit as for sixty, so waiting pays while more are coming. The
//! expected batch size is learnt: a batch that reaches the target in time raises it a little; a timeout
//! lowers it towards the size that came, and the next raise takes longer. Closed-loop writers are
//! batched without losing time; others wait at most as long as a sync takes. A single writer never
//! waits.

use std::{cmp::Ordering, time::Duration};

/// The longest wait.
const MAX_DELAY: Duration = Duration::from_millis(1);
/// Larger batches save little more per commit.
const MAX_TARGET: usize = 64;
/// A higher target is tried at least once in so many batches.
const MAX_STEADY: u32 = 64;

/// The target batch size, learnt from batch to batch.
#[derive(Debug)]
pub(crate) struct BatchDelay {
    target: usize,
    /// Batches that reached the target since it was last changed.
    reached: u32,
    /// How many must reach it before a higher target is tried.
    steady: u32,
    /// The target was raised and not reached yet.
    tried: bool,
}

impl Default for BatchDelay {
    fn default() -> Self {
        Self { target: 1, reached: 0, steady: 1, tried: false }
    }
}

impl BatchDelay {
    /// How many commits to wait for, and for how long, when the last sync took `synced_in`.
    pub(crate) fn wait(&self, synced_in: Duration) -> (usize, Duration) {
        (self.target, synced_in.min(MAX_DELAY))
    }

    /// Adapts to a batch of `size`.
    pub(crate) fn observe(&mut self, size: usize) {
        match size.cmp(&self.target) {
            Ordering::Less => {
                let steady = (self.steady * 2).min(MAX_STEADY);
                *self = Self { target: usize::midpoint(self.target, size), reached: 0, steady, tried: false };
            }
            // They came without a wait: expect as many again.
            Ordering::Greater => *self = Self { target: size.min(MAX_TARGET), ..Self::default() },
            Ordering::Equal => {
                if std::mem::take(&mut self.tried) {
                    self.steady = (self.steady / 2).max(1);
                }
                self.reached += 1;
                if size > 1 && self.reached >= self.steady {
                    let target = (size + size.div_ceil(4)).min(MAX_TARGET);
                    *self = Self { target, reached: 0, steady: self.steady, tried: target > size };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `batches` timed out when `writers` commit in a closed loop.
    fn lost(writers: usize, batches: usize) -> usize {
        let mut batch_delay = BatchDelay::default();
        let mut lost = 0;
        for _ in 0..batches {
            lost += usize::from(batch_delay.wait(Duration::from_millis(1)).0 > writers);
            batch_delay.observe(writers);
        }
        lost
    }

    #[test]
    fn a_single_writer_never_waits() {
        assert_eq!(lost(1, 10_000), 0);
    }

    #[test]
    fn closed_loop_writers_rarely_time_out() {
        for writers in [2, 3, 10, 63] {
            let lost = lost(writers, 10_000);
            assert!(lost < 500, "{writers} writers lost {lost}");
        }
        assert_eq!(lost(64, 10_000), 0);
    }

    #[test]
    fn the_target_grows_with_the_batches() {
        let mut batch_delay = BatchDelay::default();
        batch_delay.observe(3);
        for _ in 0..40 {
            // As many commits as are waited for, up to forty.
            batch_delay.observe(batch_delay.wait(Duration::from_millis(1)).0.min(40));
        }
        assert!(batch_delay.wait(Duration::from_millis(1)).0 >= 40);
    }
}
