//! Tokens of an OpenID Connect issuer, anonymous requests by path, and what reaches the log, against the real binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod issuer;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use issuer::{Issuer, key, now};
use pleach_clients::{Api, Running, binary, eventually};
use pleach_conformance::Endpoint;
use pleach_json::json as value;
use serde_json::{Value, json};

const SELF_REVIEWS: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const TOKEN_REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";

fn file(home: &Path, name: &str, text: &str) -> PathBuf {
    let path = home.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// The user that the server takes a token for; the status if it takes it for none.
fn user_of(server: &Running, token: &str) -> Result<Value, u16> {
    let api = Api::new(Endpoint::new(server.port(), token));
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let answer = api.send("POST", SELF_REVIEWS, Some(&review));
    if answer.status == 201 { Ok(answer.body["status"]["userInfo"].clone()) } else { Err(answer.status) }
}

fn name_of(server: &Running, token: &str) -> Result<String, u16> {
    user_of(server, token).map(|user| user["username"].as_str().unwrap().to_owned())
}

/// Why the server takes a token for no user.
fn reason(server: &Running, token: &str) -> String {
    let review =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
    let answer = server.api().create(TOKEN_REVIEWS, &review);
    assert_eq!(answer["status"].get("authenticated"), None, "{answer}");
    answer["status"]["error"].as_str().unwrap().to_owned()
}

#[test]
fn an_issuer_by_flags() {
    let signer = key();
    let issuer = Issuer::start(&signer);
    let home = tempfile::tempdir().unwrap();
    let ca = file(home.path(), "ca.crt", &issuer.ca);
    let server = Running::start(&[
        "--in-memory",
        "--oidc-issuer-url",
        &issuer.url,
        "--oidc-client-id=pleach",
        "--oidc-ca-file",
        ca.to_str().unwrap(),
        "--oidc-groups-claim=groups",
        "--oidc-groups-prefix=oidc:",
        "--oidc-required-claim=hd=example.com",
        "--oidc-signing-algs=ES256",
    ]);
    let good = issuer.token(&signer, &[("groups", value!(["dev"])), ("hd", "example.com".into())]);
    let user = eventually("the keys are fetched", || user_of(&server, &good).ok());
    assert_eq!(user["username"], format!("{}#ann", issuer.url));
    assert_eq!(user["groups"], json!(["oidc:dev", "system:authenticated"]));
    // Its rights are those of its bindings.
    let api = Api::new(Endpoint::new(server.port(), &good));
    let maps = "/api/v1/namespaces/default/configmaps";
    assert_eq!(api.get(maps).status, 403);
    server.api().create(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
        &json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "dev"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "oidc:dev"}],
        }),
    );
    assert_eq!(api.get(maps).status, 200);
    let review =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": good}});
    let reviewed = server.api().create(TOKEN_REVIEWS, &review);
    assert_eq!(reviewed["status"]["authenticated"], true);
    assert_eq!(reviewed["status"]["user"]["username"], user["username"]);

    let hd = ("hd", value!("example.com"));
    for (token, want) in [
        (issuer.token(&signer, &[]), "oidc: required claim hd not present in ID token"),
        (
            issuer.token(&signer, &[hd.clone(), ("aud", "other".into())]),
            "expected audience \"pleach\" got [\"other\"]",
        ),
        (issuer.token(&signer, &[hd.clone(), ("exp", (now() - 100).into())]), "oidc: token is expired"),
        (issuer.token(&key(), std::slice::from_ref(&hd)), "failed to verify id token signature"),
    ] {
        assert_eq!(user_of(&server, &token), Err(401), "{want}");
        let why = reason(&server, &token);
        assert!(why.starts_with("[invalid bearer token, oidc: ") && why.contains(want), "{why}");
    }
    assert_eq!(reason(&server, "x.y.z"), "invalid bearer token");

    // The keys change, and the issuer goes on.
    let next = key();
    issuer.publish(&[&signer, &next]);
    let token = issuer.token(&next, std::slice::from_ref(&hd));
    eventually("the new key is fetched", || name_of(&server, &token).ok());
    issuer.publish(&[&next]);
    let asked = issuer.asked();
    eventually("the old key is gone", || {
        // A token that no key has signed makes the server look.
        let _ = user_of(&server, &issuer.token(&key(), &[]));
        (user_of(&server, &good) == Err(401)).then_some(())
    });
    assert!(issuer.asked() > asked);
    assert!(name_of(&server, &token).is_ok());
}

const CONFIGURATION: &str = r#"
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
anonymous: {enabled: true, conditions: [{path: /livez}, {path: /version}]}
jwt:
- issuer: {url: "FIRST", audiences: [pleach, other], audienceMatchPolicy: MatchAny, certificateAuthority: "CA"}
  claimValidationRules:
  - {expression: "claims.exp - claims.iat <= 3600", message: an hour at most}
  claimMappings:
    username: {expression: "'first:' + claims.sub"}
    groups: {expression: "claims.roles.split(',')"}
    uid: {claim: id}
    extra: [{key: example.com/tenant, valueExpression: claims.tenant}]
  userValidationRules:
  - {expression: "!user.username.startsWith('first:system:')", message: reserved}
- issuer: {url: "https://second.example.com", audiences: [pleach], jwksFile: "KEYS"}
  claimMappings: {username: {claim: sub, prefix: "second:"}}
"#;

#[test]
fn several_issuers_by_configuration() {
    let (first_key, second_key) = (key(), key());
    // The issuer does not run yet.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let issuer = Issuer::listen(listener, &first_key);
    let home = tempfile::tempdir().unwrap();
    let set = pleach_json::to_string(&value!({"keys": [(second_key.public().jwk().clone())]}));
    let keys = file(home.path(), "keys.json", &set);
    let text = CONFIGURATION
        .replace("FIRST", &issuer.url)
        .replace("CA", &issuer.ca.replace('\n', "\\n"))
        .replace("KEYS", keys.to_str().unwrap());
    let config = file(home.path(), "authentication.yaml", &text);
    let server = Running::start(&["--in-memory", "--authentication-config", config.to_str().unwrap()]);
    let first = |sub: &str, lifetime: i64| {
        let claims = [
            ("sub", sub.into()),
            ("iat", now().into()),
            ("exp", (now() + lifetime).into()),
            ("roles", "a,b".into()),
            ("id", "7".into()),
            ("tenant", value!(["t"])),
            ("aud", value!(["x", "other"])),
        ];
        issuer.token(&first_key, &claims)
    };
    let user = eventually("the keys are fetched", || user_of(&server, &first("ann", 3_600)).ok());
    assert_eq!(
        user,
        json!({
            "username": "first:ann", "uid": "7", "groups": ["a", "b", "system:authenticated"],
            "extra": {"example.com/tenant": ["t"]},
        })
    );
    let why = reason(&server, &first("ann", 7_200));
    assert!(
        why.contains("validation expression 'claims.exp - claims.iat <= 3600' failed: an hour at most"),
        "{why}"
    );
    assert!(reason(&server, &first("system:admin", 60)).contains("failed: reserved"));
    assert_eq!(user_of(&server, &first("system:admin", 60)), Err(401));

    // Keys from a file need no network.
    let second = |sub: &str| {
        let claims = value!({
            "iss": "https://second.example.com", "aud": "pleach", "sub": (sub), "exp": (now() + 60),
        });
        second_key.token(&claims).unwrap()
    };
    assert_eq!(name_of(&server, &second("bob")).as_deref(), Ok("second:bob"));

    // Requests without credentials are served at two paths.
    for (path, want) in
        [("/livez", 200), ("/version", 200), ("/livez/ping", 401), ("/healthz", 401), ("/api", 401)]
    {
        assert_eq!(server.api().anonymous("GET", path).unwrap().status, want, "{path}");
    }

    // A change counts without a restart; a file with errors does not.
    std::fs::write(&config, "nonsense").unwrap();
    std::thread::sleep(std::time::Duration::from_secs(6));
    assert_eq!(name_of(&server, &second("bob")).as_deref(), Ok("second:bob"));
    std::fs::write(&config, text.replace("second:", "2:")).unwrap();
    eventually("the configuration is read again", || {
        (name_of(&server, &second("eve")).as_deref() == Ok("2:eve")).then_some(())
    });
}

#[test]
fn configurations_with_errors_keep_the_server_from_starting() {
    let home = tempfile::tempdir().unwrap();
    let with = |name: &str, text: &str| file(home.path(), name, text).to_str().unwrap().to_owned();
    let config = |jwt: &str| {
        format!("{{apiVersion: apiserver.config.k8s.io/v1, kind: AuthenticationConfiguration, jwt: [{jwt}]}}")
    };
    let mapping = "claimMappings: {username: {claim: sub, prefix: ''}}";
    let http = with("http", &config(&format!("{{issuer: {{url: 'http://a', audiences: [a]}}, {mapping}}}")));
    let own = with(
        "own",
        &config(&format!("{{issuer: {{url: 'https://kubernetes.default.svc', audiences: [a]}}, {mapping}}}")),
    );
    let keys = with(
        "keys",
        &config(&format!("{{issuer: {{url: 'https://a', audiences: [a], jwksFile: /nowhere}}, {mapping}}}")),
    );
    let anonymous = with(
        "anonymous",
        "{apiVersion: apiserver.config.k8s.io/v1, kind: AuthenticationConfiguration, anonymous: {enabled: false}}",
    );
    let kind = with("kind", "{apiVersion: apiserver.config.k8s.io/v1, kind: AuthorizationConfiguration}");
    let oidc = ["--oidc-issuer-url=https://a", "--oidc-client-id=x"];
    for (arguments, want) in [
        (vec!["--authentication-config", &http], "URL scheme must be https"),
        (
            vec!["--authentication-config", &own],
            "URL must not overlap with disallowed issuers: [https://kubernetes.default.svc]",
        ),
        (vec!["--authentication-config", &keys], "cannot read /nowhere"),
        (vec!["--authentication-config", &kind], "no kind \"AuthorizationConfiguration\" is registered"),
        (vec!["--authentication-config", "/nowhere"], "cannot read /nowhere"),
        (
            vec!["--authentication-config", &anonymous, "--anonymous-auth=true"],
            "--anonymous-auth flag cannot be set",
        ),
        (vec!["--authentication-config", &anonymous, oidc[0], oidc[1]], "cannot be used with"),
        (vec!["--oidc-issuer-url=https://a"], "--oidc-client-id"),
        (vec!["--oidc-issuer-url=http://a", oidc[1]], "URL scheme must be https"),
        (vec![oidc[0], oidc[1], "--oidc-signing-algs=HS256"], "unsupported signing alg"),
        (
            vec![oidc[0], oidc[1], "--oidc-ca-file", &http],
            "data does not contain any valid RSA or ECDSA certificates",
        ),
        (vec![oidc[0], oidc[1], "--oidc-required-claim=a"], "must be formatted as key=value"),
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

#[test]
fn credentials_and_secrets_do_not_reach_the_log() {
    let home = tempfile::tempdir().unwrap();
    let signer = key();
    let issuer = Issuer::start(&signer);
    let ca = file(home.path(), "ca.crt", &issuer.ca);
    let tokens = file(home.path(), "tokens.csv", "static-token-of-ann,ann,1\n");
    let secret = "c2VjcmV0LWtleS1vZi0zMi1ieXRlcy1mb3ItdGVzdHM=";
    let encryption = file(
        home.path(),
        "encryption.yaml",
        &format!(
            "{{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{{resources: [secrets], providers: [{{aesgcm: {{keys: [{{name: k, secret: {secret}}}]}}}}]}}]}}"
        ),
    );
    let (log, kubeconfig) = (home.path().join("log"), home.path().join("kubeconfig"));
    let mut child = Command::new(binary())
        .args(["serve", "--port", "0", "--token", "token-of-the-admin", "--log-level", "trace"])
        .args(["--oidc-issuer-url", &issuer.url, "--oidc-client-id", "pleach"])
        .arg("--oidc-ca-file")
        .arg(&ca)
        .arg("--data-dir")
        .arg(home.path().join("data"))
        .arg("--token-auth-file")
        .arg(&tokens)
        .arg("--encryption-provider-config")
        .arg(&encryption)
        .arg("--kubeconfig")
        .arg(&kubeconfig)
        .stdout(Stdio::null())
        .stderr(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let port = eventually("the server has started", || {
        let text = std::fs::read_to_string(&kubeconfig).ok()?;
        text.split("https://127.0.0.1:").nth(1)?.split(['\n', '"']).next()?.trim().parse::<u16>().ok()
    });
    let admin = Api::new(Endpoint::new(port, "token-of-the-admin"));
    eventually("it answers", || (admin.try_send("GET", "/readyz", None).ok()?.status == 200).then_some(()));
    let good = issuer.token(&signer, &[]);
    let bad = issuer.token(&key(), &[]);
    for token in ["token-of-the-admin", "static-token-of-ann", "token-of-nobody", &good, &bad, "not.a.token"]
    {
        let _ = Api::new(Endpoint::new(port, token)).get("/api/v1/namespaces/default/secrets");
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
        admin.create(TOKEN_REVIEWS, &review);
    }
    let secrets = "/api/v1/namespaces/default/secrets";
    admin.create(
        secrets,
        &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "value-of-the-secret"}}),
    );
    assert_eq!(admin.get(&format!("{secrets}/s")).status, 200);
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    admin.create(
        accounts,
        &json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}),
    );
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let issued = admin.create(&format!("{accounts}/robot/token"), &request);
    let issued = issued["status"]["token"].as_str().unwrap().to_owned();
    let _ = Api::new(Endpoint::new(port, &issued)).get(secrets);
    // A request that is a 500 is logged as a whole.
    admin.get(&format!("{secrets}/s?resourceVersion=x"));
    let _ = child.kill();
    let _ = child.wait();
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.contains("code=500") && text.lines().count() > 50, "everything is logged");
    let signature = |token: &str| token.rsplit_once('.').unwrap().1.to_owned();
    for (what, hidden) in [
        ("the admin's token", "token-of-the-admin".to_owned()),
        ("a static token", "static-token-of-ann".to_owned()),
        ("a wrong token", "token-of-nobody".to_owned()),
        ("a good token", signature(&good)),
        ("a bad token", signature(&bad)),
        ("a service account's token", signature(&issued)),
        ("the value of a Secret", "value-of-the-secret".to_owned()),
        ("the value of a Secret in base64", "dmFsdWUtb2YtdGhlLXNlY3JldA".to_owned()),
        ("an encryption key", secret.to_owned()),
    ] {
        let line = text.lines().find(|line| line.contains(&hidden));
        assert_eq!(line, None, "{what}");
    }
}
