//! kube-rs: a typed kind from a derive, discovery, watchers, a controller, leader election.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::CustomResourceExt as _;
use kube::discovery::{Discovery, Scope, verbs};
use kube::runtime::controller::Action;
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::{Controller, WatchStreamExt as _, reflector, watcher};
use kube::{Client, Config, CustomResource, ResourceExt as _};
use pleach_clients::Running;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A kind as operator authors write it.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema, PartialEq)]
#[kube(
    group = "rs.example.com",
    version = "v1",
    kind = "Arbour",
    plural = "arbours",
    shortname = "arb",
    namespaced,
    status = "ArbourStatus",
    printcolumn = r#"{"name":"Posts","type":"integer","jsonPath":".spec.posts"}"#
)]
#[serde(rename_all = "camelCase")]
struct ArbourSpec {
    /// How many posts it stands on.
    #[schemars(range(min = 1, max = 12))]
    posts: i32,
    /// The plant on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    climbers: Vec<String>,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema, PartialEq)]
#[serde(rename_all = "camelCase")]
struct ArbourStatus {
    built: bool,
    observed_generation: i64,
}

async fn client(server: &Running) -> Client {
    let kubeconfig = Kubeconfig::read_from(server.kubeconfig()).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

/// Creates the CRD and waits until it is established.
async fn plant(client: &Client) {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.create(&PostParams::default(), &Arbour::crd()).await.unwrap();
    let established = await_condition(crds, "arbours.rs.example.com", conditions::is_crd_established());
    soon("the CRD is established", established).await.unwrap();
}

async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(pleach_clients::SOON, future).await.unwrap_or_else(|_| panic!("not soon: {what}"))
}

fn arbour(name: &str, posts: i32) -> Arbour {
    Arbour::new(name, ArbourSpec { posts, climbers: vec!["hop".into()] })
}

/// The status code of an API error.
fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        other => panic!("not an answer: {other}"),
    }
}

#[tokio::test]
async fn typed_objects() {
    let server = Running::in_memory();
    let client = client(&server).await;
    plant(&client).await;
    let api: Api<Arbour> = Api::default_namespaced(client.clone());
    let made = api.create(&PostParams::default(), &arbour("a", 4)).await.unwrap();
    assert_eq!((made.spec.posts, made.metadata.generation), (4, Some(1)));
    let refused = api.create(&PostParams::default(), &arbour("b", 13)).await.unwrap_err();
    assert_eq!(code(&refused), 422);
    assert!(
        refused.to_string().contains("spec.posts in body should be less than or equal to 12"),
        "{refused}"
    );

    let mut changed = made.clone();
    changed.spec.posts = 6;
    let changed = api.replace("a", &PostParams::default(), &changed).await.unwrap();
    assert_eq!(changed.metadata.generation, Some(2));
    let stale = api.replace("a", &PostParams::default(), &made).await.unwrap_err();
    assert_eq!(code(&stale), 409);

    let status = json!({"status": {"built": true, "observedGeneration": 2}});
    let patched = api.patch_status("a", &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
    assert_eq!(patched.status, Some(ArbourStatus { built: true, observed_generation: 2 }));
    assert_eq!(patched.metadata.generation, Some(2), "a status does not count");

    for number in 0..12 {
        api.create(&PostParams::default(), &arbour(&format!("n{number:02}"), 1)).await.unwrap();
    }
    let first = api.list(&ListParams::default().limit(5)).await.unwrap();
    let token = first.metadata.continue_.clone().expect("there is more");
    let second = api.list(&ListParams::default().limit(50).continue_token(&token)).await.unwrap();
    assert_eq!((first.items.len(), second.items.len()), (5, 8));

    let metadata = api.get_metadata("a").await.unwrap();
    assert_eq!(metadata.metadata.uid, made.metadata.uid);
    api.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(api.get_opt("a").await.unwrap().is_none());
    api.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    assert_eq!(api.list(&ListParams::default()).await.unwrap().items.len(), 0);
}

#[tokio::test]
async fn server_side_apply() {
    let server = Running::in_memory();
    let client = client(&server).await;
    plant(&client).await;
    let api: Api<Arbour> = Api::default_namespaced(client.clone());
    let ann = PatchParams::apply("ann");
    api.patch("a", &ann, &Patch::Apply(arbour("a", 4))).await.unwrap();
    let bob = PatchParams::apply("bob");
    let conflict = api.patch("a", &bob, &Patch::Apply(arbour("a", 5))).await.unwrap_err();
    assert_eq!(code(&conflict), 409);
    assert!(conflict.to_string().contains(r#"conflict with "ann": .spec.posts"#), "{conflict}");
    let forced = api.patch("a", &bob.force(), &Patch::Apply(arbour("a", 5))).await.unwrap();
    assert_eq!(forced.spec.posts, 5);
    let managers: Vec<_> = forced.managed_fields().iter().map(|entry| entry.manager.as_deref()).collect();
    assert_eq!(managers, [Some("ann"), Some("bob")]);
}

#[tokio::test]
async fn dynamic_discovery() {
    let server = Running::in_memory();
    let client = client(&server).await;
    plant(&client).await;
    let found = Discovery::new(client.clone()).run().await.unwrap();
    let group = found.groups().find(|group| group.name() == "rs.example.com").expect("the group is served");
    let (resource, capabilities) = group.recommended_kind("Arbour").expect("the kind is served");
    assert_eq!(resource.plural, "arbours");
    assert_eq!(capabilities.scope, Scope::Namespaced);
    assert!(capabilities.supports_operation(verbs::WATCH));
    let api: Api<DynamicObject> = Api::default_namespaced_with(client, &resource);
    let object = DynamicObject::new("d", &resource).data(json!({"spec": {"posts": 2}}));
    let made = api.create(&PostParams::default(), &object).await.unwrap();
    assert_eq!(made.data["spec"], json!({"posts": 2}));
}

#[tokio::test]
async fn watchers_and_reflectors() {
    let server = Running::in_memory();
    let client = client(&server).await;
    plant(&client).await;
    let api: Api<Arbour> = Api::default_namespaced(client.clone());
    for number in 0..7 {
        api.create(&PostParams::default(), &arbour(&format!("a{number}"), 1)).await.unwrap();
    }
    // A paged list, then a watch; and a watch with initial events.
    for config in [watcher::Config::default().page_size(3), watcher::Config::default().streaming_lists()] {
        let (reader, writer) = reflector::store::<Arbour>();
        let stream = watcher(api.clone(), config).default_backoff().reflect(writer).applied_objects();
        let names = Arc::new(AtomicUsize::new(0));
        let seen = names.clone();
        let task = tokio::spawn(stream.try_for_each(move |_| {
            seen.fetch_add(1, Ordering::Relaxed);
            async { Ok(()) }
        }));
        soon("the reflector has read everything", reader.wait_until_ready()).await.unwrap();
        assert_eq!(reader.len(), 7);
        api.create(&PostParams::default(), &arbour("late", 1)).await.unwrap();
        soon("the reflector has seen the new one", async {
            while reader.len() < 8 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        api.delete("late", &DeleteParams::default()).await.unwrap();
        soon("the reflector has seen it go", async {
            while reader.len() > 7 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        assert!(names.load(Ordering::Relaxed) >= 8);
        task.abort();
    }
}

/// The context of the reconciler.
struct Operator {
    client: Client,
    cleaned: AtomicUsize,
}

async fn reconcile(
    arbour: Arc<Arbour>,
    operator: Arc<Operator>,
) -> Result<Action, kube::runtime::finalizer::Error<kube::Error>> {
    let namespace = arbour.namespace().unwrap_or_default();
    let api: Api<Arbour> = Api::namespaced(operator.client.clone(), &namespace);
    let maps: Api<ConfigMap> = Api::namespaced(operator.client.clone(), &namespace);
    finalizer(&api, "rs.example.com/felled", arbour, |event| async {
        match event {
            Event::Apply(arbour) => {
                use kube::Resource as _;
                let map = ConfigMap {
                    metadata: ObjectMeta {
                        name: Some(arbour.name_any()),
                        owner_references: arbour.controller_owner_ref(&()).map(|owner| vec![owner]),
                        ..ObjectMeta::default()
                    },
                    data: Some([("posts".to_owned(), arbour.spec.posts.to_string())].into()),
                    ..ConfigMap::default()
                };
                let manager = PatchParams::apply("arbours").force();
                maps.patch(&arbour.name_any(), &manager, &Patch::Apply(map)).await?;
                let status = json!({"status": {
                    "built": true, "observedGeneration": arbour.metadata.generation}});
                api.patch_status(&arbour.name_any(), &PatchParams::default(), &Patch::Merge(status)).await?;
                Ok(Action::await_change())
            }
            Event::Cleanup(_) => {
                operator.cleaned.fetch_add(1, Ordering::Relaxed);
                Ok(Action::await_change())
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_controller() {
    let server = Running::in_memory();
    let client = client(&server).await;
    plant(&client).await;
    let api: Api<Arbour> = Api::default_namespaced(client.clone());
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let operator = Arc::new(Operator { client: client.clone(), cleaned: AtomicUsize::new(0) });
    let controller = Controller::new(api.clone(), watcher::Config::default())
        .owns(maps.clone(), watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_millis(200)), operator.clone());
    let running = tokio::spawn(controller.for_each(|_| async {}));

    let uid = api.create(&PostParams::default(), &arbour("a", 4)).await.unwrap().uid().unwrap();
    let built = await_condition(api.clone(), "a", |arbour: Option<&Arbour>| {
        arbour.and_then(|arbour| arbour.status.as_ref()).is_some_and(|status| status.built)
    });
    soon("the arbour is built", built).await.unwrap();
    let map = maps.get("a").await.unwrap();
    assert_eq!(map.data.unwrap()["posts"], "4");
    // A removed object is created again.
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    let again = await_condition(maps.clone(), "a", |map: Option<&ConfigMap>| map.is_some());
    soon("the map is there again", again).await.unwrap();
    // A change of the spec is reconciled.
    let change = json!({"spec": {"posts": 8}});
    api.patch("a", &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    let seen = await_condition(api.clone(), "a", |arbour: Option<&Arbour>| {
        arbour.and_then(|arbour| arbour.status.as_ref()).is_some_and(|status| status.observed_generation >= 2)
    });
    soon("the change is observed", seen).await.unwrap();
    assert_eq!(operator.cleaned.load(Ordering::Relaxed), 0);
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let gone = await_condition(api.clone(), "a", conditions::is_deleted(&uid));
    soon("the arbour is gone", gone).await.unwrap();
    assert!(operator.cleaned.load(Ordering::Relaxed) >= 1, "the finalizer ran");
    running.abort();
    // Its ConfigMap is garbage collected, though the controller has stopped.
    soon("the map is gone", async {
        while maps.get_opt("a").await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}

/// Takes a lease if it is free, with optimistic locking.
async fn take(leases: &Api<Lease>, who: &str) -> bool {
    let Ok(mut lease) = leases.get("leader").await else { return false };
    let spec = lease.spec.get_or_insert_with(LeaseSpec::default);
    if spec.holder_identity.as_deref().is_some_and(|holder| !holder.is_empty()) {
        return false;
    }
    spec.holder_identity = Some(who.to_owned());
    spec.lease_transitions = Some(spec.lease_transitions.unwrap_or_default() + 1);
    match leases.replace("leader", &PostParams::default(), &lease).await {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(code(&error), 409, "{error}");
            false
        }
    }
}

#[tokio::test]
async fn one_leader_at_a_time() {
    let server = Running::in_memory();
    let client = client(&server).await;
    let leases: Api<Lease> = Api::default_namespaced(client.clone());
    let mut lease = Lease::default();
    lease.metadata.name = Some("leader".into());
    leases.create(&PostParams::default(), &lease).await.unwrap();
    for term in 1..=5 {
        let candidates = (0..8).map(|number| {
            let leases = leases.clone();
            async move { take(&leases, &format!("c{number}")).await }
        });
        let won = futures::future::join_all(candidates).await.into_iter().filter(|won| *won).count();
        assert_eq!(won, 1, "in term {term}");
        let mut held = leases.get("leader").await.unwrap();
        let spec = held.spec.as_mut().unwrap();
        assert_eq!(spec.lease_transitions, Some(term));
        spec.holder_identity = Some(String::new());
        leases.replace("leader", &PostParams::default(), &held).await.unwrap();
    }
}

/// A client with the token of a service account and nothing else.
async fn as_service_account(server: &Running, admin: &Client, name: &str) -> Client {
    let path = format!("/api/v1/namespaces/default/serviceaccounts/{name}/token");
    let body =
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}).to_string();
    let request =
        http::Request::post(path).header("Content-Type", "application/json").body(body.into_bytes());
    let answer: serde_json::Value = admin.request(request.unwrap()).await.unwrap();
    let mut kubeconfig = Kubeconfig::read_from(server.kubeconfig()).unwrap();
    for user in &mut kubeconfig.auth_infos {
        let token = answer["status"]["token"].as_str().unwrap().to_owned().into();
        user.auth_info = Some(kube::config::AuthInfo { token: Some(token), ..Default::default() });
    }
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

#[tokio::test]
async fn a_service_account_has_the_rights_of_its_role() {
    use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
    use k8s_openapi::api::rbac::v1::{Role, RoleBinding};

    let server = Running::in_memory();
    let admin = client(&server).await;
    plant(&admin).await;
    let made = PostParams::default();
    let account = serde_json::from_value::<ServiceAccount>(json!({"metadata": {"name": "robot"}})).unwrap();
    Api::default_namespaced(admin.clone()).create(&made, &account).await.unwrap();
    let role = serde_json::from_value::<Role>(json!({
        "metadata": {"name": "robot"},
        "rules": [{"apiGroups": ["rs.example.com"], "resources": ["arbours"], "verbs": ["get", "list", "watch", "create"]}],
    }));
    Api::default_namespaced(admin.clone()).create(&made, &role.unwrap()).await.unwrap();
    let binding = serde_json::from_value::<RoleBinding>(json!({
        "metadata": {"name": "robot"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "robot"},
        "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "default"}],
    }));
    Api::default_namespaced(admin.clone()).create(&made, &binding.unwrap()).await.unwrap();

    let robot = as_service_account(&server, &admin, "robot").await;
    let arbours: Api<Arbour> = Api::default_namespaced(robot.clone());
    arbours.create(&made, &arbour("a", 4)).await.unwrap();
    // A watcher lists and watches with these rights.
    let mut seen = watcher(arbours.clone(), watcher::Config::default()).applied_objects().boxed();
    let first = soon("the watch delivers", seen.try_next()).await.unwrap().unwrap();
    assert_eq!(first.name_any(), "a");
    assert_eq!(code(&arbours.delete("a", &DeleteParams::default()).await.unwrap_err()), 403);
    let patch = Patch::Merge(json!({"spec": {"posts": 5}}));
    assert_eq!(code(&arbours.patch("a", &PatchParams::default(), &patch).await.unwrap_err()), 403);
    let secrets: Api<Secret> = Api::default_namespaced(robot.clone());
    assert_eq!(code(&secrets.list(&ListParams::default()).await.unwrap_err()), 403);
    let elsewhere: Api<Arbour> = Api::all(robot.clone());
    assert_eq!(code(&elsewhere.list(&ListParams::default()).await.unwrap_err()), 403, "its namespace only");

    let accounts: Api<ServiceAccount> = Api::default_namespaced(admin);
    accounts.delete("robot", &DeleteParams::default()).await.unwrap();
    assert_eq!(
        code(&arbours.list(&ListParams::default()).await.unwrap_err()),
        401,
        "the token ends with its account"
    );
}
