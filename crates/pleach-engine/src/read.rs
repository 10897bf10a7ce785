//! GET: one object from the store in the requested version.
//!
//! stored → settle under the stored version's schema → convert → prune → serve. A record that is
//! known to be settled and is in the version asked for skips all of it.

use std::time::Duration;

use bytes::Bytes;
use pleach_json::{Hints, Spans, Value};
use pleach_pipeline::Typed;
use pleach_pipeline::convert::{Converted, convert, version_of};
use pleach_store::{Key, Revision};

use crate::catalog::ServedKind;
use crate::engine::Engine;
use crate::kind::Kind;
use crate::live::{Live, Verified};
use crate::object::Object;
use crate::options::Freshness;
use crate::record::Record;
use crate::rejection::Rejection;
use crate::settle;
use crate::target::Target;
use crate::write_cache::AppliedConfiguration;

/// How long a read waits for a state that has not happened yet.
const FUTURE_PATIENCE: Duration = Duration::from_secs(3);

impl Engine {
    /// One object, in the requested version.
    pub async fn get(&self, target: &Target, freshness: Freshness) -> Result<Object, Rejection> {
        let key = target.key_of(target.name());
        let record = match self.cached_at(freshness) {
            Some(at) => self.stored_at(&key, at).await?,
            None => {
                self.await_freshness(freshness).await?;
                self.stored(&key).await?
            }
        };
        let record = record.ok_or_else(|| Rejection::NotFound(target.subject()))?;
        let served = self.serve(&target.kind, target.version, record).await;
        served.map_err(|rejection| rejection.about(&key))
    }

    /// The revision at which a cache can answer a read that need not see the latest state.
    pub(crate) fn cached_at(&self, freshness: Freshness) -> Option<Revision> {
        match freshness {
            Freshness::Any => self.store.cached_revision(),
            Freshness::NotOlderThan(oldest) => self.store.cached_revision().filter(|at| at.0 >= oldest),
            Freshness::Latest | Freshness::Exact(_) => None,
        }
    }

    /// Waits a little for a revision that clients say they have seen.
    pub(crate) async fn await_freshness(&self, freshness: Freshness) -> Result<(), Rejection> {
        let (Freshness::NotOlderThan(requested) | Freshness::Exact(requested)) = freshness else {
            return Ok(());
        };
        let deadline = tokio::time::Instant::now() + FUTURE_PATIENCE;
        loop {
            let current = self.store.revision().await.map_err(Rejection::from_store)?.0;
            if current >= requested {
                return Ok(());
            }
            if tokio::time::Instant::now() >= deadline {
                return Err(Rejection::ResourceVersionTooLarge { requested, current });
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Engine {
    /// A stored object as a request's version shows it, parsed.
    pub(crate) async fn live(&self, target: &Target, key: &Key, record: &Record) -> Result<Live, Rejection> {
        let kind = &target.kind;
        // A cached value is as good as the record if the record is settled under the schema as it is now.
        if record.is_sendable(kind.storage_version().fingerprint())
            && let Some(mut live) = self.write_cache.live(&kind.versions, key, record.revision)
        {
            if target.version != kind.storage {
                live.verified = Verified::default();
                live.text = None;
                let value = std::mem::take(&mut live.value);
                let typed = Typed::default();
                live.value = self.convert(kind, kind.storage, target.version, value, &typed).await?;
            }
            live.conversions = kind.has_conversion_webhook().then(Box::default);
            return Ok(live);
        }
        let (stored, value) = {
            let sets = self.write_cache.field_sets(kind.storage_version().fingerprint());
            let hints = Hints { interned: Some(&sets), ..Hints::default() };
            settled(kind, record, hints).map_err(|rejection| rejection.about(key))?
        };
        let typed = if kind.strategy.decodes_whole_object() {
            self.typed_forms.get(key, record.revision)
        } else {
            Typed::default()
        };
        let mut live = Live::from(self.convert(kind, stored, target.version, value, &typed).await?);
        live.typed = typed;
        live.conversions = kind.has_conversion_webhook().then(Box::default);
        Ok(live)
    }

    /// Puts a stored object into the write cache.
    pub(crate) fn remember(
        &self,
        target: &Target,
        key: Key,
        record: &Record,
        stored: Option<(Value, Spans)>,
        verified: Verified,
        applied: Option<AppliedConfiguration>,
    ) {
        let Some((mut value, spans)) = stored else { return };
        let verified = if target.version == target.kind.storage { verified } else { Verified::default() };
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion", record.revision.to_string());
            self.write_cache.put(&target.kind.versions, key, record, (value, spans), verified, applied);
        }
    }

    /// A stored object as the version `version` shows it.
    pub(crate) async fn serve(
        &self,
        kind: &ServedKind,
        version: usize,
        record: Record,
    ) -> Result<Object, Rejection> {
        if record.is_sendable(kind.versions[version].fingerprint()) {
            return Ok(Object::Stored(record));
        }
        self.live_value(kind, version, &record).await.map(Object::Value)
    }

    /// The response object for a record in the version `version`; `None` if that is the record itself. Made
    /// before the commit: if conversion failed afterwards, a write that was made would be reported as failed.
    pub(crate) async fn preview(
        &self,
        kind: &ServedKind,
        version: usize,
        bytes: &Bytes,
        typed: &Typed,
    ) -> Result<Option<Value>, Rejection> {
        let record = Record::open(bytes.clone(), Revision(0))?;
        if record.is_sendable(kind.versions[version].fingerprint()) {
            return Ok(None);
        }
        let value = record.parse_unversioned(Hints::default())?;
        self.served_value(kind, version, value, typed).await.map(Some)
    }

    /// A stored object as the version `version` shows it, parsed.
    pub(crate) async fn live_value(
        &self,
        kind: &ServedKind,
        version: usize,
        record: &Record,
    ) -> Result<Value, Rejection> {
        let (stored, value) = settled(kind, record, Hints::default())?;
        self.convert(kind, stored, version, value, &Typed::default()).await
    }

    /// A stored object, already parsed, as the version `version` shows it.
    pub(crate) async fn served_value(
        &self,
        kind: &ServedKind,
        version: usize,
        mut value: Value,
        typed: &Typed,
    ) -> Result<Value, Rejection> {
        let stored = version_of(kind, &value)?;
        settle::stored(kind, stored, &mut value)?;
        self.convert(kind, stored, version, value, typed).await
    }
}

/// The response object for a committed record, from its preview.
pub(crate) fn previewed(record: Record, preview: Option<Value>) -> Object {
    match preview {
        None => Object::Stored(record),
        Some(mut value) => {
            crate::prepare::metadata_mut(&mut value).insert("resourceVersion", record.revision.to_string());
            Object::Value(value)
        }
    }
}

/// Whether a stored object can be decoded. Conversion is not tried: a webhook that is down may recover.
pub(crate) fn check_readable(kind: &Kind, record: &Record) -> Result<(), Rejection> {
    settled(kind, record, Hints::default()).map(drop)
}

/// A stored object in the version that it is stored in. A record that is known to be settled is not settled
/// again.
fn settled(kind: &Kind, record: &Record, hints: Hints<'_>) -> Result<(usize, Value), Rejection> {
    let mut value = record.parse_with(hints)?;
    let stored = version_of(kind, &value)?;
    if !record.is_sendable(kind.versions[stored].fingerprint()) {
        settle::stored(kind, stored, &mut value)?;
    }
    Ok((stored, value))
}

/// A stored object in the version `version`, where no webhook has to convert it.
pub(crate) fn served_here(kind: &Kind, version: usize, record: Record) -> Result<Object, Rejection> {
    if record.is_sendable(kind.versions[version].fingerprint()) {
        return Ok(Object::Stored(record));
    }
    let (stored, value) = settled(kind, &record, Hints::default())?;
    match convert(kind, stored, version, value, &Typed::default())? {
        Converted::Done(value) => Ok(Object::Value(value)),
        Converted::ByWebhook(_) => Err(Rejection::internal("a conversion webhook was not called")),
    }
}
