//! [`StorageCodec`]: the codec of the store on etcd.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use pleach_encryption::{Encryption, is_encrypted};
use pleach_engine::keys;
use pleach_engine::record::Record;
use pleach_json::Value;
use pleach_pipeline::kinds::event;
use pleach_store::{Key, Revision};
use pleach_store_etcd::{Codec, prefix_end};

use crate::encrypted::resource;
use crate::layout::{BuiltIn, Layout};
use crate::value::{self, Encoding};

/// The fingerprint of the schema under which an object is settled; 0 if it is not, or not known to be.
pub type Fingerprint = dyn Fn(&Key, &Value) -> u64 + Send + Sync;

/// Keys and values as kube-apiserver writes them.
pub struct StorageCodec {
    /// Ends in a slash.
    root: String,
    layout: Layout,
    event_ttl: Option<Duration>,
    fingerprint: OnceLock<Arc<Fingerprint>>,
    encryption: Option<Arc<Encryption>>,
    /// Keys whose values would be encrypted differently now.
    stale: Mutex<HashSet<Key>>,
}

impl StorageCodec {
    /// A codec for keys under a prefix, `/registry` by default. Events expire after a time, if one is given.
    pub fn new(prefix: &str, event_ttl: Option<Duration>) -> Self {
        let root = format!("/{}/", prefix.trim_matches('/'));
        Self {
            root,
            layout: Layout::new(),
            event_ttl,
            fingerprint: OnceLock::new(),
            encryption: None,
            stale: Mutex::default(),
        }
    }

    /// Encrypts values as a configuration says.
    #[must_use]
    pub fn with_encryption(mut self, encryption: Option<Arc<Encryption>>) -> Self {
        self.encryption = encryption;
        self
    }

    /// The keys of the values in etcd that would be encrypted differently now.
    pub fn stale_keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = self.stale().iter().cloned().collect();
        keys.sort_unstable();
        keys
    }

    /// Whether the value of a key would be encrypted differently now.
    pub fn is_stale(&self, key: &Key) -> bool {
        self.stale().contains(key)
    }

    fn stale(&self) -> MutexGuard<'_, HashSet<Key>> {
        self.stale.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of bytes in etcd, decrypted.
    fn decrypted(&self, key: &Key, stored: &Bytes) -> Result<Bytes, String> {
        let Some(encryption) = &self.encryption else {
            return if is_encrypted(stored) {
                Err("identity transformer tried to read encrypted data".into())
            } else {
                Ok(stored.clone())
            };
        };
        let (group, plural) = resource(key);
        let found = encryption.decrypt(group, plural, self.key(key.as_str()).as_bytes(), stored.clone())?;
        let mut stale = self.stale();
        if found.is_stale {
            stale.insert(key.clone());
        } else if !stale.is_empty() {
            stale.remove(key);
        }
        Ok(found.value)
    }

    /// Sets how objects that other servers wrote are recognized as settled, so that reading them costs no more than
    /// reading one's own. May be set once.
    pub fn set_fingerprint(&self, fingerprint: Arc<Fingerprint>) {
        let _ = self.fingerprint.set(fingerprint);
    }

    fn built_in(&self, key: &Key) -> Option<&BuiltIn> {
        self.layout.built_in(key.as_str().strip_prefix(keys::ROOT)?)
    }

    fn key(&self, key: &str) -> String {
        let ours = key.strip_prefix(keys::ROOT).unwrap_or(key);
        let (prefix, rest) = self.layout.etcd_key(ours);
        [&self.root, prefix, rest].concat()
    }

    /// The start and end of the etcd keys of a range within one resource: the order of keys is the same there.
    fn exact_span(&self, start: &Key, end: Option<&Key>) -> Option<(Bytes, Bytes)> {
        let resource =
            |key: &Key| keys::split(key).map(|(group, plural, _)| keys::prefix(group, plural, None));
        let (prefix, end) = (resource(start)?, end?);
        if Key::prefix_end(&prefix).as_ref() == Some(end) {
            return Some((self.encode_key(start), prefix_end(self.key(&prefix).as_bytes())));
        }
        (resource(end).as_deref() == Some(&prefix)).then(|| (self.encode_key(start), self.encode_key(end)))
    }
}

impl Codec for StorageCodec {
    fn encode_key(&self, key: &Key) -> Bytes {
        self.key(key.as_str()).into()
    }

    fn decode_key(&self, key: &[u8]) -> Option<Key> {
        let theirs = std::str::from_utf8(key).ok()?.strip_prefix(&self.root)?;
        let (prefix, rest) = self.layout.our_key(theirs)?;
        Some(Key::new([keys::ROOT, prefix, rest].concat()))
    }

    fn encode_value(&self, key: &Key, value: &Bytes) -> Result<Bytes, String> {
        let encoding = self.built_in(key).map_or(Encoding::Json, |resource| resource.encoding);
        let encoded = value::encode(encoding, value)?;
        let Some(encryption) = &self.encryption else { return Ok(encoded) };
        let (group, plural) = resource(key);
        let encrypted = encryption.encrypt(group, plural, self.key(key.as_str()).as_bytes(), &encoded)?;
        Ok(encrypted.unwrap_or(encoded))
    }

    fn decode_value(&self, key: &Key, value: Bytes) -> Bytes {
        let plain = self.decrypted(key, &value);
        let decoded =
            plain.and_then(|plain| value::read(&plain)).and_then(|object| match self.built_in(key) {
                Some(resource) => value::decode(resource, object),
                None => {
                    let fingerprint =
                        self.fingerprint.get().map_or(0, |fingerprint| fingerprint(key, &object));
                    Ok((object, fingerprint))
                }
            });
        match decoded {
            Ok((object, fingerprint)) => value::to_record(object, fingerprint),
            Err(error) => {
                tracing::error!(%key, %error, "a value in etcd cannot be decoded");
                value
            }
        }
    }

    /// Objects that were read before their kinds were known.
    fn refresh(&self, key: &Key, value: &Bytes) -> Option<Bytes> {
        let record = Record::open(value.clone(), Revision(0)).ok()?;
        if record.fingerprint() != 0 || self.built_in(key).is_some() {
            return None;
        }
        let object = pleach_json::parse(record.json()).ok()?;
        let fingerprint = self.fingerprint.get()?(key, &object);
        (fingerprint != 0).then(|| record.with_fingerprint(fingerprint))
    }

    fn whole(&self) -> (Bytes, Bytes) {
        (self.root.clone().into(), prefix_end(self.root.as_bytes()))
    }

    fn span(&self, start: &Key, end: Option<&Key>) -> (Bytes, Bytes) {
        self.exact_span(start, end).unwrap_or_else(|| self.whole())
    }

    fn is_exact(&self, start: &Key, end: Option<&Key>) -> bool {
        self.exact_span(start, end).is_some()
    }

    fn time_to_live(&self, key: &Key) -> Option<Duration> {
        let ttl = self.event_ttl?;
        let (group, plural, _) = keys::split(key)?;
        event::is_stored_as(group, plural).then_some(ttl)
    }
}

impl std::fmt::Debug for StorageCodec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StorageCodec").field("root", &self.root).finish_non_exhaustive()
    }
}
