//! An engine for unit tests: the model store, a fixed clock, and a custom kind.

use std::sync::Arc;

use pleach_json::{Value, json, to_vec};
use pleach_store::ModelStore;

use crate::deterministic;
use crate::engine::Engine;
use crate::object::Object;
use crate::options::{Body, Context, Format, Freshness, WriteOptions};
use crate::rejection::Rejection;
use crate::target::{Subresource, Target};

/// An engine that serves `foos.example.com/v1`: `spec.size` is at least 1, `spec.color` is red by default.
pub(crate) struct Fixture {
    pub(crate) engine: Arc<Engine>,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        let engine = Arc::new(deterministic::engine(Arc::new(ModelStore::default())));
        engine.start().await.expect("it starts on an empty store");
        let fixture = Self { engine };
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "foos.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                        "spec": {"type": "object", "properties": {
                            "size": {"type": "integer", "minimum": 1},
                            "color": {"type": "string", "default": "red"},
                        }},
                        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
                    }}},
                }],
            }
        });
        fixture.create("customresourcedefinitions", &crd).await.expect("a CRD");
        fixture
    }

    /// A resource, or an object of it in the namespace `default`.
    pub(crate) fn target(&self, plural: &str, name: Option<&str>) -> Target {
        let kind = self.engine.catalog.all().into_iter().find(|kind| kind.plural == plural);
        let kind = kind.expect("a kind that is served");
        let namespace = kind.is_namespaced().then(|| "default".into());
        Target {
            version: kind.storage,
            kind,
            namespace,
            name: name.map(Into::into),
            subresource: Subresource::None,
        }
    }

    /// An object of the custom kind.
    pub(crate) fn foo(&self, name: &str) -> Target {
        self.target("foos", Some(name))
    }

    pub(crate) async fn create(&self, plural: &str, object: &Value) -> Result<Object, Rejection> {
        let target = self.target(plural, None);
        self.engine.create(&target, &body(object), &WriteOptions::default(), &mut Context::default()).await
    }

    /// Creates an object of the custom kind with this spec.
    pub(crate) async fn create_foo(&self, name: &str, spec: Value) -> Value {
        self.create("foos", &foo(name, spec)).await.expect("a valid object").into_value().expect("an object")
    }

    pub(crate) async fn get(&self, target: &Target) -> Result<Value, Rejection> {
        self.engine.get(target, Freshness::Latest).await?.into_value()
    }
}

/// The body of an object of the custom kind.
pub(crate) fn foo(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": (name)}, "spec": (spec)})
}

pub(crate) fn body(object: &Value) -> Body {
    Body { bytes: to_vec(object).into(), format: Format::Json }
}

/// The text at a path, empty if there is none.
pub(crate) fn text(object: &Value, path: &[&str]) -> String {
    object.at(path).and_then(Value::as_str).unwrap_or_default().to_owned()
}
