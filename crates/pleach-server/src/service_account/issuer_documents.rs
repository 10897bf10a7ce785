//! The documents of the token issuer: OpenID discovery and the key set, for verifiers outside.

use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Method, Response};
use pleach_engine::rejection::Rejection;
use pleach_go::url::Url;
use pleach_json::{Value, json, to_vec};

use super::TokenIssuer;
use crate::app::{App, Call};
use crate::body::Body;
use crate::outcome::Outcome;
use crate::resource::error_format;
use crate::respond;

const KEY_SET: &str = "application/jwk-set+json";

/// Serves `/.well-known/openid-configuration` and `/openid/v1/jwks`; `None` for other paths.
pub fn serve(app: &App, call: &Call<'_>, path: &str) -> Option<Response<Body>> {
    let issuer = app.token_issuer().filter(|issuer| issuer.is_published())?;
    let (document, media_type) = match path {
        ".well-known/openid-configuration" => (issuer.configuration(), "application/json"),
        "openid/v1/jwks" => (issuer.key_set(), KEY_SET),
        _ => return None,
    };
    if !matches!(call.method, Method::GET | Method::HEAD) {
        return Some(respond::rejection(Rejection::UnknownMethod, &error_format(call)));
    }
    if !accepts(call, media_type) {
        return Some(respond::rejection(Rejection::NotProduced(media_type), &error_format(call)));
    }
    let mut response = Response::new(Body::from(bytes::Bytes::from(to_vec(&document))));
    *response.status_mut() = Outcome::Ok.code();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
    Some(response)
}

/// Whether the `Accept` header names the type, or any.
fn accepts(call: &Call<'_>, media_type: &str) -> bool {
    let Some(accept) = call.header(ACCEPT).filter(|accept| !accept.is_empty()) else { return true };
    accept
        .split(',')
        .filter_map(|range| range.split(';').next())
        .any(|range| matches!(range.trim(), range if range == "*/*" || range == media_type))
}

impl TokenIssuer {
    /// Whether the issuer is a URL that verifiers can find documents under.
    fn is_published(&self) -> bool {
        let issuer = self.issuers.first().map(String::as_str).unwrap_or_default();
        Url::parse(issuer).is_ok_and(|url| {
            url.scheme() == "https" && url.raw_query().is_empty() && url.fragment().is_empty()
        })
    }

    fn configuration(&self) -> Value {
        let mut algorithms: Vec<&str> = self.keys.iter().map(|key| key.algorithm.as_str()).collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        let algorithms: Vec<Value> = algorithms.into_iter().map(Value::from).collect();
        json!({
            "issuer": (self.issuers.first().map(String::as_str).unwrap_or_default()),
            "jwks_uri": (self.jwks_uri.as_str()),
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": (algorithms),
        })
    }

    fn key_set(&self) -> Value {
        let keys: Vec<Value> = self.keys.iter().map(|key| key.jwk().clone()).collect();
        json!({"keys": (keys)})
    }
}
