//! Behaviour of built-in kinds beyond their schema, as in kube-apiserver v1.36.4.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use pleach_clients::{Api, Running};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

fn account(object: &Value) -> Value {
    let mut account = object.clone();
    account["apiVersion"] = "v1".into();
    account["kind"] = "ServiceAccount".into();
    account["metadata"] = json!({"name": "a"});
    account
}

#[test]
fn empty_fields_are_not_stored_but_owned_by_the_applier() {
    let server = Running::in_memory();
    let api = server.api();
    let made = api
        .create(ACCOUNTS, &account(&json!({"secrets": [{"name": "x", "uid": ""}], "imagePullSecrets": []})));
    assert_eq!(made["secrets"], json!([{"name": "x"}]));
    assert_eq!(made["imagePullSecrets"], Value::Null);
    let empty = account(&json!({"imagePullSecrets": []})).to_string();
    let headers = [("Content-Type", "application/apply-patch+yaml")];
    let path = format!("{ACCOUNTS}/a?fieldManager=m");
    let applied = api.raw_with("PATCH", &path, &headers, Some(&empty)).unwrap().ok();
    assert_eq!(applied["imagePullSecrets"], Value::Null);
    let owners = applied["metadata"]["managedFields"].as_array().unwrap();
    let applier = owners.iter().find(|owner| owner["manager"] == "m").unwrap();
    assert_eq!(applier["fieldsV1"], json!({"f:imagePullSecrets": {}}));

    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "y"}});
    api.create(MAPS, &map);
    let patched = api.send("PATCH", &format!("{MAPS}/a"), Some(&json!({"data": {"x": null}}))).ok();
    assert_eq!(patched["data"], Value::Null, "the last key takes its map with it");
}

#[test]
fn references_of_service_accounts_are_names_and_may_repeat() {
    let server = Running::in_memory();
    let api = server.api();
    let secrets = json!([{"name": "x", "namespace": "y"}, {"name": "x"}]);
    let made = api.create(ACCOUNTS, &account(&json!({"secrets": secrets})));
    assert_eq!(made["secrets"], json!([{"name": "x"}, {"name": "x"}]));
    let headers = [("Content-Type", "application/strategic-merge-patch+json")];
    let patch = json!({"secrets": [{"name": "z"}], "imagePullSecrets": [{"name": "p"}]}).to_string();
    let path = format!("{ACCOUNTS}/a");
    api.raw_with("PATCH", &path, &headers, Some(&patch)).unwrap().ok();
    let patch = json!({"imagePullSecrets": [{"name": "q"}]}).to_string();
    let patched = api.raw_with("PATCH", &path, &headers, Some(&patch)).unwrap().ok();
    assert_eq!(patched["secrets"], json!([{"name": "z"}, {"name": "x"}, {"name": "x"}]), "these are merged");
    assert_eq!(patched["imagePullSecrets"], json!([{"name": "q"}]), "and these are not");
    let deleted = api.send("DELETE", &path, None).ok();
    assert_eq!(deleted["kind"], "ServiceAccount", "who deletes it gets it back");
}

#[test]
fn leases_can_be_created_by_update() {
    let server = Running::in_memory();
    let api = server.api();
    let lease = |spec: Value| json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}, "spec": spec});
    let path = format!("{LEASES}/a");
    let made = api.send("PUT", &path, Some(&lease(json!({"holderIdentity": "me", "strategy": "x"}))));
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(
        made.body["spec"],
        json!({"holderIdentity": "me"}),
        "what belongs to a closed gate is left out"
    );
    for (field, value, why) in [
        ("leaseDurationSeconds", 0, "must be greater than 0"),
        ("leaseTransitions", -1, "must be greater than or equal to 0"),
    ] {
        let refused = api.send("PATCH", &path, Some(&json!({"spec": {field: value}})));
        assert_eq!(refused.status, 422, "{}", refused.body);
        let message = &refused.body["details"]["causes"][0]["message"];
        assert_eq!(*message, format!("Invalid value: {value}: {why}"), "{field}");
    }
}

#[test]
fn patches_with_invalid_base64_are_invalid() {
    let server = Running::in_memory();
    let api = server.api();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"k": ""}});
    api.create(SECRETS, &secret);
    let refused = api.send("PATCH", &format!("{SECRETS}/a"), Some(&json!({"data": {"k": "###"}})));
    assert_eq!(refused.status, 422, "{}", refused.body);
    let cause = &refused.body["details"]["causes"][0];
    assert_eq!(cause["field"], "patch");
    assert!(cause["message"].as_str().unwrap().ends_with(": illegal base64 data at input byte 0"), "{cause}");
}

#[test]
fn malformed_strategic_merge_patches_are_internal_errors() {
    let server = Running::in_memory();
    let api = server.api();
    api.create(MAPS, &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}));
    let headers = [("Content-Type", "application/strategic-merge-patch+json")];
    for (patch, status) in
        [(json!({"$patch": "bogus"}), 500), (json!({"metadata": {"$retainKeys": "name"}}), 400)]
    {
        let path = format!("{MAPS}/a");
        let refused = api.raw_with("PATCH", &path, &headers, Some(&patch.to_string())).unwrap();
        assert_eq!(refused.status, status, "{patch}: {}", refused.body);
    }
}

#[test]
fn list_items_have_no_type_meta() {
    let server = Running::in_memory();
    let api = server.api();
    api.create(MAPS, &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}));
    for query in ["", "?pretty=true"] {
        let list = api.get(&format!("{MAPS}{query}")).ok();
        assert_eq!(list["kind"], "ConfigMapList");
        assert_eq!(list["items"][0]["metadata"]["name"], "a");
        assert_eq!(list["items"][0]["kind"], Value::Null, "{query}");
        assert_eq!(list["items"][0]["apiVersion"], Value::Null, "{query}");
    }
    assert_eq!(api.get(&format!("{MAPS}/a")).ok()["kind"], "ConfigMap");
    let event = api.watch(MAPS, pleach_clients::SOON).first_line().unwrap();
    assert!(event.contains(r#""kind":"ConfigMap""#), "{event}");
}

#[test]
fn unknown_paths_and_methods_of_built_in_kinds() {
    let server = Running::in_memory();
    let api = server.api();
    let told = |api: &Api, method: &str, path: &str| {
        let answer = api.send(method, path, Some(&json!({})));
        (answer.status, answer.body["message"].as_str().map(str::to_owned))
    };
    let nothing = "the server could not find the requested resource".to_owned();
    let forbidden = "the server does not allow this method on the requested resource".to_owned();
    for (method, path, want) in [
        ("GET", "/api/v1/nope", (404, Some(&nothing))),
        ("GET", "/api/v1/namespaces/default/nope", (404, Some(&nothing))),
        ("GET", "/apis/coordination.k8s.io/v1/nope", (404, Some(&nothing))),
        ("DELETE", "/api/v1/namespaces/default/configmaps/a/status", (404, Some(&nothing))),
        ("DELETE", "/api/v1/namespaces/default/status", (405, Some(&forbidden))),
        ("GET", "/apis/nope/v1/x", (404, None)),
        ("GET", "/api/v1/configmaps?timeout=soon", (400, None)),
    ] {
        let (status, message) = told(&api, method, path);
        assert_eq!(status, want.0, "{method} {path}");
        if let Some(want) = want.1 {
            assert_eq!(message.as_ref(), Some(want), "{method} {path}");
        }
    }
}

#[test]
fn generate_name_conflicts_are_already_exists() {
    let server = Running::in_memory();
    let api = server.api();
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "generateName": "b-"}});
    api.create(MAPS, &map);
    let refused = api.send("POST", MAPS, Some(&map));
    assert_eq!(refused.status, 409);
    assert_eq!(refused.body["details"]["retryAfterSeconds"], 1);
    assert_eq!(
        refused.body["message"],
        "configmaps \"a\" already exists, the server was not able to generate a unique name for the object"
    );
}

#[test]
fn bodies_of_other_kinds_are_no_scale() {
    let server = Running::in_memory();
    let api = server.api();
    let labels = json!({"app": "web"});
    let template =
        json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web"}]}});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": labels}, "template": template}});
    api.create(DEPLOYMENTS, &deployment);
    let body = json!({"apiVersion": "apps/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 2}});
    let answer = api.send("PUT", &format!("{DEPLOYMENTS}/web/scale"), Some(&body));
    assert_eq!(
        (answer.status, answer.body["message"].as_str().unwrap()),
        (
            400,
            "Scale in version \"v1\" cannot be handled as a Scale: no kind \"Scale\" is registered for version \"apps/v1\" in scheme \"pkg/api/legacyscheme/scheme.go:30\""
        )
    );
}
