//! Following changes.
//!
//! A backend implements [`Feed`]; a caller holds the [`Watch`] around it. Dropping the watch ends
//! it. Nothing here runs by itself: a watch costs its reader's polls and whatever its backend
//! keeps for it, which is bounded.

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
    /// What is there now; `None`: it was deleted.
    pub value: Option<Versioned>,
    /// What was there before; `None`: it was created.
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

    /// Roughly the memory that the batch keeps from being freed: keys, values and previous values.
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

/// What a watch gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchItem {
    /// Changes: all that one commit made under the prefix.
    Events(Batch),
    /// Nothing under the prefix is left to give up to this revision. Backends that cannot answer
    /// [`Watch::progress`] from memory send these now and then; others never do.
    Progress(Revision),
}

/// The backend's end of a watch.
pub trait Feed: Send + 'static {
    /// The next item; after an error or `None` it is not asked again.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<WatchItem, StoreError>>>;

    /// The latest revision up to which every change under the prefix has been given. Never ahead
    /// of a change that `poll_next` has yet to return.
    fn progress(&self) -> Revision;
}

/// Changes under a prefix after a revision: each once, in order, without gaps.
pub struct Watch {
    feed: Option<Box<dyn Feed>>,
    progress: Revision,
}

impl Watch {
    /// A watch over a backend's feed.
    pub fn new(feed: impl Feed) -> Self {
        let progress = feed.progress();
        Self { feed: Some(Box::new(feed)), progress }
    }

    /// The next item. An error is the last thing before `None`. Cancel safe: dropping the future
    /// loses nothing.
    pub async fn next(&mut self) -> Option<Result<WatchItem, StoreError>> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// [`Watch::next`] for callers that poll.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<WatchItem, StoreError>>> {
        let Some(feed) = &mut self.feed else {
            return Poll::Ready(None);
        };
        let polled = feed.poll_next(cx);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.progress = feed.progress();
            self.feed = None;
        }
        polled
    }

    /// The latest revision up to which everything under the prefix has been returned by
    /// [`Watch::next`]: what a bookmark may say. It moves on with writes elsewhere, too, and
    /// never runs ahead of an event not yet returned.
    pub fn progress(&self) -> Revision {
        self.feed.as_ref().map_or(self.progress, |feed| feed.progress())
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("open", &self.feed.is_some())
            .field("progress", &self.progress())
            .finish()
    }
}
