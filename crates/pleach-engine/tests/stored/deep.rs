//! Objects that are nested deep.

use pleach_engine::limits::MAX_NESTING;
use pleach_engine::options::Freshness;
use pleach_engine::shape::{self, IncludeObject};
use pleach_json::{Map, parse};

use super::*;

/// A value of so many levels: objects and arrays in turn, or objects only.
fn nested(levels: usize, arrays: bool) -> Value {
    (0..levels).fold(Value::Int(1), |inner, level| {
        if arrays && level % 2 == 0 { vec![inner].into() } else { json!({"a": (inner)}) }
    })
}

/// An object of so many levels.
fn deep(name: &str, levels: usize, arrays: bool) -> Value {
    foo(name, nested(levels - 2, arrays))
}

const TOO_DEEP: &str =
    "Request entity too large: the object is nested more than 9900 levels deep, which cannot be stored";

#[tokio::test]
async fn objects_are_refused_or_can_be_read_changed_and_deleted() {
    let fixture = Fixture::new().await;
    for (arrays, some) in
        [(true, &[MAX_NESTING, MAX_NESTING + 1][..]), (false, &[100, MAX_NESTING, 9_995, 9_997, 10_000])]
    {
        for &levels in some {
            let name = format!("deep-{levels}");
            let object = deep(&name, levels, arrays);
            let options = WriteOptions { dry_run: true, ..WriteOptions::default() };
            let (target, context) = (fixture.target(FOOS, None), &mut Context::default());
            let dry = fixture.engine.create(&target, &body(&object), &options, context).await.map(drop);
            let created = fixture.create(FOOS, &object).await.map(drop);
            if levels > MAX_NESTING {
                for refused in [dry, created] {
                    assert_eq!(
                        code_and_message(refused.unwrap_err()),
                        (413, TOO_DEEP.to_owned()),
                        "{levels}"
                    );
                }
                assert!(!fixture.is_stored(&name).await, "{levels}");
                continue;
            }
            dry.unwrap();
            created.unwrap();
            check_reads(&fixture, &name).await;
            check_changes(&fixture, &name).await;
            fixture.delete_held(&name).await;
        }
    }
}

/// Every form of an object is JSON that clients can read.
async fn check_reads(fixture: &Fixture, name: &str) {
    for version in [0, 1] {
        let target = Target { version, ..fixture.target(FOOS, Some(name)) };
        let value = fixture.engine.get(&target, Freshness::Latest).await.unwrap().into_value().unwrap();
        let include = IncludeObject::Object;
        let row = shape::row(&target.kind, target.version(), &value, include, "meta.k8s.io/v1", 0);
        let columns = shape::column_definitions(&target.kind, target.version());
        for form in [
            shape::table(columns, vec![row], "meta.k8s.io/v1", Map::new()),
            json!({"items": [(shape::partial(&value, "meta.k8s.io/v1"))]}),
            json!({"type": "ADDED", "object": (value.clone())}),
            json!({"request": {"objects": [(value.clone())]}}),
        ] {
            assert!(parse(&to_vec(&form)).is_ok());
        }
    }
    assert_eq!(fixture.list(FOOS).await.unwrap().len(), 1);
}

async fn check_changes(fixture: &Fixture, name: &str) {
    let merge = json!({"metadata": {"labels": {"a": "b"}}});
    fixture.patch(name, PatchType::Merge, &merge).await.unwrap();
    let replace = json!([{"op": "replace", "path": "/spec/n", "value": 7}]);
    fixture.patch(name, PatchType::Json, &replace).await.unwrap();
    let apply =
        json!({"apiVersion": "g.io/v1", "kind": "Foo", "metadata": {"name": (name)}, "spec": {"m": 1}});
    fixture.patch(name, PatchType::Apply, &apply).await.unwrap();
    // What was read is sent back with a change, and by another manager that owns all of it.
    let mut read = fixture.get(FOOS, name).await.unwrap();
    read.get_mut("spec").and_then(Value::as_object_mut).unwrap().insert("n", 8);
    let target = fixture.target(FOOS, Some(name));
    let options = WriteOptions { field_manager: "other".into(), ..WriteOptions::default() };
    fixture.engine.update(&target, &body(&read), &options, &mut Context::default()).await.unwrap();
    let metadata = read.get_mut("metadata").and_then(Value::as_object_mut).unwrap();
    metadata.insert("name", "copy");
    fixture.patch("copy", PatchType::Apply, &without_managed_fields(&read)).await.unwrap();
    fixture.delete_held("copy").await;
}

fn without_managed_fields(object: &Value) -> Value {
    let mut object = object.clone();
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut).unwrap();
    metadata.retain(|key, _| ["name", "finalizers", "namespace"].contains(&key.as_str()));
    object
}

#[tokio::test]
async fn no_write_gets_past_the_limit() {
    let fixture = Fixture::new().await;
    fixture.create(FOOS, &deep("a", MAX_NESTING, true)).await.unwrap();
    fixture.create(FOOS, &deep("b", 6_000, true)).await.unwrap();
    let copy = |from: &str, to: &str| json!([{"op": "copy", "from": (from), "path": (to)}]);
    let path = "/spec/any".to_owned() + &"/a/0".repeat(2_500);
    for (name, how, patch, why) in [
        ("a", PatchType::Json, copy("/spec", "/spec/again"), "one level more"),
        ("b", PatchType::Merge, json!({"spec": {"any": (nested(MAX_NESTING, true))}}), "a merge patch"),
        ("b", PatchType::Apply, deep("b", MAX_NESTING + 1, false), "an apply"),
        ("new", PatchType::Apply, deep("new", MAX_NESTING + 1, false), "an apply that creates"),
    ] {
        let refused = fixture.patch(name, how, &patch).await.map(drop).unwrap_err();
        assert_eq!(code_and_message(refused), (413, TOO_DEEP.to_owned()), "{why}");
    }
    assert!(!fixture.is_stored("new").await);
    // Beyond what JSON may be the patch does not apply at all.
    let twice = copy("/spec/any", &format!("{path}/more"));
    let refused = fixture.patch("b", PatchType::Json, &twice).await.map(drop).unwrap_err();
    assert_eq!(code_and_message(refused).0, 422);
    for name in ["a", "b"] {
        fixture.delete_held(name).await;
    }
}

#[tokio::test]
async fn nesting_errors_are_those_of_kube_apiserver() {
    let fixture = Fixture::new().await;
    let refused = fixture.create(FOOS, &deep("a", 10_001, true)).await.map(drop).unwrap_err();
    let (code, message) = code_and_message(refused);
    assert_eq!(code, 400);
    assert!(message.contains("exceeded max depth"), "{message}");
}

#[tokio::test]
async fn defaults_of_definitions_are_within_the_limit_too() {
    let fixture = Fixture::new().await;
    let crd = |levels: usize| {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "bars.g.io"},
            "spec": {"group": "g.io", "scope": "Namespaced", "names": {"plural": "bars", "kind": "Bar"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": {"type": "object", "default": {}, "properties": {
                        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                            "default": (nested(levels, false))}}}}}}}]}})
    };
    let refused = fixture.create(CRDS, &crd(MAX_NESTING - 9)).await.map(drop).unwrap_err();
    assert_eq!(code_and_message(refused).0, 413);
    fixture.create(CRDS, &crd(MAX_NESTING - 10)).await.unwrap();
    let bar =
        json!({"apiVersion": "g.io/v1", "kind": "Bar", "metadata": {"name": "a", "finalizers": ["g.io/x"]}});
    fixture.create(("g.io", "bars"), &bar).await.unwrap();
    fixture.get(("g.io", "bars"), "a").await.unwrap();
    fixture.delete(("g.io", "bars"), "a", &DeleteOptions::default()).await.unwrap();
}

#[tokio::test]
async fn keys_of_lists_may_be_anything() {
    let fixture = Fixture::new().await;
    let items = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
        "properties": {"name": {"x-kubernetes-preserve-unknown-fields": true}}});
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "bars.g.io"},
        "spec": {"group": "g.io", "scope": "Namespaced", "names": {"plural": "bars", "kind": "Bar"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {
                    "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
                    "list": {"type": "array", "items": (items)}}}}}]}});
    fixture.create(CRDS, &crd).await.unwrap();
    let target = fixture.target(("g.io", "bars"), Some("a"));
    let options = WriteOptions { field_manager: "m".into(), ..WriteOptions::default() };
    let metadata = json!({"name": "a", "creationTimestamp": null});
    for (members, why) in [
        (json!({"set": [(nested(9_000, true)), (nested(9_000, true))]}), "deep items of a set"),
        (json!({"set": ["a}$\n", "<é>"]}), "items that are written with escapes"),
        (json!({"list": [{"name": (nested(9_000, false))}]}), "a deep member"),
    ] {
        let mut object = json!({"apiVersion": "g.io/v1", "kind": "Bar", "metadata": (metadata.clone())});
        for (key, value) in members.as_object().unwrap().iter() {
            object.as_object_mut().unwrap().insert(key.clone(), value.clone());
        }
        // Said again, and then said otherwise: what was said last is remembered. None of it may panic.
        for again in [object.clone(), object.clone(), json!({"apiVersion": "g.io/v1", "kind": "Bar"}), object]
        {
            let applied =
                fixture.engine.apply(&target, &body(&again), &options, &mut Context::default()).await;
            let code = applied.map(drop).map_or_else(|rejection| code_and_message(rejection).0, |()| 200);
            assert!([200, 400, 422, 500].contains(&code), "{why}: {code}");
        }
    }
}
