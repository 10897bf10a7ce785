//! Revisions and the values that carry them.

use std::fmt;

use bytes::Bytes;

use crate::Key;

/// A point in history. The first one, of a store nothing was ever written to, is
/// [`Revision::FIRST`]; each commit that changes something is the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Revision(pub u64);

impl Revision {
    /// Where history begins: the revision of an empty store. One and not zero, because zero
    /// means "any" to clients.
    pub const FIRST: Self = Self(1);

    /// The revision after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The revision before this one; zero stays zero.
    #[must_use]
    pub const fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A value as it was left by one commit. Cloning shares the key and the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned {
    /// The key it is stored under.
    pub key: Key,
    /// The bytes.
    pub value: Bytes,
    /// The commit that made the key exist, since it last did not.
    pub created: Revision,
    /// The commit that wrote these bytes.
    pub revision: Revision,
}
