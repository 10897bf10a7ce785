//! Metadata: owners, finalizers, labels, managers.

use pleach_go::fmt::go_v;
use pleach_go::json::Decoder;
use pleach_json::{Map, Value, json};
use pleach_meta::object_meta::{
    self, NameRule, ObjectMeta, dedup_owner_references, finalizer_warnings, validate_object_meta,
    validate_object_meta_update,
};
use pleach_meta::{Path, Status};

use crate::{BODY, Make, attack, fitting};

/// Metadata that is decoded, checked as new and as changed, and refused.
fn metadata(name: &'static str, make: impl FnOnce() -> Value + 'static) -> Make {
    Box::new(move || {
        let metadata = make();
        attack(name, BODY, move || {
            let mut decoded = metadata.clone();
            let read = object_meta::decode(&mut decoded, &mut Decoder::noting_unknown("metadata")).is_ok();
            let warning = decoded.as_object_mut().and_then(|map| dedup_owner_references(map, ""));
            let meta = ObjectMeta::new(&decoded);
            let mut errors = validate_object_meta(meta, false, NameRule::PathSegment, &Path::new("metadata"));
            let old = json!({"name": "x", "deletionTimestamp": "2020-01-01T00:00:00Z", "finalizers": (decoded.get("finalizers").cloned())});
            errors.extend(validate_object_meta_update(meta, ObjectMeta::new(&old), &Path::new("metadata")));
            let warnings = finalizer_warnings(meta, Some(ObjectMeta::new(&old)));
            let status = Status::invalid("g", "K", "x", &errors).to_value();
            (read, warning, warnings, status)
        })
    })
}

fn list(n: usize, make: impl Fn(usize) -> Value) -> Value {
    (0..n).map(make).collect::<Vec<_>>().into()
}

pub(crate) fn all() -> Vec<Make> {
    let owner = |n: usize| json!({"apiVersion": "v1", "kind": "K", "name": "x", "uid": (n.to_string())});
    vec![
        metadata(
            "metadata: different owners",
            move || json!({"name": "x", "ownerReferences": (list(fitting(70), owner))}),
        ),
        metadata(
            "metadata: owners that are there twice",
            move || json!({"name": "x", "ownerReferences": (list(fitting(70), move |n| owner(n / 2)))}),
        ),
        metadata("metadata: many controllers", || {
            let owner = |n: usize| json!({"apiVersion": "v1", "kind": "K", "name": "x", "uid": (n.to_string()), "controller": true});
            json!({"name": "x", "ownerReferences": (list(fitting(80), owner))})
        }),
        metadata(
            "metadata: empty owners",
            || json!({"name": "x", "ownerReferences": (list(fitting(3), |_| json!({})))}),
        ),
        metadata(
            "metadata: finalizers",
            || json!({"name": "x", "finalizers": (list(fitting(12), |n| format!("f{n}").into()))}),
        ),
        metadata(
            "metadata: wrong finalizers",
            || json!({"name": "x", "finalizers": (list(fitting(4), |_| "-".into()))}),
        ),
        metadata("metadata: wrong labels", || {
            let labels: Map = (0..fitting(14)).map(|n| (format!("-{n}").into(), "-".into())).collect();
            json!({"name": "x", "labels": labels})
        }),
        metadata("metadata: wrong annotations", || {
            let annotations: Map = (0..fitting(14)).map(|n| (format!("-{n}").into(), "".into())).collect();
            json!({"name": "x", "annotations": annotations})
        }),
        metadata("metadata: a long wrong name", || json!({"name": ("\u{1}".repeat(fitting(6)))})),
        metadata(
            "metadata: wrong managers",
            || json!({"name": "x", "managedFields": (list(fitting(3), |_| json!({})))}),
        ),
        metadata("metadata: managers with long names", || {
            let manager = "\u{1}".repeat(1_000);
            json!({"name": "x", "managedFields": (list(fitting(6_000), |_| json!({"manager": (manager.clone())})))})
        }),
        metadata("metadata: unknown fields", || {
            let mut metadata: Map = (0..fitting(12)).map(|n| (format!("k{n}").into(), 1.into())).collect();
            metadata.insert("name", "x");
            metadata.into()
        }),
        Box::new(|| {
            let deep = (0..9_990).fold(Value::from("x".repeat(BODY / 2)), |below, _| vec![below].into());
            attack("a deep value as Go prints it", BODY, move || go_v(&deep).len())
        }),
    ]
}
