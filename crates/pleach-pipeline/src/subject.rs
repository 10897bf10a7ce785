//! The object that an error message names.

use std::fmt;

use pleach_go::strconv::quote;
use pleach_json::Str;
use pleach_meta::StatusDetails;

/// The object that an error message names.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// The API group; empty for core.
    pub group: Str,
    /// The plural resource, or the kind where upstream says the kind.
    pub resource: Str,
    /// The object's name; empty for a collection.
    pub name: Str,
}

impl Subject {
    /// `foos.g`, or `foos` in the core group.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.resource.to_string()
        } else {
            format!("{}.{}", self.resource, self.group)
        }
    }

    /// The `details` of a `Status` about it.
    pub fn details(&self) -> StatusDetails {
        StatusDetails {
            name: self.name.to_string(),
            group: self.group.to_string(),
            kind: self.resource.to_string(),
            ..StatusDetails::default()
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.qualified(), quote(&self.name))
    }
}
