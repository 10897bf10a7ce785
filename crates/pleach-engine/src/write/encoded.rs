//! The encode stage of a write: the object in the storage version, and its record.
//!
//! The last stage before the commit.

use bytes::Bytes;
use pleach_json::{InternedObjects, SpannedValue, Spans, Value};
use pleach_pipeline::Typed;
use pleach_store::Key;

use super::valid::{Approved, ApprovedParts};
use crate::engine::Engine;
use crate::limits;
use crate::live::{Live, Verified};
use crate::prepare;
use crate::record::{Record, encode, encode_new, encode_spanned};
use crate::rejection::Rejection;
use crate::settle;
use crate::target::Target;

/// The record of an object, ready to be committed.
pub(super) struct Encoded {
    /// The record.
    pub(super) bytes: Bytes,
    /// The same as a value, without the resource version, and its spans in the record; for the write cache, if
    /// parsing the record gives this value.
    pub(super) stored: Option<(Value, Spans)>,
    pub(super) verified: Verified,
}

impl Engine {
    /// The bytes of a new object.
    ///
    /// If it is too large with its managed fields, it is stored without them, as upstream does, where they
    /// `may_be_dropped`: the client did not send them.
    pub(super) async fn encode_new(
        &self,
        target: &Target,
        key: &Key,
        approved: Approved,
        may_be_dropped: bool,
    ) -> Result<Bytes, Rejection> {
        let ApprovedParts { value, typed, managed_fields, touched, .. } = approved.into_parts();
        let mut stored = self.to_storage(target, value, &typed).await?;
        let (fingerprint, _) = fingerprint_of(target, &stored, touched)?;
        let version = target.kind.storage_version().fingerprint();
        let bytes = if let Some(managed_fields) = &managed_fields {
            self.write_cache.intern_field_set_text(version, managed_fields.field_set());
            encode_new(&mut stored, fingerprint, managed_fields.text())
        } else {
            let sets = self.write_cache.intern_field_sets(version, &mut stored);
            encode(&mut stored, fingerprint, &sets)
        };
        limits::check_record_nesting(&bytes, &stored, None)?;
        if self.is_storable(key, &bytes, None) {
            return Ok(bytes);
        }
        if may_be_dropped && (drop_managed_fields(&mut stored) || managed_fields.is_some()) {
            let bytes = encode(&mut stored, fingerprint, &InternedObjects::default());
            if self.is_storable(key, &bytes, None) {
                return Ok(bytes);
            }
        }
        Err(Rejection::stored_too_large())
    }

    /// Whether a record is within the size limit. One that is already larger may stay so, but not grow: the
    /// server itself adds fields to objects that are being deleted, and the limit may have been higher.
    fn is_storable(&self, key: &Key, record: &[u8], earlier: Option<&Record>) -> bool {
        key.as_str().len() + record.len() <= self.max_request_bytes
            || earlier.is_some_and(|earlier| record.len() <= earlier.bytes().len())
    }

    /// The bytes of an object that is to replace a live one.
    pub(super) async fn encode_over(
        &self,
        target: &Target,
        key: &Key,
        approved: Approved,
        live: &Live,
        record: &Record,
        may_be_dropped: bool,
    ) -> Result<Encoded, Rejection> {
        let ApprovedParts { value, typed, mut verified, touched, .. } = approved.into_parts();
        let mut stored = self.to_storage(target, value, &typed).await?;
        let (mut bytes, mut clean, mut spans) =
            self.encode_spanned(target, &mut stored, live.spanned(), touched)?;
        limits::check_record_nesting(&bytes, &stored, Some(&live.value))?;
        if !self.is_storable(key, &bytes, Some(record)) {
            if may_be_dropped && drop_managed_fields(&mut stored) {
                verified.tracked = false;
                (bytes, clean, spans) = self.encode_spanned(target, &mut stored, live.spanned(), touched)?;
            }
            if !self.is_storable(key, &bytes, Some(record)) {
                return Err(Rejection::stored_too_large());
            }
        }
        let value = clean.then_some(stored);
        // Numbers that are not read back as they are written keep a value out of the cache.
        let earlier = live.text.is_some().then_some(&live.value);
        let stored = value.filter(|value| value.reads_back(earlier)).map(|value| (value, spans));
        Ok(Encoded { bytes, stored, verified })
    }

    /// The bytes of a live object that the server has marked for deletion.
    pub(crate) async fn encode_marked(&self, target: &Target, marked: Value) -> Result<Bytes, Rejection> {
        let mut stored = self.to_storage(target, marked, &Typed::default()).await?;
        self.encode_spanned(target, &mut stored, None, false).map(|(bytes, ..)| bytes)
    }

    /// The response to a dry run: the object as if stored and read, with its resource version unchanged.
    pub(super) async fn as_if_stored(&self, target: &Target, approved: Approved) -> Result<Value, Rejection> {
        let ApprovedParts { mut value, typed, managed_fields, .. } = approved.into_parts();
        if let Some(managed_fields) = managed_fields {
            crate::managed::put_text(&mut value, &managed_fields)?;
        }
        let stored = self.to_storage(target, value, &typed).await?;
        limits::check_nesting(&stored, None)?;
        self.served_value(&target.kind, target.version, stored, &typed).await
    }

    /// An object converted to the storage version and back.
    pub(crate) async fn through_storage(&self, target: &Target, value: Value) -> Result<Value, Rejection> {
        let typed = Typed::default();
        let stored = self.to_storage(target, value, &typed).await?;
        self.served_value(&target.kind, target.version, stored, &typed).await
    }

    /// Converts an object from the request's version to the storage version.
    async fn to_storage(&self, target: &Target, value: Value, typed: &Typed) -> Result<Value, Rejection> {
        let kind = &target.kind;
        self.convert(kind, target.version, kind.storage, value, typed).await
    }

    /// The bytes of an object, whether parsing them gives the same object, and its spans in them.
    fn encode_spanned(
        &self,
        target: &Target,
        stored: &mut Value,
        earlier: Option<SpannedValue<'_>>,
        touched: bool,
    ) -> Result<(Bytes, bool, Spans), Rejection> {
        let kind = &target.kind;
        let (fingerprint, clean) = fingerprint_of(target, stored, touched)?;
        let sets = self.write_cache.field_sets(kind.storage_version().fingerprint());
        let (bytes, spans) = encode_spanned(stored, fingerprint, &sets, earlier);
        let settled = clean && !kind.strategy.decodes_whole_object();
        Ok((bytes, settled, spans))
    }
}

/// Removes the managed fields; returns whether there were any.
fn drop_managed_fields(object: &mut Value) -> bool {
    prepare::metadata_mut(object).remove("managedFields").is_some()
}

/// The fingerprint of the schema under which a stored object is settled, and whether it is that of its version.
fn fingerprint_of(target: &Target, stored: &Value, touched: bool) -> Result<(u64, bool), Rejection> {
    let kind = &target.kind;
    let clean = if touched || target.version != kind.storage {
        let mut read = stored.clone();
        settle::stored(kind, kind.storage, &mut read)?;
        read == *stored
    } else {
        true
    };
    Ok((if clean { kind.storage_version().fingerprint() } else { 0 }, clean))
}
