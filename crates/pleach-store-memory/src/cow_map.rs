//! A sorted map whose copies share memory (copy-on-write): a list of counted chunks.
//!
//! Copying it copies one pointer per chunk. A change to a chunk that another copy has too copies that chunk first.

use std::ops::ControlFlow;
use std::sync::Arc;

use pleach_store::{Key, Versioned};

/// A chunk of this length is split in two.
const FULL: usize = 128;

/// Values in the order of their keys.
#[derive(Clone, Debug, Default)]
pub(crate) struct CowMap {
    /// None is empty.
    chunks: Vec<Arc<Vec<Versioned>>>,
    keys: u64,
    value_bytes: u64,
}

impl CowMap {
    /// The number of keys, and the bytes of all values.
    pub(crate) fn size(&self) -> (u64, u64) {
        (self.keys, self.value_bytes)
    }

    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&Versioned> {
        let chunk = self.chunks.get(self.chunk_of(key))?;
        let at = chunk.binary_search_by(|item| item.key.as_str().cmp(key)).ok()?;
        Some(&chunk[at])
    }

    /// Puts a value in the place of that of its key.
    pub(crate) fn insert(&mut self, item: Versioned) {
        let at = self.chunk_of(item.key.as_str());
        self.value_bytes += item.value.len() as u64;
        let Some(chunk) = self.chunks.get_mut(at) else {
            self.keys += 1;
            self.chunks.push(Arc::new(vec![item]));
            return;
        };
        let chunk = Arc::make_mut(chunk);
        match chunk.binary_search_by(|other| other.key.cmp(&item.key)) {
            Ok(found) => {
                self.value_bytes -= chunk[found].value.len() as u64;
                chunk[found] = item;
            }
            Err(place) => {
                self.keys += 1;
                chunk.insert(place, item);
            }
        }
        if chunk.len() >= FULL {
            let second = chunk.split_off(FULL / 2);
            self.chunks.insert(at + 1, Arc::new(second));
        }
    }

    /// Takes a key out.
    pub(crate) fn remove(&mut self, key: &str) {
        let at = self.chunk_of(key);
        let Some(shared) = self.chunks.get_mut(at) else { return };
        let Ok(found) = shared.binary_search_by(|item| item.key.as_str().cmp(key)) else { return };
        let gone = Arc::make_mut(shared).remove(found);
        self.keys -= 1;
        self.value_bytes -= gone.value.len() as u64;
        if self.chunks[at].is_empty() {
            self.chunks.remove(at);
        }
    }

    /// Visits values from a key on, in order, until `visit` breaks.
    pub(crate) fn walk(&self, start: &Key, mut visit: impl FnMut(&Versioned) -> ControlFlow<()>) {
        for chunk in self.chunks.iter().skip(self.chunk_of(start.as_str())) {
            let from = chunk.partition_point(|item| item.key < *start);
            if chunk[from..].iter().try_for_each(&mut visit).is_break() {
                return;
            }
        }
    }

    /// The number of the chunk in which a key is, or would be: the last one that begins before or with it.
    fn chunk_of(&self, key: &str) -> usize {
        self.chunks.partition_point(|chunk| chunk[0].key.as_str() <= key).saturating_sub(1)
    }

    /// How many chunks this map shares with another.
    #[cfg(test)]
    fn shared_with(&self, other: &Self) -> usize {
        self.chunks
            .iter()
            .filter(|chunk| other.chunks.iter().any(|theirs| Arc::ptr_eq(chunk, theirs)))
            .count()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pleach_store::Revision;

    use super::*;

    fn item(key: &str, value: &str) -> Versioned {
        Versioned {
            key: key.into(),
            value: value.to_owned().into(),
            created: Revision::FIRST,
            revision: Revision::FIRST,
        }
    }

    #[test]
    fn it_is_a_sorted_map() {
        let (mut map, mut model) = (CowMap::default(), BTreeMap::new());
        let mut random = 7_u64;
        for _ in 0..5_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let key = format!("{:03}", (random >> 33) % 700);
            if (random >> 20).is_multiple_of(3) {
                map.remove(&key);
                model.remove(&key);
            } else {
                map.insert(item(&key, &random.to_string()));
                model.insert(key, random.to_string());
            }
        }
        let size: usize = model.values().map(String::len).sum();
        assert_eq!(map.size(), (model.len() as u64, size as u64));
        for start in ["", "123", "500", "999"] {
            let mut found = Vec::new();
            map.walk(&start.into(), |item| {
                found.push(item.key.to_string());
                ControlFlow::Continue(())
            });
            let expected: Vec<_> = model.range(start.to_owned()..).map(|(key, _)| key.clone()).collect();
            assert_eq!(found, expected, "from {start:?}");
        }
        for key in 0..700 {
            let key = format!("{key:03}");
            let found = map.get(&key).map(|item| String::from_utf8(item.value.to_vec()).unwrap());
            assert_eq!(found.as_ref(), model.get(&key), "{key}");
        }
    }

    #[test]
    fn copies_share_what_neither_has_changed() {
        let mut map = CowMap::default();
        for key in 0..10_000 {
            map.insert(item(&format!("{key:05}"), "x"));
        }
        let mut copy = map.clone();
        copy.insert(item("00005", "y"));
        assert_eq!(copy.shared_with(&map), map.chunks.len() - 1);
        assert_eq!(&map.get("00005").unwrap().value[..], b"x");
        assert_eq!(&copy.get("00005").unwrap().value[..], b"y");
    }
}
