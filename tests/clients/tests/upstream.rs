//! Responses of kube-apiserver v1.36.4 beyond the recorded conversations.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use pleach_clients::{Api, Running, definition};
use serde_json::{Value, json};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const BOXES: &str = "/apis/example.com/v1/namespaces/default/boxes";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

fn with_boxes(api: &Api) {
    let mut crd = definition(
        "boxes",
        "Box",
        json!({"spec": {"type": "object", "properties": {
            "replicas": {"type": "integer"}, "size": {"type": "integer"},
        }}}),
    );
    crd["spec"]["versions"][0]["subresources"] = json!({"scale": {
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
    }});
    api.create(CRDS, &crd);
    api.create(
        BOXES,
        &json!({"apiVersion": "example.com/v1", "kind": "Box",
        "metadata": {"name": "a"}, "spec": {"replicas": 1, "size": 2}}),
    );
}

/// An object of a built-in kind.
fn named_a(kind: &str, mut object: Value) -> Value {
    object["apiVersion"] = if kind == "Lease" { "coordination.k8s.io/v1" } else { "v1" }.into();
    object["kind"] = kind.into();
    object["metadata"] = json!({"name": "a"});
    object
}

/// Managers with their subresource, whether they have a time, and their fields.
fn owners(object: &Value) -> Vec<(String, String, bool, Value)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let entries = object["metadata"]["managedFields"].as_array().unwrap().iter();
    entries
        .map(|e| (text(&e["manager"]), text(&e["subresource"]), e["time"].is_string(), e["fieldsV1"].clone()))
        .collect()
}

#[test]
fn protobuf_falls_back_to_other_accepted_types() {
    let server = Running::in_memory();
    let api = server.api();
    with_boxes(&api);
    for (accept, status, why) in [
        ("application/vnd.kubernetes.protobuf,application/json", 200, "text as second choice"),
        ("application/vnd.kubernetes.protobuf,*/*", 200, "anything as second choice"),
        ("application/vnd.kubernetes.protobuf", 406, "custom resources have none"),
        ("application/json;stream=watch", 200, "a list may be asked for as a stream"),
        ("application/yaml;stream=watch", 406, "YAML is no stream"),
    ] {
        let answer = api.raw_with("GET", BOXES, &[("Accept", accept)], None).unwrap();
        assert_eq!(answer.status, status, "{why}: {accept}");
    }
}

#[test]
fn replicas_set_through_scale_are_owned_without_a_time() {
    let server = Running::in_memory();
    let api = server.api();
    with_boxes(&api);
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale",
        "metadata": {"name": "a", "namespace": "default"}, "spec": {"replicas": 3}});
    api.send("PUT", &format!("{BOXES}/a/scale?fieldManager=scaler"), Some(&scale)).ok();
    let owners = owners(&api.get(&format!("{BOXES}/a")).ok());
    let replicas = json!({"f:spec": {"f:replicas": {}}});
    assert_eq!(owners[0], ("scaler".into(), "scale".into(), false, replicas), "the oldest comes first");
    assert_eq!(owners[1].3, json!({"f:spec": {".": {}, "f:size": {}}}));
    assert!(owners[1].2, "an entry of the object itself has its time");
}

#[test]
fn a_patch_with_an_invalid_scale_is_invalid() {
    let server = Running::in_memory();
    let api = server.api();
    with_boxes(&api);
    let patch = json!({"spec": {"replicas": "x"}});
    let refused = api.send("PATCH", &format!("{BOXES}/a/scale"), Some(&patch));
    assert_eq!(refused.status, 422, "{}", refused.body);
    let cause = &refused.body["details"]["causes"][0];
    assert_eq!(cause["field"], "patch", "{}", refused.body);
    let message = cause["message"].as_str().unwrap();
    assert!(message.contains(r#"\"spec\":{\"replicas\":\"x\"}"#), "{message}");
    assert!(message.ends_with("into Go struct field ScaleSpec.spec.replicas of type int32"), "{message}");
}

#[test]
fn preconditions_in_the_query() {
    let server = Running::in_memory();
    let api = server.api();
    let made = api.create(CONFIG_MAPS, &named_a("ConfigMap", json!({})));
    for wrong in ["uid=x", "resourceVersion=1"] {
        let refused = api.send("DELETE", &format!("{CONFIG_MAPS}/a?{wrong}"), None);
        assert_eq!(refused.status, 409, "{wrong}: {}", refused.body);
    }
    let uid = made["metadata"]["uid"].as_str().unwrap();
    api.send("DELETE", &format!("{CONFIG_MAPS}/a?uid={uid}"), None).ok();
}

#[test]
fn field_sets_of_built_in_kinds_follow_their_structs() {
    let server = Running::in_memory();
    let api = server.api();
    let fields = |object: &Value| owners(object)[0].3.clone();
    let lease = api.create(LEASES, &named_a("Lease", json!({"spec": {"holderIdentity": "me"}})));
    assert_eq!(fields(&lease), json!({"f:spec": {"f:holderIdentity": {}}}), "a spec is always there");
    let secret = api.create(SECRETS, &named_a("Secret", json!({"stringData": {"k": "v"}})));
    assert_eq!(fields(&secret), json!({"f:data": {".": {}, "f:k": {}}, "f:type": {}}), "text becomes data");
    let bare = api.send("PUT", &format!("{LEASES}/a"), Some(&named_a("Lease", json!({}))));
    assert_eq!(bare.status, 422, "a lease is replaced only by who says which: {}", bare.body);
}

#[test]
fn secrets_and_config_maps_have_keys_that_are_names() {
    let server = Running::in_memory();
    let api = server.api();
    for (path, object, status) in [
        (CONFIG_MAPS, named_a("ConfigMap", json!({"data": {"a b": "c"}})), 422),
        (CONFIG_MAPS, named_a("ConfigMap", json!({"binaryData": {"a": "###"}})), 400),
        (SECRETS, named_a("Secret", json!({"data": {"a": "###"}})), 400),
        (SECRETS, named_a("Secret", json!({"type": "kubernetes.io/tls"})), 422),
        (SECRETS, named_a("Secret", json!({"data": {"a": "aGp="}})), 201),
    ] {
        let answer = api.send("POST", path, Some(&object));
        assert_eq!(answer.status, status, "{object}: {}", answer.body);
    }
}

#[test]
fn events_have_owners_in_both_groups() {
    let server = Running::in_memory();
    let api = server.api();
    let about = json!({"kind": "Pod", "name": "p", "namespace": "default"});
    let core = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "a"}, "involvedObject": about,
        "reason": "R", "type": "Normal", "source": {"component": "c"},
    });
    let made = api.create("/api/v1/namespaces/default/events?fieldManager=m", &core);
    let fields =
        json!({"f:involvedObject": {}, "f:reason": {}, "f:source": {"f:component": {}}, "f:type": {}});
    assert_eq!(owners(&made), [("m".into(), String::new(), true, fields)]);
    let other = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "b"}, "regarding": about,
        "reason": "R", "type": "Normal", "action": "A", "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "a/b", "reportingInstance": "i",
    });
    let made = api.create("/apis/events.k8s.io/v1/namespaces/default/events?fieldManager=m", &other);
    let fields = json!({
        "f:action": {}, "f:eventTime": {}, "f:reason": {}, "f:regarding": {}, "f:reportingController": {},
        "f:reportingInstance": {}, "f:type": {},
    });
    assert_eq!(owners(&made), [("m".into(), String::new(), true, fields)]);
}

#[test]
fn metadata_that_is_no_longer_applied_leaves_the_rest() {
    let server = Running::in_memory();
    let api = server.api();
    with_boxes(&api);
    let headers = [("Content-Type", "application/apply-patch+yaml")];
    for (field, value) in [
        ("generateName", json!("g-")),
        ("labels", json!({"a": "b"})),
        ("annotations", json!({"a": "b"})),
        ("finalizers", json!(["x.io/a"])),
    ] {
        let apply = |metadata: Value| {
            let said = json!({"apiVersion": "example.com/v1", "kind": "Box", "metadata": metadata});
            let path = format!("{BOXES}/a?fieldManager=m");
            api.raw_with("PATCH", &path, &headers, Some(&said.to_string())).unwrap().ok()
        };
        assert_eq!(apply(json!({"name": "a", field: value}))["metadata"][field], value, "{field}");
        let left = apply(json!({"name": "a"}));
        assert_eq!(left["metadata"][field], Value::Null, "{field}");
        assert_eq!(left["metadata"]["name"], "a", "{field}");
    }
}

#[test]
fn order_of_errors() {
    let server = Running::in_memory();
    let api = server.api();
    with_boxes(&api);
    let token = api.get(&format!("{BOXES}?limit=1")).ok()["metadata"]["continue"].clone();
    assert_eq!(token, "", "there is one box only");
    let token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0";
    let both = format!("?continue={token}&resourceVersion=-1");
    for (query, status, want) in [
        ("?limit=x&labelSelector=,", 400, r#"strconv.ParseInt: parsing "x": invalid syntax"#),
        ("?limit=x&timeoutSeconds=", 400, r#"strconv.ParseInt: parsing "": invalid syntax"#),
        (&both, 400, "specifying resource version is not allowed when using continue"),
    ] {
        let refused = api.get(&format!("{BOXES}{query}"));
        assert_eq!(refused.status, status, "{query}");
        assert_eq!(refused.body["message"], want, "{query}");
    }
    let unacceptable = ("Accept", "application/cbor");
    for (method, path, headers, status, why) in [
        (
            "PATCH",
            "/a",
            [unacceptable, ("Content-Type", "text/plain")],
            415,
            "what the patch is, then the answer",
        ),
        ("PATCH", "/a", [unacceptable, ("Content-Type", "application/merge-patch+json")], 406, "the answer"),
        ("POST", "?fieldManager=%00", [("Accept", "*/*"), ("Content-Type", "text/plain")], 415, "the body"),
        (
            "POST",
            "?fieldManager=%00",
            [("Accept", "*/*"), ("Content-Type", "application/json")],
            422,
            "options",
        ),
    ] {
        let refused = api.raw_with(method, &format!("{BOXES}{path}"), &headers, Some("{}")).unwrap();
        assert_eq!(refused.status, status, "{method} {path}, {why}: {}", refused.body);
    }
    for (accept, query, status, why) in [
        ("application/yaml", "?watch=1&timeoutSeconds=x", 400, "options come before the stream"),
        ("application/yaml", "?watch=1&timeoutSeconds=1", 406, "YAML is no stream"),
        (
            "*/*;q=0.1,application/yaml",
            "?watch=1&timeoutSeconds=1",
            406,
            "and nobody looks at the second choice",
        ),
    ] {
        let path = format!("{BOXES}{query}");
        let refused = api.raw_with("GET", &path, &[("Accept", accept)], None).unwrap();
        assert_eq!(refused.status, status, "{why}");
    }
    let headers = [("Accept", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io")];
    let path = format!("{BOXES}?labelSelector=none");
    let nothing = api.raw_with("GET", &path, &headers, None).unwrap().ok();
    assert_eq!(nothing["items"], Value::Null, "a list of nothing");
    assert!(nothing.as_object().unwrap().contains_key("items"));
}

#[test]
fn scale_has_defaults_when_read() {
    let server = Running::in_memory();
    let api = server.api();
    let mut crd = definition(
        "boxes",
        "Box",
        json!({"spec": {"type": "object", "properties": {
            "replicas": {"type": "integer"}, "size": {"type": "integer", "default": 7},
        }}}),
    );
    crd["spec"]["versions"][0]["subresources"] = json!({"scale": {
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
    }});
    api.create(CRDS, &crd);
    api.create(BOXES, &json!({"apiVersion": "example.com/v1", "kind": "Box", "metadata": {"name": "a"}}));
    api.send("PATCH", &format!("{BOXES}/a/scale"), Some(&json!({"spec": {"replicas": 2}}))).ok();
    let seen = json!({"replicas": 2, "size": 7});
    assert_eq!(api.get(&format!("{BOXES}/a")).ok()["spec"], seen);
    assert_eq!(api.get(BOXES).ok()["items"][0]["spec"], seen);
    let patched =
        api.send("PATCH", &format!("{BOXES}/a"), Some(&json!({"metadata": {"labels": {"a": "b"}}}))).ok();
    assert_eq!(patched["spec"], seen);
}
