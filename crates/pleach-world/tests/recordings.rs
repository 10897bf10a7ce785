//! Recordings of requests of several users and in protobuf, played to another world.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::BodyExt as _;
use pleach_auth::UserInfo;
use pleach_json::{Value, json};
use pleach_world::{World, WorldOptions, recording, replay};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

async fn send(world: &World, user: &Arc<UserInfo>, request: Request<Bytes>) -> (u16, Bytes) {
    let answer = world.handle(request, Some(user)).await.unwrap();
    let status = answer.status().as_u16();
    (status, answer.into_body().collect().await.unwrap().to_bytes())
}

async fn create(world: &World, user: &Arc<UserInfo>, path: &str, object: Value) -> u16 {
    let request = Request::post(path).header("content-type", "application/json");
    send(world, user, request.body(pleach_json::to_vec(&object).into()).unwrap()).await.0
}

fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

#[tokio::test]
async fn requests_are_played_with_the_rights_of_their_users() {
    let options = WorldOptions { rbac: true, ..WorldOptions::default() };
    let world = World::start(options.clone()).await.unwrap();
    let ann = UserInfo::authenticated("ann", ["writers".into(), "testers".into()]);
    let binding = json!({
        "metadata": {"name": "writers", "namespace": "default"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "writers"}],
    });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";
    assert_eq!(create(&world, &ann, CONFIG_MAPS, named("a")).await, 403);
    assert_eq!(create(&world, &World::admin(), bindings, binding).await, 201);
    assert_eq!(create(&world, &ann, CONFIG_MAPS, named("a")).await, 201);
    let bob = Request::get(CONFIG_MAPS).header("impersonate-user", "bob").header("impersonate-group", "g");
    assert_eq!(send(&world, &World::admin(), bob.body(Bytes::new()).unwrap()).await.0, 403);
    let recorded = recording("tests/users", &world.script().requests());
    let other = World::start(options).await.unwrap();
    assert_eq!(replay(&other, &recorded).await, Ok(Vec::new()));
}

#[tokio::test]
async fn protobuf_is_recorded_as_json() {
    let world = World::start(WorldOptions::default()).await.unwrap();
    let admin = World::admin();
    let call = async |method: &str, path: &str, object: Option<Value>| {
        let body = object.map(|object| pleach_protobuf::encode(&object).unwrap()).unwrap_or_default();
        let request = Request::builder().method(method).uri(path);
        let request = request.header("content-type", PROTOBUF).header("accept", PROTOBUF);
        let (status, answer) = send(&world, &admin, request.body(body.into()).unwrap()).await;
        assert!(status < 300, "{status}: {}", String::from_utf8_lossy(&answer));
        pleach_protobuf::answer(&answer).unwrap()
    };
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let mut made = call("POST", CONFIG_MAPS, Some(object)).await;
    let version = made.at(&["metadata", "resourceVersion"]).and_then(Value::as_str).unwrap().to_owned();
    let watch = Request::get(format!("{CONFIG_MAPS}?watch=true&resourceVersion={version}"));
    let watch = watch.header("accept", format!("{PROTOBUF};stream=watch")).body(Bytes::new()).unwrap();
    let mut events = world.handle(watch, Some(&admin)).await.unwrap().into_body();
    made.as_object_mut().unwrap().insert("data", json!({"k": "w"}));
    call("PUT", &format!("{CONFIG_MAPS}/a"), Some(made)).await;
    events.frame().await.unwrap().unwrap();
    let list = call("GET", CONFIG_MAPS, None).await;
    assert!(list.get("items").and_then(Value::as_array).is_some_and(|items| !items.is_empty()), "{list:?}");
    call("DELETE", &format!("{CONFIG_MAPS}/a"), None).await;
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}}]}});
    call("POST", "/api/v1/namespaces/default/pods", Some(pod)).await;
    call("DELETE", "/api/v1/namespaces/default/pods/p?gracePeriodSeconds=0", None).await;

    let recorded = recording("tests/protobuf", &world.script().requests());
    let text = pleach_json::to_string(&recorded);
    for part in [r#""data":{"k":"w"}"#, r#""resourceVersion":"${version0}""#, r#""type":"MODIFIED""#] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains(PROTOBUF), "{text}");
    let other = World::start(WorldOptions::default()).await.unwrap();
    create(&other, &admin, CONFIG_MAPS, named("before")).await;
    let of_other = Request::delete(format!("{CONFIG_MAPS}/before")).body(Bytes::new()).unwrap();
    send(&other, &admin, of_other).await;
    assert_eq!(replay(&other, &recorded).await, Ok(Vec::new()));
}
