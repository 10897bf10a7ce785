//! Validation errors recorded from a real kube-apiserver.

use pleach_json::json;

use super::*;

fn sound() -> Value {
    json!({
        "name": "a.b.c", "clientConfig": {"url": "https://h"}, "sideEffects": "None",
        "admissionReviewVersions": ["v1"], "rules": [(rule())],
    })
}

fn rule() -> Value {
    json!({"operations": ["CREATE"], "apiGroups": ["g"], "apiVersions": ["v1"], "resources": ["foos"]})
}

fn with(mut object: Value, more: Value) -> Value {
    if let (Some(object), Value::Object(more)) = (object.as_object_mut(), more) {
        for (key, value) in more.into_vec() {
            object.insert(key, value);
        }
    }
    object
}

fn errors(webhooks: Vec<Value>) -> Vec<String> {
    let configuration = json!({"webhooks": (webhooks)});
    validate(&configuration, None).iter().map(ToString::to_string).collect()
}

/// A sound webhook with something changed has these errors, below `webhooks[0].`.
#[track_caller]
fn check(change: Value, want: &[&str]) {
    let got = errors(vec![with(sound(), change.clone())]);
    let want: Vec<String> = want.iter().map(|error| format!("webhooks[0].{error}")).collect();
    assert_eq!(got, want, "{change:?}");
}

#[track_caller]
fn check_rule(change: Value, want: &[&str]) {
    let want: Vec<String> = want.iter().map(|error| format!("rules[0].{error}")).collect();
    let want: Vec<&str> = want.iter().map(String::as_str).collect();
    check(json!({"rules": [(with(rule(), change))]}), &want);
}

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

#[test]
fn names_are_domains() {
    check(json!({}), &[]);
    check(json!({"name": ""}), &["name: Required value"]);
    let short = "should be a domain with at least three segments separated by dots";
    check(json!({"name": "a.b"}), &[&format!("name: Invalid value: \"a.b\": {short}")]);
    check(json!({"name": "A"}), &[&format!("name: Invalid value: \"A\": {SUBDOMAIN}")]);
    check(json!({"name": "a..c"}), &[&format!("name: Invalid value: \"a..c\": {SUBDOMAIN}")]);
    let long = "x".repeat(254) + ".b.c";
    check(
        json!({"name": (long.clone())}),
        &[&format!("name: Invalid value: \"{long}\": must be no more than 253 characters")],
    );
    assert_eq!(
        errors(vec![sound(), with(sound(), json!({"matchPolicy": "x"})), sound()]),
        [
            "webhooks[1].matchPolicy: Unsupported value: \"x\": supported values: \"Equivalent\", \"Exact\"",
            "webhooks[1].name: Duplicate value: \"a.b.c\"",
            "webhooks[2].name: Duplicate value: \"a.b.c\"",
        ],
    );
}

#[test]
fn choices() {
    for (change, want) in [
        (
            json!({"failurePolicy": ""}),
            "failurePolicy: Unsupported value: \"\": supported values: \"Fail\", \"Ignore\"",
        ),
        (json!({"failurePolicy": "Ignore"}), ""),
        (
            json!({"matchPolicy": "x"}),
            "matchPolicy: Unsupported value: \"x\": supported values: \"Equivalent\", \"Exact\"",
        ),
        (json!({"sideEffects": null}), "sideEffects: Required value: must specify one of None, NoneOnDryRun"),
        (
            json!({"sideEffects": "Some"}),
            "sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"",
        ),
        (json!({"sideEffects": "NoneOnDryRun"}), ""),
        (
            json!({"reinvocationPolicy": "x"}),
            "reinvocationPolicy: Unsupported value: \"x\": supported values: \"IfNeeded\", \"Never\"",
        ),
        (
            json!({"timeoutSeconds": 0}),
            "timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds",
        ),
        (json!({"timeoutSeconds": 1}), ""),
        (json!({"timeoutSeconds": 30}), ""),
        (
            json!({"timeoutSeconds": 31}),
            "timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
        ),
    ] {
        let want: Vec<&str> = Some(want).filter(|want| !want.is_empty()).into_iter().collect();
        check(change, &want);
    }
}

#[test]
fn reviews() {
    let required = "admissionReviewVersions: Required value: must specify one of v1, v1beta1";
    check(json!({"admissionReviewVersions": []}), &[required]);
    check(json!({"admissionReviewVersions": ["v2", "v1beta1"]}), &[]);
    check(
        json!({"admissionReviewVersions": ["v1", "v1"]}),
        &["admissionReviewVersions[1]: Invalid value: \"v1\": duplicate version"],
    );
    check(
        json!({"admissionReviewVersions": ["v2", "v2", "V1"]}),
        &[
            "admissionReviewVersions[1]: Invalid value: \"v2\": duplicate version",
            &format!("admissionReviewVersions[2]: Invalid value: \"V1\": {LABEL}"),
            "admissionReviewVersions: Invalid value: [\"v2\",\"v2\",\"V1\"]: must include at least one of v1, v1beta1",
        ],
    );
}

#[test]
fn rules_name_something() {
    check(json!({"rules": []}), &[]);
    check(
        json!({"rules": [{}]}),
        &[
            "rules[0].operations: Required value",
            "rules[0].apiGroups: Required value",
            "rules[0].apiVersions: Required value",
            "rules[0].resources: Required value",
        ],
    );
    let known = "supported values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\"";
    check_rule(
        json!({"operations": ["", "*", "x"]}),
        &[
            "operations: Invalid value: [\"\",\"*\",\"x\"]: if '*' is present, must not specify other operations",
            &format!("operations[0]: Unsupported value: \"\": {known}"),
            &format!("operations[2]: Unsupported value: \"x\": {known}"),
        ],
    );
    check_rule(json!({"apiGroups": [""]}), &[]);
    check_rule(
        json!({"apiGroups": ["*", "x"]}),
        &["apiGroups: Invalid value: [\"*\",\"x\"]: if '*' is present, must not specify other API groups"],
    );
    check_rule(
        json!({"apiVersions": ["", "*", ""], "resources": [""], "scope": "x"}),
        &[
            "apiVersions: Invalid value: [\"\",\"*\",\"\"]: if '*' is present, must not specify other API versions",
            "apiVersions[0]: Required value",
            "apiVersions[2]: Required value",
            "resources[0]: Required value",
            "scope: Unsupported value: \"x\": supported values: \"*\", \"Cluster\", \"Namespaced\"",
        ],
    );
}

#[test]
fn resources_do_not_overlap() {
    let others = |list: &str| {
        format!("resources: Invalid value: {list}: if '*/*' is present, must not specify other resources")
    };
    let bare = |list: &str| {
        format!(
            "resources: Invalid value: {list}: if '*' is present, must not specify other resources without subresources"
        )
    };
    let covered = |i: usize, text: &str, by: &str| {
        format!("resources[{i}]: Invalid value: \"{text}\": if '{by}' is present, must not specify {text}")
    };
    for (resources, want) in [
        (json!(["a/b/c", "a/", "/a", "/"]), vec![]),
        (json!(["*", "*"]), vec![]),
        (json!(["*", "foos/status"]), vec![]),
        (json!(["*", "*/scale"]), vec![]),
        (json!(["foos/*", "foos"]), vec![]),
        (json!(["foos", "*"]), vec![]),
        (json!(["*", "foos", "a/b", "*"]), vec![]),
        (json!(["foos/status", "foos/*"]), vec![]),
        (json!(["foos/status", "*/status"]), vec![]),
        (json!(["*", "foos"]), vec![bare("[\"*\",\"foos\"]")]),
        (json!(["*/*", "*"]), vec![others("[\"*/*\",\"*\"]")]),
        (
            json!(["*/*", "*", "foos"]),
            vec![others("[\"*/*\",\"*\",\"foos\"]"), bare("[\"*/*\",\"*\",\"foos\"]")],
        ),
        (json!(["*/*", "*/scale"]), vec![covered(1, "*/scale", "*/*"), others("[\"*/*\",\"*/scale\"]")]),
        (
            json!(["*/*", "*/*"]),
            vec![covered(1, "*/*", "*/*"), covered(1, "*/*", "*/*"), others("[\"*/*\",\"*/*\"]")],
        ),
        (
            json!(["foos/*", "*/status", "foos/status"]),
            vec![covered(2, "foos/status", "foos/*"), covered(2, "foos/status", "*/status")],
        ),
    ] {
        let want: Vec<&str> = want.iter().map(String::as_str).collect();
        check_rule(json!({"resources": (resources)}), &want);
    }
}

#[test]
fn conditions_have_names() {
    let condition = |name: &str, expression: &str| json!({"name": (name), "expression": (expression)});
    check(
        json!({"matchConditions": [{}]}),
        &["matchConditions[0].expression: Required value", "matchConditions[0].name: Required value"],
    );
    check(
        json!({"matchConditions": [(condition("ex.com/y", "true")), (condition("a b", " ")), (condition("a b", "1"))]}),
        &[
            "matchConditions[1].expression: Required value",
            &format!("matchConditions[1].name: Invalid value: \"a b\": {NAME}"),
            "matchConditions[2].expression: Invalid value: \"1\": must evaluate to bool but got int",
            &format!("matchConditions[2].name: Invalid value: \"a b\": {NAME}"),
            "matchConditions[2].name: Duplicate value: \"a b\"",
        ],
    );
    let many =
        |count: usize| -> Vec<Value> { (0..count).map(|i| condition(&format!("a{i}"), "true")).collect() };
    check(json!({"matchConditions": (many(64))}), &[]);
    let too_many = "matchConditions: Too many: 65: must have at most 64 items";
    check(json!({"matchConditions": (many(65))}), &[too_many]);
    let odd =
        json!({"webhooks": [(with(sound(), json!({"matchConditions": [(condition("a", "newer()"))]})))]});
    assert_eq!(validate(&odd, None).len(), 1);
    assert_eq!(validate(&odd, Some(&odd)), [], "what is stored stays");
}

#[test]
fn errors_come_in_order() {
    let odd = json!({
        "name": "x", "rules": [{}], "failurePolicy": "q", "matchPolicy": "q", "sideEffects": "q",
        "timeoutSeconds": 99, "namespaceSelector": {"matchExpressions": [{"key": "a"}]},
        "objectSelector": {"matchExpressions": [{"key": "a"}]}, "clientConfig": {}, "reinvocationPolicy": "q",
        "admissionReviewVersions": ["q"], "matchConditions": [{}],
    });
    let got = errors(vec![odd]);
    let fields: Vec<&str> = got.iter().filter_map(|error| error.split(": ").next()).collect();
    let want = [
        "name",
        "rules[0].operations",
        "rules[0].apiGroups",
        "rules[0].apiVersions",
        "rules[0].resources",
        "failurePolicy",
        "matchPolicy",
        "sideEffects",
        "timeoutSeconds",
        "namespaceSelector.matchExpressions[0].operator",
        "objectSelector.matchExpressions[0].operator",
        "reinvocationPolicy",
        "clientConfig",
        "matchConditions[0].expression",
        "matchConditions[0].name",
        "admissionReviewVersions",
    ];
    assert_eq!(fields, want.map(|field| format!("webhooks[0].{field}")));
}

#[test]
fn addresses() {
    let required = "clientConfig: Required value: exactly one of url or service is required";
    check(json!({"clientConfig": {}}), &[required]);
    check(
        json!({"clientConfig": {"url": "https://x", "service": {"name": "a", "namespace": "b"}}}),
        &[required],
    );
    check(
        json!({"clientConfig": {"url": "http://x"}}),
        &[
            "clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
        ],
    );
    check(
        json!({"clientConfig": {"service": {"name": "a", "namespace": ""}}}),
        &["clientConfig.service.name: Required value"],
    );
    check(
        json!({"clientConfig": {"service": {"name": "a", "namespace": "b", "port": 65536, "path": "/a//b"}}}),
        &[
            "clientConfig.service.port: Invalid value: 65536: port is not valid: must be between 1 and 65535, inclusive",
            "clientConfig.service.path: Invalid value: \"/a//b\": segment[1] may not be empty",
        ],
    );
}
