//! Evaluation of a policy: match conditions, validations with their messages, audit annotations.

use pleach_cel::eval::{PER_CALL_LIMIT, RUNTIME_COST_BUDGET};
use pleach_cel::{Activation, Authz, AuthzUser, Bound, CelValue, CheckedResource, CostBudget, Evaluation};
use pleach_json::{Str, Value};
use std::sync::Arc;

use crate::policy::{Expression, FailurePolicy, Policy, Validation};
use crate::variables::Variables;
use crate::{CONDITIONS_BUDGET, OUT_OF_BUDGET};

/// Longer messages of message expressions are not used.
const LONGEST_MESSAGE: usize = 5 * 1024;

/// The variables of expressions.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// `object`, in the version that the policy matched.
    pub object: Option<&'a Value>,
    /// `oldObject`, likewise.
    pub old: Option<&'a Value>,
    /// `request`
    pub request: &'a Value,
    /// `request` in match conditions, whose resource has the version of the request.
    pub condition_request: &'a Value,
    /// `namespaceObject`
    pub namespace: Option<&'a Value>,
    /// `params`
    pub params: Option<&'a Value>,
    /// `authorizer`
    pub authorizer: &'a AuthzUser,
    /// `authorizer.requestResource`
    pub request_resource: &'a Arc<CheckedResource>,
}

/// The result of match conditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The policy applies.
    Met,
    /// It does not.
    NotMet,
    /// They fail, and the failure policy is `Fail`.
    Failed(String),
}

/// The result of a policy for a request.
#[derive(Clone, Debug, Default)]
pub struct Validated {
    /// One for each validation, or a single one if evaluation failed as a whole; none if conditions are not met.
    pub decisions: Vec<Decision>,
    /// Audit annotations.
    pub annotations: Vec<Annotation>,
    /// Its cost.
    pub cost: Cost,
}

/// The costs of the parts of a policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Match conditions.
    pub conditions: u64,
    /// Validations or mutations, with variables.
    pub expressions: u64,
    /// Message expressions.
    pub messages: u64,
    /// Audit annotations.
    pub annotations: u64,
}

/// The result of a validation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The request may go on.
    Admit,
    /// The expression failed, which the failure policy ignores.
    Ignored(String),
    /// The request is denied.
    Deny(Denial),
}

/// Why a request is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The message.
    pub message: String,
    /// The reason, if the validation has one.
    pub reason: Option<Str>,
}

/// An audit annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Annotation {
    /// It is published under its key.
    Publish(Str, String),
    /// There is nothing to publish.
    Exclude,
    /// It failed, and the failure policy is `Fail`: the request is denied.
    Failed(String),
}

impl Policy {
    /// Evaluates match conditions. A false condition decides, even if others fail, unless they are too
    /// expensive together.
    pub fn condition(&self, input: &Input<'_>) -> (Condition, u64) {
        if self.conditions.is_empty() {
            return (Condition::Met, 0);
        }
        let bound = bind(self, input, input.condition_request, None, true);
        let activation = Activation::of_others(&bound);
        let mut budget = CostBudget::new(CONDITIONS_BUDGET);
        let mut errors: Vec<String> = Vec::new();
        let mut all = true;
        for condition in &self.conditions {
            match evaluate(condition, &activation, None, &mut budget) {
                Ok(Ok(value)) => all &= matches!(value, CelValue::Bool(true)),
                Ok(Err(error)) => errors.push(error),
                Err(OutOfBudget) => {
                    let cost = CONDITIONS_BUDGET as u64;
                    return (self.failed_condition(OUT_OF_BUDGET.to_owned()), cost);
                }
            }
        }
        let cost = (CONDITIONS_BUDGET - budget.remaining()) as u64;
        let verdict = match errors.as_slice() {
            _ if !all => Condition::NotMet,
            [] => Condition::Met,
            [only] => self.failed_condition(only.clone()),
            several => self.failed_condition(format!("[{}]", several.join(", "))),
        };
        (verdict, cost)
    }

    fn failed_condition(&self, error: String) -> Condition {
        match self.failure {
            FailurePolicy::Fail => Condition::Failed(error),
            FailurePolicy::Ignore => Condition::NotMet,
        }
    }

    /// Evaluates a validating policy for a request.
    pub fn validate(&self, input: &Input<'_>) -> Validated {
        let mut cost = Cost::default();
        let (condition, spent) = self.condition(input);
        cost.conditions = spent;
        match condition {
            Condition::Met => {}
            Condition::NotMet => return Validated { cost, ..Validated::default() },
            Condition::Failed(error) => {
                return Validated { decisions: vec![self.error(error)], cost, ..Validated::default() };
            }
        }
        let mut budget = CostBudget::new(RUNTIME_COST_BUDGET);
        let results = self.evaluate_validations(input, &mut budget);
        cost.expressions = spent_of(&budget);
        let Ok(results) = results else {
            let decisions = vec![self.error(OUT_OF_BUDGET.to_owned())];
            return Validated { decisions, cost, ..Validated::default() };
        };
        let messages = self.evaluate_messages(input, &mut budget);
        cost.messages = spent_of(&budget).saturating_sub(cost.expressions);
        let decisions = results.into_iter().enumerate().map(|(i, result)| match (result, &messages) {
            (Err(error), _) => self.error(error),
            (Ok(_), Err(OutOfBudget)) => self.error(format!("failed messageExpression: {OUT_OF_BUDGET}")),
            (Ok(true), _) => Decision::Admit,
            (Ok(false), Ok(messages)) => {
                let validation = &self.validations[i];
                let message = messages.get(i).and_then(Option::as_deref);
                let message = denial_message(validation, message);
                // Kept as a warning for each object of parameters.
                pleach_work::charge(message.len() as u64);
                Decision::Deny(Denial { message, reason: validation.reason.clone() })
            }
        });
        let decisions: Vec<Decision> = decisions.collect();
        let mut budget = CostBudget::new(RUNTIME_COST_BUDGET);
        let annotations = self.evaluate_annotations(input, &mut budget);
        cost.annotations = spent_of(&budget);
        match annotations {
            Ok(annotations) => Validated { decisions, annotations, cost },
            Err(OutOfBudget) => {
                let decisions = vec![self.error(OUT_OF_BUDGET.to_owned())];
                Validated { decisions, cost, ..Validated::default() }
            }
        }
    }

    /// The decision for an error.
    fn error(&self, message: String) -> Decision {
        match self.failure {
            FailurePolicy::Fail => Decision::Deny(Denial { message, reason: None }),
            FailurePolicy::Ignore => Decision::Ignored(message),
        }
    }

    fn evaluate_validations(
        &self,
        input: &Input<'_>,
        budget: &mut CostBudget,
    ) -> Result<Vec<Result<bool, String>>, OutOfBudget> {
        let bound = bind(self, input, input.request, input.namespace, true);
        let activation = Activation::of_others(&bound);
        let variables = Variables::new(self, &activation);
        let mut results = Vec::with_capacity(self.validations.len());
        for validation in &self.validations {
            let value = evaluate(&validation.expression, &activation, Some(&variables), budget)?;
            results.push(value.map(|value| matches!(value, CelValue::Bool(true))));
        }
        Ok(results)
    }

    /// The texts of message expressions, as far as they can be used.
    fn evaluate_messages(
        &self,
        input: &Input<'_>,
        budget: &mut CostBudget,
    ) -> Result<Vec<Option<String>>, OutOfBudget> {
        if self.validations.iter().all(|validation| validation.message_expression.is_none()) {
            return Ok(Vec::new());
        }
        let bound = bind(self, input, input.request, input.namespace, false);
        let activation = Activation::of_others(&bound);
        let variables = Variables::new(self, &activation);
        let mut messages = Vec::with_capacity(self.validations.len());
        for validation in &self.validations {
            let Some(expression) = &validation.message_expression else {
                messages.push(None);
                continue;
            };
            let value = evaluate(expression, &activation, Some(&variables), budget)?;
            let text = value.ok().and_then(|value| Some(value.as_str()?.trim().to_owned()));
            messages.push(
                text.filter(|text| !text.is_empty() && text.len() <= LONGEST_MESSAGE && !text.contains('\n')),
            );
        }
        Ok(messages)
    }

    fn evaluate_annotations(
        &self,
        input: &Input<'_>,
        budget: &mut CostBudget,
    ) -> Result<Vec<Annotation>, OutOfBudget> {
        if self.annotations.is_empty() {
            return Ok(Vec::new());
        }
        let bound = bind(self, input, input.request, input.namespace, false);
        let activation = Activation::of_others(&bound);
        let variables = Variables::new(self, &activation);
        let mut annotations = Vec::with_capacity(self.annotations.len());
        for (key, expression) in &self.annotations {
            let value = evaluate(expression, &activation, Some(&variables), budget)?;
            annotations.push(match (value, self.failure) {
                (Ok(value), _) => match value.as_str().map(str::trim) {
                    None | Some("") => Annotation::Exclude,
                    Some(text) => Annotation::Publish(key.clone(), text.to_owned()),
                },
                (Err(error), FailurePolicy::Fail) => Annotation::Failed(error),
                (Err(_), FailurePolicy::Ignore) => Annotation::Exclude,
            });
        }
        Ok(annotations)
    }
}

fn spent_of(budget: &CostBudget) -> u64 {
    u64::try_from(RUNTIME_COST_BUDGET - budget.remaining().max(0)).unwrap_or_default()
}

fn denial_message(validation: &Validation, computed: Option<&str>) -> String {
    if let Some(message) = computed {
        return message.to_owned();
    }
    match validation.message.trim() {
        "" => format!("failed expression: {}", validation.expression.source.trim()),
        message => message.to_owned(),
    }
}

/// The budget is exhausted: nothing further is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutOfBudget;

/// Evaluates an expression; the inner error is that of the expression.
pub(crate) fn evaluate<'a>(
    expression: &'a Expression,
    activation: &Activation<'a>,
    variables: Option<&Variables<'a, '_>>,
    budget: &mut CostBudget,
) -> Result<Result<CelValue<'a>, String>, OutOfBudget> {
    let program = match &expression.program {
        Ok(program) => program,
        Err(error) => return Ok(Err(format!("compilation error: {}", error.detail))),
    };
    let lazy = variables.map(|variables| variables as &dyn pleach_cel::LazyVariables<'a>);
    let Evaluation { result, cost, work } = program.run_with(activation, lazy, PER_CALL_LIMIT);
    let (lazy_cost, lazy_work) = variables.map(Variables::take_cost).unwrap_or_default();
    if !budget.charge_evaluation(lazy_cost, lazy_work) || !budget.charge_evaluation(cost, work) {
        return Err(OutOfBudget);
    }
    Ok(result.map_err(|fault| format!("expression '{}' resulted in error: {fault}", expression.source)))
}

/// The values of the variables, in the order of their declaration.
pub(crate) fn bind<'a>(
    policy: &Policy,
    input: &Input<'a>,
    request: &'a Value,
    namespace: Option<&'a Value>,
    authorizer: bool,
) -> [Bound<'a>; 7] {
    let value = |value: Option<&'a Value>| Bound::Value(value.unwrap_or(&Value::Null));
    let (user, resource) = if authorizer {
        let resource = Arc::clone(input.request_resource);
        (
            Bound::Authorizer(Authz::Authorizer(input.authorizer.clone())),
            Bound::Authorizer(Authz::Resource(input.authorizer.clone(), resource)),
        )
    } else {
        (Bound::Absent, Bound::Absent)
    };
    let (object, old, request) = (value(input.object), value(input.old), Bound::Value(request));
    if policy.param_kind.is_some() {
        [object, old, request, value(namespace), value(input.params), user, resource]
    } else {
        [object, old, request, value(namespace), user, resource, Bound::Absent]
    }
}
