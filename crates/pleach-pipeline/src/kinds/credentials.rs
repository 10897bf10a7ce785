//! The resources whose objects are credentials or hold some: audit events leave their bodies out unless a rule names
//! them.

/// Group, resource and subresource; without a subresource also all of its subresources.
pub const RESOURCES: [(&str, &str, &str); 3] =
    [("", "secrets", ""), ("", "serviceaccounts", "token"), ("authentication.k8s.io", "tokenreviews", "")];
