//! Garbage collection, namespace deletion, CRD finalization.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use pleach_clients::{Api, Running, eventually};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(name: &str, owners: &[(&Value, bool)]) -> Value {
    let owners: Vec<Value> = owners
        .iter()
        .map(|(owner, block)| {
            json!({
                "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
                "uid": owner["metadata"]["uid"], "blockOwnerDeletion": block,
            })
        })
        .collect();
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "ownerReferences": owners}})
}

fn path(name: &str) -> String {
    format!("{MAPS}/{name}")
}

fn delete(api: &Api, path: &str, policy: &str) {
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": policy});
    api.send("DELETE", path, Some(&options)).ok();
}

fn gone(api: &Api, path: &str) {
    eventually(&format!("{path} is gone"), || (api.get(path).status == 404).then_some(()));
}

fn crd(plural: &str, kind: &str, scope: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.gc.example.com")},
        "spec": {
            "group": "gc.example.com", "scope": scope,
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true}}}],
        },
    })
}

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

#[test]
fn background_deletion_deletes_dependents_of_the_last_owner() {
    let server = Running::in_memory();
    let api = server.api();
    let a = api.create(MAPS, &map("a", &[]));
    let b = api.create(MAPS, &map("b", &[]));
    let child = api.create(MAPS, &map("child", &[(&a, false)]));
    api.create(MAPS, &map("grandchild", &[(&child, false)]));
    api.create(MAPS, &map("shared", &[(&a, false), (&b, false)]));
    delete(&api, &path("a"), "Background");
    assert_eq!(api.get(&path("a")).status, 404, "the owner goes at once");
    gone(&api, &path("child"));
    gone(&api, &path("grandchild"));
    let shared = eventually("the reference to the owner that is gone is dropped", || {
        let shared = api.get(&path("shared")).ok();
        (shared["metadata"]["ownerReferences"].as_array().map(Vec::len) == Some(1)).then_some(shared)
    });
    assert_eq!(shared["metadata"]["ownerReferences"][0]["name"], "b");
    delete(&api, &path("b"), "Background");
    gone(&api, &path("shared"));
}

#[test]
fn foreground_deletion_waits_for_blocking_dependents() {
    let server = Running::in_memory();
    let api = server.api();
    let owner = api.create(MAPS, &map("owner", &[]));
    let mut held = map("held", &[(&owner, true)]);
    held["metadata"]["finalizers"] = json!(["gc.example.com/hold"]);
    api.create(MAPS, &held);
    api.create(MAPS, &map("free", &[(&owner, false)]));
    delete(&api, &path("owner"), "Foreground");
    let waiting = api.get(&path("owner")).ok();
    assert_eq!(waiting["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    assert_ne!(waiting["metadata"]["deletionTimestamp"], Value::Null);
    eventually("the dependent that blocks is being deleted", || {
        let held = api.get(&path("held")).ok();
        (held["metadata"]["deletionTimestamp"] != Value::Null).then_some(())
    });
    gone(&api, &path("free"));
    assert_eq!(api.get(&path("owner")).status, 200, "a dependent still holds it");
    api.send("PATCH", &path("held"), Some(&json!({"metadata": {"finalizers": null}}))).ok();
    gone(&api, &path("held"));
    gone(&api, &path("owner"));
}

#[test]
fn orphaned_dependents_lose_their_owner_reference() {
    let server = Running::in_memory();
    let api = server.api();
    let owner = api.create(MAPS, &map("owner", &[]));
    api.create(MAPS, &map("child", &[(&owner, true)]));
    delete(&api, &path("owner"), "Orphan");
    gone(&api, &path("owner"));
    let child = api.get(&path("child")).ok();
    assert_eq!(child["metadata"]["ownerReferences"], Value::Null, "{child}");
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(api.get(&path("child")).status, 200, "it stays");
}

#[test]
fn custom_objects_own_across_kinds_and_scopes() {
    let server = Running::in_memory();
    let api = server.api();
    api.create(CRDS, &crd("estates", "Estate", "Cluster"));
    api.create(CRDS, &crd("plots", "Plot", "Namespaced"));
    let estates = "/apis/gc.example.com/v1/estates";
    let plots = "/apis/gc.example.com/v1/namespaces/default/plots";
    let object = |kind: &str, name: &str| json!({"apiVersion": "gc.example.com/v1", "kind": kind, "metadata": {"name": name}});
    let served = |path: &str| {
        eventually(&format!("{path} is served"), || (api.get(path).status == 200).then_some(()));
    };
    served(estates);
    served(plots);
    let estate = api.create(estates, &object("Estate", "e"));
    let mut plot = object("Plot", "p");
    plot["metadata"]["ownerReferences"] =
        map("x", &[(&estate, false)])["metadata"]["ownerReferences"].clone();
    let plot = api.create(plots, &plot);
    api.create(MAPS, &map("of-plot", &[(&plot, false)]));
    // A uid that no object has: the owner is gone already.
    let mut ghost = estate.clone();
    ghost["metadata"]["uid"] = json!("00000000-0000-4000-8000-000000000000");
    api.create(MAPS, &map("of-nobody", &[(&ghost, false)]));
    gone(&api, &path("of-nobody"));
    assert_eq!(api.get(&path("of-plot")).status, 200);
    delete(&api, &format!("{estates}/e"), "Background");
    gone(&api, &format!("{plots}/p"));
    gone(&api, &path("of-plot"));
}

#[test]
fn namespace_deletion_deletes_its_objects() {
    let server = Running::in_memory();
    let api = server.api();
    api.create(CRDS, &crd("plots", "Plot", "Namespaced"));
    api.create(
        "/api/v1/namespaces",
        &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "walled"}}),
    );
    let plots = "/apis/gc.example.com/v1/namespaces/walled/plots";
    let maps = "/api/v1/namespaces/walled/configmaps";
    eventually("the kind is served", || (api.get(plots).status == 200).then_some(()));
    let mut plot = json!({"apiVersion": "gc.example.com/v1", "kind": "Plot", "metadata": {"name": "p"}});
    plot["metadata"]["finalizers"] = json!(["gc.example.com/hold"]);
    api.create(plots, &plot);
    for number in 0..20 {
        api.create(maps, &map(&format!("m{number}"), &[]));
    }
    api.send("DELETE", "/api/v1/namespaces/walled", None).ok();
    let refused = api.send("POST", maps, Some(&map("late", &[])));
    assert_eq!(refused.status, 403, "{}", refused.body);
    assert!(
        refused.body["message"].as_str().unwrap().contains("because it is being terminated"),
        "{}",
        refused.body
    );
    eventually("the config maps are gone", || {
        (api.get(maps).ok()["items"].as_array().map(Vec::len) == Some(0)).then_some(())
    });
    let namespace = api.get("/api/v1/namespaces/walled").ok();
    assert_eq!(namespace["status"]["phase"], "Terminating", "the finalizer holds it");
    api.send("PATCH", &format!("{plots}/p"), Some(&json!({"metadata": {"finalizers": null}}))).ok();
    gone(&api, "/api/v1/namespaces/walled");
    let outside = api.get("/api/v1/namespaces/default").ok();
    assert_eq!(outside["status"]["phase"], "Active");
}

#[test]
fn crd_deletion_deletes_its_objects() {
    let server = Running::in_memory();
    let api = server.api();
    api.create(CRDS, &crd("plots", "Plot", "Namespaced"));
    let plots = "/apis/gc.example.com/v1/namespaces/default/plots";
    eventually("the kind is served", || (api.get(plots).status == 200).then_some(()));
    let plot = json!({"apiVersion": "gc.example.com/v1", "kind": "Plot", "metadata": {"name": "p"}});
    let plot = api.create(plots, &plot);
    api.create(MAPS, &map("of-plot", &[(&plot, false)]));
    api.send("DELETE", &format!("{CRDS}/plots.gc.example.com"), None).ok();
    gone(&api, &format!("{CRDS}/plots.gc.example.com"));
    gone(&api, plots);
    gone(&api, &path("of-plot"));
    // The kind is empty when it is created again.
    api.create(CRDS, &crd("plots", "Plot", "Namespaced"));
    eventually("the kind is served again", || (api.get(plots).status == 200).then_some(()));
    assert_eq!(api.get(plots).ok()["items"], json!([]));
}
