//! Events as watchers see them, worked out once.
//!
//! A thousand watchers of one kind receive the same change. What is costly about it, parsing the
//! object, converting it, writing the frame, is done by the first and found by the others. The cache
//! is a ring over the latest revisions: bounded, and a miss costs only the work again.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use pleach_json::Value;
use pleach_store::{Event, Versioned};

use crate::kind::KindVersion;
use crate::record::Record;
use crate::rejection::Rejection;

const SLOTS: usize = 1024;

/// What a frame depends on beside its event: the version, the change and the shape.
pub(crate) type FrameKey = u64;
/// What an object in another version depends on: the version, and whether it is the one before.
pub(crate) type ViewKey = (usize, bool);

/// What was made of an event under a kind as it was then.
type Made<K, V> = (Arc<[KindVersion]>, K, V);

/// One stored change, with what watchers worked out about it.
pub(crate) struct SharedEvent {
    event: Arc<Event>,
    current: OnceLock<Option<Arc<Value>>>,
    previous: OnceLock<Option<Arc<Value>>>,
    frames: Mutex<Vec<Made<FrameKey, Bytes>>>,
    views: tokio::sync::Mutex<Vec<Made<ViewKey, Arc<Value>>>>,
}

impl SharedEvent {
    fn new(event: Arc<Event>) -> Self {
        Self {
            event,
            current: OnceLock::new(),
            previous: OnceLock::new(),
            frames: Mutex::default(),
            views: tokio::sync::Mutex::default(),
        }
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

    /// The frame for a key under a kind as it is now, made by the first who asks.
    pub(crate) fn frame(
        &self,
        of: &Arc<[KindVersion]>,
        key: FrameKey,
        make: impl FnOnce() -> Result<Bytes, Rejection>,
    ) -> Result<Bytes, Rejection> {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., bytes)) = frames.iter().find(|(o, k, _)| *k == key && Arc::ptr_eq(o, of)) {
            return Ok(bytes.clone());
        }
        let bytes = make()?;
        frames.push((of.clone(), key, bytes.clone()));
        Ok(bytes)
    }

    /// The object in another version under a kind as it is now, made by the first who asks while the others
    /// wait. Who fails is not remembered: the next time it may work.
    pub(crate) async fn view(
        &self,
        of: &Arc<[KindVersion]>,
        key: ViewKey,
        make: impl Future<Output = Result<Value, Rejection>>,
    ) -> Result<Arc<Value>, Rejection> {
        let mut views = self.views.lock().await;
        if let Some((.., value)) = views.iter().find(|(o, k, _)| *k == key && Arc::ptr_eq(o, of)) {
            return Ok(value.clone());
        }
        let value = Arc::new(make.await?);
        views.push((of.clone(), key, value.clone()));
        Ok(value)
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
