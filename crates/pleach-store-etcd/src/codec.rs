//! [`Codec`]: how the store's keys and values are written in etcd.

use std::time::Duration;

use bytes::Bytes;
use pleach_store::Key;

/// The form of keys and values in etcd. The cache holds the store's form: a value is decoded once, when
/// it arrives.
pub trait Codec: Send + Sync + 'static {
    /// The etcd key of a key.
    fn encode_key(&self, key: &Key) -> Bytes;

    /// The key of an etcd key; `None` for keys that are not the store's.
    fn decode_key(&self, key: &[u8]) -> Option<Key>;

    /// The value as it is written to etcd. Not [`Bytes::clone`] of `value` only where the forms differ.
    fn encode_value(&self, key: &Key, value: &Bytes) -> Result<Bytes, String>;

    /// The value of bytes that were read from etcd. A value that cannot be decoded is kept, so that
    /// reading it fails and deleting it does not.
    fn decode_value(&self, key: &Key, value: Bytes) -> Bytes;

    /// Another form of a decoded value, of the same size, if decoding it now would give that; `None` otherwise.
    fn refresh(&self, key: &Key, value: &Bytes) -> Option<Bytes> {
        let _ = (key, value);
        None
    }

    /// The start and the end of all the store's etcd keys.
    fn whole(&self) -> (Bytes, Bytes);

    /// The start and the end of etcd keys that contain those of a range of keys, and maybe more.
    fn span(&self, start: &Key, end: Option<&Key>) -> (Bytes, Bytes);

    /// Whether the span of a range has the range's keys only, in their order.
    fn is_exact(&self, start: &Key, end: Option<&Key>) -> bool {
        let _ = (start, end);
        false
    }

    /// After how long a key that is created or updated now expires; `None`: never.
    fn time_to_live(&self, key: &Key) -> Option<Duration> {
        let _ = key;
        None
    }
}

/// Keys with a prefix in front, values as they are.
#[derive(Debug, Clone)]
pub struct Prefixed(Bytes);

impl Prefixed {
    /// All keys under a prefix, which must not be empty.
    pub fn new(prefix: impl Into<Bytes>) -> Self {
        Self(prefix.into())
    }

    fn with(&self, key: &str) -> Bytes {
        [&self.0, key.as_bytes()].concat().into()
    }
}

/// The first key after all keys with a prefix. Empty, which etcd reads as "nothing but the key itself",
/// only for a prefix of bytes 255.
pub fn prefix_end(prefix: &[u8]) -> Bytes {
    let mut end = prefix.to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end.into();
        }
    }
    // Every key from the start on.
    Bytes::from_static(b"\0")
}

impl Codec for Prefixed {
    fn encode_key(&self, key: &Key) -> Bytes {
        self.with(key.as_str())
    }

    fn decode_key(&self, key: &[u8]) -> Option<Key> {
        let text = std::str::from_utf8(key.strip_prefix(&*self.0)?).ok()?;
        Some(Key::from(text))
    }

    fn encode_value(&self, _key: &Key, value: &Bytes) -> Result<Bytes, String> {
        Ok(value.clone())
    }

    fn decode_value(&self, _key: &Key, value: Bytes) -> Bytes {
        value
    }

    fn whole(&self) -> (Bytes, Bytes) {
        (self.0.clone(), prefix_end(&self.0))
    }

    fn span(&self, start: &Key, end: Option<&Key>) -> (Bytes, Bytes) {
        let end = end.map_or_else(|| prefix_end(&self.0), |end| self.with(end.as_str()));
        (self.with(start.as_str()), end)
    }

    fn is_exact(&self, _start: &Key, _end: Option<&Key>) -> bool {
        true
    }
}
