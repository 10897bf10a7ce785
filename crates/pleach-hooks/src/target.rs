//! The URL of a request, as Go writes it.
//!
//! Text and not a parsed URL, because it is printed in every error: a port that was given is kept
//! even if it is the scheme's own, and a host stays in the case it was written in. The path is
//! cleaned and escaped anew.

use std::time::Duration;

use http::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use pleach_engine::webhooks::caller::Place;
use pleach_engine::webhooks::excerpt;
use pleach_go::strconv::quote;
use pleach_go::time::format_duration;

use crate::words;

/// What is escaped in a path.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b',')
    .remove(b'/')
    .remove(b':')
    .remove(b';')
    .remove(b'=')
    .remove(b'@');

/// Where one request goes.
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
                let (scheme, rest) = url.split_once("://").ok_or_else(|| unparsable(url))?;
                let rest = rest.split(['?', '#']).next().unwrap_or(rest);
                let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
                (format!("{scheme}://{authority}"), percent_decode_str(path).collect::<Vec<u8>>())
            }
            Place::Service { namespace, name, path, port } => {
                (format!("https://{name}.{namespace}.svc:{port}"), path.as_bytes().to_vec())
            }
        };
        let path = clean(&path);
        let text = format!("{origin}{}?timeout={}", percent_encode(&path, PATH), duration(timeout));
        Ok(Self { text })
    }

    /// For the HTTP client.
    pub(crate) fn uri(&self) -> Result<Uri, String> {
        let sent = self.text.split('#').next().unwrap_or(&self.text);
        let uri: Uri = sent.parse().map_err(|_| words::post(&self.text, &unparsable(&self.text)))?;
        match uri.scheme_str() {
            Some("https") => Ok(uri),
            other => {
                let scheme = quote(other.unwrap_or_default());
                Err(words::post(&self.text, &format!("unsupported protocol scheme {scheme}")))
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

    /// Whether scheme, host and port are those of another target, which is one for HTTPS.
    pub(crate) fn has_origin_of(&self, other: &Self) -> bool {
        let is_https = self.text.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("https://"));
        let origin = |target: &Self| {
            let host = target.host().to_ascii_lowercase();
            host.strip_suffix(":443").map_or(host.clone(), str::to_owned)
        };
        is_https && origin(self) == origin(other)
    }

    /// Where a `Location` points, seen from here.
    pub(crate) fn resolve(&self, location: &str) -> Result<Self, String> {
        let (scheme, rest) = self.text.split_once("://").unwrap_or(("https", ""));
        let authority = self.authority();
        let path = rest[authority.len()..].split(['?', '#']).next().unwrap_or("/");
        let text = if absolute(location) {
            location.to_owned()
        } else if let Some(rest) = location.strip_prefix("//") {
            format!("{scheme}://{rest}")
        } else if location.starts_with(['?', '#']) {
            format!("{scheme}://{authority}{path}{location}")
        } else {
            let end = location.find(['?', '#']).unwrap_or(location.len());
            let (reference, tail) = location.split_at(end);
            let base =
                if reference.starts_with('/') { "" } else { path.rsplit_once('/').map_or("", |p| p.0) };
            let joined = dotless(&format!("{base}/{}", reference.strip_prefix('/').unwrap_or(reference)));
            format!("{scheme}://{authority}{joined}{tail}")
        };
        let next = Self { text: escape_rest(&text) };
        let sound = next.text.split('#').next().is_some_and(|text| text.parse::<Uri>().is_ok());
        if sound {
            return Ok(next);
        }
        let quoted = quote(&excerpt(location));
        let why = if location.contains("://[") { "missing ']' in host" } else { "invalid URL" };
        Err(format!("failed to parse Location header {quoted}: parse {quoted}: {why}"))
    }
}

/// Whole seconds, rounded up, as in the `timeout` parameter.
pub(crate) fn seconds(timeout: Duration) -> u64 {
    timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0)
}

fn unparsable(url: &str) -> String {
    format!("parse {}: invalid URL", quote(url))
}

/// Go's text of so many seconds.
fn duration(seconds: u64) -> String {
    format_duration(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(1_000_000_000))
}

/// A path from the root without empty parts and dots, and without a slash at its end.
fn clean(path: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let mut out = vec![b'/'];
    out.extend(parts.join(&b'/'));
    out
}

/// A path with its dots resolved, otherwise as it was.
fn dotless(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let mut open = false;
    for part in path.split('/').skip(1) {
        open = matches!(part, "." | "..");
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let mut out = format!("/{}", parts.join("/"));
    if open && !out.ends_with('/') {
        out.push('/');
    }
    out
}

fn absolute(location: &str) -> bool {
    location.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    })
}

/// What can stand in no URL is escaped, what is escaped already stays.
fn escape_rest(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte) {
            out.push(byte as char);
        } else {
            out.push_str(percent_encoding::percent_encode_byte(byte));
        }
    }
    out
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
