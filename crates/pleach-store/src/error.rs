//! Why a store turned a question down.

use std::{io, sync::Arc};

use crate::{Expect, Key, Revision, Versioned};

/// Why a store could not answer. Cloneable, because commits that share a sync share its failure.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// An expectation of the commit did not hold; nothing was changed.
    #[error("key {key} is not as the commit expected ({expected:?}): {}", found_sentence(found.as_ref()))]
    Conflict {
        /// The first key whose expectation failed.
        key: Key,
        /// What the commit expected of it.
        expected: Expect,
        /// What is there instead.
        found: Option<Versioned>,
    },
    /// The revision is no longer kept.
    #[error("revision {requested} has been compacted; the oldest kept is {oldest}")]
    Compacted {
        /// The revision asked for.
        requested: Revision,
        /// The oldest revision that still answers.
        oldest: Revision,
    },
    /// The revision has not happened yet.
    #[error("revision {requested} is in the future; the store is at {current}")]
    Future {
        /// The revision asked for.
        requested: Revision,
        /// Where history ends now.
        current: Revision,
    },
    /// A watcher fell so far behind that what it had yet to see is no longer kept.
    #[error("the watcher was overtaken: changes it had not read yet have been compacted")]
    Overtaken,
    /// A commit named the same key twice.
    #[error("a commit names key {key} twice")]
    Duplicate {
        /// The key named twice.
        key: Key,
    },
    /// A value, or a commit as a whole, larger than the backend takes.
    #[error("{size} bytes are more than the {limit} that this store takes at once")]
    TooLarge {
        /// The size of the value or commit.
        size: u64,
        /// The most the backend takes.
        limit: u64,
    },
    /// The store has outgrown its quota: it takes deletes, and no commit that adds to it.
    #[error("the store takes {used} bytes of its quota of {quota}; deletes go on")]
    QuotaExceeded {
        /// The bytes the store takes.
        used: u64,
        /// The bytes it may take.
        quota: u64,
    },
    /// An earlier failure left the store unable to write; reads go on.
    #[error("the store takes no writes: {reason}")]
    ReadOnly {
        /// What happened, as a sentence.
        reason: Arc<str>,
    },
    /// The backend failed below the store.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done, to be read before a colon.
        doing: Arc<str>,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// What is stored does not add up.
    #[error("the stored data is damaged: {reason}")]
    Damaged {
        /// What does not add up, and where.
        reason: Arc<str>,
    },
    /// The store has been closed.
    #[error("the store is closed")]
    Closed,
}

impl StoreError {
    /// A failure of the system below while `doing` something.
    pub fn io(doing: impl Into<Arc<str>>, source: io::Error) -> Self {
        Self::Io { doing: doing.into(), source: Arc::new(source) }
    }

    /// Stored data that does not add up.
    pub fn damaged(reason: impl Into<Arc<str>>) -> Self {
        Self::Damaged { reason: reason.into() }
    }
}

fn found_sentence(found: Option<&Versioned>) -> String {
    found.map_or_else(|| "it does not exist".into(), |found| format!("it was written at {}", found.revision))
}
