//! How long the committer waits for company.
//!
//! A sync costs the same for one commit as for sixty, in time and in CPU, so it pays to let more
//! gather, as long as more are coming. Nobody says whether they are; what came last time does.
//! The pace keeps a goal, the size that batches reach while they are waited for. When the goal
//! is reached in time, the next one is a little higher; when time runs out, the goal falls towards
//! what came, and it takes longer until more is tried again. Writers who come straight back, all of
//! them, are so waited for without losing time; writers who have work to do in between are waited
//! for as long as a sync takes. A lone writer is never made to wait.

use std::{cmp::Ordering, time::Duration};

/// The longest that anybody is waited for.
const PATIENCE: Duration = Duration::from_millis(1);
/// A batch this large is cheap enough for each of its commits.
const ENOUGH: usize = 64;
/// A higher goal is tried at least once in so many batches.
const RARELY: u32 = 64;

/// What to wait for, learnt from batch to batch.
#[derive(Debug)]
pub(crate) struct Pace {
    goal: usize,
    /// Batches that reached the goal since it was last changed.
    reached: u32,
    /// How many must reach it before a higher one is tried.
    steady: u32,
    /// The goal is higher than what came before, and was not reached yet.
    tried: bool,
}

impl Default for Pace {
    fn default() -> Self {
        Self { goal: 1, reached: 0, steady: 1, tried: false }
    }
}

impl Pace {
    /// How many commits to wait for, and how long, when the last sync took `synced_in`.
    pub(crate) fn wait(&self, synced_in: Duration) -> (usize, Duration) {
        (self.goal, synced_in.min(PATIENCE))
    }

    /// Learns from a batch of `size`.
    pub(crate) fn learn(&mut self, size: usize) {
        match size.cmp(&self.goal) {
            Ordering::Less => {
                let steady = (self.steady * 2).min(RARELY);
                *self = Self { goal: usize::midpoint(self.goal, size), reached: 0, steady, tried: false };
            }
            // They were there at once: no reason to doubt that as many come again.
            Ordering::Greater => *self = Self { goal: size.min(ENOUGH), ..Self::default() },
            Ordering::Equal => {
                if std::mem::take(&mut self.tried) {
                    self.steady = (self.steady / 2).max(1);
                }
                self.reached += 1;
                if size > 1 && self.reached >= self.steady {
                    let goal = (size + size.div_ceil(4)).min(ENOUGH);
                    *self = Self { goal, reached: 0, steady: self.steady, tried: goal > size };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `batches` ended because time ran out, when `writers` all come back at once.
    fn lost(writers: usize, batches: usize) -> usize {
        let mut pace = Pace::default();
        let mut lost = 0;
        for _ in 0..batches {
            lost += usize::from(pace.wait(Duration::from_millis(1)).0 > writers);
            pace.learn(writers);
        }
        lost
    }

    #[test]
    fn a_lone_writer_is_never_waited_for() {
        assert_eq!(lost(1, 10_000), 0);
    }

    #[test]
    fn writers_who_come_straight_back_rarely_wait_for_others() {
        for writers in [2, 3, 10, 63] {
            let lost = lost(writers, 10_000);
            assert!(lost < 500, "{writers} writers lost {lost}");
        }
        assert_eq!(lost(64, 10_000), 0);
    }

    #[test]
    fn when_more_keep_coming_the_goal_follows() {
        let mut pace = Pace::default();
        pace.learn(3);
        for _ in 0..40 {
            // As many come as are waited for, up to forty.
            pace.learn(pace.wait(Duration::from_millis(1)).0.min(40));
        }
        assert!(pace.wait(Duration::from_millis(1)).0 >= 40);
    }
}
