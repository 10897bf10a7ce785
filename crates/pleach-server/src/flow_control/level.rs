//! A priority level: its fair queues behind a lock, and the limits that configuration and demand give it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use http::HeaderValue;
use pleach_json::Str;

use super::allocation::Limits;
use super::demand::DemandStats;
use super::dropped::Dropped;
use super::queue_set::{QueueSet, Queuing};
use super::schema::LevelConfig;

/// A priority level.
pub(super) struct Level {
    pub(super) name: Str,
    queues: Mutex<QueueSet>,
    state: Mutex<State>,
}

/// State that changes with the configuration and every few seconds.
#[derive(Debug)]
pub(super) struct State {
    pub(super) config: LevelConfig,
    pub(super) limits: Limits,
    pub(super) demand: DemandStats,
    pub(super) target: f64,
    pub(super) dropped: Dropped,
}

impl Level {
    pub(super) fn new(config: LevelConfig, now: Instant) -> Arc<Self> {
        let state = State {
            limits: Limits::default(),
            demand: DemandStats::default(),
            target: 0.0,
            dropped: Dropped::default(),
            config: config.clone(),
        };
        let queues = Mutex::new(QueueSet::new(config.queuing, 0, now));
        Arc::new(Self { name: config.name, queues, state: Mutex::new(state) })
    }

    pub(super) fn queues(&self) -> MutexGuard<'_, QueueSet> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many seats one request of a level may take at most, as upstream works it out.
pub(super) fn most_seats(queuing: Queuing, nominal: usize) -> usize {
    const MOST: usize = 100;
    let Queuing::Queue { hand, .. } = queuing else { return MOST };
    let share = (nominal as f64 * 0.15).ceil() as usize;
    share.min(nominal / hand.max(1)).clamp(1, MOST)
}

/// A uid as the value of a header.
pub(super) fn header(uid: &str) -> HeaderValue {
    HeaderValue::from_str(uid).unwrap_or_else(|_| HeaderValue::from_static(""))
}
