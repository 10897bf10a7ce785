use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use pleach_json::{Value, json, to_vec};

use super::*;
use crate::config::{IssuerConfig, Mapping};
use crate::key::SigningKey;
use crate::key_source::{FetchFuture, Fetched};

const ISSUER: &str = "https://issuer.example.com";
const NOW: i64 = 1_000_000;

/// Documents by URL; counts how often they are asked for.
#[derive(Default)]
struct Documents {
    by_url: Mutex<BTreeMap<String, Result<Vec<u8>, String>>>,
    asked: AtomicUsize,
}

impl Documents {
    fn put(&self, url: &str, document: &Value) {
        self.by_url.lock().unwrap().insert(url.into(), Ok(to_vec(document)));
    }

    fn publish(&self, keys: &[&SigningKey]) {
        self.put(
            &format!("{ISSUER}/.well-known/openid-configuration"),
            &json!({"issuer": (ISSUER), "jwks_uri": "https://issuer.example.com/keys"}),
        );
        let keys: Vec<Value> = keys.iter().map(|key| key.public().jwk().clone()).collect();
        self.put("https://issuer.example.com/keys", &json!({"keys": (keys)}));
    }
}

impl Fetch for Documents {
    fn get<'a>(&'a self, url: &'a str, _: &'a [u8]) -> FetchFuture<'a> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let found = self.by_url.lock().unwrap().get(url).cloned();
        Box::pin(async move {
            let body = found.unwrap_or_else(|| Err(format!("Get {url:?}: no such host")))?;
            Ok(Fetched { body: body.into(), max_age: None })
        })
    }
}

fn key() -> SigningKey {
    SigningKey::from_pem(&SigningKey::generate().unwrap()).unwrap()
}

fn config() -> JwtConfig {
    JwtConfig {
        issuer: IssuerConfig { url: ISSUER.into(), audiences: vec!["a".into()], ..IssuerConfig::default() },
        username: Mapping { claim: "sub".into(), prefix: Some(String::new()), ..Mapping::default() },
        ..JwtConfig::default()
    }
}

fn authenticators(config: JwtConfig, documents: &Arc<Documents>) -> JwtAuthenticators {
    let authenticator = JwtAuthenticator::new(config, &[], documents.clone()).unwrap();
    JwtAuthenticators::new(vec![authenticator], || NOW)
}

fn claims() -> Value {
    json!({"iss": (ISSUER), "aud": "a", "sub": "ann", "exp": (NOW + 60), "nbf": (NOW)})
}

fn with(key: &str, value: impl Into<Value>) -> Value {
    let mut claims = claims();
    claims.as_object_mut().unwrap().insert(key, value);
    claims
}

async fn error(authenticators: &JwtAuthenticators, token: &str) -> String {
    match authenticators.check(token).await {
        Err(TokenError::Invalid(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

/// Lets the background task fetch.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn tokens_are_good_or_the_reason_is_known() {
    let (signer, other) = (key(), key());
    let documents = Arc::new(Documents::default());
    documents.publish(&[&signer]);
    let found = authenticators(config(), &documents);
    settle().await;
    let good = signer.token(&claims()).unwrap();
    let user = found.check(&good).await.unwrap();
    assert_eq!(user.name, "ann");
    assert_eq!(user.groups, ["system:authenticated"]);
    for token in
        ["", "x", "a.b.c", &signer.token(&with("iss", "https://other")).unwrap(), &format!("{good}.x")]
    {
        assert_eq!(found.check(token).await, Err(TokenError::Unknown), "{token}");
    }
    for (token, want) in [
        (signer.token(&with("aud", "b")), "oidc: verify token: oidc: expected audience \"a\" got [\"b\"]"),
        (
            signer.token(&with("exp", NOW - 1)),
            "oidc: verify token: oidc: token is expired (Token Expiry: 1970-01-12 13:46:39 +0000 UTC)",
        ),
        (signer.token(&with("exp", i64::MIN)), "oidc: verify token: oidc: token is expired"),
        (signer.token(&with("exp", "never")), "oidc: verify token: oidc: token is expired"),
        (signer.token(&with("nbf", NOW + 61)), "oidc: verify token: oidc: current time 1970-01-12 13:46:40"),
        (
            other.token(&claims()),
            "oidc: verify token: failed to verify signature: failed to verify id token signature",
        ),
        (signer.token(&with("sub", 1)), "oidc: parse username claims \"sub\": json: "),
    ] {
        let reason = error(&found, &token.unwrap()).await;
        assert!(reason.starts_with(want), "{reason}");
    }
    let signature = good.rsplit_once('.').unwrap().1;
    let payload = good.split('.').nth(1).unwrap();
    for (header, want) in [
        ("{\"alg\":\"none\"}", "unsupported algorithm"),
        ("{\"alg\":\"HS256\"}", "unsupported algorithm"),
        ("{\"alg\":\"RS256\"}", "failed to verify id token signature"),
        ("[]", "malformed jwt"),
    ] {
        let header = pleach_go::base64::encode_raw_url(header);
        for signature in [signature, ""] {
            let reason = error(&found, &format!("{header}.{payload}.{signature}")).await;
            assert!(reason.contains(want), "{reason}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn only_allowed_algorithms_count() {
    let signer = key();
    let documents = Arc::new(Documents::default());
    documents.publish(&[&signer]);
    let found = authenticators(JwtConfig { algorithms: vec!["RS256".into()], ..config() }, &documents);
    settle().await;
    let reason = error(&found, &signer.token(&claims()).unwrap()).await;
    assert_eq!(
        reason,
        "oidc: verify token: oidc: id token signed with unsupported algorithm, expected [\"RS256\"] got \"ES256\""
    );
    let config = JwtConfig { algorithms: vec!["HS256".into()], ..config() };
    assert!(JwtAuthenticator::new(config, &[], documents).unwrap_err().contains("unsupported signing alg"));
}

#[tokio::test(start_paused = true)]
async fn an_issuer_may_come_later_and_change_its_keys() {
    let (first, second) = (key(), key());
    let documents = Arc::new(Documents::default());
    let found = authenticators(config(), &documents);
    settle().await;
    let token = first.token(&claims()).unwrap();
    assert_eq!(error(&found, &token).await, "oidc: authenticator not initialized");
    let asked = documents.asked.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(100)).await;
    let more = documents.asked.load(Ordering::SeqCst) - asked;
    assert!((9..=14).contains(&more), "it is asked again, ever less often: {more}");
    documents.publish(&[&first]);
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(found.check(&token).await.unwrap().name, "ann");
    // A new key is fetched when a token is signed with it.
    documents.publish(&[&second]);
    let next = second.token(&claims()).unwrap();
    assert_eq!(found.check(&next).await.unwrap().name, "ann");
    assert_eq!(found.check(&token).await.unwrap().name, "ann", "remembered for ten seconds");
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert!(error(&found, &token).await.contains("failed to verify"), "the old key is gone");
    assert_eq!(found.check(&next).await.unwrap().name, "ann");
    // An issuer that is gone does not take its keys along.
    documents.by_url.lock().unwrap().clear();
    tokio::time::sleep(Duration::from_secs(4_000)).await;
    assert_eq!(found.check(&next).await.unwrap().name, "ann");
}

#[tokio::test(start_paused = true)]
async fn bad_tokens_do_not_make_requests_to_the_issuer() {
    let documents = Arc::new(Documents::default());
    documents.publish(&[&key()]);
    let found = authenticators(config(), &documents);
    settle().await;
    let asked = documents.asked.load(Ordering::SeqCst);
    for _ in 0..100 {
        error(&found, &key().token(&claims()).unwrap()).await;
    }
    let more = documents.asked.load(Ordering::SeqCst) - asked;
    assert!(more <= 1, "{more} requests for 100 tokens");
}

#[tokio::test(start_paused = true)]
async fn issuers_with_wrong_documents_have_no_keys() {
    for (document, keys) in [
        (
            json!({"issuer": "https://other", "jwks_uri": "https://issuer.example.com/keys"}),
            json!({"keys": []}),
        ),
        (json!({"issuer": (ISSUER), "jwks_uri": "http://issuer.example.com/keys"}), json!({"keys": []})),
        (json!({"issuer": (ISSUER), "jwks_uri": "https://issuer.example.com/keys"}), json!({"keys": 1})),
        (json!([]), json!([])),
    ] {
        let documents = Arc::new(Documents::default());
        documents.put(&format!("{ISSUER}/.well-known/openid-configuration"), &document);
        documents.put("https://issuer.example.com/keys", &keys);
        documents.put("http://issuer.example.com/keys", &keys);
        let found = authenticators(config(), &documents);
        settle().await;
        let reason = error(&found, &key().token(&claims()).unwrap()).await;
        assert_eq!(reason, "oidc: authenticator not initialized", "{document:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn keys_may_be_in_a_file() {
    let signer = key();
    let path = std::env::temp_dir().join(format!("pleach-jwks-{}", std::process::id()));
    std::fs::write(&path, to_vec(&json!({"keys": [(signer.public().jwk().clone())]}))).unwrap();
    let mut config = config();
    config.issuer.jwks_file = Some(path.clone());
    let documents = Arc::new(Documents::default());
    let found = authenticators(config.clone(), &documents);
    let user = found.check(&signer.token(&claims()).unwrap()).await.unwrap();
    assert_eq!((user.name.as_str(), documents.asked.load(Ordering::SeqCst)), ("ann", 0));
    std::fs::remove_file(&path).unwrap();
    let error = JwtAuthenticator::new(config, &[], documents).unwrap_err();
    assert!(error.starts_with("cannot read "), "{error}");
}

#[tokio::test(start_paused = true)]
async fn replaced_authenticators_count_at_once() {
    let signer = key();
    let documents = Arc::new(Documents::default());
    documents.publish(&[&signer]);
    let found = authenticators(config(), &documents);
    settle().await;
    let token = signer.token(&claims()).unwrap();
    found.check(&token).await.unwrap();
    found.replace(Vec::new());
    assert_eq!(found.check(&token).await, Err(TokenError::Unknown));
}

/// Tokens and keys made by Go's `crypto` packages (`go_tokens.json`), one for each algorithm.
#[tokio::test(start_paused = true)]
async fn tokens_of_other_implementations_are_verified() {
    let file = pleach_json::parse(include_bytes!("go_tokens.json")).unwrap();
    let documents = Arc::new(Documents::default());
    documents.publish(&[]);
    documents.put("https://issuer.example.com/keys", file.get("jwks").unwrap());
    let found = authenticators(config(), &documents);
    settle().await;
    let tokens = file.get("tokens").and_then(Value::as_object).unwrap();
    assert_eq!(tokens.len(), Algorithm::ALL.len());
    for (algorithm, token) in tokens.iter() {
        let token = token.as_str().unwrap();
        assert_eq!(found.check(token).await.unwrap().name, "ann", "{algorithm}");
        let other = if algorithm.ends_with("256") { "RS384" } else { "RS256" };
        let (header, rest) = token.split_once('.').unwrap();
        let header = String::from_utf8(pleach_go::base64::decode_raw_url(header).unwrap()).unwrap();
        let header = pleach_go::base64::encode_raw_url(header.replace(algorithm.as_str(), other));
        assert!(error(&found, &format!("{header}.{rest}")).await.contains("failed to verify"), "{algorithm}");
    }
}
