//! Callers that wait until the cache has reached a revision.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use pleach_store::Revision;
use tokio::sync::{Notify, oneshot};

/// Waiting callers, by revision.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    waiting: Mutex<BTreeMap<(Revision, u64), oneshot::Sender<()>>>,
    /// A caller has begun to wait.
    pub(crate) added: Notify,
}

impl Waiters {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<(Revision, u64), oneshot::Sender<()>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a revision. `current` is asked under the lock, so that no revision is missed; `None`
    /// when it is there already.
    pub(crate) fn wait(
        &self,
        revision: Revision,
        current: impl Fn() -> Revision,
    ) -> Option<oneshot::Receiver<()>> {
        let mut waiting = self.lock();
        if current() >= revision {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        let last = waiting.range(..(revision.next(), 0)).next_back();
        let number = last.filter(|((at, _), _)| *at == revision).map_or(0, |((_, number), _)| number + 1);
        waiting.insert((revision, number), sender);
        drop(waiting);
        self.added.notify_one();
        Some(receiver)
    }

    /// Wakes the callers that waited for revisions up to this one.
    pub(crate) fn reached(&self, revision: Revision) {
        let mut waiting = self.lock();
        if waiting.first_key_value().is_none_or(|((first, _), _)| *first > revision) {
            return;
        }
        let later = waiting.split_off(&(revision.next(), 0));
        let woken = std::mem::replace(&mut *waiting, later);
        drop(waiting);
        for sender in woken.into_values() {
            let _ = sender.send(());
        }
    }

    /// Whether callers wait; the ones that have gone are forgotten.
    pub(crate) fn any(&self) -> bool {
        let mut waiting = self.lock();
        waiting.retain(|_, sender| !sender.is_closed());
        !waiting.is_empty()
    }
}
