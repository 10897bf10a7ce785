//! Policies on objects, as the engine and the command line evaluate them.

use std::sync::Arc;

use pleach_auth::{AlwaysAllow, UserInfo};
use pleach_json::{Value, json};

use super::*;

/// Calls a function with the variables of a create.
fn with_input<T>(object: &Value, params: Option<&Value>, call: impl FnOnce(&Input<'_>) -> T) -> T {
    let user = UserInfo::authenticated("jane", []);
    let options = json!({"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"});
    let request = AdmissionRequest {
        operation: Operation::Create,
        group: "g",
        version: "v1",
        resource: "foos",
        subresource: "",
        object_type: ("g", "v1", "Foo"),
        name: "x".into(),
        namespace: "n",
        object: Some(object),
        old: None,
        options: &options,
        dry_run: false,
        user: &user,
    };
    let shown = admission_request(&request, ("g", "v1"));
    let authorizer = RequestAuthorizer::user(Arc::new(AlwaysAllow), user.clone());
    let resource = RequestAuthorizer::request_resource(&request);
    call(&Input {
        object: Some(object),
        old: None,
        request: &shown,
        condition_request: &shown,
        namespace: None,
        params,
        authorizer: &authorizer,
        request_resource: &resource,
    })
}

fn policy(spec: Value) -> Policy {
    Policy::read(&json!({"metadata": {"name": "p"}, "spec": (spec)}))
}

fn validation(expression: &str) -> Value {
    json!({"validations": [{"expression": (expression)}]})
}

#[track_caller]
fn check(spec: Value, want: &[&str]) {
    let object = json!({"apiVersion": "g/v1", "kind": "Foo", "spec": {"a": "x", "n": 3}});
    let validated = with_input(&object, None, |input| policy(spec.clone()).validate(input));
    let found: Vec<String> = validated
        .decisions
        .into_iter()
        .map(|decision| match decision {
            Decision::Admit => String::new(),
            Decision::Ignored(why) => format!("ignored: {why}"),
            Decision::Deny(denial) => denial.message,
        })
        .collect();
    assert_eq!(found, want, "{spec:?}");
}

#[test]
fn validations_admit_or_deny() {
    check(validation("object.spec.n < 5"), &[""]);
    check(validation(" object.spec.n > 5"), &["failed expression: object.spec.n > 5"]);
    check(
        validation("object.spec.b == 1"),
        &["expression 'object.spec.b == 1' resulted in error: no such key: b"],
    );
    check(validation("request.userInfo.username == 'jane'"), &[""]);
    check(validation("authorizer.path('/x').check('get').allowed()"), &[""]);
    check(
        json!({"failurePolicy": "Ignore", "validations": [{"expression": "object.b == 1"}]}),
        &["ignored: expression 'object.b == 1' resulted in error: no such key: b"],
    );
    check(
        json!({"validations": [{"expression": "false", "message": " m ", "messageExpression": "'by ' + object.spec.a"}]}),
        &["by x"],
    );
    check(
        json!({"validations": [{"expression": "false", "message": " m ", "messageExpression": "object.spec.b"}]}),
        &["m"],
    );
}

#[test]
fn conditions_that_are_false_win_over_errors() {
    let conditions = |conditions: Vec<&str>| {
        let conditions: Vec<Value> =
            conditions.into_iter().map(|text| json!({"name": "c", "expression": (text)})).collect();
        json!({"matchConditions": (conditions), "validations": [{"expression": "false"}]})
    };
    check(conditions(vec!["true"]), &["failed expression: false"]);
    check(conditions(vec!["object.b == 1", "false"]), &[]);
    check(
        conditions(vec!["object.b == 1", "true", "object.c == 1"]),
        &[
            "[expression 'object.b == 1' resulted in error: no such key: b, expression 'object.c == 1' resulted in error: no such key: c]",
        ],
    );
}

#[test]
fn variables_are_evaluated_once_and_when_used() {
    let spec = |expression: &str| {
        json!({
            "variables": [
                {"name": "bad", "expression": "object.spec.none"},
                {"name": "two", "expression": "object.spec.n - 1"},
                {"name": "four", "expression": "variables.two * 2"},
            ],
            "validations": [{"expression": (expression)}],
        })
    };
    check(spec("variables.four == 4 && variables.four + variables.two == 6"), &[""]);
    check(
        spec("variables.bad == 1"),
        &[
            "expression 'variables.bad == 1' resulted in error: composited variable \"bad\" fails to evaluate: no such key: none",
        ],
    );
    let again = json!({
        "variables": [{"name": "x", "expression": "1"}, {"name": "x", "expression": "variables.x + 1"}],
        "validations": [{"expression": "variables.x == 2"}],
    });
    let object = json!({});
    let validated = with_input(&object, None, |input| policy(again).validate(input));
    assert!(
        matches!(&validated.decisions[0], Decision::Deny(denial) if denial.message.contains("by itself"))
    );
}

#[test]
fn costs_are_bounded() {
    let many = json!({
        "validations": (vec![json!({"expression": "object.l.all(x, object.l.all(y, x + y >= 0))"}); 40]),
    });
    let numbers: Vec<Value> = (0..300).map(Value::Int).collect();
    let object = json!({"l": (numbers)});
    let validated = with_input(&object, None, |input| policy(many).validate(input));
    let [Decision::Deny(denial)] = &validated.decisions[..] else { panic!("{:?}", validated.decisions) };
    assert_eq!(denial.message, OUT_OF_BUDGET);
}

#[test]
fn json_patches() {
    let object = json!({"a": 1, "labels": {}});
    for (expression, want) in [
        (
            "[JSONPatch{op: 'add', path: '/b', value: {'x': [1, 2]}}]",
            Ok(json!({"a": 1, "b": {"x": [1, 2]}, "labels": {}})),
        ),
        (
            "[JSONPatch{op: 'test', path: '/a', value: 2}, JSONPatch{op: 'remove', path: '/a'}]",
            Ok(object.clone()),
        ),
        (
            "[JSONPatch{op: 'add', path: '/labels/' + jsonpatch.escapeKey('x/y~z'), value: 'v'}]",
            Ok(json!({"a": 1, "labels": {"x/y~z": "v"}})),
        ),
        (
            "[JSONPatch{op: 'add', path: '/q', value: quantity('1')}]",
            Err(
                "JSONPath valueExpression evaluated to a type that could not marshal to JSON: type conversion error from 'Quantity' to '*structpb.Value'",
            ),
        ),
    ] {
        let spec =
            json!({"mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": (expression)}}]});
        let policy = policy(spec);
        let mutated = with_input(&object, None, |input| {
            policy.mutate(&policy.mutations[0], input, PatchType::Known(pleach_apply::Type::DEDUCED))
        });
        let mutated = mutated.map(|mutated| mutated.object.unwrap_or_else(|| object.clone()));
        assert_eq!(mutated, want.map_err(|why| MutationError(why.to_owned())), "{expression}");
    }
}
