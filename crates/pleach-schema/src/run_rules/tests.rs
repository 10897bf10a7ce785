//! Which rules run, in which order, and their messages.

use pleach_json::json;

use super::*;
use crate::{Schema, SchemaOptions};

/// Runs the rules of a schema for the member `f` of an object whose root never counts as unchanged.
fn run(f: &Value, new: &Value, old: Option<&Value>, budget: i64) -> RuleOutcome {
    let schema = json!({"type": "object", "properties": {"f": (f.clone())}});
    let schema = Schema::from_value(&schema, SchemaOptions::default());
    let wrap = |f: &Value| json!({"f": (f.clone()), "metadata": {"name": "x"}});
    let old = old.map(wrap);
    run_rules(schema.root(), &wrap(new), old.as_ref(), &Path::ROOT, &mut CostBudget::new(budget))
}

#[track_caller]
fn check(why: &str, f: &Value, new: &Value, old: Option<&Value>, errors: &[&str], warnings: &[&str]) {
    let outcome = run(f, new, old, pleach_cel::eval::RUNTIME_COST_BUDGET);
    let found: Vec<_> = outcome.errors.iter().map(ToString::to_string).collect();
    assert_eq!(found, errors, "{why}");
    assert_eq!(outcome.warnings, warnings, "{why}");
}

fn integer(rule: &Value) -> Value {
    json!({"type": "integer", "x-kubernetes-validations": [(rule.clone())]})
}

fn object(rule: &Value) -> Value {
    json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "x-kubernetes-validations": [(rule.clone())]})
}

#[test]
fn messages_of_failed_rules() {
    for (why, schema, value, want) in [
        ("nothing when it holds", integer(&json!({"rule": "self > 5"})), json!(6), &[][..]),
        (
            "the rule, for want of a message",
            integer(&json!({"rule": " self > 5 "})),
            json!(3),
            &["f: Invalid value: 3: failed rule: self > 5"],
        ),
        (
            "the message, trimmed",
            integer(&json!({"rule": "self > 5", "message": " low "})),
            json!(3),
            &["f: Invalid value: 3: low"],
        ),
        (
            "what an expression makes",
            integer(
                &json!({"rule": "self > 5", "message": "low", "messageExpression": "'got ' + string(self)"}),
            ),
            json!(3),
            &["f: Invalid value: 3: got 3"],
        ),
        (
            "the message when the expression fails",
            integer(&json!({"rule": "self > 5", "message": "low", "messageExpression": "string(1/0)"})),
            json!(3),
            &["f: Invalid value: 3: low"],
        ),
        (
            "or makes lines",
            integer(&json!({"rule": "self > 5", "message": "low", "messageExpression": "'a\\nb'"})),
            json!(3),
            &["f: Invalid value: 3: low"],
        ),
        (
            "or nothing",
            integer(&json!({"rule": "self > 5", "message": "low", "messageExpression": "' '"})),
            json!(3),
            &["f: Invalid value: 3: low"],
        ),
        (
            "objects are not shown",
            object(&json!({"rule": "self.a < self.b"})),
            json!({"a": 2, "b": 1}),
            &["f: Invalid value: failed rule: self.a < self.b"],
        ),
        (
            "a reason and a path",
            object(
                &json!({"rule": "false", "reason": "FieldValueForbidden", "fieldPath": ".a", "message": "no"}),
            ),
            json!({}),
            &["f.a: Forbidden: no"],
        ),
        (
            "required shows no value",
            integer(&json!({"rule": "false", "reason": "FieldValueRequired", "message": "no"})),
            json!(1),
            &["f: Required value: no"],
        ),
        (
            "duplicate says no more",
            integer(&json!({"rule": "false", "reason": "FieldValueDuplicate", "message": "no"})),
            json!(1),
            &["f: Duplicate value: 1"],
        ),
        (
            "errors name the type and the rule",
            object(&json!({"rule": "self.a > 0"})),
            json!({}),
            &["f: Invalid value: \"object\": no such key: a evaluating rule: self.a > 0"],
        ),
        (
            "or its message",
            integer(&json!({"rule": "1/0 == self", "message": "never"})),
            json!(1),
            &["f: Invalid value: \"integer\": division by zero evaluating rule: never"],
        ),
        (
            "rules that do not compile",
            integer(&json!({"rule": "self.x"})),
            json!(1),
            &[
                "f: Invalid value: \"integer\": rule compile error: compilation failed: ERROR: <input>:1:5: type 'int' does not support field selection\n | self.x\n | ....^",
            ],
        ),
    ] {
        check(why, &schema, &value, None, want, &[]);
    }
}

#[test]
fn rules_run_on_typed_values_only() {
    let no = json!([{"rule": "false", "message": "no"}]);
    let leaf = json!({"type": "integer", "x-kubernetes-validations": (no.clone())});
    let nullable = json!({"type": "integer", "nullable": true, "x-kubernetes-validations": (no.clone())});
    for (why, schema, value, want) in [
        (
            "the node, then what is below",
            json!({"type": "array", "items": (leaf.clone()), "x-kubernetes-validations": (no.clone())}),
            json!([7, 8]),
            &["f: Invalid value: no", "f[0]: Invalid value: 7: no", "f[1]: Invalid value: 8: no"][..],
        ),
        (
            "values of maps, keys in brackets",
            json!({"type": "object", "additionalProperties": (leaf.clone())}),
            json!({"a.b": 1}),
            &["f[a.b]: Invalid value: 1: no"],
        ),
        ("never null", nullable, json!(null), &[]),
        (
            "below a name that cannot be reached",
            json!({"type": "object", "properties": {"1x": (leaf.clone())}}),
            json!({"1x": 1}),
            &["f.1x: Invalid value: 1: no"],
        ),
        (
            "not below what has no type",
            json!({"x-kubernetes-preserve-unknown-fields": true, "properties": {"a": (leaf.clone())}}),
            json!({"a": 1}),
            &[],
        ),
    ] {
        check(why, &schema, &value, None, want, &[]);
    }
}

#[test]
fn old_self_is_correlated() {
    let grow = integer(&json!({"rule": "self > oldSelf", "message": "grow"}));
    let optional = integer(
        &json!({"rule": "oldSelf.hasValue() && self > oldSelf.value()", "optionalOldSelf": true, "message": "grow"}),
    );
    check("no old value, no run", &grow, &json!(1), None, &[], &[]);
    check("never excused", &grow, &json!(1), Some(&json!(1)), &["f: Invalid value: 1: grow"], &[]);
    check("an optional one always runs", &optional, &json!(1), None, &["f: Invalid value: 1: grow"], &[]);
    check("and sees what was", &optional, &json!(2), Some(&json!(1)), &[], &[]);
    let low = integer(&json!({"rule": "self > 5", "message": "low"}));
    check(
        "what did not change is a warning",
        &low,
        &json!(1),
        Some(&json!(1)),
        &[],
        &["f: Invalid value: 1: low"],
    );
    check("what did is an error", &low, &json!(1), Some(&json!(2)), &["f: Invalid value: 1: low"], &[]);
    let list = json!({"type": "array", "items": (low.clone())});
    check(
        "items go with their list",
        &list,
        &json!([1]),
        Some(&json!([1])),
        &[],
        &["f[0]: Invalid value: 1: low"],
    );
    check(
        "also when it changed",
        &list,
        &json!([1, 9]),
        Some(&json!([1])),
        &["f[0]: Invalid value: 1: low"],
        &[],
    );
    let fails = integer(&json!({"rule": "1/0 == self"}));
    check(
        "errors are never excused",
        &fails,
        &json!(1),
        Some(&json!(1)),
        &["f: Invalid value: \"integer\": division by zero evaluating rule: 1/0 == self"],
        &[],
    );
}

#[test]
fn all_rules_share_one_cost_budget() {
    let schema = json!({"type": "array", "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 5", "message": "low"}]}});
    let outcome = run(&schema, &json!([1, 2, 3, 4]), None, 5);
    let found: Vec<_> = outcome.errors.iter().map(ToString::to_string).collect();
    let (last, rest) = found.split_last().unwrap();
    assert!(last.ends_with("\"integer\": validation failed due to running out of cost budget, no further validation rules will be run"), "{last}");
    assert!(!rest.is_empty() && rest.len() < 4, "{rest:?}");
}

#[test]
fn ten_thousand_levels_need_no_deep_stack() {
    let rules = json!([{"rule": "self == self"}]);
    for list in [true, false] {
        let mut schema =
            json!({"type": "integer", "x-kubernetes-validations": [{"rule": "self > 5", "message": "low"}]});
        let mut value = json!(1);
        for _ in 0..10_000 {
            if list {
                schema = json!({"type": "array", "items": schema});
                value = json!([value]);
            } else {
                schema = json!({"type": "object", "properties": {"a": schema}});
                value = json!({"a": value});
            }
        }
        schema.as_object_mut().unwrap().insert("x-kubernetes-validations", rules.clone());
        let outcome = run(&schema, &value, None, pleach_cel::eval::RUNTIME_COST_BUDGET);
        let last = outcome.errors.last().unwrap();
        assert!(last.to_string().ends_with(": Invalid value: 1: low"), "{}", last.detail);
    }
}
