//! [`ValueCodec`]: another form of values on disk, such as an encrypted one.

use std::fmt::Debug;

use bytes::Bytes;
use pleach_store::{Commit, Key, StoreError, Versioned};

use crate::shared::Shared;

/// The form of values on disk. In memory they are as they were given: a value is decoded once, when the store is
/// opened. Backups, checks and repairs copy what is on disk.
pub trait ValueCodec: Debug + Send + Sync + 'static {
    /// The bytes to write for a value.
    fn encode(&self, key: &Key, value: &Bytes) -> Result<Bytes, String>;

    /// The value of bytes that were read. A value that cannot be decoded is kept as it is, and encoding it gives the
    /// same bytes again, so that reading it fails and deleting it does not.
    fn decode(&self, key: &Key, value: Bytes) -> Decoded;

    /// How much longer encoding makes a value at most.
    fn overhead(&self) -> u64;
}

/// A value that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// The value.
    pub value: Bytes,
    /// Whether encoding it now would give another form than the one on disk.
    pub is_stale: bool,
}

impl Shared {
    /// The bytes to write for the values of a commit; none without a codec.
    pub(crate) fn encoded(&self, commit: &Commit) -> Result<Vec<(Key, Bytes)>, StoreError> {
        let Some(codec) = &self.options.codec else { return Ok(Vec::new()) };
        let values = commit.ops.iter().filter_map(|op| Some((&op.key, op.value.as_ref()?)));
        values.map(|(key, value)| Ok((key.clone(), encode(&**codec, key, value)?))).collect()
    }

    /// An item of a checkpoint as it is written.
    pub(crate) fn encoded_item(&self, item: Versioned) -> Result<Versioned, StoreError> {
        match &self.options.codec {
            Some(codec) => Ok(Versioned { value: encode(&**codec, &item.key, &item.value)?, ..item }),
            None => Ok(item),
        }
    }
}

fn encode(codec: &dyn ValueCodec, key: &Key, value: &Bytes) -> Result<Bytes, StoreError> {
    let encoded = codec.encode(key, value);
    encoded.map_err(|error| StoreError::io(format!("cannot encode {key}"), std::io::Error::other(error)))
}
