//! Watches.
//!
//! A backend implements [`WatchStream`]; callers use the [`Watch`] around it. Dropping the watch ends
//! it. A backend's memory for a watch is bounded.

use std::{
    fmt,
    future::poll_fn,
    ops::Deref,
    sync::Arc,
    task::{Context, Poll},
};

use smallvec::{SmallVec, smallvec};

use crate::{Key, Revision, StoreError, Versioned};

/// One change to one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The commit that made the change. For a delete, the revision of the delete.
    pub revision: Revision,
    /// The key that changed.
    pub key: Key,
    /// The new value; `None`: deleted.
    pub value: Option<Versioned>,
    /// The previous value; `None`: created.
    pub previous: Option<Versioned>,
}

/// The changes one commit made under the watched prefix, in the order the commit named them.
/// Never empty; cloning shares the events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch(SmallVec<[Arc<Event>; 1]>);

impl Batch {
    /// The events of one commit; `None` when there are none.
    pub fn new(events: impl IntoIterator<Item = Arc<Event>>) -> Option<Self> {
        let events: SmallVec<_> = events.into_iter().collect();
        (!events.is_empty()).then_some(Self(events))
    }

    /// The only event of a commit.
    pub fn of(event: Arc<Event>) -> Self {
        Self(smallvec![event])
    }

    /// The commit's revision, which every event of the batch carries.
    pub fn revision(&self) -> Revision {
        self.0[0].revision
    }

    /// Approximate memory that the batch keeps alive: keys, values and previous values.
    pub fn bytes(&self) -> usize {
        let size = |side: &Option<Versioned>| side.as_ref().map_or(0, |side| side.value.len());
        let event = |event: &Event| event.key.as_str().len() + size(&event.value) + size(&event.previous);
        self.iter().map(|one| size_of::<Event>() + event(one)).sum()
    }

    /// The part of the batch under a prefix; `None` when there is none.
    pub fn under(&self, prefix: &str) -> Option<Self> {
        match &*self.0 {
            [only] => only.key.starts_with(prefix).then(|| self.clone()),
            events => Self::new(events.iter().filter(|event| event.key.starts_with(prefix)).cloned()),
        }
    }
}

impl Deref for Batch {
    type Target = [Arc<Event>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'a> IntoIterator for &'a Batch {
    type Item = &'a Arc<Event>;
    type IntoIter = std::slice::Iter<'a, Arc<Event>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// An item of a watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchItem {
    /// Changes: all that one commit made under the prefix.
    Events(Batch),
    /// There are no more changes under the prefix up to this revision. Only from backends that cannot
    /// answer [`Watch::progress`] from memory (etcd: progress notifications).
    Progress(Revision),
}

/// A backend's side of a watch.
pub trait WatchStream: Send + 'static {
    /// The next item. Not called again after an error or `None`.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<WatchItem, StoreError>>>;

    /// The latest revision up to which every change under the prefix has been returned.
    fn progress(&self) -> Revision;
}

/// Changes under a prefix after a revision: each once, in order, without gaps.
pub struct Watch {
    watch_stream: Option<Box<dyn WatchStream>>,
    progress: Revision,
}

impl Watch {
    /// A watch over a backend's stream.
    pub fn new(watch_stream: impl WatchStream) -> Self {
        let progress = watch_stream.progress();
        Self { watch_stream: Some(Box::new(watch_stream)), progress }
    }

    /// The next item. An error is the last item. Cancel safe.
    pub async fn next(&mut self) -> Option<Result<WatchItem, StoreError>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// [`Watch::next`] for callers that poll.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<WatchItem, StoreError>>> {
        let Some(watch_stream) = &mut self.watch_stream else {
            return Poll::Ready(None);
        };
        let polled = watch_stream.poll_next(cx);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.progress = watch_stream.progress();
            self.watch_stream = None;
        }
        polled
    }

    /// The latest revision up to which all changes under the prefix have been returned by
    /// [`Watch::next`], for bookmarks. It advances with writes elsewhere, and is never ahead of an
    /// event not yet returned.
    pub fn progress(&self) -> Revision {
        self.watch_stream.as_ref().map_or(self.progress, |watch_stream| watch_stream.progress())
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("open", &self.watch_stream.is_some())
            .field("progress", &self.progress())
            .finish()
    }
}
