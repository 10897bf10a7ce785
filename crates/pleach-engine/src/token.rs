//! Continue tokens of paged lists.
//!
//! A token is the unpadded URL-safe base64 of `{"v":"meta.k8s.io/v1","rv":123,"start":"ns/name\u0000"}`
//! where `start` is the key after the resource's prefix. Clients may keep it but not look inside; the
//! error texts are upstream's.

use pleach_go::base64;
use pleach_json::{Map, Value};

use crate::rejection::Rejection;

const VERSION: &str = "meta.k8s.io/v1";

/// A decoded continue token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The snapshot of the first page; `None` continues at the latest state.
    pub revision: Option<u64>,
    /// The first key of the next page, relative to the resource's prefix.
    pub start: String,
}

impl Token {
    /// Decodes a token.
    pub fn decode(text: &str) -> Result<Self, Rejection> {
        let bytes = base64::decode_raw_url(text)
            .map_err(|error| refuse(format!("continue key is not valid: {error}")))?;
        let value = pleach_json::parse(&bytes)
            .map_err(|error| refuse(format!("continue key is not valid: {}", error.sigs())))?;
        let version = value.get("v").and_then(Value::as_str).unwrap_or_default();
        if version != VERSION {
            return Err(refuse(format!(
                "continue key is not valid: server does not recognize this encoded version {version}"
            )));
        }
        let revision = value.get("rv").and_then(Value::as_int).unwrap_or_default();
        let start = value.get("start").and_then(Value::as_str).unwrap_or_default();
        if start.is_empty() {
            return Err(refuse(format!(
                "continue key is not valid: encoded start key empty (version {VERSION})"
            )));
        }
        if revision == 0 {
            return Err(refuse(format!(
                "continue key is not valid: incorrect encoded start resourceVersion (version {VERSION})"
            )));
        }
        // A start that climbs out of the resource would list someone else's objects.
        let climbs = start.split('/').any(|part| part == ".." || part == ".") || start.starts_with('/');
        if climbs {
            return Err(refuse(format!("continue key is not valid: {start}")));
        }
        Ok(Self { revision: u64::try_from(revision).ok(), start: start.to_owned() })
    }

    /// Encodes the token.
    pub fn encode(&self) -> String {
        let mut token = Map::new();
        token.insert("v", VERSION);
        token.insert("rv", self.revision.map_or(-1, |rv| rv as i64));
        token.insert("start", self.start.as_str());
        base64::encode_raw_url(pleach_json::to_vec(&token.into()))
    }
}

fn refuse(why: String) -> Rejection {
    Rejection::BadRequest(format!("invalid continue token: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_comes_back() {
        for token in [
            Token { revision: Some(123), start: "ns/x\0".into() },
            Token { revision: None, start: "x\0".into() },
        ] {
            assert_eq!(Token::decode(&token.encode()).unwrap(), token);
        }
    }

    #[test]
    fn an_invalid_token_is_a_bad_request() {
        let encoded = |json: &str| base64::encode_raw_url(json);
        for (text, want) in [
            ("%%%".to_owned(), "continue key is not valid: illegal base64 data at input byte 0"),
            (encoded("{"), "continue key is not valid: unexpected end of JSON input"),
            (
                encoded(r#"{"v":"v0","rv":1,"start":"a"}"#),
                "server does not recognize this encoded version v0",
            ),
            (
                encoded(r#"{"v":"meta.k8s.io/v1","rv":0,"start":"a"}"#),
                "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
            ),
            (encoded(r#"{"v":"meta.k8s.io/v1","rv":1}"#), "encoded start key empty (version meta.k8s.io/v1)"),
            (encoded(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"../a"}"#), "continue key is not valid: ../a"),
        ] {
            let error = Token::decode(&text).unwrap_err().to_string();
            assert!(error.starts_with("invalid continue token: ") && error.ends_with(want), "{error}");
        }
    }
}
