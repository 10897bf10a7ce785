//! The garbage collector's graph: dependents of each owner, by uid. Only objects with owners are in it.

use std::collections::{BTreeSet, HashMap, HashSet};

use pleach_json::Str;
use pleach_store::Key;

/// Objects and their owners.
#[derive(Default)]
pub(super) struct Graph {
    dependents: HashMap<Str, BTreeSet<Key>>,
    /// The owners of each object, and whether it blocks their deletion.
    owners: HashMap<Key, Vec<(Str, bool)>>,
    /// How many references block an owner's deletion.
    blocks: HashMap<Str, usize>,
    /// Owners whose removal was observed and that still have dependents; their kind may no longer be served.
    gone: HashSet<Str>,
    /// Owners that wait until none blocks them.
    waiting: HashMap<Str, Key>,
}

impl Graph {
    pub(super) fn new(gone: HashSet<Str>) -> Self {
        Self { gone, ..Self::default() }
    }

    /// The owners that were seen to go.
    pub(super) fn into_gone(self) -> HashSet<Str> {
        self.gone
    }

    /// Whether no object has owners.
    pub(super) fn is_empty(&self) -> bool {
        self.dependents.is_empty()
    }

    /// Notes the owners of an object; the owners that waited for it and no longer have to.
    pub(super) fn set(&mut self, key: &Key, owners: Vec<(Str, bool)>) -> Vec<Key> {
        let old = self.owners.remove(key).unwrap_or_default();
        for (uid, blocks) in &owners {
            self.dependents.entry(uid.clone()).or_default().insert(key.clone());
            if *blocks {
                *self.blocks.entry(uid.clone()).or_default() += 1;
            }
        }
        let mut free = Vec::new();
        let kept: HashSet<&Str> = owners.iter().map(|(uid, _)| uid).collect();
        for (uid, blocked) in old {
            if blocked && let Some(blocks) = self.blocks.get_mut(&uid) {
                *blocks -= 1;
                if *blocks == 0 {
                    self.blocks.remove(&uid);
                    free.extend(self.waiting.remove(&uid));
                }
            }
            if kept.contains(&uid) {
                continue;
            }
            if let Some(keys) = self.dependents.get_mut(&uid) {
                keys.remove(key);
                if keys.is_empty() {
                    self.dependents.remove(&uid);
                    self.gone.remove(&uid);
                }
            }
        }
        if !owners.is_empty() {
            self.owners.insert(key.clone(), owners);
        } else if self.is_empty() {
            // One object may have had tens of thousands of owners.
            self.dependents.shrink_to_fit();
            self.blocks.shrink_to_fit();
            self.gone.shrink_to_fit();
        }
        free
    }

    /// The objects that name an owner.
    pub(super) fn dependents(&self, uid: &str) -> Vec<Key> {
        self.dependents.get(uid).map(|keys| keys.iter().cloned().collect()).unwrap_or_default()
    }

    /// An owner that is deleted in the foreground: all its dependents, or `None` if none
    /// blocks it.
    pub(super) fn wait(&mut self, uid: &Str, key: &Key) -> Option<Vec<Key>> {
        if !self.blocks.contains_key(uid) {
            self.waiting.remove(uid);
            return None;
        }
        self.waiting.insert(uid.clone(), key.clone());
        Some(self.dependents(uid))
    }

    /// Called when an object was removed; returns its dependents.
    pub(super) fn owner_gone(&mut self, uid: &str) -> Vec<Key> {
        self.waiting.remove(uid);
        let dependents = self.dependents(uid);
        if !dependents.is_empty() {
            self.gone.insert(uid.into());
        }
        dependents
    }

    /// Whether the removal of an owner was observed.
    pub(super) fn is_gone(&self, uid: &str) -> bool {
        self.gone.contains(uid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_is_free_when_the_last_block_goes() {
        let mut graph = Graph::default();
        let key = |name: &str| Key::new(name);
        let uid = Str::from("u");
        assert_eq!(graph.set(&key("a"), vec![("u".into(), true)]), []);
        assert_eq!(graph.set(&key("b"), vec![("u".into(), true), ("w".into(), false)]), []);
        assert_eq!(graph.set(&key("c"), vec![("u".into(), false)]), []);
        assert_eq!(graph.wait(&uid, &key("owner")), Some(vec![key("a"), key("b"), key("c")]));
        assert_eq!(graph.set(&key("a"), Vec::new()), []);
        assert_eq!(graph.set(&key("b"), vec![("u".into(), true)]), [], "it still blocks");
        assert_eq!(graph.set(&key("b"), vec![("u".into(), false)]), [key("owner")], "the last block");
        assert_eq!(graph.wait(&uid, &key("owner")), None);
        assert_eq!(graph.dependents("u"), [key("b"), key("c")]);
        assert_eq!(graph.dependents("w"), []);
        assert_eq!(graph.owner_gone("u"), [key("b"), key("c")]);
        assert!(graph.is_gone("u") && !graph.is_gone("w"));
        graph.set(&key("b"), Vec::new());
        graph.set(&key("c"), Vec::new());
        assert!(graph.is_empty() && !graph.is_gone("u") && graph.blocks.is_empty());
    }
}
