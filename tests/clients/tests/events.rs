//! Events are one set of objects in two groups, and built-in kinds are printed as people know them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::time::Duration;

use pleach_clients::{Running, every_kubectl};
use serde_json::json;

const CORE: &str = "/api/v1/namespaces/default/events";
const OTHER: &str = "/apis/events.k8s.io/v1/namespaces/default/events";

#[test]
fn an_event_of_one_group_is_seen_in_the_other() {
    let server = Running::in_memory();
    let api = server.api();
    let watch = api.watch(CORE, Duration::from_secs(30));
    api.create(
        OTHER,
        &json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "new"},
            "eventTime": "2024-01-01T00:00:00.000000Z", "reportingController": "example.com/c",
            "reportingInstance": "c-1", "action": "Made", "reason": "Created", "type": "Normal",
            "note": "made it", "regarding": {"kind": "Gadget", "name": "x", "namespace": "default"},
        }),
    );
    let seen = watch.first_line().unwrap();
    assert!(seen.contains("\"involvedObject\"") && seen.contains("\"message\":\"made it\""), "{seen}");
    let core = api.get(&format!("{CORE}/new")).ok();
    assert_eq!(core["apiVersion"], "v1");
    assert_eq!(core["reportingComponent"], "example.com/c");
    assert!(core.get("note").is_none(), "{core}");
    let selected = api.get(&format!("{CORE}?fieldSelector=involvedObject.name%3Dx")).ok();
    assert_eq!(selected["items"].as_array().unwrap().len(), 1);

    let mut changed = core;
    changed["count"] = json!(3);
    api.send("PUT", &format!("{CORE}/new"), Some(&changed)).ok();
    let other = api.get(&format!("{OTHER}/new")).ok();
    assert_eq!((&other["deprecatedCount"], &other["note"]), (&json!(3), &json!("made it")));
    assert_eq!(other["metadata"]["uid"], changed["metadata"]["uid"], "it is the same object");
    api.send("DELETE", &format!("{OTHER}/new"), None).ok();
    assert_eq!(api.get(&format!("{CORE}/new")).status, 404);
}

#[test]
fn built_in_kinds_are_printed_as_people_know_them() {
    every_kubectl(|kubectl| {
        kubectl.ok(&["create", "configmap", "settings", "--from-literal=a=1", "--from-literal=b=2"]);
        kubectl.ok(&["create", "secret", "generic", "keys", "--from-literal=a=1"]);
        let first_two = |printed: String| {
            let lines = printed.lines().map(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                words[..words.len() - 1].join(" ")
            });
            lines.collect::<Vec<_>>()
        };
        assert_eq!(first_two(kubectl.ok(&["get", "configmap", "settings"])), ["NAME DATA", "settings 2"]);
        assert_eq!(first_two(kubectl.ok(&["get", "secret", "keys"])), ["NAME TYPE DATA", "keys Opaque 1"]);
        kubectl.feed(
            &["create", "-f", "-"],
            "{\"apiVersion\": \"v1\", \"kind\": \"Event\", \"metadata\": {\"name\": \"e\", \"namespace\": \"default\"},
              \"involvedObject\": {\"kind\": \"Gadget\", \"name\": \"x\", \"namespace\": \"default\"},
              \"reason\": \"Created\", \"type\": \"Normal\", \"message\": \"made it\"}",
        );
        let events = kubectl.ok(&["get", "events"]);
        let squeezed = events.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            squeezed, "LAST SEEN TYPE REASON OBJECT MESSAGE <unknown> Normal Created gadget/x made it",
            "1.{}",
            kubectl.minor
        );
    });
}
