//! The controllers over the model store. Time stands still and jumps to whatever is due next.

mod policy_status;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use pleach_json::{Value, json, to_vec};
use pleach_store::{Commit, Expect, ModelStore, Stats, Store, StoreFuture, Versioned};
use tokio::time::{Instant, sleep, sleep_until};

use super::*;
use crate::deterministic;
use crate::options::{Body, Context, DeleteOptions, Format, Propagation, WriteOptions};
use crate::target::{Subresource, Target};
use crate::webhooks::{Address, CallError, CallFuture, Caller};

/// How a webhook treats an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Behavior {
    Hangs,
    Fails,
    AllowsAfter(Duration),
}

/// A webhook that counts calls and allows all objects, except for those in `treats`.
#[derive(Clone, Default)]
struct Webhook {
    treats: Arc<Mutex<HashMap<Str, Behavior>>>,
    calls: Arc<Mutex<HashMap<Str, usize>>>,
}

impl Webhook {
    fn treat(&self, name: &str, treats: Behavior) {
        self.treats.lock().unwrap_or_else(PoisonError::into_inner).insert(name.into(), treats);
    }

    fn calls(&self, name: &str) -> usize {
        *self.calls.lock().unwrap().get(name).unwrap_or(&0)
    }
}

impl Caller for Webhook {
    fn call<'a>(&'a self, _: &'a Address, body: Bytes, timeout: Duration) -> CallFuture<'a> {
        let review = pleach_json::parse(&body).unwrap();
        let name = review.at(&["request", "name"]).and_then(Value::as_str).unwrap_or_default();
        let name: Str = name.into();
        *self.calls.lock().unwrap().entry(name.clone()).or_default() += 1;
        let treats = self.treats.lock().unwrap().get(&name).copied();
        Box::pin(async move {
            match treats {
                Some(Behavior::Hangs) => {
                    sleep(timeout).await;
                    return Err(CallError::Failed("context deadline exceeded".into()));
                }
                Some(Behavior::Fails) => return Err(CallError::Failed("connection refused".into())),
                Some(Behavior::AllowsAfter(time)) => sleep(time).await,
                None => {}
            }
            let uid = review.at(&["request", "uid"]).unwrap().clone();
            Ok(to_vec(&json!({
                "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                "response": {"uid": (uid), "allowed": true},
            }))
            .into())
        })
    }
}

struct Fixture {
    engine: Arc<Engine>,
    webhook: Webhook,
}

impl Fixture {
    /// An engine with its controllers, and a webhook that is asked before ConfigMaps are deleted.
    async fn new() -> Self {
        let fixture = Self::over(Arc::new(ModelStore::default())).await;
        tokio::spawn(fixture.engine.clone().run_controllers());
        fixture.create_webhook().await;
        fixture
    }

    /// An engine without its controllers.
    async fn over(store: Arc<dyn Store>) -> Self {
        let webhook = Webhook::default();
        let engine = deterministic::engine(store).with_caller(Arc::new(webhook.clone()));
        engine.start().await.unwrap();
        Self { engine: Arc::new(engine), webhook }
    }

    async fn create_webhook(&self) {
        self.create(
            "validatingwebhookconfigurations",
            json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": "guard"},
                "webhooks": [{"name": "guard.example.com", "sideEffects": "None",
                    "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:1/"},
                    "timeoutSeconds": 10,
                    "rules": [{"apiGroups": [""], "apiVersions": ["*"], "operations": ["DELETE"],
                        "resources": ["configmaps"]}]}]
            }),
        )
        .await;
    }

    fn target(&self, plural: &str, name: Option<&str>) -> Target {
        let kind = self.engine.catalog.all().into_iter().find(|kind| kind.plural == plural).unwrap();
        let namespace = kind.is_namespaced().then(|| "default".into());
        Target { kind, version: 0, namespace, name: name.map(Into::into), subresource: Subresource::None }
    }

    /// Creates an object; its uid.
    async fn create(&self, plural: &str, object: Value) -> Str {
        let body = Body { bytes: to_vec(&object).into(), format: Format::Json };
        let target = self.target(plural, None);
        let made =
            self.engine.create(&target, &body, &WriteOptions::default(), &mut Context::default()).await;
        let made = made.unwrap().into_value().unwrap();
        // A watch of the model store holds only so many events.
        tokio::task::yield_now().await;
        made.at(&["metadata", "uid"]).unwrap().as_str().unwrap().into()
    }

    /// Creates an object with owners, which are Secrets.
    async fn owned(&self, plural: &str, name: &str, owners: &[(&str, &Str)]) -> Str {
        let kind = if plural == "secrets" { "Secret" } else { "ConfigMap" };
        let owner = |(name, uid): &(&str, &Str)| {
            json!({"apiVersion": "v1", "kind": "Secret", "name": (*name), "uid": (Str::clone(uid)),
                "blockOwnerDeletion": true})
        };
        let owners: Vec<Value> = owners.iter().map(owner).collect();
        let metadata = json!({"name": (name), "ownerReferences": (owners)});
        self.create(plural, json!({"apiVersion": "v1", "kind": (kind), "metadata": (metadata)})).await
    }

    async fn delete(&self, plural: &str, name: &str, propagation: Propagation) {
        let options = DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
        let target = self.target(plural, Some(name));
        self.engine.delete(&target, &options, &mut Context::default()).await.map(drop).unwrap();
    }

    async fn get(&self, plural: &str, name: &str) -> Option<Value> {
        let target = self.target(plural, Some(name));
        let record = self.engine.stored(&target.key_of(name)).await.unwrap()?;
        Some(record.parse().unwrap())
    }

    /// How many objects of a kind there are.
    async fn count(&self, plural: &str) -> usize {
        let target = self.target(plural, None);
        self.engine.store.range(RangeQuery::prefix(target.prefix())).await.unwrap().items.len()
    }
}

#[tokio::test(start_paused = true)]
async fn deletions_that_wait_for_a_webhook_hold_up_no_other() {
    let fixture = Fixture::new().await;
    let owner = fixture.owned("secrets", "owner", &[]).await;
    // More than work on objects of one kind at once.
    for number in 0..300 {
        let name = format!("stuck-{number:03}");
        fixture.webhook.treat(&name, Behavior::Hangs);
        fixture.owned("configmaps", &name, &[("owner", &owner)]).await;
    }
    for number in 0..50 {
        fixture.owned("secrets", &format!("free-{number}"), &[("owner", &owner)]).await;
    }
    fixture
        .create("namespaces", json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}))
        .await;
    fixture.delete("secrets", "owner", Propagation::Background).await;
    sleep(Duration::from_secs(3)).await;
    assert_eq!(fixture.count("configmaps").await, 300, "these wait");
    assert_eq!(fixture.count("secrets").await, 0, "objects of another kind go at once");
    fixture.delete("namespaces", "n", Propagation::Background).await;
    sleep(Duration::from_secs(1)).await;
    assert!(fixture.get("namespaces", "n").await.is_none());
    // Every one was tried, and those that are new do not wait for those that failed.
    sleep(Duration::from_mins(1)).await;
    let tried = (0..300).filter(|number| fixture.webhook.calls(&format!("stuck-{number:03}")) > 0).count();
    assert_eq!(tried, 300);
    let other = fixture.owned("secrets", "other", &[]).await;
    fixture.owned("configmaps", "fine", &[("other", &other)]).await;
    fixture.delete("secrets", "other", Propagation::Background).await;
    sleep(Duration::from_secs(3)).await;
    assert!(fixture.get("configmaps", "fine").await.is_none());
    assert_eq!(fixture.count("configmaps").await, 300);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_that_fails_is_tried_again_less_and_less_often() {
    let fixture = Fixture::new().await;
    let owner = fixture.owned("secrets", "owner", &[]).await;
    fixture.webhook.treat("bad", Behavior::Fails);
    fixture.owned("configmaps", "bad", &[("owner", &owner)]).await;
    fixture.owned("configmaps", "good", &[("owner", &owner)]).await;
    fixture.delete("secrets", "owner", Propagation::Background).await;
    let began = Instant::now();
    let mut last = 0;
    let mut tries = Vec::new();
    for minutes in 1..=10 {
        sleep_until(began + Duration::from_mins(minutes)).await;
        let calls = fixture.webhook.calls("bad");
        tries.push(calls - last);
        last = calls;
    }
    assert!(tries[0] > 10 && tries[0] < 20, "{tries:?}");
    assert!(tries[1..].iter().all(|tries| *tries == 2), "one in thirty seconds: {tries:?}");
    assert_eq!(fixture.count("configmaps").await, 1);
    fixture.webhook.treat("bad", Behavior::AllowsAfter(Duration::ZERO));
    sleep(Duration::from_secs(31)).await;
    assert_eq!(fixture.count("configmaps").await, 0);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_took_the_place_of_another_is_left_alone() {
    let fixture = Fixture::new().await;
    let owner = fixture.owned("secrets", "owner", &[]).await;
    fixture.webhook.treat("a", Behavior::AllowsAfter(Duration::from_secs(8)));
    fixture.owned("configmaps", "a", &[("owner", &owner)]).await;
    fixture.delete("secrets", "owner", Propagation::Background).await;
    sleep(Duration::from_secs(3)).await;
    assert_eq!(fixture.webhook.calls("a"), 1, "the webhook thinks about it");
    let target = fixture.target("configmaps", Some("a"));
    let key = target.key_of("a");
    fixture
        .engine
        .edit(&key, |value| {
            crate::prepare::mark_for_deletion(value, "2027-01-01T00:00:00Z");
            true
        })
        .await
        .unwrap();
    let new = fixture.owned("configmaps", "a", &[]).await;
    sleep(Duration::from_mins(5)).await;
    let found = fixture.get("configmaps", "a").await.expect("the new one is there");
    assert_eq!(found.at(&["metadata", "uid"]).and_then(Value::as_str), Some(new.as_str()));
}

#[tokio::test(start_paused = true)]
async fn in_the_foreground_owners_wait_and_other_owners_keep_their_dependents() {
    let fixture = Fixture::new().await;
    let owner = fixture.owned("secrets", "owner", &[]).await;
    let other = fixture.owned("secrets", "other", &[]).await;
    fixture.webhook.treat("slow", Behavior::AllowsAfter(Duration::from_secs(9)));
    fixture.owned("configmaps", "slow", &[("owner", &owner)]).await;
    fixture.owned("configmaps", "quick", &[("owner", &owner)]).await;
    fixture.owned("configmaps", "shared", &[("owner", &owner), ("other", &other)]).await;
    fixture.delete("secrets", "owner", Propagation::Foreground).await;
    sleep(Duration::from_secs(4)).await;
    assert!(fixture.get("configmaps", "quick").await.is_none());
    assert!(fixture.get("configmaps", "slow").await.is_some());
    assert!(fixture.get("secrets", "owner").await.is_some(), "it waits for the slow one");
    sleep(Duration::from_secs(8)).await;
    assert!(fixture.get("configmaps", "slow").await.is_none());
    assert!(fixture.get("secrets", "owner").await.is_none());
    let shared = fixture.get("configmaps", "shared").await.expect("it has another owner");
    let references = shared.at(&["metadata", "ownerReferences"]).and_then(Value::as_array).unwrap();
    assert_eq!(references.len(), 1);
    assert_eq!(references[0].get("name").and_then(Value::as_str), Some("other"));
}

#[tokio::test(start_paused = true)]
async fn owners_that_own_each_other_do_not_wait_for_each_other() {
    let fixture = Fixture::new().await;
    let a = fixture.owned("secrets", "a", &[]).await;
    let b = fixture.owned("secrets", "b", &[("a", &a)]).await;
    let reference =
        json!({"apiVersion": "v1", "kind": "Secret", "name": "b", "uid": (b), "blockOwnerDeletion": true});
    let key = fixture.target("secrets", Some("a")).key_of("a");
    let own = |value: &mut Value| {
        crate::prepare::metadata_mut(value).insert("ownerReferences", vec![reference.clone()]);
        true
    };
    fixture.engine.edit(&key, own).await.unwrap();
    fixture.delete("secrets", "a", Propagation::Foreground).await;
    sleep(Duration::from_mins(2)).await;
    assert_eq!(fixture.count("secrets").await, 0);
}

#[tokio::test(start_paused = true)]
async fn namespaces_and_definitions_go_as_soon_as_what_holds_them_does() {
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
    fixture.create("customresourcedefinitions", crd).await;
    fixture
        .create("namespaces", json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}))
        .await;
    let held = json!({"apiVersion": "example.com/v1", "kind": "Foo",
        "metadata": {"name": "held", "finalizers": ["example.com/hold"]}});
    let body = Body { bytes: to_vec(&held).into(), format: Format::Json };
    let target = Target { namespace: Some("n".into()), ..fixture.target("foos", None) };
    let created =
        fixture.engine.create(&target, &body, &WriteOptions::default(), &mut Context::default()).await;
    created.map(drop).unwrap();
    fixture.delete("namespaces", "n", Propagation::Background).await;
    fixture.delete("customresourcedefinitions", "foos.example.com", Propagation::Background).await;
    // Long enough for a back-off that a second look would have to wait for.
    sleep(Duration::from_mins(10)).await;
    assert!(fixture.get("namespaces", "n").await.is_some());
    assert!(fixture.get("customresourcedefinitions", "foos.example.com").await.is_some());
    let key = target.key_of("held");
    let release = |value: &mut Value| crate::prepare::metadata_mut(value).remove("finalizers").is_some();
    fixture.engine.edit(&key, release).await.unwrap();
    sleep(Duration::from_secs(1)).await;
    assert!(fixture.get("namespaces", "n").await.is_none());
    assert!(fixture.get("customresourcedefinitions", "foos.example.com").await.is_none());
}

/// A store of which pages are read slowly: others write before each, once that is wanted.
struct WrittenWhileRead {
    store: ModelStore,
    others_write: AtomicBool,
}

/// How many commits there are before a page, and how many the store's history has.
const COMMITS_PER_PAGE: usize = 24;
const HISTORY: usize = 64;

impl Store for WrittenWhileRead {
    fn range(&self, query: RangeQuery) -> StoreFuture<'_, pleach_store::Range> {
        Box::pin(async {
            if self.others_write.load(Ordering::Relaxed) {
                for _ in 0..COMMITS_PER_PAGE {
                    self.store.commit(Commit::put("/registry/a", Expect::Anything, "a")).await?;
                }
            }
            self.store.range(query).await
        })
    }

    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> StoreFuture<'a, Option<Versioned>> {
        self.store.get(key, at)
    }

    fn commit(&self, commit: Commit) -> StoreFuture<'_, Revision> {
        self.store.commit(commit)
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

#[tokio::test(start_paused = true)]
async fn a_store_that_changes_faster_than_it_is_read_is_read_through() {
    let store = ModelStore::with_history(HISTORY);
    let store = Arc::new(WrittenWhileRead { store, others_write: AtomicBool::new(false) });
    let fixture = Fixture::over(store.clone()).await;
    for number in 0..10 * PAGE {
        fixture.owned("configmaps", &format!("c{number}"), &[]).await;
    }
    // Behind all others.
    fixture.owned("secrets", "dependent", &[("never", &"never".into())]).await;
    store.others_write.store(true, Ordering::Relaxed);
    let mut controllers = Controllers::new(&fixture.engine, HashSet::new());
    let ended = tokio::time::timeout(Duration::from_mins(1), controllers.run()).await;
    assert!(ended.is_err(), "it goes on and on: {ended:?}");
    assert_eq!(fixture.count("configmaps").await, 10 * PAGE);
    assert_eq!(fixture.count("secrets").await, 0);
}

#[tokio::test(start_paused = true)]
async fn webhooks_are_called_before_the_objects_of_a_namespace_are_deleted() {
    let fixture = Fixture::new().await;
    fixture
        .create("namespaces", json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}))
        .await;
    for (plural, kind) in [("configmaps", "ConfigMap"), ("secrets", "Secret")] {
        let object = json!({"apiVersion": "v1", "kind": (kind), "metadata": {"name": "a"}});
        let body = Body { bytes: to_vec(&object).into(), format: Format::Json };
        let target = Target { namespace: Some("n".into()), ..fixture.target(plural, None) };
        let made =
            fixture.engine.create(&target, &body, &WriteOptions::default(), &mut Context::default()).await;
        made.map(drop).unwrap();
    }
    fixture.webhook.treat("", Behavior::Fails);
    fixture.delete("namespaces", "n", Propagation::Background).await;
    sleep(Duration::from_mins(1)).await;
    assert!(fixture.webhook.calls("") > 1, "the call is made again after it failed");
    let under = |plural| Target { namespace: Some("n".into()), ..fixture.target(plural, None) }.prefix();
    let left = async |plural| {
        fixture.engine.store.range(RangeQuery::prefix(under(plural))).await.unwrap().items.len()
    };
    assert_eq!((left("configmaps").await, left("secrets").await), (1, 0), "only the webhook's kind is held");
    assert!(fixture.get("namespaces", "n").await.is_some());
    fixture.webhook.treat("", Behavior::AllowsAfter(Duration::ZERO));
    sleep(Duration::from_mins(1)).await;
    assert_eq!(left("configmaps").await, 0);
    assert!(fixture.get("namespaces", "n").await.is_none());
}
