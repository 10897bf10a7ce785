//! A background controller: it observes changes of the store and works on the items that follow from them,
//! many at once.

use std::fmt::Debug;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use pleach_json::{Str, Value};
use pleach_store::{Key, Revision, Versioned};
use tokio::time::{Instant, sleep_until};

use super::queue::Queue;
use crate::rejection::Rejection;

/// A change of the store.
pub(super) enum Change<'a> {
    /// An object is there, or was changed.
    Stored {
        /// Its key.
        key: &'a Key,
        /// When it was written.
        revision: Revision,
        /// The object, if it has owners or is being deleted; otherwise it is not parsed.
        object: Option<&'a Value>,
    },
    /// An object was removed.
    Gone {
        /// Its key.
        key: &'a Key,
        /// When it went.
        revision: Revision,
        /// As it was.
        previous: Option<&'a Versioned>,
    },
}

impl<'a> Change<'a> {
    pub(super) fn key(&self) -> &'a Key {
        match self {
            Self::Stored { key, .. } | Self::Gone { key, .. } => key,
        }
    }

    pub(super) fn revision(&self) -> Revision {
        match self {
            Self::Stored { revision, .. } | Self::Gone { revision, .. } => *revision,
        }
    }
}

/// Items to work on, and how long from now.
pub(super) type Due<I> = Vec<(I, Duration)>;

/// How far work on an item got.
#[derive(Debug)]
pub(super) enum Progress<I> {
    /// There is nothing left to do.
    Finished,
    /// Something else must happen first; other items may be due because of it. The item comes again when
    /// the controller observes a change that matters to it, and otherwise after a back-off.
    Waiting(Vec<I>),
}

/// A background controller.
pub(super) trait Controller: Send + Sync + 'static {
    /// An item of its queue.
    type Item: Clone + Debug + Ord + Send + Sync + 'static;
    /// Its name in the log.
    const NAME: &'static str;
    /// How many items it works on at once.
    const WORKERS: usize;
    /// How many of them may be of one lane.
    const PER_LANE: usize = Self::WORKERS;

    /// Takes note of a change.
    fn observe(&self, change: &Change<'_>) -> Due<Self::Item>;

    /// Works on an item.
    fn work(&self, item: &Self::Item) -> impl Future<Output = Worked<Self::Item>> + Send;

    /// The lane of an item: items of a lane share a bound on workers.
    fn lane(_: &Self::Item) -> Str {
        Str::new_static("")
    }
}

/// The result of processing an item.
pub(super) type Worked<I> = Result<Progress<I>, Rejection>;

type Working<I> = Pin<Box<dyn Future<Output = (I, Worked<I>)> + Send>>;

/// A controller with its queue and the items being processed.
pub(super) struct Runner<C: Controller> {
    controller: Arc<C>,
    queue: Queue<C::Item>,
    running: FuturesUnordered<Working<C::Item>>,
}

impl<C: Controller> Runner<C> {
    pub(super) fn new(controller: C) -> Self {
        let queue = Queue::new(C::PER_LANE);
        Self { controller: Arc::new(controller), queue, running: FuturesUnordered::new() }
    }

    pub(super) fn controller(&self) -> &C {
        &self.controller
    }

    /// Asks for an item.
    pub(super) fn add(&mut self, item: C::Item, after: Duration) {
        self.queue.add(item, Instant::now() + after);
    }

    /// Takes note of a change.
    pub(super) fn observe(&mut self, change: &Change<'_>) {
        for (item, after) in self.controller.observe(change) {
            self.add(item, after);
        }
    }

    /// Waits until an item is due or one is finished. Never ends if there is none. Cancel safe.
    pub(super) async fn turn(&mut self) {
        self.start(Instant::now());
        let free = self.running.len() < C::WORKERS;
        let next = self.queue.next_at().filter(|_| free);
        tokio::select! {
            Some((item, worked)) = self.running.next(), if !self.running.is_empty() => self.settle(&item, worked),
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {}
            else => std::future::pending().await,
        }
    }

    /// Whether it works on no item, none is due, and none is in its first retries.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.running.is_empty() && self.queue.is_idle(now)
    }

    /// Starts to process the items that are due.
    fn start(&mut self, now: Instant) {
        while self.running.len() < C::WORKERS
            && let Some(item) = self.queue.take_due(now, C::lane)
        {
            let controller = self.controller.clone();
            self.running.push(Box::pin(async move {
                // One object that cannot be worked on must not end the controller.
                let worked = AssertUnwindSafe(controller.work(&item)).catch_unwind().await;
                let worked = worked.unwrap_or_else(|_| Err(Rejection::internal("the controller panicked")));
                (item, worked)
            }));
        }
    }

    fn settle(&mut self, item: &C::Item, worked: Worked<C::Item>) {
        let now = Instant::now();
        match worked {
            Ok(Progress::Finished) => self.queue.done(item, now),
            Ok(Progress::Waiting(others)) => {
                others.into_iter().for_each(|other| self.queue.add(other, now));
                self.queue.failed(item, now);
            }
            Err(error) => {
                let retry = self.queue.failed(item, now);
                let controller = C::NAME;
                tracing::warn!(controller, ?item, %error, ?retry, "background controller failed on an object, will retry");
            }
        }
    }
}
