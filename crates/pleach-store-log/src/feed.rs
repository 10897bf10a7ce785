//! A watcher's end: its mailbox while it is level, the history while it is behind.

use std::{
    collections::VecDeque,
    sync::Arc,
    task::{Context, Poll},
};

use pleach_store::{Batch, Feed, Key, Revision, StoreError, WatchItem};

use crate::{hub::Mailbox, shared::Shared};

/// How many commits of history are looked at in one go, and how many taken along.
const LOOK: usize = 1024;
const TAKE: usize = 64;

/// Reads one watch.
pub(crate) struct LogFeed {
    shared: Arc<Shared>,
    prefix: Key,
    mailbox: Arc<Mailbox>,
    /// Everything up to here has been given, or is not under the prefix.
    seen: Revision,
    /// Taken from history and not given yet.
    ahead: VecDeque<Batch>,
    /// How far history has been read; not before `seen` while behind.
    read: Revision,
}

impl LogFeed {
    /// A feed of what happened after a revision, which has been judged to be in the history.
    pub(crate) fn new(shared: Arc<Shared>, prefix: Key, after: Revision) -> Self {
        let mailbox = shared.hub.register(&prefix);
        let mut feed = Self { shared, prefix, mailbox, seen: after, ahead: VecDeque::new(), read: after };
        feed.try_level();
        feed
    }

    /// Becomes level if nothing was handed out after what has been read.
    fn try_level(&mut self) {
        let mut mail = self.mailbox.lock();
        if self.shared.hub.reached() <= self.read {
            mail.behind = false;
            self.seen = self.seen.max(self.read);
        }
    }

    /// Reads on in the history, becoming level at its end.
    fn catch_up(&mut self) -> Result<(), StoreError> {
        self.read = self.read.max(self.seen);
        let index = self.shared.index();
        if self.read < index.oldest() {
            return Err(StoreError::Overtaken);
        }
        let (limit, mut bytes) = (self.shared.hub.capacity().bytes, 0);
        for batch in index.history(self.read).take(LOOK) {
            self.read = batch.revision();
            if let Some(part) = batch.under(self.prefix.as_str()) {
                bytes += part.bytes();
                self.ahead.push_back(part);
            }
            // One at least, however large.
            if self.ahead.len() == TAKE || bytes >= limit {
                break;
            }
        }
        let ended = self.read == index.current();
        drop(index);
        if self.ahead.is_empty() {
            self.seen = self.read;
            if ended {
                self.try_level();
            }
        }
        Ok(())
    }
}

impl Feed for LogFeed {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<WatchItem, StoreError>>> {
        loop {
            if let Some(batch) = self.ahead.pop_front() {
                self.seen = if self.ahead.is_empty() { self.read } else { batch.revision() };
                return Poll::Ready(Some(Ok(WatchItem::Events(batch))));
            }
            let mut mail = self.mailbox.lock();
            while let Some(batch) = mail.pop() {
                if batch.revision() > self.seen {
                    self.seen = batch.revision();
                    return Poll::Ready(Some(Ok(WatchItem::Events(batch))));
                }
            }
            if mail.closed {
                return Poll::Ready(Some(Err(StoreError::Closed)));
            }
            if !mail.behind {
                if !mail.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
                    mail.waker = Some(cx.waker().clone());
                }
                return Poll::Pending;
            }
            drop(mail);
            if let Err(error) = self.catch_up() {
                return Poll::Ready(Some(Err(error)));
            }
        }
    }

    fn progress(&self) -> Revision {
        if let Some(batch) = self.ahead.front() {
            return batch.revision().before();
        }
        // Read before the mailbox: what was published by then is in it, or was taken out of it.
        let published = self.shared.hub.published();
        let mail = self.mailbox.lock();
        let unread = mail.waiting().find(|batch| batch.revision() > self.seen);
        match unread {
            Some(batch) => batch.revision().before(),
            None if mail.behind => self.seen,
            None => self.seen.max(published),
        }
    }
}

impl Drop for LogFeed {
    fn drop(&mut self) {
        self.shared.hub.unregister(&self.prefix, &self.mailbox);
    }
}
