//! An object as it is stored.
//!
//! The last stage of a write before the commit: the version that is stored, and its bytes.

use bytes::Bytes;
use pleach_json::{Piece, Spans, Value};

use super::valid::{Approved, Parcel};
use crate::engine::Engine;
use crate::kind::Strategy;
use crate::recent::{Known, Live};
use crate::record::{encode, encode_beside, encode_new};
use crate::rejection::Rejection;
use crate::settle;
use crate::target::Target;

/// An object as it is stored.
pub(super) struct Encoded {
    /// The record.
    pub(super) bytes: Bytes,
    /// The same as a value, without the resource version, and where its containers are in the record, if a
    /// reader of the record would have just that.
    pub(super) stored: Option<(Value, Spans)>,
    /// What is known of it.
    pub(super) known: Known,
}

impl Engine {
    /// The bytes of a new object.
    pub(super) async fn encode_new(&self, target: &Target, approved: Approved) -> Result<Bytes, Rejection> {
        let Parcel { value, written, touched, .. } = approved.into_parts();
        let mut stored = self.to_storage(target, value).await?;
        let (fingerprint, _) = fingerprint_of(target, &stored, touched)?;
        let version = target.kind.storage_version().fingerprint();
        if let Some(written) = written {
            self.usual.see_text(version, written.fields());
            return Ok(encode_new(&mut stored, fingerprint, written.text()));
        }
        let usual = self.usual.see(version, &mut stored);
        Ok(encode(&mut stored, fingerprint, &usual))
    }

    /// The bytes of an object that is to replace a live one.
    pub(super) async fn encode_over(
        &self,
        target: &Target,
        approved: Approved,
        live: &Live,
    ) -> Result<Encoded, Rejection> {
        let Parcel { value, known, touched, .. } = approved.into_parts();
        let stored = self.to_storage(target, value).await?;
        let (bytes, value, spans) = self.encode_beside(target, stored, live.piece(), touched)?;
        // Only what reads back is what a reader of the bytes would have.
        let earlier = live.text.is_some().then_some(&live.value);
        let stored = value.filter(|value| value.reads_back(earlier)).map(|value| (value, spans));
        Ok(Encoded { bytes, stored, known })
    }

    /// The bytes of a live object with a mark of the server's own.
    pub(crate) async fn encode_marked(&self, target: &Target, marked: Value) -> Result<Bytes, Rejection> {
        let stored = self.to_storage(target, marked).await?;
        self.encode_beside(target, stored, None, false).map(|(bytes, ..)| bytes)
    }

    /// What a read would give if an object had been stored; its resource version stays what it is.
    pub(super) async fn as_if_stored(&self, target: &Target, approved: Approved) -> Result<Value, Rejection> {
        let Parcel { mut value, written, .. } = approved.into_parts();
        if let Some(written) = written {
            crate::managed::put_written(&mut value, &written);
        }
        self.through_storage(target, value).await
    }

    /// What is left of an object that is stored and read again.
    pub(crate) async fn through_storage(&self, target: &Target, value: Value) -> Result<Value, Rejection> {
        let stored = self.to_storage(target, value).await?;
        self.served_value(&target.kind, target.version, stored).await
    }

    /// An object of the request's version in the one that is stored.
    async fn to_storage(&self, target: &Target, value: Value) -> Result<Value, Rejection> {
        let kind = &target.kind;
        self.convert(kind, target.version, kind.storage, value).await
    }

    fn encode_beside(
        &self,
        target: &Target,
        mut stored: Value,
        earlier: Option<Piece<'_>>,
        touched: bool,
    ) -> Result<(Bytes, Option<Value>, Spans), Rejection> {
        let kind = &target.kind;
        let (fingerprint, clean) = fingerprint_of(target, &stored, touched)?;
        let usual = self.usual.of(kind.storage_version().fingerprint());
        let (bytes, spans) = encode_beside(&mut stored, fingerprint, &usual, earlier);
        let settled = clean && kind.strategy != Strategy::CustomResourceDefinition;
        Ok((bytes, settled.then_some(stored), spans))
    }
}

/// Under which schema a stored object is settled, and whether it is under that of its version.
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
