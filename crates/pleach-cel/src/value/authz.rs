//! Values of the authorization library.
//!
//! Without RBAC, a user may do everything or nothing, so these values only carry that.

/// A value of the authorization library, with whether its user may do everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authz {
    /// `kubernetes.authorization.Authorizer`
    Authorizer(bool),
    /// `kubernetes.authorization.PathCheck`
    Path(bool),
    /// `kubernetes.authorization.GroupCheck`
    Group(bool),
    /// `kubernetes.authorization.ResourceCheck`
    Resource(bool),
    /// `kubernetes.authorization.Decision`
    Decision(bool),
}

impl Authz {
    pub(super) fn type_name(self) -> &'static str {
        match self {
            Self::Authorizer(_) => "kubernetes.authorization.Authorizer",
            Self::Path(_) => "kubernetes.authorization.PathCheck",
            Self::Group(_) => "kubernetes.authorization.GroupCheck",
            Self::Resource(_) => "kubernetes.authorization.ResourceCheck",
            Self::Decision(_) => "kubernetes.authorization.Decision",
        }
    }

    pub(super) fn go_type(self) -> &'static str {
        match self {
            Self::Authorizer(_) => "library.authorizerVal",
            Self::Path(_) => "library.pathCheckVal",
            Self::Group(_) => "library.groupCheckVal",
            Self::Resource(_) => "library.resourceCheckVal",
            Self::Decision(_) => "library.decisionVal",
        }
    }
}
