//! `WatchStream` of one watcher: reads its queue while live, history while behind.

use std::{
    collections::VecDeque,
    sync::Arc,
    task::{Context, Poll},
};

use pleach_store::{Batch, Key, Revision, StoreError, WatchItem, WatchStream};

use crate::{mvcc::Mvcc, watchers::WatchQueue};

/// How many commits of history are read at a time, and how many of them are buffered.
const HISTORY_STEP: usize = 1024;
const MAX_AHEAD: usize = 64;

/// One open watch.
pub struct MvccWatchStream {
    mvcc: Arc<Mvcc>,
    prefix: Key,
    queue: Arc<WatchQueue>,
    /// Everything up to here was delivered, or is not under the prefix.
    seen: Revision,
    /// Read from history, not delivered yet.
    ahead: VecDeque<Batch>,
    /// How far history was read; not before `seen` while behind.
    read: Revision,
}

impl MvccWatchStream {
    /// Events after a revision, which the caller has found to be in the history.
    pub fn new(mvcc: Arc<Mvcc>, prefix: Key, after: Revision) -> Self {
        let queue = mvcc.watchers.register(&prefix);
        let mut watch_stream = Self { mvcc, prefix, queue, seen: after, ahead: VecDeque::new(), read: after };
        watch_stream.try_become_live();
        watch_stream
    }

    /// Becomes live if nothing was published after what has been read.
    fn try_become_live(&mut self) {
        let mut state = self.queue.lock();
        if self.mvcc.watchers.reached() <= self.read {
            state.behind = false;
            self.seen = self.seen.max(self.read);
        }
    }

    /// Reads more history; becomes live at its end.
    fn catch_up(&mut self) -> Result<(), StoreError> {
        self.read = self.read.max(self.seen);
        let index = self.mvcc.index();
        if self.read < index.oldest() {
            return Err(StoreError::WatchCompacted);
        }
        let (limit, mut bytes) = (self.mvcc.watchers.capacity().bytes, 0);
        let mut whole = true;
        for (number, batch) in index.history(self.read).enumerate() {
            if number == HISTORY_STEP {
                whole = false;
                break;
            }
            self.read = batch.revision();
            if let Some(part) = batch.under(self.prefix.as_str()) {
                bytes += part.bytes();
                self.ahead.push_back(part);
            }
            // At least one, however large.
            if self.ahead.len() == MAX_AHEAD || bytes >= limit {
                whole = false;
                break;
            }
        }
        if whole {
            self.read = index.current();
        }
        let ended = self.read == index.current();
        drop(index);
        if self.ahead.is_empty() {
            self.seen = self.read;
            if ended {
                self.try_become_live();
            }
        }
        Ok(())
    }
}

impl WatchStream for MvccWatchStream {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<WatchItem, StoreError>>> {
        loop {
            if let Some(batch) = self.ahead.pop_front() {
                self.seen = if self.ahead.is_empty() { self.read } else { batch.revision() };
                return Poll::Ready(Some(Ok(WatchItem::Events(batch))));
            }
            let mut state = self.queue.lock();
            while let Some(batch) = state.pop() {
                if batch.revision() > self.seen {
                    self.seen = batch.revision();
                    return Poll::Ready(Some(Ok(WatchItem::Events(batch))));
                }
            }
            if state.closed {
                return Poll::Ready(Some(Err(StoreError::Closed)));
            }
            if !state.behind {
                if !state.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                    state.waker = Some(cx.waker().clone());
                }
                return Poll::Pending;
            }
            drop(state);
            if let Err(error) = self.catch_up() {
                return Poll::Ready(Some(Err(error)));
            }
        }
    }

    fn progress(&self) -> Revision {
        if let Some(batch) = self.ahead.front() {
            return batch.revision().before();
        }
        // Read before the queue is locked: everything published by then is in the queue or was taken
        // from it.
        let published = self.mvcc.watchers.published();
        let state = self.queue.lock();
        let unread = state.waiting().find(|batch| batch.revision() > self.seen);
        match unread {
            Some(batch) => batch.revision().before(),
            None if state.behind => self.seen,
            None => self.seen.max(published),
        }
    }
}

impl Drop for MvccWatchStream {
    fn drop(&mut self) {
        self.mvcc.watchers.unregister(&self.prefix, &self.queue);
    }
}
