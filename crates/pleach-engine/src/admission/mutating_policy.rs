//! `MutatingAdmissionPolicy`: runs mutating policies one after the other, each on the object as the one before left it.

use std::pin::Pin;
use std::sync::Arc;

use pleach_apply::Type;
use pleach_json::{Str, Value};
use pleach_meta::Reason;
use pleach_pipeline::resource::Resource;
use pleach_policy::messages::mutation_refusal;
use pleach_policy::{
    Condition, FailurePolicy, Input, InvocationKey, Mutated, Mutation as PolicyMutation, MutationError,
    PatchType, Policy, Reinvocations, admission_request, condition_request,
};
use pleach_schema::Record;
use tokio::time::Instant;

use super::policies::{ExpressionContext, Invocation, Selected, denied};
use super::webhooks::{Views, version};
use super::{AdmissionAttributes, AdmissionRequest, Mutation, Operation, Plugin, Verdict};
use crate::decode;
use crate::engine::Engine;
use crate::kind::Kind;
use crate::managed::Endpoint;
use crate::rejection::Rejection;
use crate::target::Subresource;
use crate::webhooks::excerpt;

pub(super) struct MutatingAdmissionPolicy;

impl Plugin for MutatingAdmissionPolicy {
    fn handles(&self, engine: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        attributes.operation() != Operation::Delete
            && engine.policies.get().is_some_and(|policies| policies.mutating.any_concerns(attributes))
    }

    fn admit<'a>(&'a self, write: Mutation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(admit(write))
    }
}

/// An error that refuses the request if the policy's failure policy is `Fail`.
struct PolicyError<'p> {
    policy: &'p Policy,
    text: String,
    reason: Reason,
}

async fn admit(write: Mutation<'_>) -> Verdict {
    let Mutation { engine, attributes, object, old, state, .. } = write;
    let Some(policies) = engine.policies.get() else { return Ok(()) };
    let set = &policies.mutating;
    if attributes.operation() == Operation::Delete || object.is_none() || !set.any_concerns(attributes) {
        return Ok(());
    }
    if state.reinvoking && state.webhooks_changed {
        state.policies.changed();
    }
    let (options, others) = (attributes.options.to_value(), attributes.equivalents());
    let original = object.clone();
    let request = attributes.request(original.as_ref(), old, &options);
    let around = engine.expression_context(attributes, &request).await?;
    let selected = engine.select_policies(set, &request, &others, around.labels.as_ref()).await?;
    let mut errors: Vec<PolicyError<'_>> = Vec::new();
    let mut invocations = Vec::new();
    for selected in selected {
        match selected {
            Selected::Failed(error) => errors.push(PolicyError {
                policy: error.policy,
                text: mutation_refusal(
                    &error.policy.name,
                    error.binding.map(|binding| binding.name.as_str()),
                    &error.message,
                ),
                reason: Reason::Forbidden,
            }),
            Selected::Invoke(invocation) => invocations.push(invocation),
        }
    }
    let mut ran = false;
    for invocation in &invocations {
        for params in &invocation.params {
            let mut run =
                Run { engine, attributes, old, options: &options, around: &around, errors: &mut errors };
            let again = |key: &InvocationKey| !state.reinvoking || state.policies.runs_again(key);
            let key =
                Reinvocations::key(&invocation.policy.name, &invocation.binding.name, params.as_deref());
            let (began, failures) = (Instant::now(), run.errors.len());
            let invoked = run.invoke(invocation, params.as_ref(), object, again(&key)).await?;
            let has_failed = errors.len() > failures;
            if has_failed || invoked.is_some() {
                let error = if has_failed { "invalid_error" } else { "no_error" };
                let names = (&invocation.policy.name, &invocation.binding.name);
                engine.admission_metrics.checked(false, names, (error, ""), began.elapsed());
            }
            let Some(invoked) = invoked else { continue };
            ran |= invoked.mutated;
            if invoked.changed {
                state.changed = true;
                state.reinvoke = true;
                state.policies_changed |= state.reinvoking;
                state.policies.changed();
            }
            if invocation.policy.reinvokes {
                state.policies.invoked(key);
            }
        }
    }
    if ran {
        state.policies.changed();
        state.reinvoke = true;
    }
    errors.retain(|error| error.policy.failure == FailurePolicy::Fail);
    let Some(first) = errors.first() else { return Ok(()) };
    let (reason, message) = (first.reason.clone(), first.text.clone());
    let causes = errors.into_iter().map(|error| error.text).collect();
    Err(denied(&request, (403, reason), message, causes))
}

/// One policy, binding and parameter at a time.
struct Run<'r, 'p> {
    engine: &'r Engine,
    attributes: &'r AdmissionAttributes<'r>,
    old: Option<&'r Value>,
    options: &'r Value,
    around: &'r ExpressionContext,
    errors: &'r mut Vec<PolicyError<'p>>,
}

/// The result of an invocation.
struct Invoked {
    /// A mutation succeeded, whether it changed anything or not.
    mutated: bool,
    /// The object is another.
    changed: bool,
}

impl<'p> Run<'_, 'p> {
    /// Runs the mutations of a policy; none if its conditions are not met or it is not its turn.
    async fn invoke(
        &mut self,
        invocation: &Invocation<'p, '_>,
        params: Option<&Arc<Value>>,
        object: &mut Option<Value>,
        its_turn: bool,
    ) -> Result<Option<Invoked>, Rejection> {
        let policy = invocation.policy;
        let params = params.map(|params| &**params);
        let condition =
            self.with_input(invocation, params, object.as_ref(), |input| policy.condition(input).0);
        match condition.await? {
            Condition::Met => {}
            Condition::NotMet => return Ok(None),
            Condition::Failed(error) => {
                self.failed(invocation, &error);
                return Ok(None);
            }
        }
        if !its_turn {
            return Ok(None);
        }
        let mut invoked = Invoked { mutated: false, changed: false };
        for mutation in &policy.mutations {
            let of = PatchOf::new(self.attributes, invocation.seen);
            let result = self
                .with_input(invocation, params, object.as_ref(), |input| mutate(policy, mutation, input, &of))
                .await?;
            match result {
                Err(MutationError(error)) => self.failed(invocation, &error),
                Ok(Mutated { object: None, .. }) => invoked.mutated = true,
                Ok(Mutated { object: Some(mutated), strict, .. }) => {
                    invoked.mutated = true;
                    let new = self.settled(invocation, mutated, strict).await?;
                    if object.as_ref() != Some(&new) {
                        invoked.changed = true;
                        *object = Some(new);
                    }
                }
            }
        }
        Ok(Some(invoked))
    }

    fn failed(&mut self, invocation: &Invocation<'p, '_>, error: &str) {
        let text = mutation_refusal(&invocation.policy.name, Some(&invocation.binding.name), error);
        self.errors.push(PolicyError { policy: invocation.policy, text, reason: Reason::Invalid });
    }

    /// Calls a function with the variables of expressions.
    async fn with_input<T>(
        &self,
        invocation: &Invocation<'_, '_>,
        params: Option<&Value>,
        object: Option<&Value>,
        call: impl FnOnce(&Input<'_>) -> T,
    ) -> Result<T, Rejection> {
        let request: AdmissionRequest<'_> = self.attributes.request(object, self.old, self.options);
        let mut views = Views::default();
        let seen = invocation.seen;
        let (object, old) = self.engine.seen_as(self.attributes, seen, &request, &mut views).await?;
        let shown_request = admission_request(&request, seen);
        let condition_request = condition_request(&request, seen);
        Ok(call(&Input {
            object: object.as_deref(),
            old: old.as_deref(),
            request: &shown_request,
            condition_request: &condition_request,
            namespace: self.around.namespace.as_ref(),
            params,
            authorizer: &self.around.authorizer,
            request_resource: &self.around.request_resource,
        }))
    }

    /// The result of a mutation: decoded and defaulted, in the version of the request.
    async fn settled(
        &self,
        invocation: &Invocation<'_, '_>,
        mutated: Value,
        strict: bool,
    ) -> Result<Value, Rejection> {
        let target = self.attributes.target;
        if strict && !target.kind.is_custom() && !self.attributes.is_untyped() {
            let seen = match self.attributes.unstored_kind() {
                Some(kind) => Resource::new(kind, 0),
                None => Resource { version: version(&target.kind, invocation.seen), ..target.resource() },
            };
            let text = |key: &str| mutated.get(key).and_then(Value::as_str).unwrap_or_default();
            if text("apiVersion") != seen.version().api_version {
                return Err(Rejection::internal(format!(
                    "no kind \"{}\" is registered for version \"{}\" in scheme \"pkg/runtime/scheme.go:111\"",
                    excerpt(text("kind")),
                    excerpt(text("apiVersion"))
                )));
            }
            let decoded = decode::object(seen, mutated.clone(), Record::Unknown, None);
            let decoded = decoded.map_err(Rejection::internal)?;
            if !decoded.strict.is_empty() {
                let unknown: Vec<String> =
                    decoded.strict.iter().map(|path| decode::unknown_field(seen.kind, path)).collect();
                let why = format!("strict decoding error: {}", unknown.join(", "));
                return Err(Rejection::internal(why));
            }
        }
        self.engine.patched_object(self.attributes, invocation.seen, mutated).await
    }
}

/// The types of the objects that a policy sees.
struct PatchOf<'a> {
    endpoint: Endpoint<'a>,
    api_version: Str,
    unstored: Option<&'static Kind>,
    untyped: Option<PatchType<'a>>,
}

impl<'a> PatchOf<'a> {
    fn new(attributes: &AdmissionAttributes<'a>, seen: super::GroupVersion<'_>) -> Self {
        let target = attributes.target;
        let seen = version(&target.kind, seen);
        let untyped = match target.subresource {
            Subresource::Scale => Some(PatchType::Scale),
            _ if attributes.is_untyped() => Some(PatchType::Connection(attributes.object_kind().2)),
            _ => None,
        };
        Self {
            endpoint: Endpoint::over(target, None),
            api_version: target.kind.versions[seen].api_version.clone(),
            unstored: attributes.unstored_kind(),
            untyped,
        }
    }
}

fn mutate(
    policy: &Policy,
    mutation: &PolicyMutation,
    input: &Input<'_>,
    of: &PatchOf<'_>,
) -> Result<Mutated, MutationError> {
    use pleach_apply::Versions as _;
    let known = || match of.unstored {
        Some(kind) => Some(Type::of(kind.versions[0].schema.get())),
        None => of.endpoint.type_of(&of.api_version),
    };
    let patch_type = of.untyped.or_else(|| known().map(PatchType::Known));
    policy.mutate(mutation, input, patch_type.unwrap_or(PatchType::Scale))
}
