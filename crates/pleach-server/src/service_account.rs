//! Service account tokens: signed JSON web tokens, how they are issued and checked.
//!
//! A token is valid as long as its signature, audiences and times are, and as long as the ServiceAccount and the
//! object that it is bound to exist with the same uid: both are read for every request, so a token ends with them.
//! That the signature is good is remembered.

mod issuer_documents;
mod legacy;
mod token_request;
mod token_review;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use pleach_auth::authenticator::Authenticated;
use pleach_auth::{Answer, Authenticator, Credentials, Unauthorized, UserInfo};
use pleach_engine::options::Freshness;
use pleach_engine::rejection::Rejection;
use pleach_engine::secret_tokens::ISSUER;
use pleach_engine::target::{Subresource, Target};
use pleach_engine::{Engine, audit, uuid_v4};
use pleach_go::strconv::quote;
use pleach_go::time::parse_rfc3339;
use pleach_json::{Map, Str, Value, json};
use pleach_jwt::key::{PublicKey, SigningKey};
use pleach_jwt::{Algorithm, Token, TokenError};
use sha2::{Digest as _, Sha256};

pub use issuer_documents::serve as serve_issuer_documents;
pub use token_request::{is_served as is_token_request, serve as serve_token_request};
pub use token_review::{answer as answer_token_review, check as check_token_review};

pub use legacy::SecretTokens;

/// Differences between clocks that are tolerated, and how long an account that is being deleted is still good.
const LEEWAY: i64 = 60;
/// Tokens whose good signature is remembered.
const REMEMBERED: usize = 4_096;
/// The claim that is not among the registered ones.
const PRIVATE_CLAIMS: &str = "kubernetes.io";

/// The audit annotation of a request that a token was issued for.
const ISSUED_CREDENTIAL_ID: &str = "authentication.kubernetes.io/issued-credential-id";

/// The audit annotation of a request with a token that its client should have replaced.
const STALE_TOKEN: &str = "authentication.k8s.io/stale-token";

/// The audit annotation of a request with a token of a Secret.
const LEGACY_TOKEN: &str = "authentication.k8s.io/legacy-token";

/// The configuration of the issuer of tokens.
pub struct IssuerOptions {
    /// Issuers: the first one is that of new tokens, all are accepted.
    pub issuers: Vec<String>,
    /// The server's own audiences; the issuers if empty.
    pub audiences: Vec<String>,
    /// The key that signs.
    pub signing_key: SigningKey,
    /// Other keys that verify.
    pub keys: Vec<PublicKey>,
    /// The longest validity of a token, in seconds.
    pub max_expiration: Option<i64>,
    /// Where the key set is published.
    pub jwks_uri: String,
}

/// Issues and checks service account tokens.
pub struct TokenIssuer {
    issuers: Vec<String>,
    audiences: Vec<String>,
    signing_key: SigningKey,
    keys: Vec<PublicKey>,
    max_expiration: Option<i64>,
    jwks_uri: String,
    verified: Mutex<HashSet<[u8; 32]>>,
}

/// A token that is valid.
pub struct ValidToken {
    /// Its user.
    pub user: Arc<UserInfo>,
    /// The audiences that were asked for and that the token has, in the order asked for.
    pub audiences: Vec<String>,
}

/// The times of a token, in seconds.
struct Validity {
    issued: i64,
    expires: i64,
    /// When uses of the token are noted, since the client should have another one.
    warn_after: Option<i64>,
}

/// The object that a token is bound to.
struct BoundObject {
    /// Its key in the claims: `secret`, `pod` or `node`.
    claim: &'static str,
    name: String,
    uid: String,
}

impl TokenIssuer {
    /// An issuer.
    pub fn new(options: IssuerOptions) -> Self {
        let IssuerOptions { issuers, audiences, signing_key, mut keys, max_expiration, jwks_uri } = options;
        if !keys.iter().any(|key| key.id == signing_key.public().id) {
            keys.insert(0, signing_key.public().clone());
        }
        let audiences = if audiences.is_empty() { issuers.clone() } else { audiences };
        let verified = Mutex::default();
        Self { issuers, audiences, signing_key, keys, max_expiration, jwks_uri, verified }
    }

    /// The server's own audiences.
    pub fn audiences(&self) -> &[String] {
        &self.audiences
    }

    /// Signs a token for the account of a namespace.
    fn issue(
        &self,
        account: &Account<'_>,
        audiences: &[String],
        validity: &Validity,
        bound: &[BoundObject],
    ) -> Result<String, Rejection> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| Rejection::Internal(error.to_string()))?;
        let mut private = Map::new();
        private.insert("namespace", account.namespace);
        private.insert("serviceaccount", json!({"name": (account.name), "uid": (account.uid)}));
        for object in bound {
            let mut reference = Map::new();
            reference.insert("name", object.name.as_str());
            if !object.uid.is_empty() {
                reference.insert("uid", object.uid.as_str());
            }
            private.insert(object.claim, reference);
        }
        if let Some(seconds) = validity.warn_after {
            private.insert("warnafter", seconds);
        }
        let audiences: Vec<Value> = audiences.iter().map(|text| Value::from(text.as_str())).collect();
        let Validity { issued, expires, .. } = *validity;
        let issuer = self.issuers.first().map(String::as_str).unwrap_or_default();
        let id = uuid_v4(random);
        let claims = json!({
            "aud": (audiences), "exp": (expires), "iat": (issued), "iss": (issuer), "jti": (id.as_str()),
            "nbf": (issued), "sub": (user_name(account.namespace, account.name)), PRIVATE_CLAIMS: (private),
        });
        let token = self.signing_key.token(&claims).map_err(Rejection::Internal)?;
        audit::annotate(ISSUED_CREDENTIAL_ID, || format!("JTI={id}"));
        Ok(token)
    }

    /// Checks a token for some audiences.
    pub async fn check(
        &self,
        engine: &Engine,
        token: &str,
        audiences: &[String],
    ) -> Result<ValidToken, TokenError> {
        let claims = self.verified_claims(token)?;
        let mut found = texts(claims.get("aud"));
        if found.is_empty() {
            // Tokens of Secrets are for this server.
            let subject = claims.get("sub").and_then(Value::as_str).unwrap_or_default();
            audit::annotate(LEGACY_TOKEN, || subject.to_owned());
            found.clone_from(&self.audiences);
        }
        let meant: Vec<String> = audiences.iter().filter(|asked| found.contains(asked)).cloned().collect();
        if meant.is_empty() {
            let list = |texts: &[String]| texts.iter().map(|text| quote(text)).collect::<Vec<_>>().join(" ");
            return Err(TokenError::Invalid(format!(
                "token audiences [{}] is invalid for the target audiences [{}]",
                list(&found),
                list(audiences)
            )));
        }
        let user = if claims.get("iss").and_then(Value::as_str) == Some(ISSUER) {
            legacy::user(engine, token, &claims).await?
        } else {
            check_times(&claims, engine.now_seconds())?;
            self.user(engine, &claims).await?
        };
        Ok(ValidToken { user, audiences: meant })
    }

    /// The claims of a token with a good signature.
    fn verified_claims(&self, token: &str) -> Result<Value, TokenError> {
        let parsed = Token::parse(token).ok_or(TokenError::Unknown)?;
        let issuer = parsed.issuer();
        if issuer != ISSUER && !self.issuers.iter().any(|own| own == issuer) {
            return Err(TokenError::Unknown);
        }
        let hash: [u8; 32] = Sha256::digest(token).into();
        if self.remembered().contains(&hash) {
            return Ok(parsed.claims);
        }
        let header = parsed.header().ok_or(TokenError::Unknown)?;
        let is_meant = |key: &&PublicKey| header.key_id.is_empty() || key.id == header.key_id;
        let mut keys = self.keys.iter().filter(is_meant).peekable();
        if keys.peek().is_none() {
            return Err(TokenError::Invalid("invalid signature, no keys found".into()));
        }
        let algorithm = Algorithm::parse(&header.algorithm);
        let is_signed = |key: &PublicKey| {
            algorithm
                .is_some_and(|algorithm| key.algorithm == algorithm && parsed.is_signed_by(key, algorithm))
        };
        if !keys.any(is_signed) {
            return Err(TokenError::Invalid("go-jose/go-jose: error in cryptographic primitive".into()));
        }
        let mut remembered = self.remembered();
        if remembered.len() >= REMEMBERED {
            remembered.clear();
        }
        remembered.insert(hash);
        Ok(parsed.claims)
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, HashSet<[u8; 32]>> {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The user of a token, if its account and what it is bound to are as they were.
    async fn user(&self, engine: &Engine, claims: &Value) -> Result<Arc<UserInfo>, TokenError> {
        let invalid = |text: String| TokenError::Invalid(text);
        let unreadable = |rejection: Rejection| TokenError::Invalid(rejection.to_string());
        let private = claims.get(PRIVATE_CLAIMS).ok_or_else(|| invalid("no private claims".into()))?;
        let text = |path: &[&str]| private.at(path).and_then(Value::as_str).unwrap_or_default();
        let (namespace, name) = (text(&["namespace"]), text(&["serviceaccount", "name"]));
        let (uid, now) = (text(&["serviceaccount", "uid"]), engine.now_seconds());
        let account = find(engine, "serviceaccounts", Some(namespace), name).await.map_err(unreadable)?;
        let account = account.ok_or_else(|| invalid(format!("serviceaccounts {} not found", quote(name))))?;
        if is_deleted(&account, now) {
            return Err(invalid(format!("service account {namespace}/{name} has been deleted")));
        }
        let found = uid_of(&account);
        if found != uid {
            return Err(invalid(format!("service account UID ({found}) does not match claim ({uid})")));
        }
        let mut extra: Vec<(Str, Vec<Str>)> = Vec::new();
        let mut say = |key: &str, value: &str| {
            if !value.is_empty() {
                extra.push((format!("authentication.kubernetes.io/{key}").into(), vec![value.into()]));
            }
        };
        if let Some(id) = claims.get("jti").and_then(Value::as_str) {
            say("credential-id", &format!("JTI={id}"));
        }
        let is_bound = |claim: &str| private.get(claim).is_some_and(|reference| !reference.is_null());
        for (claim, plural, what) in [
            ("node", "nodes", "service account node ref claim"),
            ("pod", "pods", "service account pod ref claim"),
            ("secret", "secrets", "service account secret ref claim"),
        ] {
            if !is_bound(claim) {
                continue;
            }
            let (name, uid) = (text(&[claim, "name"]), text(&[claim, "uid"]));
            if claim != "secret" {
                say(&format!("{claim}-name"), name);
                say(&format!("{claim}-uid"), uid);
            }
            // The node of a bound pod is only told.
            if claim == "node" && is_bound("pod") {
                continue;
            }
            let namespace = (claim != "node").then_some(namespace);
            let object = find(engine, plural, namespace, name).await.map_err(unreadable)?;
            let Some(object) = object.filter(|object| !is_deleted(object, now)) else {
                return Err(invalid("service account token has been invalidated".into()));
            };
            let found = uid_of(&object);
            if found != uid {
                return Err(invalid(format!("{claim} UID ({found}) does not match {what} ({uid})")));
            }
        }
        if let Some(late) = private.get("warnafter").and_then(Value::as_int).map(|at| now - at)
            && late > 0
        {
            audit::annotate(STALE_TOKEN, || {
                let subject = user_name(namespace, name);
                format!("subject: {subject}, seconds after warning threshold: {late}")
            });
        }
        extra.sort();
        let groups = ["system:serviceaccounts".into(), format!("system:serviceaccounts:{namespace}").into()];
        let user = UserInfo::authenticated(user_name(namespace, name), groups);
        Ok(Arc::new(UserInfo { uid: uid.into(), extra, ..(*user).clone() }))
    }
}

/// An account as claims name it.
struct Account<'a> {
    namespace: &'a str,
    name: &'a str,
    uid: &'a str,
}

fn user_name(namespace: &str, name: &str) -> String {
    format!("system:serviceaccount:{namespace}:{name}")
}

fn check_times(claims: &Value, now: i64) -> Result<(), TokenError> {
    let time = |key: &str| claims.get(key).and_then(Value::as_int);
    let invalid = |text: &str| Err(TokenError::Invalid(text.into()));
    if time("exp").is_none_or(|expires| now - LEEWAY > expires) {
        return invalid("service account token has expired");
    }
    if time("nbf").is_some_and(|start| now + LEEWAY < start) {
        return invalid("service account token is not valid yet");
    }
    if time("iat").is_some_and(|issued| now + LEEWAY < issued) {
        return invalid("service account token is issued in the future");
    }
    Ok(())
}

/// Whether an object was deleted more than a moment ago, though it is still there.
fn is_deleted(object: &Value, now: i64) -> bool {
    let deleted = object.at(&["metadata", "deletionTimestamp"]).and_then(Value::as_str);
    let deleted = deleted.and_then(|text| parse_rfc3339(text).ok());
    deleted.is_some_and(|deleted| deleted.seconds + LEEWAY < now)
}

fn uid_of(object: &Value) -> &str {
    object.at(&["metadata", "uid"]).and_then(Value::as_str).unwrap_or_default()
}

/// A text, or a list of texts.
fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::String(text)) => vec![text.to_string()],
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// An object of the core group, if it exists.
async fn find(
    engine: &Engine,
    plural: &str,
    namespace: Option<&str>,
    name: &str,
) -> Result<Option<Value>, Rejection> {
    let Some(kind) = engine.catalog().get("", plural) else { return Ok(None) };
    let version = kind.storage;
    let (namespace, name) = (namespace.map(Str::from), Some(Str::from(name)));
    let target = Target { kind, version, namespace, name, subresource: Subresource::None };
    match engine.get(&target, Freshness::Latest).await {
        Ok(object) => object.into_value().map(Some),
        Err(Rejection::NotFound(_)) => Ok(None),
        Err(rejection) => Err(rejection),
    }
}

/// Accepts service account tokens for the server's own audiences.
pub struct ServiceAccountAuthenticator {
    issuer: Arc<TokenIssuer>,
    engine: Arc<Engine>,
}

impl ServiceAccountAuthenticator {
    /// An authenticator for the tokens of an issuer.
    pub fn new(issuer: Arc<TokenIssuer>, engine: Arc<Engine>) -> Self {
        Self { issuer, engine }
    }
}

impl Authenticator for ServiceAccountAuthenticator {
    fn authenticate<'a>(&'a self, credentials: &Credentials<'a>) -> Answer<'a, Authenticated> {
        let Some(token) = credentials.token.filter(|token| token.contains('.')) else {
            return Answer::Now(Ok(None));
        };
        Answer::later(async move {
            match self.issuer.check(&self.engine, token, &self.issuer.audiences).await {
                Ok(valid) => Ok(Some(valid.user)),
                Err(TokenError::Unknown) => Ok(None),
                Err(TokenError::Invalid(_)) => Err(Unauthorized),
            }
        })
    }
}

#[cfg(test)]
mod tests;
