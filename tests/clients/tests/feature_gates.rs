//! Feature gates.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use pleach_clients::{Api, Running, definition};
use serde_json::{Value, json};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const VOLUMES: &str = "/apis/example.com/v1/namespaces/default/volumes";

fn crd(spec: Value) -> Value {
    definition("volumes", "Volume", json!({"spec": spec}))
}

fn with_unions() -> Value {
    crd(json!({
        "type": "object",
        "properties": {
            "type": {"type": "string"},
            "emptyDir": {"type": "object", "properties": {"medium": {"type": "string"}}},
            "hostPath": {"type": "object", "properties": {"path": {"type": "string"}}},
        },
        "x-kubernetes-unions": [
            {"discriminator": "type", "fields": {"emptyDir": "EmptyDir", "hostPath": "HostPath"}},
        ],
    }))
}

fn volume(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Volume", "metadata": {"name": name}, "spec": spec})
}

fn unions_of(crd: &Value) -> &Value {
    &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-unions"]
}

fn refuse_two_members(api: &Api) {
    let both = json!({"type": "EmptyDir", "emptyDir": {}, "hostPath": {"path": "/"}});
    let refused = api.send("POST", VOLUMES, Some(&volume("both", both)));
    assert_eq!(refused.status, 422, "{}", refused.body);
    let message = refused.body["message"].as_str().unwrap();
    assert!(message.contains("spec"), "{message}");
}

#[test]
fn without_the_gate_unions_are_an_unknown_field() {
    let server = Running::in_memory();
    let api = server.api();
    let strict = api.send("POST", &format!("{CRDS}?fieldValidation=Strict"), Some(&with_unions()));
    assert_eq!(strict.status, 400, "{}", strict.body);
    assert!(strict.body["message"].as_str().unwrap().contains("x-kubernetes-unions"), "{}", strict.body);
    let stored = api.create(CRDS, &with_unions());
    assert!(unions_of(&stored).is_null(), "it was dropped, as stock Kubernetes drops it");
    let both = json!({"type": "EmptyDir", "emptyDir": {}, "hostPath": {"path": "/"}});
    api.create(VOLUMES, &volume("both", both));
}

#[test]
fn with_the_gate_unions_are_kept_checked_and_published() {
    let data = tempfile::tempdir().unwrap();
    let data = data.path().to_str().unwrap();
    let server = Running::start(&["--data-dir", data, "--feature-gates", "Unions=true"]);
    let api = server.api();
    let stored = api.create(CRDS, &with_unions());
    assert_eq!(unions_of(&stored)[0]["discriminator"], "type");
    api.create(VOLUMES, &volume("one", json!({"type": "HostPath", "hostPath": {"path": "/"}})));
    refuse_two_members(&api);
    let wrong = api.send("POST", VOLUMES, Some(&volume("w", json!({"type": "HostPath", "emptyDir": {}}))));
    assert_eq!(wrong.status, 422, "the discriminator must agree: {}", wrong.body);
    let document = api.get("/openapi/v3/apis/example.com/v1").ok();
    let published = &document["components"]["schemas"]["com.example.v1.Volume"]["properties"]["spec"];
    assert_eq!(published["oneOf"], json!([{"required": ["emptyDir"]}, {"required": ["hostPath"]}]));
    assert_eq!(published["x-kubernetes-unions"][0]["fields"]["hostPath"], "HostPath");
    assert!(server.stop());

    // With the gate off again, only new CRDs are affected.
    let server = Running::start(&["--data-dir", data]);
    let api = server.api();
    assert_eq!(unions_of(&api.get(&format!("{CRDS}/volumes.example.com")).ok())[0]["discriminator"], "type");
    refuse_two_members(&api);
}

#[test]
fn with_the_gate_cost_errors_suggest_bounds() {
    let dear = crd(json!({
        "type": "object",
        "properties": {"hosts": {"type": "array", "items": {"type": "string"}}},
        "x-kubernetes-validations": [
            {"rule": "self.hosts.all(a, self.hosts.exists_one(b, a.contains(b)))"},
        ],
    }));
    let plain = Running::in_memory();
    let plain = plain.api().send("POST", CRDS, Some(&dear));
    let hinted = Running::start(&["--in-memory", "--feature-gates", "CostHints=true"]);
    let hinted = hinted.api().send("POST", CRDS, Some(&dear));
    assert_eq!((plain.status, hinted.status), (422, 422), "{} {}", plain.body, hinted.body);
    let (plain, hinted) = (plain.body["message"].as_str().unwrap(), hinted.body["message"].as_str().unwrap());
    assert!(!plain.contains("hint"), "to the letter what Kubernetes says: {plain}");
    assert!(hinted.contains("hint: ") && hinted.contains("maxItems"), "{hinted}");
}

#[test]
fn a_gate_that_does_not_exist_is_refused_at_the_start() {
    let ran = std::process::Command::new(pleach_clients::binary())
        .args(["serve", "--in-memory", "--port", "0", "--feature-gates", "Onions=true"])
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&ran.stderr).contains("CostHints, CustomResourceFieldSelectors"),
        "{ran:?}"
    );
}
