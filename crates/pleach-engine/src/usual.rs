//! The field sets that many objects have alike.
//!
//! Objects of a kind that one client writes have the same fields, so their managers own the same: a
//! `fieldsV1` that is as long as the rest of the object. What was seen twice is kept with its text, and
//! from then on it is recognized when it is read, found when it is made, shared by all objects that
//! have it, and copied when it is written.
//!
//! Nothing depends on finding one here: what is found is equal to what would be made. Where objects have
//! keys of their own in their lists no two sets are equal, and looking for them is given up but for a
//! try now and then.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use pleach_json::{InternedObject, InternedObjects, Map, Value};
use pleach_work::Constant;

/// Kinds are spread over this many shelves.
const SHELVES: usize = 16;
/// How many sets a shelf holds.
const SETS: usize = 8;
/// How many sets of a shelf that were seen once are remembered.
const ONCE: usize = 4;
/// Sets of more steps are not kept: they are rare, and each differs.
const MOST_STEPS: usize = 512;

/// Texts of more bytes are not kept either.
const MOST_TEXT: usize = 16 * 1024;

/// After so many new objects in a row with sets that are not known, hardly any is looked for.
const PATIENCE: u32 = 32;
/// Then every so many-th object gets a try.
const RETRY: u32 = 64;

/// The member of an entry that says what is owned.
const FIELDS: &str = "fieldsV1";

/// The field sets seen often.
pub(crate) struct Usual {
    shelves: [Shelf; SHELVES],
}

struct Shelf {
    known: RwLock<Arc<InternedObjects>>,
    once: Mutex<Once>,
    /// How many objects in a row had a set that is not known.
    vain: AtomicU32,
}

/// Nothing known.
static NOTHING: Constant<Arc<InternedObjects>> = Constant::new(Arc::default);

/// Sets that were seen once, in a ring.
#[derive(Default)]
struct Once {
    sets: [Map; ONCE],
    texts: [Box<[u8]>; ONCE],
    /// Where the next goes, here and among what is known.
    next: usize,
    next_text: usize,
    next_known: usize,
}

impl Default for Usual {
    fn default() -> Self {
        let shelf = || Shelf {
            known: RwLock::new(Arc::new(InternedObjects::new(FIELDS, Vec::new()))),
            once: Mutex::default(),
            vain: AtomicU32::new(0),
        };
        Self { shelves: std::array::from_fn(|_| shelf()) }
    }
}

impl Usual {
    fn shelf(&self, version: u64) -> &Shelf {
        &self.shelves[(version >> 32) as usize % SHELVES]
    }

    /// What is known of objects of a version, given by its fingerprint.
    pub(crate) fn of(&self, version: u64) -> Arc<InternedObjects> {
        let shelf = self.shelf(version);
        if !shelf.is_worth_a_try() {
            return NOTHING.clone();
        }
        shelf.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks at the only field set of a new object that is about to be stored, which is written already.
    pub(crate) fn see_text(&self, version: u64, fields: &[u8]) {
        let shelf = self.shelf(version);
        if shelf.is_worth_a_try() && (shelf.knows(fields) || shelf.seen_text(fields)) {
            shelf.found();
        } else {
            shelf.vain.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Looks at the field sets of a new object that is about to be stored; those that are known already
    /// come to be shared. What is known then comes back.
    pub(crate) fn see(&self, version: u64, object: &mut Value) -> Arc<InternedObjects> {
        let shelf = self.shelf(version);
        if !shelf.is_worth_a_try() {
            shelf.vain.fetch_add(1, Ordering::Relaxed);
            return NOTHING.clone();
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
        let mut vain = false;
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
            } else if let Some(more) = shelf.seen(set) {
                known = more;
            } else {
                vain = true;
            }
        }
        if vain {
            shelf.vain.fetch_add(1, Ordering::Relaxed);
        } else {
            shelf.found();
        }
        known
    }
}

/// Whether a set is neither so short that it is written as fast as it is found, nor too long.
fn is_worth_keeping(set: &Map) -> bool {
    let mut left = MOST_STEPS;
    set.values().any(|below| below.as_object().is_some_and(|below| !below.is_empty()))
        && fits_into(&mut left, set)
}

/// Counts the steps of a set down from what is left; no further than to the end of that.
fn fits_into(left: &mut usize, set: &Map) -> bool {
    let Some(rest) = left.checked_sub(set.len()) else { return false };
    *left = rest;
    set.values().filter_map(Value::as_object).all(|below| below.is_empty() || fits_into(left, below))
}

impl Shelf {
    fn is_worth_a_try(&self) -> bool {
        let vain = self.vain.load(Ordering::Relaxed);
        vain < PATIENCE || vain.is_multiple_of(RETRY)
    }

    /// A set was known: the next is worth a try.
    fn found(&self) {
        if self.vain.load(Ordering::Relaxed) > 0 {
            self.vain.store(0, Ordering::Relaxed);
        }
    }

    fn knows(&self, fields: &[u8]) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.objects().iter().any(|interned| interned.text() == fields)
    }

    /// Remembers a set that is written. Whether it was seen before comes back; it is known from then on.
    fn seen_text(&self, fields: &[u8]) -> bool {
        let mut once = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        if !once.texts.iter().any(|seen| **seen == *fields) {
            if fields.len() <= MOST_TEXT {
                let next = once.next_text;
                once.texts[next] = fields.into();
                once.next_text = (next + 1) % ONCE;
            }
            return false;
        }
        match pleach_json::parse(fields) {
            Ok(Value::Object(set)) if is_worth_keeping(&set) => self.learn(set, &mut once).is_some(),
            _ => false,
        }
    }

    /// Remembers a set. If it was seen before it is known from now on, and all that is known comes back.
    fn seen(&self, set: Map) -> Option<Arc<InternedObjects>> {
        let mut once = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = once.sets.iter().position(|seen| *seen == set) else {
            let next = once.next;
            once.sets[next] = set;
            once.next = (next + 1) % ONCE;
            return None;
        };
        once.sets[at] = Map::new();
        self.learn(set, &mut once)
    }

    /// Makes a set one of those that are known.
    fn learn(&self, set: Map, once: &mut Once) -> Option<Arc<InternedObjects>> {
        let interned = InternedObject::new(set)?;
        // Only who holds the lock adds to what is known.
        let mut sets = self.known.read().unwrap_or_else(PoisonError::into_inner).objects().to_vec();
        if sets.len() < SETS {
            sets.push(interned);
        } else {
            let next = once.next_known;
            sets[next] = interned;
            once.next_known = (next + 1) % SETS;
        }
        let known = Arc::new(InternedObjects::new(FIELDS, sets));
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known.clone();
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
    fn what_was_seen_twice_is_shared_from_then_on() {
        let usual = Usual::default();
        assert!(usual.see(7, &mut object(&[set(1), set(2)])).objects().is_empty());
        let mut second = object(&[set(2), set(3)]);
        let known = usual.see(7, &mut second);
        assert_eq!(known.objects().len(), 1);
        assert!(known.text_of(&sets(&second)[0]).is_some());
        let mut third = object(&[set(2), json!({})]);
        let before = third.clone();
        let known = usual.see(7, &mut third);
        assert_eq!(third, before);
        assert!(sets(&third)[0].is_same(known.objects()[0].object()));
        assert_eq!(known.text_of(&sets(&third)[0]), Some(&br#"{"f:spec":{"f:2":{}}}"#[..]));
        assert!(usual.of(1 << 32).objects().is_empty(), "another shelf");
    }

    #[test]
    fn what_was_written_twice_is_known() {
        let usual = Usual::default();
        let known = |n: usize| {
            usual.of(7).objects().iter().any(|interned| Some(interned.object()) == set(n).as_object())
        };
        for n in [1, 2, 1] {
            usual.see_text(7, set(n).to_string().as_bytes());
        }
        assert!(known(1) && !known(2));
        usual.see_text(7, set(1).to_string().as_bytes());
        assert_eq!(usual.of(7).objects().len(), 1, "once is enough");
        for _ in 0..3 {
            usual.see_text(7, b"{\"f:a\":{}}");
            usual.see_text(7, b"no JSON");
        }
        assert_eq!(usual.of(7).objects().len(), 1, "short ones are written as fast");
        let mut second = object(&[set(1)]);
        usual.see(7, &mut second);
        assert!(sets(&second)[0].is_same(usual.of(7).objects()[0].object()));
    }

    #[test]
    fn it_is_bounded() {
        let usual = Usual::default();
        for n in 0..20 {
            usual.see(7, &mut object(&[set(n)]));
        }
        assert!(usual.of(7).objects().is_empty(), "each was seen once");
        for n in 0..100 {
            for _ in 0..3 {
                usual.see(7, &mut object(&[set(n)]));
            }
        }
        let known = usual.of(7);
        assert_eq!(known.objects().len(), SETS);
        let last = set(99);
        assert!(known.objects().iter().any(|interned| Some(interned.object()) == last.as_object()));
        let long: Map = (0..MOST_STEPS).map(|n| (format!("f:{n}").into(), json!({"f:x": {}}))).collect();
        for _ in 0..3 {
            assert!(usual.see(7, &mut object(&[long.clone().into()])).text_of(&long).is_none(), "too long");
        }
        let once = usual.shelf(7).once.lock().unwrap();
        assert!(once.sets.iter().all(|set| set.len() < 2), "what is too long is not remembered either");
        drop(once);
        for n in 1_000..2_000 {
            usual.see(7, &mut object(&[set(n)]));
        }
        assert!(usual.of(7).objects().is_empty(), "no two objects had a set in common");
        for _ in 0..200 {
            usual.see(7, &mut object(&[set(7)]));
        }
        assert!(!usual.of(7).objects().is_empty(), "until they had");
        // No managed fields, and some that are none.
        for mut odd in [json!({}), json!(null), json!({"metadata": {"managedFields": [1, {"fieldsV1": 2}]}})]
        {
            usual.see(7, &mut odd);
        }
    }
}
