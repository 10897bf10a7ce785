//! The kinds there are.
//!
//! A kind is looked up by group and plural on every request and replaced as a whole when its CRD
//! changes, so no request sees half a change. Looking up and replacing cost the same whether there
//! are ten kinds or ten thousand; only requests for discovery walk them.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use pleach_json::Str;

use crate::kind::Kind;
use crate::retire::Retired;
use crate::webhooks::conversion::Converter;

/// A kind as the server serves it.
#[derive(Debug)]
pub struct ServedKind {
    /// Shared by forks.
    inner: Arc<Kind>,
    /// There is no history from before this revision: the kind did not exist. 0 if that is not known.
    pub since: u64,
    /// The revision of the CRD that made this kind; 0 for a built-in kind.
    pub crd_revision: u64,
    /// The client of the conversion webhook.
    pub(crate) converter: Option<Converter>,
    /// Ends when a later form replaces this one; watches end with it.
    pub retired: Retired,
}

impl From<Kind> for ServedKind {
    fn from(kind: Kind) -> Self {
        let converter = kind.conversion_webhook.as_deref().map(Converter::of);
        Self { inner: Arc::new(kind), since: 0, crd_revision: 0, converter, retired: Retired::default() }
    }
}

impl Deref for ServedKind {
    type Target = Kind;

    fn deref(&self) -> &Kind {
        &self.inner
    }
}

impl DerefMut for ServedKind {
    fn deref_mut(&mut self) -> &mut Kind {
        Arc::make_mut(&mut self.inner)
    }
}

/// The kinds there are, by group and plural.
#[derive(Default)]
pub struct Catalog {
    groups: RwLock<HashMap<Str, BTreeMap<Str, Arc<ServedKind>>>>,
    generation: AtomicU64,
}

impl Catalog {
    /// An independent copy. Compiled schemas are shared; the flags that announce a kind's end are not.
    pub(crate) fn fork(&self) -> Self {
        let copy = Self::default();
        for kind in self.all() {
            let (inner, since, converter) = (kind.inner.clone(), kind.since, kind.converter.clone());
            let crd_revision = kind.crd_revision;
            copy.put(Arc::new(ServedKind {
                inner,
                since,
                crd_revision,
                converter,
                retired: Retired::default(),
            }));
        }
        copy
    }

    /// The kind of a resource.
    pub fn get(&self, group: &str, plural: &str) -> Option<Arc<ServedKind>> {
        let groups = self.groups.read().unwrap_or_else(PoisonError::into_inner);
        groups.get(group)?.get(plural).cloned()
    }

    /// The kind of that `kind` in a group, for references from other objects. Walks one group.
    pub fn by_kind(&self, group: &str, kind: &str) -> Option<Arc<ServedKind>> {
        let groups = self.groups.read().unwrap_or_else(PoisonError::into_inner);
        groups.get(group)?.values().find(|k| k.kind == kind).cloned()
    }

    /// The kinds of one group, by plural.
    pub fn group(&self, group: &str) -> Vec<Arc<ServedKind>> {
        let groups = self.groups.read().unwrap_or_else(PoisonError::into_inner);
        groups.get(group).map(|kinds| kinds.values().cloned().collect()).unwrap_or_default()
    }

    /// All kinds, by group and plural: for discovery and documents.
    pub fn all(&self) -> Vec<Arc<ServedKind>> {
        let groups = self.groups.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Arc<ServedKind>> =
            groups.values().flat_map(|kinds| kinds.values().cloned()).collect();
        drop(groups);
        all.sort_by(|a, b| (&a.group, &a.plural).cmp(&(&b.group, &b.plural)));
        all
    }

    /// Puts a kind in the place of its former state.
    pub fn put(&self, kind: Arc<ServedKind>) {
        let mut groups = self.groups.write().unwrap_or_else(PoisonError::into_inner);
        groups.entry(kind.group.clone()).or_default().insert(kind.plural.clone(), kind);
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Takes a kind away.
    pub fn remove(&self, group: &str, plural: &str) -> Option<Arc<ServedKind>> {
        let mut groups = self.groups.write().unwrap_or_else(PoisonError::into_inner);
        let kinds = groups.get_mut(group)?;
        let gone = kinds.remove(plural);
        if kinds.is_empty() {
            groups.remove(group);
        }
        self.generation.fetch_add(1, Ordering::Release);
        gone
    }

    /// Grows with every change: a document made from the catalog is stale when it differs.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }
}
