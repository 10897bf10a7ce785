//! Webhook calls per write as recorded from a real kube-apiserver.

use pleach_json::json;

use super::*;
use crate::admission::Operation;
use crate::options::Context;

/// A write to be asked about.
struct Write {
    operation: Operation,
    group: &'static str,
    version: &'static str,
    resource: &'static str,
    subresource: &'static str,
    kind: &'static str,
    namespace: &'static str,
    object: Option<Value>,
    old: Option<Value>,
}

fn labelled(label: &str) -> Value {
    json!({"metadata": {"labels": {"o": (label), "env": (label)}}})
}

fn foo(operation: Operation) -> Write {
    Write {
        operation,
        group: "g.example.com",
        version: "v1",
        resource: "foos",
        subresource: "",
        kind: "Foo",
        namespace: "ns1",
        object: (operation != Operation::Delete).then(|| labelled("x")),
        old: (operation != Operation::Create).then(|| labelled("y")),
    }
}

fn bar(version: &'static str) -> Write {
    Write { version, resource: "bars", kind: "Bar", namespace: "", ..foo(Operation::Create) }
}

fn namespace(operation: Operation, subresource: &'static str) -> Write {
    Write {
        group: "",
        resource: "namespaces",
        subresource,
        kind: "Namespace",
        namespace: "ns2",
        ..foo(operation)
    }
}

/// The version in which a webhook is called, the namespace being labelled `env: prod`.
fn asked(webhook: &Value, write: &Write) -> Option<String> {
    let configuration = json!({"metadata": {"name": "c"}, "webhooks": [(webhook.clone())]});
    let hooks = decode(&configuration);
    let (options, context) = (Value::object(), Context::default());
    let attributes = AdmissionRequest {
        operation: write.operation,
        group: write.group,
        version: write.version,
        resource: write.resource,
        subresource: write.subresource,
        object_type: (write.group, write.version, write.kind),
        name: "x".into(),
        namespace: write.namespace,
        object: write.object.as_ref(),
        old: write.old.as_ref(),
        options: &options,
        dry_run: false,
        user: &context.user,
    };
    let others = ["v1", "v3", "v2"].map(|version| (write.group, version));
    let labels = json!({"env": "prod"});
    let [hook] = hooks.as_slice() else { panic!("one webhook: {hooks:?}") };
    hook.matches(&attributes, &others, Some(&labels)).map(|(_, version)| version.to_owned())
}

fn webhook(more: Value, rule: Value) -> Value {
    let mut all = json!({
        "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"],
    });
    merge(&mut all, rule);
    let mut webhook = json!({"name": "a.b.c", "clientConfig": {"url": "https://h"}, "rules": [(all)]});
    merge(&mut webhook, more);
    webhook
}

fn merge(into: &mut Value, more: Value) {
    let (Value::Object(into), Value::Object(more)) = (into, more) else { panic!("objects") };
    more.into_vec().into_iter().for_each(|(key, value)| {
        into.insert(key, value);
    });
}

#[test]
fn rules_are_about_resources() {
    let of = |subresource: &'static str| Write { subresource, ..foo(Operation::Update) };
    for (resource, itself, status, scale) in [
        ("*", true, false, false),
        ("*/*", true, true, true),
        ("foos", true, false, false),
        ("foos/", true, false, false),
        ("foos/status", false, true, false),
        ("foos/*", true, true, true),
        ("*/scale", false, false, true),
        ("foos/status/x", false, false, false),
        ("bars", false, false, false),
    ] {
        let webhook = webhook(json!({}), json!({"resources": [(resource)]}));
        for (subresource, want) in [("", itself), ("status", status), ("scale", scale)] {
            assert_eq!(asked(&webhook, &of(subresource)).is_some(), want, "{resource} {subresource}");
        }
    }
}

#[test]
fn rules_are_about_operations_and_scopes() {
    let some = |rule: Value, write: &Write| asked(&webhook(json!({}), rule), write).is_some();
    for operation in [Operation::Create, Operation::Update, Operation::Delete] {
        let rule = json!({"operations": [(operation.as_str())]});
        assert!(some(rule.clone(), &foo(operation)));
        let other = if operation == Operation::Create { Operation::Delete } else { Operation::Create };
        assert!(!some(rule, &foo(other)));
    }
    for (why, write, cluster, namespaced) in [
        ("in a namespace", foo(Operation::Create), false, true),
        ("in none", bar("v1"), true, false),
        ("a namespace", namespace(Operation::Create, ""), true, false),
        ("a part of it", namespace(Operation::Update, "status"), true, false),
    ] {
        assert_eq!(some(json!({"scope": "Cluster"}), &write), cluster, "{why}");
        assert_eq!(some(json!({"scope": "Namespaced"}), &write), namespaced, "{why}");
        assert!(some(json!({"scope": "*"}), &write), "{why}");
    }
}

#[test]
fn other_versions_are_equivalent() {
    for (why, policy, versions, request, want) in [
        ("the version of the request comes first", "Equivalent", &["v3", "v1"][..], "v1", Some("v1")),
        ("then the order of the CRD", "Equivalent", &["v2", "v3"], "v1", Some("v3")),
        ("not that of the rule", "Equivalent", &["v3", "v2"], "v1", Some("v3")),
        ("one that is not served", "Equivalent", &["v9"], "v1", None),
        ("exactly", "Exact", &["v2"], "v1", None),
        ("exactly that", "Exact", &["v2"], "v2", Some("v2")),
    ] {
        let versions: Vec<Value> = versions.iter().map(|v| Value::from(*v)).collect();
        let webhook = webhook(json!({"matchPolicy": (policy)}), json!({"apiVersions": (versions)}));
        assert_eq!(asked(&webhook, &bar(request)).as_deref(), want, "{why}");
    }
    let rule = |version: &str| json!({"operations": ["*"], "apiGroups": ["*"], "apiVersions": [(version)], "resources": ["*"]});
    let rules = json!({"rules": [(rule("v2")), (rule("v3"))]});
    assert_eq!(asked(&webhook(rules, json!({})), &bar("v1")).as_deref(), Some("v2"), "earlier rules first");
}

#[test]
fn selectors_are_about_labels() {
    let (create, update) = (Operation::Create, Operation::Update);
    let env = |value: &str| json!({"namespaceSelector": {"matchLabels": {"env": (value)}}});
    let object = |value: &str| json!({"objectSelector": {"matchLabels": {"o": (value)}}});
    let bare = || Write { object: Some(json!({})), old: None, ..foo(create) };
    for (why, selector, write, want) in [
        ("the namespace", env("prod"), foo(create), true),
        ("another", env("dev"), foo(create), false),
        ("in no namespace", env("dev"), bar("v1"), true),
        ("a namespace by its own labels", env("x"), namespace(create, ""), true),
        ("and not by those of any other", env("prod"), namespace(create, ""), false),
        ("as it shall be", env("x"), namespace(update, ""), true),
        ("as it was", env("y"), namespace(update, ""), false),
        ("only its status changes", env("y"), namespace(update, "status"), true),
        ("it goes", env("y"), namespace(Operation::Delete, ""), true),
        ("the new object", object("x"), foo(update), true),
        ("the old one", object("y"), foo(update), true),
        ("neither", object("z"), foo(update), false),
        ("no labels", object("x"), bare(), false),
        (
            "no labels are wanted",
            json!({"objectSelector": {"matchExpressions": [{"key": "o", "operator": "DoesNotExist"}]}}),
            bare(),
            true,
        ),
        ("an odd selector", json!({"objectSelector": {"matchLabels": {"!": "!"}}}), foo(create), false),
    ] {
        assert_eq!(asked(&webhook(selector, json!({})), &write).is_some(), want, "{why}");
    }
}

#[test]
fn a_configuration_is_read() {
    let configuration = json!({
        "metadata": {"name": "c"},
        "webhooks": [
            {
                "name": "a.b.c", "clientConfig": {"url": "https://h/p", "caBundle": "YWJj"},
                "admissionReviewVersions": ["v2", "v1beta1", "v1"], "failurePolicy": "Ignore",
                "sideEffects": "NoneOnDryRun", "timeoutSeconds": 3, "reinvocationPolicy": "IfNeeded",
            },
            {"name": "odd", "timeoutSeconds": -1, "rules": 1, "clientConfig": {}},
            7,
            {
                "name": "d.e.f", "clientConfig": {"service": {"namespace": "n", "name": "s", "port": 8443}},
                "admissionReviewVersions": ["v1"], "sideEffects": "Some",
            },
        ],
    });
    let hooks = decode(&configuration);
    let [first, second] = hooks.as_slice() else { panic!("two of them say where they are: {hooks:?}") };
    assert_eq!((first.name.as_str(), first.configuration.as_str()), ("a.b.c", "c"));
    assert_eq!(first.address.place, Place::Url("https://h/p".into()));
    assert_eq!(first.address.ca_bundle, "abc");
    assert_eq!((first.review, second.review), (ReviewVersion::V1beta1, ReviewVersion::V1));
    assert_eq!((first.on_failure, second.on_failure), (FailurePolicy::Ignore, FailurePolicy::Fail));
    assert_eq!((first.timeout.as_secs(), second.timeout.as_secs()), (3, 10));
    assert_eq!((first.allows_dry_run, second.allows_dry_run), (true, false));
    assert_eq!((first.reinvokes, second.reinvokes), (true, false));
    let place = Place::Service { namespace: "n".into(), name: "s".into(), path: "".into(), port: 8443 };
    assert_eq!(second.address.place, place);
    assert!(decode(&Value::Null).is_empty());
}

#[test]
fn rules_are_charged_by_their_number() {
    let steps = |count: usize| {
        let rule =
            json!({"operations": ["*"], "apiGroups": ["other"], "apiVersions": ["*"], "resources": ["foos"]});
        let webhook =
            json!({"name": "w", "clientConfig": {"url": "https://x/"}, "rules": (vec![rule; count])});
        let hooks = decode(&json!({"metadata": {"name": "c"}, "webhooks": [(webhook)]}));
        let own = ("g.example.com", "v1");
        let concerns = || hooks[0].concerns(Operation::Create, (own, &[own]), "foos", "");
        let (concerned, steps) = pleach_work::measure(concerns);
        assert!(!concerned);
        steps
    };
    assert!(steps(1000) >= 5000 && steps(1000) < 50_000, "{}", steps(1000));
    assert!(steps(10) < 500);
}
