//! The record of settling: what was pruned, dropped and defaulted, and which defaults were not applied.
//!
//! The server turns parts of it into warnings; the command line shows all of it.

use std::fmt;

use pleach_json::Value;

/// The changes of settling.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settled {
    /// Unknown fields, sorted: strict field validation refuses them.
    pub pruned: Vec<String>,
    /// Unknown fields in the metadata of embedded resources, sorted; reported after `pruned`.
    pub unknown_metadata: Vec<String>,
    /// Nulls in fields that are not nullable and have no default.
    pub nulls_dropped: Vec<String>,
    /// Which defaults were applied, and which not.
    pub defaults: Defaults,
}

/// Which defaults were applied, and which not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Defaults {
    /// In the order they were applied.
    pub applied: Vec<AppliedDefault>,
    /// Sorted by path; only with [`Record::Everything`](super::Record::Everything).
    pub withheld: Vec<WithheldDefault>,
}

/// A default that was applied.
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedDefault {
    /// Where.
    pub path: String,
    /// The change.
    pub value: Value,
}

/// A default that was not applied.
#[derive(Clone, Debug, PartialEq)]
pub struct WithheldDefault {
    /// Where it would have gone.
    pub path: String,
    /// Why it did not.
    pub reason: Reason,
}

/// Why a default was not applied, although its field is not set.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// Its parent object is absent, and has no default itself.
    ParentAbsent(String),
    /// Its parent is null.
    ParentNull(String),
    /// Its parent is no object.
    ParentNoObject(String),
    /// The field is null and nullable.
    NullKept,
    /// The default of a whole object is never used.
    OfTheRoot,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ParentAbsent(parent) => write!(f, "there is no {parent} to put it in"),
            Self::ParentNull(parent) => write!(f, "{parent} is null"),
            Self::ParentNoObject(parent) => write!(f, "{parent} is no object"),
            Self::NullKept => f.write_str("the null stays, because the field is nullable"),
            Self::OfTheRoot => f.write_str("the default of a whole object is never used"),
        }
    }
}

impl fmt::Display for WithheldDefault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.reason)
    }
}
