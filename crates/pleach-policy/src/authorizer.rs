//! The `authorizer` of expressions, connected to the server's.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use pleach_auth::{Answer, Attributes, Authorizer, ResourceAttributes, UserInfo, Verb};
use pleach_cel::{Authorize, AuthzCheck, AuthzDecision, AuthzUser, CheckedResource};
use pleach_json::Str;

use crate::request::AdmissionRequest;

/// Answers the checks of one request's expressions.
pub struct RequestAuthorizer {
    authorizer: Arc<dyn Authorizer>,
    user: Arc<UserInfo>,
}

impl RequestAuthorizer {
    /// The `authorizer` of a user.
    pub fn user(authorizer: Arc<dyn Authorizer>, user: Arc<UserInfo>) -> AuthzUser {
        AuthzUser::new(Arc::new(Self { authorizer, user }))
    }

    /// The resource of `authorizer.requestResource`.
    pub fn request_resource(request: &AdmissionRequest<'_>) -> Arc<CheckedResource> {
        Arc::new(CheckedResource {
            group: request.group.into(),
            resource: request.resource.into(),
            subresource: request.subresource.into(),
            namespace: request.namespace.into(),
            name: request.name.clone(),
            ..CheckedResource::default()
        })
    }
}

impl Authorize for RequestAuthorizer {
    fn authorize(&self, check: &AuthzCheck<'_>) -> AuthzDecision {
        let user = match check.service_account {
            None => Arc::clone(&self.user),
            // Odd: without `system:authenticated`.
            Some((namespace, name)) => Arc::new(UserInfo {
                name: format!("system:serviceaccount:{namespace}:{name}").into(),
                groups: vec![
                    Str::new_static("system:serviceaccounts"),
                    format!("system:serviceaccounts:{namespace}").into(),
                ],
                ..UserInfo::default()
            }),
        };
        let attributes = Attributes {
            user,
            verb: Verb::of(check.verb),
            path: check.path.unwrap_or_default(),
            resource: check.resource.map(|resource| ResourceAttributes {
                group: &resource.group,
                version: "*",
                resource: &resource.resource,
                subresource: &resource.subresource,
                namespace: &resource.namespace,
                name: resource.name.as_str().into(),
                field_selector: &resource.field_selector,
                label_selector: &resource.label_selector,
            }),
        };
        let decision = match self.authorizer.authorize(&attributes) {
            Answer::Now(decision) => decision,
            Answer::Later(mut later) => {
                // Expressions cannot wait. Authorizers that are in memory have their answer at once.
                match later.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Ready(decision) => decision,
                    Poll::Pending => {
                        let error = Some(Str::new_static("the authorizer did not answer at once"));
                        return AuthzDecision { error, ..AuthzDecision::default() };
                    }
                }
            }
        };
        AuthzDecision {
            allowed: decision.is_allowed(),
            reason: decision.reason.as_ref().into(),
            error: decision.error,
        }
    }
}
