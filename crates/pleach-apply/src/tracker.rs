//! The field manager: updates of `managedFields` on every write, and server-side apply.
//!
//! A [`Tracker`] is made for one request: a kind with its versions and the fields its endpoint leaves
//! alone, the version and subresource asked for. Updates always win, and the manager of an
//! update owns the fields it changed. The manager of an apply owns the fields of its configuration. An apply fails
//! where other managers own fields that it would change, unless it is forced, and removes fields that the manager
//! applied last time, does not apply now, and no other manager owns.
//!
//! Owners in other versions are compared in theirs. The object's content is the same in all versions
//! of a custom resource, so converting is a matter of types; [`Versions::convert`] is for kinds where
//! it is not.

mod apply;
mod cap;
mod last_applied;
mod update;

use std::borrow::Cow;
use std::collections::HashMap;

use pleach_json::{InternedObject, InternedObjects, Map, Str, Value};
use pleach_work::{Constant, charge};

pub use self::apply::Applied;
pub use self::update::ManagedFieldsText;
use crate::compare::{Comparison, compare};
use crate::conflict::Conflicts;
use crate::encoded::Encoded;
use crate::entries::Entries;
use crate::fields::Unowned;
use crate::managed_fields::Identity;
use crate::merge::LastMerge;
use crate::reconcile::reconcile;
use crate::set::Set;
use crate::shape::Type;
use crate::validate::validate;

/// Fields that are never owned.
static STRIPPED: Constant<Set> = Constant::new(|| {
    Set::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

/// The versions of a kind.
pub trait Versions {
    /// The type of objects in a version; none if there is no such version.
    fn type_of(&self, api_version: &str) -> Option<Type<'_>>;

    /// An object in another version, if its content differs there.
    fn convert<'v>(&self, object: &'v Value, _to: &str) -> Result<Cow<'v, Value>, String> {
        Ok(Cow::Borrowed(object))
    }

    /// The fields that the endpoint leaves as they are, in a version.
    fn reset(&self, _api_version: &str) -> Option<&Set> {
        None
    }

    /// The fields that every object has before it is created, so that writing them makes no owner.
    fn blank(&self) -> Option<&Value> {
        None
    }

    /// Why objects cannot be had in a version there is not. Without a reason owners in such a version
    /// are forgotten; with one nothing can be worked out at all.
    fn missing(&self, _api_version: &str) -> Option<String> {
        None
    }
}

/// The manager, version, kind, subresource and time of a request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The manager's name.
    pub manager: &'a str,
    /// The version of the request.
    pub api_version: &'a str,
    /// The kind of the objects.
    pub kind: &'a str,
    /// The subresource, or empty.
    pub subresource: &'a str,
    /// The time, as entries write it.
    pub time: &'a str,
}

/// Why an apply failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApplyError {
    /// The configuration is not one for this object.
    BadRequest(String),
    /// Others own fields that would change.
    Conflicts(Conflicts),
    /// Anything else, in upstream's words.
    Failed(String),
}

/// Works out owners for one request.
pub struct Tracker<'a> {
    versions: &'a dyn Versions,
    request: Request<'a>,
    /// The live object is as a write in this version left it.
    live_is_tracked: bool,
    /// Field sets that objects of the kind have in common.
    field_sets: Option<&'a InternedObjects>,
    last_merge: Option<LastMerge<'a>>,
}

impl<'a> Tracker<'a> {
    /// A tracker for one request.
    pub fn new(versions: &'a dyn Versions, request: Request<'a>) -> Self {
        Self { versions, request, live_is_tracked: false, field_sets: None, last_merge: None }
    }

    /// Says that a tracker with the same versions and the same version of the request wrote the live object's
    /// managed fields, so that neither they nor the object need be checked.
    #[must_use]
    pub fn with_tracked_live(mut self, live_is_tracked: bool) -> Self {
        self.live_is_tracked = live_is_tracked;
        self
    }

    /// Field sets that objects of the kind have in common: a manager with one of these shares it.
    #[must_use]
    pub fn with_field_sets(mut self, field_sets: &'a InternedObjects) -> Self {
        self.field_sets = Some(field_sets);
        self
    }

    /// The configuration that the manager applied last, in the same version and under the same types, and the
    /// object that resulted. Where the new configuration shares containers with it, its results are used again.
    #[must_use]
    pub fn with_last_applied(mut self, config: &'a Value, result: &'a Value) -> Self {
        self.last_merge = Some(LastMerge { config, result });
        self
    }

    /// The first of the known field sets that an object has; `first` is tried before the others.
    fn recognized(&self, first: Option<&Encoded>, has: impl Fn(&Map) -> bool) -> Option<Encoded> {
        let others =
            self.field_sets.into_iter().flat_map(InternedObjects::objects).map(InternedObject::object);
        let mut all = first.map(Encoded::members).into_iter().chain(others);
        all.find(|fields| has(fields)).map(|fields| Encoded::from_map(fields.clone()))
    }

    /// The fields that get no owner in this request.
    fn unowned(&self) -> Unowned<'_> {
        Unowned { stripped: &STRIPPED, reset: self.versions.reset(self.request.api_version) }
    }

    /// The owners of the live object.
    fn owners_of(&self, live: &Value) -> Result<Entries, String> {
        let managed = managed_of(live).clone();
        if self.live_is_tracked { Entries::decode_own(managed) } else { Entries::decode(managed) }
    }

    /// The type of the request's version.
    fn own_type(&self) -> Type<'_> {
        self.versions.type_of(self.request.api_version).unwrap_or(Type::DEDUCED)
    }

    /// An object as another version has it; `None` if there is no such version and that is no error.
    fn in_version<'v>(&self, object: &'v Value, to: &str) -> Result<Option<InVersion<'v, '_>>, String> {
        match self.versions.type_of(to) {
            None => match self.versions.missing(to) {
                Some(why) => Err(why),
                None => Ok(None),
            },
            Some(of) => {
                let value = self.versions.convert(object, to)?;
                // Objects in the request's version have been checked.
                if to != self.request.api_version || matches!(value, Cow::Owned(_)) {
                    validate(&value, of, false)?;
                }
                Ok(Some(InVersion { value, of }))
            }
        }
    }

    /// Owners under the schemas as they are now. `settled` says that those of the request's version are
    /// the live object's and that it is tracked.
    fn reconciled(&self, live: &Value, entries: &mut Entries, settled: bool) -> Result<(), String> {
        let mut types: HashMap<Str, Option<Type<'_>>> = HashMap::new();
        for entry in &mut entries.0 {
            if settled && entry.api_version == self.request.api_version {
                continue;
            }
            let of = match types.get(&entry.api_version) {
                Some(known) => *known,
                None => {
                    let found = self.in_version(live, &entry.api_version)?.map(|found| found.of);
                    types.insert(entry.api_version.clone(), found);
                    found
                }
            };
            if let Some(of) = of
                && let Some(fields) = reconcile(&entry.fields, of)
            {
                entry.fields = fields;
            }
        }
        Ok(())
    }

    /// Removes the changed fields from all owners but `actor`; `own` is the comparison in
    /// the request's version. Conflicts count unless the change is forced.
    fn take_over(
        &self,
        own: &Comparison,
        old: &Value,
        new: &Value,
        entries: &mut Entries,
        actor: Option<&Identity>,
        force: bool,
    ) -> Result<(), ApplyError> {
        let mut changes = vec![Some(match self.versions.reset(self.request.api_version) {
            Some(reset) if own.touches(reset) => Cow::Owned(own.without(reset)),
            _ => Cow::Borrowed(own),
        })];
        let mut conflicts = Vec::new();
        let mut change_of = Vec::with_capacity(entries.0.len());
        // Where the change in each other version is, and all that it writes, once that was needed.
        let mut known: HashMap<Str, usize> = HashMap::new();
        let mut written: HashMap<usize, Set> = HashMap::new();
        charge(2 * entries.0.len() as u64);
        for entry in &entries.0 {
            if Some(&entry.identity) == actor {
                change_of.push(None);
                continue;
            }
            let at = match known.get(&entry.api_version) {
                _ if entry.api_version == self.request.api_version => 0,
                Some(at) => *at,
                None => {
                    let change = self.change_in(&entry.api_version, old, new)?;
                    changes.push(change.map(Cow::Owned));
                    known.insert(entry.api_version.clone(), changes.len() - 1);
                    changes.len() - 1
                }
            };
            if let Some(change) = &changes[at]
                && !force
                && (entry.fields.intersects(&change.modified) || entry.fields.intersects(&change.added))
            {
                let written = written.entry(at).or_insert_with(|| change.modified.union(&change.added));
                conflicts.push((entry.identity.clone(), entry.fields.intersection(written)));
            }
            change_of.push(Some(at));
        }
        if !conflicts.is_empty() {
            return Err(ApplyError::Conflicts(Conflicts::of(conflicts)));
        }
        let mut change_of = change_of.into_iter();
        entries.0.retain_mut(|entry| {
            if let Some(at) = change_of.next().flatten() {
                let Some(change) = &changes[at] else { return false };
                for taken in [&change.modified, &change.added, &change.removed] {
                    if entry.fields.intersects(taken) {
                        entry.fields.subtract(taken);
                    }
                }
            }
            !entry.fields.is_empty()
        });
        Ok(())
    }

    /// The changes between two objects in another version; `None` if there is no such version.
    fn change_in(&self, version: &str, old: &Value, new: &Value) -> Result<Option<Comparison>, ApplyError> {
        let failed = |what: &str, error: String| {
            ApplyError::Failed(format!("failed to convert {what} object: {error}"))
        };
        let before = self.in_version(old, version).map_err(|error| failed("old", error))?;
        let after = self.in_version(new, version).map_err(|error| failed("new", error))?;
        Ok(before.zip(after).map(|(before, after)| {
            let change = compare(&before.value, &after.value, before.of);
            match self.versions.reset(version) {
                Some(reset) => change.without(reset),
                None => change,
            }
        }))
    }
}

/// An object in some version.
struct InVersion<'v, 't> {
    value: Cow<'v, Value>,
    of: Type<'t>,
}

/// The managed fields of an object.
fn managed_of(object: &Value) -> &Value {
    object.at(&["metadata", "managedFields"]).unwrap_or(&Value::Null)
}

/// Sets the managed fields of an object.
fn put_managed(object: &mut Value, managed: Value) {
    let Some(members) = object.as_object_mut() else { return };
    if !managed.is_null() && !matches!(members.get("metadata"), Some(Value::Object(_))) {
        members.insert("metadata", Map::new());
    }
    let Some(Value::Object(metadata)) = members.get_mut("metadata") else { return };
    if managed.is_null() {
        metadata.remove("managedFields");
    } else {
        metadata.insert("managedFields", managed);
    }
}

/// An object without content.
fn empty_object(request: &Request<'_>) -> Value {
    let mut object = Map::new();
    object.insert("apiVersion", request.api_version);
    object.insert("kind", request.kind);
    object.into()
}
