//! `/scale`: an `autoscaling/v1` Scale made from, and written back to, an object's own fields.
//!
//! The paths of a CRD's scale subresource are split at dots whatever else is in them, as upstream
//! does.

use pleach_json::{Map, Value};
use pleach_meta::FieldError;
use pleach_meta::object_meta::ObjectMeta;

use crate::decode::{go_type, go_v};
use crate::kind::{KindVersion, Scale};
use crate::rejection::Rejection;

/// The keys of a path.
fn keys(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('.').unwrap_or(path).split('.')
}

fn lookup<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    keys(path).try_fold(object, |value, key| value.get(key))
}

/// The replicas an object asks for, if it says.
pub(crate) fn replicas(scale: &Scale, object: &Value) -> Option<i64> {
    lookup(object, &scale.spec_replicas_path).and_then(Value::as_int)
}

/// The Scale of an object.
pub(crate) fn from_object(scale: &Scale, object: &Value) -> Result<Value, Rejection> {
    if lookup(object, &scale.spec_replicas_path).is_none() {
        return Err(Rejection::internal(format!(
            "the spec replicas field \"{}\" does not exist",
            scale.spec_replicas_path
        )));
    }
    from_object_or(scale, object, 0)
}

/// The Scale of an object, with a number for one that has none.
pub(crate) fn from_object_or(scale: &Scale, object: &Value, unset: i64) -> Result<Value, Rejection> {
    let replicas = match lookup(object, &scale.spec_replicas_path) {
        None => unset,
        Some(Value::Int(replicas)) => *replicas,
        Some(other) => {
            return Err(Rejection::internal(accessor_error(&scale.spec_replicas_path, other, "int64")));
        }
    };
    let status_replicas = lookup(object, &scale.status_replicas_path).and_then(Value::as_int).unwrap_or(0);
    let selector = scale
        .label_selector_path
        .as_ref()
        .and_then(|path| lookup(object, path))
        .and_then(Value::as_str)
        .unwrap_or_default();
    Ok(assemble(ObjectMeta::of(object), replicas, status_replicas, selector))
}

fn assemble(meta: ObjectMeta<'_>, replicas: i64, status_replicas: i64, selector: &str) -> Value {
    let mut metadata = Map::new();
    for key in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = meta.get(key) {
            metadata.insert(key, value.clone());
        }
    }
    let mut spec = Map::new();
    if replicas != 0 {
        spec.insert("replicas", replicas);
    }
    let mut status = Map::new();
    status.insert("replicas", status_replicas);
    if !selector.is_empty() {
        status.insert("selector", selector);
    }
    let mut out = Map::new();
    out.insert("apiVersion", "autoscaling/v1");
    out.insert("kind", "Scale");
    out.insert("metadata", metadata);
    out.insert("spec", spec);
    out.insert("status", status);
    out.into()
}

/// Writes the replicas of a Scale into an object.
pub(crate) fn into_object(scale: &Scale, object: &mut Value, replicas: i64) {
    let mut at = object;
    for key in keys(&scale.spec_replicas_path) {
        if !matches!(at, Value::Object(_)) {
            *at = Value::object();
        }
        let Value::Object(members) = at else { unreachable!("made an object above") };
        at = members.get_or_insert_with(key, Value::object);
    }
    *at = Value::Int(replicas);
}

/// What a kind with `/scale` demands of its objects.
pub(crate) fn validate(version: &KindVersion, object: &Value, only_status: bool) -> Vec<FieldError> {
    let Some(scale) = &version.scale else { return Vec::new() };
    let mut errors = Vec::new();
    if !only_status {
        errors.extend(check_replicas(object, &scale.spec_replicas_path));
    }
    errors.extend(check_replicas(object, &scale.status_replicas_path));
    if let Some(path) = &scale.label_selector_path
        && let Some(other) = lookup(object, path)
        && other.as_str().is_none()
    {
        errors.push(FieldError::invalid(path, other.clone(), accessor_error(path, other, "string")));
    }
    errors
}

fn check_replicas(object: &Value, path: &str) -> Option<FieldError> {
    match lookup(object, path)? {
        Value::Int(replicas) if *replicas < 0 => {
            Some(FieldError::invalid(path, *replicas, "should be a non-negative integer"))
        }
        Value::Int(replicas) if *replicas > i64::from(i32::MAX) => {
            Some(FieldError::invalid(path, *replicas, "should be less than or equal to 2147483647"))
        }
        Value::Int(_) => None,
        other => Some(FieldError::invalid(path, other.clone(), accessor_error(path, other, "int64"))),
    }
}

fn accessor_error(path: &str, found: &Value, wanted: &str) -> String {
    format!("{path} accessor error: {} is of the type {}, expected {wanted}", go_v(found), go_type(found))
}
