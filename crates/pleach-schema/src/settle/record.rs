//! What settling did to an object, and what it left undone: a feature of the product.
//!
//! The server turns parts of it into warnings; the command line shows all of it.

use std::fmt;

use pleach_json::Value;

/// What was done to an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settled {
    /// Fields that no schema names, sorted: what strict field validation refuses.
    pub pruned: Vec<String>,
    /// Unknown fields in the metadata of embedded resources, sorted; reported after `pruned`.
    pub unknown_metadata: Vec<String>,
    /// Nulls that nothing allows.
    pub nulls_dropped: Vec<String>,
    /// Which defaults were filled in, and which not.
    pub defaults: Defaults,
}

/// Which defaults were filled in, and which not.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Defaults {
    /// In the order they were filled in.
    pub applied: Vec<AppliedDefault>,
    /// Sorted by path; only when everything was asked for.
    pub withheld: Vec<WithheldDefault>,
}

/// A default that was filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct AppliedDefault {
    /// Where.
    pub path: String,
    /// What.
    pub value: Value,
}

/// A default that was not filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct WithheldDefault {
    /// Where it would have gone.
    pub path: String,
    /// Why it did not.
    pub reason: Reason,
}

/// Why a default was not filled in, although its field is not set.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Reason {
    /// The object it belongs into is not there, and has no default itself.
    ParentAbsent(String),
    /// What should be the object it belongs into is null.
    ParentNull(String),
    /// What should be the object it belongs into is something else.
    ParentNoObject(String),
    /// The field is null and may be.
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
