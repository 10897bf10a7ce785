//! API Priority and Fairness over real connections: headers, objects, seats, refusals and metrics.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::time::Duration;

use pleach_clients::{Api, Running, eventually};
use pleach_conformance::{Connection, Endpoint};
use serde_json::{Value, json};

const API: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";
const PATIENCE: Duration = Duration::from_mins(1);

/// A server with two users beside the admin; each may do everything.
fn server(more: &[&str]) -> (Running, tempfile::TempDir) {
    let files = tempfile::tempdir().unwrap();
    let tokens = files.path().join("tokens.csv");
    std::fs::write(&tokens, "flood-token,flood,1\nother-token,other,2\n").unwrap();
    let mut arguments = vec!["--in-memory", "--token-auth-file", tokens.to_str().unwrap()];
    arguments.extend(more);
    let server = Running::start(&arguments);
    let api = server.api();
    for user in ["flood", "other"] {
        api.create(
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            &json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
                "metadata": {"name": user},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
            }),
        );
    }
    (server, files)
}

fn as_user(server: &Running, token: &str) -> Endpoint {
    Endpoint::new(server.port(), token)
}

fn endpoint(server: &Running) -> Endpoint {
    server.endpoint().clone()
}

fn header(answer: &Connection, name: &str) -> String {
    let found = answer.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.clone()).unwrap_or_default()
}

fn uid(api: &Api, plural: &str, name: &str) -> String {
    api.get(&format!("{API}/{plural}/{name}")).ok()["metadata"]["uid"].as_str().unwrap().to_owned()
}

#[test]
fn responses_say_how_their_requests_were_classified() {
    let (server, _files) = server(&[]);
    let api = server.api();
    let admin = endpoint(&server);
    let flood = as_user(&server, "flood-token");
    for (who, path, schema, level, code) in [
        (&admin, "/api/v1/namespaces/default", "exempt", "exempt", 200),
        (&admin, "/apis", "exempt", "exempt", 200),
        (&flood, "/healthz", "probes", "exempt", 200),
        (&flood, "/api/v1/namespaces/default", "global-default", "global-default", 200),
        (&flood, "/api/v1/namespaces/nothing", "global-default", "global-default", 404),
        (&flood, "/api/v1/namespaces?watch=1&timeoutSeconds=1", "global-default", "global-default", 200),
        (&flood, "/openapi/v3", "global-default", "global-default", 200),
    ] {
        let answer = who.send("GET", path, &[], None, PATIENCE).unwrap();
        assert_eq!(answer.status, code, "{path}");
        assert_eq!(
            header(&answer, "X-Kubernetes-PF-FlowSchema-UID"),
            uid(&api, "flowschemas", schema),
            "{path}"
        );
        let level = uid(&api, "prioritylevelconfigurations", level);
        assert_eq!(header(&answer, "X-Kubernetes-PF-PriorityLevel-UID"), level, "{path}");
    }
    // Refused by authorization, but classified before.
    let impersonate = [("Impersonate-User".to_owned(), "nobody".to_owned())];
    let answer = admin.send("GET", "/api/v1/namespaces", &impersonate, None, PATIENCE).unwrap();
    assert_eq!(answer.status, 403);
    let schema = uid(&api, "flowschemas", "global-default");
    assert_eq!(header(&answer, "X-Kubernetes-PF-FlowSchema-UID"), schema, "as the impersonated user");
    // Not authenticated, not classified.
    let wrong = as_user(&server, "wrong");
    let answer = wrong.send("GET", "/api/v1/namespaces", &[], None, PATIENCE).unwrap();
    assert_eq!((answer.status, header(&answer, "X-Kubernetes-PF-FlowSchema-UID").as_str()), (401, ""));
}

#[test]
fn bootstrap_objects_and_their_status_are_there() {
    let (server, _files) = server(&[]);
    let api = server.api();
    let schemas = api.get(&format!("{API}/flowschemas")).ok();
    assert_eq!(schemas["items"].as_array().unwrap().len(), 11);
    for schema in schemas["items"].as_array().unwrap() {
        let condition = &schema["status"]["conditions"][0];
        assert_eq!(
            (&condition["type"], &condition["status"]),
            (&json!("Dangling"), &json!("False")),
            "{schema}"
        );
        assert_eq!(schema["metadata"]["annotations"]["apf.kubernetes.io/autoupdate-spec"], "true");
        let managers: Vec<&str> = schema["metadata"]["managedFields"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entry| entry["manager"].as_str().unwrap())
            .collect();
        assert!(managers.contains(&"api-priority-and-fairness-config-producer-v1"), "{managers:?}");
        assert!(managers.contains(&"api-priority-and-fairness-config-consumer-v1"), "{managers:?}");
    }
    assert_eq!(
        api.get(&format!("{API}/prioritylevelconfigurations")).ok()["items"].as_array().unwrap().len(),
        8
    );
    // A schema of a level that does not exist says so, until it does.
    let schema = json!({
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema", "metadata": {"name": "mine"},
        "spec": {
            "priorityLevelConfiguration": {"name": "mine"}, "matchingPrecedence": 50,
            "rules": [{
                "subjects": [{"kind": "User", "user": {"name": "flood"}}],
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}],
            }],
        },
    });
    api.create(&format!("{API}/flowschemas"), &schema);
    let dangling =
        || api.get(&format!("{API}/flowschemas/mine")).ok()["status"]["conditions"][0]["status"].clone();
    assert_eq!(dangling(), "True");
    let level = json!({
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration",
        "metadata": {"name": "mine"},
        "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}},
    });
    let created = api.create(&format!("{API}/prioritylevelconfigurations"), &level);
    assert_eq!(created["spec"]["limited"]["nominalConcurrencyShares"], 30);
    assert_eq!(dangling(), "False");
    let flood = as_user(&server, "flood-token");
    let answer = flood.send("GET", "/api/v1/namespaces/default/configmaps", &[], None, PATIENCE).unwrap();
    assert_eq!(header(&answer, "X-Kubernetes-PF-FlowSchema-UID"), uid(&api, "flowschemas", "mine"));
    // Mandatory objects cannot be changed, and come back when they are deleted.
    let fixed = json!({"spec": {"matchingPrecedence": 7}});
    let refused = api.try_send("PATCH", &format!("{API}/flowschemas/catch-all"), Some(&fixed)).unwrap();
    assert_eq!(refused.status, 422);
    let message = refused.body["message"].as_str().unwrap().to_owned();
    assert!(message.ends_with("spec of 'catch-all' must equal the fixed value"), "{message}");
}

/// A user who holds all seats of a level leaves those of another level alone, and is refused with 429.
#[test]
fn a_flood_is_refused_and_others_are_not() {
    let (server, _files) = server(&["--max-requests-inflight=8", "--max-mutating-requests-inflight=4"]);
    let api = server.api();
    // A level of its own without queues for the flood: nothing depends on time.
    api.create(
        &format!("{API}/prioritylevelconfigurations"),
        &json!({
            "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration",
            "metadata": {"name": "narrow"},
            "spec": {"type": "Limited", "limited": {
                "nominalConcurrencyShares": 10, "borrowingLimitPercent": 0, "limitResponse": {"type": "Reject"},
            }},
        }),
    );
    api.create(
        &format!("{API}/flowschemas"),
        &json!({
            "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema", "metadata": {"name": "narrow"},
            "spec": {
                "priorityLevelConfiguration": {"name": "narrow"}, "matchingPrecedence": 50,
                "rules": [{
                    "subjects": [{"kind": "User", "user": {"name": "flood"}}],
                    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}],
                }],
            },
        }),
    );
    let text = "x".repeat(900_000);
    for i in 0..24 {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{i}")}, "data": {"x": text}});
        api.create("/api/v1/namespaces/default/configmaps", &map);
    }
    let (flood, other) = (as_user(&server, "flood-token"), as_user(&server, "other-token"));
    // More than sockets hold: the response keeps its seat until it is taken.
    let path = "/api/v1/namespaces/default/configmaps";
    let held = flood.send("GET", path, &[], None, PATIENCE).unwrap();
    assert_eq!(held.status, 200);
    let refused = flood.send("GET", &format!("{path}/m0"), &[], None, PATIENCE).unwrap();
    assert_eq!((refused.status, header(&refused, "Retry-After").as_str()), (429, "1"));
    assert_eq!(header(&refused, "X-Kubernetes-PF-FlowSchema-UID"), uid(&api, "flowschemas", "narrow"));
    assert_eq!(refused.body().unwrap(), b"Too many requests, please try again later.\n");
    for _ in 0..20 {
        let answer = other.send("GET", &format!("{path}/m0"), &[], None, PATIENCE).unwrap();
        let status = answer.status;
        let body = answer.body().unwrap();
        assert_eq!(status, 200, "another user: {}", String::from_utf8_lossy(&body));
    }
    // Watches hold a seat only while they begin.
    let metrics = api.text("/metrics");
    let labels = "flow_schema=\"narrow\",priority_level=\"narrow\"";
    let rejected =
        format!("apiserver_flowcontrol_rejected_requests_total{{{labels},reason=\"concurrency-limit\"}} 1");
    assert!(metrics.lines().any(|line| line == rejected), "{metrics}");
    drop(held);
    let watch = eventually("the seat is given back", || {
        let watch =
            flood.send("GET", &format!("{path}?watch=1&resourceVersion=1"), &[], None, PATIENCE).unwrap();
        (watch.status != 429).then_some(watch)
    });
    let read = flood.send("GET", &format!("{path}/m0"), &[], None, PATIENCE).unwrap();
    assert_eq!(read.status, 200, "the watch holds none");
    drop(watch);
    let dump = api.text("/debug/api_priority_and_fairness/dump_priority_levels");
    assert!(dump.starts_with("PriorityLevelName, ") && dump.contains("\nnarrow, "), "{dump}");
}

#[test]
fn without_priority_and_fairness_there_are_no_headers() {
    let (server, _files) = server(&["--enable-priority-and-fairness=false"]);
    let answer = endpoint(&server).send("GET", "/api/v1/namespaces", &[], None, PATIENCE).unwrap();
    assert_eq!((answer.status, header(&answer, "X-Kubernetes-PF-FlowSchema-UID").as_str()), (200, ""));
    let objects: Value = server.api().get(&format!("{API}/flowschemas")).ok();
    assert_eq!(objects["items"].as_array().unwrap().len(), 11, "the objects are there");
}
