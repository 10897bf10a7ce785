//! What a schema cannot say of Leases in upstream's words.

use pleach_json::Value;
use pleach_meta::FieldError;

use crate::kind::{Kind, Strategy};

/// Fields of coordinated leader election, which is off upstream unless it is asked for.
const COORDINATED: [&str; 2] = ["preferredHolder", "strategy"];

/// Leaves out what belongs to features that are off.
pub(super) fn clean(object: &mut Value) {
    let has = |object: &Value| COORDINATED.iter().any(|key| object.at(&["spec", key]).is_some());
    if has(object)
        && let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
    {
        COORDINATED.iter().for_each(|key| drop(spec.remove(key)));
    }
}

/// What is wrong with a Lease; nothing with any other kind.
pub(crate) fn validate(kind: &Kind, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if kind.strategy != Strategy::BuiltIn || kind.plural != "leases" {
        return errors;
    }
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
