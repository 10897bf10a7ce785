//! The event cache: parsed objects, conversions and frames of recent watch events, shared by watchers.
//!
//! A thousand watchers of one kind receive the same change. The costly parts, parsing the
//! object, converting it and writing the frame, are done by the first watcher and shared by the rest. The cache
//! is a few rings over the latest revisions, by size: bounded, and a miss costs only the work again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use pleach_json::Value;
use pleach_store::{Event, Revision, Versioned};

use crate::kind::KindVersion;
use crate::record::Record;
use crate::rejection::Rejection;

/// The rings: events up to a size, in bytes, and how many of them are kept. The cached forms of an
/// event may take several times its size.
const RINGS: [(usize, usize); 3] = [(8 << 10, 1024), (128 << 10, 64), (usize::MAX, 4)];

/// The key of a frame within its event: the version, the change and the shape.
pub(crate) type FrameKey = u64;
/// The key of a converted object within its event: the version, and whether it is the previous object.
pub(crate) type ViewKey = (usize, bool);

/// A cached result with its key and the versions of the kind it was made under.
type Made<K, V> = (Arc<[KindVersion]>, K, V);

/// An object in another version: the last attempt to make it that came to an end, and how many did.
#[derive(Default)]
struct Conversion {
    attempts: AtomicUsize,
    last: tokio::sync::Mutex<Option<Result<Arc<Value>, Rejection>>>,
}

/// One stored change with its cached forms.
pub(crate) struct SharedEvent {
    event: Arc<Event>,
    current: OnceLock<Option<Arc<Value>>>,
    previous: OnceLock<Option<Arc<Value>>>,
    frames: Mutex<Vec<Made<FrameKey, Bytes>>>,
    views: Mutex<Vec<Made<ViewKey, Arc<Conversion>>>>,
}

impl SharedEvent {
    fn new(event: Arc<Event>) -> Self {
        Self {
            event,
            current: OnceLock::new(),
            previous: OnceLock::new(),
            frames: Mutex::default(),
            views: Mutex::default(),
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

    /// The frame for a key under a kind as it is now, made for the first watcher that needs it.
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

    /// The object in another version under a kind as it is now, made by the first watcher that asks while
    /// watchers of the same version wait. A failure is shared with the watchers that waited for it, so that a webhook
    /// that hangs costs its timeout once and not once per watcher, and is not remembered beyond that.
    pub(crate) async fn view(
        &self,
        of: &Arc<[KindVersion]>,
        key: ViewKey,
        make: impl Future<Output = Result<Value, Rejection>>,
    ) -> Result<Arc<Value>, Rejection> {
        let conversion = self.conversion(of, key);
        let before = conversion.attempts.load(Ordering::Acquire);
        let mut last = conversion.last.lock().await;
        match &*last {
            Some(Ok(value)) => return Ok(value.clone()),
            Some(failed) if conversion.attempts.load(Ordering::Acquire) != before => return failed.clone(),
            _ => {}
        }
        let made = make.await.map(Arc::new);
        *last = Some(made.clone());
        conversion.attempts.fetch_add(1, Ordering::AcqRel);
        made
    }

    fn conversion(&self, of: &Arc<[KindVersion]>, key: ViewKey) -> Arc<Conversion> {
        let mut views = self.views.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((.., known)) = views.iter().find(|(o, k, _)| *k == key && Arc::ptr_eq(o, of)) {
            return known.clone();
        }
        let conversion = Arc::<Conversion>::default();
        views.push((of.clone(), key, conversion.clone()));
        conversion
    }
}

fn parse(versioned: Option<&Versioned>) -> Option<Arc<Value>> {
    let versioned = versioned?;
    let record = Record::open(versioned.value.clone(), versioned.revision).ok()?;
    record.parse().ok().map(Arc::new)
}

/// The latest events, shared.
pub(crate) struct EventCache {
    rings: [Box<[Slot]>; RINGS.len()],
}

type Slot = Mutex<Option<Arc<SharedEvent>>>;

impl Default for EventCache {
    fn default() -> Self {
        Self { rings: RINGS.map(|(_, slots)| (0..slots).map(|_| Mutex::new(None)).collect()) }
    }
}

impl EventCache {
    fn slot(&self, event: &Event) -> &Slot {
        let size = |versioned: &Option<Versioned>| versioned.as_ref().map_or(0, |v| v.value.len());
        let size = size(&event.value) + size(&event.previous);
        let ring = RINGS.iter().position(|(largest, _)| size <= *largest).unwrap_or(RINGS.len() - 1);
        &self.rings[ring][event.revision.0 as usize % self.rings[ring].len()]
    }

    /// The shared form of an event.
    pub(crate) fn share(&self, event: &Arc<Event>) -> Arc<SharedEvent> {
        let mut slot = self.slot(event).lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Drops all events up to a revision.
    pub(crate) fn forget(&self, until: Revision) {
        for slot in self.rings.iter().flatten() {
            let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            let old = slot.take_if(|shared| shared.event.revision <= until);
            drop(slot);
            drop(old);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn};
    use std::pin::Pin;
    use std::task::Poll;

    use pleach_json::json;
    use pleach_store::Key;

    use super::*;

    async fn poll<T>(future: &mut Pin<Box<impl Future<Output = T>>>) -> Poll<T> {
        poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx))).await
    }

    fn event() -> Arc<SharedEvent> {
        let event = Event { key: Key::new("/k"), revision: Revision(1), value: None, previous: None };
        EventCache::default().share(&Arc::new(event))
    }

    #[test]
    fn few_large_events_are_kept_and_none_for_long() {
        let cache = EventCache::default();
        let kept = || cache.rings.iter().flatten().filter(|slot| slot.lock().unwrap().is_some()).count();
        for revision in 1..=100 {
            let (key, revision) = (Key::new("/k"), Revision(revision));
            let value = vec![0; 1 << 20].into();
            let value = Some(Versioned { key: key.clone(), value, revision, created: revision });
            let event = Event { key, revision, value, previous: None };
            cache.share(&Arc::new(event));
        }
        assert_eq!(kept(), 4);
        cache.forget(Revision(98));
        assert_eq!(kept(), 2);
        cache.forget(Revision(100));
        assert_eq!(kept(), 0);
    }

    #[tokio::test]
    async fn a_conversion_that_hangs_holds_up_only_watchers_of_its_version() {
        let (event, of): (_, Arc<[KindVersion]>) = (event(), Arc::new([]));
        let mut hangs = Box::pin(event.view(&of, (1, false), pending()));
        assert!(poll(&mut hangs).await.is_pending());
        let other = event.view(&of, (2, false), async { Ok(json!(2)) }).await;
        assert_eq!(*other.unwrap(), json!(2), "another version");
        let previous = event.view(&of, (1, true), async { Ok(json!(0)) }).await;
        assert_eq!(*previous.unwrap(), json!(0), "the object before");
        let same = event.view(&of, (1, false), async { Ok(json!(1)) });
        let mut same = Box::pin(same);
        assert!(poll(&mut same).await.is_pending(), "the same version waits");
        drop(hangs);
        assert_eq!(*same.await.unwrap(), json!(1), "and makes it when the first watcher is gone");
    }

    #[tokio::test]
    async fn a_failure_is_shared_with_those_that_waited_and_then_forgotten() {
        let (event, of): (_, Arc<[KindVersion]>) = (event(), Arc::new([]));
        let (fail, failed) = tokio::sync::oneshot::channel::<()>();
        let first = async {
            failed.await.ok();
            Err(Rejection::Plain("no answer".into()))
        };
        let mut first = Box::pin(event.view(&of, (1, false), first));
        assert!(poll(&mut first).await.is_pending());
        let untouched = async { panic!("those that waited make no attempt of their own") };
        let mut second = Box::pin(event.view(&of, (1, false), untouched));
        assert!(poll(&mut second).await.is_pending());
        fail.send(()).unwrap();
        assert!(matches!(poll(&mut first).await, Poll::Ready(Err(_))));
        drop(first);
        assert_eq!(second.await.unwrap_err().to_string(), "no answer");
        let later = event.view(&of, (1, false), async { Ok(json!(1)) }).await;
        assert_eq!(*later.unwrap(), json!(1), "the next time it may work");
    }
}
