//! What is to be looked at, and when.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use pleach_json::Str;
use pleach_store::{Key, Revision};
use tokio::sync::Notify;
use tokio::time::Instant;

/// Something to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Work {
    /// A CRD that has changed: what follows from it may not have been done.
    Changed(Str),
    /// A CRD that waits for a name which may be free now.
    NameFreed(Str),
    /// Webhooks that have changed, and when.
    Webhooks(Revision),
    /// A CRD that is being deleted.
    Definition(Str),
    /// A namespace that is being deleted.
    Namespace(Str),
    /// An object that waits for its dependents.
    Owner(Key),
    /// An object whose owners may be gone.
    Dependent(Key),
}

/// Things to look at, put in by requests.
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

    /// Waits until something is in it.
    pub(super) async fn filled(&self) {
        self.more.notified().await;
    }

    pub(super) fn take(&self) -> VecDeque<Work> {
        std::mem::take(&mut self.queue.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What is to be looked at: each thing once, at the earliest time it was asked for.
#[derive(Default)]
pub(super) struct Agenda {
    when: BTreeMap<Work, Instant>,
    in_order: BTreeSet<(Instant, Work)>,
}

impl Agenda {
    /// Notes something; what is there already stays, or comes earlier.
    pub(super) fn add(&mut self, work: Work, at: Instant) {
        if let Some(due) = self.when.get(&work).copied() {
            if due <= at {
                return;
            }
            self.in_order.remove(&(due, work.clone()));
        }
        self.when.insert(work.clone(), at);
        self.in_order.insert((at, work));
    }

    /// When the next thing is due.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.in_order.first().map(|(at, _)| *at)
    }

    /// Takes the next thing that is due.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<Work> {
        if self.next_at()? > now {
            return None;
        }
        let (_, work) = self.in_order.pop_first()?;
        self.when.remove(&work);
        Some(work)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_thing_comes_once_and_at_the_earliest_time() {
        let now = Instant::now();
        let at = |seconds: u64| now + Duration::from_secs(seconds);
        let namespace = |name: &str| Work::Namespace(name.into());
        let mut agenda = Agenda::default();
        assert_eq!(agenda.next_at(), None);
        for (name, seconds) in [("late", 9), ("a", 2), ("b", 1), ("a", 5), ("late", 3), ("c", 1)] {
            agenda.add(namespace(name), at(seconds));
        }
        assert_eq!(agenda.take_due(now), None, "nothing is due yet");
        assert_eq!(agenda.next_at(), Some(at(1)));
        let mut seen = Vec::new();
        while let Some(work) = agenda.take_due(at(2)) {
            seen.push(work);
        }
        assert_eq!(seen, [namespace("b"), namespace("c"), namespace("a")]);
        assert_eq!(agenda.next_at(), Some(at(3)), "what was asked for again comes at the earlier time");
        assert_eq!(agenda.take_due(at(9)), Some(namespace("late")));
        assert_eq!(agenda.take_due(at(99)), None, "and only once");
    }
}
