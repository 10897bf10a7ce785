//! Expiry of events when the clock of a world moves.

use std::sync::Arc;
use std::time::Duration;

use pleach_engine::keys;
use pleach_engine::kinds::event;
use pleach_engine::record::Record;
use pleach_go::time::parse_rfc3339;
use pleach_json::Value;
use pleach_store::{Commit, Expect, RangeQuery, Store as _};
use pleach_store_memory::MemoryStore;

use crate::clock::TestClock;

/// How long events live, as kube-apiserver has it.
const TTL: Duration = Duration::from_hours(1);

/// Deletes events that were not written for an hour, whenever the clock has moved. Never ends.
pub(crate) async fn run(store: MemoryStore, clock: Arc<TestClock>) {
    let mut moves = clock.moves();
    while moves.changed().await.is_ok() {
        expire(&store, clock.seconds()).await;
    }
}

async fn expire(store: &MemoryStore, now: i64) {
    let Ok(found) = store.range(RangeQuery::prefix("")).await else { return };
    let horizon = now.saturating_sub_unsigned(TTL.as_secs());
    for versioned in found.items {
        let key = versioned.key.clone();
        if !keys::split(&key).is_some_and(|(group, plural, _)| event::is_stored_as(group, plural)) {
            continue;
        }
        let revision = versioned.revision;
        let object = Record::open(versioned.value, revision).and_then(|record| record.parse());
        if object.ok().and_then(|object| written(&object)).is_some_and(|written| written <= horizon) {
            // It may have been written since; then it stays.
            let _ = store.commit(Commit::delete(key, Expect::At(revision))).await;
        }
    }
}

/// When an object was last written: managed fields have the times of all writes.
fn written(object: &Value) -> Option<i64> {
    let metadata = object.get("metadata")?;
    let managers =
        metadata.get("managedFields").and_then(Value::as_array).into_iter().flat_map(|list| list.iter());
    let times = managers.filter_map(|entry| entry.get("time")).chain(metadata.get("creationTimestamp"));
    times.filter_map(|time| parse_rfc3339(time.as_str()?).ok()).map(|time| time.seconds).max()
}
