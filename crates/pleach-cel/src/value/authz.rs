//! Values of the authorization library: `authorizer`, and the checks and decisions that are made from it.

use pleach_json::Str;
use std::fmt;
use std::sync::Arc;

/// Decides about the checks of expressions. Who the requesting user is, it knows itself.
pub trait Authorize: Send + Sync {
    /// Whether a check is allowed.
    fn authorize(&self, check: &AuthzCheck<'_>) -> AuthzDecision;
}

/// A check that an expression makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthzCheck<'c> {
    /// Namespace and name of the service account it is about; none for the requesting user.
    pub service_account: Option<(&'c str, &'c str)>,
    /// The verb.
    pub verb: &'c str,
    /// The path, if it is not about a resource.
    pub path: Option<&'c str>,
    /// The resource.
    pub resource: Option<&'c CheckedResource>,
}

/// The answer to a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthzDecision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// The authorizer's reason.
    pub reason: Str,
    /// Why the authorizer could not decide.
    pub error: Option<Str>,
}

/// A user whose permissions can be checked.
#[derive(Clone)]
pub struct AuthzUser {
    authorizer: Arc<dyn Authorize>,
    service_account: Option<Arc<(Str, Str)>>,
}

/// The resource of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedResource {
    /// The API group.
    pub group: Str,
    /// The resource in the plural.
    pub resource: Str,
    /// The subresource.
    pub subresource: Str,
    /// The namespace.
    pub namespace: Str,
    /// The name.
    pub name: Str,
    /// A field selector, as it was written.
    pub field_selector: Str,
    /// A label selector, as it was written.
    pub label_selector: Str,
}

/// A value of the authorization library.
#[derive(Clone, Debug, PartialEq)]
pub enum Authz {
    /// `kubernetes.authorization.Authorizer`
    Authorizer(AuthzUser),
    /// `kubernetes.authorization.PathCheck`
    Path(AuthzUser, Str),
    /// `kubernetes.authorization.GroupCheck`
    Group(AuthzUser, Str),
    /// `kubernetes.authorization.ResourceCheck`
    Resource(AuthzUser, Arc<CheckedResource>),
    /// `kubernetes.authorization.Decision`
    Decision(Arc<AuthzDecision>),
}

impl AuthzUser {
    /// The requesting user.
    pub fn new(authorizer: Arc<dyn Authorize>) -> Self {
        Self { authorizer, service_account: None }
    }

    pub(crate) fn service_account(&self, namespace: &str, name: &str) -> Self {
        let service_account = Some(Arc::new((namespace.into(), name.into())));
        Self { authorizer: Arc::clone(&self.authorizer), service_account }
    }

    pub(crate) fn check(
        &self,
        verb: &str,
        path: Option<&str>,
        resource: Option<&CheckedResource>,
    ) -> AuthzDecision {
        let service_account = self.service_account.as_deref();
        let service_account = service_account.map(|(namespace, name)| (namespace.as_str(), name.as_str()));
        self.authorizer.authorize(&AuthzCheck { service_account, verb, path, resource })
    }
}

impl fmt::Debug for AuthzUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthzUser").field("service_account", &self.service_account).finish_non_exhaustive()
    }
}

impl PartialEq for AuthzUser {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.authorizer, &other.authorizer) && self.service_account == other.service_account
    }
}

impl Authz {
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Authorizer(_) => "kubernetes.authorization.Authorizer",
            Self::Path(..) => "kubernetes.authorization.PathCheck",
            Self::Group(..) => "kubernetes.authorization.GroupCheck",
            Self::Resource(..) => "kubernetes.authorization.ResourceCheck",
            Self::Decision(_) => "kubernetes.authorization.Decision",
        }
    }

    pub(super) fn go_type(&self) -> &'static str {
        match self {
            Self::Authorizer(_) => "library.authorizerVal",
            Self::Path(..) => "library.pathCheckVal",
            Self::Group(..) => "library.groupCheckVal",
            Self::Resource(..) => "library.resourceCheckVal",
            Self::Decision(_) => "library.decisionVal",
        }
    }
}
