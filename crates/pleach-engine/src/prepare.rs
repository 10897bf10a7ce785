//! What the server itself writes into an object's metadata and status before it is validated.
//!
//! Nothing here can fail: what a client may not set is put back silently, as upstream does.

use pleach_json::{Map, Str, Value};

use crate::kind::{Conversion, Kind, Strategy};
use crate::target::Subresource;

/// The metadata of an object, made if it is missing.
pub(crate) fn metadata_mut(object: &mut Value) -> &mut Map {
    if !matches!(object, Value::Object(_)) {
        *object = Value::object();
    }
    let Value::Object(members) = object else { unreachable!("made an object above") };
    let metadata = members.get_or_insert_with("metadata", Value::object);
    if !matches!(metadata, Value::Object(_)) {
        *metadata = Value::object();
    }
    match metadata {
        Value::Object(metadata) => metadata,
        _ => unreachable!("made an object above"),
    }
}

/// Metadata that is the server's at creation.
pub(crate) fn fill_system_fields(object: &mut Value, uid: Str, now: Str) {
    let metadata = metadata_mut(object);
    for key in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        metadata.remove(key);
    }
    metadata.insert("creationTimestamp", now);
    metadata.insert("uid", uid);
}

/// What upstream's decoder does to an object of a built-in kind, before anybody owns its fields.
pub(crate) fn read(kind: &Kind, object: &mut Value) {
    if kind.strategy == Strategy::Namespace {
        crate::namespace::label_with_name(object);
        crate::namespace::default_phase(object);
    }
    if kind.conversion == Conversion::Event {
        crate::builtin::events::complete(object);
    }
    crate::keyed_data::read(kind, object);
    crate::builtin::omitted::leave_out(kind, object);
}

/// The start of a created object's life.
pub(crate) fn for_create(kind: &Kind, version: usize, object: &mut Value) {
    match kind.strategy {
        Strategy::CustomResourceDefinition => crate::crd::prepare_for_create(object),
        Strategy::Custom => {
            metadata_mut(object).insert("generation", 1);
            if kind.versions[version].status
                && let Some(object) = object.as_object_mut()
            {
                object.remove("status");
            }
        }
        Strategy::Namespace => crate::namespace::prepare_for_create(object),
        Strategy::WebhookConfiguration => {
            metadata_mut(object).insert("generation", 1);
        }
        Strategy::BuiltIn => {
            crate::builtin::clean(kind, object);
            if kind.versions[version].status {
                metadata_mut(object).insert("generation", 1);
            }
        }
    }
}

/// Metadata that an update cannot change, put back from the stored object.
pub(crate) fn restore_system_fields(object: &mut Value, old: &Value) {
    let Some(old) = old.get("metadata").and_then(Value::as_object) else { return };
    let metadata = metadata_mut(object);
    metadata.remove("selfLink");
    put_back(metadata, old, "creationTimestamp");
    put_back(metadata, old, "generation");
    if metadata.get_str("uid").is_none_or(str::is_empty) {
        put_back(metadata, old, "uid");
    }
    // Once set, the time of deletion stays what it is. A grace period can only be left out.
    if old.contains_key("deletionTimestamp") {
        put_back(metadata, old, "deletionTimestamp");
        if !metadata.contains_key("deletionGracePeriodSeconds") {
            put_back(metadata, old, "deletionGracePeriodSeconds");
        }
    }
}

fn put_back(metadata: &mut Map, old: &Map, key: &str) {
    match old.get(key) {
        Some(value) => {
            metadata.insert(key, value.clone());
        }
        None => {
            metadata.remove(key);
        }
    }
}

/// What an update of one part of the object leaves as it was, and the generation.
pub(crate) fn for_update(
    kind: &Kind,
    version: usize,
    subresource: Subresource,
    object: &mut Value,
    old: &Value,
) {
    match kind.strategy {
        Strategy::CustomResourceDefinition => {
            crate::crd::prepare_for_update(object, old, subresource);
            return;
        }
        Strategy::Namespace => {
            crate::namespace::prepare_for_update(object, old, subresource);
            return;
        }
        Strategy::BuiltIn => crate::builtin::clean(kind, object),
        Strategy::Custom | Strategy::WebhookConfiguration => {}
    }
    if subresource == Subresource::Status {
        only_status(object, old);
        return;
    }
    let has_status = kind.versions[version].status;
    if has_status {
        copy_member(object, old, "status");
    }
    let counts = kind.strategy != Strategy::BuiltIn || has_status;
    if counts && differs_outside_metadata(object, old) {
        let generation = old.at(&["metadata", "generation"]).and_then(Value::as_int).unwrap_or_default();
        metadata_mut(object).insert("generation", generation.saturating_add(1));
    }
}

/// A status update takes `status` and the field managers from the request, and nothing else.
fn only_status(object: &mut Value, old: &Value) {
    let status = object.as_object_mut().and_then(|o| o.remove("status"));
    let managed = metadata_mut(object).remove("managedFields");
    // The resource version is the client's condition, checked later.
    let resource_version = metadata_mut(object).remove("resourceVersion");
    let mut merged = old.clone();
    if let Some(members) = merged.as_object_mut() {
        match status {
            Some(status) => members.insert("status", status),
            None => members.remove("status"),
        };
    }
    let metadata = metadata_mut(&mut merged);
    for (key, value) in [("managedFields", managed), ("resourceVersion", resource_version)] {
        match value {
            Some(value) => metadata.insert(key, value),
            None => metadata.remove(key),
        };
    }
    *object = merged;
}

pub(crate) fn copy_member(object: &mut Value, old: &Value, key: &str) {
    let Some(members) = object.as_object_mut() else { return };
    match old.get(key) {
        Some(value) => members.insert(key, value.clone()),
        None => members.remove(key),
    };
}

/// Whether two objects differ in anything but their metadata.
pub(crate) fn differs_outside_metadata(a: &Value, b: &Value) -> bool {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return a != b };
    let rest = |map: &Map| map.iter().filter(|(key, _)| *key != "metadata").count();
    if rest(a) != rest(b) {
        return true;
    }
    a.iter().any(|(key, value)| key != "metadata" && b.get(key) != Some(value))
}
