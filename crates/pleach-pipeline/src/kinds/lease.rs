//! Leases.

use pleach_json::{Value, json};
use pleach_meta::FieldError;
use pleach_work::Constant;

use crate::columns::{age_text, column};
use crate::kind::{Cell, Column, KindVersion};
use crate::strategy::Strategy;

/// Fields of the feature `CoordinatedLeaderElection`, which is off by default.
const COORDINATED: [&str; 2] = ["preferredHolder", "strategy"];

/// The strategy of Leases.
#[derive(Debug)]
pub struct Lease;

impl Strategy for Lease {
    fn type_name(&self, _: &KindVersion) -> Option<&'static str> {
        Some("coordination/v1.Lease")
    }

    fn columns(&self) -> Option<Vec<Column>> {
        let holder = Cell::Text(&["spec", "holderIdentity"]);
        Some(vec![column("Holder", "string", "Who holds the lease.", holder), age_text()])
    }

    fn drop_disabled_fields(&self, object: &mut Value) {
        let has = |object: &Value| COORDINATED.iter().any(|key| object.at(&["spec", key]).is_some());
        if has(object)
            && let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
        {
            COORDINATED.iter().for_each(|key| drop(spec.remove(key)));
        }
    }

    fn revalidates_metadata(&self) -> bool {
        false
    }

    fn validate(&self, object: &Value, _: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for (field, least, why) in [
            ("leaseDurationSeconds", 1, "must be greater than 0"),
            ("leaseTransitions", 0, "must be greater than or equal to 0"),
        ] {
            if let Some(number) = object.at(&["spec", field]).and_then(Value::as_int).filter(|n| *n < least) {
                errors.push(FieldError::invalid(format!("spec.{field}"), number, why));
            }
        }
        errors
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }

    fn always_written(&self, _: &KindVersion) -> Option<&'static Value> {
        static SPEC: Constant<Value> = Constant::new(|| json!({"spec": {}}));
        Some(&SPEC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_numbers() {
        for (spec, want) in [
            (json!({"leaseDurationSeconds": 1, "leaseTransitions": 0}), vec![]),
            (
                json!({"leaseDurationSeconds": 0, "leaseTransitions": (-1)}),
                vec![
                    "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
                    "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
                ],
            ),
        ] {
            let errors = Lease.validate(&json!({"spec": (spec)}), None);
            assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>(), want);
        }
    }

    #[test]
    fn fields_of_disabled_features_are_dropped() {
        let mut lease = json!({"spec": {"holderIdentity": "", "strategy": "x", "preferredHolder": "y"}});
        Lease.drop_disabled_fields(&mut lease);
        assert_eq!(lease, json!({"spec": {"holderIdentity": ""}}));
    }
}
