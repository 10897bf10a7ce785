//! Commits: changes with preconditions, applied atomically.

use bytes::Bytes;
use smallvec::{SmallVec, smallvec};

use crate::{Key, Revision, StoreError, Versioned};

/// The default limit on values, as etcd's `--max-request-bytes`.
pub const VALUE_LIMIT: u64 = 1_572_864;

/// A precondition on a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expect {
    /// None: the write always happens.
    Anything,
    /// The key does not exist.
    Absent,
    /// The key exists and was last written at this revision.
    At(Revision),
}

impl Expect {
    /// Whether a key last written at `found` (`None`: absent) meets the precondition.
    pub fn holds(self, found: Option<Revision>) -> bool {
        match self {
            Self::Anything => true,
            Self::Absent => found.is_none(),
            Self::At(revision) => found == Some(revision),
        }
    }
}

/// One change to one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Op {
    /// The key to change.
    pub key: Key,
    /// The precondition; if it fails, the whole commit fails.
    pub expect: Expect,
    /// The new value; `None` deletes. Deleting an absent key changes nothing, so with
    /// [`Expect::Absent`] it is only a precondition.
    pub value: Option<Bytes>,
}

impl Op {
    /// Writes `value` if `expect` holds.
    pub fn put(key: impl Into<Key>, expect: Expect, value: impl Into<Bytes>) -> Self {
        Self { key: key.into(), expect, value: Some(value.into()) }
    }

    /// Deletes the key if `expect` holds.
    pub fn delete(key: impl Into<Key>, expect: Expect) -> Self {
        Self { key: key.into(), expect, value: None }
    }
}

/// Changes that happen together at one revision, or not at all (etcd: a transaction).
///
/// A key may appear once. A commit that changes nothing (no operations, or only deletes of absent keys)
/// returns the current revision.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Commit {
    /// The changes.
    pub ops: SmallVec<[Op; 1]>,
    /// Preconditions on keys that are not changed.
    pub checks: SmallVec<[Check; 1]>,
}

/// A key that the commit does not change, and the revision at which it must have been written last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The key.
    pub key: Key,
    /// Its revision.
    pub revision: Revision,
}

impl Commit {
    /// A commit of one put.
    pub fn put(key: impl Into<Key>, expect: Expect, value: impl Into<Bytes>) -> Self {
        Op::put(key, expect, value).into()
    }

    /// A commit of one delete.
    pub fn delete(key: impl Into<Key>, expect: Expect) -> Self {
        Op::delete(key, expect).into()
    }

    /// The same, if another key was last written at this revision.
    #[must_use]
    pub fn checked(mut self, key: impl Into<Key>, revision: Revision) -> Self {
        self.checks.push(Check { key: key.into(), revision });
        self
    }

    /// Refuses a commit that names a key twice.
    pub fn check(&self) -> Result<(), StoreError> {
        if self.ops.len() < 2 {
            return Ok(());
        }
        let mut keys: Vec<&Key> = self.ops.iter().map(|op| &op.key).collect();
        keys.sort_unstable();
        match keys.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(StoreError::Duplicate { key: pair[0].clone() }),
            None => Ok(()),
        }
    }

    /// Refuses a value of more than `limit` bytes.
    pub fn check_values(&self, limit: u64) -> Result<(), StoreError> {
        let sizes = self.ops.iter().filter_map(|op| op.value.as_ref()).map(|value| value.len() as u64);
        match sizes.max() {
            Some(size) if size > limit => Err(StoreError::TooLarge { size, limit }),
            _ => Ok(()),
        }
    }

    /// The first precondition that fails, as an error. `live` returns the current value of a key.
    pub fn expectations(&self, live: impl Fn(&Key) -> Option<Versioned>) -> Result<(), StoreError> {
        for op in &self.ops {
            if op.expect == Expect::Anything {
                continue;
            }
            let found = live(&op.key);
            if !op.expect.holds(found.as_ref().map(|found| found.revision)) {
                return Err(StoreError::Conflict { key: op.key.clone(), expected: op.expect, found });
            }
        }
        for Check { key, revision } in &self.checks {
            let found = live(key);
            if found.as_ref().is_none_or(|found| found.revision != *revision) {
                return Err(StoreError::Conflict {
                    key: key.clone(),
                    expected: Expect::At(*revision),
                    found,
                });
            }
        }
        Ok(())
    }
}

impl From<Op> for Commit {
    fn from(op: Op) -> Self {
        Self { ops: smallvec![op], ..Self::default() }
    }
}

impl FromIterator<Op> for Commit {
    fn from_iter<I: IntoIterator<Item = Op>>(ops: I) -> Self {
        Self { ops: ops.into_iter().collect(), ..Self::default() }
    }
}
