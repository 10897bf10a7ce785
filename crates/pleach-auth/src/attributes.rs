//! The attributes of a request: user, verb, and resource or path.
//!
//! Upstream's `authorizer.Attributes`. They are worked out once per request, from its method, path and query,
//! and borrow from it.

use std::borrow::Cow;
use std::sync::Arc;

use crate::user::UserInfo;
use crate::verb::Verb;

/// Attributes of a request for authorization: its user, verb and resource or path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attributes<'a> {
    /// The user.
    pub user: Arc<UserInfo>,
    /// The verb.
    pub verb: Verb,
    /// The path of the URL, without escapes and query; empty in access reviews of resources.
    pub path: &'a str,
    /// The requested resource; none for other paths.
    pub resource: Option<ResourceAttributes<'a>>,
}

/// The resource that a request asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceAttributes<'a> {
    /// The API group; empty for core.
    pub group: &'a str,
    /// The version.
    pub version: &'a str,
    /// The resource, in the plural.
    pub resource: &'a str,
    /// The subresource; empty for none.
    pub subresource: &'a str,
    /// The namespace; empty for none and for all.
    pub namespace: &'a str,
    /// The name; empty for a collection, unless a field selector says which object of it.
    pub name: Cow<'a, str>,
    /// The field selector of a list, a watch or the deletion of a collection, as it was written.
    pub field_selector: &'a str,
    /// The label selector, as it was written.
    pub label_selector: &'a str,
}

impl Attributes<'_> {
    /// Whether it is about a resource, and not some other path.
    pub fn is_resource_request(&self) -> bool {
        self.resource.is_some()
    }
}
