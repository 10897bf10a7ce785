//! Background controllers of two servers that both take themselves for the leader for a moment.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::process::Command;

use pleach_clients::{Api, binary, eventually};
use pleach_conformance::TestServer;
use pleach_conformance::etcd::Etcd;
use serde_json::{Value, json};

const NAMESPACES: &str = "/api/v1/namespaces";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// Creates an owner and an object that it owns; the uid of the latter.
fn owner_and_owned(api: &Api, name: &str) -> Value {
    let owner = api.create(MAPS, &map(name));
    let mut owned = map(&format!("{name}-owned"));
    owned["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": owner["metadata"]["uid"]}]);
    api.create(MAPS, &owned)["metadata"]["uid"].clone()
}

fn gone(api: &Api, path: &str) {
    eventually(path, || (api.get(path).status == 404).then_some(()));
}

fn signal(server: &TestServer, signal: &str) {
    assert!(Command::new("kill").args([signal, &server.pid().to_string()]).status().unwrap().success());
}

#[test]
fn two_leaders_delete_nothing_that_is_new() {
    let etcd = Etcd::start(1);
    let serve = || {
        let server = etcd.serve(&binary(), &[]).unwrap();
        let api = Api::new(server.endpoint.clone());
        (server, api)
    };
    let (first, first_api) = serve();
    // The only server leads when a namespace is deleted.
    first_api.create(NAMESPACES, &namespace("probe"));
    first_api.try_send("DELETE", &format!("{NAMESPACES}/probe"), None).unwrap().ok();
    gone(&first_api, &format!("{NAMESPACES}/probe"));
    let (_second, api) = serve();

    // Work that the leader has begun, or has in its queue, when it is paused.
    api.create(NAMESPACES, &namespace("reborn"));
    let in_namespace = format!("{NAMESPACES}/reborn/configmaps");
    for n in 0..20 {
        api.create(&in_namespace, &map(&format!("m{n}")));
        owner_and_owned(&api, &format!("o{n}"));
    }
    let before = api.get(&format!("{NAMESPACES}/reborn")).ok()["metadata"]["uid"].clone();
    for n in 0..20 {
        api.try_send("DELETE", &format!("{MAPS}/o{n}"), None).unwrap().ok();
    }
    api.try_send("DELETE", &format!("{NAMESPACES}/reborn"), None).unwrap().ok();
    signal(&first, "-STOP");

    // The other server takes over and does the work; then there are new objects of the same names.
    gone(&api, &format!("{NAMESPACES}/reborn"));
    for n in 0..20 {
        gone(&api, &format!("{MAPS}/o{n}-owned"));
    }
    let reborn = api.create(NAMESPACES, &namespace("reborn"));
    assert_ne!(reborn["metadata"]["uid"], before);
    let account = "/api/v1/namespaces/reborn/serviceaccounts/default";
    let account_uid = eventually("the account is made", || {
        let found = api.get(account);
        (found.status == 200).then(|| found.body["metadata"]["uid"].clone())
    });
    let mut uids = Vec::new();
    for n in 0..20 {
        let inner = api.create(&in_namespace, &map(&format!("m{n}")))["metadata"]["uid"].clone();
        uids.push((format!("{in_namespace}/m{n}"), inner));
        uids.push((format!("{MAPS}/o{n}-owned"), owner_and_owned(&api, &format!("o{n}"))));
    }
    uids.push((account.to_owned(), account_uid));

    // The paused server still believes that it leads, and goes on with what it had in its queue.
    signal(&first, "-CONT");
    eventually("it serves again", || (first_api.get("/readyz").status == 200).then_some(()));
    // Work that came later is done when this is, by either server.
    owner_and_owned(&api, "last");
    api.try_send("DELETE", &format!("{MAPS}/last"), None).unwrap().ok();
    gone(&api, &format!("{MAPS}/last-owned"));
    for (path, uid) in &uids {
        for server in [&api, &first_api] {
            let found = server.get(path);
            assert_eq!((found.status, &found.body["metadata"]["uid"]), (200, uid), "{path}");
        }
    }
}
