//! Revisions and the values that carry them.

use std::fmt;

use bytes::Bytes;

use crate::Key;

/// A revision: the number of a commit. An empty store is at [`Revision::FIRST`]; each commit that
/// changes something is the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Revision(pub u64);

impl Revision {
    /// The revision of an empty store. Not zero, which means "any" to clients.
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

/// A key and its value at a revision (etcd: `KeyValue`). Cloning shares the key and the bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versioned {
    /// The key it is stored under.
    pub key: Key,
    /// The bytes.
    pub value: Bytes,
    /// The commit that created the key (etcd: `create_revision`).
    pub created: Revision,
    /// The commit that wrote the value (etcd: `mod_revision`).
    pub revision: Revision,
}
