//! Queue of work that requests hand over to background controllers.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use pleach_json::Str;
use tokio::sync::Notify;

/// Something that a request leaves to a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// A CRD that waits for a name which may be free now.
    NameFreed(Str),
    /// A CRD that is being deleted.
    Definition(Str),
}

/// Items that were enqueued and not yet taken.
#[derive(Default)]
pub(crate) struct WorkQueue {
    queue: Mutex<VecDeque<Work>>,
    more: Notify,
}

impl WorkQueue {
    /// Puts something in.
    pub(crate) fn push(&self, work: Work) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).push_back(work);
        self.more.notify_one();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Waits until something is in it.
    pub(super) async fn filled(&self) {
        self.more.notified().await;
    }

    pub(super) fn take(&self) -> VecDeque<Work> {
        std::mem::take(&mut self.queue.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
