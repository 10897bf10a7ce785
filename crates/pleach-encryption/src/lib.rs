//! Encryption at rest: EncryptionConfiguration, and stored values as kube-apiserver v1.36 encrypts them.
//!
//! An encrypted value is `k8s:enc:<provider>:v1:<key name>:` and what the provider makes of it; the storage key of the
//! object is authenticated with it, so that a value cannot be moved to another object. The first provider of a
//! resource writes, all of them read. This crate knows no store: it is given bytes and gives bytes.
//!
//! **Invariant:** a resource whose first provider encrypts is never written as plain text, and a value that no
//! provider can decrypt is an error, not a value.

mod config;
mod provider;

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;

use self::config::Resources;

/// The beginning of every encrypted value.
pub const ENCRYPTED: &[u8] = b"k8s:enc:";
/// How much longer an encrypted value can be, for a key with a short name.
pub const OVERHEAD: u64 = 128;

/// Whether a stored value is encrypted.
pub fn is_encrypted(value: &[u8]) -> bool {
    value.starts_with(ENCRYPTED)
}

/// A value that was decrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decrypted {
    /// The value.
    pub value: Bytes,
    /// Whether it would be written differently now: by another provider, or with another key.
    pub is_stale: bool,
}

/// The configuration of a server. It can be replaced while objects are read and written.
pub struct Encryption {
    current: RwLock<Arc<Resources>>,
}

impl Encryption {
    /// Reads a configuration (`apiserver.config.k8s.io/v1` EncryptionConfiguration). Every error is one that keeps
    /// the server from starting; none shows a key.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(Self { current: RwLock::new(Arc::new(config::parse(text)?)) })
    }

    /// Replaces the configuration.
    pub fn replace(&self, text: &str) -> Result<(), String> {
        let new = Arc::new(config::parse(text)?);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    fn resources(&self) -> Arc<Resources> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The bytes to store for a value of a resource; `None` if it is stored as it is. `key` is the storage key.
    pub fn encrypt(
        &self,
        group: &str,
        resource: &str,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<Bytes>, String> {
        let resources = self.resources();
        match resources.providers(group, resource) {
            Some([first, ..]) => first.encrypt(key, value),
            _ => Ok(None),
        }
    }

    /// The value of stored bytes of a resource.
    pub fn decrypt(
        &self,
        group: &str,
        resource: &str,
        key: &[u8],
        stored: Bytes,
    ) -> Result<Decrypted, String> {
        let resources = self.resources();
        let Some(providers) = resources.providers(group, resource) else {
            return if is_encrypted(&stored) {
                Err("identity transformer tried to read encrypted data".into())
            } else {
                Ok(Decrypted { value: stored, is_stale: false })
            };
        };
        let mut problem = None;
        for (i, provider) in providers.iter().enumerate() {
            match provider.decrypt(key, &stored) {
                None => {}
                Some(Ok(value)) => return Ok(Decrypted { value, is_stale: i > 0 }),
                Some(Err(error)) => {
                    problem.get_or_insert(error);
                }
            }
        }
        Err(problem.unwrap_or_else(|| "no matching prefix found".into()))
    }
}

impl fmt::Debug for Encryption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encryption").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
