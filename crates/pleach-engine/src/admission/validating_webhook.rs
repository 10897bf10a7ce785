//! `ValidatingAdmissionWebhook`: calls validating webhooks at once, up to a bound, with the object as it will be
//! stored.
//!
//! The first refusal, in the order of configurations, is the one that the client sees.

use std::pin::Pin;

use futures_util::{StreamExt as _, stream};
use pleach_json::Value;

use super::webhooks::{Views, any_concerns, check_dry_run, usable};
use super::{AdmissionAttributes, Plugin, Validation, Verdict};
use crate::engine::Engine;
use crate::rejection::Rejection;
use crate::webhooks::{CallError, NOT_READY};

pub(super) struct ValidatingAdmissionWebhook;

/// The prefix of the audit annotation about a webhook that failed and whose failure policy is `Ignore`.
const FAILED_OPEN: &str = "failed-open.validating.webhook.admission.k8s.io/";

/// How many webhooks are called at once for one write.
const CALLS_AT_ONCE: usize = 64;

impl Plugin for ValidatingAdmissionWebhook {
    fn handles(&self, engine: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        engine.hooks.get().is_some_and(|hooks| {
            hooks.lacks_some_of(attributes) || any_concerns(&hooks.validating, attributes)
        })
    }

    fn validate<'a>(&'a self, write: Validation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(validate(write))
    }
}

async fn validate(write: Validation<'_>) -> Verdict {
    let Validation { engine, attributes, object, old, warnings } = write;
    let Some(hooks) = engine.hooks.get() else { return Ok(()) };
    if hooks.lacks_some_of(attributes) {
        return Err(attributes.forbid(object.unwrap_or(&Value::Null), NOT_READY));
    }
    if hooks.validating.is_empty() {
        return Ok(());
    }
    let labels = engine.namespace_labels(attributes.target).await?;
    let (options, others) = (attributes.options.to_value(), attributes.equivalents());
    let request = attributes.request(object, old, &options);
    let mut calls = Vec::new();
    let mut views = Views::default();
    for hook in &hooks.validating {
        let interest = engine.interest(attributes, hook, &request, &others, labels.as_ref(), &mut views);
        if let Some(call) = interest.await? {
            check_dry_run(hook, &request)?;
            calls.push((hook, call));
        }
    }
    // Reviews are written when their turn comes, so that no more of them are held than are under way.
    let answers = calls.iter().map(|(hook, call)| engine.call_webhook(hook, call, &request, false));
    let mut answers = stream::iter(answers).buffered(CALLS_AT_ONCE).boxed();
    let mut verdict = Ok(());
    let mut given = Vec::new();
    for (at, (hook, _)) in calls.iter().enumerate() {
        let Some(answer) = answers.next().await else { break };
        if answer == Err(CallError::Overloaded) {
            return Err(Rejection::TooManyRequests);
        }
        let failed_open = || format!("{FAILED_OPEN}round_0_index_{at}");
        let one = match usable(hook, answer, failed_open) {
            Ok(None) => Ok(()),
            Ok(Some(answer)) => {
                given.extend(answer.warnings.iter().cloned());
                if answer.allowed { Ok(()) } else { Err(answer.denial(&hook.name)) }
            }
            Err(rejection) => Err(rejection),
        };
        verdict = verdict.and(one);
    }
    drop(answers);
    warnings.append(&mut given);
    verdict
}
