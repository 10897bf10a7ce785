//! `MutatingAdmissionWebhook`: calls mutating webhooks one after the other, each with the object as the one
//! before left it.
//!
//! A patched object is decoded and defaulted, but not pruned, as upstream does it.

use std::pin::Pin;

use pleach_json::Value;

use super::webhooks::{Views, any_concerns, usable, with_patch};
use super::{AdmissionAttributes, Mutation, Plugin, Verdict};
use crate::engine::Engine;
use crate::rejection::Rejection;
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
        let answer = engine.call_webhook(hook, &call, &request, true).await;
        let Some((answer, patch)) = usable(hook, answer.and_then(with_patch))? else { continue };
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
            if object.as_ref() != Some(&new) {
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
