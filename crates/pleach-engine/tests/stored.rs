//! Every stored object can be read in every form, changed and deleted: limits on depth and size, and objects
//! that cannot be decoded.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[path = "stored/deep.rs"]
mod deep;
#[path = "stored/large.rs"]
mod large;
#[path = "stored/unreadable.rs"]
mod unreadable;

use std::sync::Arc;

use pleach_engine::delete::Deleted;
use pleach_engine::options::{
    Body, Context, DeleteOptions, Format, Freshness, ListOptions, PatchType, WriteOptions,
};
use pleach_engine::rejection::Rejection;
use pleach_engine::target::{Subresource, Target};
use pleach_engine::{Engine, deterministic};
use pleach_json::{Value, json, to_vec};
use pleach_store::{Key, ModelStore, Store as _};

const CRDS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");
const FOOS: (&str, &str) = ("g.io", "foos");

/// An engine with a kind `Foo` that keeps whatever it is given in `spec.any`.
struct Fixture {
    store: Arc<ModelStore>,
    engine: Arc<Engine>,
}

impl Fixture {
    async fn new() -> Self {
        Self::with(|engine| engine).await
    }

    async fn with(how: impl FnOnce(Engine) -> Engine) -> Self {
        let store = Arc::new(ModelStore::new());
        let engine = how(deterministic::engine(store.clone()));
        engine.start().await.unwrap();
        let fixture = Self { store, engine: Arc::new(engine) };
        let version = |name: &str| {
            json!({"name": (name), "served": true, "storage": (name == "v1"), "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                "properties": {"spec": {"type": "object", "properties": {
                    "any": {"x-kubernetes-preserve-unknown-fields": true},
                    "n": {"type": "integer", "default": 1},
                }}}}}})
        };
        let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "foos.g.io"},
            "spec": {"group": "g.io", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
                "versions": [(version("v1")), (version("v2"))]}});
        fixture.create(CRDS, &crd).await.unwrap();
        fixture
    }

    fn target(&self, (group, plural): (&str, &str), name: Option<&str>) -> Target {
        let kind = self.engine.catalog().get(group, plural).unwrap();
        let namespace = kind.is_namespaced().then(|| "default".into());
        let version = kind.storage;
        Target { kind, version, namespace, name: name.map(Into::into), subresource: Subresource::None }
    }

    async fn create(&self, kind: (&str, &str), object: &Value) -> Result<Value, Rejection> {
        let options = WriteOptions::default();
        let target = self.target(kind, None);
        self.engine.create(&target, &body(object), &options, &mut Context::default()).await?.into_value()
    }

    async fn get(&self, kind: (&str, &str), name: &str) -> Result<Value, Rejection> {
        self.engine.get(&self.target(kind, Some(name)), Freshness::Latest).await?.into_value()
    }

    async fn list(&self, kind: (&str, &str)) -> Result<Vec<Value>, Rejection> {
        let listing = self.engine.list(&self.target(kind, None), &ListOptions::default()).await?;
        listing.items.into_iter().map(pleach_engine::object::Object::into_value).collect()
    }

    async fn patch(&self, name: &str, how: PatchType, patch: &Value) -> Result<Value, Rejection> {
        let force = how == PatchType::Apply;
        let options = WriteOptions { field_manager: "patcher".into(), force, ..WriteOptions::default() };
        let target = self.target(FOOS, Some(name));
        let context = &mut Context::default();
        if how == PatchType::Apply {
            return self.engine.apply(&target, &body(patch), &options, context).await?.object.into_value();
        }
        self.engine.patch(&target, how, &body(patch), &options, context).await?.into_value()
    }

    async fn delete(
        &self,
        kind: (&str, &str),
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Deleted, Rejection> {
        self.engine.delete(&self.target(kind, Some(name)), options, &mut Context::default()).await
    }

    /// Deletes an object that a finalizer holds, and then takes the finalizer away.
    async fn delete_held(&self, name: &str) {
        let deleted = self.delete(FOOS, name, &DeleteOptions::default()).await.unwrap();
        assert!(matches!(deleted, Deleted::Marked(_)), "{name} is held");
        self.patch(name, PatchType::Merge, &json!({"metadata": {"finalizers": null}})).await.unwrap();
        assert!(!self.is_stored(name).await, "{name} is gone");
    }

    async fn is_stored(&self, name: &str) -> bool {
        self.store.get(&key(name), None).await.unwrap().is_some()
    }
}

fn key(name: &str) -> Key {
    Key::new(format!("/registry/g.io/foos/default/{name}"))
}

fn body(value: &Value) -> Body {
    Body { bytes: to_vec(value).into(), format: Format::Json }
}

fn foo(name: &str, any: Value) -> Value {
    json!({"apiVersion": "g.io/v1", "kind": "Foo", "metadata": {"name": (name), "finalizers": ["g.io/held"]},
        "spec": {"any": (any)}})
}

/// The code and message of a rejection.
fn code_and_message(rejection: Rejection) -> (u16, String) {
    let status = rejection.into_status();
    (status.code, status.message)
}
