//! `ValidatingAdmissionPolicy`: evaluates validating policies on the object as it will be stored.
//!
//! All policies are evaluated; the first denial, in the order of policies and bindings, is the one that the client sees.

use std::pin::Pin;

use pleach_json::Value;
use pleach_meta::Reason;
use pleach_policy::{Action, Annotation, Binding, Decision, Denial, FailurePolicy, Input, Policy, messages};

use tokio::time::Instant;

use super::policies::{Selected, ShownRequests, denied, error_name};
use super::webhooks::Views;
use super::{AdmissionAttributes, Plugin, Validation, Verdict};
use crate::audit;
use crate::engine::Engine;

pub(super) struct ValidatingAdmissionPolicy;

/// Longer audit annotations are cut.
const LONGEST_ANNOTATION: usize = 10 * 1024;

impl Plugin for ValidatingAdmissionPolicy {
    fn handles(&self, engine: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        engine.policies.get().is_some_and(|policies| policies.validating.any_concerns(attributes))
    }

    fn validate<'a>(&'a self, write: Validation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(validate(write))
    }
}

/// A denial, of which policy and binding it is.
struct Denied {
    policy: String,
    binding: Option<String>,
    denial: Denial,
}

async fn validate(write: Validation<'_>) -> Verdict {
    let Validation { engine, attributes, object, old, warnings } = write;
    let Some(policies) = engine.policies.get() else { return Ok(()) };
    let set = &policies.validating;
    if !set.any_concerns(attributes) {
        return Ok(());
    }
    let (options, others) = (attributes.options.to_value(), attributes.equivalents());
    let request = attributes.request(object, old, &options);
    let around = engine.expression_context(attributes, &request).await?;
    let selected = engine.select_policies(set, &request, &others, around.labels.as_ref()).await?;
    let (mut views, mut shown_requests) = (Views::default(), ShownRequests::default());
    let mut first: Option<Denied> = None;
    let mut published = Published::default();
    for selected in selected {
        let invocation = match selected {
            Selected::Invoke(invocation) => invocation,
            Selected::Failed(error) => {
                if error.counts() && first.is_none() {
                    first = Some(Denied {
                        policy: error.policy.name.to_string(),
                        binding: error.binding.map(|binding| binding.name.to_string()),
                        denial: Denial { message: error.message, reason: None },
                    });
                }
                continue;
            }
        };
        let (policy, binding, seen) = (invocation.policy, invocation.binding, invocation.seen);
        let (object, old) = match engine.seen_as(attributes, seen, &request, &mut views).await {
            Ok(view) => view,
            Err(error) => {
                if policy.failure == FailurePolicy::Fail {
                    let message =
                        format!("failed to configure binding: failed to convert object version: {error}");
                    let denial = Denial { message, reason: None };
                    first.get_or_insert_with(|| Denied::new(policy, binding, denial));
                }
                continue;
            }
        };
        let shown = shown_requests.seen_as(&request, seen);
        for params in &invocation.params {
            let input = Input {
                object: object.as_deref(),
                old: old.as_deref(),
                request: &shown.request,
                condition_request: &shown.of_conditions,
                namespace: around.namespace.as_ref(),
                params: params.as_deref(),
                authorizer: &around.authorizer,
                request_resource: &around.request_resource,
            };
            let began = Instant::now();
            let validated = policy.validate(&input);
            // None: the match conditions are not met.
            if !validated.decisions.is_empty() {
                let action = enforcement(binding, &validated.decisions);
                let names = (&policy.name, &binding.name);
                engine.admission_metrics.checked(true, names, action, began.elapsed());
            }
            for (index, decision) in validated.decisions.into_iter().enumerate() {
                let Decision::Deny(denial) = decision else { continue };
                act(policy, binding, index, &denial, warnings);
                if binding.actions.contains(&Action::Deny) && first.is_none() {
                    first = Some(Denied::new(policy, binding, denial));
                }
            }
            for annotation in validated.annotations {
                match annotation {
                    Annotation::Publish(key, value) => published.add(&policy.name, &key, value),
                    Annotation::Exclude => {}
                    Annotation::Failed(message) => {
                        let denial = Denial { message, reason: None };
                        first.get_or_insert_with(|| Denied::new(policy, binding, denial));
                    }
                }
            }
        }
    }
    for (key, values) in published.0 {
        audit::annotate(&key, || values.join(", "));
    }
    let Some(Denied { policy, binding, denial }) = first else { return Ok(()) };
    let message = messages::denial(&policy, binding.as_deref(), &denial.message);
    let subject = attributes.target.kind.subject(&error_name(&request));
    let whole = format!("{subject} is forbidden: {message}");
    let answer = match denial.reason.as_deref() {
        Some("Forbidden") => (403, Reason::Forbidden),
        Some("RequestEntityTooLarge") => (413, Reason::RequestEntityTooLarge),
        Some("Unauthorized") => (401, Reason::Unauthorized),
        _ => (422, Reason::Invalid),
    };
    Err(denied(&request, answer, whole, vec![message]))
}

impl Denied {
    fn new(policy: &Policy, binding: &Binding, denial: Denial) -> Self {
        Self { policy: policy.name.to_string(), binding: Some(binding.name.to_string()), denial }
    }
}

/// The error type and enforcement action of an evaluation, as its metrics have them.
fn enforcement(binding: &Binding, decisions: &[Decision]) -> (&'static str, &'static str) {
    let is_denied = decisions.iter().any(|decision| matches!(decision, Decision::Deny(_)));
    let is_ignored = decisions.iter().any(|decision| matches!(decision, Decision::Ignored(_)));
    let error = if is_ignored { "invalid_error" } else { "no_error" };
    let has = |action| binding.actions.contains(&action);
    let action = match () {
        () if !is_denied => "allow",
        () if has(Action::Deny) => "deny",
        () if has(Action::Warn) => "warn",
        () => "audit",
    };
    (error, action)
}

/// Warns of a denial, and has it audited, as the binding says.
fn act(policy: &Policy, binding: &Binding, index: usize, denial: &Denial, warnings: &mut Vec<String>) {
    for action in &binding.actions {
        match action {
            Action::Deny => {}
            Action::Warn => {
                warnings.push(messages::warning(&policy.name, &binding.name, &denial.message));
            }
            Action::Audit => {
                // The first of several stays, as annotations are never replaced.
                audit::annotate("validation.policy.admission.k8s.io/validation_failure", || {
                    let actions: Vec<Value> =
                        binding.actions.iter().map(|action| action.as_str().into()).collect();
                    let text = |value: Value| pleach_json::to_string(&value);
                    let (message, actions) = (text(denial.message.as_str().into()), text(actions.into()));
                    let (policy, binding) =
                        (text(policy.name.clone().into()), text(binding.name.clone().into()));
                    // In the order of upstream's struct.
                    format!(
                        "[{{\"message\":{message},\"policy\":{policy},\"binding\":{binding},\"expressionIndex\":{index},\"validationActions\":{actions}}}]"
                    )
                });
            }
        }
    }
}

/// Audit annotations that are published: values by key, each once.
#[derive(Default)]
struct Published(Vec<(String, Vec<String>)>);

impl Published {
    fn add(&mut self, policy: &str, key: &str, mut value: String) {
        if value.len() > LONGEST_ANNOTATION {
            let end = (0..=LONGEST_ANNOTATION).rev().find(|at| value.is_char_boundary(*at));
            value.truncate(end.unwrap_or_default());
        }
        let key = format!("{policy}/{key}");
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => self.0.push((key, vec![value])),
        }
    }
}
