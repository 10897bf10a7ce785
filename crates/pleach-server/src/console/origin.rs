//! `Host`, `Origin` and the session cookie: requests of other pages, and under other names for this machine, are refused.

use std::net::IpAddr;

use http::header::{COOKIE, HOST, HeaderMap, ORIGIN};
use http::{Request, Uri};

use super::sessions::SESSION_SECONDS;

/// The host and port that a client believes to talk to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Authority {
    /// As the client wrote it.
    pub(super) text: String,
}

impl Authority {
    /// The authority of a request: over HTTP/2 that of its URI, else the `Host` header.
    pub(super) fn of<B>(request: &Request<B>) -> Option<Self> {
        let of_uri = request.uri().authority().map(http::uri::Authority::as_str);
        let of_header = request.headers().get(HOST).and_then(|value| value.to_str().ok());
        let text = of_uri.or(of_header)?;
        (!text.contains('@')).then(|| Self { text: text.to_ascii_lowercase() })
    }

    /// The host without the port, and the port.
    fn parts(&self) -> (&str, &str) {
        match self.text.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (host, port),
            _ => (&self.text, "443"),
        }
    }

    /// Whether the console is served for this host. A page elsewhere can make its own name mean this machine, but not
    /// an IP address or `localhost`.
    pub(super) fn is_allowed(&self, names: &[String]) -> bool {
        let (host, _) = self.parts();
        let address = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        address.parse::<IpAddr>().is_ok()
            || host == "localhost"
            || host.ends_with(".localhost")
            || names.iter().any(|name| name.eq_ignore_ascii_case(host))
    }

    /// Whether a request comes from a page of this origin, as far as its headers tell.
    pub(super) fn is_origin_of(&self, headers: &HeaderMap) -> bool {
        let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let same_site = text("sec-fetch-site").is_none_or(|site| site == "same-origin");
        let same_origin = text(ORIGIN.as_str()).is_none_or(|origin| {
            // A proxy in front may speak HTTP to browsers or TLS to this server; only host and port are compared.
            let uri = origin.parse::<Uri>().ok();
            let authority = uri.as_ref().and_then(Uri::authority);
            authority.is_some_and(|authority| authority.as_str().eq_ignore_ascii_case(&self.text))
        });
        same_site && same_origin
    }

    /// Browsers share cookies among the ports of a host, so the port is part of the name.
    fn cookie_name(&self) -> String {
        format!("__Secure-pleach-console-{}", self.parts().1)
    }

    /// The session in a request's cookies.
    pub(super) fn cookie<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        let name = self.cookie_name();
        let values = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        values
            .flat_map(|value| value.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find_map(|(found, id)| (found == name).then_some(id))
    }

    /// The cookie of a new session. It has no path: a browser takes that of `/session`, with whatever a proxy has put
    /// before `/console`.
    pub(super) fn new_cookie(&self, id: &str) -> String {
        let name = self.cookie_name();
        format!("{name}={id}; Max-Age={SESSION_SECONDS}; Secure; HttpOnly; SameSite=Strict")
    }

    /// The cookie that removes that of a session.
    pub(super) fn cookie_that_ends(&self) -> String {
        format!("{}=; Max-Age=0; Secure; HttpOnly; SameSite=Strict", self.cookie_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authority(text: &str) -> Authority {
        Authority { text: text.into() }
    }

    #[test]
    fn hosts_are_addresses_or_known_names() {
        let names = ["pleach.example.com".to_owned()];
        for (host, want) in [
            ("127.0.0.1:6443", true),
            ("[::1]:6443", true),
            ("10.1.2.3", true),
            ("localhost:6443", true),
            ("a.localhost:6443", true),
            ("pleach.example.com", true),
            ("pleach.example.com:8443", true),
            ("evil.example.com:6443", false),
            ("localhost.evil.example.com", false),
            ("127.0.0.1.evil.example.com", false),
            ("", false),
        ] {
            assert_eq!(authority(host).is_allowed(&names), want, "{host}");
        }
    }

    #[test]
    fn other_origins_are_refused() {
        for (origin, site, want) in [
            (None, None, true),
            (Some("https://127.0.0.1:6443"), Some("same-origin"), true),
            (Some("http://127.0.0.1:6443"), None, true),
            (Some("https://127.0.0.1:7443"), None, false),
            (Some("https://evil.example.com"), None, false),
            (Some("null"), None, false),
            (None, Some("cross-site"), false),
            (None, Some("same-site"), false),
            (None, Some("none"), false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(origin) = origin {
                headers.insert(ORIGIN, origin.parse().unwrap());
            }
            if let Some(site) = site {
                headers.insert("sec-fetch-site", site.parse().unwrap());
            }
            assert_eq!(authority("127.0.0.1:6443").is_origin_of(&headers), want, "{origin:?} {site:?}");
        }
    }

    #[test]
    fn cookies_are_those_of_the_port() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, "a=b; __Secure-pleach-console-6443=x".parse().unwrap());
        headers.append(COOKIE, "__Secure-pleach-console-443=y".parse().unwrap());
        assert_eq!(authority("127.0.0.1:6443").cookie(&headers), Some("x"));
        assert_eq!(authority("localhost").cookie(&headers), Some("y"));
        assert_eq!(authority("localhost:1").cookie(&headers), None);
    }
}
