//! The stages of validation of an object and their order.
//!
//! On a write the API server validates type meta, metadata, then the schema, scale, embedded
//! resources, list types and rules. The first two and scale do not depend on the schema:
//! [`Schema::validate`] takes their errors from its caller and keeps the order. The last stage,
//! rules, depends on the errors of all stages before it: after some types of error it does not run, and
//! reports that. Each stage can also be called by itself.

use pleach_cel::CostBudget;
use pleach_json::Value;
use pleach_meta::{BadValue, ErrorType, FieldError, Path};

use crate::compile::Schema;
use crate::run_rules::{RuleOutcome, run_rules_with};
use crate::validate::location::NO_PATH;
use crate::{embedded, list_type, validate};

/// The object of the write.
#[derive(Clone, Copy, Debug)]
pub enum Write<'a> {
    /// A new object.
    Create,
    /// An object that replaces this one.
    Update(&'a Value),
    /// The status of an object that was this.
    Status(&'a Value),
}

/// The result of validation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verdict {
    /// Why the object is refused.
    pub errors: Vec<FieldError>,
    /// Warnings about an object that is accepted: rules that fail on what did not change.
    pub warnings: Vec<String>,
    /// Whether the values and lists of the object are known to be valid, without any ratcheting: it may be the
    /// baseline of the next write.
    pub valid: bool,
}

impl Schema {
    /// All stages in order. `before` are the errors of the stages before the schema's, `scale` adds
    /// the errors of the stage of that name.
    pub fn validate(
        &self,
        new: &Value,
        write: Write<'_>,
        before: Vec<FieldError>,
        scale: impl FnOnce(&mut Vec<FieldError>),
    ) -> Verdict {
        self.validate_against(new, write, None, before, scale)
    }

    /// The same as [`Self::validate`], with a baseline that is known to be valid: containers shared with it
    /// are skipped, except by rules and embedded resources.
    pub fn validate_against(
        &self,
        new: &Value,
        write: Write<'_>,
        baseline: Option<&Value>,
        before: Vec<FieldError>,
        scale: impl FnOnce(&mut Vec<FieldError>),
    ) -> Verdict {
        let (root, mut errors) = (self.root(), before);
        let old = match write {
            Write::Create => None,
            Write::Update(old) | Write::Status(old) => Some(old),
        };
        let (of_values, values_valid) = match write {
            Write::Create | Write::Update(_) => {
                validate::validate_against(root, new, self.ratcheted(old), baseline, None)
            }
            Write::Status(old) => {
                let errors = self.validate_status_value_update(new, self.ratcheted(Some(old)));
                // Only the status is validated here, but the next write needs to know about the whole object.
                (errors, baseline.is_some() && root.accepts_against(new, baseline))
            }
        };
        errors.extend(of_values);
        scale(&mut errors);
        if !matches!(write, Write::Status(_)) {
            errors.extend(self.validate_embedded(new));
        }
        let (of_lists, lists_valid) =
            list_type::validate_lists_against(new, self.ratcheted(old), baseline, root);
        errors.extend(of_lists);
        let rules = self.validate_rules(new, old, &errors);
        errors.extend(rules.errors);
        Verdict { errors, warnings: rules.warnings, valid: values_valid && lists_valid }
    }

    /// The old object, if ratcheting is on.
    fn ratcheted<'a>(&self, old: Option<&'a Value>) -> Option<&'a Value> {
        old.filter(|_| self.is_ratcheting())
    }

    /// The value stage of a new object.
    pub fn validate_value(&self, object: &Value) -> Vec<FieldError> {
        validate::validate(self.root(), object, None)
    }

    /// The value stage of a changed object: errors of what did not change are left out.
    pub fn validate_value_update(&self, new: &Value, old: &Value) -> Vec<FieldError> {
        validate::validate_update(self.root(), new, old, None)
    }

    /// The value stage of a write to the status endpoint: `status` alone, if there is one and its
    /// schema is known.
    fn validate_status_value_update(&self, new: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let (Some(schema), Some(new)) = (self.status(), new.get("status")) else { return Vec::new() };
        match old.and_then(|old| old.get("status")) {
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
        list_type::validate_lists_against(new, Some(old), None, self.root()).0
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
        let lenient = self.is_ratcheting();
        run_rules_with(self.root(), new, old, &Path::ROOT, &mut CostBudget::default(), lenient)
    }

    /// The error in place of the rules' results after errors like these; `None` when they run, or
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
            |errors: &mut Vec<FieldError>| errors.push(FieldError::invalid("scale", 1, "is reported here"));
        let before = vec![FieldError::invalid("metadata", 1, "was reported before")];
        let verdict = schema().validate(new, write, before, scale);
        let found: Vec<_> = verdict.errors.iter().map(ToString::to_string).collect();
        assert_eq!(found, errors, "{why}");
        assert_eq!(verdict.warnings, warnings, "{why}");
    }

    #[test]
    fn stages_report_in_order() {
        let (before, scale) =
            ("metadata: Invalid value: 1: was reported before", "scale: Invalid value: 1: is reported here");
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
            "errors of keywords do not keep rules from running",
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
        check(
            "errors of what did not change are ratcheted",
            &new,
            Write::Update(&old),
            &[before, scale],
            &[rule],
        );
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
    fn a_ratcheted_error_leaves_the_object_invalid() {
        let schema = json!({"type": "object", "required": ["status"], "properties": {
            "spec": {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}},
            "status": {"type": "object", "properties": {"n": {"type": "integer"}}},
        }});
        let schema = Schema::from_value(&schema, SchemaOptions::default());
        let valid = |new: &Value, write: Write<'_>, old_is_valid: bool| {
            let baseline = match write {
                Write::Update(old) | Write::Status(old) if old_is_valid => Some(old),
                _ => None,
            };
            let verdict = schema.validate_against(new, write, baseline, Vec::new(), |_| {});
            (verdict.errors.is_empty(), verdict.valid)
        };
        let good = json!({"spec": {"a": 1}, "status": {"n": 1}});
        let low = json!({"spec": {"a": 0}, "status": {"n": 1}});
        let bare = json!({"spec": {"a": 1}});
        let other = json!({"spec": {"a": 1}, "status": {"n": 2}});
        assert_eq!(valid(&good, Write::Create, false), (true, true));
        assert_eq!(valid(&low, Write::Create, false), (false, false));
        assert_eq!(valid(&low, Write::Update(&low.clone()), false), (true, false), "a ratcheted error");
        assert_eq!(valid(&other, Write::Status(&good), true), (true, true));
        assert_eq!(
            valid(&other, Write::Status(&good), false),
            (true, false),
            "the old object is not known to be valid"
        );
        assert_eq!(valid(&bare, Write::Status(&good), true), (true, false), "the root requires a status");
    }
}
