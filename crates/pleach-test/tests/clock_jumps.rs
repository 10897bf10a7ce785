//! A clock that jumps: nothing panics, and writes, watches and controllers go on.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use futures::{StreamExt as _, pin_mut};
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace};
use kube::Client;
use kube::api::{Api, DeleteParams, ObjectMeta, Patch, PatchParams, PostParams, WatchParams};
use pleach_test::Server;
use serde_json::{Value, json};

/// A day in seconds.
const DAY: i64 = 24 * 60 * 60;

async fn create<K>(api: &Api<K>, object: Value) -> K
where
    K: serde::de::DeserializeOwned + serde::Serialize + Clone + std::fmt::Debug,
{
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap()
}

/// A namespace with objects is written to, watched, and drained; its name has the number of the jump.
async fn life(server: &Server, jump: usize) {
    let client: Client = server.client();
    let (name, namespaces) = (format!("n{jump}"), Api::<Namespace>::all(client.clone()));
    create(&namespaces, json!({"metadata": {"name": name}})).await;
    let maps = Api::<ConfigMap>::namespaced(client.clone(), &name);
    let made = create(&maps, json!({"metadata": {"name": "a", "finalizers": ["example.com/kept"]}})).await;
    let version = made.metadata.resource_version.clone().unwrap();
    let events = maps.watch(&WatchParams::default(), &version).await.unwrap();
    pin_mut!(events);
    let apply = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"}});
    maps.patch("a", &PatchParams::apply("test"), &Patch::Apply(apply)).await.unwrap();
    events.next().await.unwrap().unwrap();
    let event = json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": name}, "reason": "Test"});
    create(&Api::<Event>::namespaced(client, &name), event).await;
    maps.delete("a", &DeleteParams::default()).await.unwrap();
    let released = json!({"metadata": {"finalizers": null}});
    maps.patch("a", &PatchParams::default(), &Patch::Merge(released)).await.unwrap();
    namespaces.delete(&name, &DeleteParams::default()).await.unwrap();
    server
        .eventually(|| async {
            match namespaces.get_metadata_opt(&name).await {
                Ok(None) => Ok(()),
                other => Err(format!("{other:?}")),
            }
        })
        .await;
}

#[tokio::test]
async fn writes_watches_and_controllers_go_on_when_the_clock_jumps() {
    let server = Server::start().await;
    let start = server.clock().seconds();
    life(&server, 0).await;
    let jumps = [
        ("back by thirty days", start - 30 * DAY),
        ("to before 1970", -3 * DAY),
        ("ahead by ten years", start + 3_650 * DAY),
        ("back by ten years", start),
        ("to the year 2200", 7_258_118_400),
    ];
    for (jump, (why, seconds)) in (1..).zip(jumps) {
        eprintln!("the clock jumps {why}");
        server.clock().set(seconds);
        life(&server, jump).await;
    }
    // Times are those of the clock.
    let maps = Api::<ConfigMap>::default_namespaced(server.client());
    let last = maps
        .create(
            &PostParams::default(),
            &ConfigMap {
                metadata: ObjectMeta { name: Some("last".into()), ..ObjectMeta::default() },
                ..ConfigMap::default()
            },
        )
        .await
        .unwrap();
    assert_eq!(last.metadata.creation_timestamp.unwrap().0.to_string(), "2200-01-01T00:00:00Z");
}
