//! Who is asking: client certificates and bearer tokens, and what the anonymous may see.
//!
//! Order as upstream: the certificate, then the token, then nobody. Credentials that are given and
//! wrong are a 401 and never fall back to anonymous. Users in `system:masters` may do everything;
//! other authenticated users too, since there is no role-based access control here yet; the
//! anonymous get health and version.

use std::sync::Arc;

use pleach_json::Str;
use rustls::pki_types::CertificateDer;
use x509_parser::prelude::FromDer as _;

/// A user as authentication found them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: Str,
    /// The groups, `system:authenticated` among them.
    pub groups: Arc<[Str]>,
}

impl User {
    /// Nobody.
    pub fn anonymous() -> Self {
        Self { name: "system:anonymous".into(), groups: Arc::new(["system:unauthenticated".into()]) }
    }

    /// Whether no credentials were given.
    pub fn is_anonymous(&self) -> bool {
        self.name == "system:anonymous"
    }

    fn authenticated(name: &str, groups: impl IntoIterator<Item = Str>) -> Self {
        let groups = groups.into_iter().chain(["system:authenticated".into()]).collect();
        Self { name: name.into(), groups }
    }
}

/// The credentials that this server takes.
pub struct Authenticator {
    token: String,
    admin: User,
}

impl Authenticator {
    /// `token` is the admin's.
    pub fn new(token: impl Into<String>) -> Self {
        Self { token: token.into(), admin: User::authenticated("admin", [Str::from("system:masters")]) }
    }

    /// The user of a verified client certificate: common name and organizations.
    pub fn from_certificate(certificate: &CertificateDer<'_>) -> Option<User> {
        let (_, parsed) = x509_parser::certificate::X509Certificate::from_der(certificate).ok()?;
        let subject = parsed.subject();
        let name = subject.iter_common_name().next()?.as_str().ok()?.to_owned();
        let groups: Vec<Str> =
            subject.iter_organization().filter_map(|o| o.as_str().ok()).map(Str::from).collect();
        Some(User::authenticated(&name, groups))
    }

    /// The user of a request, `None` for a 401. `certificate` is the connection's user, if any.
    pub fn authenticate(&self, certificate: Option<&User>, authorization: Option<&str>) -> Option<User> {
        if let Some(user) = certificate {
            return Some(user.clone());
        }
        let Some(header) = authorization else { return Some(User::anonymous()) };
        let Some((scheme, token)) = header.split_once(' ') else { return Some(User::anonymous()) };
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Some(User::anonymous());
        }
        let token = token.trim();
        if token.is_empty() {
            return Some(User::anonymous());
        }
        same(token.as_bytes(), self.token.as_bytes()).then(|| self.admin.clone())
    }
}

/// Compares without telling by its time where two tokens differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |seen, (x, y)| seen | (x ^ y)) == 0
}

/// Whether the anonymous may get this path.
pub fn is_public(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    matches!(first, "healthz" | "livez" | "readyz" | "version")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_token_is_nobody_at_all() {
        let auth = Authenticator::new("secret");
        assert_eq!(auth.authenticate(None, Some("Bearer secret")).unwrap().name, "admin");
        assert_eq!(auth.authenticate(None, Some("bearer  secret")).unwrap().name, "admin");
        assert_eq!(auth.authenticate(None, Some("Bearer wrong")), None);
        assert!(auth.authenticate(None, None).unwrap().is_anonymous());
    }

    #[test]
    fn health_and_version_are_public() {
        for (path, want) in [
            ("/healthz", true),
            ("/readyz/ping", true),
            ("/version", true),
            ("/apis", false),
            ("/healthzz", false),
        ] {
            assert_eq!(is_public(path), want, "{path}");
        }
    }
}
