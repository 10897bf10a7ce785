//! Authenticators: client certificates and bearer tokens.
//!
//! Order as upstream: the certificate, then the token, then anonymous. Another sort of credentials is a type
//! here and a line in [`authenticators`].

use std::sync::Arc;

use http::header::{AUTHORIZATION, HeaderMap};
use pleach_auth::authenticator::Authenticated;
use pleach_auth::user::MASTERS;
use pleach_auth::{Answer, Authenticator, AuthenticatorChain, Credentials, UserInfo};
use pleach_json::Str;
use rustls::pki_types::CertificateDer;
use x509_parser::prelude::FromDer as _;

/// The authenticators in the order they are asked. `token` is the admin's.
pub fn authenticators(token: impl Into<String>) -> AuthenticatorChain {
    AuthenticatorChain::new(vec![Box::new(ClientCertificate), Box::new(StaticToken::admin(token))])
}

/// The credentials of a request, and of the connection that it came on.
pub fn credentials<'a>(headers: &'a HeaderMap, certificate: Option<&'a Arc<UserInfo>>) -> Credentials<'a> {
    let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    Credentials { certificate, token: header.and_then(bearer_token) }
}

/// The token of an `Authorization` header. Other schemes count as no credentials.
fn bearer_token(header: &str) -> Option<&str> {
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// The user of a verified client certificate: common name and organizations.
pub fn certificate_user(certificate: &CertificateDer<'_>) -> Option<Arc<UserInfo>> {
    let (_, parsed) = x509_parser::certificate::X509Certificate::from_der(certificate).ok()?;
    let subject = parsed.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?;
    let groups = subject.iter_organization().filter_map(|o| o.as_str().ok()).map(Str::from);
    Some(UserInfo::authenticated(name, groups))
}

/// Takes the user of the connection's certificate, which TLS has verified.
struct ClientCertificate;

impl Authenticator for ClientCertificate {
    fn authenticate<'a>(&'a self, credentials: &Credentials<'a>) -> Answer<'a, Authenticated> {
        Answer::Now(Ok(credentials.certificate.cloned()))
    }
}

/// One token and its user.
struct StaticToken {
    token: String,
    user: Arc<UserInfo>,
}

impl StaticToken {
    /// The admin's.
    fn admin(token: impl Into<String>) -> Self {
        Self { token: token.into(), user: UserInfo::authenticated("admin", [Str::new_static(MASTERS)]) }
    }
}

impl Authenticator for StaticToken {
    fn authenticate<'a>(&'a self, credentials: &Credentials<'a>) -> Answer<'a, Authenticated> {
        let is_own = credentials.token.is_some_and(|token| same(token.as_bytes(), self.token.as_bytes()));
        Answer::Now(Ok(is_own.then(|| self.user.clone())))
    }
}

/// Compares in a time that does not depend on where two tokens differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |seen, (x, y)| seen | (x ^ y)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn users_are_known_by_certificate_then_token() {
        let chain = authenticators("secret");
        let bob = UserInfo::authenticated("bob", [Str::from("dev")]);
        for (certificate, header, want, why) in [
            (None, Some("Bearer secret"), Some("admin"), "the token"),
            (None, Some("bearer  secret"), Some("admin"), "the scheme in any case, blanks around the token"),
            (None, Some("Bearer wrong"), None, "a wrong token is refused"),
            (Some(&bob), Some("Bearer wrong"), Some("bob"), "the certificate comes first"),
            (None, None, Some("system:anonymous"), "no credentials"),
            (None, Some("Basic c2VjcmV0"), Some("system:anonymous"), "another scheme"),
            (None, Some("Bearer"), Some("system:anonymous"), "no token"),
        ] {
            let headers = header.map(|value| (AUTHORIZATION, value.parse().unwrap())).into_iter().collect();
            let user = chain.authenticate(credentials(&headers, certificate)).get().await;
            assert_eq!(user.ok().map(|user| user.name.clone()).as_deref(), want, "{why}");
        }
    }

    #[test]
    fn tokens_are_equal_or_not() {
        for (a, b, want) in [("a", "a", true), ("a", "b", false), ("a", "ab", false), ("", "", true)] {
            assert_eq!(same(a.as_bytes(), b.as_bytes()), want, "{a} {b}");
        }
    }
}
