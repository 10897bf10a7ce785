//! The queues of a priority level by their indexes. A level may have millions: only the first have a place each, and
//! others are made when a request comes and removed when they have been empty for a while.

use std::collections::BTreeMap;

use super::Queue;

/// The queues that have a place each.
const DENSE: usize = 1_024;
/// How many of the others may be empty before those are removed.
const EMPTY: usize = 1_024;

#[derive(Default)]
pub(super) struct Queues {
    first: Vec<Queue>,
    others: BTreeMap<usize, Queue>,
    /// The number of others at which empty ones are removed.
    crowded: usize,
}

impl Queues {
    /// Sees to it that there are so many. More than that are removed when they are empty.
    pub(super) fn resize(&mut self, wanted: usize) {
        let first = wanted.min(DENSE);
        while self.first.len() < first {
            // A request of a queue beyond an earlier number may be there still.
            let queue = self.others.remove(&self.first.len());
            self.first.push(queue.unwrap_or_default());
        }
        while self.first.len() > first && self.first.last().is_some_and(|queue| !queue.is_active()) {
            self.first.pop();
        }
        if !self.others.is_empty() {
            self.others.retain(|index, queue| *index < wanted || queue.is_active());
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<&Queue> {
        self.first.get(index).or_else(|| self.others.get(&index))
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Queue> {
        match self.first.get_mut(index) {
            None if self.others.is_empty() => None,
            None => self.others.get_mut(&index),
            found => found,
        }
    }

    /// A queue, which is made if it is not there.
    pub(super) fn get_or_make(&mut self, index: usize) -> &mut Queue {
        if index < self.first.len() {
            return &mut self.first[index];
        }
        if self.others.len() >= self.crowded.max(EMPTY) && !self.others.contains_key(&index) {
            self.others.retain(|_, queue| queue.is_active());
            self.crowded = 2 * self.others.len() + EMPTY;
        }
        self.others.entry(index).or_default()
    }

    /// The largest index of a queue that is there.
    pub(super) fn last(&self) -> Option<usize> {
        self.others.last_key_value().map(|(index, _)| *index).or_else(|| self.first.len().checked_sub(1))
    }

    /// The queues that are there, with their indexes, in their order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &Queue)> {
        self.first.iter().enumerate().chain(self.others.iter().map(|(index, queue)| (*index, queue)))
    }

    /// The same for changing them.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (usize, &mut Queue)> {
        self.first.iter_mut().enumerate().chain(self.others.iter_mut().map(|(index, queue)| (*index, queue)))
    }
}
