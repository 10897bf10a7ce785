//! PodDisruptionBudgets.

use pleach_json::{Map, Value, json};
use pleach_meta::FieldError;
use pleach_meta::field_error::BadValue;

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks;
use crate::kinds::fields::{int_at, items, member, submember, text, text_at};
use crate::resource::Subresource;

/// The group.
pub const GROUP: &str = "policy";
/// The resource.
pub const PLURAL: &str = "poddisruptionbudgets";
/// So many evictions may wait for the disruption controller to see them.
const MAX_DISRUPTED_PODS: usize = 2000;

/// Why a budget does not let a Pod go.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The status does not speak of the budget as it is now: later perhaps.
    NotProcessed,
    /// None may go at the moment.
    NotAllowed(String),
    /// The status makes no sense.
    Forbidden(&'static str),
}

/// Whether a Pod that is not ready may go without being counted.
pub fn lets_unhealthy_go(budget: &Value) -> bool {
    if text_at(budget, &["spec", "unhealthyPodEvictionPolicy"]) == "AlwaysAllow" {
        return true;
    }
    let desired = int_at(budget, &["status", "desiredHealthy"]);
    int_at(budget, &["status", "currentHealthy"]) >= desired && desired > 0
}

/// `checkAndDecrement`: takes one disruption from the budget for a Pod.
pub fn disrupt(budget: &mut Value, pod: &str, now: &str) -> Result<(), Refusal> {
    let observed = int_at(budget, &["status", "observedGeneration"]);
    if observed < int_at(budget, &["metadata", "generation"]) {
        return Err(Refusal::NotProcessed);
    }
    let allowed = int_at(budget, &["status", "disruptionsAllowed"]);
    if allowed < 0 {
        return Err(Refusal::Forbidden("pdb disruptions allowed is negative"));
    }
    let disrupted = budget.at(&["status", "disruptedPods"]).and_then(Value::as_object);
    if disrupted.is_some_and(|pods| pods.len() > MAX_DISRUPTED_PODS) {
        return Err(Refusal::Forbidden(
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        ));
    }
    if allowed == 0 {
        return Err(Refusal::NotAllowed(why_not(budget)));
    }
    let status = member(budget, "status");
    status.insert("disruptionsAllowed", allowed - 1);
    submember(status, "disruptedPods").insert(pod, now);
    if allowed == 1 {
        set_insufficient(status, observed, now);
    }
    Ok(())
}

fn why_not(budget: &Value) -> String {
    let name = text_at(budget, &["metadata", "name"]);
    let conditions = budget.get("status").map(|status| items(status, "conditions")).unwrap_or_default();
    let condition = conditions.iter().find(|one| text(one, "type") == "DisruptionAllowed");
    let explained =
        condition.filter(|one| text(one, "status") == "False" && !text(one, "message").is_empty());
    let needed = int_at(budget, &["status", "desiredHealthy"]);
    let healthy = int_at(budget, &["status", "currentHealthy"]);
    match explained {
        Some(condition) if text(condition, "reason") == "SyncFailed" => format!(
            "The disruption budget {name} does not allow evicting pods currently because it failed sync: {}",
            text(condition, "message")
        ),
        _ if healthy <= needed => {
            format!("The disruption budget {name} needs {needed} healthy pods and has {healthy} currently")
        }
        Some(condition) => format!(
            "The disruption budget {name} does not allow evicting pods currently ({}): {}",
            text(condition, "reason"),
            text(condition, "message")
        ),
        None => format!("The disruption budget {name} does not allow evicting pods currently"),
    }
}

/// The condition of a budget of which nothing is left.
fn set_insufficient(status: &mut Map, observed: i64, now: &str) {
    let Value::Array(conditions) = status.get_or_insert_with("conditions", || Value::from(Vec::new())) else {
        return;
    };
    let mut condition = json!({
        "type": "DisruptionAllowed", "status": "False", "observedGeneration": (observed),
        "lastTransitionTime": (now), "reason": "InsufficientPods", "message": "",
    });
    match conditions.iter_mut().find(|one| text(one, "type") == "DisruptionAllowed") {
        Some(found) => {
            if text(found, "status") == "False"
                && let (Some(time), Some(members)) =
                    (found.get("lastTransitionTime").cloned(), condition.as_object_mut())
            {
                members.insert("lastTransitionTime", time);
            }
            *found = condition;
        }
        None => conditions.push(condition),
    }
}

/// The rules of PodDisruptionBudgets.
#[derive(Debug)]
pub struct DisruptionBudget;

fn bound(object: &Value, field: &str) -> Value {
    match object.at(&["spec", field]) {
        None | Some(Value::Null) => "N/A".into(),
        Some(Value::Int(number)) => number.to_string().into(),
        Some(value) => value.clone(),
    }
}

impl Rules for DisruptionBudget {
    fn validate(&self, object: &Value, _: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        let (least, most) = (object.at(&["spec", "minAvailable"]), object.at(&["spec", "maxUnavailable"]));
        if least.is_some() && most.is_some() {
            // Upstream prints its internal type.
            let show =
                |field: &str| pleach_json::to_string(object.at(&["spec", field]).unwrap_or(&Value::Null));
            let spec = format!(
                "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\"UnhealthyPodEvictionPolicy\":{}}}",
                show("minAvailable"),
                show("selector"),
                show("maxUnavailable"),
                show("unhealthyPodEvictionPolicy")
            );
            let why = "minAvailable and maxUnavailable cannot be both set";
            errors.push(FieldError::invalid("spec", BadValue::Raw(spec), why));
        }
        for (value, path) in [(least, "spec.minAvailable"), (most, "spec.maxUnavailable")] {
            checks::int_or_percent(value, path, &mut errors);
            checks::at_most_hundred_percent(value, path, &mut errors);
        }
        if let Some(selector) = object.at(&["spec", "selector"]) {
            checks::selector(selector, "spec.selector", &mut errors);
        }
        checks::one_of_if_set(
            object.at(&["spec", "unhealthyPodEvictionPolicy"]),
            "spec.unhealthyPodEvictionPolicy",
            &["AlwaysAllow", "IfHealthyBudget"],
            &mut errors,
        );
        errors
    }

    fn validate_subresource(&self, object: &Value, _: &Value, _: Subresource) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for field in ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] {
            checks::non_negative(object.at(&["status", field]), &format!("status.{field}"), &mut errors);
        }
        let status = object.get("status").unwrap_or(&Value::Null);
        checks::conditions(items(status, "conditions"), "status.conditions", &mut errors);
        errors
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            computed("Min Available", "string", |o, _| bound(o, "minAvailable")),
            computed("Max Unavailable", "string", |o, _| bound(o, "maxUnavailable")),
            computed("Allowed Disruptions", "integer", |o, _| {
                int_at(o, &["status", "disruptionsAllowed"]).into()
            }),
            age_text(),
        ]
    }
}
