//! Range reads.

use crate::{Key, Revision, Versioned};

/// A range read: which keys, and at which revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeQuery {
    /// The first key that may be returned.
    pub start: Key,
    /// The first key that may not; `None` reads to the end.
    pub end: Option<Key>,
    /// At most this many items. `None` returns all; zero returns none and counts.
    pub limit: Option<usize>,
    /// The revision to read at; `None` reads the latest.
    pub at: Option<Revision>,
}

impl RangeQuery {
    /// Everything under a prefix, at the latest revision. The empty prefix is everything.
    pub fn prefix(prefix: impl AsRef<str>) -> Self {
        let prefix = prefix.as_ref();
        Self { start: Key::new(prefix), end: Key::prefix_end(prefix), limit: None, at: None }
    }

    /// The same, with at most this many items.
    #[must_use]
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// The same, as of a revision.
    #[must_use]
    pub fn at(mut self, revision: Revision) -> Self {
        self.at = Some(revision);
        self
    }

    /// The same range after `key`: the next page.
    #[must_use]
    pub fn after(mut self, key: &Key) -> Self {
        let mut start = String::with_capacity(key.as_str().len() + 1);
        start.push_str(key.as_str());
        start.push('\0');
        self.start = Key::new(start);
        self
    }

    /// Whether the range is empty (its end is not after its start).
    pub fn is_empty(&self) -> bool {
        self.end.as_ref().is_some_and(|end| *end <= self.start)
    }
}

/// The result of a range read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// The items, ordered by key.
    pub items: Vec<Versioned>,
    /// The revision of the read: the requested one, or the latest.
    pub revision: Revision,
    /// Whether there are more items than the limit.
    pub more: bool,
    /// How many keys of the range come after the last item, at that revision; zero unless `more`.
    pub remaining: u64,
}
