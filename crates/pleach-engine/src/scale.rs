//! `/scale`: an `autoscaling/v1` Scale made from an object's own fields.

use pleach_crd::Scale;
use pleach_go::json::{UnmarshalTypeError, field_type_error, value_kind};
use pleach_json::{Map, Str, Value};
use pleach_meta::object_meta::ObjectMeta;

use crate::kinds;
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
    if scale.label_selector_path.is_none()
        && let Some(selector) = object.at(&["spec", "selector"]).filter(|_| is_typed(object))
    {
        let selector = kinds::pod::selector_as_text(selector);
        return Ok(assemble(ObjectMeta::of(object), replicas, status_replicas, &selector));
    }
    let selector = scale.selector(object).ok().flatten().unwrap_or_default();
    Ok(assemble(ObjectMeta::of(object), replicas, status_replicas, selector))
}

/// Whether the type of an object is known: its selector is an object then.
fn is_typed(object: &Value) -> bool {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    kinds::type_name(text("apiVersion"), text("kind")).is_some()
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

/// Whether an object is a Scale, or why not.
pub(crate) fn check_type(scale: &Value) -> Result<(), String> {
    let text = |key: &str| scale.get(key).and_then(Value::as_str).unwrap_or_default();
    let (kind, version) = (text("kind"), text("apiVersion"));
    if (kind, version) == ("Scale", "autoscaling/v1") {
        return Ok(());
    }
    Err(format!(
        "no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\""
    ))
}

/// The replicas that a Scale asks for, or why upstream's decoder would not have it.
pub(crate) fn read_replicas(scale: &Value) -> Result<i64, String> {
    for (part, go_type) in [("metadata", "ObjectMeta"), ("spec", "ScaleSpec"), ("status", "ScaleStatus")] {
        if let Some(other) = scale.get(part).filter(|part| !matches!(part, Value::Object(_) | Value::Null)) {
            return Err(field_type_error(other, "Scale", part, &format!("v1.{go_type}")));
        }
    }
    let replicas = read_int(scale, "spec", "ScaleSpec")?;
    read_int(scale, "status", "ScaleStatus")?;
    match scale.at(&["status", "selector"]) {
        None | Some(Value::Null | Value::String(_)) => Ok(replicas),
        Some(other) => Err(field_type_error(other, "ScaleStatus", "status.selector", "string")),
    }
}

fn read_int(scale: &Value, part: &str, go_type: &str) -> Result<i64, String> {
    let found = match scale.at(&[part, "replicas"]) {
        None | Some(Value::Null) => return Ok(0),
        Some(Value::Int(replicas)) if i32::try_from(*replicas).is_ok() => return Ok(*replicas),
        Some(number @ (Value::Int(_) | Value::Float(_))) => {
            format!("number {}", pleach_json::to_string(number))
        }
        Some(other) => value_kind(other).to_owned(),
    };
    let path = format!("{part}.replicas");
    Err(UnmarshalTypeError { value: &found, field: Some((go_type, &path)), go_type: "int32" }.to_string())
}

/// A patched Scale as text: members that the patch did not change have the order of their Go
/// structs. `owned` is the Scale before, with its owners.
pub(crate) fn patched_text(patched: &Value, owned: &Value) -> String {
    const METADATA: [&str; 6] =
        ["name", "namespace", "uid", "resourceVersion", "creationTimestamp", "managedFields"];
    const OWNER: [&str; 7] =
        ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1", "subresource"];
    let owners = owned.at(&["metadata", "managedFields"]).and_then(Value::as_array).map(|owners| {
        let owners: Vec<_> = owners.iter().map(|owner| in_order(owner, &OWNER, None)).collect();
        format!("[{}]", owners.join(","))
    });
    let before = owned.get("metadata").map(|metadata| {
        let mut metadata = metadata.clone();
        metadata.as_object_mut().map(|members| members.remove("managedFields"));
        metadata
    });
    let sorted =
        |object: &Value| object.as_object().into_iter().flat_map(Map::keys).cloned().collect::<Vec<_>>();
    let metadata =
        patched.get("metadata").filter(|metadata| metadata.as_object().is_some()).map(|metadata| {
            if Some(metadata) == before.as_ref() {
                return in_order(metadata, &METADATA, owners.as_deref());
            }
            let mut keys = sorted(metadata);
            if owners.is_some() && !keys.iter().any(|key| key == "managedFields") {
                keys.push("managedFields".into());
                keys.sort();
            }
            let keys: Vec<&str> = keys.iter().map(Str::as_str).collect();
            in_order(metadata, &keys, owners.as_deref())
        });
    let members = patched.as_object().into_iter().flat_map(Map::iter).map(|(key, value)| match &metadata {
        Some(metadata) if key == "metadata" => format!("\"metadata\":{metadata}"),
        _ => format!("\"{key}\":{}", pleach_json::to_string(value)),
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// Some members of an object as text; `owners` are its managed fields.
fn in_order(object: &Value, keys: &[&str], owners: Option<&str>) -> String {
    let members = keys.iter().filter_map(|key| match owners {
        Some(owners) if *key == "managedFields" => Some(format!("\"managedFields\":{owners}")),
        _ => object.get(key).map(|value| format!("\"{key}\":{}", pleach_json::to_string(value))),
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn a_scale_is_read_as_its_go_struct() {
        for (scale, want) in [
            (json!({}), Ok(0)),
            (json!({"spec": null}), Ok(0)),
            (json!({"spec": {"replicas": 3}}), Ok(3)),
            (
                json!({"spec": {"replicas": 1.5}}),
                Err("number 1.5 into Go struct field ScaleSpec.spec.replicas of type int32"),
            ),
            (
                json!({"spec": {"replicas": "x"}}),
                Err("string into Go struct field ScaleSpec.spec.replicas of type int32"),
            ),
            (json!({"spec": "q"}), Err("string into Go struct field Scale.spec of type v1.ScaleSpec")),
            (
                json!({"status": {"replicas": "y"}}),
                Err("string into Go struct field ScaleStatus.status.replicas of type int32"),
            ),
            (json!({"metadata": 5}), Err("number into Go struct field Scale.metadata of type v1.ObjectMeta")),
        ] {
            let want = want.map_err(|rest| format!("json: cannot unmarshal {rest}"));
            assert_eq!(read_replicas(&scale), want, "{scale:?}");
        }
    }

    #[test]
    fn unpatched_members_have_the_order_of_the_go_struct() {
        let owner = json!({"apiVersion": "autoscaling/v1", "manager": "m", "operation": "Update"});
        let owned = json!({"metadata": {"name": "a", "uid": "u", "managedFields": [owner]}});
        let owners = r#"[{"manager":"m","operation":"Update","apiVersion":"autoscaling/v1"}]"#;
        let patched =
            json!({"kind": "Scale", "metadata": {"name": "a", "uid": "u"}, "spec": {"replicas": "x"}});
        assert_eq!(
            patched_text(&patched, &owned),
            format!(
                r#"{{"kind":"Scale","metadata":{{"name":"a","uid":"u","managedFields":{owners}}},"spec":{{"replicas":"x"}}}}"#
            )
        );
        let patched = json!({"metadata": {"labels": {}, "name": "a", "uid": "u"}});
        assert_eq!(
            patched_text(&patched, &owned),
            format!(r#"{{"metadata":{{"labels":{{}},"managedFields":{owners},"name":"a","uid":"u"}}}}"#)
        );
        assert_eq!(patched_text(&json!({"metadata": 5}), &owned), r#"{"metadata":5}"#);
    }
}
