//! Servers in process: forks, snapshots, time, faults, logs, sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, Config};
use pleach_test::{Action, Options, Rule, Selector, Server};
use serde_json::json;

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"k": "v"}})).unwrap()
}

fn config_maps(server: &Server) -> Api<ConfigMap> {
    Api::default_namespaced(server.client())
}

async fn create(api: &Api<ConfigMap>, name: &str) -> kube::Result<ConfigMap> {
    api.create(&PostParams::default(), &config_map(name)).await
}

async fn names(api: &Api<ConfigMap>) -> Vec<String> {
    let list = api.list(&ListParams::default()).await.unwrap();
    list.items.into_iter().filter_map(|item| item.metadata.name).collect()
}

fn code(result: kube::Result<ConfigMap>) -> u16 {
    match result {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("{other:?}"),
    }
}

fn verbs(verbs: &[&str]) -> Selector {
    Selector { verbs: verbs.iter().map(ToString::to_string).collect(), ..Selector::default() }
}

#[tokio::test]
async fn forks_and_resets_are_apart() {
    let server = Server::start().await;
    let api = config_maps(&server);
    create(&api, "a").await.unwrap();
    let snapshot = server.snapshot().await;
    let fork = server.fork().await;
    create(&config_maps(&fork), "in-fork").await.unwrap();
    create(&api, "b").await.unwrap();
    assert_eq!(names(&api).await, ["a", "b"]);
    assert_eq!(names(&config_maps(&fork)).await, ["a", "in-fork"]);
    let mut watch = api.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    server.reset(&snapshot).await;
    assert_eq!(names(&api).await, ["a"], "the same client after the reset");
    let ended = tokio::time::timeout(Duration::from_secs(10), async {
        while let Ok(Some(_)) = watch.try_next().await {}
    });
    ended.await.expect("watches of the world before end");
    create(&api, "c").await.unwrap();
    server.reset(&snapshot).await;
    assert_eq!(names(&api).await, ["a"], "a snapshot is good for many resets");
}

#[tokio::test]
async fn crds_of_a_fork_change_on_their_own() {
    let crd = |plural: &str, kind: &str| {
        serde_json::from_value(json!({"metadata": {"name": format!("{plural}.example.com")}, "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object"}}}]}}))
        .unwrap()
    };
    let server = Server::start().await;
    server.install_crd(&crd("pears", "Pear")).await.unwrap();
    let fork = server.fork().await;
    let crds = |server: &Server| {
        Api::<k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition>::all(
            server.client(),
        )
    };
    crds(&fork).delete("pears.example.com", &DeleteParams::default()).await.unwrap();
    fork.install_crd(&crd("figs", "Fig")).await.unwrap();
    fork.eventually(|| async {
        let left = crds(&fork).get_opt("pears.example.com").await.map_err(|error| error.to_string())?;
        if left.is_some() { Err("it is still there".to_owned()) } else { Ok(()) }
    })
    .await;
    let groups = async |server: &Server| {
        let list = server.client().list_api_group_resources("example.com/v1").await.unwrap();
        list.resources.into_iter().map(|resource| resource.name).collect::<Vec<_>>()
    };
    assert_eq!(groups(&fork).await, ["figs"]);
    assert_eq!(groups(&server).await, ["pears"]);
}

#[tokio::test]
async fn two_runs_give_the_same_bytes() {
    let run = async || {
        let server = Server::start().await;
        let api = config_maps(&server);
        create(&api, "a").await.unwrap();
        server.clock().advance(Duration::from_hours(1));
        let object = json!({"metadata": {"generateName": "b-"}});
        let object = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
        let patch = Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "y"}}));
        api.patch("a", &PatchParams::apply("me"), &patch).await.unwrap();
        let list = http::Request::get("/api/v1/configmaps").body(Vec::new()).unwrap();
        server.client().request_text(list).await.unwrap()
    };
    let first = run().await;
    assert_eq!(first, run().await);
    assert!(
        first.contains("\"2027-01-15T08:00:00Z\"") && first.contains("\"2027-01-15T09:00:00Z\""),
        "{first}"
    );
}

#[tokio::test]
async fn errors_come_before_or_after_the_commit() {
    let server = Server::start().await;
    let api = config_maps(&server);
    for (after_commit, expected) in [(false, 0), (true, 1)] {
        let rule = Rule::new(verbs(&["create"]), Action::Error { code: 503, after_commit }).times(1);
        server.add_fault(rule);
        assert_eq!(code(create(&api, "a").await), 503);
        assert_eq!(names(&api).await.len(), expected);
    }
    server.add_fault(Rule::new(verbs(&["create"]), Action::Reset { after_commit: true }).times(1));
    assert!(matches!(create(&api, "b").await, Err(kube::Error::Service(_))));
    assert_eq!(names(&api).await, ["a", "b"]);
    let logged = server.requests();
    let faults: Vec<_> = logged.iter().filter_map(|request| request.fault.as_deref()).collect();
    assert_eq!(
        faults,
        ["error 503 before the commit", "error 503 after the commit", "reset after the commit"]
    );
    assert_eq!(logged.iter().map(|request| request.code).collect::<Vec<_>>(), [503, 200, 503, 200, 0, 200]);
}

#[tokio::test]
async fn probability_comes_from_the_seed() {
    let run = async || {
        let server = Server::start().await;
        server.add_faults("[{match: {verbs: [get]}, error: 500, probability: 0.5}]").unwrap();
        let api: Api<Namespace> = Api::all(server.client());
        let mut codes = Vec::new();
        for _ in 0..40 {
            codes.push(api.get("default").await.is_ok());
        }
        codes
    };
    let first = run().await;
    assert_eq!(first, run().await);
    assert!(first.contains(&true) && first.contains(&false));
}

#[tokio::test]
async fn events_are_held_delayed_and_cut() {
    let server = Server::start().await;
    let api = config_maps(&server);
    let held = server.add_fault(Rule::new(verbs(&["watch"]), Action::HoldEvents));
    let version = create(&api, "a").await.unwrap().metadata.resource_version.unwrap();
    let mut watch = api.watch(&WatchParams::default(), &version).await.unwrap().boxed();
    create(&api, "b").await.unwrap();
    let waited = tokio::time::timeout(Duration::from_millis(100), watch.try_next()).await;
    assert!(waited.is_err(), "{waited:?}");
    server.remove_fault(held);
    let event = tokio::time::timeout(Duration::from_secs(10), watch.try_next()).await.unwrap().unwrap();
    assert!(matches!(event, Some(WatchEvent::Added(added)) if added.metadata.name.as_deref() == Some("b")));

    server.add_faults("[{match: {verbs: [watch]}, cutEvents: 1}]").unwrap();
    let watch = api.watch(&WatchParams::default(), &version).await.unwrap();
    create(&api, "c").await.unwrap();
    let events: Vec<_> = tokio::time::timeout(Duration::from_secs(10), watch.collect()).await.unwrap();
    assert_eq!(events.len(), 1, "{events:?}");
}

#[tokio::test]
async fn lists_of_any_age_may_be_old() {
    let server = Server::start().await;
    let api = config_maps(&server);
    create(&api, "a").await.unwrap();
    create(&api, "b").await.unwrap();
    server.add_faults("[{match: {verbs: [list]}, staleList: 1}]").unwrap();
    let any_age = ListParams::default().match_any();
    let old = api.list(&any_age).await.unwrap();
    assert_eq!(old.items.len(), 1);
    assert_eq!(names(&api).await, ["a", "b"], "a list that must be the latest is");
    server.clear_faults();
    server.add_faults("[{match: {verbs: [list]}, staleList: 1000}]").unwrap();
    let oldest = api.list(&any_age).await.unwrap();
    assert_eq!(oldest.items.len(), 0, "the history begins after that, and the oldest list is the answer");
}

#[tokio::test]
async fn users_are_authorized_by_rbac() {
    let server = Server::start_with(Options { rbac: true, ..Options::default() }).await;
    let fork = server.fork().await;
    for server in [&server, &fork] {
        let ann: Api<ConfigMap> = Api::default_namespaced(server.client_as("ann", &[]));
        let refused = ann.list(&ListParams::default()).await.unwrap_err();
        assert!(matches!(refused, kube::Error::Api(status) if status.code == 403));
        assert!(names(&config_maps(server)).await.len() <= 1, "the root CA may be published");
    }
}

#[tokio::test]
async fn other_processes_reach_it_by_a_socket() {
    let server = Server::start().await;
    create(&config_maps(&server), "a").await.unwrap();
    let listener = server.listen().await.unwrap();
    let mut config = Config::new(listener.url().parse().unwrap());
    config.auth_info.token = Some(listener.token().to_owned().into());
    let client = Client::try_from(config).unwrap();
    let api: Api<ConfigMap> = Api::default_namespaced(client);
    assert_eq!(names(&api).await, ["a"]);
}

/// kubectl sends a token over TLS only.
#[tokio::test(flavor = "multi_thread")]
async fn kubectl_takes_the_kubeconfig() {
    let server = Server::start().await;
    let listener = server.listen().await.unwrap();
    let home = tempfile::tempdir().unwrap();
    let kubeconfig = home.path().join("kubeconfig");
    std::fs::write(&kubeconfig, listener.kubeconfig()).unwrap();
    let mut kubectl = std::process::Command::new("kubectl");
    kubectl.args(["create", "configmap", "a"]).env("KUBECONFIG", &kubeconfig).env("HOME", home.path());
    let done = tokio::task::spawn_blocking(move || kubectl.output()).await.unwrap().unwrap();
    assert!(done.status.success(), "{done:?}");
    assert_eq!(names(&config_maps(&server)).await, ["a"]);
    assert!(server.requests().iter().all(|request| request.user == "admin"), "{}", server.transcript());
}

/// Makes the test below fail in a process of its own.
const FAILS: &str = "PLEACH_TEST_FAILS";

#[tokio::test]
async fn a_test_that_panics_shows_its_requests_once() {
    if let Ok(how) = std::env::var(FAILS) {
        let server = Server::start().await;
        create(&config_maps(&server), "shown").await.unwrap();
        if how == "assertion" {
            server.assert_writes_at_most("configmaps", 0);
        }
        panic!("as it must");
    }
    for how in ["panic", "assertion"] {
        let failed = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_test_that_panics_shows_its_requests_once", "--nocapture"])
            .env(FAILS, how)
            .output()
            .unwrap();
        let said = String::from_utf8(failed.stderr).unwrap();
        assert!(!failed.status.success(), "{said}");
        assert_eq!(said.matches("201 POST").count(), 1, "{how}: {said}");
    }
}

#[tokio::test]
async fn many_servers_run_side_by_side() {
    let mut servers = Vec::new();
    for number in 0..50 {
        let server = Server::start().await;
        create(&config_maps(&server), &format!("n{number}")).await.unwrap();
        servers.push(server);
    }
    for (number, server) in servers.iter().enumerate() {
        assert_eq!(names(&config_maps(server)).await, [format!("n{number}")]);
    }
}

#[tokio::test]
async fn admission_policies_hold_in_a_fork() {
    let server = Server::start().await;
    let post = async |path: &str, body: serde_json::Value| {
        let request = http::Request::post(path).header("content-type", "application/json");
        server.client().request_text(request.body(serde_json::to_vec(&body).unwrap()).unwrap()).await.unwrap()
    };
    let group = "/apis/admissionregistration.k8s.io/v1";
    post(
        &format!("{group}/validatingadmissionpolicies"),
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "p"}, "spec": {"validations": [{"expression": "object.metadata.name != 'a'"}],
            "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"],
                "operations": ["CREATE"], "resources": ["configmaps"]}]}}}),
    )
    .await;
    post(
        &format!("{group}/validatingadmissionpolicybindings"),
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "p"}, "spec": {"policyName": "p", "validationActions": ["Deny"]}}),
    )
    .await;
    let fork = server.fork().await;
    assert_eq!(code(create(&config_maps(&fork), "a").await), 422);
    create(&config_maps(&fork), "b").await.unwrap();
}

#[tokio::test]
async fn an_ingress_without_a_class_gets_the_newest_default_class() {
    let server = Server::start().await;
    let post = async |path: &str, body: serde_json::Value| -> serde_json::Value {
        let path = format!("/apis/networking.k8s.io/v1/{path}");
        let request = http::Request::post(path).header("content-type", "application/json");
        let request = request.body(serde_json::to_vec(&body).unwrap()).unwrap();
        server.client().request(request).await.unwrap()
    };
    let class = async |name: &str, default: &str| {
        post(
            "ingressclasses",
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "spec": {"controller": "example.com/a"},
                "metadata": {"name": name, "annotations": {"ingressclass.kubernetes.io/is-default-class": default}}}),
        )
        .await;
        server.clock().advance(Duration::from_mins(1));
    };
    let ingress = async |name: &str, metadata: serde_json::Value, class: Option<&str>| {
        let mut object = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata,
            "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}});
        object["metadata"]["name"] = name.into();
        if let Some(class) = class {
            object["spec"]["ingressClassName"] = class.into();
        }
        let created = post("namespaces/default/ingresses", object).await;
        created["spec"]["ingressClassName"].as_str().map(str::to_owned)
    };
    assert_eq!(ingress("none", json!({}), None).await, None);
    for (name, default) in [("z", "true"), ("y", "true"), ("x", "TRUE"), ("w", "false")] {
        class(name, default).await;
    }
    assert_eq!(ingress("newest", json!({}), None).await.as_deref(), Some("y"));
    assert_eq!(ingress("named", json!({}), Some("other")).await.as_deref(), Some("other"));
    let annotated = json!({"annotations": {"kubernetes.io/ingress.class": "foo"}});
    assert_eq!(ingress("annotated", annotated, None).await, None);
}
