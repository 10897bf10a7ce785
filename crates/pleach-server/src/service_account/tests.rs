//! Tokens that are issued and checked over the model store.

use pleach_engine::deterministic;
use pleach_engine::options::{Body, Context, DeleteOptions, Format, WriteOptions};
use pleach_store::ModelStore;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use pleach_json::to_vec;

use super::*;

const ISSUER: &str = "https://issuer.example";

struct Fixture {
    engine: Engine,
    issuer: TokenIssuer,
}

impl Fixture {
    async fn new() -> Self {
        let engine = deterministic::engine(Arc::new(ModelStore::new()));
        engine.start().await.unwrap();
        let signing_key = SigningKey::from_pem(&SigningKey::generate().unwrap()).unwrap();
        let issuer = TokenIssuer::new(IssuerOptions {
            issuers: vec![ISSUER.into(), "https://old.example".into()],
            audiences: Vec::new(),
            signing_key,
            keys: Vec::new(),
            max_expiration: None,
            jwks_uri: String::new(),
        });
        Self { engine, issuer }
    }

    fn target(&self, plural: &str, name: Option<&str>) -> Target {
        let kind = self.engine.catalog().get("", plural).unwrap();
        let (namespace, name) = (Some("default".into()), name.map(Into::into));
        Target { kind, version: 0, namespace, name, subresource: Subresource::None }
    }

    /// Creates an object; its uid.
    async fn create(&self, plural: &str, kind: &str) -> String {
        let object = json!({"apiVersion": "v1", "kind": (kind), "metadata": {"name": "x"}});
        let body = Body { bytes: to_vec(&object).into(), format: Format::Json };
        let (target, options) = (self.target(plural, None), WriteOptions::default());
        let made = self.engine.create(&target, &body, &options, &mut Context::default()).await;
        uid_of(&made.unwrap().into_value().unwrap()).to_owned()
    }

    async fn delete(&self, plural: &str) {
        let (target, options) = (self.target(plural, Some("x")), DeleteOptions::default());
        self.engine.delete(&target, &options, &mut Context::default()).await.map(drop).unwrap();
    }

    fn token(&self, uid: &str, times: (i64, i64), bound: &[BoundObject]) -> String {
        let account = Account { namespace: "default", name: "x", uid };
        let now = self.engine.now_seconds();
        let validity = Validity { issued: now + times.0, expires: now + times.1, warn_after: None };
        self.issuer.issue(&account, &[ISSUER.into()], &validity, bound).unwrap()
    }

    async fn check(&self, token: &str) -> Result<Arc<UserInfo>, TokenError> {
        let valid = self.issuer.check(&self.engine, token, self.issuer.audiences()).await;
        valid.map(|valid| valid.user)
    }

    async fn refusal(&self, token: &str) -> String {
        match self.check(token).await {
            Err(TokenError::Invalid(reason)) => reason,
            Err(TokenError::Unknown) => "unknown".into(),
            Ok(user) => panic!("valid for {}", user.name),
        }
    }
}

#[tokio::test]
async fn a_token_names_its_account() {
    let fixture = Fixture::new().await;
    let uid = fixture.create("serviceaccounts", "ServiceAccount").await;
    let user = fixture.check(&fixture.token(&uid, (0, 600), &[])).await.unwrap();
    assert_eq!(user.name, "system:serviceaccount:default:x");
    assert_eq!(user.uid, uid);
    assert_eq!(
        user.groups,
        ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
    );
    assert_eq!(user.extra.len(), 1);
    assert_eq!(user.extra[0].0, "authentication.kubernetes.io/credential-id");
}

#[tokio::test]
async fn a_token_ends_with_its_account_at_once() {
    let fixture = Fixture::new().await;
    let uid = fixture.create("serviceaccounts", "ServiceAccount").await;
    let token = fixture.token(&uid, (0, 600), &[]);
    fixture.check(&token).await.unwrap();
    fixture.delete("serviceaccounts").await;
    assert_eq!(fixture.refusal(&token).await, "serviceaccounts \"x\" not found");
    let new = fixture.create("serviceaccounts", "ServiceAccount").await;
    assert_eq!(
        fixture.refusal(&token).await,
        format!("service account UID ({new}) does not match claim ({uid})")
    );
}

#[tokio::test]
async fn a_token_ends_with_the_secret_that_it_is_bound_to() {
    let fixture = Fixture::new().await;
    let uid = fixture.create("serviceaccounts", "ServiceAccount").await;
    let secret = fixture.create("secrets", "Secret").await;
    let bound = || [BoundObject { claim: "secret", name: "x".into(), uid: secret.clone() }];
    let token = fixture.token(&uid, (0, 600), &bound());
    assert_eq!(fixture.check(&token).await.unwrap().extra.len(), 1, "a secret leaves no trace");
    fixture.delete("secrets").await;
    assert_eq!(fixture.refusal(&token).await, "service account token has been invalidated");
    let new = fixture.create("secrets", "Secret").await;
    assert_eq!(
        fixture.refusal(&token).await,
        format!("secret UID ({new}) does not match service account secret ref claim ({secret})")
    );
}

#[tokio::test]
async fn times_have_a_minute_of_leeway() {
    let fixture = Fixture::new().await;
    let uid = fixture.create("serviceaccounts", "ServiceAccount").await;
    for (times, want) in [
        ((-700, -61), Some("service account token has expired")),
        ((-700, -60), None),
        ((60, 700), None),
        ((61, 700), Some("service account token is not valid yet")),
    ] {
        let token = fixture.token(&uid, times, &[]);
        match want {
            Some(want) => assert_eq!(fixture.refusal(&token).await, want, "{times:?}"),
            None => assert!(fixture.check(&token).await.is_ok(), "{times:?}"),
        }
    }
}

#[tokio::test]
async fn tokens_that_were_changed_are_refused() {
    let fixture = Fixture::new().await;
    let other = Fixture::new().await;
    let uid = fixture.create("serviceaccounts", "ServiceAccount").await;
    let token = fixture.token(&uid, (0, 600), &[]);
    let parts: Vec<&str> = token.split('.').collect();
    let edit = |change: &dyn Fn(&mut Map)| {
        let bytes = URL_SAFE_NO_PAD.decode(parts[1]).unwrap();
        let mut claims = pleach_json::parse(&bytes).unwrap();
        change(claims.as_object_mut().unwrap());
        URL_SAFE_NO_PAD.encode(to_vec(&claims))
    };
    let bad = "go-jose/go-jose: error in cryptographic primitive";
    let none = URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#);
    let longer = edit(&|claims| drop(claims.insert("exp", i64::MAX)));
    let foreign = edit(&|claims| drop(claims.insert("iss", "https://other.example")));
    for (token, want, why) in [
        (format!("{}.{longer}.{}", parts[0], parts[2]), bad, "other claims"),
        (format!("{none}.{}.", parts[1]), bad, "no signature"),
        (format!("{}.{}.{}", parts[0], parts[1], &parts[2][1..]), bad, "half a signature"),
        (format!("{}.{foreign}.{}", parts[0], parts[2]), "unknown", "another issuer"),
        (format!("{}.{}", parts[0], parts[1]), "unknown", "two parts"),
        ("a.b.c".into(), "unknown", "nothing to read"),
        (other.token(&uid, (0, 600), &[]), "invalid signature, no keys found", "another key"),
    ] {
        assert_eq!(fixture.refusal(&token).await, want, "{why}");
    }
    fixture.check(&token).await.unwrap();
}

#[tokio::test]
async fn audiences_must_meet() {
    let fixture = Fixture::new().await;
    let uid = fixture.create("serviceaccounts", "ServiceAccount").await;
    let account = Account { namespace: "default", name: "x", uid: &uid };
    let now = fixture.engine.now_seconds();
    let token = fixture
        .issuer
        .issue(
            &account,
            &["a".into(), "b".into()],
            &Validity { issued: now, expires: now + 600, warn_after: None },
            &[],
        )
        .unwrap();
    let check = async |asked: &[&str]| {
        let asked: Vec<String> = asked.iter().map(|text| (*text).to_owned()).collect();
        fixture.issuer.check(&fixture.engine, &token, &asked).await.map(|valid| valid.audiences)
    };
    assert_eq!(check(&["b", "c", "a"]).await.unwrap(), ["b", "a"]);
    let want = "token audiences [\"a\" \"b\"] is invalid for the target audiences [\"c\"]";
    assert_eq!(check(&["c"]).await, Err(TokenError::Invalid(want.into())));
}
