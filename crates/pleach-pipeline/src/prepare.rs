//! Preparing: the fields that the server sets before an object is validated.
//!
//! Nothing here can fail: fields that a client may not set are restored silently, as upstream does.

use pleach_json::{Map, Str, Value};

use crate::resource::{Resource, Subresource};
use crate::typed::Typed;
use crate::validate::Old;

/// The metadata of an object, made if it is missing.
pub fn metadata_mut(object: &mut Value) -> &mut Map {
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

/// Removes metadata that only the server sets.
pub fn remove_system_fields(object: &mut Value) {
    let metadata = metadata_mut(object);
    for key in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        metadata.remove(key);
    }
}

/// `FillObjectMetaSystemFields`: metadata that the server sets at creation.
pub fn fill_system_fields(object: &mut Value, uid: Str, now: Str) {
    remove_system_fields(object);
    let metadata = metadata_mut(object);
    metadata.insert("creationTimestamp", now);
    metadata.insert("uid", uid);
}

/// Prepares a new object, as its strategy does.
pub fn for_create(resource: Resource<'_>, object: &mut Value, typed: &mut Typed) {
    resource.kind.strategy.prepare_for_create(resource, object, typed);
}

/// Prepares an object that replaces `old`, as its strategy does.
pub fn for_update(resource: Resource<'_>, object: &mut Value, typed: &mut Typed, old: Old<'_>) {
    resource.kind.strategy.prepare_for_update(resource, object, typed, old);
}

/// A new object has its first generation, and no status if there is `/status`.
pub(crate) fn default_for_create(counts_generations: bool, resource: Resource<'_>, object: &mut Value) {
    if counts_generations {
        metadata_mut(object).insert("generation", 1);
    }
    if resource.version().status
        && let Some(object) = object.as_object_mut()
    {
        object.remove("status");
    }
}

/// Metadata that an update cannot change, put back from the stored object.
pub fn restore_system_fields(object: &mut Value, old: &Value) {
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

/// An update of the status changes nothing else, and any other update does not change the status.
pub(crate) fn default_for_update(
    counts_generations: bool,
    resource: Resource<'_>,
    object: &mut Value,
    old: &Value,
) {
    if resource.subresource == Subresource::Status {
        only_status(object, old);
        return;
    }
    if resource.version().status {
        copy_member(object, old, "status");
    }
    if counts_generations && differs_outside_metadata(object, old) {
        let generation = old.at(&["metadata", "generation"]).and_then(Value::as_int).unwrap_or_default();
        metadata_mut(object).insert("generation", generation.saturating_add(1));
    }
}

/// Marks an object for deletion; one that is marked stays as it is.
pub fn mark_for_deletion(object: &mut Value, now: &str) {
    let metadata = metadata_mut(object);
    if !metadata.contains_key("deletionTimestamp") {
        metadata.insert("deletionTimestamp", now);
        if let Some(Value::Int(generation)) = metadata.get_mut("generation") {
            *generation = generation.saturating_add(1);
        }
    }
    metadata.insert("deletionGracePeriodSeconds", 0);
}

/// Takes `status` and `managedFields` from the request, and the rest from the old object.
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

/// Takes a member from the old object.
pub(crate) fn copy_member(object: &mut Value, old: &Value, key: &str) {
    let Some(members) = object.as_object_mut() else { return };
    match old.get(key) {
        Some(value) => members.insert(key, value.clone()),
        None => members.remove(key),
    };
}

/// Whether two objects differ in anything but their metadata.
fn differs_outside_metadata(a: &Value, b: &Value) -> bool {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return a != b };
    let rest = |map: &Map| map.iter().filter(|(key, _)| *key != "metadata").count();
    if rest(a) != rest(b) {
        return true;
    }
    a.iter().any(|(key, value)| key != "metadata" && b.get(key) != Some(value))
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::kinds::tests::custom;

    #[test]
    fn updates_change_the_spec_or_the_status() {
        let kind = custom(json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}));
        let old = json!({"metadata": {"name": "a", "generation": 3}, "spec": {"a": 1}, "status": {"s": 1}});
        let new = json!({"metadata": {"name": "a", "generation": 3, "labels": {}}, "spec": {"a": 2}, "status": {"s": 2}});
        for (subresource, want) in [
            (
                Subresource::None,
                json!({"metadata": {"name": "a", "generation": 4, "labels": {}}, "spec": {"a": 2}, "status": {"s": 1}}),
            ),
            (
                Subresource::Status,
                json!({"metadata": {"name": "a", "generation": 3}, "spec": {"a": 1}, "status": {"s": 2}}),
            ),
        ] {
            let mut object = new.clone();
            let resource = Resource { kind: &kind, version: 0, subresource };
            for_update(resource, &mut object, &mut Typed::default(), Old::new(&old));
            assert_eq!(object, want, "{subresource:?}");
        }
        let mut object = new;
        for_create(Resource::new(&kind, 0), &mut object, &mut Typed::default());
        assert_eq!(
            object,
            json!({"metadata": {"name": "a", "generation": 1, "labels": {}}, "spec": {"a": 2}})
        );
    }

    #[test]
    fn an_update_keeps_system_fields() {
        let old = json!({"metadata": {"name": "a", "uid": "u", "creationTimestamp": "t", "deletionTimestamp": "d"}});
        let mut object = json!({"metadata": {"name": "a", "creationTimestamp": "x", "selfLink": "/"}});
        restore_system_fields(&mut object, &old);
        assert_eq!(object, old);
    }
}
