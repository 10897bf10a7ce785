//! Events as watchers see them, worked out once.
//!
//! A thousand watchers of one kind receive the same change. What is costly about it, parsing the
//! object, converting it, writing the frame, is done by the first and found by the others. The cache
//! is a ring over the latest revisions: bounded, and a miss costs only the work again.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use pleach_json::Value;
use pleach_store::{Event, Versioned};

use crate::record::Record;
use crate::rejection::Rejection;

const SLOTS: usize = 1024;

/// What a frame depends on beside its event: the version, the change and the shape.
pub(crate) type FrameKey = u64;

/// One stored change, with what watchers worked out about it.
pub(crate) struct SharedEvent {
    event: Arc<Event>,
    current: OnceLock<Option<Arc<Value>>>,
    previous: OnceLock<Option<Arc<Value>>>,
    frames: Mutex<Vec<(FrameKey, Bytes)>>,
}

impl SharedEvent {
    fn new(event: Arc<Event>) -> Self {
        Self { event, current: OnceLock::new(), previous: OnceLock::new(), frames: Mutex::new(Vec::new()) }
    }

    /// The change.
    pub(crate) fn event(&self) -> &Event {
        &self.event
    }

    /// The object as stored now, parsed; `None` when it was deleted or cannot be read.
    pub(crate) fn current(&self) -> Option<&Arc<Value>> {
        self.current.get_or_init(|| parse(self.event.value.as_ref())).as_ref()
    }

    /// The object as it was stored before, parsed.
    pub(crate) fn previous(&self) -> Option<&Arc<Value>> {
        self.previous.get_or_init(|| parse(self.event.previous.as_ref())).as_ref()
    }

    /// The frame for a key, made by the first who asks.
    pub(crate) fn frame(
        &self,
        key: FrameKey,
        make: impl FnOnce() -> Result<Bytes, Rejection>,
    ) -> Result<Bytes, Rejection> {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, bytes)) = frames.iter().find(|(k, _)| *k == key) {
            return Ok(bytes.clone());
        }
        let bytes = make()?;
        frames.push((key, bytes.clone()));
        Ok(bytes)
    }
}

fn parse(versioned: Option<&Versioned>) -> Option<Arc<Value>> {
    let versioned = versioned?;
    let record = Record::open(versioned.value.clone(), versioned.revision).ok()?;
    record.parse().ok().map(Arc::new)
}

/// The latest events, shared.
pub(crate) struct EventCache {
    slots: Box<[Mutex<Option<Arc<SharedEvent>>>]>,
}

impl Default for EventCache {
    fn default() -> Self {
        Self { slots: (0..SLOTS).map(|_| Mutex::new(None)).collect() }
    }
}

impl EventCache {
    /// The shared form of an event.
    pub(crate) fn share(&self, event: &Arc<Event>) -> Arc<SharedEvent> {
        let slot = &self.slots[event.revision.0 as usize % SLOTS];
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = slot.as_ref()
            && shared.event.revision == event.revision
            && shared.event.key == event.key
        {
            return shared.clone();
        }
        let shared = Arc::new(SharedEvent::new(event.clone()));
        *slot = Some(shared.clone());
        shared
    }
}
