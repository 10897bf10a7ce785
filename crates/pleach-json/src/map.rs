//! JSON objects: members in a vector sorted by key.
//!
//! Objects in this world are small and are written far more rarely than they are walked, cloned and
//! printed in key order, so a sorted vector beats a tree or a hash table on every count but one:
//! inserting into the middle moves the tail. Whoever adds many members uses [`Map::extend`] or
//! [`Map::merge`], which sort once.

use std::fmt;

use crate::{Str, Value, grow_stack};

/// The members of a JSON object, sorted bytewise by key; keys are unique.
#[derive(Default)]
pub struct Map(Vec<(Str, Value)>);

/// Objects up to this many members are searched from the front: cheaper than halving.
const LINEAR: usize = 8;

impl Map {
    /// An empty object.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// An empty object with room for `n` members.
    pub fn with_capacity(n: usize) -> Self {
        Self(Vec::with_capacity(n))
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where `key` stands, or where it would.
    pub fn position(&self, key: &str) -> Result<usize, usize> {
        if self.0.len() <= LINEAR {
            for (i, (k, _)) in self.0.iter().enumerate() {
                match k.as_str().cmp(key) {
                    std::cmp::Ordering::Less => {}
                    std::cmp::Ordering::Equal => return Ok(i),
                    std::cmp::Ordering::Greater => return Err(i),
                }
            }
            return Err(self.0.len());
        }
        self.0.binary_search_by(|(k, _)| k.as_str().cmp(key))
    }

    /// The member `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.position(key).ok().map(|i| &self.0[i].1)
    }

    /// The member `key`.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.position(key).ok().map(|i| &mut self.0[i].1)
    }

    /// Whether there is a member `key`.
    pub fn contains_key(&self, key: &str) -> bool {
        self.position(key).is_ok()
    }

    /// The string member `key`.
    pub fn get_str(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// Sets a member and returns what it replaced.
    pub fn insert(&mut self, key: impl Into<Str>, value: impl Into<Value>) -> Option<Value> {
        let (key, value) = (key.into(), value.into());
        match self.position(&key) {
            Ok(i) => Some(std::mem::replace(&mut self.0[i].1, value)),
            Err(i) => {
                self.0.insert(i, (key, value));
                None
            }
        }
    }

    /// The member `key`, made by `default` if it is absent.
    pub fn get_or_insert_with(&mut self, key: &str, default: impl FnOnce() -> Value) -> &mut Value {
        let i = match self.position(key) {
            Ok(i) => i,
            Err(i) => {
                self.0.insert(i, (key.into(), default()));
                i
            }
        };
        &mut self.0[i].1
    }

    /// Takes a member out.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.position(key).ok().map(|i| self.0.remove(i).1)
    }

    /// Keeps the members for which `keep` says so.
    pub fn retain(&mut self, mut keep: impl FnMut(&Str, &mut Value) -> bool) {
        self.0.retain_mut(|(k, v)| keep(k, v));
    }

    /// The members in key order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Str, &Value)> + DoubleEndedIterator {
        self.0.iter().map(|(k, v)| (k, v))
    }

    /// The members in key order, values open to change.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&Str, &mut Value)> {
        self.0.iter_mut().map(|(k, v)| (&*k, v))
    }

    /// The keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Str> {
        self.0.iter().map(|(k, _)| k)
    }

    /// The values in key order.
    pub fn values(&self) -> impl ExactSizeIterator<Item = &Value> {
        self.0.iter().map(|(_, v)| v)
    }

    /// The values in key order, open to change.
    pub fn values_mut(&mut self) -> impl ExactSizeIterator<Item = &mut Value> {
        self.0.iter_mut().map(|(_, v)| v)
    }

    /// The members as a sorted slice, for walks that go along two objects at once.
    pub fn entries(&self) -> &[(Str, Value)] {
        &self.0
    }

    /// The members as a sorted slice, values open to change. Keys must stay as they are.
    pub fn entries_mut(&mut self) -> &mut [(Str, Value)] {
        &mut self.0
    }

    /// Adds many members at once; a later one replaces an earlier one of the same key.
    pub fn merge(&mut self, members: Vec<(Str, Value)>) {
        if members.is_empty() {
            return;
        }
        self.0.extend(members);
        self.restore_order();
    }

    /// The members as a plain vector in key order.
    pub fn into_vec(mut self) -> Vec<(Str, Value)> {
        std::mem::take(&mut self.0)
    }

    /// Sorts and drops all but the last member of each key.
    fn restore_order(&mut self) {
        if self.0.is_sorted_by(|a, b| a.0 < b.0) {
            return;
        }
        // The sort is stable, so of equal keys the last one written stands last.
        self.0.sort_by(|a, b| a.0.cmp(&b.0));
        self.0.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                std::mem::swap(later, kept);
            }
            same
        });
    }
}

impl Extend<(Str, Value)> for Map {
    fn extend<I: IntoIterator<Item = (Str, Value)>>(&mut self, iter: I) {
        self.0.extend(iter);
        self.restore_order();
    }
}

impl From<Vec<(Str, Value)>> for Map {
    /// Sorts; of equal keys the last one wins.
    fn from(members: Vec<(Str, Value)>) -> Self {
        let mut map = Self(members);
        map.restore_order();
        map
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
        self.0.iter()
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if self.0.iter().any(|(_, v)| matches!(v, Value::Array(_) | Value::Object(_))) {
            grow_stack(|| self.0.clear());
        }
    }
}

impl Clone for Map {
    fn clone(&self) -> Self {
        grow_stack(|| Self(self.0.clone()))
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        grow_stack(|| self.0 == other.0)
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
