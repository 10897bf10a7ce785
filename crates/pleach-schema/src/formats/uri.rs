//! `uri`: what Go's `url.ParseRequestURI` accepts.
//!
//! That is an absolute URI or an absolute path. Opaque URIs (`mailto:x`) are accepted with nothing
//! after the colon looked at; fragments are part of the path.

use pleach_go::url::Url;

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
        Url::parse_request_uri(text).is_ok()
    }
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
