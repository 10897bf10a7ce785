//! URLs, read with the rules and error texts of Go's `net/url`.
//!
//! A text must be a URI for a request (absolute, or a path from the root) and is then taken apart
//! as a reference, so that a fragment is split off.

use crate::value::quote;
use std::fmt::Write;

/// A URL taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Url {
    scheme: String,
    /// What follows `scheme:` without a slash, as in `mailto:a@b`.
    opaque: String,
    /// Name and password.
    userinfo: Option<(Vec<u8>, Option<Vec<u8>>)>,
    /// With port, unescaped.
    host: String,
    /// Escaped as `getEscapedPath` gives it.
    escaped_path: String,
    /// What follows `?`.
    query: Option<String>,
    /// What follows `#`.
    fragment: Vec<u8>,
}

/// Which characters stand for themselves where.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Path,
    Host,
    Zone,
    User,
    Query,
    Fragment,
}

impl Url {
    /// Reads a URL; the error is the API server's text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fail = |reason: String| format!("parse {}: {reason}", quote(text));
        Self::check_request_uri(text)?;
        let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = Self::parse_reference(rest, false)
            .map_err(|reason| format!("parse {}: {reason}", quote(rest)))?;
        url.fragment = unescape(fragment, Place::Fragment).map_err(fail)?;
        Ok(url)
    }

    /// Whether the text is a URI for a request; the error is Go's text.
    pub fn check_request_uri(text: &str) -> Result<(), String> {
        match Self::parse_reference(text, true) {
            Ok(_) => Ok(()),
            Err(reason) => Err(format!("parse {}: {reason}", quote(text))),
        }
    }

    fn parse_reference(text: &str, for_request: bool) -> Result<Self, String> {
        if text.bytes().any(|b| b < 0x20 || b == 0x7f) {
            return Err("net/url: invalid control character in URL".to_owned());
        }
        if text.is_empty() && for_request {
            return Err("empty url".to_owned());
        }
        let mut url = Self::default();
        if text == "*" {
            "*".clone_into(&mut url.escaped_path);
            return Ok(url);
        }
        let (scheme, mut rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        if let Some((before, query)) = rest.split_once('?') {
            rest = before;
            url.query = Some(query.to_owned());
        }
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                rest.clone_into(&mut url.opaque);
                return Ok(url);
            }
            if for_request {
                return Err("invalid URI for request".to_owned());
            }
            if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return Err("first path segment in URL cannot contain colon".to_owned());
            }
        }
        if (!url.scheme.is_empty() || (!for_request && !rest.starts_with("///")))
            && let Some(after) = rest.strip_prefix("//")
        {
            let end = after.find('/').unwrap_or(after.len());
            url.set_authority(&after[..end])?;
            rest = &after[end..];
        }
        url.escaped_path = escaped_path(rest)?;
        Ok(url)
    }

    fn set_authority(&mut self, authority: &str) -> Result<(), String> {
        let Some((userinfo, host)) = authority.rsplit_once('@') else {
            self.host = parse_host(authority)?;
            return Ok(());
        };
        self.host = parse_host(host)?;
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
        if !userinfo.bytes().all(allowed) {
            return Err("net/url: invalid userinfo".to_owned());
        }
        let (name, password) = match userinfo.split_once(':') {
            Some((name, password)) => (name, Some(unescape(password, Place::User)?)),
            None => (userinfo, None),
        };
        self.userinfo = Some((unescape(name, Place::User)?, password));
        Ok(())
    }

    /// How long it is, about.
    pub(crate) fn bytes(&self) -> usize {
        let userinfo = self
            .userinfo
            .as_ref()
            .map_or(0, |(name, password)| name.len() + password.as_ref().map_or(0, Vec::len));
        let texts = [&self.scheme, &self.opaque, &self.host, &self.escaped_path];
        let query = self.query.as_ref().map_or(0, String::len);
        userinfo + texts.map(String::len).iter().sum::<usize>() + query + self.fragment.len()
    }

    /// The scheme in lower case; empty if there is none.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Host and port.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The host without port and brackets.
    pub fn hostname(&self) -> &str {
        let (host, _) = self.split_port();
        host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host)
    }

    /// The port's digits; empty if there is none.
    pub fn port(&self) -> &str {
        self.split_port().1
    }

    fn split_port(&self) -> (&str, &str) {
        match self.host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => (host, port),
            _ => (&self.host, ""),
        }
    }

    /// The path with escapes.
    pub fn escaped_path(&self) -> &str {
        &self.escaped_path
    }

    /// The values of the query by key, both unescaped; what cannot be read is left out.
    pub fn query(&self) -> std::collections::BTreeMap<String, Vec<String>> {
        let mut values = std::collections::BTreeMap::<_, Vec<_>>::new();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        for part in self.query.as_deref().unwrap_or("").split('&') {
            if part.is_empty() || part.contains(';') {
                continue;
            }
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if let (Ok(key), Ok(value)) = (unescape(key, Place::Query), unescape(value, Place::Query)) {
                values.entry(text(key)).or_default().push(text(value));
            }
        }
        values
    }
}

fn split_scheme(text: &str) -> Result<(&str, &str), String> {
    for (i, b) in text.bytes().enumerate() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if i > 0 => {}
            b':' if i == 0 => return Err("missing protocol scheme".to_owned()),
            b':' => return Ok((&text[..i], &text[i + 1..])),
            _ => break,
        }
    }
    Ok(("", text))
}

fn parse_host(host: &str) -> Result<String, String> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let check_port = |port: &str| {
        let valid =
            port.is_empty() || port.strip_prefix(':').is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()));
        if valid { Ok(()) } else { Err(format!("invalid port {} after host", quote(port))) }
    };
    if host.starts_with('[') {
        let Some(end) = host.rfind(']') else { return Err("missing ']' in host".to_owned()) };
        check_port(&host[end + 1..])?;
        // A zone may hold any character, if it is escaped.
        if let Some(zone) = host[..end].find("%25") {
            let mut out = unescape(&host[..zone], Place::Host)?;
            out.extend(unescape(&host[zone..end], Place::Zone)?);
            out.extend(unescape(&host[end..], Place::Host)?);
            return Ok(text(out));
        }
    } else if let Some(colon) = host.find(':') {
        check_port(&host[colon..])?;
    }
    unescape(host, Place::Host).map(text)
}

/// The path as it is, if it is escaped properly; with the least escapes otherwise.
fn escaped_path(path: &str) -> Result<String, String> {
    let unescaped = unescape(path, Place::Path)?;
    let valid = |b: u8| b"!$&'()*+,;=:@[]%".contains(&b) || !should_escape(b, Place::Path);
    if path.bytes().all(valid) {
        return Ok(path.to_owned());
    }
    let mut out = String::with_capacity(path.len() + 8);
    for b in unescaped {
        if should_escape(b, Place::Path) {
            _ = write!(out, "%{b:02X}");
        } else {
            out.push(char::from(b));
        }
    }
    Ok(out)
}

fn unescape(text: &str, place: Place) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes();
    let host = matches!(place, Place::Host | Place::Zone);
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let b = bytes[at];
        if b == b'%' {
            let bad = || {
                let end = (at + 3).min(bytes.len());
                Err(format!("invalid URL escape {}", quote(&String::from_utf8_lossy(&bytes[at..end]))))
            };
            let digit = |at: usize| bytes.get(at).and_then(|b| char::from(*b).to_digit(16));
            let (Some(high), Some(low)) = (digit(at + 1), digit(at + 2)) else { return bad() };
            let value = (high * 16 + low) as u8;
            let percent = value == b'%';
            if place == Place::Host && high < 8 && !percent {
                return bad();
            }
            if place == Place::Zone && !percent && value != b' ' && should_escape(value, Place::Host) {
                return bad();
            }
            out.push(value);
            at += 3;
            continue;
        }
        if host && b < 0x80 && should_escape(b, place) {
            return Err(format!("invalid character {} in host name", quote(&char::from(b).to_string())));
        }
        out.push(if b == b'+' && place == Place::Query { b' ' } else { b });
        at += 1;
    }
    Ok(out)
}

fn should_escape(b: u8, place: Place) -> bool {
    if b.is_ascii_alphanumeric() || b"-_.~".contains(&b) {
        return false;
    }
    match place {
        Place::Host | Place::Zone => !b"!$&'()*+,;=:[]<>\"".contains(&b),
        Place::Path => !b"$&+,/:;=@".contains(&b),
        Place::User => !b"$&+,;=".contains(&b),
        Place::Query => true,
        Place::Fragment => !b"$&+,/:;=?@!()*".contains(&b),
    }
}
