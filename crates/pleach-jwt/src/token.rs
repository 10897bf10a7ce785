//! Tokens in their compact form: header, claims and signature. Nothing here is verified.

use pleach_go::base64::decode_raw_url;
use pleach_json::Value;

use crate::algorithm::Algorithm;
use crate::key::PublicKey;

/// A token that has been taken apart. What it says counts only once a key verifies it.
#[derive(Clone, Debug)]
pub struct Token<'a> {
    /// The claims: an object.
    pub claims: Value,
    /// The header in base64.
    header: &'a str,
    /// The signed part: header and claims in base64.
    message: &'a str,
    /// In base64.
    signature: &'a str,
}

/// The members of a header that verifying needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The key id; may be empty.
    pub key_id: String,
    /// The name of the algorithm.
    pub algorithm: String,
}

impl<'a> Token<'a> {
    /// Takes a token apart; `None` if it is not three parts of which the second is an object.
    pub fn parse(token: &'a str) -> Option<Self> {
        let (message, signature) = token.rsplit_once('.')?;
        let (header, claims) = message.split_once('.')?;
        if claims.contains('.') {
            return None;
        }
        Some(Self { claims: object(claims)?, header, message, signature })
    }

    /// The issuer that the token says.
    pub fn issuer(&self) -> &str {
        self.text("iss")
    }

    /// A claim that is a text; empty if it is missing or something else.
    pub fn text(&self, claim: &str) -> &str {
        self.claims.get(claim).and_then(Value::as_str).unwrap_or_default()
    }

    /// The audiences: a text or a list of texts.
    pub fn audiences(&self) -> Vec<&str> {
        match self.claims.get("aud") {
            Some(Value::String(text)) => vec![text],
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        }
    }

    /// A time in seconds since 1970; parts of a second are dropped.
    pub fn time(&self, claim: &str) -> Option<i64> {
        match self.claims.get(claim)? {
            Value::Int(seconds) => Some(*seconds),
            // Out of range it saturates, which is long ago or far off as well.
            Value::Float(seconds) => Some(*seconds as i64),
            _ => None,
        }
    }

    /// The header; `None` if it is no object.
    pub fn header(&self) -> Option<Header> {
        let header = object(self.header)?;
        let text = |key: &str| header.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        // Extensions that must be understood are not.
        if header.get("crit").is_some() {
            return None;
        }
        Some(Header { key_id: text("kid"), algorithm: text("alg") })
    }

    /// Whether the signature is this key's.
    pub fn is_signed_by(&self, key: &PublicKey, algorithm: Algorithm) -> bool {
        decode_raw_url(self.signature)
            .is_ok_and(|signature| key.verifies(algorithm, self.message.as_bytes(), &signature))
    }
}

fn object(part: &str) -> Option<Value> {
    let bytes = decode_raw_url(part).ok()?;
    pleach_json::parse(&bytes).ok().filter(|value| value.as_object().is_some())
}

#[cfg(test)]
mod tests {
    use pleach_go::base64::encode_raw_url;

    use super::*;

    #[test]
    fn tokens_are_three_parts() {
        let part = encode_raw_url;
        let claims = part("{\"iss\":\"i\",\"aud\":\"a\",\"exp\":1.9e1}");
        let good = format!("{}.{claims}.x", part("{\"alg\":\"RS256\",\"kid\":\"k\"}"));
        let token = Token::parse(&good).unwrap();
        assert_eq!((token.issuer(), token.audiences(), token.time("exp")), ("i", vec!["a"], Some(19)));
        assert_eq!(token.header().unwrap(), Header { key_id: "k".into(), algorithm: "RS256".into() });
        for wrong in
            ["", ".", "..", "a.b", "a.b.c", "a.b.c.d", &format!("{good}.x"), &format!("a.{}.c", part("1"))]
        {
            assert!(Token::parse(wrong).is_none(), "{wrong}");
        }
        for header in ["", "1", "{", "{\"alg\":\"RS256\",\"crit\":[\"b64\"]}"] {
            let text = format!("{}.{claims}.x", part(header));
            assert_eq!(Token::parse(&text).unwrap().header(), None, "{header}");
        }
    }
}
