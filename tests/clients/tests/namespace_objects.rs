//! The objects of each namespace from the start: a ServiceAccount and the certificate of the CA.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use pleach_clients::{Api, Running, eventually};
use serde_json::{Value, json};

fn account(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/serviceaccounts/default")
}

fn certificate(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt")
}

fn found(api: &Api, path: &str) -> Value {
    eventually(path, || {
        let answer = api.get(path);
        (answer.status == 200).then_some(answer.body)
    })
}

#[test]
fn a_namespace_has_a_service_account_and_the_root_certificate() {
    let server = Running::in_memory();
    let api = server.api();
    let kubeconfig = std::fs::read_to_string(server.kubeconfig()).unwrap();
    let ca = found(&api, &certificate("default"))["data"]["ca.crt"].as_str().unwrap().to_owned();
    assert!(ca.starts_with("-----BEGIN CERTIFICATE-----"), "{ca}");
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &ca);
    assert!(kubeconfig.contains(&encoded), "the kubeconfig trusts the same CA");
    found(&api, &account("kube-system"));

    api.create(
        "/api/v1/namespaces",
        &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}),
    );
    let (account, map) = (account("n"), certificate("n"));
    let first = found(&api, &account);
    let published = found(&api, &map);
    assert_eq!(published["data"]["ca.crt"], ca.as_str());
    assert_eq!(published["metadata"]["managedFields"][0]["manager"], "kube-controller-manager");

    // Deleted objects come back, changed ones are restored.
    for path in [&account, &map] {
        api.try_send("DELETE", path, None).unwrap().ok();
    }
    let again = found(&api, &account);
    assert_ne!(first["metadata"]["uid"], again["metadata"]["uid"]);
    found(&api, &map);
    let change = json!({"data": {"ca.crt": "x", "more": "y"}, "metadata": {"labels": {"a": "b"}}});
    api.try_send("PATCH", &map, Some(&change)).unwrap().ok();
    let restored = eventually("the data is restored", || {
        let map = api.get(&map).ok();
        (map["data"] == json!({"ca.crt": ca})).then_some(map)
    });
    assert_eq!(restored["metadata"]["labels"], json!({"a": "b"}), "the rest stays");

    // A namespace that is being deleted gets none of it.
    api.try_send("DELETE", "/api/v1/namespaces/n", None).unwrap().ok();
    eventually("the namespace is gone", || (api.get("/api/v1/namespaces/n").status == 404).then_some(()));
    assert_eq!(api.get(&account).status, 404);
}

#[test]
fn controllers_can_be_disabled() {
    let server = Running::start(&["--in-memory", "--controllers=*,-serviceaccount-controller"]);
    let api = server.api();
    found(&api, &certificate("default"));
    assert_eq!(api.get(&account("default")).status, 404);

    let server = Running::start(&["--in-memory", "--controllers=serviceaccount"]);
    let api = server.api();
    found(&api, &account("default"));
    assert_eq!(api.get(&certificate("default")).status, 404);
}
