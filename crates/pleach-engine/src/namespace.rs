//! Namespaces: they drain before they go.
//!
//! A namespace that is deleted is marked and its phase becomes `Terminating`; when nothing is left in
//! it, `spec.finalizers` is emptied and it goes. The draining is done by [`crate::sweep`].

use pleach_json::{Map, Value};

use crate::delete::mark;
use crate::prepare::{copy_member, metadata_mut};
use crate::target::Subresource;

/// Namespaces there always are.
pub(crate) const ALWAYS: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// The label that lets selectors find a namespace by name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

fn member<'a>(object: &'a mut Value, key: &str) -> &'a mut Map {
    // A webhook may have made something else of it.
    if !matches!(object, Value::Object(_)) {
        *object = Value::object();
    }
    let Value::Object(members) = object else { unreachable!("made an object above") };
    let value = members.get_or_insert_with(key, Value::object);
    if !matches!(value, Value::Object(_)) {
        *value = Value::object();
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("made an object above"),
    }
}

/// Gives a namespace the label that selectors find it by.
pub(crate) fn label_with_name(object: &mut Value) {
    let name = metadata_mut(object).get("name").cloned().unwrap_or_default();
    if name.as_str().is_none_or(str::is_empty) {
        return;
    }
    let labels = metadata_mut(object).get_or_insert_with("labels", Value::object);
    if let Value::Object(labels) = labels {
        labels.insert(NAME_LABEL, name);
    }
}

/// A namespace whose status does not say otherwise is active.
pub(crate) fn default_phase(object: &mut Value) {
    if object.at(&["status", "phase"]).and_then(Value::as_str).is_none_or(str::is_empty) {
        member(object, "status").insert("phase", "Active");
    }
}

/// A new namespace is active and held by the finalizer of its content.
pub(crate) fn prepare_for_create(object: &mut Value) {
    label_with_name(object);
    let spec = member(object, "spec");
    let finalizers = spec.get_or_insert_with("finalizers", || Value::from(Vec::new()));
    if let Value::Array(finalizers) = finalizers
        && !finalizers.iter().any(|f| f.as_str() == Some("kubernetes"))
    {
        finalizers.push("kubernetes".into());
    }
    if let Some(members) = object.as_object_mut() {
        members.remove("status");
    }
    default_phase(object);
}

/// Only `/finalize` changes the finalizers of the content, only `/status` the status.
pub(crate) fn prepare_for_update(object: &mut Value, old: &Value, subresource: Subresource) {
    label_with_name(object);
    match subresource {
        Subresource::Status => copy_member(object, old, "spec"),
        Subresource::Finalize => copy_member(object, old, "status"),
        Subresource::None | Subresource::Scale => {
            copy_member(object, old, "spec");
            copy_member(object, old, "status");
        }
    }
}

/// Marks a namespace; it goes when it is empty.
pub(crate) fn mark_for_deletion(object: &mut Value, now: &str) {
    let held = object
        .at(&["spec", "finalizers"])
        .and_then(Value::as_array)
        .is_some_and(|finalizers| !finalizers.is_empty());
    mark(object, now);
    if held {
        metadata_mut(object).remove("deletionGracePeriodSeconds");
        member(object, "status").insert("phase", "Terminating");
    }
}
