//! Authorization of requests, before anything else is read.

use http::Response;
use http::header::{HeaderValue, X_CONTENT_TYPE_OPTIONS};
use pleach_auth::Authorizer;
use pleach_engine::audit;
use pleach_engine::rejection::Rejection;
use pleach_go::strconv::quote;

use crate::app::Call;
use crate::audit::{DECISION, REASON};
use crate::body::Body;
use crate::outcome::Outcome;
use crate::resource::error_format;
use crate::respond;

/// Paths that everybody may see, with everything below them.
const PUBLIC: [&str; 4] = ["healthz", "livez", "readyz", "version"];

/// Whether everybody may see this path.
pub fn is_public(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    PUBLIC.contains(&first)
}

/// Asks the authorizer about a request; the response is the refusal.
pub async fn check(authorizer: &dyn Authorizer, call: &Call<'_>) -> Result<(), Response<Body>> {
    let decision = authorizer.authorize(&call.attributes).get().await;
    if let Some(error) = decision.error.as_deref().filter(|_| !decision.is_allowed()) {
        audit::annotate(REASON, || "internal error".into());
        return Err(failure(call.request_uri, error));
    }
    audit::annotate(DECISION, || if decision.is_allowed() { "allow" } else { "forbid" }.into());
    audit::annotate(REASON, || decision.reason.clone().into_owned());
    if decision.is_allowed() {
        return Ok(());
    }
    Err(refusal(Rejection::forbidden(&call.attributes, &decision.reason), call))
}

/// The response to a request that no authorizer allows because one of them failed.
fn failure(request_uri: &str, error: &str) -> Response<Body> {
    let text = format!("Internal Server Error: {}: {error}", quote(request_uri));
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    respond::text(Outcome::Failed, format!("{text}\n"))
}

/// The response to a request that its user may not make.
pub fn refusal(rejection: Rejection, call: &Call<'_>) -> Response<Body> {
    let mut response = respond::rejection(rejection, &error_format(call));
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_and_version_are_public() {
        for (path, want) in [
            ("/healthz", true),
            ("/readyz/ping", true),
            ("/version", true),
            ("/apis", false),
            ("/healthzz", false),
            ("/apis/g/v1/healthz", false),
        ] {
            assert_eq!(is_public(path), want, "{path}");
        }
    }
}
