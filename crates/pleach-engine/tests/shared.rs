//! Two engines on one store, as two servers on one etcd cluster. Most run no background controllers here, so that
//! neither hears of what the other does.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use pleach_auth::{Attributes, ResourceAttributes, UserInfo, Verb};
use pleach_engine::deterministic::{CountedRandomness, FixedClock};
use pleach_engine::options::{Body, Context, DeleteOptions, Format, Freshness, ListOptions, WriteOptions};
use pleach_engine::rejection::Rejection;
use pleach_engine::target::{Subresource, Target};
use pleach_engine::{AdmissionPlugins, Engine};
use pleach_json::{Value, json, to_vec};
use pleach_meta::FieldSelector;
use pleach_store::{
    Commit, Key, ModelStore, Range, RangeQuery, Revision, Stats, Store, StoreFuture, Versioned, Watch,
};
use tokio::sync::{Semaphore, SemaphorePermit, watch};

/// How many calls of a sort there are at once, at most.
const CALLS: u32 = 1_000;

/// A store that says that others write to it.
struct Shared {
    store: ModelStore,
    /// Taken while it says its revision, and while it reads one key: a test that holds them has these calls wait.
    revisions: Semaphore,
    gets: Semaphore,
}

impl Default for Shared {
    fn default() -> Self {
        let many = || Semaphore::new(CALLS as usize);
        Self { store: ModelStore::default(), revisions: many(), gets: many() }
    }
}

/// Has calls wait for as long as this is held.
async fn hold(semaphore: &Semaphore) -> SemaphorePermit<'_> {
    semaphore.acquire_many(CALLS).await.unwrap()
}

impl Store for Shared {
    fn get<'a>(&'a self, key: &'a Key, at: Option<Revision>) -> StoreFuture<'a, Option<Versioned>> {
        Box::pin(async move {
            let _permit = self.gets.acquire().await;
            self.store.get(key, at).await
        })
    }

    fn range(&self, query: RangeQuery) -> StoreFuture<'_, Range> {
        self.store.range(query)
    }

    fn commit(&self, commit: Commit) -> StoreFuture<'_, Revision> {
        self.store.commit(commit)
    }

    fn watch(&self, prefix: Key, after: Revision) -> StoreFuture<'_, Watch> {
        self.store.watch(prefix, after)
    }

    fn revision(&self) -> StoreFuture<'_, Revision> {
        Box::pin(async {
            let _permit = self.revisions.acquire().await;
            self.store.revision().await
        })
    }

    fn compact(&self, before: Revision) -> StoreFuture<'_, ()> {
        self.store.compact(before)
    }

    fn stats(&self) -> StoreFuture<'_, Stats> {
        self.store.stats()
    }

    fn is_shared(&self) -> bool {
        true
    }
}

async fn engine(store: &Arc<Shared>) -> Engine {
    let clock = Arc::new(FixedClock::default());
    let randomness = Arc::new(CountedRandomness::default());
    let engine = Engine::new(store.clone(), clock, randomness, AdmissionPlugins::default());
    engine.start().await.unwrap();
    engine
}

fn target(engine: &Engine, group: &str, plural: &str, name: Option<&str>) -> Target {
    let kind = engine.catalog().get(group, plural).unwrap();
    let namespace = kind.is_namespaced().then(|| "default".into());
    Target { kind, version: 0, namespace, name: name.map(Into::into), subresource: Subresource::None }
}

fn body(object: &Value) -> Body {
    Body { bytes: to_vec(object).into(), format: Format::Json }
}

async fn create(engine: &Engine, target: &Target, object: &Value) -> Result<(), Rejection> {
    let mut context = Context::default();
    engine.create(target, &body(object), &WriteOptions::default(), &mut context).await.map(drop)
}

async fn update(engine: &Engine, target: &Target, object: &Value) -> Result<(), Rejection> {
    let mut context = Context::default();
    engine.update(target, &body(object), &WriteOptions::default(), &mut context).await.map(drop)
}

fn definition(maximum: i64) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"n": {"type": "integer", "maximum": maximum}}
            }}}]
        }
    })
}

fn foo(name: &str, n: i64) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": name}, "n": n})
}

const CRDS: (&str, &str) = ("apiextensions.k8s.io", "customresourcedefinitions");

#[tokio::test]
async fn a_write_under_an_older_crd_is_not_committed() {
    let store = Arc::new(Shared::default());
    let first = engine(&store).await;
    create(&first, &target(&first, CRDS.0, CRDS.1, None), &definition(10)).await.unwrap();
    let second = engine(&store).await;
    let foos = target(&second, "example.com", "foos", None);
    create(&second, &foos, &foo("a", 9)).await.unwrap();

    let crd = target(&first, CRDS.0, CRDS.1, Some("foos.example.com"));
    let stored = first.get(&crd, Freshness::Latest).await.unwrap();
    let mut changed = stored.into_value().unwrap();
    *changed.get_mut("spec").unwrap() = definition(5).get("spec").unwrap().clone();
    update(&first, &crd, &changed).await.unwrap();

    // Both are within the older maximum, and the second engine has heard of no other.
    let one = target(&second, "example.com", "foos", Some("a"));
    let stored = second.get(&one, Freshness::Latest).await.unwrap();
    let mut replaced = stored.into_value().unwrap();
    *replaced.get_mut("n").unwrap() = 8.into();
    let before = store.revision().await.unwrap();
    for refused in [create(&second, &foos, &foo("b", 8)).await, update(&second, &one, &replaced).await] {
        assert!(matches!(refused, Err(Rejection::StaleKind)), "{refused:?}");
    }
    assert_eq!(store.revision().await.unwrap(), before, "nothing was written");

    let refreshed = second.refreshed(&foos).await.unwrap();
    let refused = create(&second, &refreshed, &foo("b", 8)).await;
    assert!(matches!(refused, Err(Rejection::Invalid { .. })), "{refused:?}");
    create(&second, &refreshed, &foo("b", 5)).await.unwrap();
}

#[tokio::test]
async fn a_kind_that_another_server_has_withdrawn_is_not_found() {
    let store = Arc::new(Shared::default());
    let first = engine(&store).await;
    create(&first, &target(&first, CRDS.0, CRDS.1, None), &definition(10)).await.unwrap();
    let second = engine(&store).await;
    let foos = target(&second, "example.com", "foos", None);
    let key = Key::from("/registry/apiextensions.k8s.io/customresourcedefinitions/foos.example.com");
    store.commit(Commit::delete(key, pleach_store::Expect::Anything)).await.unwrap();
    let refused = create(&second, &foos, &foo("a", 1)).await;
    assert!(matches!(refused, Err(Rejection::StaleKind)), "{refused:?}");
    let refused = second.refreshed(&foos).await;
    assert!(matches!(refused, Err(Rejection::NotFound(_))), "{refused:?}");
    assert!(second.catalog().get("example.com", "foos").is_none());
}

#[tokio::test]
async fn no_request_is_answered_under_an_older_crd() {
    let store = Arc::new(Shared::default());
    let first = engine(&store).await;
    create(&first, &target(&first, CRDS.0, CRDS.1, None), &definition(10)).await.unwrap();
    let second = engine(&store).await;
    let foos = target(&second, "example.com", "foos", None);
    create(&second, &foos, &foo("a", 9)).await.unwrap();
    let refused = create(&second, &foos, &foo("b", 11)).await.unwrap_err();
    assert!(!second.is_stale(&foos, &refused).await, "the CRD is the latest: {refused}");

    let crd = target(&first, CRDS.0, CRDS.1, Some("foos.example.com"));
    let mut changed = first.get(&crd, Freshness::Latest).await.unwrap().into_value().unwrap();
    *changed.get_mut("spec").unwrap() = definition(20).get("spec").unwrap().clone();
    update(&first, &crd, &changed).await.unwrap();

    let refused = create(&second, &foos, &foo("b", 11)).await.unwrap_err();
    assert!(matches!(refused, Rejection::Invalid { .. }), "{refused:?}");
    assert!(second.is_stale(&foos, &refused).await, "the latest CRD allows it");
    let dry_run = WriteOptions { dry_run: true, ..WriteOptions::default() };
    let one = target(&second, "example.com", "foos", Some("a"));
    let same = second.get(&one, Freshness::Latest).await.unwrap().into_value().unwrap();
    let mut context = Context::default();
    let created = second.create(&foos, &body(&foo("c", 1)), &dry_run, &mut context).await.map(drop);
    let updated = second.update(&one, &body(&same), &dry_run, &mut context).await.map(drop);
    for refused in [created, updated, update(&second, &one, &same).await] {
        assert!(matches!(refused, Err(Rejection::StaleKind)), "{refused:?}");
    }

    let foos = second.refreshed(&foos).await.unwrap();
    let one = second.refreshed(&one).await.unwrap();
    create(&second, &foos, &foo("b", 11)).await.unwrap();
    second.create(&foos, &body(&foo("c", 1)), &dry_run, &mut context).await.unwrap();
    update(&second, &one, &same).await.unwrap();
}

/// Creates a Service, again when another server has allocated meanwhile.
async fn service(engine: Arc<Engine>, name: String) {
    let target = target(&engine, "", "services", None);
    let object = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {"type": "NodePort", "ports": [{"port": 80}]}
    });
    loop {
        match create(&engine, &target, &object).await {
            Err(Rejection::StaleAllocation) => {}
            done => return done.unwrap(),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_servers_give_no_address_and_no_port_twice() {
    let store = Arc::new(Shared::default());
    let engines = [Arc::new(engine(&store).await), Arc::new(engine(&store).await)];
    let writes: Vec<_> =
        (0..80).map(|n| tokio::spawn(service(engines[n % 2].clone(), format!("s{n}")))).collect();
    for write in writes {
        write.await.unwrap();
    }
    let (mut addresses, mut ports) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
    for n in 0..80 {
        let one = target(&engines[0], "", "services", Some(&format!("s{n}")));
        let service = engines[0].get(&one, Freshness::Latest).await.unwrap().into_value().unwrap();
        addresses.insert(service.at(&["spec", "clusterIP"]).and_then(Value::as_str).unwrap().to_owned());
        let port =
            service.at(&["spec", "ports"]).and_then(Value::as_array).unwrap()[0].get("nodePort").cloned();
        ports.insert(pleach_json::to_string(&port.unwrap()));
    }
    assert_eq!((addresses.len(), ports.len()), (80, 80));
}

/// Objects that decide about requests: a role and its binding, a policy and its binding, a webhook configuration, a
/// flow schema, and a CRD.
fn deciding() -> Vec<(&'static str, &'static str, Value)> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    const ADMISSION: &str = "admissionregistration.k8s.io";
    const FLOW: &str = "flowcontrol.apiserver.k8s.io";
    let rules = |group: &str, resource: &str| json!([{"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}]);
    vec![
        (
            RBAC,
            "roles",
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "one"},
                "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
            }),
        ),
        (
            RBAC,
            "rolebindings",
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "one"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "one"},
                "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "jane"}]
            }),
        ),
        (
            ADMISSION,
            "validatingadmissionpolicies",
            json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
                "metadata": {"name": "one"},
                "spec": {"matchConstraints": {"resourceRules": (rules("", "configmaps"))},
                    "validations": [{"expression": "false"}]}
            }),
        ),
        (
            ADMISSION,
            "validatingadmissionpolicybindings",
            json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
                "metadata": {"name": "one"},
                "spec": {"policyName": "one", "validationActions": ["Deny"]}
            }),
        ),
        (
            ADMISSION,
            "validatingwebhookconfigurations",
            json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
                "metadata": {"name": "one"},
                "webhooks": [{"name": "one.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                    "clientConfig": {"url": "https://127.0.0.1:1/"}, "rules": (rules("", "services"))}]
            }),
        ),
        (
            FLOW,
            "flowschemas",
            json!({
                "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema", "metadata": {"name": "one"},
                "spec": {"matchingPrecedence": 9, "priorityLevelConfiguration": {"name": "exempt"}}
            }),
        ),
        (CRDS.0, CRDS.1, definition(10)),
    ]
}

/// Which of these objects an engine acts on.
async fn acted_on(engine: &Engine) -> Vec<&'static str> {
    let mut found = Vec::new();
    let resource = ResourceAttributes {
        version: "v1",
        resource: "secrets",
        namespace: "default",
        ..ResourceAttributes::default()
    };
    let user = UserInfo::authenticated("jane", []);
    let attributes = Attributes { user, verb: Verb::Get, path: "", resource: Some(resource) };
    if engine.authorizer().authorize(&attributes).get().await.is_allowed() {
        found.push("roles");
    }
    let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let dry_run = WriteOptions { dry_run: true, ..WriteOptions::default() };
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}]}});
    for (plural, of, object) in [("configmaps", "policies", config_map), ("services", "webhooks", service)] {
        let target = target(engine, "", plural, None);
        if engine.create(&target, &body(&object), &dry_run, &mut Context::default()).await.is_err() {
            found.push(of);
        }
    }
    let is_schema = |schema: &Value| schema.at(&["metadata", "name"]).and_then(Value::as_str) == Some("one");
    if engine.flow_control_objects().schemas.iter().any(is_schema) {
        found.push("flow schemas");
    }
    if engine.catalog().get("example.com", "foos").is_some() {
        found.push("CRDs");
    }
    found
}

/// Waits until an engine acts on these objects.
async fn acts_on(engine: &Engine, wanted: &[&str]) {
    let wait = async {
        while acted_on(engine).await != wanted {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let in_time = tokio::time::timeout(Duration::from_secs(10), wait).await.is_ok();
    assert!(in_time, "wanted {wanted:?}, but it acts on {:?}", acted_on(engine).await);
}

#[tokio::test(start_paused = true)]
async fn objects_deleted_while_the_leader_changes_have_no_effect() {
    const ALL: [&str; 5] = ["roles", "policies", "webhooks", "flow schemas", "CRDs"];
    let store = Arc::new(Shared::default());
    let (lead, leads) = watch::channel(false);
    let second = Arc::new(engine(&store).await.with_rbac().with_leadership(leads));
    let controllers = tokio::spawn(second.clone().run_controllers());
    let first = engine(&store).await;
    for (group, plural, object) in deciding() {
        create(&first, &target(&first, group, plural, None), &object).await.unwrap();
    }
    acts_on(&second, &ALL).await;

    // The watch of the engine ends, and the next one cannot begin before the objects are deleted.
    let permit = hold(&store.revisions).await;
    lead.send(true).unwrap();
    tokio::task::yield_now().await;
    for (group, plural, object) in deciding().into_iter().rev() {
        let name = object.at(&["metadata", "name"]).and_then(Value::as_str).unwrap();
        let target = target(&first, group, plural, Some(name));
        first.delete(&target, &DeleteOptions::default(), &mut Context::default()).await.unwrap();
    }
    drop(permit);
    acts_on(&second, &[]).await;
    controllers.abort();
}

#[tokio::test]
async fn a_list_is_as_new_as_its_items() {
    let store = Arc::new(Shared::default());
    let first = engine(&store).await;
    let config_map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    create(&first, &target(&first, "", "configmaps", None), &config_map).await.unwrap();

    // The object is written after the list has asked for the revision.
    let reads = hold(&store.gets).await;
    let listed = target(&first, "", "configmaps", None);
    let options =
        ListOptions { fields: FieldSelector::parse("metadata.name=a").unwrap(), ..ListOptions::default() };
    let mut list = pin!(first.list(&listed, &options));
    let waits = std::future::poll_fn(|cx| Poll::Ready(list.as_mut().poll(cx).is_pending())).await;
    assert!(waits, "it reads the object");
    let key = Key::from("/registry/core/configmaps/default/a");
    let stored = store.store.get(&key, None).await.unwrap().unwrap();
    let written = store.commit(Commit::put(key, pleach_store::Expect::Anything, stored.value)).await.unwrap();
    drop(reads);
    let listing = list.await.unwrap();
    assert_eq!((listing.items.len(), listing.revision), (1, written));
}
