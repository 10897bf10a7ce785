//! `MutatingAdmissionWebhook`: calls mutating webhooks one after the other, each with the object as the one
//! before left it.
//!
//! A patched object is decoded and defaulted, but not pruned, as upstream does it.

use std::pin::Pin;

use pleach_json::Value;

use super::webhooks::{Views, any_concerns, check_dry_run, usable, with_patch};
use super::{AdmissionAttributes, Mutation, Plugin, Verdict};
use crate::audit;
use crate::engine::Engine;
use crate::rejection::Rejection;
use crate::webhooks::hook::Hook;
use crate::webhooks::{NOT_READY, excerpt};

pub(super) struct MutatingAdmissionWebhook;

/// Which webhooks are called again in the second round.
#[derive(Default)]
pub(crate) struct Reinvocations {
    /// Webhooks with `reinvocationPolicy: IfNeeded` that were called.
    called: Vec<bool>,
    /// The webhooks after which the object was changed.
    again: Vec<bool>,
}

impl Reinvocations {
    /// Room for so many webhooks.
    fn of(&mut self, webhooks: usize) -> &mut Self {
        self.called.resize(webhooks, false);
        self.again.resize(webhooks, false);
        self
    }

    /// The object was changed.
    fn changed(&mut self) {
        for (again, called) in self.again.iter_mut().zip(&self.called) {
            *again |= *called;
        }
    }
}

/// The audit annotations of a call, by upstream's keys. Whether the object was changed is noted when the call ends,
/// however it ends.
struct Annotator<'a> {
    hook: &'a Hook,
    /// Round and index among all mutating webhooks.
    place: String,
    mutated: bool,
}

impl<'a> Annotator<'a> {
    fn new(hook: &'a Hook, reinvoking: bool, index: usize) -> Self {
        Self { hook, place: format!("round_{}_index_{index}", u8::from(reinvoking)), mutated: false }
    }

    fn failed_open(&self) -> String {
        format!("failed-open.mutation.webhook.admission.k8s.io/{}", self.place)
    }

    fn patched(&self, patch: &[u8]) {
        audit::annotate_with_body(&format!("patch.webhook.admission.k8s.io/{}", self.place), || {
            let patch = pleach_json::parse(patch).unwrap_or_default();
            self.value(&format!("\"patch\":{},\"patchType\":\"JSONPatch\"", pleach_json::to_string(&patch)))
        });
    }

    /// The webhook with further members, in the order of upstream's struct.
    fn value(&self, members: &str) -> String {
        let text = |text: &str| pleach_json::to_string(&Value::from(text));
        let (configuration, name) = (text(&self.hook.configuration), text(&self.hook.name));
        format!("{{\"configuration\":{configuration},\"webhook\":{name},{members}}}")
    }
}

impl Drop for Annotator<'_> {
    fn drop(&mut self) {
        audit::annotate(&format!("mutation.webhook.admission.k8s.io/{}", self.place), || {
            self.value(&format!("\"mutated\":{}", self.mutated))
        });
    }
}

impl Plugin for MutatingAdmissionWebhook {
    fn handles(&self, engine: &Engine, attributes: &AdmissionAttributes<'_>) -> bool {
        engine
            .hooks
            .get()
            .is_some_and(|hooks| hooks.lacks_some_of(attributes) || any_concerns(&hooks.mutating, attributes))
    }

    fn admit<'a>(&'a self, write: Mutation<'a>) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(admit(write))
    }
}

async fn admit(write: Mutation<'_>) -> Verdict {
    let Mutation { engine, attributes, object, old, state, warnings } = write;
    let Some(hooks) = engine.hooks.get() else { return Ok(()) };
    if hooks.lacks_some_of(attributes) {
        return Err(attributes.forbid(object.as_ref().unwrap_or(&Value::Null), NOT_READY));
    }
    let hooks = &hooks.mutating;
    if hooks.is_empty() {
        return Ok(());
    }
    let labels = engine.namespace_labels(attributes.target).await?;
    let (options, others) = (attributes.options.to_value(), attributes.equivalents());
    let mut views = Views::default();
    let reinvocations = state.webhooks.of(hooks.len());
    if state.reinvoking && state.policies_changed {
        reinvocations.changed();
    }
    for (at, hook) in hooks.iter().enumerate() {
        if state.reinvoking && !reinvocations.again[at] {
            continue;
        }
        let request = attributes.request(object.as_ref(), old, &options);
        let interest = engine.interest(attributes, hook, &request, &others, labels.as_ref(), &mut views);
        let Some(call) = interest.await? else { continue };
        let mut annotator = Annotator::new(hook, state.reinvoking, at);
        check_dry_run(hook, &request)?;
        let answer = engine.call_webhook(hook, &call, &request, true).await;
        let answer = usable(hook, answer.and_then(with_patch), || annotator.failed_open())?;
        let Some((answer, patch)) = answer else { continue };
        warnings.extend(answer.warnings.iter().cloned());
        if !answer.allowed {
            return Err(answer.denial(&hook.name));
        }
        if !patch.is_empty() {
            let Some(shown) = &call.object else {
                return Err(Rejection::internal(format!(
                    "admission webhook \"{}\" attempted to modify the object, which is not supported for this operation",
                    hook.name
                )));
            };
            let patched = pleach_patch::apply_json_patch(Value::clone(shown), &patch)
                .map_err(|error| Rejection::internal(excerpt(&error.to_string())))?;
            let new = engine.patched_object(attributes, call.seen, patched).await?;
            annotator.patched(&answer.patch);
            if object.as_ref() != Some(&new) {
                annotator.mutated = true;
                state.changed = true;
                state.reinvoke = true;
                state.webhooks_changed = true;
                reinvocations.changed();
            }
            drop(call);
            views = Views::default();
            *object = Some(new);
        }
        reinvocations.called[at] = hook.reinvokes;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhooks_are_called_again_if_the_object_changed_after_them() {
        let mut state = Reinvocations::default();
        let of = state.of(3);
        of.called[0] = true;
        assert_eq!(of.again, [false; 3], "nothing changed");
        of.changed();
        of.called[1] = true;
        assert_eq!(of.again, [true, false, false], "the second was called afterwards");
        assert_eq!(state.of(4).again.len(), 4, "a webhook more in the second round");
    }
}
