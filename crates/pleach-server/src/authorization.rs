//! Authorization of requests, and the authorizer of servers without role-based access control.

use http::Response;
use http::header::{HeaderValue, X_CONTENT_TYPE_OPTIONS};
use pleach_auth::{Answer, Attributes, Authorizer, Decision, NonResourceRule, Rules, UserInfo};
use pleach_engine::rejection::Rejection;

use crate::app::Call;
use crate::body::Body;
use crate::resource::error_format;
use crate::respond;

/// Allows authenticated users everything, and anonymous ones health and version.
pub struct AllowAuthenticated;

impl Authorizer for AllowAuthenticated {
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> Answer<'a, Decision> {
        Answer::Now(if !attributes.user.is_anonymous() {
            Decision::allow("every authenticated user may do everything")
        } else if !attributes.is_resource_request() && is_public(attributes.path) {
            Decision::allow("")
        } else {
            Decision::no_opinion("")
        })
    }

    fn rules_for<'a>(&'a self, user: &'a UserInfo, _: &'a str) -> Answer<'a, Rules> {
        if !user.is_anonymous() {
            return Answer::Now(Rules::everything());
        }
        let urls = PUBLIC.iter().flat_map(|path| [format!("/{path}"), format!("/{path}/*")]).collect();
        let public = NonResourceRule { verbs: vec!["*".into()], urls };
        Answer::Now(Rules { non_resource: vec![public], ..Rules::default() })
    }
}

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
    if decision.is_allowed() {
        return Ok(());
    }
    let rejection = Rejection::forbidden(&call.attributes, &decision.reason);
    let mut response = respond::rejection(rejection, &error_format(call));
    response.headers_mut().insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Err(response)
}

#[cfg(test)]
mod tests {
    use pleach_auth::Verb;

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

    #[tokio::test]
    async fn anonymous_users_get_public_paths_only() {
        let bob = UserInfo::authenticated("bob", []);
        for (user, path, want) in [
            (UserInfo::anonymous(), "/livez", true),
            (UserInfo::anonymous(), "/apis", false),
            (bob.clone(), "/livez", true),
            (bob, "/apis", true),
        ] {
            let attributes = Attributes { user, verb: Verb::Get, path, resource: None };
            let decision = AllowAuthenticated.authorize(&attributes).get().await;
            assert_eq!(decision.is_allowed(), want, "{path} {:?}", attributes.user);
        }
    }
}
