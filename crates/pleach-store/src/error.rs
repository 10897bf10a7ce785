//! [`StoreError`].

use std::{io, sync::Arc};

use crate::{Expect, Key, Revision, Versioned};

/// An error of a store. `Clone`, because commits that share a sync share its failure.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// A precondition of the commit failed; nothing was changed.
    #[error("key {key} is not as the commit expected ({expected:?}): {}", found_sentence(found.as_ref()))]
    Conflict {
        /// The first key whose precondition failed.
        key: Key,
        /// The precondition.
        expected: Expect,
        /// The current value.
        found: Option<Versioned>,
    },
    /// The revision has been compacted.
    #[error("revision {requested} has been compacted; the oldest kept is {oldest}")]
    Compacted {
        /// The requested revision.
        requested: Revision,
        /// The oldest readable revision.
        oldest: Revision,
    },
    /// The revision is in the future.
    #[error("revision {requested} is in the future; the store is at {current}")]
    Future {
        /// The requested revision.
        requested: Revision,
        /// The current revision.
        current: Revision,
    },
    /// A watch fell so far behind that changes it has not returned were compacted.
    #[error("the watch fell behind: changes it had not read yet have been compacted")]
    WatchCompacted,
    /// A commit named the same key twice.
    #[error("a commit names key {key} twice")]
    Duplicate {
        /// The key named twice.
        key: Key,
    },
    /// A value, or a commit as a whole, is over the limit.
    #[error("{size} bytes are more than the {limit} that this store takes at once")]
    TooLarge {
        /// The size of the value or commit.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// The store is over its quota: only deletes are allowed.
    #[error("the store takes {used} bytes of its quota of {quota}; deletes go on")]
    QuotaExceeded {
        /// The bytes in use.
        used: u64,
        /// The quota.
        quota: u64,
    },
    /// An earlier failure made the store read-only.
    #[error("the store takes no writes: {reason}")]
    ReadOnly {
        /// The error.
        reason: Arc<str>,
    },
    /// An IO error.
    #[error("{doing}: {source}")]
    Io {
        /// The operation.
        doing: Arc<str>,
        /// The cause.
        source: Arc<io::Error>,
    },
    /// The stored data is damaged.
    #[error("the stored data is damaged: {reason}")]
    Damaged {
        /// The damage and its place.
        reason: Arc<str>,
    },
    /// The store cannot be reached, or refused: nothing was changed.
    #[error("{reason}")]
    Unavailable {
        /// The store's words.
        reason: Arc<str>,
    },
    /// A commit was sent and no answer came: it may have happened, or may still happen.
    #[error("{reason}")]
    OutcomeUnknown {
        /// The error.
        reason: Arc<str>,
    },
    /// The store has no space: only deletes are allowed.
    #[error("{reason}")]
    NoSpace {
        /// The store's words.
        reason: Arc<str>,
    },
    /// The store has been closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// An IO error during an operation.
    pub fn io(doing: impl Into<Arc<str>>, source: io::Error) -> Self {
        Self::Io { doing: doing.into(), source: Arc::new(source) }
    }

    /// Damaged data.
    pub fn damaged(reason: impl Into<Arc<str>>) -> Self {
        Self::Damaged { reason: reason.into() }
    }
}

fn found_sentence(found: Option<&Versioned>) -> String {
    found.map_or_else(|| "it does not exist".into(), |found| format!("it was written at {}", found.revision))
}
