//! Tokens in Secrets, auditing and roles learned from it, and files that keep the server from starting, against the
//! real binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pleach_clients::{Api, Running, binary, eventually};
use serde_json::{Value, json};

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

fn token_secret(account: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {
            "name": format!("{account}-token"), "annotations": {"kubernetes.io/service-account.name": account},
        },
    })
}

fn status_of(api: &Api, token: &str, path: &str) -> u16 {
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token},
    });
    let review = api.create("/apis/authentication.k8s.io/v1/tokenreviews", &review);
    if review["status"]["authenticated"] != true {
        return 401;
    }
    let user = review["status"]["user"]["username"].as_str().unwrap().to_owned();
    let attributes = json!({"verb": "list", "resource": path, "namespace": "default"});
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": user, "groups": review["status"]["user"]["groups"], "resourceAttributes": attributes},
    });
    let review = api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", &review);
    if review["status"]["allowed"] == true { 200 } else { 403 }
}

#[test]
fn secrets_of_service_accounts_have_a_token_that_dies_with_the_account() {
    let server = Running::in_memory();
    let api = server.api();
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}});
    let uid = api.create(ACCOUNTS, &account)["metadata"]["uid"].clone();
    api.create(SECRETS, &token_secret("robot"));
    let path = format!("{SECRETS}/robot-token");
    let secret = eventually("a token", || {
        let secret = api.get(&path).body;
        secret["data"]["token"].is_string().then_some(secret)
    });
    assert_eq!(secret["metadata"]["annotations"]["kubernetes.io/service-account.uid"], uid);
    assert_eq!(secret["data"]["namespace"], STANDARD.encode("default"));
    let ca = STANDARD.decode(secret["data"]["ca.crt"].as_str().unwrap()).unwrap();
    assert!(ca.starts_with(b"-----BEGIN CERTIFICATE-----"));
    let token = STANDARD.decode(secret["data"]["token"].as_str().unwrap()).unwrap();
    let token = String::from_utf8(token).unwrap();
    assert_eq!(status_of(&api, &token, "configmaps"), 403, "known, without rights");
    assert_eq!(status_of(&api, &format!("{token}x"), "configmaps"), 401);
    let review = api.create(
        "/apis/authentication.k8s.io/v1/tokenreviews",
        &json!({
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
            "spec": {"token": token, "audiences": ["elsewhere"]},
        }),
    );
    let error = "[invalid bearer token, token audiences [\"https://kubernetes.default.svc\"] is invalid for the target audiences [\"elsewhere\"]]";
    assert_eq!(review["status"], json!({"user": {}, "error": error}), "for this server only");

    // A label of the Secret takes its token out of use.
    let mut labelled = api.get(&path).ok();
    labelled["metadata"]["labels"] = json!({"kubernetes.io/legacy-token-invalid-since": "2026-01-01"});
    api.try_send("PUT", &path, Some(&labelled)).unwrap().ok();
    assert_eq!(status_of(&api, &token, "configmaps"), 401, "marked invalid");
    labelled["metadata"]["labels"] = json!({});
    labelled["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    api.try_send("PUT", &path, Some(&labelled)).unwrap().ok();
    assert_eq!(status_of(&api, &token, "configmaps"), 403, "in use again");

    api.try_send("DELETE", &format!("{ACCOUNTS}/robot"), None).unwrap().ok();
    assert_eq!(status_of(&api, &token, "configmaps"), 401, "at once");
    eventually("the Secret is gone", || (api.get(&path).status == 404).then_some(()));
    api.create(ACCOUNTS, &account);
    assert_eq!(status_of(&api, &token, "configmaps"), 401, "another account of the same name");

    // A Secret for an account that does not exist is removed.
    api.create(SECRETS, &token_secret("nobody"));
    eventually("the Secret is gone", || {
        (api.get(&format!("{SECRETS}/nobody-token")).status == 404).then_some(())
    });
}

const POLICY: &str = "
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, resources: [{group: '', resources: [secrets]}]}
- {level: RequestResponse, omitManagedFields: true}
";

#[test]
fn requests_are_recorded_and_roles_learned_from_the_record() {
    let home = tempfile::tempdir().unwrap();
    let (policy, log) = (home.path().join("policy.yaml"), home.path().join("audit.log"));
    std::fs::write(&policy, POLICY).unwrap();
    let server = Running::start(&[
        "--in-memory",
        "--audit-policy-file",
        policy.to_str().unwrap(),
        "--audit-log-path",
        log.to_str().unwrap(),
    ]);
    let api = server.api();
    let maps = "/api/v1/namespaces/default/configmaps";
    api.create(
        maps,
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "seen-text"}}),
    );
    api.create(
        SECRETS,
        &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "hidden-text"}}),
    );
    let answer = api.raw_with("GET", &format!("{maps}/m"), &[("Impersonate-User", "bob")], None).unwrap();
    assert_eq!(answer.status, 403);
    eventually("the last event", || {
        std::fs::read_to_string(&log).unwrap().contains("impersonatedUser").then_some(())
    });
    drop(server);
    let text = std::fs::read_to_string(&log).unwrap();
    let events: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(text.contains("seen-text") && !text.contains("hidden-text"), "the level of Secrets is Metadata");
    let created = events.iter().find(|event| event["objectRef"]["name"] == "m" && event["verb"] == "create");
    let created = created.unwrap();
    assert_eq!(created["stage"], "ResponseComplete");
    assert_eq!(created["responseStatus"]["code"], 201);
    assert_eq!(created["requestObject"]["data"]["a"], "seen-text");
    assert_eq!(created["responseObject"]["metadata"].get("managedFields"), None);
    assert_eq!(created["annotations"]["authorization.k8s.io/decision"], "allow");
    let refused = events.iter().find(|event| event["impersonatedUser"]["username"] == "bob").unwrap();
    assert_eq!(refused["responseStatus"]["reason"], "Forbidden");
    assert_eq!(refused["annotations"]["authorization.k8s.io/decision"], "forbid");
    assert_eq!(refused["authenticationMetadata"]["impersonationConstraint"], "impersonate:user-info");

    let learn = |more: &[&str]| {
        let learn = ["rbac", "learn", "--from-audit", log.to_str().unwrap(), "--user", "bob"];
        let ran = Command::new(binary()).args(learn).args(more).output().unwrap();
        (ran.status.code(), String::from_utf8(ran.stdout).unwrap())
    };
    assert_eq!(learn(&[]), (Some(0), String::new()), "what was forbidden does not count");
    let (code, roles) = learn(&["--include-forbidden"]);
    assert_eq!(code, Some(0));
    assert!(roles.contains("kind: Role\n") && roles.contains("resourceNames:\n  - m\n"), "{roles}");
}

#[test]
fn roles_are_learned_from_a_live_record() {
    let home = tempfile::tempdir().unwrap();
    let record = home.path().join("access.jsonl");
    let server = Running::start(&["--in-memory", "--record-access", record.to_str().unwrap()]);
    let api = server.api();
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}}).to_string();
    let as_robot = |method: &str, path: &str, body: Option<&str>| {
        let headers = [
            ("Impersonate-User", "system:serviceaccount:ops:robot"),
            ("Impersonate-Group", "system:serviceaccounts"),
            ("Content-Type", "application/json"),
        ];
        api.raw_with(method, path, &headers, body).unwrap().status
    };
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "robot"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "ops"}],
    });
    api.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding);
    assert_eq!(as_robot("POST", maps, Some(&map)), 201);
    for _ in 0..50 {
        assert_eq!(as_robot("GET", &format!("{maps}/m"), None), 200);
    }
    assert_eq!(as_robot("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles", None), 403);
    // While the server runs.
    assert_eq!(std::fs::read_to_string(&record).unwrap().lines().count(), 3);
    let learn = |more: &[&str]| {
        let learn =
            ["rbac", "learn", "--from-audit", record.to_str().unwrap(), "--service-account", "ops/robot"];
        let ran = Command::new(binary()).args(learn).args(more).output().unwrap();
        (ran.status.code(), String::from_utf8(ran.stdout).unwrap())
    };
    let (code, roles) = learn(&[]);
    assert_eq!(code, Some(0));
    assert!(roles.contains("resourceNames:\n  - m\n") && !roles.contains("clusterroles"), "{roles}");
    let role = home.path().join("role.yaml");
    std::fs::write(
        &role,
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r, namespace: default}, rules: [{apiGroups: [''], resources: [configmaps], verbs: [get, create]}, {apiGroups: [''], resources: [secrets], verbs: [get]}]}",
    )
    .unwrap();
    let (code, unused) = learn(&["--role", role.to_str().unwrap()]);
    assert!(code == Some(1) && unused.contains("secrets") && !unused.contains("configmaps"), "{unused}");

    // The learned roles are enough: with them instead of the binding the same requests succeed.
    api.try_send("DELETE", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/robot", None)
        .unwrap()
        .ok();
    assert_eq!(as_robot("GET", &format!("{maps}/m"), None), 403);
    for object in roles.split("---\n") {
        let kind = if object.contains("kind: RoleBinding") { "rolebindings" } else { "roles" };
        let path = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/default/{kind}");
        let made =
            api.raw_with("POST", &path, &[("Content-Type", "application/yaml")], Some(object)).unwrap();
        assert_eq!(made.status, 201, "{object}");
    }
    assert_eq!(as_robot("GET", &format!("{maps}/m"), None), 200);
    assert_eq!(as_robot("DELETE", &format!("{maps}/m"), None), 403);
}

#[test]
fn files_with_errors_keep_the_server_from_starting() {
    let home = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let policy = file("policy", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Everything}]\n");
    let authorizers = file(
        "authorizers",
        "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: [{type: Node, name: node}]\n",
    );
    let nonsense = file("nonsense", "nonsense");
    let empty = file("empty", "");
    for (arguments, want) in [
        (vec!["--audit-policy-file", &policy, "--audit-log-path", "-"], "rules[0].level: Unsupported value"),
        (vec!["--audit-policy-file", &policy[..3]], "cannot read"),
        (vec!["--authorization-config", &authorizers], "authorizers[0].type: Unsupported value: \"Node\""),
        (vec!["--authorization-mode", "Webhook"], "config file not passed"),
        (vec!["--client-ca-file", &nonsense[..3]], "cannot read"),
        (vec!["--tls-cert-file", &nonsense, "--tls-private-key-file", &nonsense], "certificate"),
        (vec!["--tls-min-version", "VersionTLS14"], "unknown tls version"),
        (vec!["--tls-cipher-suites", "TLS_NONE"], "Cipher suite TLS_NONE not supported or doesn't exist"),
        (vec!["--token-file", &empty], "the token is empty"),
    ] {
        let ran = Command::new(binary())
            .args(["serve", "--in-memory", "--port", "0"])
            .args(&arguments)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&ran.stderr);
        assert!(!ran.status.success() && error.contains(want), "{arguments:?}: {error}");
    }
}
