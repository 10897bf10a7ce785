//! Events in both groups are the same objects; tables of built-in kinds.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::time::Duration;

use pleach_clients::{Answer, Running, every_kubectl};
use serde_json::{Value, json};

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

/// An event of `events.k8s.io` with some fields changed; null removes one.
fn event(name: &str, changes: &Value) -> Value {
    let mut event = json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name},
        "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "a/b", "reportingInstance": "i",
        "action": "A", "reason": "R", "type": "Normal",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
    });
    for (key, value) in changes.as_object().unwrap() {
        event[key] = value.clone();
    }
    event.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    event
}

/// The fields and messages of an error.
fn complaints(answer: Answer) -> Vec<String> {
    assert_eq!(answer.status, 422, "{}", answer.body);
    let causes = answer.body["details"]["causes"].as_array().unwrap().clone();
    let told = |cause: &Value| {
        format!("{}: {}", cause["field"].as_str().unwrap(), cause["message"].as_str().unwrap())
    };
    causes.iter().map(told).collect()
}

#[test]
fn events_are_validated() {
    let server = Running::in_memory();
    let api = server.api();
    let long = "x".repeat(129);
    for (changes, want) in [
        (json!({"action": null}), vec!["action: Required value"]),
        (json!({"eventTime": null}), vec!["eventTime: Required value"]),
        (json!({"type": "Odd"}), vec![r#"type: Invalid value: "": has invalid value: Odd"#]),
        (json!({"reason": long}), vec![r#"reason: Invalid value: "": can have at most 128 characters"#]),
        (json!({"deprecatedCount": 1}), vec![r#"count: Invalid value: "": needs to be unset"#]),
        (
            json!({"series": {"count": 1}}),
            vec![
                r#"series.count: Invalid value: "": should be at least 2"#,
                "series.lastObservedTime: Required value",
            ],
        ),
    ] {
        assert_eq!(complaints(api.send("POST", OTHER, Some(&event("a", &changes)))), want, "{changes}");
    }
    api.create(OTHER, &event("a", &json!({})));
    for (changes, want) in [
        (json!({"note": "n"}), vec![r#"message: Invalid value: "n": field is immutable"#]),
        (
            json!({"related": {"kind": "K"}}),
            vec![
                r#"related: Invalid value: {"Kind":"K","Namespace":"","Name":"","UID":"","APIVersion":"","ResourceVersion":"","FieldPath":""}: field is immutable"#,
            ],
        ),
    ] {
        let refused = api.send("PUT", &format!("{OTHER}/a"), Some(&event("a", &changes)));
        assert_eq!(complaints(refused), want, "{changes}");
    }
    let series = json!({"series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}});
    api.send("PUT", &format!("{OTHER}/a"), Some(&event("a", &series))).ok();

    let old = |about: Value| json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "old"}, "involvedObject": about});
    let elsewhere = old(json!({"name": "x", "namespace": "other"}));
    let want = r#"involvedObject.namespace: Invalid value: "other": does not match event.namespace"#;
    assert_eq!(complaints(api.send("POST", CORE, Some(&elsewhere))), [want]);
    let made = api.create(CORE, &old(json!({"name": "x", "namespace": "default"})));
    for (field, value) in
        [("source", json!({})), ("firstTimestamp", Value::Null), ("reportingInstance", json!(""))]
    {
        assert_eq!(made.get(field), Some(&value), "{field} is always there");
    }
    let other = api.get(&format!("{OTHER}/old")).ok();
    assert_eq!(other.get("deprecatedSource"), Some(&json!({})));
    assert_eq!(other.get("reportingInstance"), None, "and this one is not in the other group");
    api.get(&format!("{CORE}?fieldSelector=source%3Dx")).ok();
}

#[test]
fn tables_of_built_in_kinds() {
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
