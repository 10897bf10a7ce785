//! Policies that mutate, run one after the other on an object, and a second time where they ask for it.

use pleach_apply::Type;
use pleach_json::Value;
use pleach_pipeline::decode;
use pleach_pipeline::resource::Resource;
use pleach_pipeline::settle;
use pleach_policy::{
    Condition, Cost, FailurePolicy, Mutated, MutationError, Operation, PatchType, Reinvocations, messages,
};
use pleach_schema::Record;

use super::evaluate::{Effect, Invocation, ObjectResult, Outcome, PolicyMessage, Request, converted};

/// Runs the policies that mutate. The error is why the write is refused.
pub(super) fn mutate(
    request: &Request<'_>,
    object: &mut Value,
    result: &mut ObjectResult,
) -> Result<(), String> {
    if request.operation == Operation::Delete {
        return Ok(());
    }
    let mut reinvocations = Reinvocations::default();
    if round(request, object, &mut reinvocations, false, result)? {
        reinvocations.changed();
        round(request, object, &mut reinvocations, true, result)?;
    }
    Ok(())
}

/// Runs all policies once; says whether a mutation succeeded.
fn round(
    request: &Request<'_>,
    object: &mut Value,
    reinvocations: &mut Reinvocations,
    again: bool,
    result: &mut ObjectResult,
) -> Result<bool, String> {
    let before = object.clone();
    let (mut ran, mut first) = (false, None);
    for selected in request.select(&request.setting.mutating, Some(&before)) {
        let invocation = match selected {
            Ok(invocation) => invocation,
            Err(error) => {
                let binding = error.binding.map(|binding| binding.name.as_str());
                if error.policy.failure == FailurePolicy::Fail {
                    let text = messages::mutation_refusal(&error.policy.name, binding, &error.why);
                    first.get_or_insert(text);
                }
                if !again {
                    result.policies.push(error.into_result(true));
                }
                continue;
            }
        };
        let key = Reinvocations::key(&invocation.policy.name, &invocation.binding.name, invocation.param);
        if again && !reinvocations.runs_again(&key) {
            continue;
        }
        let was = object.clone();
        let Some((mutated, errors)) = invoke(request, &invocation, object, result)? else { continue };
        ran |= mutated;
        if *object != was {
            reinvocations.changed();
        }
        if invocation.policy.reinvokes {
            reinvocations.invoked(key);
        }
        for error in errors {
            if invocation.policy.failure == FailurePolicy::Fail {
                let (policy, binding) = (&invocation.policy.name, &invocation.binding.name);
                first.get_or_insert(messages::mutation_refusal(policy, Some(binding), &error));
            }
        }
    }
    first.map_or(Ok(ran), Err)
}

/// Runs the mutations of a policy; whether one succeeded, and the errors. None if its conditions are not met.
fn invoke(
    request: &Request<'_>,
    invocation: &Invocation<'_>,
    object: &mut Value,
    result: &mut ObjectResult,
) -> Result<Option<(bool, Vec<String>)>, String> {
    let policy = invocation.policy;
    let (condition, spent) = request.with_input(invocation, Some(object), |input| policy.condition(input))?;
    let mut cost = Cost { conditions: spent, ..Cost::default() };
    let effect = if policy.failure == FailurePolicy::Fail { Effect::Denied } else { Effect::Ignored };
    let said = |errors: &[String]| {
        let word = |message: &String| PolicyMessage { effect, message: message.clone(), reason: None };
        Outcome::Messages(errors.iter().map(word).collect())
    };
    match condition {
        Condition::Met => {}
        Condition::NotMet => {
            result.policies.push(invocation.result(true, Outcome::Skipped, cost));
            return Ok(None);
        }
        Condition::Failed(error) => {
            let errors = vec![error];
            result.policies.push(invocation.result(true, said(&errors), cost));
            return Ok(Some((false, errors)));
        }
    }
    let was = object.clone();
    let (mut succeeded, mut errors) = (false, Vec::new());
    for mutation in &policy.mutations {
        let version = &request.kind.versions[invocation.seen];
        let own = request.kind.strategy.apply_schema(version);
        let of = PatchType::Known(Type::of(own.unwrap_or_else(|| version.schema.get())));
        let done =
            request.with_input(invocation, Some(object), |input| policy.mutate(mutation, input, of))?;
        match done {
            Err(MutationError(error)) => errors.push(error),
            Ok(Mutated { object: changed, strict, cost: spent }) => {
                succeeded = true;
                cost.expressions += spent;
                if let Some(changed) = changed {
                    *object = settled(request, invocation.seen, changed, strict)?;
                }
            }
        }
    }
    let outcome = match errors.as_slice() {
        [] if *object == was => Outcome::Unchanged,
        [] => Outcome::Mutated,
        errors => said(errors),
    };
    result.policies.push(invocation.result(true, outcome, cost));
    Ok(Some((succeeded, errors)))
}

/// The result of a mutation, decoded and defaulted, in the version of the request.
fn settled(request: &Request<'_>, seen: usize, mutated: Value, strict: bool) -> Result<Value, String> {
    let kind = request.kind;
    if kind.is_custom() {
        let settled = settle::mutated(kind, seen, mutated).into_value();
        return converted(kind, seen, request.version, settled);
    }
    let record = if strict { Record::Unknown } else { Record::Nothing };
    let decoded = decode::object(Resource::new(kind, seen), mutated, record, None)?;
    if let Some(unknown) = decoded.strict.first() {
        return Err(format!("strict decoding error: unknown field \"{unknown}\""));
    }
    converted(kind, seen, request.version, decoded.value.into_value())
}
