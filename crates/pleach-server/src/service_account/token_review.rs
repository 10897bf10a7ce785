//! TokenReview: the user of a token, for servers that have been shown one.

use pleach_auth::{Credentials, UserInfo};
use pleach_engine::rejection::Rejection;
use pleach_engine::webhooks::user_info;
use pleach_json::{Map, Value, json};
use pleach_jwt::TokenError;

use super::{TokenIssuer, texts};
use crate::app::App;
use crate::authentication::{Bearer, bearer_token};

const API_VERSION: &str = "authentication.k8s.io/v1";

/// Refuses a token review that has no token.
pub fn check(review: &Value) -> Result<(), Rejection> {
    if token(review).is_empty() {
        return Err(Rejection::BadRequest("token is required for TokenReview in authentication".into()));
    }
    Ok(())
}

fn token(review: &Value) -> &str {
    review.at(&["spec", "token"]).and_then(Value::as_str).unwrap_or_default()
}

/// Answers a token review that has a token.
pub async fn answer(app: &App, mut review: Value) -> Result<Value, Rejection> {
    let token = token(&review).to_owned();
    let audiences = texts(review.at(&["spec", "audiences"]));
    let mut status = Map::new();
    match outcome(app, &token, &audiences).await {
        Ok((user, audiences)) => {
            status.insert("authenticated", true);
            status.insert("user", user_info(&user));
            if !audiences.is_empty() {
                status.insert("audiences", audiences.into_iter().map(Value::from).collect::<Vec<_>>());
            }
        }
        Err(error) => {
            let sent = review.at(&["status", "user"]).filter(|user| !user.is_null()).cloned();
            status.insert("user", sent.unwrap_or_else(Value::object));
            status.insert("error", error);
        }
    }
    if let Some(members) = review.as_object_mut() {
        members.insert("apiVersion", API_VERSION);
        if members.get("metadata").is_none_or(Value::is_null) {
            members.insert("metadata", json!({}));
        }
        members.insert("status", status);
    }
    Ok(review)
}

/// The user of a token and the audiences it is good for, or the reason that it is not.
async fn outcome(
    app: &App,
    token: &str,
    asked: &[String],
) -> Result<(std::sync::Arc<UserInfo>, Vec<String>), String> {
    const UNKNOWN: &str = "invalid bearer token";
    let header = format!("Bearer {}", token.trim_start());
    let token = match bearer_token(header.as_bytes()) {
        Bearer::Token(token) => Some(token),
        Bearer::None | Bearer::ExtraSpace | Bearer::Unreadable => None,
    };
    let own: &[String] = app.token_issuer().map(TokenIssuer::audiences).unwrap_or_default();
    let asked = if asked.is_empty() { own } else { asked };
    if let (Some(issuer), Some(token)) = (app.token_issuer(), token) {
        match issuer.check(&app.engine, token, asked).await {
            Ok(valid) => return Ok((valid.user, valid.audiences)),
            Err(TokenError::Invalid(reason)) => return Err(format!("[{UNKNOWN}, {reason}]")),
            Err(TokenError::Unknown) => {}
        }
    }
    // Other tokens are good for the server's own audiences.
    let meant: Vec<String> = asked.iter().filter(|audience| own.contains(audience)).cloned().collect();
    if meant.is_empty() && !asked.is_empty() {
        return Err(UNKNOWN.into());
    }
    if let (Some(authenticators), Some(token)) = (app.jwt_authenticators(), token)
        && let Err(TokenError::Invalid(reason)) = authenticators.check(token).await
    {
        return Err(format!("[{UNKNOWN}, {reason}]"));
    }
    let user = app.authenticate(Credentials { token, ..Credentials::default() }).await;
    user.map(|user| (user, meant)).map_err(|_| UNKNOWN.into())
}
