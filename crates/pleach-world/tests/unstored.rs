//! Admission of requests whose objects are not stored: token requests, reviews, connections to Pods.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use pleach_json::{Value, json};
use pleach_world::{World, WorldOptions};

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const WEBHOOKS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const TOKENS: &str = "/api/v1/namespaces/default/serviceaccounts/robot/token";

struct Fixture(World);

impl Fixture {
    /// A world with a ServiceAccount `robot` and a Pod `web` that runs as it.
    async fn start() -> Self {
        let world =
            World::start(WorldOptions { controllers: false, ..WorldOptions::default() }).await.unwrap();
        let fixture = Self(world);
        fixture
            .create(
                "/api/v1/namespaces/default/serviceaccounts",
                json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}),
            )
            .await;
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
            "spec": {"serviceAccountName": "robot", "containers": [{"name": "c", "image": "i"}]},
        });
        fixture.create("/api/v1/namespaces/default/pods", pod).await;
        fixture
    }

    async fn send(&self, method: &str, path: &str, accept: &str, body: Option<&Value>) -> (u16, Value) {
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let bytes = Bytes::from(body.map(pleach_json::to_vec).unwrap_or_default());
        let request = request.header("accept", accept).body(bytes).unwrap();
        let response = self.0.handle(request, Some(&World::admin())).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, pleach_json::parse(&bytes).unwrap_or_default())
    }

    async fn create(&self, path: &str, object: Value) -> Value {
        let (code, body) = self.send("POST", path, "application/json", Some(&object)).await;
        assert_eq!(code, 201, "{path}: {body}");
        body
    }

    /// The code and message of a request.
    async fn refused(&self, method: &str, path: &str, body: Option<Value>) -> (u16, String) {
        let (code, body) = self.send(method, path, "application/json", body.as_ref()).await;
        (code, body.get("message").and_then(Value::as_str).unwrap_or_default().to_owned())
    }

    /// A policy for an operation on a resource of a group.
    async fn policy(&self, name: &str, operation: &str, (group, resource): (&str, &str), expression: &str) {
        let policy = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": (name)},
            "spec": {
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": [(group)], "apiVersions": ["*"], "operations": [(operation)], "resources": [(resource)],
                }]},
                "validations": [{"expression": (expression), "message": "no"}],
            },
        });
        self.create(POLICIES, policy).await;
        let binding = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": (name)}, "spec": {"policyName": (name), "validationActions": ["Deny"]},
        });
        self.create(BINDINGS, binding).await;
    }
}

fn token_request(spec: Value) -> Value {
    json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": (spec)})
}

fn denied(subject: &str, policy: &str) -> (u16, String) {
    let why = format!("ValidatingAdmissionPolicy '{policy}' with binding '{policy}' denied request: no");
    (422, format!("{subject} is forbidden: {why}"))
}

#[tokio::test]
async fn policies_judge_token_requests_and_connections() {
    let fixture = Fixture::start().await;
    let tokens = "request.subResource == 'token' && request.name == 'robot' && request.kind.kind == 'TokenRequest' \
                  && object.metadata.name == 'robot' && object.spec.expirationSeconds <= 3600";
    fixture.policy("tokens", "CREATE", ("", "serviceaccounts/token"), tokens).await;
    fixture.create(TOKENS, token_request(json!({}))).await;
    let long = token_request(json!({"expirationSeconds": 7200}));
    assert_eq!(
        fixture.refused("POST", TOKENS, Some(long)).await,
        denied("serviceaccounts \"robot\"", "tokens")
    );

    let exec = "request.kind.kind == 'PodExecOptions' && request.options == null && object.command == ['ls', '-l'] \
                && object.stdin && !has(object.tty)";
    fixture.policy("exec", "CONNECT", ("", "pods/exec"), exec).await;
    let web = "/api/v1/namespaces/default/pods/web";
    let no_host = (400, "pod web does not have a host assigned".to_owned());
    for method in ["GET", "POST"] {
        let ask = async |query: &str| fixture.refused(method, &format!("{web}/exec?{query}"), None).await;
        assert_eq!(ask("command=ls&command=-l&stdin=1&tty=false").await, no_host);
        assert_eq!(ask("command=ls&command=-l&stdin=1&tty=true").await, denied("pods \"web\"", "exec"));
    }
    assert_eq!(fixture.refused("GET", &format!("{web}/attach"), None).await, no_host, "another subresource");

    fixture.policy("proxy", "CONNECT", ("", "pods/proxy"), "object.path == '/a/b'").await;
    let proxied = async |path: &str| fixture.refused("PUT", &format!("{web}/proxy{path}"), None).await;
    assert_eq!(proxied("/a/b").await, (400, "address not allowed".to_owned()));
    assert_eq!(proxied("/a/c").await, denied("pods \"web\"", "proxy"));
    fixture.policy("ports", "*", ("", "pods/portforward"), "object.ports == [80, 81]").await;
    let forwarded =
        async |query: &str| fixture.refused("GET", &format!("{web}/portforward?ports={query}"), None).await;
    assert_eq!(forwarded("80,81").await, no_host);
    assert_eq!(forwarded("80").await, denied("pods \"web\"", "ports"));
}

#[tokio::test]
async fn webhooks_are_called_for_reviews_and_policies_are_not() {
    let fixture = Fixture::start().await;
    for group in ["authentication.k8s.io", "authorization.k8s.io"] {
        fixture.policy(group, "*", (group, "*"), "false").await;
    }
    let authorization = "/apis/authorization.k8s.io/v1";
    let attributes = json!({"verb": "get", "resource": "foos", "namespace": "default"});
    let reviews = [
        (
            "/apis/authentication.k8s.io/v1/tokenreviews",
            "authentication",
            "TokenReview",
            json!({"token": "x"}),
        ),
        (
            "/apis/authorization.k8s.io/v1/subjectaccessreviews",
            "authorization",
            "SubjectAccessReview",
            json!({"user": "bob", "resourceAttributes": (attributes.clone())}),
        ),
        (
            "/apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews",
            "authorization",
            "LocalSubjectAccessReview",
            json!({"user": "bob", "resourceAttributes": (attributes)}),
        ),
        (
            "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
            "authorization",
            "SelfSubjectRulesReview",
            json!({"namespace": "default"}),
        ),
    ];
    let review = |group: &str, kind: &str, spec: &Value| json!({"apiVersion": (format!("{group}.k8s.io/v1")), "kind": (kind), "spec": (spec.clone())});
    for (path, group, kind, spec) in &reviews {
        fixture.create(path, review(group, kind, spec)).await;
    }
    let resources: Vec<Value> =
        reviews.iter().map(|(path, ..)| path.rsplit('/').next().unwrap().into()).collect();
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "hooks"},
        "webhooks": [{
            "name": "hook.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "failurePolicy": "Fail",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": (resources)}],
        }],
    });
    fixture.create(WEBHOOKS, configuration).await;
    for (path, group, kind, spec) in &reviews {
        let (code, message) = fixture.refused("POST", path, Some(review(group, kind, spec))).await;
        assert_eq!(code, 500, "{path}: {message}");
        assert!(message.contains("failed calling webhook \"hook.example.com\""), "{path}: {message}");
    }
    // A review that is not valid is refused before validating webhooks.
    let empty = review("authentication", "TokenReview", &json!({}));
    let (code, _) = fixture.refused("POST", reviews[0].0, Some(empty)).await;
    assert_eq!(code, 400);
    // The namespace of a local review need not exist.
    fixture.send("DELETE", &format!("{WEBHOOKS}/hooks"), "application/json", None).await;
    let attributes = json!({"verb": "get", "resource": "foos", "namespace": "none"});
    let local = review(
        "authorization",
        "LocalSubjectAccessReview",
        &json!({"user": "bob", "resourceAttributes": (attributes)}),
    );
    fixture.create(&format!("{authorization}/namespaces/none/localsubjectaccessreviews"), local).await;
}

#[tokio::test]
async fn a_namespace_that_is_being_deleted_gives_no_tokens() {
    let fixture = Fixture::start().await;
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "old"}});
    fixture.create("/api/v1/namespaces", namespace).await;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}});
    fixture.create("/api/v1/namespaces/old/serviceaccounts", account).await;
    let path = "/api/v1/namespaces/old/serviceaccounts/robot/token";
    fixture.create(path, token_request(json!({}))).await;
    fixture.send("DELETE", "/api/v1/namespaces/old", "application/json", None).await;
    let why = "unable to create new content in namespace old because it is being terminated";
    assert_eq!(
        fixture.refused("POST", path, Some(token_request(json!({})))).await,
        (403, format!("serviceaccounts \"robot\" is forbidden: {why}"))
    );
}

#[tokio::test]
async fn token_requests_are_checked_in_order() {
    let fixture = Fixture::start().await;
    let body = || Some(token_request(json!({})));
    let (code, _) = fixture.refused("POST", "/api/v1/serviceaccounts/robot/token", body()).await;
    assert_eq!(code, 404, "a path of no namespace");
    let (code, _) = fixture.send("POST", TOKENS, "text/plain", body().as_ref()).await;
    assert_eq!(code, 406, "before a token is made");
    // The account of a Pod is compared before its uid.
    fixture
        .create(
            "/api/v1/namespaces/default/serviceaccounts",
            json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "other"}}),
        )
        .await;
    let bound = |seconds: i64, uid: &str, audiences: &[&str]| {
        let audiences: Vec<Value> = audiences.iter().map(|text| Value::from(*text)).collect();
        let mut reference = json!({"kind": "Pod", "apiVersion": "v1", "name": "web"});
        if !uid.is_empty() {
            reference.as_object_mut().unwrap().insert("uid", uid);
        }
        token_request(
            json!({"boundObjectRef": (reference), "expirationSeconds": (seconds), "audiences": (audiences)}),
        )
    };
    let path = "/api/v1/namespaces/default/serviceaccounts/other/token";
    let (code, _) = fixture.refused("POST", path, Some(bound(600, "wrong", &[]))).await;
    assert_eq!(code, 400, "another account");
    let (code, _) = fixture.refused("POST", TOKENS, Some(bound(600, "wrong", &[]))).await;
    assert_eq!(code, 409, "another Pod");

    for (seconds, audiences, extended) in
        [(3_607, &[][..], true), (3_608, &[][..], false), (3_607, &["elsewhere"][..], false)]
    {
        let answer = fixture.create(TOKENS, bound(seconds, "", audiences)).await;
        let token = answer.at(&["status", "token"]).and_then(Value::as_str).unwrap();
        let claims = URL_SAFE_NO_PAD.decode(token.split('.').nth(1).unwrap()).unwrap();
        let claims = pleach_json::parse(&claims).unwrap();
        let time = |path: &[&str]| claims.at(path).and_then(Value::as_int);
        let issued = time(&["iat"]).unwrap();
        let lives = if extended { 365 * 24 * 3_600 } else { seconds };
        assert_eq!(time(&["exp"]), Some(issued + lives), "{seconds} {audiences:?}");
        let warns = extended.then_some(issued + seconds);
        assert_eq!(time(&["kubernetes.io", "warnafter"]), warns, "{seconds} {audiences:?}");
        assert_eq!(answer.at(&["spec", "expirationSeconds"]).and_then(Value::as_int), Some(seconds));
    }
}
