//! Match conditions of a webhook: CEL expressions, all of which must be true for it to be called.

use pleach_auth::UserInfo;
use pleach_auth::user::MASTERS;
use pleach_cel::{Activation, Authz, Bound, CelValue, CostBudget, EvalError, Program};
use pleach_json::{Map, Str, Value, json};
use pleach_pipeline::kinds::webhook_configuration::match_conditions;

use super::hook::FailurePolicy;
use crate::admission::AdmissionRequest;
use crate::admission::GroupVersion;

/// What all conditions of one webhook may cost together.
const BUDGET: i64 = 2_500_000;

const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// What comes of a webhook's conditions.
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

    /// One that is false decides, whatever becomes of the others, unless they are too dear together.
    pub(super) fn judge(
        &self,
        request: &AdmissionRequest<'_>,
        seen: GroupVersion<'_>,
        object: Option<&Value>,
        old: Option<&Value>,
        on_failure: FailurePolicy,
    ) -> Verdict {
        if self.0.is_empty() {
            return Verdict::Call;
        }
        let shown = admission_request(request, seen);
        let may = request.user.is_in(MASTERS);
        let null = Value::Null;
        let variables = [
            Bound::Value(object.unwrap_or(&null)),
            Bound::Value(old.unwrap_or(&null)),
            Bound::Value(&shown),
            Bound::Value(&null),
            Bound::Authorizer(Authz::Authorizer(may)),
            Bound::Authorizer(Authz::Resource(may)),
        ];
        let activation = Activation::of_others(&variables);
        let mut budget = CostBudget::new(BUDGET);
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

/// An `AdmissionRequest` without `uid` and objects; what is empty is left out, as on the wire.
pub(crate) fn admission_request(request: &AdmissionRequest<'_>, seen: GroupVersion<'_>) -> Value {
    let own = (request.group, request.version);
    let type_of = |(group, version, kind): (&str, &str, &str)| json!({"group": (group), "version": (version), "kind": (kind)});
    let resource_in = |(group, version): GroupVersion<'_>| json!({"group": (group), "version": (version), "resource": (request.resource)});
    let (group, version, kind) = request.object_type;
    // A Scale is a Scale in every version of what it scales.
    let seen_type = if (group, version) == own { (seen.0, seen.1, kind) } else { request.object_type };
    let mut out = Map::default();
    out.insert("kind", type_of(seen_type));
    out.insert("resource", resource_in(seen));
    put(&mut out, "subResource", request.subresource);
    out.insert("requestKind", type_of(request.object_type));
    out.insert("requestResource", resource_in(own));
    put(&mut out, "requestSubResource", request.subresource);
    put(&mut out, "name", &request.name);
    put(&mut out, "namespace", request.namespace);
    out.insert("operation", request.operation.as_str());
    out.insert("userInfo", user_info(request.user));
    out.insert("dryRun", request.dry_run);
    out.insert("options", request.options.clone());
    out.into()
}

/// A user as `authentication.k8s.io` writes it; what is empty is left out.
pub fn user_info(user: &UserInfo) -> Map {
    let texts = |list: &[Str]| list.iter().map(|text| Value::from(text.clone())).collect::<Vec<_>>();
    let mut out = Map::default();
    put(&mut out, "username", &user.name);
    put(&mut out, "uid", &user.uid);
    if !user.groups.is_empty() {
        out.insert("groups", texts(&user.groups));
    }
    if !user.extra.is_empty() {
        let mut extra = Map::default();
        for (key, values) in &user.extra {
            extra.insert(key.as_str(), texts(values));
        }
        out.insert("extra", extra);
    }
    out
}

fn put(map: &mut Map, key: &'static str, text: &str) {
    if !text.is_empty() {
        map.insert(key, text);
    }
}

#[cfg(test)]
mod tests;
