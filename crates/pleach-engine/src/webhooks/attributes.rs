//! A write, as those who are asked about it are told of it.

use pleach_json::{Str, Value};

use crate::options::Context;

/// What is about to happen to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// It is new.
    Create,
    /// It is replaced.
    Update,
    /// It goes.
    Delete,
}

impl Operation {
    /// The name in rules and reviews.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// A write, in the version that its request was made in.
pub(crate) struct Attributes<'a> {
    /// What happens.
    pub(crate) operation: Operation,
    /// The API group of the resource.
    pub(crate) group: &'a str,
    /// The version of the request.
    pub(crate) version: &'a str,
    /// The plural in the URL.
    pub(crate) resource: &'a str,
    /// The subresource, or empty.
    pub(crate) subresource: &'a str,
    /// Group, version and kind of the object: those of the resource, or a Scale.
    pub(crate) object_type: (&'a str, &'a str, &'a str),
    /// The name, if it is known yet.
    pub(crate) name: Str,
    /// The namespace, or empty.
    pub(crate) namespace: &'a str,
    /// The object as it shall be; none if it goes.
    pub(crate) object: Option<&'a Value>,
    /// The object as it is; none if it is new.
    pub(crate) old: Option<&'a Value>,
    /// `CreateOptions` and the like.
    pub(crate) options: &'a Value,
    /// Whether nothing will be written.
    pub(crate) dry_run: bool,
    /// Who asks.
    pub(crate) context: &'a Context,
}
