//! Requests whose client went away after the commit: what follows from it happens all the same.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pleach_engine::options::{Body, Context, DeleteOptions, Format, WriteOptions};
use pleach_engine::rejection::Rejection;
use pleach_engine::target::{Subresource, Target};
use pleach_engine::{Engine, deterministic};
use pleach_json::{Value, json, to_vec};
use pleach_store::{
    Commit, Key, ModelStore, Range, RangeQuery, Revision, Stats, Store, StoreFuture, Versioned, Watch,
};

/// A store that loses the reply of one commit.
#[derive(Default)]
struct LostReply {
    store: ModelStore,
    once: AtomicBool,
}

impl Store for LostReply {
    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> StoreFuture<'a, Option<Versioned>> {
        self.store.get(key, at)
    }

    fn range(&self, query: RangeQuery) -> StoreFuture<'_, Range> {
        self.store.range(query)
    }

    fn commit(&self, commit: Commit) -> StoreFuture<'_, Revision> {
        let answer = self.store.commit(commit);
        if !self.once.swap(false, Ordering::SeqCst) {
            return answer;
        }
        Box::pin(async move {
            answer.await.unwrap();
            std::future::pending().await
        })
    }

    fn watch(&self, prefix: Key, after: Revision) -> StoreFuture<'_, Watch> {
        self.store.watch(prefix, after)
    }

    fn revision(&self) -> StoreFuture<'_, Revision> {
        self.store.revision()
    }

    fn compact(&self, before: Revision) -> StoreFuture<'_, ()> {
        self.store.compact(before)
    }

    fn stats(&self) -> StoreFuture<'_, Stats> {
        self.store.stats()
    }
}

struct Fixture {
    store: Arc<LostReply>,
    engine: Arc<Engine>,
}

impl Fixture {
    async fn new() -> Self {
        let store = Arc::new(LostReply::default());
        let engine = deterministic::engine(store.clone());
        engine.start().await.unwrap();
        let engine = Arc::new(engine);
        tokio::spawn(engine.clone().run_controllers());
        Self { store, engine }
    }

    fn target(&self, group: &str, plural: &str, name: Option<&str>) -> Target {
        let kind = self.engine.catalog().get(group, plural).unwrap();
        let namespace = kind.is_namespaced().then(|| "default".into());
        Target { kind, version: 0, namespace, name: name.map(Into::into), subresource: Subresource::None }
    }

    async fn create(&self, group: &str, plural: &str, object: Value) -> Result<(), Rejection> {
        let body = Body { bytes: to_vec(&object).into(), format: Format::Json };
        let target = self.target(group, plural, None);
        self.engine.create(&target, &body, &WriteOptions::default(), &mut Context::default()).await.map(drop)
    }

    async fn delete(&self, group: &str, plural: &str, name: &str) {
        let target = self.target(group, plural, Some(name));
        self.engine.delete(&target, &DeleteOptions::default(), &mut Context::default()).await.unwrap();
    }

    /// Begins a request and gives it up after its first commit.
    async fn abandon(&self, request: impl Future) {
        self.store.once.store(true, Ordering::SeqCst);
        assert!(tokio::time::timeout(Duration::from_millis(200), request).await.is_err(), "it never ends");
        assert!(!self.store.once.load(Ordering::SeqCst), "it got as far as its commit");
    }
}

/// Waits until something is so.
async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..200 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    panic!("still not so: {what}");
}

const CRDS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");
const HOOKS: (&str, &str) = ("admissionregistration.k8s.io", "validatingwebhookconfigurations");

#[tokio::test]
async fn a_definition_is_served_and_withdrawn() {
    let fixture = Fixture::new().await;
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}]
        }
    });
    fixture.abandon(fixture.create(CRDS.0, CRDS.1, crd)).await;
    eventually("the kind is served", async || {
        fixture.engine.catalog().get("example.com", "foos").is_some_and(|kind| kind.established)
    })
    .await;
    let foo = json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}});
    fixture.create("example.com", "foos", foo).await.unwrap();

    fixture.abandon(fixture.delete(CRDS.0, CRDS.1, "foos.example.com")).await;
    eventually("the kind is gone", async || fixture.engine.catalog().get("example.com", "foos").is_none())
        .await;
    let left = fixture.store.range(RangeQuery::prefix("/registry/example.com/")).await.unwrap();
    assert!(left.items.is_empty(), "{:?}", left.items);
}

#[tokio::test]
async fn webhooks_are_asked_and_no_longer_asked() {
    let fixture = Fixture::new().await;
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "guard"},
        "webhooks": [{"name": "guard.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [{"apiGroups": [""], "apiVersions": ["*"], "operations": ["*"], "resources": ["configmaps"]}]}]
    });
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    fixture.create("", "configmaps", map("before")).await.unwrap();
    fixture.abandon(fixture.create(HOOKS.0, HOOKS.1, configuration)).await;
    let mut count = 0;
    eventually("the webhook, which nobody here calls, is in the way", async || {
        count += 1;
        fixture.create("", "configmaps", map(&format!("n{count}"))).await.is_err()
    })
    .await;
    fixture.abandon(fixture.delete(HOOKS.0, HOOKS.1, "guard")).await;
    eventually("it is no longer", async || fixture.create("", "configmaps", map("after")).await.is_ok())
        .await;
}
