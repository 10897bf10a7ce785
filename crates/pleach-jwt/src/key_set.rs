//! Sets of keys: a JSON web key set (RFC 7517), or PEM.

use pleach_json::Value;

use crate::algorithm::Algorithm;
use crate::key::{PublicKey, public_keys};
use crate::token::{Header, Token};

/// The keys of an issuer.
#[derive(Clone, Debug, Default)]
pub struct KeySet(Vec<PublicKey>);

impl KeySet {
    /// The keys of a document. Keys of types that are not known here are left out; a document without keys is one.
    pub fn parse(document: &[u8]) -> Result<Self, String> {
        let value = pleach_json::parse(document).map_err(|error| error.to_string())?;
        let keys = value.get("keys").and_then(Value::as_array).ok_or("it has no list of keys")?;
        let keys = keys
            .iter()
            .enumerate()
            .map(|(i, key)| PublicKey::from_jwk(key).map_err(|error| format!("keys[{i}]: {error}")));
        let keys: Result<Vec<Option<PublicKey>>, String> = keys.collect();
        Ok(Self(keys?.into_iter().flatten().collect()))
    }

    /// The keys in a file: a JSON web key set, or public keys and certificates as PEM.
    pub fn of_file(text: &str) -> Result<Self, String> {
        let found = if text.trim_start().starts_with('{') {
            Self::parse(text.as_bytes())?
        } else {
            Self(public_keys(text)?)
        };
        if found.0.is_empty() { Err("no key in it that can be used".into()) } else { Ok(found) }
    }

    /// Whether one of the keys has signed a token. Keys with the id of the header are tried; all, if it has none.
    pub(crate) fn verifies(&self, token: &Token<'_>, header: &Header, algorithm: Algorithm) -> bool {
        let is_meant = |key: &&PublicKey| header.key_id.is_empty() || key.id == header.key_id;
        self.0.iter().filter(is_meant).any(|key| token.is_signed_by(key, algorithm))
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::{json, to_vec};

    use super::*;
    use crate::key::SigningKey;

    #[test]
    fn documents_are_key_sets() {
        let pem = SigningKey::generate().unwrap();
        let key = SigningKey::from_pem(&pem).unwrap();
        let jwk = key.public().jwk().clone();
        let document = to_vec(&json!({"keys": [(jwk), {"kty": "oct", "k": "AA"}]}));
        assert_eq!(KeySet::parse(&document).unwrap().0.len(), 1, "a shared secret is no key of an issuer");
        assert_eq!(KeySet::of_file(&pem).unwrap().0.len(), 1);
        for (text, want) in [
            ("{\"keys\": []}", "no key in it that can be used"),
            ("{\"keys\": {}}", "it has no list of keys"),
            (
                "{\"keys\": [{\"kty\": \"RSA\", \"n\": \"!\"}]}",
                "keys[0]: the member n is missing or not base64url",
            ),
            ("{", ""),
            ("", "no key in it"),
        ] {
            let error = KeySet::of_file(text).unwrap_err();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
