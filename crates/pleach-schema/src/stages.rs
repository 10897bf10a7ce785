//! The stages of validation and their order.
//!
//! On a write the API server validates type meta, metadata, then the schema, scale, embedded
//! resources, list types and rules. The first two and scale are not the schema's business; whoever
//! runs a whole validation calls the stages here one by one and puts its own in between. The last
//! stage, rules, needs to see the errors of all before it: after some kinds of error it does not
//! run, and says so.

use pleach_json::Value;
use pleach_meta::{BadValue, ErrorType, FieldError};

use crate::compile::Schema;
use crate::validate::site::NO_PATH;
use crate::{coerce, list_type, validate};

impl Schema {
    /// The value stage of a new object.
    pub fn validate_value(&self, object: &Value) -> Vec<FieldError> {
        validate::validate(self.root(), object, None)
    }

    /// The value stage of a changed object: faults of what did not change are left out.
    pub fn validate_value_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        validate::validate_update(self.root(), new, old, None)
    }

    /// The value stage of a write to the status endpoint: `status` alone, if there is one and its
    /// schema is known.
    pub fn validate_status_value_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        let (Some(schema), Some(new)) = (self.status(), new.get("status")) else { return Vec::new() };
        match old.get("status") {
            Some(old) => validate::validate_update(schema, new, old, Some("status")),
            None => validate::validate(schema, new, Some("status")),
        }
    }

    /// The stage of embedded resources; writes to the status endpoint leave it out.
    pub fn validate_embedded(&self, object: &Value) -> Vec<FieldError> {
        coerce::validate_embedded(object, self.root())
    }

    /// The stage of list types of a new object.
    pub fn validate_lists(&self, object: &Value) -> Vec<FieldError> {
        list_type::validate_lists(object, self.root())
    }

    /// The stage of list types of a changed object, also on the status endpoint.
    pub fn validate_lists_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        list_type::validate_lists_update(new, old, self.root())
    }

    /// What is said instead of running the rules after errors like these; `None` when they run, or
    /// there are none.
    pub fn rules_not_checked(&self, before: &[FieldError]) -> Option<FieldError> {
        let blocks = |error: &FieldError| {
            matches!(
                error.error_type,
                ErrorType::NotSupported
                    | ErrorType::Required
                    | ErrorType::TooLong
                    | ErrorType::TooMany
                    | ErrorType::TypeInvalid
            )
        };
        let detail = "some validation rules were not checked because the object was invalid; \
                      correct the existing errors to complete validation";
        (self.root().below().rules() && before.iter().any(blocks))
            .then(|| FieldError::invalid(NO_PATH, BadValue::Value(Value::Null), detail))
    }
}
