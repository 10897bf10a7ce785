//! Expiry of events (`--event-ttl`) in stores that have no leases.
//!
//! An event is deleted when it was not written for its time to live. Times are not stored: for events that were there
//! when the server started, the time begins with the start.

use std::sync::Arc;
use std::time::Duration;

use pleach_store::{Commit, Expect, Key, Revision, StoreError};

use super::controller::{Change, Controller, Due, Progress, Worked};
use crate::engine::Engine;
use crate::keys;
use crate::kinds::event;
use crate::rejection::Rejection;

/// Deletes events that have expired.
pub(super) struct EventExpiry {
    engine: Arc<Engine>,
    ttl: Duration,
}

impl EventExpiry {
    pub(super) fn new(engine: Arc<Engine>, ttl: Duration) -> Self {
        Self { engine, ttl }
    }
}

impl Controller for EventExpiry {
    /// An event as it was written at a revision.
    type Item = (Key, Revision);
    const NAME: &'static str = "event expiry";
    const WORKERS: usize = 8;

    fn observe(&self, change: &Change<'_>) -> Due<Self::Item> {
        match change {
            Change::Stored { key, revision, .. }
                if keys::split(key).is_some_and(|(group, plural, _)| event::is_stored_as(group, plural)) =>
            {
                vec![((Key::clone(key), *revision), self.ttl)]
            }
            _ => Vec::new(),
        }
    }

    async fn work(&self, (key, revision): &Self::Item) -> Worked<Self::Item> {
        match self.engine.store.commit(Commit::delete(key.clone(), Expect::At(*revision))).await {
            // It was written since, or deleted.
            Ok(_) | Err(StoreError::Conflict { .. }) => Ok(Progress::Finished),
            Err(error) => Err(Rejection::from_store(error)),
        }
    }
}
