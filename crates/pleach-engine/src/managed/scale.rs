//! Managed fields of `/scale`: the field managers of an object's replicas.
//!
//! A Scale has the field managers of its replicas only. A write through `/scale` is computed on
//! the Scale; the result is put back into the object's own entries: a manager that lost the replicas there
//! loses them here, and the one that gained them has an entry of its own under the subresource.
//!
//! Odd, and kept: an apply that would change the replicas and is not in conflict fails, because
//! upstream cannot turn what it made back into a Scale.

use pleach_apply::{
    Identity, ManagedFields, Operation, Owner, PathElement, Request, Set, Tracker, Type, Versions,
};
use pleach_crd::Scale;
use pleach_json::{Value, json};
use pleach_schema::{Schema, SchemaOptions};
use pleach_work::Constant;

use super::Manager;
use crate::kind::Kind;
use crate::prepare::metadata_mut;
use crate::rejection::Rejection;
use crate::scale;
use crate::target::Target;

const API_VERSION: &str = "autoscaling/v1";
const KIND: &str = "Scale";

/// Scales as owners see them.
pub(crate) struct Scales;

impl Versions for Scales {
    fn type_of(&self, api_version: &str) -> Option<Type<'_>> {
        (api_version == API_VERSION).then(|| Type::of(&SCALE))
    }
}

static SCALE: Constant<Schema> = Constant::new(|| {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
        "status": {"type": "object", "properties": {
            "replicas": {"type": "integer"}, "selector": {"type": "string"},
        }},
    }});
    Schema::from_value(&schema, SchemaOptions::default())
});

/// The request as the Scale sees it.
pub(crate) fn request(manager: &Manager) -> Request<'_> {
    Request {
        manager: &manager.name,
        api_version: API_VERSION,
        kind: KIND,
        subresource: "scale",
        time: &manager.time,
    }
}

/// Where the replicas are in a version; none if the version has no `/scale` or there is no such one.
fn path(kind: &Kind, api_version: &str) -> Option<Vec<PathElement>> {
    let version = kind.versions.iter().find(|version| version.api_version == api_version)?;
    let path = &version.scale.as_ref()?.spec_replicas_path;
    Some(path.strip_prefix('.').unwrap_or(path).split('.').map(PathElement::field).collect())
}

fn set(path: Vec<PathElement>) -> Set {
    let mut set = Set::new();
    set.insert(path);
    set
}

/// The Scale of an object, with its owners.
pub(crate) fn with_owners(target: &Target, paths: &Scale, object: &Value) -> Result<Value, Rejection> {
    let mut scale = scale::from_object_or(paths, object, 0)?;
    let mut owners = of(object).owners;
    owners.retain_mut(|owner| {
        let owns = path(&target.kind, &owner.api_version).is_some_and(|path| owner.fields.has(&path));
        owner.fields = Set::of_fields(&[&["spec", "replicas"]]);
        owner.api_version = API_VERSION.into();
        owns
    });
    let managed = ManagedFields { owners }.encode();
    if !managed.is_null() {
        metadata_mut(&mut scale).insert("managedFields", managed);
    }
    Ok(scale)
}

fn of(object: &Value) -> ManagedFields {
    let entries = object.at(&["metadata", "managedFields"]);
    entries.and_then(|entries| ManagedFields::decode(entries).ok()).unwrap_or_default()
}

/// Puts the owners of a Scale back into the object it is made from.
pub(crate) fn put_back(target: &Target, scale: &Value, object: &mut Value) {
    let api_version = &target.version().api_version;
    let mut of_scale = of(scale).owners;
    let mut out: Vec<Owner> = Vec::new();
    for mut owner in of(object).owners {
        if !target.kind.versions.iter().any(|version| version.api_version == owner.api_version) {
            continue;
        }
        let Some(path) = path(&target.kind, &owner.api_version).filter(|path| owner.fields.has(path)) else {
            out.push(owner);
            continue;
        };
        // Odd, and kept: upstream knows a manager that updates by its version too, which in a Scale is the Scale's. So
        // such an owner always gives the replicas up, and one that still has them gets an entry for them alone.
        let same = |other: &Owner| {
            let (a, b) = (&other.identity, &owner.identity);
            a.manager == b.manager && a.operation == b.operation && a.subresource == b.subresource
        };
        match of_scale.iter().position(same) {
            Some(at) if owner.identity.operation == Operation::Apply => {
                of_scale.remove(at);
            }
            _ => owner.fields = owner.fields.difference(&set(path)),
        }
        if !owner.fields.is_empty() {
            out.push(owner);
        }
    }
    for owner in of_scale {
        let Some(path) = path(&target.kind, api_version) else { continue };
        let identity = match owner.identity.operation {
            Operation::Apply => owner.identity,
            Operation::Update => {
                Identity::update(&owner.identity.manager, api_version, &owner.identity.subresource)
            }
        };
        // Odd, and kept: upstream loses the time.
        out.push(Owner { identity, api_version: api_version.clone(), time: None, fields: set(path) });
    }
    let metadata = metadata_mut(object);
    match (ManagedFields { owners: out }).encode() {
        Value::Null => metadata.remove("managedFields"),
        managed => metadata.insert("managedFields", managed),
    };
}

/// Tracks field managers of the replicas of `new`, which differs from `live` in them at most.
pub(crate) fn track(
    target: &Target,
    paths: &Scale,
    live: &Value,
    new: &mut Value,
    manager: &Manager,
) -> Result<(), Rejection> {
    let was = with_owners(target, paths, live)?;
    let mut is = scale::from_object_or(paths, new, 0)?;
    Tracker::new(&Scales, request(manager)).update(Some(&was), &mut is);
    put_back(target, &is, new);
    Ok(())
}
