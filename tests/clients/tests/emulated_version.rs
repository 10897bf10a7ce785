//! `--emulated-version`: APIs, feature gates and CEL libraries of older versions.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::process::Command;

use pleach_clients::{Answer, Api, Running, definition};
use serde_json::{Value, json};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const FIGS: &str = "/apis/example.com/v1/namespaces/default/figs";

fn emulating(version: &str, more: &[&str]) -> Running {
    Running::start(&[&["--in-memory", "--emulated-version", version], more].concat())
}

/// The rule of the size, where its old value is optional.
const RULE: &str = "self >= oldSelf.orValue(0)";

fn crd(rule: &str) -> Value {
    let mut crd = definition(
        "figs",
        "Fig",
        json!({"spec": {"type": "object", "properties": {
            "color": {"type": "string"},
            "size": {"type": "integer", "x-kubernetes-validations": [
                {"rule": rule, "optionalOldSelf": true}]},
        }}}),
    );
    crd["spec"]["versions"][0]["selectableFields"] = json!([{"jsonPath": ".spec.color"}]);
    crd
}

fn fig(spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Fig", "metadata": {"name": "f"}, "spec": spec})
}

/// Creates a CRD with this rule.
fn with_rule(api: &Api, rule: &str) -> Answer {
    let properties = json!({"a": {"type": "string", "x-kubernetes-validations": [{"rule": rule}]}});
    api.send("POST", &format!("{CRDS}?dryRun=All"), Some(&definition("pears", "Pear", properties)))
}

#[test]
fn the_version_says_what_is_emulated() {
    let of = |server: &Running| {
        let version = server.api().get("/version").ok();
        ["gitVersion", "minor", "emulationMinor", "minCompatibilityMinor"]
            .map(|name| version[name].as_str().unwrap().to_owned())
    };
    assert_eq!(of(&Running::in_memory()), ["v1.36.4", "36", "36", "35"]);
    assert_eq!(of(&emulating("1.33", &[])), ["v1.36.4", "36", "33", "33"]);
    assert_eq!(of(&emulating("kube=1.31", &[])), ["v1.36.4", "36", "31", "30"]);
    for (version, why) in [
        ("1.29", "emulation version 1.29 is not between [1.30, 1.36]"),
        ("1.33.1", "patch version not allowed, got: kube=1.33.1"),
    ] {
        let refused = Command::new(pleach_clients::binary())
            .args(["serve", "--in-memory", "--port=0", "--emulated-version", version])
            .output()
            .unwrap();
        assert!(!refused.status.success());
        assert!(String::from_utf8_lossy(&refused.stderr).contains(why), "{refused:?}");
    }
}

#[test]
fn later_apis_are_not_served() {
    let served = |server: &Running, path: &str| server.api().get(path).status == 200;
    let (old, new) = (emulating("1.32", &[]), Running::in_memory());
    for path in [
        "/apis/resource.k8s.io/v1",
        "/apis/networking.k8s.io/v1/servicecidrs",
        "/apis/storage.k8s.io/v1/volumeattributesclasses",
        "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
    ] {
        assert!(served(&new, path) && !served(&old, path), "{path}");
    }
    assert!(served(&old, "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"));
}

#[test]
fn selectable_fields_are_dropped_where_their_gate_is_closed() {
    let server = emulating("1.30", &[]);
    let old = server.api();
    let stored = old.create(CRDS, &crd(RULE));
    assert!(stored["spec"]["versions"][0]["selectableFields"].is_null(), "{stored}");
    let selected = old.get(&format!("{FIGS}?fieldSelector=spec.color%3Dred"));
    assert_eq!(selected.status, 400, "{}", selected.body);
    let server = emulating("1.30", &["--feature-gates", "CustomResourceFieldSelectors=true"]);
    let opened = server.api();
    let stored = opened.create(CRDS, &crd(RULE));
    assert_eq!(stored["spec"]["versions"][0]["selectableFields"][0]["jsonPath"], ".spec.color");
    assert_eq!(opened.get(&format!("{FIGS}?fieldSelector=spec.color%3Dred")).status, 200);
}

/// Creates an object, narrows the schema under it, and changes another field of it; returns the status of that, and
/// the rule as it was stored.
fn narrow(api: &Api, rule: &str) -> (u16, Value) {
    let stored = api.create(CRDS, &crd(rule));
    api.create(FIGS, &fig(json!({"color": "red", "size": 3})));
    let narrowed = json!({"spec": {"versions": [{"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "color": {"type": "string", "maxLength": 2}, "size": {"type": "integer"}}}}}}}]}});
    api.send("PATCH", &format!("{CRDS}/figs.example.com"), Some(&narrowed)).ok();
    let changed = api.send("PATCH", &format!("{FIGS}/f"), Some(&json!({"spec": {"size": 4}})));
    let schema = &stored["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let size = &schema["properties"]["spec"]["properties"]["size"];
    (changed.status, size["x-kubernetes-validations"][0]["optionalOldSelf"].clone())
}

#[test]
fn ratcheting_can_be_switched_off_where_it_is_not_locked() {
    assert_eq!(narrow(&emulating("1.32", &[]).api(), RULE), (200, json!(true)));
    let off = emulating("1.32", &["--feature-gates", "CRDValidationRatcheting=false"]);
    // Where the field is dropped, the old value is one.
    let (status, optional) = narrow(&off.api(), "self >= oldSelf");
    assert_eq!((status, optional), (422, Value::Null), "the color is too long, though it did not change");
    let refused = Command::new(pleach_clients::binary())
        .args(["serve", "--in-memory", "--port=0", "--feature-gates=CRDValidationRatcheting=false"])
        .output()
        .unwrap();
    let why = "cannot set feature gate CRDValidationRatcheting to false, feature is locked to true";
    assert!(String::from_utf8_lossy(&refused.stderr).contains(why), "{refused:?}");
}

#[test]
fn new_rules_may_use_the_libraries_of_the_version_before() {
    let servers = [emulating("1.31", &[]), emulating("1.33", &[]), Running::in_memory()];
    for (rule, expected) in [
        ("isIP(self)", [201, 201, 201]),
        ("format.named('uuid').hasValue()", [422, 201, 201]),
        ("[1, 2].all(i, v, v > i)", [422, 201, 201]),
        ("isSemver(self)", [422, 201, 201]),
        ("[2, 1].sort() == [1, 2]", [422, 422, 201]),
    ] {
        let statuses = servers.each_ref().map(|server| with_rule(&server.api(), rule).status);
        assert_eq!(statuses, expected, "{rule}");
    }
}

#[test]
fn lists_by_watch_are_refused_where_their_gate_is_closed() {
    let path = "/api/v1/namespaces?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan\
                &allowWatchBookmarks=true&timeoutSeconds=1";
    let off = emulating("1.33", &[]);
    let refused = off.api().get(path);
    assert_eq!(refused.status, 422);
    let message = refused.body["message"].as_str().unwrap();
    let why = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate \
               is enabled";
    assert!(message.contains(why), "{message}");
    let text = off.api().text("/api/v1/namespaces?watch=true&allowWatchBookmarks=true&timeoutSeconds=1");
    assert!(text.contains("ADDED") && !text.contains("initial-events-end"), "{text}");
    assert!(emulating("1.32", &[]).api().text(path).contains("initial-events-end"));
}

/// The document of a request for aggregated discovery in a version, with its media type.
fn aggregated(api: &Api, version: &str) -> (String, Value) {
    let accept = format!(
        "application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList,application/json"
    );
    let (_, kind, document) = api.bytes("GET", "/apis", &[("Accept", &accept)], None);
    (kind, serde_json::from_slice(&document).unwrap())
}

#[test]
fn aggregated_discovery_was_served_as_beta() {
    let servers = [
        (emulating("1.32", &[]), true),
        (emulating("1.33", &[]), false),
        (emulating("1.34", &["--feature-gates", "AggregatedDiscoveryRemoveBetaType=false"]), true),
        (Running::in_memory(), false),
    ];
    for (server, beta) in servers {
        let api = server.api();
        let (kind, document) = aggregated(&api, "v2beta1");
        assert_eq!(kind.contains("v=v2beta1;as=APIGroupDiscoveryList"), beta, "{kind}");
        let expected = if beta { "APIGroupDiscoveryList" } else { "APIGroupList" };
        assert_eq!(document["kind"], expected);
        let (kind, current) = aggregated(&api, "v2");
        assert!(kind.contains("v=v2;as=APIGroupDiscoveryList"), "{kind}");
        assert_eq!(current["apiVersion"], "apidiscovery.k8s.io/v2");
        if beta {
            assert_eq!(document["apiVersion"], "apidiscovery.k8s.io/v2beta1");
            assert_eq!(document["items"], current["items"]);
        }
    }
}
