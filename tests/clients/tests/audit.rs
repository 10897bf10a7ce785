//! Audit events of the real binary: annotations of webhooks and tokens, and batches to a webhook.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::path::Path;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pleach_clients::{Api, Running, eventually};
use pleach_conformance::{Endpoint, HOOK_CA, HookServer};
use serde_json::{Value, json};

const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

const POLICY: &str = "
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Request, namespaces: [bodies], resources: [{group: '', resources: [configmaps]}]}
- {level: Metadata}
";

/// Webhooks by path: `label` and `note` patch, `fail` answers with an error, all others allow.
fn hooks() -> HookServer {
    let answer = |path: &str, review: &Value| {
        let request = &review["request"];
        let mut response = json!({"uid": request["uid"], "allowed": true});
        let patch = match path {
            "/fail" => return (500, "broken".to_owned()),
            "/label" => {
                Some(json!([{"op": "add", "path": "/metadata/annotations", "value": {"by": "<label>"}}]))
            }
            "/note" => Some(json!([{"op": "add", "path": "/data", "value": {"b": "2", "a": "1"}}])),
            _ => {
                response["auditAnnotations"] = json!({"good": "seen", "not a key": "x", "a/b": "y"});
                None
            }
        };
        if let Some(patch) = patch {
            response["patchType"] = "JSONPatch".into();
            response["patch"] = STANDARD.encode(patch.to_string()).into();
        }
        let review =
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
        (200, review.to_string())
    };
    HookServer::start(0, answer).unwrap()
}

fn hook(server: &HookServer, name: &str, more: &Value) -> Value {
    let mut hook = json!({
        "name": format!("{name}.example.com"), "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "failurePolicy": "Ignore",
        "clientConfig": {"url": server.url(&format!("/{name}")), "caBundle": STANDARD.encode(HOOK_CA)},
        "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
    });
    for (key, value) in more.as_object().unwrap() {
        hook[key] = value.clone();
    }
    hook
}

fn configuration(kind: &str, name: &str, webhooks: &[Value]) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name},
        "webhooks": webhooks,
    })
}

/// The events of a log once all that are wanted are in it: a response may come before its event.
fn events_with(log: &Path, wanted: &[&dyn Fn(&Value) -> bool]) -> Vec<Value> {
    eventually("all events are written", || {
        let text = std::fs::read_to_string(log).unwrap();
        let (whole, _) = text.rsplit_once('\n')?;
        let events: Vec<Value> = whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        wanted.iter().all(|is_wanted| events.iter().any(is_wanted)).then_some(events)
    })
}

fn annotations(events: &[Value], is_wanted: impl Fn(&Value) -> bool) -> Vec<(&str, &str)> {
    let event = events.iter().find(|event| is_wanted(event)).expect("the request is recorded");
    let found = event["annotations"].as_object().unwrap().iter();
    let found = found.filter(|(key, _)| !key.starts_with("authorization.k8s.io/"));
    found.map(|(key, value)| (key.as_str(), value.as_str().unwrap())).collect()
}

#[test]
fn events_have_the_annotations_of_webhooks_and_tokens() {
    let home = tempfile::tempdir().unwrap();
    let (policy, log) = (home.path().join("policy.yaml"), home.path().join("audit.log"));
    std::fs::write(&policy, POLICY).unwrap();
    let (policy, log_path) = (policy.to_str().unwrap(), log.to_str().unwrap());
    let server =
        Running::start(&["--in-memory", "--audit-policy-file", policy, "--audit-log-path", log_path]);
    let (api, hooks) = (server.api(), hooks());
    let none = json!({});
    let unselected = json!({"objectSelector": {"matchLabels": {"not": "there"}}});
    let first = [
        hook(&hooks, "skipped", &unselected),
        hook(&hooks, "label", &json!({"reinvocationPolicy": "IfNeeded"})),
    ];
    api.create(MUTATING, &configuration("MutatingWebhookConfiguration", "a", &first));
    let second = [hook(&hooks, "fail", &none), hook(&hooks, "note", &none), hook(&hooks, "allow", &none)];
    api.create(MUTATING, &configuration("MutatingWebhookConfiguration", "b", &second));
    let validating =
        [hook(&hooks, "skipped", &unselected), hook(&hooks, "allow", &none), hook(&hooks, "fail", &none)];
    api.create(VALIDATING, &configuration("ValidatingWebhookConfiguration", "c", &validating));
    api.create(
        "/api/v1/namespaces",
        &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "bodies"}}),
    );

    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
    for namespace in ["default", "bodies"] {
        api.create(&format!("/api/v1/namespaces/{namespace}/configmaps"), &map);
    }
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}});
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    api.create(accounts, &account);
    let token = api.create(&format!("{accounts}/robot/token"), &json!({"spec": {}}));
    let token = token["status"]["token"].as_str().unwrap();
    api.get("/api/v1/namespaces/default/endpoints").ok();
    Api::new(Endpoint::new(server.port(), token)).get("/version").ok();
    let created = |namespace: &'static str| {
        move |event: &Value| {
            event["verb"] == "create"
                && event["objectRef"]["resource"] == "configmaps"
                && event["objectRef"]["name"] == "m"
                && event["objectRef"]["namespace"] == namespace
        }
    };
    let by_robot = |event: &Value| event["user"]["username"] == "system:serviceaccount:default:robot";
    let events = events_with(
        &log,
        &[
            &created("default"),
            &created("bodies"),
            &|event| event["objectRef"]["resource"] == "endpoints",
            &|event| event["objectRef"]["subresource"] == "token",
            &by_robot,
        ],
    );
    drop(server);
    let mutation = |configuration: &str, webhook: &str, mutated: bool| {
        format!(
            r#"{{"configuration":"{configuration}","webhook":"{webhook}.example.com","mutated":{mutated}}}"#
        )
    };
    let (label, again) = (mutation("a", "label", true), mutation("a", "label", false));
    let (fail, note, allow) =
        (mutation("b", "fail", false), mutation("b", "note", true), mutation("b", "allow", false));
    let metadata = [
        ("allow.example.com/good", "seen"),
        ("failed-open.mutation.webhook.admission.k8s.io/round_0_index_2", "fail.example.com"),
        ("failed-open.validating.webhook.admission.k8s.io/round_0_index_1", "fail.example.com"),
        ("mutation.webhook.admission.k8s.io/round_0_index_1", label.as_str()),
        ("mutation.webhook.admission.k8s.io/round_0_index_2", fail.as_str()),
        ("mutation.webhook.admission.k8s.io/round_0_index_3", note.as_str()),
        ("mutation.webhook.admission.k8s.io/round_0_index_4", allow.as_str()),
        ("mutation.webhook.admission.k8s.io/round_1_index_1", again.as_str()),
    ];
    assert_eq!(annotations(&events, created("default")), metadata, "level Metadata");
    let label = r#"{"configuration":"a","webhook":"label.example.com","patch":[{"op":"add","path":"/metadata/annotations","value":{"by":"\u003clabel\u003e"}}],"patchType":"JSONPatch"}"#;
    let note = r#"{"configuration":"b","webhook":"note.example.com","patch":[{"op":"add","path":"/data","value":{"a":"1","b":"2"}}],"patchType":"JSONPatch"}"#;
    let mut request = metadata.to_vec();
    request.extend([
        ("patch.webhook.admission.k8s.io/round_0_index_1", label),
        ("patch.webhook.admission.k8s.io/round_0_index_3", note),
        ("patch.webhook.admission.k8s.io/round_1_index_1", label),
    ]);
    assert_eq!(annotations(&events, created("bodies")), request, "level Request has patches");

    let deprecated = annotations(&events, |event| event["objectRef"]["resource"] == "endpoints");
    assert_eq!(deprecated, [("k8s.io/deprecated", "true")]);

    // A token is known by its id, when it is issued and when it is used.
    let issued = annotations(&events, |event| event["objectRef"]["subresource"] == "token");
    let [("authentication.kubernetes.io/issued-credential-id", id)] = issued[..] else {
        panic!("{issued:?}")
    };
    assert!(id.starts_with("JTI="), "{id}");
    let used = events.iter().find(|event| by_robot(event));
    let extra = &used.unwrap()["user"]["extra"];
    assert_eq!(extra["authentication.kubernetes.io/credential-id"], json!([id]));
}

#[test]
fn events_have_the_annotations_of_policies_and_of_old_tokens() {
    let home = tempfile::tempdir().unwrap();
    let (policy, log) = (home.path().join("policy.yaml"), home.path().join("audit.log"));
    std::fs::write(&policy, POLICY).unwrap();
    let (policy, log_path) = (policy.to_str().unwrap(), log.to_str().unwrap());
    let server =
        Running::start(&["--in-memory", "--audit-policy-file", policy, "--audit-log-path", log_path]);
    let api = server.api();
    let group = "/apis/admissionregistration.k8s.io/v1";
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]});
    let names = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "names"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [
                {"expression": "true"}, {"expression": "object.metadata.name.size() > 3", "message": "too short"},
            ],
            "auditAnnotations": [{"key": "name", "valueExpression": "'named ' + object.metadata.name"}],
        },
    });
    api.create(&format!("{group}/validatingadmissionpolicies"), &names);
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "audited"}, "spec": {"policyName": "names", "validationActions": ["Audit"]},
    });
    api.create(&format!("{group}/validatingadmissionpolicybindings"), &binding);
    for name in ["m", "long-enough"] {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        api.create("/api/v1/namespaces/default/configmaps", &map);
    }

    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}});
    api.create("/api/v1/namespaces/default/serviceaccounts", &account);
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {"name": "old", "annotations": {"kubernetes.io/service-account.name": "robot"}},
    });
    api.create(secrets, &secret);
    let token = eventually("a token", || {
        let found = api.get(&format!("{secrets}/old")).body;
        found["data"]["token"].as_str().map(|token| STANDARD.decode(token).unwrap())
    });
    let token = String::from_utf8(token).unwrap();
    Api::new(Endpoint::new(server.port(), &token)).get("/version").ok();
    Api::new(Endpoint::new(server.port(), "wrong")).get("/livez");
    let created = |name: &'static str| {
        move |event: &Value| event["verb"] == "create" && event["objectRef"]["name"] == name
    };
    let robot = "system:serviceaccount:default:robot";
    let by_robot = |event: &Value| event["user"]["username"] == robot;
    let refused = |event: &Value| event["responseStatus"]["code"] == 401;
    let events = events_with(&log, &[&created("m"), &created("long-enough"), &by_robot, &refused]);
    drop(server);
    let failure = r#"[{"message":"too short","policy":"names","binding":"audited","expressionIndex":1,"validationActions":["Audit"]}]"#;
    assert_eq!(
        annotations(&events, created("m")),
        [("names/name", "named m"), ("validation.policy.admission.k8s.io/validation_failure", failure)]
    );
    assert_eq!(annotations(&events, created("long-enough")), [("names/name", "named long-enough")]);
    let old = annotations(&events, by_robot);
    assert_eq!(old, [("authentication.k8s.io/legacy-token", robot)]);
    let refused = events.iter().find(|event| refused(event)).unwrap();
    let status = json!({"metadata": {}, "message": "Authentication failed, attempted: bearer", "code": 401});
    assert_eq!(refused["responseStatus"], status);
}

/// A server that takes batches of audit events, its kubeconfig, and the batches.
fn sink(home: &Path) -> (String, Arc<Mutex<Vec<Value>>>) {
    let batches = Arc::new(Mutex::new(Vec::new()));
    let taken = batches.clone();
    let server = HookServer::start(0, move |_, batch| {
        taken.lock().unwrap().push(batch.clone());
        (200, "{}".into())
    });
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "sink", "user": ""}}],
        "clusters": [{"name": "sink", "cluster": {
            "server": server.unwrap().url("/events"), "certificate-authority-data": STANDARD.encode(HOOK_CA),
        }}],
    });
    let path = home.join("audit.kubeconfig");
    std::fs::write(&path, config.to_string()).unwrap();
    (path.to_str().unwrap().to_owned(), batches)
}

#[test]
fn events_are_sent_to_a_webhook_in_batches() {
    const SIZE: usize = 5;
    const REQUESTS: usize = 12;
    let home = tempfile::tempdir().unwrap();
    let policy = home.path().join("policy.yaml");
    // Of one user only: clients of the server itself are recorded as well.
    let text = "{apiVersion: audit.k8s.io/v1, kind: Policy, omitStages: [RequestReceived], rules: [{level: Metadata, users: [admin], verbs: [get]}]}";
    std::fs::write(&policy, text).unwrap();
    let (config, batches) = sink(home.path());
    let server = Running::start(&[
        "--in-memory",
        "--audit-policy-file",
        policy.to_str().unwrap(),
        "--audit-webhook-config-file",
        &config,
        "--audit-webhook-batch-max-size",
        &SIZE.to_string(),
        "--audit-webhook-batch-max-wait",
        "1h",
    ]);
    let api = server.api();
    for n in 0..REQUESTS {
        api.get(&format!("/api/v1/namespaces/default/configmaps/m{n}"));
    }
    let full = REQUESTS / SIZE;
    eventually("full batches are sent", || (batches.lock().unwrap().len() >= full).then_some(()));
    for batch in batches.lock().unwrap().iter() {
        assert_eq!((&batch["kind"], &batch["apiVersion"]), (&json!("EventList"), &json!("audit.k8s.io/v1")));
        assert_eq!(batch["items"].as_array().unwrap().len(), SIZE);
    }
    // The rest is sent when the server stops.
    assert!(server.stop());
    let batches = batches.lock().unwrap();
    let events: Vec<&Value> = batches.iter().flat_map(|batch| batch["items"].as_array().unwrap()).collect();
    let names: Vec<&str> = events.iter().map(|event| event["objectRef"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, (0..REQUESTS).map(|n| format!("m{n}")).collect::<Vec<_>>());
    assert!(events.iter().all(|event| event["responseStatus"]["code"] == 404), "{events:?}");
}
