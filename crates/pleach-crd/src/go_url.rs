//! URLs as Go's `net/url` takes them apart, as far as CRDs need it: the webhook's address and the
//! place of an approval.

use std::fmt::Write as _;

use pleach_meta::go_format::quote;

/// A URL taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Url {
    pub(crate) scheme: String,
    pub(crate) host: String,
    /// Name and password as they are written again, if there is an `@`.
    pub(crate) user: Option<String>,
    pub(crate) query: String,
    pub(crate) fragment: String,
}

/// Whether a text is a URL for a request, with scheme and host.
pub(crate) fn is_request_uri_with_host(text: &str) -> bool {
    // A request knows no fragment: the hash is part of the path then.
    parse_without_fragment(text, true).is_ok_and(|url| !url.scheme.is_empty() && !url.host.is_empty())
}

/// Reads a URL; the error is Go's.
pub(crate) fn parse(text: &str) -> Result<Url, String> {
    let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
    let mut url = parse_without_fragment(rest, false).map_err(|e| format!("parse {}: {e}", quote(rest)))?;
    url.fragment = unescape(fragment, Part::Other).map_err(|e| format!("parse {}: {e}", quote(text)))?;
    Ok(url)
}

fn parse_without_fragment(text: &str, request: bool) -> Result<Url, String> {
    if text.bytes().any(|b| b < 0x20 || b == 0x7f) {
        return Err("net/url: invalid control character in URL".to_owned());
    }
    if text.is_empty() && request {
        return Err("empty url".to_owned());
    }
    let mut url = Url::default();
    if text == "*" {
        return Ok(url);
    }
    let (scheme, rest) = scheme(text)?;
    url.scheme = scheme.to_ascii_lowercase();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    query.clone_into(&mut url.query);
    if !rest.starts_with('/') {
        if !url.scheme.is_empty() {
            return Ok(url);
        }
        if request {
            return Err("invalid URI for request".to_owned());
        }
        if rest.split('/').next().is_some_and(|first| first.contains(':')) {
            return Err("first path segment in URL cannot contain colon".to_owned());
        }
    }
    let mut path = rest;
    if (!url.scheme.is_empty() || !request && !rest.starts_with("///"))
        && let Some(after) = rest.strip_prefix("//")
    {
        let end = after.find('/').unwrap_or(after.len());
        path = &after[end..];
        authority(&after[..end], &mut url)?;
    }
    unescape(path, Part::Other)?;
    Ok(url)
}

/// The scheme, which may be none, and what follows its colon.
fn scheme(text: &str) -> Result<(&str, &str), String> {
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

fn authority(text: &str, url: &mut Url) -> Result<(), String> {
    let (user, host) = match text.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, text),
    };
    url.host = parse_host(host)?;
    let Some(user) = user else { return Ok(()) };
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
    if !user.bytes().all(plain) {
        return Err("net/url: invalid userinfo".to_owned());
    }
    url.user = Some(match user.split_once(':') {
        None => escape_user(&unescape(user, Part::Other)?),
        Some((name, password)) => format!(
            "{}:{}",
            escape_user(&unescape(name, Part::Other)?),
            escape_user(&unescape(password, Part::Other)?)
        ),
    });
    Ok(())
}

fn parse_host(host: &str) -> Result<String, String> {
    let after_host = match host.rfind('[') {
        Some(0) => {
            let Some(end) = host.rfind(']') else { return Err("missing ']' in host".to_owned()) };
            let port = &host[end + 1..];
            check_port(port)?;
            if let Some(zone) = host[..end].find("%25") {
                let text = unescape(&host[..zone], Part::Host)? + &unescape(&host[zone..end], Part::Zone)?;
                return Ok(text + &unescape(&host[end..], Part::Host)?);
            }
            return unescape(host, Part::Host);
        }
        _ => host.find(':').map(|i| &host[i..]),
    };
    if let Some(port) = after_host {
        check_port(port)?;
    }
    unescape(host, Part::Host)
}

fn check_port(port: &str) -> Result<(), String> {
    let fine =
        port.is_empty() || port.strip_prefix(':').is_some_and(|p| p.bytes().all(|b| b.is_ascii_digit()));
    if fine { Ok(()) } else { Err(format!("invalid port {} after host", quote(port))) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Host,
    Zone,
    Other,
}

/// Replaces `%41`, which hosts may not have unless it stands for a byte beyond ASCII.
fn unescape(text: &str, part: Part) -> Result<String, String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while i < bytes.len() {
        let b = bytes[i];
        if b == b'%' {
            let hex = bytes.get(i + 1..i + 3).filter(|h| h.iter().all(u8::is_ascii_hexdigit));
            let Some(hex) = hex.and_then(|h| std::str::from_utf8(h).ok()) else {
                let end = (i + 3).min(bytes.len());
                return Err(format!(
                    "invalid URL escape {}",
                    quote(&String::from_utf8_lossy(&bytes[i..end]))
                ));
            };
            let value = u8::from_str_radix(hex, 16).expect("two hexadecimal digits are a byte");
            let refused = match part {
                Part::Host => value < 0x80 && hex != "25",
                Part::Zone => hex != "25" && value != b' ' && !is_host_byte(value),
                Part::Other => false,
            };
            if refused {
                return Err(format!("invalid URL escape {}", quote(&text[i..i + 3])));
            }
            out.push(value);
            i += 3;
        } else {
            if part != Part::Other && b < 0x80 && !is_host_byte(b) {
                return Err(format!("invalid character {} in host name", quote(&text[i..=i])));
            }
            out.push(b);
            i += 1;
        }
    }
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn is_host_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&b)
}

fn escape_user(text: &str) -> String {
    let mut out = String::new();
    for b in text.bytes() {
        if b.is_ascii_alphanumeric() || b"-_.~$&+,;=!*'()".contains(&b) {
            out.push(char::from(b));
        } else {
            let _ = write!(out, "%{b:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_come_apart_as_in_go() {
        let url = parse("https://u%3a:p%20q@h:80/x?a=b#f%41").unwrap();
        assert_eq!(url.scheme, "https");
        assert_eq!(url.host, "h:80");
        assert_eq!(url.user.as_deref(), Some("u%3A:p%20q"));
        assert_eq!(url.query, "a=b");
        assert_eq!(url.fragment, "fA");
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
            let url = parse(text).unwrap();
            assert_eq!((url.scheme.as_str(), url.host.as_str()), (scheme, host), "{text}");
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
            assert_eq!(parse(text).unwrap_err(), format!("parse {}: {want}", quote(text)));
        }
    }
}
