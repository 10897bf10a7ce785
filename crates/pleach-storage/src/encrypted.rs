//! [`EncryptedValues`]: the values of the embedded store, encrypted on disk.

use std::sync::Arc;

use bytes::Bytes;
use pleach_encryption::{Decrypted, Encryption, is_encrypted};
use pleach_engine::keys;
use pleach_store::Key;
use pleach_store_log::{Decoded, ValueCodec};

/// Encrypts values for the disk by the resource of their key.
#[derive(Debug)]
pub struct EncryptedValues(Arc<Encryption>);

impl EncryptedValues {
    /// Encrypts as a configuration says.
    pub fn new(encryption: Arc<Encryption>) -> Self {
        Self(encryption)
    }
}

impl ValueCodec for EncryptedValues {
    fn encode(&self, key: &Key, value: &Bytes) -> Result<Bytes, String> {
        // One that could not be decrypted.
        if is_encrypted(value) {
            return Ok(value.clone());
        }
        let (group, resource) = resource(key);
        let encrypted = self.0.encrypt(group, resource, key.as_str().as_bytes(), value)?;
        Ok(encrypted.unwrap_or_else(|| value.clone()))
    }

    fn decode(&self, key: &Key, value: Bytes) -> Decoded {
        let (group, resource) = resource(key);
        match self.0.decrypt(group, resource, key.as_str().as_bytes(), value.clone()) {
            Ok(Decrypted { value, is_stale }) => Decoded { value, is_stale },
            // What is not encrypted and has no identity provider is read all the same: it is on this disk, and is
            // encrypted next.
            Err(_) if !is_encrypted(&value) => Decoded { value, is_stale: true },
            Err(error) => {
                tracing::error!(%key, error, "a stored value cannot be decrypted");
                Decoded { value, is_stale: false }
            }
        }
    }

    fn overhead(&self) -> u64 {
        pleach_encryption::OVERHEAD
    }
}

/// The group and plural of a key; empty for keys of other things.
pub(crate) fn resource(key: &Key) -> (&str, &str) {
    keys::split(key).map_or(("", ""), |(group, plural, _)| (group, plural))
}
