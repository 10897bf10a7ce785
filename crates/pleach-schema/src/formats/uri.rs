//! `uri`: what Go's `url.ParseRequestURI` accepts.
//!
//! That is an absolute URI or an absolute path. Opaque URIs (`mailto:x`) are accepted with nothing
//! after the colon looked at; fragments are part of the path.

use super::Format;

/// An absolute URI or path.
pub(super) struct Uri;

impl Format for Uri {
    fn name(&self) -> &'static str {
        "uri"
    }
    fn doc(&self) -> &'static str {
        "an absolute URI, or an absolute path"
    }
    fn accepts(&self, text: &str) -> bool {
        if text.is_empty() || text.bytes().any(|b| b < b' ' || b == 0x7f) {
            return false;
        }
        if text == "*" {
            return true;
        }
        let Some((scheme, rest)) = split_scheme(text) else { return false };
        let rest = rest.split_once('?').map_or(rest, |(before, _)| before);
        if !rest.starts_with('/') {
            return !scheme.is_empty();
        }
        let path = match rest.strip_prefix("//").filter(|_| !scheme.is_empty()) {
            Some(after) => {
                let end = after.find('/').unwrap_or(after.len());
                if !is_authority(&after[..end]) {
                    return false;
                }
                &after[end..]
            }
            None => rest,
        };
        escapes_are_whole(path)
    }
}

/// The scheme, empty when there is none, and what follows; `None` for a text that starts with a colon.
fn split_scheme(text: &str) -> Option<(&str, &str)> {
    for (i, b) in text.bytes().enumerate() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if i > 0 => {}
            b':' if i == 0 => return None,
            b':' => return Some((&text[..i], &text[i + 1..])),
            _ => break,
        }
    }
    Some(("", text))
}

/// Every `%` has two hexadecimal digits after it.
fn escapes_are_whole(text: &str) -> bool {
    text.split('%').skip(1).all(|after| {
        let after = after.as_bytes();
        after.len() >= 2 && after[0].is_ascii_hexdigit() && after[1].is_ascii_hexdigit()
    })
}

fn is_authority(text: &str) -> bool {
    let Some((user, host)) = text.rsplit_once('@') else { return is_host(text) };
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
    is_host(host) && user.bytes().all(allowed) && escapes_are_whole(user)
}

fn is_optional_port(text: &str) -> bool {
    text.is_empty() || text.strip_prefix(':').is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
}

fn is_host(host: &str) -> bool {
    if host.starts_with('[') {
        let Some(end) = host.rfind(']') else { return false };
        if !is_optional_port(&host[end + 1..]) {
            return false;
        }
        if let Some(zone) = host[..end].find("%25") {
            let zone_is_fine = escapes_are_whole(&host[zone..end])
                && host[zone..end].bytes().all(|b| b >= 0x80 || b == b'%' || is_host_byte(b));
            return has_host_form(&host[..zone]) && zone_is_fine && has_host_form(&host[end..]);
        }
    } else if let Some(colon) = host.rfind(':')
        && !is_optional_port(&host[colon..])
    {
        return false;
    }
    has_host_form(host)
}

fn is_host_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"".contains(&b)
}

/// In a host only bytes beyond ASCII, and `%` itself, may be escaped.
fn has_host_form(host: &str) -> bool {
    escapes_are_whole(host)
        && host.split('%').skip(1).all(|after| after.as_bytes()[0] >= b'8' || after.starts_with("25"))
        && host.bytes().all(|b| b >= 0x80 || b == b'%' || is_host_byte(b))
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn request_uris() {
        check(
            &Uri,
            &[
                "+http://example.com",
                "+https://u:p@example.com:8443/a?b=c#d",
                "+/path/only",
                "+mailto:a@b",
                "+*",
                "+http://[::1]:80/",
                "+http://[fe80::1%25eth0]/",
                "+http://h/%41",
                "+urn:x:y",
                "+http://",
                "+http://a:",
                "-",
                "-example.com",
                "-://x",
                "-http://a b/",
                "-http://h/%4",
                "-http://h:port/",
                "-http://[::1/",
                "-\u{1}",
                "-http://u ser@h/",
                "-?q",
                "-1http://x",
                "-http://%41/",
                "+http://%e4/",
                "-http://a\\b/",
            ],
        );
    }
}
