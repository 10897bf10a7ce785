//! The typed forms of stored objects, by key and revision.
//!
//! Only CRDs have one: a write finds the typed form of the object that it replaces, and the reconcile after its commit
//! finds that of the new one. Most of a form is shared with the kind that the CRD defines.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pleach_pipeline::Typed;
use pleach_store::{Key, Revision};

/// The typed forms of stored objects, which forks share until one of them changes them.
#[derive(Default)]
pub(crate) struct TypedForms(Mutex<Arc<HashMap<Key, (Revision, Typed)>>>);

impl TypedForms {
    /// A copy that changes on its own.
    pub(crate) fn fork(&self) -> Self {
        Self(Mutex::new(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()))
    }

    /// The typed form of an object at a revision, if it is known.
    pub(crate) fn get(&self, key: &Key, revision: Revision) -> Typed {
        let forms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        forms.get(key).filter(|(at, _)| *at == revision).map(|(_, typed)| typed.clone()).unwrap_or_default()
    }

    /// Notes the typed form of an object, if it is known and not older than the one that is noted.
    pub(crate) fn put(&self, key: &Key, revision: Revision, typed: &Typed) {
        if !typed.is_known() {
            return;
        }
        let mut forms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if forms.get(key).is_none_or(|(at, _)| *at <= revision) {
            Arc::make_mut(&mut forms).insert(key.clone(), (revision, typed.clone()));
        }
    }

    /// Drops the form of a deleted object.
    pub(crate) fn remove(&self, key: &Key) {
        let mut forms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if forms.contains_key(key) {
            Arc::make_mut(&mut forms).remove(key);
        }
    }
}
