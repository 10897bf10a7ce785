//! CRD generations: the one that each served kind was made from.
//!
//! The generation grows exactly when the spec changes, so comparing it says whether compiled schemas
//! can be kept, without comparing schemas.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pleach_json::Str;

use crate::kind::Kind;

/// The generations by group and plural, with the uids of the CRDs.
type BySource = HashMap<(Str, Str), (Str, i64)>;

/// The generation of the CRD behind each kind. Forks share them until one of them changes them.
#[derive(Default)]
pub(crate) struct Generations(Mutex<Arc<BySource>>);

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
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut known).insert(key, (uid, generation));
    }

    /// Drops a removed kind.
    pub(crate) fn forget(&self, kind: &Kind) {
        let (key, _) = Self::entry(kind);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::make_mut(&mut known).remove(&key);
    }
}
