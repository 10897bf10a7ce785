//! What a write does to an object's owners, and an apply to the object.
//!
//! A [`Tracker`] is made for one request: a kind with its versions and the fields its endpoint leaves
//! alone, the version and subresource asked for. Updates always win, and whoever updates owns
//! what it changed. An apply owns what it says, fails where others own what it would change unless it
//! is forced, and takes away what it said last time and nobody owns any more.
//!
//! Owners in other versions are compared in theirs. The object's content is the same in all versions
//! of a custom resource, so converting is a matter of types; [`Versions::convert`] is for kinds where
//! it is not.

mod apply;
mod cap;
mod last_applied;
mod update;

use std::borrow::Cow;
use std::sync::LazyLock;

use pleach_json::{Map, Str, Value};

pub use self::apply::Applied;
use crate::compare::{Comparison, compare};
use crate::conflict::Conflicts;
use crate::managed_fields::{Identity, ManagedFields, Owner};
use crate::reconcile::reconcile;
use crate::set::Set;
use crate::shape::Type;
use crate::validate::validate;

/// What is never owned.
static STRIPPED: LazyLock<Set> = LazyLock::new(|| {
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

    /// Why objects cannot be had in a version there is not. Without a reason owners in such a version
    /// are forgotten; with one nothing can be worked out at all.
    fn missing(&self, _api_version: &str) -> Option<String> {
        None
    }
}

/// Who writes what, and when.
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
}

impl<'a> Tracker<'a> {
    /// A tracker for one request.
    pub fn new(versions: &'a dyn Versions, request: Request<'a>) -> Self {
        Self { versions, request }
    }

    fn filtered(&self, fields: Set, api_version: &str) -> Set {
        match self.versions.reset(api_version) {
            Some(reset) => fields.recursive_difference(reset),
            None => fields,
        }
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
            Some(of) if to == self.request.api_version => {
                Ok(Some(InVersion { value: Cow::Borrowed(object), of }))
            }
            Some(of) => {
                let value = self.versions.convert(object, to)?;
                validate(&value, of, false)?;
                Ok(Some(InVersion { value, of }))
            }
        }
    }

    /// Owners under the schemas as they are now.
    fn reconciled(&self, live: &Value, managed: &mut ManagedFields) -> Result<(), String> {
        let mut last: Option<(Str, Option<Type<'_>>)> = None;
        for owner in &mut managed.owners {
            if last.as_ref().is_none_or(|(version, _)| *version != owner.api_version) {
                let found = self.in_version(live, &owner.api_version)?.map(|found| found.of);
                last = Some((owner.api_version.clone(), found));
            }
            if let Some((_, Some(of))) = &last
                && let Some(fields) = reconcile(&owner.fields, *of)
            {
                owner.fields = fields;
            }
        }
        Ok(())
    }

    /// Takes from all owners but `actor` what changes between two objects. The comparison in the
    /// request's version comes back. Conflicts count unless the change is forced.
    fn take_over(
        &self,
        old: &Value,
        new: &Value,
        managed: &mut ManagedFields,
        actor: Option<&Identity>,
        force: bool,
    ) -> Result<Comparison, ApplyError> {
        let failed = |what: &str, error: String| {
            ApplyError::Failed(format!("failed to convert {what} object: {error}"))
        };
        let own = compare(old, new, self.own_type());
        let mut by_version: Vec<(Str, Option<Change>)> = vec![(
            self.request.api_version.into(),
            Some(Change::of(match self.versions.reset(self.request.api_version) {
                Some(reset) => Cow::Owned(own.without(reset)),
                None => Cow::Borrowed(&own),
            })),
        )];
        let mut conflicts = Vec::new();
        let mut changes = Vec::with_capacity(managed.owners.len());
        for owner in &managed.owners {
            if Some(&owner.identity) == actor {
                changes.push(None);
                continue;
            }
            let at = match by_version.iter().position(|(version, _)| *version == owner.api_version) {
                Some(at) => at,
                None => {
                    let version = &owner.api_version;
                    let before = self.in_version(old, version).map_err(|e| failed("old", e))?;
                    let after = self.in_version(new, version).map_err(|e| failed("new", e))?;
                    let change = before.zip(after).map(|(before, after)| {
                        let change = compare(&before.value, &after.value, before.of);
                        Change::of(match self.versions.reset(version) {
                            Some(reset) => Cow::Owned(change.without(reset)),
                            None => Cow::Owned(change),
                        })
                    });
                    by_version.push((version.clone(), change));
                    by_version.len() - 1
                }
            };
            if let Some(change) = &by_version[at].1
                && !force
                && owner.fields.intersects(&change.written)
            {
                conflicts.push((owner.identity.clone(), owner.fields.intersection(&change.written)));
            }
            changes.push(Some(at));
        }
        if !conflicts.is_empty() {
            return Err(ApplyError::Conflicts(Conflicts::of(conflicts)));
        }
        let mut at = 0;
        managed.owners.retain_mut(|owner| {
            let change = changes[at];
            at += 1;
            let Some(version) = change else { return !owner.fields.is_empty() };
            let Some(change) = &by_version[version].1 else { return false };
            for taken in [&change.written, &change.removed] {
                if owner.fields.intersects(taken) {
                    owner.fields = owner.fields.difference(taken);
                }
            }
            !owner.fields.is_empty()
        });
        Ok(own)
    }
}

/// An object in some version.
struct InVersion<'v, 't> {
    value: Cow<'v, Value>,
    of: Type<'t>,
}

/// What a comparison means to owners.
struct Change {
    written: Set,
    removed: Set,
}

impl Change {
    fn of(comparison: Cow<'_, Comparison>) -> Self {
        let written = comparison.modified.union(&comparison.added);
        Self { written, removed: comparison.removed.clone() }
    }
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

/// What an object without content is.
fn empty_object(request: &Request<'_>) -> Value {
    let mut object = Map::new();
    object.insert("apiVersion", request.api_version);
    object.insert("kind", request.kind);
    object.into()
}

/// Gives fields to an owner that may have some already.
fn give(managed: &mut ManagedFields, identity: Identity, api_version: &str, fields: Set, time: &str) {
    let time = Some(time.into());
    match managed.position(&identity) {
        Some(at) => {
            let owner = &mut managed.owners[at];
            owner.fields = fields.union(&owner.fields);
            owner.time = time;
        }
        None => managed.owners.push(Owner { identity, api_version: api_version.into(), time, fields }),
    }
}
