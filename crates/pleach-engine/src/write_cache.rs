//! The write cache: recent objects, last applied configurations and common field sets, kept for the next write.
//!
//! * Recent objects ([`recent_objects`]): the value that was stored, its text with spans, and which checks it
//!   passed. The next write neither parses nor validates what it does not change.
//! * Last applied configurations ([`last_applied`]), kept with their objects: a manager applies mostly what it
//!   applied before.
//! * Field sets ([`field_sets`]): `fieldsV1` values that many objects of a kind have in common.
//!
//! The write pipeline has no other cache. With the cache off every lookup is a miss and nothing is kept;
//! requests are answered the same, and cost more (`docs/design/003`).

mod field_sets;
mod last_applied;
mod recent_objects;

use std::sync::Arc;

use pleach_json::{InternedObjects, Spans, Value};
use pleach_store::{Key, Revision};
use pleach_work::Constant;

use self::field_sets::FieldSetCache;
pub(crate) use self::last_applied::{AppliedConfiguration, LastApplied};
pub(crate) use self::recent_objects::LastStored;
use self::recent_objects::RecentObjects;
use crate::kind::KindVersion;
use crate::live::{Live, Verified};
use crate::record::Record;

/// No field sets.
static NO_SETS: Constant<Arc<InternedObjects>> = Constant::new(Arc::default);

/// The write cache.
#[derive(Default)]
pub(crate) struct WriteCache {
    off: bool,
    objects: RecentObjects,
    field_sets: FieldSetCache,
}

impl WriteCache {
    /// A cache that keeps nothing.
    pub(crate) fn off() -> Self {
        Self { off: true, ..Self::default() }
    }

    /// Whether anything is kept.
    pub(crate) fn is_on(&self) -> bool {
        !self.off
    }

    /// The object stored under a key at a revision, with the checks that it has passed under these versions.
    pub(crate) fn live(&self, versions: &Arc<[KindVersion]>, key: &Key, revision: Revision) -> Option<Live> {
        if self.off {
            return None;
        }
        self.objects.get(versions, key, revision)
    }

    /// The object as it was last stored by this process, if it is settled under the schema with this
    /// fingerprint. It need not be the live one.
    pub(crate) fn last_stored(&self, key: &Key, fingerprint: u64) -> Option<LastStored> {
        if self.off {
            return None;
        }
        self.objects.last(key, fingerprint)
    }

    /// Keeps an object as it was stored, in the storage version, and the configuration if it was applied.
    pub(crate) fn put(
        &self,
        versions: &Arc<[KindVersion]>,
        key: Key,
        record: &Record,
        stored: (Value, Spans),
        verified: Verified,
        applied: Option<AppliedConfiguration>,
    ) {
        if self.is_on() {
            self.objects.put(versions, key, record, stored, verified, applied);
        }
    }

    /// Drops the objects that were last written at a revision or before: an idle server keeps none.
    pub(crate) fn forget(&self, until: Revision) {
        self.objects.forget(until);
    }

    /// Drops an object that was deleted at a revision.
    pub(crate) fn remove(&self, key: &Key, deleted: Revision) {
        self.objects.remove(key, deleted);
    }

    /// The field sets that objects of a version have in common; the version is given by its fingerprint.
    pub(crate) fn field_sets(&self, version: u64) -> Arc<InternedObjects> {
        if self.off { NO_SETS.clone() } else { self.field_sets.of(version) }
    }

    /// Counts the field sets of a new object, and replaces common ones by their interned copies, which are returned.
    pub(crate) fn intern_field_sets(&self, version: u64, object: &mut Value) -> Arc<InternedObjects> {
        if self.off { NO_SETS.clone() } else { self.field_sets.intern(version, object) }
    }

    /// Learns the only field set of a new object, given as text.
    pub(crate) fn intern_field_set_text(&self, version: u64, fields: &[u8]) {
        if self.is_on() {
            self.field_sets.intern_text(version, fields);
        }
    }
}
