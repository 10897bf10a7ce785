//! WATCH: events of a collection from the store's watch, through selectors, in a version.
//!
//! A watch is the store's watch, seen through selectors, in a version. It may begin with the state
//! there is, as if every object were new. It ends when its kind is replaced or removed, and with an
//! error when the history it needs was compacted; it never skips anything silently.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pleach_json::Value;
use pleach_meta::Status;
use pleach_pipeline::Typed;
use pleach_store::{Event, Key, Revision, StoreError, Watch, WatchItem};

use crate::catalog::ServedKind;
use crate::engine::Engine;
use crate::event_cache::SharedEvent;
use crate::list::Listing;
use crate::object::Object;
use crate::options::{Freshness, ListOptions, WatchOptions};
use crate::read;
use crate::record::Record;
use crate::rejection::Rejection;
use crate::select::Selection;
use crate::target::Target;

/// How often, and in which intervals, the watch of a removed kind checks whether all events were published.
const END_CHECKS: usize = 200;
const END_CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// The type of a watch event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is new, or now selected.
    Added,
    /// It changed.
    Modified,
    /// It was deleted, or is no longer selected.
    Deleted,
}

impl Change {
    /// The `type` of the event.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}

/// An event of a watch.
pub struct WatchEvent {
    /// Its type.
    pub change: Change,
    source: Source,
}

enum Source {
    /// An object of the initial state.
    Initial(Object),
    /// A change, shared with other watchers.
    Shared {
        shared: Arc<SharedEvent>,
        kind: Arc<ServedKind>,
        version: usize,
        /// The object, if a conversion webhook made it.
        shown: Option<Arc<Value>>,
    },
}

impl WatchEvent {
    /// The object, if it is one of the initial state.
    pub fn initial(&self) -> Option<&Object> {
        match &self.source {
            Source::Initial(object) => Some(object),
            Source::Shared { .. } => None,
        }
    }

    /// The object to show.
    pub fn object(&self) -> Result<Object, Rejection> {
        match &self.source {
            Source::Initial(object) => Ok(object.clone()),
            Source::Shared { shared, shown: Some(shown), .. } => {
                let mut value = Value::clone(shown);
                let revision = shared.event().revision.to_string();
                crate::prepare::metadata_mut(&mut value).insert("resourceVersion", revision);
                Ok(Object::Value(value))
            }
            Source::Shared { shared, kind, version, shown: None } => {
                let event = shared.event();
                let record = record_of(event, self.change == Change::Deleted)?.at(event.revision);
                read::served_here(kind, *version, record)
            }
        }
    }

    /// The frame of this notice in a shape, worked out once for all watchers that want the same.
    pub fn frame(
        &self,
        shape: u8,
        make: impl FnOnce(&Object) -> Result<Bytes, Rejection>,
    ) -> Result<Bytes, Rejection> {
        match &self.source {
            Source::Initial(object) => make(object),
            Source::Shared { shared, kind, version, .. } => {
                let key = (*version as u64) << 16 | (self.change as u64) << 8 | u64::from(shape);
                shared.frame(&kind.versions, key, || make(&self.object()?))
            }
        }
    }
}

/// An item of the stream.
pub enum Item {
    /// A change.
    Event(WatchEvent),
    /// The initial state is complete; it is that of this revision.
    InitialEnd(Revision),
    /// The watch failed; this is the last item.
    Failed(Box<Status>),
}

/// A running watch.
pub struct WatchStream {
    watcher: Watcher,
    initial: VecDeque<Object>,
    initial_end: Option<Revision>,
    feed: Watch,
    queue: VecDeque<Arc<Event>>,
    /// Ends when the kind is replaced or removed; `None` since then. Waits over many calls of [`WatchStream::next`].
    retired: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
    /// Events up to here are not sent: the requested resource version is in the future.
    skip_to: Revision,
}

/// The target, selectors and version of a watch.
struct Watcher {
    engine: Arc<Engine>,
    selection: Selection<'static>,
}

impl Engine {
    /// Opens a watch.
    pub async fn watch(
        self: &Arc<Self>,
        target: &Target,
        options: WatchOptions,
    ) -> Result<Result<WatchStream, Box<Status>>, Rejection> {
        let selection = Selection::new(target, &options.labels, &options.fields)?.into_owned();
        let (initial, start, wants_end) = if options.initial_events {
            let freshness = match options.not_older_than {
                None => Freshness::Latest,
                Some(0) => Freshness::Any,
                Some(oldest) => Freshness::NotOlderThan(oldest),
            };
            let list = ListOptions {
                labels: options.labels.clone(),
                fields: options.fields.clone(),
                freshness,
                ..ListOptions::default()
            };
            match self.list(target, &list).await {
                Ok(Listing { items, revision, .. }) => (items, revision, true),
                Err(rejection @ Rejection::ResourceVersionTooLarge { .. }) => {
                    return Ok(Err(Box::new(rejection.into_status())));
                }
                Err(rejection) => return Err(rejection),
            }
        } else {
            let cached = self.store.cached_revision().filter(|_| options.not_older_than == Some(0));
            let start = match options.after.map(Revision).or(cached) {
                Some(start) => start,
                None => self.store.revision().await.map_err(Rejection::from_store)?,
            };
            (Vec::new(), start, false)
        };
        if !options.initial_events && start.0 < target.kind.since {
            return Ok(Err(Box::new(too_old(start, Revision(target.kind.since)))));
        }
        let prefix = Key::new(target.prefix());
        let mut skip_to = Revision(0);
        let feed = match self.store.watch(prefix.clone(), start).await {
            Err(StoreError::Future { current, .. }) => {
                skip_to = start;
                self.store.watch(prefix, current).await
            }
            other => other,
        };
        match feed {
            Ok(feed) => Ok(Ok(WatchStream {
                watcher: Watcher { engine: self.clone(), selection },
                initial: initial.into(),
                initial_end: (wants_end && self.gates.watch_list).then_some(start),
                feed,
                queue: VecDeque::new(),
                retired: Some(Box::pin(target.kind.retired.clone().wait())),
                skip_to,
            })),
            Err(StoreError::Compacted { requested, oldest }) => Ok(Err(Box::new(too_old(requested, oldest)))),
            Err(error) => Err(Rejection::from_store(error)),
        }
    }
}

impl WatchStream {
    /// Whether objects are still to come that were there when the watch began.
    pub fn is_beginning(&self) -> bool {
        !self.initial.is_empty() || self.initial_end.is_some()
    }

    /// The next item; `None` is the end. Cancel safe.
    pub async fn next(&mut self) -> Option<Item> {
        if let Some(object) = self.initial.pop_front() {
            return Some(Item::Event(WatchEvent { change: Change::Added, source: Source::Initial(object) }));
        }
        if let Some(revision) = self.initial_end.take() {
            return Some(Item::InitialEnd(revision));
        }
        loop {
            while let Some(event) = self.queue.front() {
                let result = self.watcher.watch_event(event).await;
                // Only now: a future that waits may be cancelled.
                self.queue.pop_front();
                match result {
                    Ok(Some(event)) => return Some(Item::Event(event)),
                    Ok(None) => {}
                    Err(rejection) => return Some(Item::Failed(Box::new(rejection.into_status()))),
                }
            }
            let retired = async {
                if let Some(retired) = &mut self.retired {
                    retired.await;
                }
            };
            let item = tokio::select! {
                biased;
                item = self.feed.next() => item?,
                () = retired => {
                    self.retired = None;
                    self.next_before_end().await?
                }
            };
            match item {
                Ok(WatchItem::Events(batch)) => {
                    if batch.revision() > self.skip_to {
                        self.queue.extend(batch.iter().cloned());
                    }
                }
                Ok(WatchItem::Progress(_)) => {}
                Err(StoreError::Closed) => return None,
                Err(StoreError::Compacted { requested, oldest }) => {
                    return Some(Item::Failed(Box::new(too_old(requested, oldest))));
                }
                Err(error) => {
                    return Some(Item::Failed(Box::new(Rejection::from_store(error).into_status())));
                }
            }
        }
    }

    /// The next item of the store's watch that was committed before the kind was retired; `None` if there is none.
    ///
    /// A commit is acknowledged before its event is published. The last deletions of a kind's objects are therefore
    /// waited for: a client could not watch again to see them.
    async fn next_before_end(&mut self) -> Option<Result<WatchItem, StoreError>> {
        let until = self.watcher.engine.store.revision().await.ok()?;
        for _ in 0..END_CHECKS {
            if self.feed.progress() >= until {
                return None;
            }
            if let Ok(item) = tokio::time::timeout(END_CHECK_INTERVAL, self.feed.next()).await {
                return item;
            }
        }
        None
    }

    /// The revision up to which all events were returned, for bookmarks.
    pub fn progress(&self) -> Option<Revision> {
        (self.queue.is_empty() && self.initial.is_empty() && self.initial_end.is_none())
            .then(|| self.feed.progress())
    }

    /// The watched resource.
    pub fn target(&self) -> &Target {
        self.watcher.selection.target()
    }
}

impl Watcher {
    /// The event for this watcher, if there is one.
    async fn watch_event(&self, event: &Arc<Event>) -> Result<Option<WatchEvent>, Rejection> {
        let selection = &self.selection;
        if !selection.may_take(&event.key) {
            return Ok(None);
        }
        let shared = self.engine.events.share(event);
        let (now, before) = if selection.is_by_content() {
            let takes = async |previous: bool| match self.in_watched_version(&shared, previous).await? {
                Some(shown) => Ok::<bool, Rejection>(selection.takes_value(&shown)),
                None => Ok(false),
            };
            (takes(false).await?, takes(true).await?)
        } else {
            (event.value.is_some(), event.previous.is_some())
        };
        let change = match (before, now) {
            (false, true) => Change::Added,
            (true, true) => Change::Modified,
            (true, false) => Change::Deleted,
            (false, false) => return Ok(None),
        };
        let target = selection.target();
        let Target { kind, version, .. } = target;
        let previous = change == Change::Deleted;
        let shown = if kind.has_conversion_webhook()
            && !record_of(event, previous)?.is_sendable(target.version().fingerprint())
        {
            self.in_watched_version(&shared, previous).await?
        } else {
            None
        };
        let source = Source::Shared { shared, kind: kind.clone(), version: *version, shown };
        Ok(Some(WatchEvent { change, source }))
    }

    /// The object of an event, as it is now or was before, in the version that is watched.
    async fn in_watched_version(
        &self,
        shared: &SharedEvent,
        previous: bool,
    ) -> Result<Option<Arc<Value>>, Rejection> {
        let stored = if previous { shared.previous() } else { shared.current() };
        let Some(stored) = stored else { return Ok(None) };
        let target = self.selection.target();
        let Target { kind, version, .. } = target;
        // A record that is sent as it is stored is selected as it is stored, too.
        if record_of(shared.event(), previous)?.is_sendable(target.version().fingerprint()) {
            return Ok(Some(stored.clone()));
        }
        let typed = Typed::default();
        let shown = self.engine.served_value(kind, *version, Value::clone(stored), &typed);
        if !kind.has_conversion_webhook() {
            return shown.await.map(|shown| Some(Arc::new(shown)));
        }
        Box::pin(shared.view(&kind.versions, (*version, previous), shown)).await.map(Some)
    }
}

/// The stored object of an event: as it is now, or as it was before.
fn record_of(event: &Event, previous: bool) -> Result<Record, Rejection> {
    let shown = if previous { event.previous.as_ref() } else { event.value.as_ref() };
    let shown = shown.ok_or_else(|| Rejection::internal("an event without its object"))?;
    let record = Record::open(shown.value.clone(), shown.revision);
    record.map_err(|rejection| match rejection.about(&event.key) {
        unreadable @ Rejection::Unreadable { .. } if event.value.is_none() => {
            let why = unreadable.unreadable_text().unwrap_or_default();
            let message = format!("saw a DELETED event, but object data is corrupt - {why}");
            Rejection::DeletedUnreadable(message)
        }
        other => other,
    })
}

/// The error of a watch whose history was compacted.
fn too_old(requested: Revision, oldest: Revision) -> Status {
    let message = format!("too old resource version: {requested} ({oldest})");
    Rejection::Expired { message, resume: None }.into_status()
}

#[cfg(test)]
mod tests;
