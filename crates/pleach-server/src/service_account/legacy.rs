//! Tokens in Secrets of type `kubernetes.io/service-account-token`: no expiry, no audience; good as long as the Secret
//! holds them and the ServiceAccount is the same.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pleach_auth::UserInfo;
use pleach_engine::secret_tokens::SecretTokenSigner;
use pleach_engine::{Engine, audit, rejection::Rejection};
use pleach_go::strconv::quote;
use pleach_json::Value;
use pleach_jwt::TokenError;
use pleach_jwt::key::SigningKey;

use super::{find, is_deleted, uid_of, user_name};

/// The label of a Secret whose token is not valid any more.
const INVALID_SINCE: &str = "kubernetes.io/legacy-token-invalid-since";

/// The audit annotation of a request with such a token.
const INVALIDATED: &str = "authentication.k8s.io/legacy-token-invalidated";

/// Signs tokens for Secrets.
pub struct SecretTokens(pub SigningKey);

impl SecretTokenSigner for SecretTokens {
    fn sign(&self, claims: &Value) -> Result<String, String> {
        self.0.token(claims)
    }
}

/// The user of a token of a Secret whose signature is good.
pub(super) async fn user(engine: &Engine, token: &str, claims: &Value) -> Result<Arc<UserInfo>, TokenError> {
    let invalid = |text: &str| TokenError::Invalid(text.to_owned());
    let unreadable = |rejection: Rejection| TokenError::Invalid(rejection.to_string());
    let text = |key: &str| {
        let key = format!("kubernetes.io/serviceaccount/{key}");
        claims.get(&key).and_then(Value::as_str).unwrap_or_default()
    };
    let (namespace, secret) = (text("namespace"), text("secret.name"));
    let (account, uid) = (text("service-account.name"), text("service-account.uid"));
    for (value, problem) in [
        (namespace, "namespace claim is missing"),
        (secret, "secretName claim is missing"),
        (account, "serviceAccountName claim is missing"),
        (uid, "serviceAccountUID claim is missing"),
    ] {
        if value.is_empty() {
            return Err(invalid(problem));
        }
    }
    let subject = user_name(namespace, account);
    if claims.get("sub").and_then(Value::as_str) != Some(&subject) {
        return Err(invalid("sub claim is invalid"));
    }
    let now = engine.now_seconds();
    let found = find(engine, "secrets", Some(namespace), secret).await.map_err(unreadable)?;
    let Some(found) = found.filter(|found| !is_deleted(found, now)) else {
        return Err(invalid("Token has been invalidated"));
    };
    let held = found.at(&["data", "token"]).and_then(Value::as_str).unwrap_or_default();
    if STANDARD.decode(held).ok().as_deref() != Some(token.as_bytes()) {
        return Err(invalid("Token does not match server's copy"));
    }
    let stored = find(engine, "serviceaccounts", Some(namespace), account).await.map_err(unreadable)?;
    let stored = stored.ok_or_else(|| invalid(&format!("serviceaccounts {} not found", quote(account))))?;
    if is_deleted(&stored, now) {
        return Err(invalid(&format!("ServiceAccount {namespace}/{account} has been deleted")));
    }
    if uid_of(&stored) != uid {
        let found = uid_of(&stored);
        return Err(invalid(&format!("ServiceAccount UID ({found}) does not match claim ({uid})")));
    }
    let since = found.at(&["metadata", "labels", INVALID_SINCE]).and_then(Value::as_str).unwrap_or_default();
    if !since.is_empty() {
        audit::annotate(INVALIDATED, || format!("{secret}/{namespace}"));
        return Err(invalid(&format!(
            "the token in secret {namespace}/{secret} for service account {namespace}/{account} has been marked invalid. Use tokens from the TokenRequest API or manually created secret-based tokens, or remove the '{INVALID_SINCE}' label from the secret to temporarily allow use of this token"
        )));
    }
    let groups = ["system:serviceaccounts".into(), format!("system:serviceaccounts:{namespace}").into()];
    let user = UserInfo::authenticated(subject, groups);
    Ok(Arc::new(UserInfo { uid: uid.into(), ..(*user).clone() }))
}
