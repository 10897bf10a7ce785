//! `--authorization-config` with a webhook, of the real binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pleach_clients::{Api, Running, eventually};
use pleach_conformance::{Endpoint, HOOK_CA, HookServer};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";

/// Allows ann to read ConfigMaps, denies Secrets, fails for carl and has no opinion otherwise.
fn authorizer() -> (HookServer, Arc<Mutex<Vec<Value>>>) {
    let reviews = Arc::new(Mutex::new(Vec::new()));
    let noted = reviews.clone();
    let server = HookServer::start(0, move |_, review| {
        noted.lock().unwrap().push(review["spec"].clone());
        let (user, resource) = (&review["spec"]["user"], &review["spec"]["resourceAttributes"]["resource"]);
        if user == "carl" {
            return (500, "broken".into());
        }
        let status = match (user.as_str(), resource.as_str()) {
            (_, Some("secrets")) => json!({"allowed": false, "denied": true, "reason": "secrets are secret"}),
            (Some("ann"), Some("configmaps")) => json!({"allowed": true}),
            _ => json!({"allowed": false, "reason": "no idea"}),
        };
        let mut answer = review.clone();
        answer["status"] = status;
        (200, answer.to_string())
    });
    (server.unwrap(), reviews)
}

#[test]
fn a_webhook_decides_before_rbac() {
    let home = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (webhook, reviews) = authorizer();
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "hook", "user": "server"}}],
        "clusters": [{"name": "hook", "cluster": {
            "server": webhook.url("/authorize"), "certificate-authority-data": STANDARD.encode(HOOK_CA),
        }}],
        "users": [{"name": "server", "user": {}}],
    });
    let kubeconfig = file("hook.kubeconfig", &kubeconfig.to_string());
    let config = json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AuthorizationConfiguration",
        "authorizers": [
            {"type": "Webhook", "name": "hook", "webhook": {
                "timeout": "10s", "subjectAccessReviewVersion": "v1", "failurePolicy": "Deny",
                "matchConditionSubjectAccessReviewVersion": "v1",
                "connectionInfo": {"type": "KubeConfigFile", "kubeConfigFile": kubeconfig},
                "matchConditions": [
                    {"expression": "!('system:masters' in request.groups)"},
                    {"expression": "has(request.resourceAttributes)"},
                ],
            }},
            {"type": "RBAC", "name": "rbac"},
        ],
    });
    let config = file("authorization.yaml", &config.to_string());
    let tokens = file("tokens.csv", "ann-token,ann,1,dev\nbob-token,bob,2\ncarl-token,carl,3\n");
    let server =
        Running::start(&["--in-memory", "--authorization-config", &config, "--token-auth-file", &tokens]);
    let admin = server.api();
    let of = |token: &str| Api::new(Endpoint::new(server.port(), token));
    let (ann, bob, carl) = (of("ann-token"), of("bob-token"), of("carl-token"));
    let subject = |name: &str| json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name});
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "all"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [subject("bob"), subject("carl")],
    });
    admin.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &binding);
    assert_eq!(admin.get(SECRETS).status, 200);
    reviews.lock().unwrap().clear();
    let asked_for = |user: &str| reviews.lock().unwrap().iter().filter(|spec| spec["user"] == user).count();

    assert_eq!(ann.get(MAPS).status, 200, "the webhook allows it");
    let spec = reviews.lock().unwrap()[0].clone();
    assert_eq!(spec["groups"], json!(["dev", "system:authenticated"]));
    assert_eq!(spec["uid"], "1");
    let attributes = &spec["resourceAttributes"];
    assert_eq!(
        (&attributes["verb"], &attributes["namespace"], &attributes["version"]),
        (&json!("list"), &json!("default"), &json!("v1"))
    );
    assert_eq!(ann.get(MAPS).status, 200);
    assert_eq!(asked_for("ann"), 1, "the answer is remembered");
    let services = ann.get("/api/v1/namespaces/default/services");
    assert_eq!(services.status, 403, "neither the webhook nor a role allows it");
    assert_eq!(ann.get("/version").status, 200, "no resource: the conditions leave it to RBAC");
    assert_eq!(asked_for("ann"), 2);

    assert_eq!(bob.get(MAPS).status, 200, "the webhook has no opinion, a role allows it");
    let denied = bob.get(SECRETS);
    assert_eq!(denied.status, 403, "the webhook denies it whatever roles say");
    assert!(denied.body["message"].as_str().unwrap().ends_with("secrets are secret"), "{}", denied.body);

    let path = format!("{MAPS}?labelSelector=a%3Db&fieldSelector=metadata.name!%3Dx");
    let failed = carl.raw_with("GET", &path, &[], None).unwrap();
    assert_eq!(failed.status, 500, "the webhook fails, the failure policy is Deny");
    let spec = reviews.lock().unwrap().last().unwrap().clone();
    let label = json!({"requirements": [{"key": "a", "operator": "In", "values": ["b"]}]});
    assert_eq!(spec["resourceAttributes"]["labelSelector"], label);
    let field = json!({"requirements": [{"key": "metadata.name", "operator": "NotIn", "values": ["x"]}]});
    assert_eq!(spec["resourceAttributes"]["fieldSelector"], field);
    let asked = asked_for("carl");
    assert_eq!(carl.raw_with("GET", MAPS, &[], None).unwrap().status, 500);
    assert!(asked_for("carl") > asked, "a failure is not remembered");
    assert_eq!((asked_for("admin"), admin.get(SECRETS).status), (0, 200), "the conditions leave out masters");

    // Access reviews ask the same chain.
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "list", "resource": "secrets", "namespace": "default"}},
    });
    let review = bob.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &review);
    assert_eq!(review["status"]["allowed"], false);
    assert_eq!(review["status"]["denied"], true, "{review}");

    // A change of the file counts without a restart; a file with errors does not.
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, "kind: Nonsense").unwrap();
    let mut without: Value = serde_json::from_str(&text).unwrap();
    without["authorizers"].as_array_mut().unwrap().remove(0);
    assert_eq!(bob.get(SECRETS).status, 403);
    std::fs::write(&config, without.to_string()).unwrap();
    eventually("the webhook is not asked any more", || (bob.get(SECRETS).status == 200).then_some(()));
}
