//! The cache of field sets: `fieldsV1` values that many objects have in common.
//!
//! Objects of a kind that one client writes have the same fields, so their managers own the same sets, each about
//! as long as the rest of the object. A set that was seen twice is interned with its text: from then on it is
//! recognized when an object is parsed, shared by all objects that have it, and copied when one is written.
//!
//! An interned set equals the one it stands for, so a miss only costs time. Where list keys make the sets of all
//! objects different, lookups are given up after a number of misses, but for one now and then.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use pleach_json::{InternedObject, InternedObjects, Map, Value};

/// Kinds are spread over this many shards.
const SHARDS: usize = 16;
/// How many sets a shard holds.
const SETS: usize = 8;
/// The number of sets seen once that a shard remembers.
const SEEN_ONCE: usize = 4;
/// Larger sets are not kept: they are rare, and each differs.
const MAX_ELEMENTS: usize = 512;
/// Nor are longer texts.
const MAX_TEXT: usize = 16 * 1024;

/// After this many misses in a row, lookups are given up.
const MAX_MISSES: u32 = 32;
/// Then one object in this many is looked up.
const RETRY: u32 = 64;

/// The member of a managedFields entry that holds its set.
const FIELDS: &str = "fieldsV1";

/// Interned field sets, by kind.
pub(super) struct FieldSetCache {
    shards: [Shard; SHARDS],
}

struct Shard {
    interned: RwLock<Arc<InternedObjects>>,
    once: Mutex<SeenOnce>,
    /// How many objects in a row had a set that is not interned.
    misses: AtomicU32,
}

/// Sets that were seen once, in a ring.
#[derive(Default)]
struct SeenOnce {
    sets: [Map; SEEN_ONCE],
    texts: [Box<[u8]>; SEEN_ONCE],
    /// The position of the next set, here and among the interned sets.
    next: usize,
    next_text: usize,
    next_interned: usize,
}

impl Default for FieldSetCache {
    fn default() -> Self {
        let shard = || Shard {
            interned: RwLock::new(Arc::new(InternedObjects::new(FIELDS, Vec::new()))),
            once: Mutex::default(),
            misses: AtomicU32::new(0),
        };
        Self { shards: std::array::from_fn(|_| shard()) }
    }
}

impl FieldSetCache {
    fn shard(&self, version: u64) -> &Shard {
        &self.shards[(version >> 32) as usize % SHARDS]
    }

    /// The interned sets of a version's objects; the version is given by its fingerprint.
    pub(super) fn of(&self, version: u64) -> Arc<InternedObjects> {
        let shard = self.shard(version);
        if !shard.is_worth_a_lookup() {
            return super::NO_SETS.clone();
        }
        shard.interned.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Learns the only field set of a new object, given as text.
    pub(super) fn intern_text(&self, version: u64, fields: &[u8]) {
        let shard = self.shard(version);
        if shard.is_worth_a_lookup() && (shard.has_text(fields) || shard.count_text(fields)) {
            shard.hit();
        } else {
            shard.misses.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts the field sets of a new object, and replaces common ones by their interned copies. Returns the
    /// interned sets.
    pub(super) fn intern(&self, version: u64, object: &mut Value) -> Arc<InternedObjects> {
        let shard = self.shard(version);
        if !shard.is_worth_a_lookup() {
            shard.misses.fetch_add(1, Ordering::Relaxed);
            return super::NO_SETS.clone();
        }
        let mut known = self.of(version);
        let Some(entries) = object.at(&["metadata", "managedFields"]).and_then(Value::as_array) else {
            return known;
        };
        let sets = entries.iter().map(|entry| entry.get(FIELDS).and_then(Value::as_object));
        let unknown: Vec<(usize, Map)> = sets
            .enumerate()
            .filter_map(|(i, set)| Some((i, set.filter(|set| is_worth_keeping(set))?)))
            .filter(|(_, set)| known.text_of(set).is_none())
            .map(|(i, set)| (i, set.clone()))
            .collect();
        let mut misses = false;
        for (i, set) in unknown {
            if let Some(interned) = known.objects().iter().find(|interned| *interned.object() == set) {
                let shared = Value::Object(interned.object().clone());
                let entries =
                    object.get_mut("metadata").and_then(|metadata| metadata.get_mut("managedFields"));
                if let Some(entry) =
                    entries.and_then(Value::as_array_mut).and_then(|entries| entries.get_mut(i))
                    && let Some(entry) = entry.as_object_mut()
                {
                    entry.insert(FIELDS, shared);
                }
            } else if let Some(more) = shard.count(set) {
                known = more;
            } else {
                misses = true;
            }
        }
        if misses {
            shard.misses.fetch_add(1, Ordering::Relaxed);
        } else {
            shard.hit();
        }
        known
    }
}

/// Whether a set is neither too small to be worth a lookup, nor too large.
fn is_worth_keeping(set: &Map) -> bool {
    let mut left = MAX_ELEMENTS;
    set.values().any(|below| below.as_object().is_some_and(|below| !below.is_empty()))
        && fits_into(&mut left, set)
}

/// Subtracts the number of a set's elements from a limit; `false` if there are more.
fn fits_into(left: &mut usize, set: &Map) -> bool {
    let Some(rest) = left.checked_sub(set.len()) else { return false };
    *left = rest;
    set.values().filter_map(Value::as_object).all(|below| below.is_empty() || fits_into(left, below))
}

impl Shard {
    fn is_worth_a_lookup(&self) -> bool {
        let misses = self.misses.load(Ordering::Relaxed);
        misses < MAX_MISSES || misses.is_multiple_of(RETRY)
    }

    /// A hit: lookups go on.
    fn hit(&self) {
        if self.misses.load(Ordering::Relaxed) > 0 {
            self.misses.store(0, Ordering::Relaxed);
        }
    }

    fn has_text(&self, fields: &[u8]) -> bool {
        let known = self.interned.read().unwrap_or_else(PoisonError::into_inner);
        known.objects().iter().any(|interned| interned.text() == fields)
    }

    /// Remembers a set given as text, and interns it if it was seen before; whether it was.
    fn count_text(&self, fields: &[u8]) -> bool {
        let mut once = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        if !once.texts.iter().any(|seen| **seen == *fields) {
            if fields.len() <= MAX_TEXT {
                let next = once.next_text;
                once.texts[next] = fields.into();
                once.next_text = (next + 1) % SEEN_ONCE;
            }
            return false;
        }
        match pleach_json::parse(fields) {
            Ok(Value::Object(set)) if is_worth_keeping(&set) => self.add(set, &mut once).is_some(),
            _ => false,
        }
    }

    /// Remembers a set, and interns it if it was seen before. Returns all interned sets then.
    fn count(&self, set: Map) -> Option<Arc<InternedObjects>> {
        let mut once = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = once.sets.iter().position(|seen| *seen == set) else {
            let next = once.next;
            once.sets[next] = set;
            once.next = (next + 1) % SEEN_ONCE;
            return None;
        };
        once.sets[at] = Map::new();
        self.add(set, &mut once)
    }

    /// Interns a set.
    fn add(&self, set: Map, once: &mut SeenOnce) -> Option<Arc<InternedObjects>> {
        let interned = InternedObject::new(set)?;
        // Sets are added with `once` locked.
        let mut sets = self.interned.read().unwrap_or_else(PoisonError::into_inner).objects().to_vec();
        if sets.len() < SETS {
            sets.push(interned);
        } else {
            let next = once.next_interned;
            sets[next] = interned;
            once.next_interned = (next + 1) % SETS;
        }
        let known = Arc::new(InternedObjects::new(FIELDS, sets));
        *self.interned.write().unwrap_or_else(PoisonError::into_inner) = known.clone();
        Some(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pleach_json::json;

    fn object(sets: &[Value]) -> Value {
        let entries: Vec<Value> =
            sets.iter().map(|set| json!({"manager": "m", "fieldsV1": (set.clone())})).collect();
        json!({"metadata": {"managedFields": (Value::from(entries))}})
    }

    fn sets(object: &Value) -> Vec<Map> {
        let entries = object.at(&["metadata", "managedFields"]).and_then(Value::as_array).unwrap();
        entries.iter().map(|entry| entry.get(FIELDS).and_then(Value::as_object).unwrap().clone()).collect()
    }

    fn set(n: usize) -> Value {
        json!({"f:spec": {(format!("f:{n}")): {}}})
    }

    #[test]
    fn a_set_seen_twice_is_shared() {
        let cache = FieldSetCache::default();
        assert!(cache.intern(7, &mut object(&[set(1), set(2)])).objects().is_empty());
        let mut second = object(&[set(2), set(3)]);
        let known = cache.intern(7, &mut second);
        assert_eq!(known.objects().len(), 1);
        assert!(known.text_of(&sets(&second)[0]).is_some());
        let mut third = object(&[set(2), json!({})]);
        let before = third.clone();
        let known = cache.intern(7, &mut third);
        assert_eq!(third, before);
        assert!(sets(&third)[0].is_same(known.objects()[0].object()));
        assert_eq!(known.text_of(&sets(&third)[0]), Some(&br#"{"f:spec":{"f:2":{}}}"#[..]));
        assert!(cache.of(1 << 32).objects().is_empty(), "another shard");
    }

    #[test]
    fn a_text_seen_twice_is_interned() {
        let cache = FieldSetCache::default();
        let known = |n: usize| {
            cache.of(7).objects().iter().any(|interned| Some(interned.object()) == set(n).as_object())
        };
        for n in [1, 2, 1] {
            cache.intern_text(7, set(n).to_string().as_bytes());
        }
        assert!(known(1) && !known(2));
        cache.intern_text(7, set(1).to_string().as_bytes());
        assert_eq!(cache.of(7).objects().len(), 1, "once is enough");
        for _ in 0..3 {
            cache.intern_text(7, b"{\"f:a\":{}}");
            cache.intern_text(7, b"no JSON");
        }
        assert_eq!(cache.of(7).objects().len(), 1, "short ones are written as fast");
        let mut second = object(&[set(1)]);
        cache.intern(7, &mut second);
        assert!(sets(&second)[0].is_same(cache.of(7).objects()[0].object()));
    }

    #[test]
    fn the_cache_is_bounded() {
        let cache = FieldSetCache::default();
        for n in 0..20 {
            cache.intern(7, &mut object(&[set(n)]));
        }
        assert!(cache.of(7).objects().is_empty(), "each was seen once");
        for n in 0..100 {
            for _ in 0..3 {
                cache.intern(7, &mut object(&[set(n)]));
            }
        }
        let known = cache.of(7);
        assert_eq!(known.objects().len(), SETS);
        let last = set(99);
        assert!(known.objects().iter().any(|interned| Some(interned.object()) == last.as_object()));
        let long: Map = (0..MAX_ELEMENTS).map(|n| (format!("f:{n}").into(), json!({"f:x": {}}))).collect();
        for _ in 0..3 {
            assert!(
                cache.intern(7, &mut object(&[long.clone().into()])).text_of(&long).is_none(),
                "too long"
            );
        }
        let once = cache.shard(7).once.lock().unwrap();
        assert!(once.sets.iter().all(|set| set.len() < 2), "large sets are not remembered either");
        drop(once);
        for n in 1_000..2_000 {
            cache.intern(7, &mut object(&[set(n)]));
        }
        assert!(cache.of(7).objects().is_empty(), "no two objects had a set in common");
        for _ in 0..200 {
            cache.intern(7, &mut object(&[set(7)]));
        }
        assert!(!cache.of(7).objects().is_empty(), "until they had");
        // No managed fields, and some that are none.
        for mut odd in [json!({}), json!(null), json!({"metadata": {"managedFields": [1, {"fieldsV1": 2}]}})]
        {
            cache.intern(7, &mut odd);
        }
    }
}
