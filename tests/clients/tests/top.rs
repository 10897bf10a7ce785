//! `pleach top` before a real server.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::process::{Command, Output};
use std::time::Duration;

use pleach_clients::{Running, binary, definition};
use serde_json::{Value, json};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const FOOS: &str = "/apis/example.com/v1/namespaces/default/foos";

fn top(server: &Running, arguments: &[&str]) -> Output {
    Command::new(binary())
        .args(["top", "--kubeconfig"])
        .arg(server.kubeconfig())
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn resources_are_shown_with_what_they_cost() {
    let server = Running::in_memory();
    let api = server.api();
    api.create(CRDS, &definition("foos", "Foo", json!({})));
    for n in 0..3 {
        let metadata = json!({"name": format!("n{n}"), "annotations": {"text": "x".repeat(5_000)}});
        api.create(FOOS, &json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": metadata}));
    }
    api.get(FOOS).ok();
    let _watch = api.watch(FOOS, Duration::from_mins(1));

    let shown = top(&server, &["--output", "json"]);
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let foos = shown["resources"].as_array().unwrap();
    let foos = foos.iter().find(|row| row["resource"] == "foos.example.com").unwrap();
    assert_eq!((&foos["objects"], &foos["watches"]), (&json!(3), &json!(1)), "{foos}");
    assert_eq!((foos["writes"].as_f64(), foos["reads"].as_f64()), (Some(3.0), Some(2.0)), "{foos}");
    let bytes = foos["bytes"].as_i64().unwrap();
    assert!((15_000..25_000).contains(&bytes), "{bytes}");

    let text = top(&server, &["--sort-by", "watches", "--rows", "1"]).stdout;
    let text = String::from_utf8(text).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("RESOURCE "), "{text}");
    assert!(lines[1].starts_with("foos.example.com "), "{text}");
    assert!(lines[2].starts_with("total "), "{text}");
    assert!(lines[3].ends_with("more resources (--rows 0 shows all)"), "{text}");
}

#[test]
fn without_a_server_or_rights_there_is_a_clear_error() {
    let server = Running::in_memory();
    let kubeconfig = std::fs::read_to_string(server.kubeconfig()).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let nowhere = directory.path().join("nowhere");
    std::fs::write(&nowhere, kubeconfig.replace(&server.port().to_string(), "1")).unwrap();
    let failed = Command::new(binary()).args(["top", "--kubeconfig"]).arg(&nowhere).output().unwrap();
    let told = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert_eq!(failed.status.code(), Some(2), "{told}");
    assert!(told.starts_with("pleach: https://127.0.0.1:1: "), "{told}");
}
