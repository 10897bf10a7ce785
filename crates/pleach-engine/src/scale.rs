//! `/scale`: an `autoscaling/v1` Scale made from an object's own fields.

use pleach_crd::Scale;
use pleach_json::{Map, Value};
use pleach_meta::object_meta::ObjectMeta;

use crate::rejection::Rejection;

/// The Scale of an object.
pub(crate) fn from_object(scale: &Scale, object: &Value) -> Result<Value, Rejection> {
    if scale.replicas(object).map_err(Rejection::internal)?.is_none() {
        return Err(Rejection::internal(format!(
            "the spec replicas field \"{}\" does not exist",
            scale.spec_replicas_path
        )));
    }
    from_object_or(scale, object, 0)
}

/// The Scale of an object, with a number for one that has none.
pub(crate) fn from_object_or(scale: &Scale, object: &Value, unset: i64) -> Result<Value, Rejection> {
    let replicas = scale.replicas(object).map_err(Rejection::internal)?.unwrap_or(unset);
    let status_replicas = scale.status_replicas(object).ok().flatten().unwrap_or(0);
    let selector = scale.selector(object).ok().flatten().unwrap_or_default();
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
