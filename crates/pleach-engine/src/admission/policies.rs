//! The common part of both policy plugins: which policies match a write, with which bindings and parameters.

use std::sync::Arc;

use pleach_cel::{AuthzUser, CheckedResource};
use pleach_json::{Str, Value};
use pleach_meta::object_meta::ObjectMeta;
use pleach_meta::{Reason, Status, StatusCause, StatusDetails};
use pleach_policy::{
    Binding, FailurePolicy, Policy, RequestAuthorizer, admission_request, condition_request, namespace_object,
};

use super::attributes::{AdmissionAttributes, AdmissionRequest, GroupVersion};
use super::params::Params;
use crate::engine::Engine;
use crate::policies::PolicySet;
use crate::rejection::Rejection;

/// A policy with a binding and parameters that are about a write.
pub(super) struct Invocation<'p, 'a> {
    pub(super) policy: &'p Policy,
    pub(super) binding: &'p Binding,
    pub(super) params: Params,
    /// The group and version that the policy is about.
    pub(super) seen: GroupVersion<'a>,
}

/// A policy that is about a write and cannot be evaluated.
pub(super) struct ConfigurationError<'p> {
    pub(super) policy: &'p Policy,
    /// None if it is not one of a binding.
    pub(super) binding: Option<&'p Binding>,
    pub(super) message: String,
}

/// Either, in the order of policies and bindings.
pub(super) enum Selected<'p, 'a> {
    Invoke(Invocation<'p, 'a>),
    Failed(ConfigurationError<'p>),
}

/// The variables of expressions beside the objects of a write.
pub(super) struct ExpressionContext {
    /// The labels of the namespace, for selectors.
    pub(super) labels: Option<Value>,
    /// `namespaceObject`
    pub(super) namespace: Option<Value>,
    pub(super) authorizer: AuthzUser,
    pub(super) request_resource: Arc<CheckedResource>,
}

/// `request` as expressions see it, made once for each group and version that policies are about.
#[derive(Default)]
pub(super) struct ShownRequests<'a>(Vec<(GroupVersion<'a>, Shown)>);

/// `request` in expressions and in match conditions.
#[derive(Clone)]
pub(super) struct Shown {
    pub(super) request: Value,
    pub(super) of_conditions: Value,
}

impl<'a> ShownRequests<'a> {
    /// The request as seen in a group and version. Values share their members.
    pub(super) fn seen_as(&mut self, request: &AdmissionRequest<'_>, seen: GroupVersion<'a>) -> Shown {
        if let Some((_, shown)) = self.0.iter().find(|(known, _)| *known == seen) {
            return shown.clone();
        }
        let own = (request.group, request.version);
        let shown = admission_request(request, seen);
        let of_conditions = if seen == own { shown.clone() } else { condition_request(request, seen) };
        let shown = Shown { request: shown, of_conditions };
        self.0.push((seen, shown.clone()));
        shown
    }
}

impl Engine {
    pub(super) async fn expression_context(
        &self,
        attributes: &AdmissionAttributes<'_>,
        request: &AdmissionRequest<'_>,
    ) -> Result<ExpressionContext, Rejection> {
        let namespace = self.request_namespace(attributes.target).await?;
        Ok(ExpressionContext {
            labels: namespace.as_ref().and_then(|object| object.at(&["metadata", "labels"]).cloned()),
            namespace: namespace.map(|object| namespace_object(&object)),
            authorizer: self.request_authorizer(attributes),
            request_resource: RequestAuthorizer::request_resource(request),
        })
    }

    /// The policies, bindings and parameters that are about a write.
    pub(super) async fn select_policies<'p, 'a>(
        &self,
        set: &'p PolicySet,
        request: &AdmissionRequest<'a>,
        others: &[GroupVersion<'a>],
        labels: Option<&Value>,
    ) -> Result<Vec<Selected<'p, 'a>>, Rejection> {
        let mut selected = Vec::new();
        for bound in set.about(request.resource) {
            let policy = &*bound.policy;
            let Some(seen) = policy.constraints.matches(request, others, labels) else { continue };
            let kind = policy.param_kind.as_ref().map(|kind| self.resolve_param_kind(kind)).transpose();
            let kind = match kind {
                Ok(kind) => kind,
                Err(why) => {
                    let message = format!("failed to configure policy: {why}");
                    selected.push(Selected::Failed(ConfigurationError { policy, binding: None, message }));
                    continue;
                }
            };
            for binding in &bound.bindings {
                let binding = &**binding;
                let about = match &binding.resources {
                    None => true,
                    Some(resources) => resources.matches(request, others, labels).is_some(),
                };
                if !about {
                    continue;
                }
                let params = self.collect_params(kind.as_ref(), binding.params.as_ref(), request.namespace);
                match params.await? {
                    Ok(params) if params.is_empty() => {}
                    Ok(params) => {
                        selected.push(Selected::Invoke(Invocation { policy, binding, params, seen }));
                    }
                    Err(why) => selected.push(Selected::Failed(ConfigurationError {
                        policy,
                        binding: Some(binding),
                        message: format!("failed to configure binding: {why}"),
                    })),
                }
            }
        }
        Ok(selected)
    }
}

impl ConfigurationError<'_> {
    /// Whether the request is refused for it.
    pub(super) fn counts(&self) -> bool {
        self.policy.failure == FailurePolicy::Fail
    }
}

/// The name that errors have for the object of a request.
pub(super) fn error_name(request: &AdmissionRequest<'_>) -> Str {
    if !request.name.is_empty() {
        return request.name.clone();
    }
    let meta = request.object.map(ObjectMeta::of);
    let given = meta.map(|meta| if meta.name().is_empty() { meta.generate_name() } else { meta.name() });
    given.filter(|name| !name.is_empty()).unwrap_or("Unknown").into()
}

/// The answer to a request that policies deny.
pub(super) fn denied(
    request: &AdmissionRequest<'_>,
    (code, reason): (u16, Reason),
    message: String,
    causes: Vec<String>,
) -> Rejection {
    let cause = |message: String| StatusCause { reason: String::new(), message, field: String::new() };
    Rejection::Denied(Box::new(Status {
        code,
        success: false,
        reason,
        message,
        details: Some(Box::new(StatusDetails {
            name: error_name(request).to_string(),
            group: request.group.to_owned(),
            kind: request.resource.to_owned(),
            uid: String::new(),
            causes: causes.into_iter().map(cause).collect(),
            retry_after_seconds: 0,
        })),
    }))
}
