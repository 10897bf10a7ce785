//! CRD generations: the one that each served kind was made from.
//!
//! The generation grows exactly when the spec changes, so comparing it says whether compiled schemas
//! can be kept, without comparing schemas.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use pleach_json::Str;

use crate::kind::Kind;

/// The generation of the CRD behind each kind.
#[derive(Default)]
pub(crate) struct Generations(Mutex<HashMap<(Str, Str), (Str, i64)>>);

impl Generations {
    /// A copy that changes on its own.
    pub(crate) fn fork(&self) -> Self {
        Self(Mutex::new(self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()))
    }

    fn entry(kind: &Kind) -> ((Str, Str), Str) {
        let uid = kind.crd.as_ref().map(|(_, uid)| uid.clone()).unwrap_or_default();
        ((kind.group.clone(), kind.plural.clone()), uid)
    }

    /// Whether the kind was last made from this generation of this very CRD.
    pub(crate) fn same(&self, kind: &Kind, generation: i64) -> bool {
        let (key, uid) = Self::entry(kind);
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&key).is_some_and(|found| *found == (uid, generation))
    }

    /// Records the source of a kind.
    pub(crate) fn set(&self, kind: &Kind, generation: i64) {
        let (key, uid) = Self::entry(kind);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key, (uid, generation));
    }
    /// Drops a removed kind.
    pub(crate) fn forget(&self, kind: &Kind) {
        let (key, _) = Self::entry(kind);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }
}
