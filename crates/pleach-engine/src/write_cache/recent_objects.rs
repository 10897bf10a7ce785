//! Recent objects: values that were stored a moment ago, kept for the next write.
//!
//! Objects are written several times in a row: status by a controller, one field after the other by a client. The
//! next write of an object need not parse what this one stored. Values share what they have in common, so a
//! change of one field takes the memory of the path to it.
//!
//! New objects are not kept: most are written once, and keeping thousands of them costs more than parsing a few.
//!
//! **Invariant:** a value from this cache equals what the stored bytes of its revision parse to. A miss only costs
//! a parse.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use foldhash::fast::RandomState;
use pleach_json::{SpannedValue, Spans, Value};
use pleach_pipeline::Typed;
use pleach_store::{Key, Revision};

use super::last_applied::{AppliedConfiguration, LastApplied};
use crate::kind::KindVersion;
use crate::live::{Live, StoredText, Verified};
use crate::record::Record;

/// Writers on different processors seldom wait for each other.
const SHARDS: usize = 16;
/// Capacity in bytes of memory, estimated by [`memory_of`].
const BYTES: usize = 32 << 20;
/// Larger objects are not kept: a few of them would displace everything else.
const LARGEST: usize = BYTES / SHARDS / 16;
/// Roughly how many bytes a container, a member or an item takes beside its text.
const PER_VALUE: usize = 64;

/// About how much memory a value takes together with its text: one of many small containers or items takes many
/// times its text.
pub(super) fn memory_of(text: &[u8]) -> usize {
    // Brackets within strings count too, which only makes the estimate larger. A sum in bytes, at most 255 at a time, is
    // computed with vector instructions; a search would stop at every hit, and hits are dense.
    let starts = |byte: &u8| u8::from(matches!(byte, b',' | b'{' | b'['));
    let values: usize = text.chunks(255).map(|chunk| usize::from(chunk.iter().map(starts).sum::<u8>())).sum();
    text.len() + PER_VALUE * values
}

/// An object as it was last stored by this process.
pub(crate) struct LastStored {
    value: Value,
    text: StoredText,
    pub(crate) last_applied: Option<Arc<LastApplied>>,
}

impl LastStored {
    /// The object with its text and spans.
    pub(crate) fn spanned(&self) -> SpannedValue<'_> {
        self.text.spanned(&self.value)
    }
}

/// A bounded cache of stored objects, by key; the oldest are evicted.
#[derive(Default)]
pub(super) struct RecentObjects {
    shards: [Mutex<Shard>; SHARDS],
    hasher: RandomState,
}

#[derive(Default)]
struct Shard {
    objects: HashMap<Key, CachedObject, RandomState>,
    /// In the order of their writes; an object written twice is here twice.
    order: VecDeque<(Key, Revision)>,
    bytes: usize,
}

struct CachedObject {
    revision: Revision,
    /// The record's: of the schema under which it is settled.
    fingerprint: u64,
    size: usize,
    value: Value,
    text: StoredText,
    last_applied: Option<Arc<LastApplied>>,
    verified: Verified,
    /// The versions of the kind that it was verified under.
    versions: Arc<[KindVersion]>,
}

impl RecentObjects {
    fn shard(&self, key: &Key) -> &Mutex<Shard> {
        use std::hash::BuildHasher as _;
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    /// The object stored under a key at a revision, with the checks that it has passed under these versions.
    pub(super) fn get(&self, versions: &Arc<[KindVersion]>, key: &Key, revision: Revision) -> Option<Live> {
        let shard = self.shard(key).lock().unwrap_or_else(PoisonError::into_inner);
        let found = shard.objects.get(key).filter(|object| object.revision == revision)?;
        let verified =
            if Arc::ptr_eq(&found.versions, versions) { found.verified } else { Verified::default() };
        Some(Live {
            value: found.value.clone(),
            verified,
            typed: Typed::default(),
            text: Some(found.text.clone()),
            conversions: None,
        })
    }

    /// The object as it was last stored, if it is settled under the schema with this fingerprint.
    pub(super) fn last(&self, key: &Key, fingerprint: u64) -> Option<LastStored> {
        let shard = self.shard(key).lock().unwrap_or_else(PoisonError::into_inner);
        let found = shard.objects.get(key).filter(|object| object.fingerprint == fingerprint)?;
        Some(LastStored {
            value: found.value.clone(),
            text: found.text.clone(),
            last_applied: found.last_applied.clone(),
        })
    }

    /// Drops an object that was deleted at a revision.
    pub(super) fn remove(&self, key: &Key, deleted: Revision) {
        let mut shard = self.shard(key).lock().unwrap_or_else(PoisonError::into_inner);
        let is_older = shard.objects.get(key).is_some_and(|object| object.revision < deleted);
        let removed = if is_older { shard.objects.remove(key) } else { None };
        shard.bytes -= removed.as_ref().map_or(0, |removed| removed.size);
        // Dropping it takes a while; the lock is released first.
        drop(shard);
        drop(removed);
    }

    /// Drops the objects that were last written at a revision or before.
    pub(super) fn forget(&self, until: Revision) {
        for shard in &self.shards {
            let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            let evicted = shard.forget(until);
            drop(shard);
            drop(evicted);
        }
    }

    /// Keeps an object as it was stored, in the storage version, and the configuration if it was applied.
    pub(super) fn put(
        &self,
        versions: &Arc<[KindVersion]>,
        key: Key,
        record: &Record,
        (value, spans): (Value, Spans),
        verified: Verified,
        applied: Option<AppliedConfiguration>,
    ) {
        let own = memory_of(record.json());
        if own > LARGEST {
            return;
        }
        let applied = applied.filter(|applied| own + memory_of(&applied.text) <= LARGEST);
        let size = own + applied.as_ref().map_or(0, |applied| memory_of(&applied.text));
        let last_applied = applied.map(|applied| Arc::new(LastApplied::new(applied, value.clone())));
        let object = CachedObject {
            revision: record.revision,
            fingerprint: record.fingerprint(),
            size,
            value,
            text: StoredText::new(record, spans),
            last_applied,
            verified,
            versions: Arc::clone(versions),
        };
        let mut shard = self.shard(&key).lock().unwrap_or_else(PoisonError::into_inner);
        let evicted = shard.put(key, object);
        // Dropping them takes a while; the lock is released first.
        drop(shard);
        drop(evicted);
    }
}

impl Shard {
    /// Puts an object in; returns the objects that are replaced or evicted.
    fn put(&mut self, key: Key, mut object: CachedObject) -> Vec<CachedObject> {
        let mut evicted = Vec::new();
        // A write that is no apply leaves the last applied configuration in place.
        if object.last_applied.is_none()
            && let Some(before) = self.objects.get(&key)
        {
            object.last_applied.clone_from(&before.last_applied);
            object.size += before.last_applied.as_ref().map_or(0, |applied| applied.size());
        }
        self.order.push_back((key.clone(), object.revision));
        self.bytes += object.size;
        if let Some(before) = self.objects.insert(key, object) {
            self.bytes -= before.size;
            evicted.push(before);
        }
        while self.bytes > BYTES / SHARDS || self.order.len() > 2 * self.objects.len() + 8 {
            let Some((key, revision)) = self.order.pop_front() else { break };
            evicted.extend(self.evict(&key, revision));
        }
        evicted
    }

    /// Takes an object out, if it was last written at this revision.
    fn evict(&mut self, key: &Key, revision: Revision) -> Option<CachedObject> {
        self.objects.get(key).filter(|object| object.revision == revision)?;
        let oldest = self.objects.remove(key)?;
        self.bytes -= oldest.size;
        Some(oldest)
    }

    /// Takes out the objects that were last written at a revision or before. Two writers may have come in another
    /// order than their revisions: an older one behind a later one stays until the later one is evicted.
    fn forget(&mut self, until: Revision) -> Vec<CachedObject> {
        let mut evicted = Vec::new();
        while let Some((key, revision)) = self.order.pop_front_if(|(_, revision)| *revision <= until) {
            evicted.extend(self.evict(&key, revision));
        }
        if self.order.is_empty() {
            // The tables of a cache that was full once.
            self.order.shrink_to_fit();
            self.objects.shrink_to_fit();
        }
        evicted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: usize) -> Key {
        Key::new(format!("/g/things/{n}"))
    }

    fn put(recent: &RecentObjects, key: Key, revision: u64, size: usize, value: i64) {
        // The header of a record is no part of its size.
        let bytes = [&[1u8; 13][..], &vec![b' '; size]].concat();
        let record = Record::open(bytes.into(), Revision(revision)).unwrap();
        recent.put(
            &Arc::from([]),
            key,
            &record,
            (Value::Int(value), Spans::default()),
            Verified::default(),
            None,
        );
    }

    fn get(recent: &RecentObjects, key: Key, revision: u64) -> Option<Value> {
        recent.get(&Arc::from([]), &key, Revision(revision)).map(|live| live.value)
    }

    #[test]
    fn objects_that_are_not_written_any_more_are_dropped() {
        let recent = RecentObjects::default();
        for n in 0..50 {
            put(&recent, key(n), n as u64 + 1, 100, 0);
        }
        put(&recent, key(3), 60, 100, 1);
        recent.forget(Revision(40));
        assert_eq!(get(&recent, key(3), 60), Some(Value::Int(1)), "written since");
        assert_eq!(get(&recent, key(4), 5), None);
        assert_eq!(get(&recent, key(39), 40), None);
        assert_eq!(get(&recent, key(40), 41), Some(Value::Int(0)));
        recent.forget(Revision(60));
        let held = |shard: &Mutex<Shard>| {
            let shard = shard.lock().unwrap();
            (shard.bytes, shard.objects.len(), shard.order.len())
        };
        assert!(recent.shards.iter().all(|shard| held(shard) == (0, 0, 0)));
    }

    #[test]
    fn verification_holds_under_one_form_of_the_kind() {
        let recent = RecentObjects::default();
        let (versions, other): (Arc<[KindVersion]>, Arc<[KindVersion]>) = (Arc::from([]), Arc::from([]));
        let record = Record::open(vec![1; 20].into(), Revision(1)).unwrap();
        let verified = Verified { valid: true, tracked: true };
        recent.put(&versions, key(1), &record, (Value::Null, Spans::default()), verified, None);
        assert_eq!(recent.get(&versions, &key(1), Revision(1)).unwrap().verified, verified);
        assert_eq!(recent.get(&other, &key(1), Revision(1)).unwrap().verified, Verified::default());
    }

    #[test]
    fn lookups_are_by_revision() {
        let recent = RecentObjects::default();
        put(&recent, key(1), 5, 100, 5);
        assert_eq!(get(&recent, key(1), 5), Some(Value::Int(5)));
        assert_eq!(get(&recent, key(1), 4), None);
        put(&recent, key(1), 6, 100, 6);
        assert_eq!(get(&recent, key(1), 5), None);
        assert_eq!(get(&recent, key(1), 6), Some(Value::Int(6)));
        assert_eq!(get(&recent, key(2), 6), None);
        let fingerprint = u64::from_le_bytes([1; 8]);
        assert_eq!(recent.last(&key(1), fingerprint).unwrap().value, Value::Int(6));
        assert!(recent.last(&key(1), 7).is_none(), "settled under another schema");
    }

    #[test]
    fn a_large_applied_configuration_is_left_out() {
        let recent = RecentObjects::default();
        let record = Record::open(vec![1; 100].into(), Revision(1)).unwrap();
        for (length, kept) in [(10, true), (LARGEST, false)] {
            let applied = AppliedConfiguration {
                manager: "m".into(),
                subresource: "",
                fingerprint: 1,
                config: Value::Null,
                text: vec![b' '; length].into(),
                spans: Spans::default(),
            };
            let stored = (Value::Int(1), Spans::default());
            recent.put(&Arc::from([]), key(length), &record, stored, Verified::default(), Some(applied));
            let last = recent.last(&key(length), record.fingerprint()).unwrap();
            assert_eq!(last.last_applied.is_some(), kept, "{length}");
        }
    }

    #[test]
    fn deleted_objects_are_dropped() {
        let recent = RecentObjects::default();
        put(&recent, key(1), 5, 100, 5);
        recent.remove(&key(1), Revision(4));
        assert_eq!(get(&recent, key(1), 5), Some(Value::Int(5)), "created again since");
        recent.remove(&key(1), Revision(6));
        assert_eq!(get(&recent, key(1), 5), None);
        recent.remove(&key(1), Revision(6));
        assert_eq!(recent.shard(&key(1)).lock().unwrap().bytes, 0);
    }

    #[test]
    fn containers_and_items_count_beyond_their_text() {
        for (text, at_least) in
            [("x".repeat(1_000), 1), ("1,".repeat(1_000), 30), ("{\"a\":".repeat(1_000), 10)]
        {
            let times = memory_of(text.as_bytes()) / text.len();
            assert!(times >= at_least && times < 4 * at_least, "{times} times {}", &text[..10]);
        }
    }

    #[test]
    fn the_cache_is_bounded_and_evicts_the_oldest() {
        let recent = RecentObjects::default();
        put(&recent, key(0), 1, LARGEST + 1, 0);
        assert_eq!(get(&recent, key(0), 1), None, "too large");
        for n in 0..20_000 {
            put(&recent, key(n), n as u64, 4_000, n as i64);
            // One that is written again and again stays.
            put(&recent, key(0), n as u64, 4_000, n as i64);
        }
        let sum = |of: fn(&Shard) -> usize| -> usize {
            recent.shards.iter().map(|shard| of(&shard.lock().unwrap())).sum()
        };
        let (bytes, kept) = (sum(|shard| shard.bytes), sum(|shard| shard.objects.len()));
        assert!(bytes <= BYTES && bytes > BYTES / 2, "{bytes}");
        assert_eq!(kept * 4_000, bytes);
        assert!(sum(|shard| shard.order.len()) <= 2 * kept + 9 * SHARDS);
        assert_eq!(get(&recent, key(0), 19_999), Some(Value::Int(19_999)));
        assert_eq!(get(&recent, key(1), 1), None);
        assert_eq!(get(&recent, key(19_998), 19_998), Some(Value::Int(19_998)));
    }
}
