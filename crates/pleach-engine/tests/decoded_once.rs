//! A CRD is decoded once per write: its typed form travels through the stages and is there for the next write.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::sync::Arc;

use pleach_crd::decode::decoded_on_this_thread;
use pleach_engine::options::{Body, Context, Format, PatchType, WriteOptions};
use pleach_engine::target::{Subresource, Target};
use pleach_engine::{Engine, deterministic};
use pleach_json::{Value, json, to_vec};
use pleach_store::ModelStore;

const NAME: &str = "foos.example.com";

fn crd(resource_version: &str, properties: Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME, "resourceVersion": (resource_version)},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": (properties)}}}],
        }
    })
}

async fn engine() -> Engine {
    let engine = deterministic::engine(Arc::new(ModelStore::default()));
    engine.start().await.expect("it starts on an empty store");
    engine
}

fn target(engine: &Engine, name: Option<&str>, subresource: Subresource) -> Target {
    let kind =
        engine.catalog().get("apiextensions.k8s.io", "customresourcedefinitions").expect("a built-in kind");
    Target { kind, version: 0, namespace: None, name: name.map(Into::into), subresource }
}

fn body(object: &Value) -> Body {
    Body { bytes: to_vec(object).into(), format: Format::Json }
}

#[tokio::test]
async fn each_write_of_a_crd_decodes_it_once() {
    let engine = engine().await;
    let (options, mut context) = (WriteOptions::default(), Context::default());
    let mut before = decoded_on_this_thread();
    let mut decoded = || {
        let now = decoded_on_this_thread();
        std::mem::replace(&mut before, now).abs_diff(now)
    };
    let new = target(&engine, None, Subresource::None);
    engine.create(&new, &body(&crd("", json!({}))), &options, &mut context).await.unwrap();
    assert_eq!(decoded(), 1, "create");
    let one = target(&engine, Some(NAME), Subresource::None);
    let live =
        engine.get(&one, pleach_engine::options::Freshness::Latest).await.unwrap().into_value().unwrap();
    let version = live.at(&["metadata", "resourceVersion"]).and_then(Value::as_str).unwrap();
    let changed = crd(version, json!({"spec": {"type": "object"}}));
    engine.update(&one, &body(&changed), &options, &mut context).await.unwrap();
    assert_eq!(decoded(), 1, "update");
    let patch = json!({"metadata": {"labels": {"a": "b"}}});
    engine.patch(&one, PatchType::Merge, &body(&patch), &options, &mut context).await.unwrap();
    assert_eq!(decoded(), 1, "patch");
    let status = target(&engine, Some(NAME), Subresource::Status);
    let patch = json!({"status": {"storedVersions": ["v1"]}});
    engine.patch(&status, PatchType::Merge, &body(&patch), &options, &mut context).await.unwrap();
    assert_eq!(decoded(), 1, "status");
    assert_eq!(engine.catalog().get("example.com", "foos").unwrap().versions.len(), 1);
}

#[tokio::test]
async fn each_write_of_a_crd_in_another_version_decodes_it_once() {
    let engine = engine().await;
    let (options, mut context) = (WriteOptions::default(), Context::default());
    let beta = |name| {
        let mut target = target(&engine, name, Subresource::None);
        target.version = target.kind.version("v1beta1").expect("CRDs are in v1beta1, too");
        target
    };
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition",
        "metadata": {"name": NAME},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
            "version": "v1", "preserveUnknownFields": false,
            "validation": {"openAPIV3Schema": {"type": "object"}},
        }
    });
    let before = decoded_on_this_thread();
    engine.create(&beta(None), &body(&crd), &options, &mut context).await.unwrap();
    assert_eq!(decoded_on_this_thread() - before, 1, "create");
    let before = decoded_on_this_thread();
    let patch = json!({"metadata": {"labels": {"a": "b"}}});
    engine.patch(&beta(Some(NAME)), PatchType::Merge, &body(&patch), &options, &mut context).await.unwrap();
    assert_eq!(decoded_on_this_thread() - before, 1, "patch");
}

#[tokio::test]
async fn validation_sees_fields_that_encoding_would_lose() {
    let engine = engine().await;
    for (spec, want) in [
        (
            json!({"type": "object", "dependencies": {}}),
            "dependencies: Forbidden: dependencies is not supported",
        ),
        (
            json!({
                "type": "array", "items": 1,
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            }),
            "must only have a single schema if x-kubernetes-list-type is map",
        ),
    ] {
        let (new, options) = (target(&engine, None, Subresource::None), WriteOptions::default());
        let body = body(&crd("", json!({"spec": (spec)})));
        let rejection =
            engine.create(&new, &body, &options, &mut Context::default()).await.map(drop).unwrap_err();
        let message = rejection.to_string();
        assert!(message.contains(want), "{message}");
    }
}
