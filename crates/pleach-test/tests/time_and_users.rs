//! The clock, users of a server, recordings, and assertions about clients.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Event};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Client, Config};
use pleach_test::{Options, Selector, Server};
use serde_json::{Value, json};

fn config_maps(client: Client) -> Api<ConfigMap> {
    Api::default_namespaced(client)
}

async fn create(api: &Api<ConfigMap>, name: &str) -> kube::Result<ConfigMap> {
    let object = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    api.create(&PostParams::default(), &object).await
}

async fn post(server: &Server, path: &str, body: Value) -> Value {
    let request = http::Request::post(path).header("content-type", "application/json");
    let request = request.body(serde_json::to_vec(&body).unwrap()).unwrap();
    serde_json::from_str(&server.client().request_text(request).await.unwrap()).unwrap()
}

fn client(url: &str, token: &str) -> Client {
    let mut config = Config::new(url.parse().unwrap());
    config.auth_info.token = Some(token.to_owned().into());
    Client::try_from(config).unwrap()
}

#[tokio::test]
async fn events_expire_when_the_clock_moves() {
    let server = Server::start().await;
    let api: Api<Event> = Api::default_namespaced(server.client());
    let event =
        json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}, "reason": "Test"});
    api.create(&PostParams::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
    server.clock().advance(Duration::from_mins(59));
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(api.get_opt("e").await.unwrap().is_some());
    server.clock().advance(Duration::from_mins(1));
    server
        .eventually(|| async {
            match api.get_opt("e").await {
                Ok(None) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
}

#[tokio::test]
async fn service_account_tokens_expire_by_the_clock() {
    let server = Server::start().await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    post(&server, accounts, json!({"metadata": {"name": "robot"}})).await;
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
        "spec": {"expirationSeconds": 3600}});
    let token = post(&server, &format!("{accounts}/robot/token"), request).await;
    let token = token["status"]["token"].as_str().unwrap();
    let listener = server.listen().await.unwrap();
    let api = config_maps(client(&listener.url(), token));
    api.list(&ListParams::default()).await.unwrap();
    assert_eq!(server.requests().last().unwrap().user, "system:serviceaccount:default:robot");
    server.clock().advance(Duration::from_mins(62)); // with the leeway of a minute
    let refused = api.list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 401), "{refused}");
}

#[tokio::test]
async fn users_belong_to_their_server_and_its_forks() {
    let server = Server::start_with(Options { rbac: true, ..Options::default() }).await;
    let token = server.add_user("ann", &["system:masters"]);
    let (fork, other) = (server.fork().await, Server::start().await);
    for (server, knows) in [(&server, true), (&fork, true), (&other, false)] {
        let listener = server.listen().await.unwrap();
        let listed = config_maps(client(&listener.url(), &token)).list(&ListParams::default()).await;
        assert_eq!(listed.is_ok(), knows);
    }
    let bob = server.add_user("bob", &[]);
    let listener = server.listen().await.unwrap();
    let refused = config_maps(client(&listener.url(), &bob)).list(&ListParams::default()).await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 403), "{refused}");
}

#[tokio::test]
async fn recordings_are_played_again() {
    let server = Server::start().await;
    let origin = server.fork().await;
    let api = config_maps(server.client());
    let mut made = create(&api, "a").await.unwrap();
    let mut watch = Box::pin(
        api.watch(&kube::api::WatchParams::default(), made.metadata.resource_version.as_ref().unwrap())
            .await
            .unwrap(),
    );
    made.data = Some([("k".to_owned(), "v".to_owned())].into());
    let made = api.replace("a", &PostParams::default(), &made).await.unwrap();
    futures::StreamExt::next(&mut watch).await.unwrap().unwrap();
    let refused = create(&api, "a").await;
    assert!(refused.is_err());
    assert!(made.metadata.resource_version.is_some());
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let recording = server.recording("tests/life");
    assert!(
        recording.contains("${version"),
        "the update has the resource version of the create: {recording}"
    );
    // In a world with a past, versions and uids are others.
    create(&config_maps(origin.client()), "before").await.unwrap();
    assert_eq!(origin.replay(&recording).await, Ok(Vec::new()));
    create(&config_maps(origin.client()), "a").await.unwrap();
    let differences = origin.replay(&recording).await.unwrap();
    assert!(differences[0].starts_with("step 0: status 409, not Some(201)"), "{differences:?}");
    assert!(origin.replay("[]").await.is_err());
}

#[tokio::test]
async fn the_log_is_an_audit_log() {
    let server = Server::start().await;
    create(&config_maps(server.client_as("ann", &[])), "a").await.unwrap();
    let event: Value = serde_json::from_str(server.audit_log().lines().next().unwrap()).unwrap();
    assert_eq!(event["user"]["username"], "ann");
    assert_eq!(
        event["objectRef"],
        json!({"apiVersion": "v1", "namespace": "default", "resource": "configmaps"})
    );
    assert_eq!((&event["verb"], &event["responseStatus"]["code"]), (&json!("create"), &json!(201)));
}

/// Copies each ConfigMap once; tries again until it is there.
async fn copy(server: Server) {
    let api = config_maps(server.client_as("copier", &[]));
    loop {
        if let Ok(list) = api.list(&ListParams::default()).await {
            let names: Vec<String> = list.items.into_iter().filter_map(|item| item.metadata.name).collect();
            let missing = |name: &&String| {
                !name.ends_with("-copy")
                    && !names.contains(&format!("{name}-copy"))
                    && !name.contains("root-ca")
            };
            for name in names.iter().filter(missing) {
                let _ = create(&api, &format!("{name}-copy")).await;
            }
            if !names.is_empty() && names.iter().filter(missing).count() == 0 {
                return;
            }
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn copier() -> Selector {
    Selector { user: "copier".into(), ..Selector::default() }
}

#[tokio::test]
async fn a_controller_converges_under_faults() {
    let server = Server::start().await;
    let scenario = async |server: Server| {
        let api = config_maps(server.client());
        create(&api, "a").await.unwrap();
        let running = tokio::spawn(copy(server.clone()));
        server.eventually(|| async { api.get("a-copy").await.map_err(|error| error.to_string()) }).await;
        server.assert_no_hot_loop(&copier(), Duration::from_millis(50)).await;
        server.assert_writes_per_reconcile(&copier(), 6);
        running.abort_handle()
    };
    let faults = [
        "[{match: {user: copier, verbs: [create]}, error: 503, times: 3}]",
        "[{match: {user: copier, verbs: [create]}, errorAfterCommit: 504, times: 1}]",
        "[{match: {user: copier}, reset: before, probability: 0.5, times: 4}]",
    ];
    server.converges_under(&faults, scenario).await;
}

#[tokio::test]
#[should_panic(expected = "more than 2 writes after")]
async fn too_many_writes_per_reconcile_are_reported() {
    let server = Server::start().await;
    create(&config_maps(server.client()), "a").await.unwrap();
    let api = config_maps(server.client_as("copier", &[]));
    for name in ["b", "c", "d"] {
        create(&api, name).await.unwrap();
    }
    server.assert_writes_per_reconcile(&copier(), 2);
}

#[tokio::test]
async fn writes_after_an_event_are_reported() {
    let server = Server::start().await;
    let (api, copies) = (config_maps(server.client()), config_maps(server.client_as("copier", &[])));
    let mut watch = Box::pin(copies.watch(&kube::api::WatchParams::default(), "0").await.unwrap());
    let mut added = async || {
        while let kube::api::WatchEvent::Bookmark(_) =
            futures::StreamExt::next(&mut watch).await.unwrap().unwrap()
        {}
    };
    for name in ["a", "b", "c"] {
        create(&api, name).await.unwrap();
        added().await;
        if name != "c" {
            create(&copies, &format!("{name}-copy")).await.unwrap();
            added().await;
        }
    }
    server.assert_no_write_after_event(&copier(), 5);
    let problem = |event| {
        let checked = std::panic::catch_unwind(|| server.assert_no_write_after_event(&copier(), event));
        *checked.unwrap_err().downcast::<String>().unwrap()
    };
    assert!(problem(3).starts_with("after event 3: ") && problem(3).contains("b-copy"), "{}", problem(3));
    assert!(problem(6).starts_with("there is no event 6: 5 were sent\nrequests:\n"), "{}", problem(6));
}
