//! Match conditions of a webhook: CEL expressions, all of which must be true for it to be called.

use pleach_cel::{Activation, Authz, AuthzUser, Bound, CelValue, CostBudget, EvalError, Program};
use pleach_json::{Str, Value};
use pleach_pipeline::kinds::webhook_configuration::match_conditions;
use pleach_policy::{CONDITIONS_BUDGET, OUT_OF_BUDGET, RequestAuthorizer, admission_request};

use super::hook::FailurePolicy;
use crate::admission::AdmissionRequest;
use crate::admission::GroupVersion;

/// The result of a webhook's match conditions.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The webhook is called.
    Call,
    /// It is not.
    Skip,
    /// The write is forbidden, for this reason.
    Refuse(String),
}

/// The conditions of a webhook, ready to be evaluated.
#[derive(Debug)]
pub(super) struct Conditions(Vec<Condition>);

#[derive(Debug)]
struct Condition {
    expression: Str,
    /// The error is why it cannot be evaluated.
    program: Result<Program, String>,
}

impl Conditions {
    pub(super) fn read(conditions: Option<&Value>) -> Self {
        let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
        let expressions = conditions.filter_map(|condition| condition.get("expression")?.as_str());
        let condition = |expression: &str| Condition {
            expression: expression.into(),
            program: match_conditions::compile_stored(expression),
        };
        Self(expressions.map(condition).collect())
    }

    /// A false condition decides, even if others fail, unless their cost exceeds the limit.
    pub(super) fn judge(
        &self,
        request: &AdmissionRequest<'_>,
        seen: GroupVersion<'_>,
        (object, old): (Option<&Value>, Option<&Value>),
        on_failure: FailurePolicy,
        authorizer: impl FnOnce() -> AuthzUser,
    ) -> Verdict {
        if self.0.is_empty() {
            return Verdict::Call;
        }
        let shown = admission_request(request, seen);
        let user = authorizer();
        let resource = RequestAuthorizer::request_resource(request);
        let null = Value::Null;
        let variables = [
            Bound::Value(object.unwrap_or(&null)),
            Bound::Value(old.unwrap_or(&null)),
            Bound::Value(&shown),
            Bound::Value(&null),
            Bound::Authorizer(Authz::Authorizer(user.clone())),
            Bound::Authorizer(Authz::Resource(user, resource)),
        ];
        let activation = Activation::of_others(&variables);
        let mut budget = CostBudget::new(CONDITIONS_BUDGET);
        let mut errors: Vec<String> = Vec::new();
        let mut all = true;
        for Condition { expression, program } in &self.0 {
            let error = match program.as_ref().map(|program| program.eval(&activation, &mut budget)) {
                Ok(Ok(value)) => {
                    all &= matches!(value, CelValue::Bool(true));
                    continue;
                }
                Ok(Err(EvalError::BudgetExceeded)) => {
                    return refuse(OUT_OF_BUDGET.to_owned(), on_failure);
                }
                Ok(Err(error)) => error.to_string(),
                Err(error) => error.clone(),
            };
            errors.push(format!("expression '{expression}' resulted in error: {error}"));
        }
        match errors.as_slice() {
            _ if !all => Verdict::Skip,
            [] => Verdict::Call,
            [only] => refuse(only.clone(), on_failure),
            several => refuse(format!("[{}]", several.join(", ")), on_failure),
        }
    }
}

fn refuse(why: String, on_failure: FailurePolicy) -> Verdict {
    match on_failure {
        FailurePolicy::Fail => Verdict::Refuse(why),
        FailurePolicy::Ignore => Verdict::Skip,
    }
}

#[cfg(test)]
mod tests;
