//! The URL of a request, as Go writes it.
//!
//! Text and not a parsed URL, because it is printed in every error: a port that was given is kept
//! even if it is the scheme's own, and a host stays in the case it was written in. The path is
//! cleaned and escaped anew.

use std::time::Duration;

use http::Uri;
use pleach_engine::webhooks::caller::Place;
use pleach_engine::webhooks::excerpt;
use pleach_go::strconv::quote;
use pleach_go::time::format_duration;
use pleach_go::url::{self, Url, clean_path, escape_path, parse_error, unescape_path};

use crate::errors;

/// The reason of an error about a URL that is none to the HTTP library alone.
const INVALID: &str = "invalid URL";

/// The URL of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// The whole URL.
    pub(crate) text: String,
}

impl Target {
    /// The URL of a webhook, with its `timeout` parameter.
    pub(crate) fn of(place: &Place, timeout: u64) -> Result<Self, String> {
        let (origin, path) = match place {
            Place::Url(url) => {
                let parsed = Url::parse(url)?;
                let path =
                    unescape_path(parsed.escaped_path()).map_err(|reason| parse_error(url, &reason))?;
                let user = parsed.user().map_or_else(String::new, |user| format!("{user}@"));
                (format!("{}://{user}{}", parsed.scheme(), parsed.host()), path)
            }
            Place::Service { namespace, name, path, port } => {
                (format!("https://{name}.{namespace}.svc:{port}"), path.as_bytes().to_vec())
            }
        };
        let path = escape_path(&clean_path(&path));
        let text = format!("{origin}{path}?timeout={}", duration(timeout));
        Ok(Self { text })
    }

    /// For the HTTP client.
    pub(crate) fn uri(&self) -> Result<Uri, String> {
        let sent = self.text.split('#').next().unwrap_or(&self.text);
        let uri: Uri =
            sent.parse().map_err(|_| errors::post(&self.text, &parse_error(&self.text, INVALID)))?;
        match uri.scheme_str() {
            Some("https") => Ok(uri),
            other => {
                let scheme = quote(other.unwrap_or_default());
                Err(errors::post(&self.text, &format!("unsupported protocol scheme {scheme}")))
            }
        }
    }

    /// The host, with the port if there is one.
    pub(crate) fn host(&self) -> &str {
        let authority = self.authority();
        authority.rsplit_once('@').map_or(authority, |(_, host)| host)
    }

    fn authority(&self) -> &str {
        let rest = self.text.split_once("://").map_or("", |(_, rest)| rest);
        rest.split(['/', '?', '#']).next().unwrap_or(rest)
    }

    /// Whether scheme, host and port are equal to those of another target, which is one for HTTPS.
    pub(crate) fn has_origin_of(&self, other: &Self) -> bool {
        let is_https = self.text.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"));
        let origin = |target: &Self| {
            let host = target.host().to_ascii_lowercase();
            host.strip_suffix(":443").map_or(host.clone(), str::to_owned)
        };
        is_https && origin(self) == origin(other)
    }

    /// The target of a redirect to `location`.
    pub(crate) fn resolve(&self, location: &str) -> Result<Self, String> {
        let next = Self { text: url::resolve_reference(&self.text, location) };
        if next.text.split('#').next().is_some_and(|text| text.parse::<Uri>().is_ok()) {
            return Ok(next);
        }
        let shown = excerpt(location);
        let reason = Url::problem(location).unwrap_or_else(|| INVALID.to_owned());
        Err(format!("failed to parse Location header {}: {}", quote(&shown), parse_error(&shown, &reason)))
    }
}

/// Whole seconds, rounded up, as in the `timeout` parameter.
pub(crate) fn seconds(timeout: Duration) -> u64 {
    timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0)
}

/// Go's text of so many seconds.
fn duration(seconds: u64) -> String {
    format_duration(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn url(url: &str, wanted: &str) {
        assert_eq!(Target::of(&Place::Url(url.into()), 3).expect("a URL").text, wanted);
    }

    #[test]
    fn urls_are_cleaned() {
        url("https://127.0.0.1:1", "https://127.0.0.1:1/?timeout=3s");
        url("https://127.0.0.1:1/a/b/", "https://127.0.0.1:1/a/b?timeout=3s");
        url("https://127.0.0.1:1/a/../b//c", "https://127.0.0.1:1/b/c?timeout=3s");
        url(
            "https://127.0.0.1:1/a%2Fb/\u{fc}/%20x/a+b;c=d",
            "https://127.0.0.1:1/a/b/%C3%BC/%20x/a+b;c=d?timeout=3s",
        );
        url("https://127.0.0.1:443/a", "https://127.0.0.1:443/a?timeout=3s");
        url("https://LocalHost/a", "https://LocalHost/a?timeout=3s");
    }

    #[test]
    fn errors_of_urls_are_those_of_go() {
        let error = Target::of(&Place::Url("https://[::1/x".into()), 3).expect_err("no URL");
        assert_eq!(error, "parse \"https://[::1/x\": missing ']' in host");
    }

    #[test]
    fn services_keep_their_port() {
        let service = |path: &str| Place::Service {
            namespace: "ns".into(),
            name: "svc".into(),
            path: path.into(),
            port: 443,
        };
        let text = |path| Target::of(&service(path), 30).expect("a URL").text;
        assert_eq!(text(""), "https://svc.ns.svc:443/?timeout=30s");
        assert_eq!(text("/p/../q/"), "https://svc.ns.svc:443/q?timeout=30s");
        assert_eq!(text("/p%20q?x=y#z"), "https://svc.ns.svc:443/p%2520q%3Fx=y%23z?timeout=30s");
    }

    #[test]
    fn origins() {
        let target = |text: &str| Target { text: text.to_owned() };
        let first = target("https://Hook.example.com:443/a?timeout=3s");
        for (text, same) in [
            ("https://hook.example.com/b", true),
            ("HTTPS://hook.example.com:443/b", true),
            ("https://user@hook.example.com/b", true),
            ("http://hook.example.com:443/b", false),
            ("https://hook.example.com:8443/b", false),
            ("https://hook.example.com.evil/b", false),
            ("https://hook.example.com@evil/b", false),
            ("https://evil/https://hook.example.com/", false),
            ("ftp://hook.example.com/", false),
        ] {
            assert_eq!(target(text).has_origin_of(&first), same, "{text}");
        }
    }

    #[test]
    fn durations() {
        let text = |millis| duration(seconds(Duration::from_millis(millis)));
        assert_eq!(text(30_000), "30s");
        assert_eq!(text(60_000), "1m0s");
        assert_eq!(text(90_001), "1m31s");
        assert_eq!(text(3_600_000), "1h0m0s");
        assert_eq!(text(1), "1s");
    }

    #[test]
    fn locations() {
        let here = Target { text: "https://h:1/a/b?timeout=3s".to_owned() };
        let text = |location| here.resolve(location).map(|target| target.text);
        assert_eq!(text("../end?q=1#f"), Ok("https://h:1/end?q=1#f".to_owned()));
        assert_eq!(text("c"), Ok("https://h:1/a/c".to_owned()));
        assert_eq!(text("/c"), Ok("https://h:1/c".to_owned()));
        assert_eq!(text("//other/c"), Ok("https://other/c".to_owned()));
        assert_eq!(text("?x"), Ok("https://h:1/a/b?x".to_owned()));
        assert_eq!(text("https://127.0.0.1:1/x y"), Ok("https://127.0.0.1:1/x%20y".to_owned()));
        assert_eq!(
            text("http://[::1/x"),
            Err("failed to parse Location header \"http://[::1/x\": parse \"http://[::1/x\": missing ']' in host"
                .to_owned())
        );
    }
}
