//! `metadata.managedFields`: managers and the fields they own.
//!
//! A manager is identified by name, operation, subresource and, for updates only, the version written in:
//! an applier in another version is the same manager. A list that cannot be decoded has no owners;
//! callers decide what that means.

use pleach_json::{Str, Value};

use crate::encoded::Encoded;
use crate::entries::{Entries, Entry};
use crate::set::Set;

/// How an owner came by its fields. Applies sort before updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// Any other write.
    Update,
}

impl Operation {
    /// As entries write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// The identity of a manager.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The manager's name.
    pub manager: Str,
    /// Applied or updated.
    pub operation: Operation,
    /// The version updates were made in; empty for applies.
    pub api_version: Str,
    /// The subresource written to, or empty.
    pub subresource: Str,
}

impl Identity {
    /// An owner by apply.
    pub fn apply(manager: &str, subresource: &str) -> Self {
        Self {
            manager: manager.into(),
            operation: Operation::Apply,
            api_version: Str::default(),
            subresource: subresource.into(),
        }
    }

    /// An owner by update.
    pub fn update(manager: &str, api_version: &str, subresource: &str) -> Self {
        Self {
            manager: manager.into(),
            operation: Operation::Update,
            api_version: api_version.into(),
            subresource: subresource.into(),
        }
    }

    /// The text that managers are sorted by where all else is equal.
    pub(crate) fn sort_key(&self) -> Vec<u8> {
        let mut out = vec![b'{'];
        let operation: Str = self.operation.as_str().into();
        for (name, value) in [
            ("manager", &self.manager),
            ("operation", &operation),
            ("apiVersion", &self.api_version),
            ("subresource", &self.subresource),
        ] {
            if !value.is_empty() {
                if out.len() > 1 {
                    out.push(b',');
                }
                pleach_json::write_string(name, &mut out);
                out.push(b':');
                pleach_json::write_string(value, &mut out);
            }
        }
        out.push(b'}');
        out
    }
}

/// An owner and its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The manager.
    pub identity: Identity,
    /// The version the paths are in.
    pub api_version: Str,
    /// When the entry last changed; none if the object never did because of it.
    pub time: Option<Str>,
    /// The operation.
    pub fields: Set,
}

/// The owners of an object's fields, in no order that matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManagedFields {
    /// Each identity at most once.
    pub owners: Vec<Owner>,
}

impl ManagedFields {
    /// Reads `metadata.managedFields`.
    pub fn decode(entries: &Value) -> Result<Self, String> {
        let owner = |entry: Entry| Owner {
            identity: entry.identity,
            api_version: entry.api_version,
            time: entry.time,
            fields: entry.fields.to_set(),
        };
        let owners = Entries::decode(entries.clone())?.0.into_iter().map(owner).collect();
        Ok(Self { owners })
    }

    /// Writes `metadata.managedFields`; null without owners.
    pub fn encode(self) -> Value {
        let entry = |owner: Owner| Entry {
            identity: owner.identity,
            api_version: owner.api_version,
            time: owner.time,
            fields: Encoded::from(&owner.fields),
        };
        Entries(self.owners.into_iter().map(entry).collect()).encode()
    }

    /// Whether there are no owners.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// An owner.
    pub fn owner(&self, identity: &Identity) -> Option<&Owner> {
        self.owners.iter().find(|owner| owner.identity == *identity)
    }
}
