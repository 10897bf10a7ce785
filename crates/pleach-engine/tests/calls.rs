//! Calls to webhooks: how many there are at once, and what becomes of a write when there are too many.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use pleach_engine::options::{Body, Context, Format, WriteOptions};
use pleach_engine::rejection::Rejection;
use pleach_engine::target::{Subresource, Target};
use pleach_engine::webhooks::{Address, CallError, CallFuture, Caller};
use pleach_engine::{Engine, deterministic};
use pleach_json::{Value, json, parse, to_vec};
use pleach_store::ModelStore;

/// Answers reviews of both kinds after a while, unless there are too many calls.
#[derive(Default)]
struct Webhooks {
    overloaded: AtomicBool,
    under_way: AtomicUsize,
    most: AtomicUsize,
    kinds: Mutex<Vec<String>>,
}

impl Webhooks {
    fn asked(&self, kind: &str) -> usize {
        self.kinds.lock().unwrap().iter().filter(|asked| *asked == kind).count()
    }
}

struct Shared(Arc<Webhooks>);

impl Caller for Shared {
    fn call<'a>(&'a self, _: &'a Address, body: Bytes, _: Duration) -> CallFuture<'a> {
        Box::pin(async move {
            let review = parse(&body).unwrap();
            let kind = review.get("kind").and_then(Value::as_str).unwrap().to_owned();
            self.0.kinds.lock().unwrap().push(kind.clone());
            if self.0.overloaded.load(Ordering::SeqCst) {
                return Err(CallError::Overloaded);
            }
            let now = self.0.under_way.fetch_add(1, Ordering::SeqCst) + 1;
            self.0.most.fetch_max(now, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_secs(1)).await;
            self.0.under_way.fetch_sub(1, Ordering::SeqCst);
            let request = review.get("request").unwrap();
            let mut response = json!({"uid": (request.get("uid").unwrap().clone())});
            let members = response.as_object_mut().unwrap();
            if kind == "ConversionReview" {
                let mut object = request.at(&["objects"]).unwrap().as_array().unwrap()[0].clone();
                let wanted = request.get("desiredAPIVersion").unwrap().clone();
                object.as_object_mut().unwrap().insert("apiVersion", wanted);
                members.insert("convertedObjects", vec![object]);
                members.insert("result", json!({"status": "Success"}));
            } else {
                members.insert("allowed", true);
            }
            let api_version = review.get("apiVersion").unwrap().clone();
            let answer = json!({"apiVersion": (api_version), "kind": (kind), "response": (response)});
            Ok(to_vec(&answer).into())
        })
    }
}

struct Fixture {
    engine: Engine,
    webhooks: Arc<Webhooks>,
}

impl Fixture {
    async fn new() -> Self {
        let webhooks = Arc::new(Webhooks::default());
        let store = Arc::new(ModelStore::default());
        let engine = deterministic::engine(store).with_caller(Arc::new(Shared(webhooks.clone())));
        engine.start().await.unwrap();
        let fixture = Self { engine, webhooks };
        let version = |name: &str, storage: bool| {
            json!({"name": (name), "served": true, "storage": (storage), "schema": {"openAPIV3Schema":
                {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
        };
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "foos.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"},
                "versions": [(version("v1", true)), (version("v2", false))],
                "conversion": {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"],
                    "clientConfig": {"url": "https://127.0.0.1:1/"}}},
            }
        });
        fixture.create("apiextensions.k8s.io", "customresourcedefinitions", "v1", crd).await.unwrap();
        fixture
    }

    /// Webhooks that want to see Foos in a version.
    async fn configure(&self, count: usize, version: &str) {
        let hook = |number: usize| {
            json!({"name": (format!("w{number}.example.com")), "sideEffects": "None", "failurePolicy": "Ignore",
                "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/"},
                "rules": [{"apiGroups": ["example.com"], "apiVersions": [(version)], "operations": ["*"],
                    "resources": ["foos"]}]})
        };
        let hooks: Vec<Value> = (0..count).map(hook).collect();
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "guard"}, "webhooks": (hooks),
        });
        let group = "admissionregistration.k8s.io";
        self.create(group, "validatingwebhookconfigurations", "v1", configuration).await.unwrap();
    }

    async fn create(&self, group: &str, plural: &str, version: &str, object: Value) -> Result<(), Rejection> {
        let kind = self.engine.catalog().get(group, plural).unwrap();
        let namespace = kind.is_namespaced().then(|| "default".into());
        let version = kind.version(version).unwrap();
        let target = Target { kind, version, namespace, name: None, subresource: Subresource::None };
        let body = Body { bytes: to_vec(&object).into(), format: Format::Json };
        self.engine.create(&target, &body, &WriteOptions::default(), &mut Context::default()).await.map(drop)
    }

    async fn create_foo(&self, name: &str, version: &str) -> Result<(), Rejection> {
        let api_version = format!("example.com/{version}");
        let object =
            json!({"apiVersion": (api_version), "kind": "Foo", "metadata": {"name": (name)}, "spec": {}});
        self.create("example.com", "foos", version, object).await
    }
}

#[tokio::test(start_paused = true)]
async fn too_many_calls_are_429_whatever_the_failure_policy() {
    let fixture = Fixture::new().await;
    fixture.webhooks.overloaded.store(true, Ordering::SeqCst);
    for (version, why) in [("v1", "admission"), ("v2", "conversion")] {
        if version == "v1" {
            fixture.configure(3, "v1").await;
        }
        let status = fixture.create_foo("a", version).await.unwrap_err().into_status();
        assert_eq!((status.code, status.details.unwrap().retry_after_seconds), (429, 1), "{why}");
    }
    fixture.webhooks.overloaded.store(false, Ordering::SeqCst);
    fixture.create_foo("a", "v1").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn validating_webhooks_are_called_so_many_at_a_time() {
    let fixture = Fixture::new().await;
    fixture.configure(200, "v1").await;
    fixture.create_foo("a", "v1").await.unwrap();
    assert_eq!(fixture.webhooks.asked("AdmissionReview"), 200);
    assert_eq!(fixture.webhooks.most.load(Ordering::SeqCst), 64);
}

#[tokio::test(start_paused = true)]
async fn an_object_is_converted_once_for_all_webhooks_that_want_to_see_it_so() {
    let fixture = Fixture::new().await;
    fixture.configure(20, "v2").await;
    fixture.create_foo("a", "v1").await.unwrap();
    assert_eq!(fixture.webhooks.asked("AdmissionReview"), 20);
    assert_eq!(fixture.webhooks.asked("ConversionReview"), 1);
}
