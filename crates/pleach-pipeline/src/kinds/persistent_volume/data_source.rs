//! The object that a claim is filled from, in two fields that follow each other.

use pleach_json::{Map, Value};
use pleach_meta::FieldError;
use pleach_meta::field_error::BadValue;

use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::text;

/// Removes sources that a new claim cannot have: those in other namespaces, and in the older field all but claims and
/// snapshots.
pub(super) fn drop_unknown(spec: &mut Map, was: &Value) {
    let elsewhere = |source: &Value| !text(source, "namespace").is_empty();
    if spec.get("dataSourceRef").is_some_and(elsewhere) && !was.get("dataSourceRef").is_some_and(elsewhere) {
        spec.remove("dataSourceRef");
    }
    let is_known = |source: &Value| {
        matches!(
            (text(source, "apiGroup"), text(source, "kind")),
            ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
        )
    };
    if was.get("dataSource").is_none()
        && !spec.contains_key("dataSourceRef")
        && spec.get("dataSource").is_some_and(|source| !is_known(source))
    {
        spec.remove("dataSource");
    }
}

/// Two fields for the source of a claim follow each other.
pub(super) fn mirror(spec: &mut Map) {
    match (spec.get("dataSource").cloned(), spec.get("dataSourceRef").cloned()) {
        (Some(source), None) => {
            let mut reference = source;
            if let Some(members) = reference.as_object_mut() {
                members.get_or_insert_with("apiGroup", Value::default);
            }
            spec.insert("dataSourceRef", reference);
        }
        (None, Some(mut reference)) if text(&reference, "namespace").is_empty() => {
            if let Some(members) = reference.as_object_mut() {
                members.remove("namespace");
            }
            spec.insert("dataSource", reference);
        }
        _ => {}
    }
}

/// The object that a claim is filled from.
fn data_source(source: &Value, path: &str, checks_group: bool, errors: &mut Errors) {
    let (kind, group) = (text(source, "kind"), text(source, "apiGroup"));
    for field in ["name", "kind"] {
        if text(source, field).is_empty() {
            errors.push(FieldError::required(format!("{path}.{field}"), ""));
        }
    }
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.push(FieldError::invalid(path, kind, why));
    }
    if !group.is_empty() && checks_group {
        checks::dns_subdomain(group, &format!("{path}.apiGroup"), errors);
    }
    let namespace = text(source, "namespace");
    if !namespace.is_empty() {
        checks::dns_label(namespace, &format!("{path}.namespace"), errors);
    }
}

/// Both fields that name the object a claim is filled from.
pub(super) fn validate(spec: &Value, path: &str, checks_group: bool, errors: &mut Errors) {
    let (source, reference) = (spec.get("dataSource"), spec.get("dataSourceRef"));
    for (field, source) in [("dataSource", source), ("dataSourceRef", reference)] {
        if let Some(source) = source {
            data_source(source, &format!("{path}.{field}"), checks_group, errors);
        }
    }
    let (Some(source), Some(reference)) = (source, reference) else { return };
    let same = ["apiGroup", "kind", "name"].iter().all(|field| {
        source.get(field).filter(|value| !value.is_null())
            == reference.get(field).filter(|value| !value.is_null())
    });
    let why = if !text(reference, "namespace").is_empty() {
        "may not be specified when dataSourceRef.namespace is specified"
    } else if same {
        return;
    } else {
        "must match dataSourceRef"
    };
    // The value of these errors is a path upstream, which has no public fields.
    errors.push(FieldError::invalid(path, BadValue::Raw("{}".into()), why));
}
