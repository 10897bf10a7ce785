//! The stages of validation and their order.
//!
//! On a write the API server validates type meta, metadata, then the schema, scale, embedded
//! resources, list types and rules. The first two and scale are not the schema's business:
//! [`Schema::validate`] takes their part from its caller and keeps the order. The last stage,
//! rules, needs to see the errors of all before it: after some kinds of error it does not run, and
//! says so. Each stage can also be called by itself.

use pleach_cel::CostBudget;
use pleach_json::Value;
use pleach_meta::{BadValue, ErrorType, FieldError, Path};

use crate::compile::Schema;
use crate::run_rules::{RuleOutcome, run_rules};
use crate::validate::Old;
use crate::validate::site::NO_PATH;
use crate::{embedded, list_type, validate};

/// What is being written.
#[derive(Clone, Copy, Debug)]
pub enum Write<'a> {
    /// A new object.
    Create,
    /// A new object whose containers shared with this value are validated already.
    CreateValidated(&'a Value),
    /// An object that replaces this one.
    Update(&'a Value),
    /// The status of an object that was this.
    Status(&'a Value),
}

/// What validation came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Why the object is refused.
    pub errors: Vec<FieldError>,
    /// What is told although the object is accepted.
    pub warnings: Vec<String>,
    /// The values and lists of the object have no fault, not even one that is let be. What is not known
    /// to have none may have none all the same.
    pub sound: bool,
}

impl Schema {
    /// All stages in order. `before` are the errors of the stages before the schema's, `scale` adds
    /// those of the stage of that name.
    pub fn validate(
        &self,
        new: &Value,
        write: Write<'_>,
        before: Vec<FieldError>,
        scale: impl FnOnce(&mut Vec<FieldError>),
    ) -> Verdict {
        self.validate_after(new, write, false, before, scale)
    }

    /// The same when it is known whether the old object is sound: what the new one shares with a sound
    /// one is not looked at again, save by rules.
    pub fn validate_after(
        &self,
        new: &Value,
        write: Write<'_>,
        old_is_sound: bool,
        before: Vec<FieldError>,
        scale: impl FnOnce(&mut Vec<FieldError>),
    ) -> Verdict {
        let mut errors = before;
        let (of_values, mut sound) = match write {
            Write::Create => {
                let errors = self.validate_value(new);
                let sound = errors.is_empty();
                (errors, sound)
            }
            Write::CreateValidated(sound) => {
                let errors = validate::validate_except(self.root(), new, sound);
                let sound = errors.is_empty();
                (errors, sound)
            }
            Write::Update(old) => {
                validate::validate_update_of(self.root(), new, Old { value: old, sound: old_is_sound }, None)
            }
            Write::Status(old) => {
                let errors = self.validate_status_value_update(new, old);
                // What the whole demands of a status is not asked here, but must be known for the next write.
                let sound = old_is_sound && self.root().accepts_except(new, Some(old));
                (errors, sound)
            }
        };
        errors.extend(of_values);
        scale(&mut errors);
        if !matches!(write, Write::Status(_)) {
            errors.extend(self.validate_embedded(new));
        }
        let old = match write {
            Write::Create | Write::CreateValidated(_) => None,
            Write::Update(old) | Write::Status(old) => Some(old),
        };
        let (of_lists, once) = match old {
            Some(value) => {
                list_type::validate_lists_update(new, Old { value, sound: old_is_sound }, self.root())
            }
            None => {
                let errors = match write {
                    Write::CreateValidated(sound) => {
                        list_type::validate_lists_except(new, sound, self.root())
                    }
                    _ => self.validate_lists(new),
                };
                let once = errors.is_empty();
                (errors, once)
            }
        };
        sound &= once;
        errors.extend(of_lists);
        let rules = self.validate_rules(new, old, &errors);
        errors.extend(rules.errors);
        Verdict { errors, warnings: rules.warnings, sound }
    }

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
        embedded::validate_embedded(object, self.root())
    }

    /// The stage of list types of a new object.
    pub fn validate_lists(&self, object: &Value) -> Vec<FieldError> {
        list_type::validate_lists(object, self.root())
    }

    /// The stage of list types of a changed object, also on the status endpoint.
    pub fn validate_lists_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        list_type::validate_lists_update(new, Old { value: old, sound: false }, self.root()).0
    }

    /// The stage of rules, of a new object or a changed one, also on the status endpoint. `before`
    /// are the errors of all stages before it.
    pub fn validate_rules(&self, new: &Value, old: Option<&Value>, before: &[FieldError]) -> RuleOutcome {
        if !self.root().below().rules() {
            return RuleOutcome::default();
        }
        if let Some(error) = self.rules_not_checked(before) {
            return RuleOutcome { errors: vec![error], warnings: Vec::new() };
        }
        run_rules(self.root(), new, old, &Path::ROOT, &mut CostBudget::default())
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

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::SchemaOptions;

    fn schema() -> Schema {
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {
                "a": {"type": "integer", "minimum": 1, "x-kubernetes-validations": [{"rule": "self > 5", "message": "more than five"}]},
                "s": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string", "maxLength": 3}},
                "e": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
            }},
            "status": {"type": "object", "properties": {"n": {"type": "integer"}}},
        }});
        Schema::from_value(&schema, SchemaOptions::default())
    }

    #[track_caller]
    fn check(why: &str, new: &Value, write: Write<'_>, errors: &[&str], warnings: &[&str]) {
        let scale =
            |errors: &mut Vec<FieldError>| errors.push(FieldError::invalid("scale", 1, "is told here"));
        let before = vec![FieldError::invalid("metadata", 1, "was told before")];
        let verdict = schema().validate(new, write, before, scale);
        let found: Vec<_> = verdict.errors.iter().map(ToString::to_string).collect();
        assert_eq!(found, errors, "{why}");
        assert_eq!(verdict.warnings, warnings, "{why}");
    }

    #[test]
    fn stages_come_in_order() {
        let (before, scale) =
            ("metadata: Invalid value: 1: was told before", "scale: Invalid value: 1: is told here");
        let low = "spec.a: Invalid value: 0: spec.a in body should be greater than or equal to 1";
        let rule = "spec.a: Invalid value: 0: more than five";
        let bad = json!({"spec": {"a": 0, "s": ["x", "x"], "e": {}}});
        let required = ["spec.e.apiVersion: Required value", "spec.e.kind: Required value"];
        let twice = "spec.s[1]: Duplicate value: \"x\"";
        let unchecked = "<nil>: Invalid value: null: some validation rules were not checked because the object \
                         was invalid; correct the existing errors to complete validation";
        check(
            "all of them",
            &bad,
            Write::Create,
            &[before, low, scale, required[0], required[1], twice, unchecked],
            &[],
        );
        check(
            "plain faults do not keep rules from running",
            &json!({"spec": {"a": 0}}),
            Write::Create,
            &[before, low, scale, rule],
            &[],
        );
        let with_metadata = |object: &Value, label: &str| {
            let mut object = object.clone();
            object.as_object_mut().unwrap().insert("metadata", json!({"name": label}));
            object
        };
        let (old, new) =
            (with_metadata(&json!({"spec": {"a": 0}}), "x"), with_metadata(&json!({"spec": {"a": 0}}), "y"));
        check("what did not change is let be", &new, Write::Update(&old), &[before, scale], &[rule]);
        let bad_status = json!({"spec": {"a": 0, "s": ["x", "x"], "e": {}}, "status": {"n": "x"}});
        let status = "status.n: Invalid value: \"string\": n in body must be of type integer: \"string\"";
        check(
            "the status alone, lists and rules of all",
            &bad_status,
            Write::Status(&json!({})),
            &[before, status, scale, twice, unchecked],
            &[],
        );
    }

    #[test]
    fn what_is_sound_has_no_fault_at_all() {
        let schema = json!({"type": "object", "required": ["status"], "properties": {
            "spec": {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}},
            "status": {"type": "object", "properties": {"n": {"type": "integer"}}},
        }});
        let schema = Schema::from_value(&schema, SchemaOptions::default());
        let sound = |new: &Value, write: Write<'_>, old: bool| {
            let verdict = schema.validate_after(new, write, old, Vec::new(), |_| {});
            (verdict.errors.is_empty(), verdict.sound)
        };
        let good = json!({"spec": {"a": 1}, "status": {"n": 1}});
        let low = json!({"spec": {"a": 0}, "status": {"n": 1}});
        let bare = json!({"spec": {"a": 1}});
        let other = json!({"spec": {"a": 1}, "status": {"n": 2}});
        assert_eq!(sound(&good, Write::Create, false), (true, true));
        assert_eq!(sound(&low, Write::Create, false), (false, false));
        assert_eq!(sound(&low, Write::Update(&low.clone()), false), (true, false), "a fault that is let be");
        assert_eq!(sound(&other, Write::Status(&good), true), (true, true));
        assert_eq!(sound(&other, Write::Status(&good), false), (true, false), "not known before");
        assert_eq!(sound(&bare, Write::Status(&good), true), (true, false), "the whole wants a status");
    }
}
