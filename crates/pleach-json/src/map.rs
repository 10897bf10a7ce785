//! JSON objects: members in a vector sorted by key.
//!
//! Objects in this world are small and are written far more rarely than they are walked, cloned and
//! printed in key order, so a sorted vector beats a tree or a hash table on every count but one:
//! inserting into the middle moves the tail. To add many members use [`Map::extend`] or
//! [`Map::merge`], which sort once.
//!
//! Copies share their members until one of them changes. Methods that may change something copy
//! only if they do, save those that hand out all values open to change.

use std::cmp::Ordering;
use std::fmt;

use crate::shared::Shared;
use crate::{Str, Value, grow_stack};

/// The members of a JSON object, sorted bytewise by key; keys are unique. Cheap to clone.
#[derive(Clone, Default)]
pub struct Map(Shared<(Str, Value)>);

/// So many members are inserted one by one; more are sorted in.
const FEW: usize = 16;

/// Objects up to this many members are searched from the front: cheaper than halving.
const LINEAR: usize = 8;

impl Map {
    /// The members, to be asked for in ascending order of their keys.
    #[inline]
    pub fn ascending(&self) -> Ascending<'_> {
        Ascending(self.entries())
    }

    /// An empty object.
    #[inline]
    pub const fn new() -> Self {
        Self(Shared::new())
    }

    /// An empty object with room for `n` members.
    pub fn with_capacity(n: usize) -> Self {
        Self(Shared::with_capacity(n))
    }

    /// An object of members that are sorted by key and have different keys: callers that write them in
    /// order need not have them looked through again.
    #[inline]
    pub fn from_sorted(members: Vec<(Str, Value)>) -> Self {
        debug_assert!(members.is_sorted_by(|a, b| a.0 < b.0), "members are not in order: {members:?}");
        Self(members.into())
    }

    /// How many members there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries().len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// Whether two objects are equal because neither changed since one was copied from the other.
    /// Objects that are equal for other reasons are not the same.
    #[inline]
    pub fn is_same(&self, other: &Self) -> bool {
        self.0.is_same(&other.0)
    }

    /// The members as [`Self::entries_mut`] has them, if no other value shares them: nothing is copied.
    #[inline]
    pub fn unshared_entries_mut(&mut self) -> Option<&mut [(Str, Value)]> {
        self.0.unshared_mut().map(Vec::as_mut_slice)
    }

    /// Where `key` stands, or where it would.
    pub fn position(&self, key: &str) -> Result<usize, usize> {
        let entries = self.entries();
        if entries.len() <= LINEAR {
            for (i, (k, _)) in entries.iter().enumerate() {
                match order(k, key) {
                    Ordering::Less => {}
                    Ordering::Equal => return Ok(i),
                    Ordering::Greater => return Err(i),
                }
            }
            return Err(entries.len());
        }
        entries.binary_search_by(|(k, _)| k.as_str().cmp(key))
    }

    /// Where `key` stands. Inequality of two keys is found faster than their order: their lengths
    /// differ, or their first bytes.
    fn found(&self, key: &str) -> Option<usize> {
        let entries = self.entries();
        if entries.len() > 2 * LINEAR {
            return self.position(key).ok();
        }
        entries.iter().position(|(name, _)| {
            let (name, key) = (name.as_bytes(), key.as_bytes());
            name.len() == key.len() && name.first() == key.first() && name == key
        })
    }

    /// The member `key`.
    #[inline]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.found(key).map(|i| &self.entries()[i].1)
    }

    /// The member `key`.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.found(key).map(|i| &mut self.0.make_mut()[i].1)
    }

    /// Whether there is a member `key`.
    #[inline]
    pub fn contains_key(&self, key: &str) -> bool {
        self.found(key).is_some()
    }

    /// The string member `key`.
    #[inline]
    pub fn get_str(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// Sets a member and returns what it replaced.
    pub fn insert(&mut self, key: impl Into<Str>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        match self.position(&key) {
            Ok(i) => Some(std::mem::replace(&mut self.0.make_mut()[i].1, value)),
            Err(i) => {
                self.0.make_mut().insert(i, (key, value));
                None
            }
        }
    }

    /// Makes room for more members.
    pub fn reserve(&mut self, more: usize) {
        self.0.make_mut().reserve(more);
    }

    /// Adds those of some members that are not there, about `n`. Their keys come in ascending order; `value`
    /// makes what is added.
    pub fn fill_in<'k, T>(
        &mut self,
        n: usize,
        members: impl IntoIterator<Item = (&'k Str, T)>,
        mut value: impl FnMut(T) -> Value,
    ) {
        let all = self.0.make_mut();
        all.reserve(n);
        if n > FEW && all.len() > FEW {
            // Each insertion would move all that follow.
            let (mut at, mut added) = (0, Vec::with_capacity(n));
            for (key, new) in members {
                at += all[at..].iter().take_while(|(name, _)| order(name, key).is_lt()).count();
                if all.get(at).is_none_or(|(name, _)| name != key) {
                    added.push((key.clone(), value(new)));
                }
            }
            all.extend(added);
            restore_order(all);
            return;
        }
        let mut at = 0;
        for (key, new) in members {
            at += all[at..].iter().take_while(|(name, _)| order(name, key).is_lt()).count();
            if all.get(at).is_none_or(|(name, _)| name != key) {
                all.insert(at, (key.clone(), value(new)));
            }
        }
    }

    /// The member `key`, made by `default` if it is absent.
    pub fn get_or_insert_with(&mut self, key: &str, default: impl FnOnce() -> Value) -> &mut Value {
        let i = match self.position(key) {
            Ok(i) => i,
            Err(i) => {
                self.0.make_mut().insert(i, (key.into(), default()));
                i
            }
        };
        &mut self.0.make_mut()[i].1
    }

    /// Takes a member out.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.found(key).map(|i| self.0.make_mut().remove(i).1)
    }

    /// Keeps the members for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&Str, &mut Value) -> bool) {
        if !self.is_empty() {
            self.0.make_mut().retain_mut(|(k, v)| keep(k, v));
        }
    }

    /// The members in key order.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Str, &Value)> + DoubleEndedIterator {
        self.entries().iter().map(|(k, v)| (k, v))
    }

    /// The members in key order, values open to change.
    #[inline]
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&Str, &mut Value)> {
        self.entries_mut().iter_mut().map(|(k, v)| (&*k, v))
    }

    /// The keys in order.
    #[inline]
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Str> {
        self.entries().iter().map(|(k, _)| k)
    }

    /// The values in key order.
    #[inline]
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.entries().iter().map(|(_, v)| v)
    }

    /// The values in key order, open to change.
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Value> {
        self.entries_mut().iter_mut().map(|(_, v)| v)
    }

    /// The members as a sorted slice, for walks that go along two objects at once.
    #[inline]
    pub fn entries(&self) -> &[(Str, Value)] {
        self.0.as_slice()
    }

    /// The members as a sorted slice, values open to change. Keys must stay as they are.
    #[inline]
    pub fn entries_mut(&mut self) -> &mut [(Str, Value)] {
        if self.is_empty() { &mut [] } else { self.0.make_mut() }
    }

    /// Adds many members at once; a later one replaces an earlier one of the same key.
    pub fn merge(&mut self, members: Vec<(Str, Value)>) {
        if members.is_empty() {
            return;
        }
        let all = self.0.make_mut();
        all.extend(members);
        restore_order(all);
    }

    /// The members as a plain vector in key order.
    pub fn into_vec(mut self) -> Vec<(Str, Value)> {
        self.0.take()
    }
}

/// The members of an object, asked for in ascending order of their keys: each step is a comparison or two,
/// whatever is left out.
#[derive(Clone, Copy, Debug)]
pub struct Ascending<'m>(&'m [(Str, Value)]);

impl<'m> Ascending<'m> {
    /// The member of a key that comes after all that were asked for.
    #[inline]
    pub fn next(&mut self, key: &str) -> Option<&'m Value> {
        while let [(name, value), rest @ ..] = self.0 {
            if name == key {
                self.0 = rest;
                return Some(value);
            }
            if order(name, key).is_gt() {
                return None;
            }
            self.0 = rest;
        }
        None
    }
}

/// The order of keys. Most differ in their first byte, and nothing need be called to see that.
#[inline]
fn order(a: &str, b: &str) -> Ordering {
    a.as_bytes().first().cmp(&b.as_bytes().first()).then_with(|| a.cmp(b))
}

/// So many members are sorted in little memory rather than fast.
const MANY: usize = 10_000;

/// A stable sort by key, in a tenth of the memory of the usual one: hostile input has a million members.
fn sort_many(members: &mut [(Str, Value)]) {
    let mut order: Vec<u32> = (0..members.len() as u32).collect();
    order.sort_unstable_by(|&a, &b| members[a as usize].0.cmp(&members[b as usize].0).then(a.cmp(&b)));
    // Each cycle of the permutation in turn; a member in its place maps to itself.
    for start in 0..members.len() {
        let mut at = start;
        loop {
            let from = order[at] as usize;
            order[at] = at as u32;
            if from == start {
                break;
            }
            members.swap(at, from);
            at = from;
        }
    }
}

/// Sorts and drops all but the last member of each key.
fn restore_order(members: &mut Vec<(Str, Value)>) {
    if members.is_sorted_by(|a, b| order(&a.0, &b.0).is_lt()) {
        return;
    }
    // The sort is stable, so of equal keys the last one written stands last.
    if (MANY..u32::MAX as usize).contains(&members.len()) {
        sort_many(members);
    } else {
        members.sort_by(|a, b| a.0.cmp(&b.0));
    }
    members.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            std::mem::swap(later, kept);
        }
        same
    });
}

impl Extend<(Str, Value)> for Map {
    fn extend<I: IntoIterator<Item = (Str, Value)>>(&mut self, iter: I) {
        self.merge(iter.into_iter().collect());
    }
}

impl From<Vec<(Str, Value)>> for Map {
    /// Sorts; of equal keys the last one wins.
    fn from(mut members: Vec<(Str, Value)>) -> Self {
        restore_order(&mut members);
        Self(members.into())
    }
}

impl FromIterator<(Str, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (Str, Value)>>(iter: I) -> Self {
        Self::from(iter.into_iter().collect::<Vec<_>>())
    }
}

impl IntoIterator for Map {
    type Item = (Str, Value);
    type IntoIter = std::vec::IntoIter<(Str, Value)>;
    fn into_iter(self) -> Self::IntoIter {
        self.into_vec().into_iter()
    }
}

impl<'a> IntoIterator for &'a Map {
    type Item = &'a (Str, Value);
    type IntoIter = std::slice::Iter<'a, (Str, Value)>;
    fn into_iter(self) -> Self::IntoIter {
        self.entries().iter()
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        self.0.release(|(_, value)| value.is_container());
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || grow_stack(|| self.entries() == other.entries())
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        grow_stack(|| f.debug_map().entries(self.iter()).finish())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(map: &Map) -> Vec<&str> {
        map.keys().map(Str::as_str).collect()
    }

    #[test]
    fn many_members_are_sorted_as_few_are() {
        for distinct in [1, 2, 3, 4_999, 100_000] {
            let key = |n: usize| Str::from(format!("k{}", n * 7_919 % distinct));
            let members = || (0..MANY + 7).map(|n| (key(n), Value::Int(n as i64))).collect::<Vec<_>>();
            let mut one_by_one = std::collections::BTreeMap::new();
            one_by_one.extend(members());
            let all = Map::from(members());
            assert!(all.entries().iter().map(|(k, v)| (k, v)).eq(&one_by_one), "{distinct} different keys");
        }
    }

    #[test]
    fn missing_members_are_filled_in() {
        let mut map: Map = ["b", "d"].into_iter().map(|key| (key.into(), Value::from(key))).collect();
        let more: Vec<(Str, i64)> =
            ["a", "b", "c", "d", "e", "f"].into_iter().map(Str::from).zip(0..).collect();
        map.fill_in(4, more.iter().map(|(key, n)| (key, *n)), Value::from);
        assert_eq!(Value::from(map.clone()).to_string(), r#"{"a":0,"b":"b","c":2,"d":"d","e":4,"f":5}"#);
        let copy = map.clone();
        map.fill_in(0, [], |()| Value::Null);
        assert_eq!(map, copy);
        let many: Vec<(Str, i64)> = (0..100).map(|n| (format!("k{n:02}").into(), n)).collect();
        let mut odd: Map =
            many.iter().filter(|(_, n)| n % 2 == 1).map(|(k, n)| (k.clone(), (*n).into())).collect();
        odd.fill_in(50, many.iter().map(|(key, n)| (key, -n)), Value::from);
        assert_eq!(odd.len(), 100);
        assert!(
            odd.iter().zip(0_i64..).all(|((_, v), n)| *v == Value::from(if n % 2 == 1 { n } else { -n }))
        );
    }

    #[test]
    fn members_are_found_in_ascending_order() {
        let map: Map =
            ["a", "ab", "b", "d", "e"].into_iter().map(|key| (key.into(), Value::from(key))).collect();
        let mut ascending = map.ascending();
        let found = ["", "ab", "aba", "c", "d", "f"].map(|key| ascending.next(key).and_then(Value::as_str));
        assert_eq!(found, [None, Some("ab"), None, None, Some("d"), None]);
        assert_eq!(Map::new().ascending().next("a"), None);
    }

    #[test]
    fn members_are_sorted_and_the_last_of_equal_keys_wins() {
        let map = Map::from(vec![
            ("b".into(), Value::Int(1)),
            ("a".into(), Value::Int(2)),
            ("b".into(), Value::Int(3)),
        ]);
        assert_eq!(keys(&map), ["a", "b"]);
        assert_eq!(map.get("b"), Some(&Value::Int(3)));
    }

    #[test]
    fn copies_are_the_same_until_one_changes() {
        let inner = Map::from_iter([("x".into(), Value::Int(1))]);
        let mut map = Map::from_iter([("a".into(), inner.clone().into()), ("b".into(), Value::Int(2))]);
        let copy = map.clone();
        assert!(map.is_same(&copy));
        assert_eq!(map.remove("absent"), None);
        map.get_mut("absent");
        assert!(map.is_same(&copy), "nothing changed");
        map.insert("b", 3);
        assert!(!map.is_same(&copy));
        assert_eq!(copy.get("b"), Some(&Value::Int(2)), "the copy is as it was");
        let of = |map: &Map| map.get("a").and_then(Value::as_object).cloned().unwrap();
        assert!(of(&map).is_same(&of(&copy)), "what is beside the change is still shared");
        assert!(Map::new().is_same(&Map::from(Vec::new())));
    }

    #[test]
    fn small_and_large_objects_find_the_same() {
        for n in [0, 1, LINEAR, LINEAR + 1, 100] {
            let mut map = Map::new();
            for i in (0..n).rev() {
                map.insert(format!("k{i:03}"), i as i64);
            }
            for i in 0..n {
                assert_eq!(map.get(&format!("k{i:03}")).and_then(Value::as_int), Some(i as i64));
            }
            assert_eq!(map.get("k"), None);
            assert_eq!(map.get("z"), None);
        }
    }
}
