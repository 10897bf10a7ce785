//! From the store to a client: one object.
//!
//! stored → settle under the stored version's schema → convert → prune → serve. A record that is
//! known to be settled and is in the version asked for skips all of it.

use std::time::Duration;

use pleach_json::{Hints, Spans, Value};
use pleach_store::Key;

use crate::engine::Engine;
use crate::kind::{Conversion, Kind};
use crate::object::Object;
use crate::options::Freshness;
use crate::recent::{Known, Live, Saying};
use crate::record::Record;
use crate::rejection::Rejection;
use crate::settle;
use crate::target::Target;

/// How long a read waits for a state that has not happened yet.
const FUTURE_PATIENCE: Duration = Duration::from_secs(3);

impl Engine {
    /// One object, in the version asked for.
    pub async fn get(&self, target: &Target, freshness: Freshness) -> Result<Object, Rejection> {
        self.await_freshness(freshness).await?;
        let key = target.key_of(target.name());
        let record = self.stored(&key).await?.ok_or_else(|| Rejection::NotFound(target.subject()))?;
        serve(&target.kind, target.version, record)
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
    pub(crate) fn live(&self, target: &Target, key: &Key, record: &Record) -> Result<Live, Rejection> {
        let kind = &target.kind;
        // What was written a moment ago is at hand, if it is in the shape its schema promises now.
        if record.is_sendable(kind.storage_version().fingerprint())
            && let Some(mut live) = self.recent.get(&kind.versions, key, record.revision)
        {
            if target.version != kind.storage {
                live.known = Known::default();
                live.text = None;
            }
            let value = convert(kind, kind.storage, target.version, live.value)?;
            return Ok(Live { value, ..live });
        }
        let usual = self.usual.of(kind.storage_version().fingerprint());
        let hints = Hints { phrases: Some(&usual), ..Hints::default() };
        live_value_with(kind, target.version, record, hints).map(Live::from)
    }

    /// Keeps what was stored at hand for the next write.
    pub(crate) fn remember(
        &self,
        target: &Target,
        key: Key,
        record: &Record,
        stored: Option<(Value, Spans)>,
        known: Known,
        saying: Option<Saying>,
    ) {
        let Some((mut value, spans)) = stored else { return };
        let known = if target.version == target.kind.storage { known } else { Known::default() };
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion", record.revision.to_string());
            self.recent.put(&target.kind.versions, key, record, (value, spans), known, saying);
        }
    }
}

/// A stored object as the version `version` shows it.
pub fn serve(kind: &Kind, version: usize, record: Record) -> Result<Object, Rejection> {
    if record.is_sendable(kind.versions[version].fingerprint()) {
        return Ok(Object::Stored(record));
    }
    live_value(kind, version, &record).map(Object::Value)
}

/// A stored object as the version `version` shows it, parsed. A record that is known to be settled
/// is not settled again.
pub fn live_value(kind: &Kind, version: usize, record: &Record) -> Result<Value, Rejection> {
    live_value_with(kind, version, record, Hints::default())
}

fn live_value_with(
    kind: &Kind,
    version: usize,
    record: &Record,
    hints: Hints<'_>,
) -> Result<Value, Rejection> {
    let value = record.parse_with(hints)?;
    let stored = stored_version(kind, &value)?;
    if record.is_sendable(kind.versions[stored].fingerprint()) {
        return convert(kind, stored, version, value);
    }
    served_value(kind, version, value)
}

/// A stored object, already parsed, as the version `version` shows it.
pub fn served_value(kind: &Kind, version: usize, mut value: Value) -> Result<Value, Rejection> {
    let stored = stored_version(kind, &value)?;
    settle::stored(kind, stored, &mut value)?;
    convert(kind, stored, version, value)
}

/// Which version an object is written in.
pub fn stored_version(kind: &Kind, value: &Value) -> Result<usize, Rejection> {
    let api_version = value.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    kind.versions.iter().position(|v| v.api_version == api_version).ok_or_else(|| {
        Rejection::Plain(format!("request to convert CR to an invalid group/version: {api_version}"))
    })
}

/// An object of one version as another. What conversion brings in is pruned but not defaulted.
pub fn convert(kind: &Kind, from: usize, to: usize, mut value: Value) -> Result<Value, Rejection> {
    if from == to {
        return Ok(value);
    }
    match kind.conversion {
        Conversion::None => {
            if let Some(object) = value.as_object_mut() {
                object.insert("apiVersion", kind.versions[to].api_version.clone());
            }
        }
        Conversion::CustomResourceDefinition => {
            value = crate::crd::convert(value, &kind.versions[to].name)?;
        }
        Conversion::Event => value = crate::builtin::events::convert(value, &kind.versions[to].api_version),
        Conversion::Webhook => {
            return Err(Rejection::Plain(format!(
                "conversion webhook for {}, Kind={} failed: webhooks are not called by this server",
                kind.versions[from].api_version, kind.kind
            )));
        }
    }
    settle::converted(kind, to, &mut value);
    Ok(value)
}
