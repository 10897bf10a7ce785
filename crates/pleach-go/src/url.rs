//! Go's `net/url`: parsing URLs and query strings, with its error messages.

mod reference;

use std::fmt::Write as _;

pub use reference::{clean_path, resolve_reference};

use crate::strconv::quote;

/// A parsed URL.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Url {
    scheme: String,
    /// The text after `scheme:` without a slash, as in `mailto:a@b`.
    opaque: String,
    /// Name and password.
    userinfo: Option<(Vec<u8>, Option<Vec<u8>>)>,
    /// With port, unescaped.
    host: String,
    /// Escaped as `getEscapedPath` gives it.
    escaped_path: String,
    /// The text after `?`.
    query: Option<String>,
    /// The text after `#`.
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
    /// `url.Parse`: a reference, whose fragment is split off.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = Self::parse_reference(rest, false).map_err(|reason| parse_error(rest, &reason))?;
        url.fragment = unescape(fragment, Place::Fragment).map_err(|reason| parse_error(text, &reason))?;
        Ok(url)
    }

    /// The reason why a text without its fragment is no URL, without the text, which may be long.
    pub fn problem(text: &str) -> Option<String> {
        Self::parse_reference(text.split('#').next().unwrap_or(text), false).err()
    }

    /// `url.ParseRequestURI`: an absolute URI or an absolute path. A `#` is part of the path.
    pub fn parse_request_uri(text: &str) -> Result<Self, String> {
        Self::parse_reference(text, true).map_err(|reason| parse_error(text, &reason))
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

    /// The approximate length in bytes.
    pub fn bytes(&self) -> usize {
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

    /// User name and password, escaped (`Userinfo.String`).
    pub fn user(&self) -> Option<String> {
        let (name, password) = self.userinfo.as_ref()?;
        let mut out = escape(name, Place::User);
        if let Some(password) = password {
            out.push(':');
            out.push_str(&escape(password, Place::User));
        }
        Some(out)
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

    /// The query, still escaped.
    pub fn raw_query(&self) -> &str {
        self.query.as_deref().unwrap_or_default()
    }

    /// The fragment, unescaped.
    pub fn fragment(&self) -> String {
        String::from_utf8_lossy(&self.fragment).into_owned()
    }
}

/// The pairs of a query string (`url.ParseQuery`), unescaped and in order. Pairs with a semicolon or a
/// broken escape are left out.
pub fn parse_query(query: &str) -> impl Iterator<Item = (String, String)> {
    let text = |part: &str| Some(String::from_utf8_lossy(&unescape(part, Place::Query).ok()?).into_owned());
    query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')).filter_map(move |pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        Some((text(key)?, text(value)?))
    })
}

/// The text of a `url.Error` of `url.Parse`.
pub fn parse_error(text: &str, reason: &str) -> String {
    format!("parse {}: {reason}", quote(text))
}

/// A path with escapes for all bytes that cannot stand in one.
pub fn escape_path(path: &[u8]) -> String {
    escape(path, Place::Path)
}

/// A path without escapes (`url.PathUnescape`).
pub fn unescape_path(path: &str) -> Result<Vec<u8>, String> {
    unescape(path, Place::Path)
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

/// `URL.EscapedPath`: the path as given if it is validly escaped, escaped anew otherwise.
fn escaped_path(path: &str) -> Result<String, String> {
    let unescaped = unescape(path, Place::Path)?;
    let valid = |b: u8| b"!$&'()*+,;=:@[]%".contains(&b) || !should_escape(b, Place::Path);
    if path.bytes().all(valid) {
        return Ok(path.to_owned());
    }
    Ok(escape(&unescaped, Place::Path))
}

fn escape(bytes: &[u8], place: Place) -> String {
    let mut out = String::with_capacity(bytes.len() + 8);
    for &b in bytes {
        if should_escape(b, place) {
            let _ = write!(out, "%{b:02X}");
        } else {
            out.push(char::from(b));
        }
    }
    out
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_parsed_as_in_go() {
        let url = Url::parse("https://u%3a:p%20q@h:80/x?a=b#f%41").unwrap();
        assert_eq!(url.scheme(), "https");
        assert_eq!(url.host(), "h:80");
        assert_eq!(url.user().as_deref(), Some("u%3A:p%20q"));
        assert_eq!(url.raw_query(), "a=b");
        assert_eq!(url.fragment(), "fA");
        for (text, scheme, host) in [
            ("", "", ""),
            ("HTTPS://h", "https", "h"),
            ("https:foo", "https", ""),
            ("//h/x", "", "h"),
            ("///x", "", ""),
            ("https://[::1]:80/x", "https", "[::1]:80"),
            ("https://[fe80::1%25en0]/", "https", "[fe80::1%en0]"),
            ("https://h?", "https", "h"),
            ("https://h:", "https", "h:"),
            ("a/b:c", "", ""),
        ] {
            let url = Url::parse(text).unwrap();
            assert_eq!((url.scheme(), url.host()), (scheme, host), "{text}");
        }
    }

    #[test]
    fn errors_are_go_s() {
        for (text, want) in [
            ("https://[", "missing ']' in host"),
            ("https://a b/c", "invalid character \" \" in host name"),
            ("https://a:port/x", "invalid port \":port\" after host"),
            ("https://a:1:2", "invalid port \":1:2\" after host"),
            ("https://[::1]x/", "invalid port \"x\" after host"),
            ("https://a%zz", "invalid URL escape \"%zz\""),
            ("https://%41", "invalid URL escape \"%41\""),
            ("https://a/%zz", "invalid URL escape \"%zz\""),
            ("https://a/\u{1}", "net/url: invalid control character in URL"),
            (":foo", "missing protocol scheme"),
            ("1https://x", "first path segment in URL cannot contain colon"),
            ("https://us er@h", "net/url: invalid userinfo"),
            ("https://h#%zz", "invalid URL escape \"%zz\""),
        ] {
            assert_eq!(Url::parse(text).unwrap_err(), format!("parse {}: {want}", quote(text)));
        }
    }
}
