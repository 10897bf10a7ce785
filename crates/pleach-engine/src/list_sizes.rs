//! The number and size of the objects in each collection at its last list, from which the seats of the next list are
//! estimated.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use foldhash::fast::RandomState;
use pleach_json::Str;
use pleach_store::Range;

use crate::engine::Engine;
use crate::target::Target;

/// So many collections are remembered.
const MOST: usize = 4096;
/// Smaller lists are not worth it: they take one seat however large their objects are.
const SMALL: u64 = 8;

/// Group, resource and namespace.
type Collection = (Str, Str, Str);

/// The sizes of collections.
#[derive(Default)]
pub(crate) struct ListSizes(RwLock<HashMap<Collection, (u64, u64), RandomState>>);

impl ListSizes {
    /// Records the result of the first read of a list.
    pub(crate) fn note(&self, target: &Target, range: &Range) {
        let read = range.items.len() as u64;
        let count = read + range.remaining;
        let namespace = target.namespace.clone().unwrap_or_default();
        let collection = (target.kind.group.clone(), target.kind.plural.clone(), namespace);
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(&collection).copied();
        if count < SMALL && known.is_none() {
            return;
        }
        let bytes: usize = range.items.iter().map(|item| item.value.len()).sum();
        let size = (count, (bytes as u64).checked_div(read).unwrap_or_default());
        if known == Some(size) {
            return;
        }
        let mut sizes = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if sizes.len() >= MOST {
            sizes.clear();
        }
        sizes.insert(collection, size);
    }
}

impl Engine {
    /// How many objects a collection has and how many bytes one of them takes, if it was listed and is not small.
    pub fn list_size(&self, group: &str, resource: &str, namespace: &str) -> Option<(u64, u64)> {
        let sizes = self.list_sizes.0.read().unwrap_or_else(PoisonError::into_inner);
        if sizes.is_empty() {
            return None;
        }
        sizes.get(&(group.into(), resource.into(), namespace.into())).copied()
    }
}
