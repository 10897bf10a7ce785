//! The verb of a request.

use std::fmt;

use pleach_json::Str;

/// A verb: one of a request for a resource, or any other that a path or an access review may name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// One object.
    Get,
    /// A collection.
    List,
    /// Changes of an object or a collection.
    Watch,
    /// A new object.
    Create,
    /// An object is replaced.
    Update,
    /// An object is changed.
    Patch,
    /// An object is deleted.
    Delete,
    /// A collection is deleted.
    DeleteCollection,
    /// Any other: the HTTP method of a path in small letters, `impersonate`, `bind` and so on. Empty for
    /// requests for resources with a method that has no verb.
    Other(Str),
}

impl Verb {
    /// No verb: the method of a request for a resource has none.
    pub const NONE: Self = Self::Other(Str::new_static(""));

    /// The verb of that name.
    pub fn of(name: &str) -> Self {
        match name {
            "get" => Self::Get,
            "list" => Self::List,
            "watch" => Self::Watch,
            "create" => Self::Create,
            "update" => Self::Update,
            "patch" => Self::Patch,
            "delete" => Self::Delete,
            "deletecollection" => Self::DeleteCollection,
            other => Self::Other(other.into()),
        }
    }

    /// Its name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other(name) => name,
        }
    }

    /// Whether it reads only.
    pub fn is_read_only(&self) -> bool {
        matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_are_known_by_their_names() {
        let names = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
        for name in names {
            assert_eq!(Verb::of(name).as_str(), name);
            assert!(!matches!(Verb::of(name), Verb::Other(_)), "{name}");
            assert_eq!(Verb::of(name).is_read_only(), ["get", "list", "watch"].contains(&name), "{name}");
        }
        assert_eq!(Verb::of("impersonate"), Verb::Other("impersonate".into()));
        assert_eq!(Verb::of(""), Verb::NONE);
    }
}
