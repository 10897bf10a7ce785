//! PodDisruptionBudgets.

use pleach_json::Value;
use pleach_meta::FieldError;

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks;
use crate::kinds::fields::int_at;
use crate::resource::Subresource;

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
            let spec = object.get("spec").cloned().unwrap_or_default();
            let why = "minAvailable and maxUnavailable cannot be both set";
            errors.push(FieldError::invalid("spec", spec, why));
        }
        for (value, path) in [(least, "spec.minAvailable"), (most, "spec.maxUnavailable")] {
            checks::int_or_percent(value, path, &mut errors);
            checks::at_most_hundred_percent(value, path, &mut errors);
        }
        if let Some(selector) = object.at(&["spec", "selector"]) {
            checks::selector(selector, "spec.selector", &mut errors);
        }
        errors
    }

    fn validate_subresource(&self, object: &Value, _: &Value, _: Subresource) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for field in ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] {
            checks::non_negative(object.at(&["status", field]), &format!("status.{field}"), &mut errors);
        }
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
