//! The server process: killed during writes, stopped, started twice.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pleach_clients::{Api, Running, binary};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"of": name}})
}

/// Writes until the server is gone; returns the acknowledged names, and how often each was changed.
fn write_until_gone(api: &Api, writer: usize, stop: &AtomicBool) -> Vec<(String, i64)> {
    let mut acknowledged = Vec::new();
    for number in 0.. {
        let name = format!("w{writer}-{number:05}");
        match api.try_send("POST", MAPS, Some(&map(&name))) {
            Ok(answer) if answer.status == 201 => {}
            // An unacknowledged write may be there or not.
            _ => break,
        }
        let change = json!({"data": {"changed": "1"}});
        match api.try_send("PATCH", &format!("{MAPS}/{name}"), Some(&change)) {
            Ok(answer) if answer.status == 200 => acknowledged.push((name, 1)),
            _ => {
                acknowledged.push((name, 0));
                break;
            }
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    acknowledged
}

#[test]
fn acknowledged_writes_survive_a_kill() {
    let data = tempfile::tempdir().unwrap();
    let mut all: Vec<(String, i64)> = Vec::new();
    let mut version = 0;
    for round in 0..3 {
        let server = Running::on(data.path());
        let api = server.api();
        let stop = AtomicBool::new(false);
        let written = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|writer| {
                    let (api, stop) = (api.clone(), &stop);
                    scope.spawn(move || write_until_gone(&api, round * 10 + writer, stop))
                })
                .collect();
            std::thread::sleep(Duration::from_millis(1500));
            drop(server);
            stop.store(true, Ordering::Relaxed);
            writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(written.len() > 10, "only {} writes before the kill", written.len());
        all.extend(written);

        let server = Running::on(data.path());
        let list = server.api().get(MAPS).ok();
        let found: std::collections::BTreeMap<&str, &Value> = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| (item["metadata"]["name"].as_str().unwrap(), item))
            .collect();
        for (name, changes) in &all {
            let item =
                found.get(name.as_str()).unwrap_or_else(|| panic!("{name} was acknowledged and is lost"));
            assert_eq!(item["data"]["of"], *name.as_str());
            if *changes > 0 {
                assert_eq!(item["data"]["changed"], "1", "the change of {name} was acknowledged and is lost");
            }
        }
        let now: u64 = list["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
        assert!(now > version, "resource versions go on: {now} after {version}");
        version = now;
        let uids: BTreeSet<&str> =
            found.values().map(|item| item["metadata"]["uid"].as_str().unwrap()).collect();
        assert_eq!(uids.len(), found.len(), "no two objects share a uid");
    }
    eprintln!("{} writes acknowledged over 3 kills, all there", all.len());
}

#[test]
fn shutdown_ends_watches() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::on(data.path());
    let api = server.api();
    api.create(MAPS, &map("one"));
    let watch = api.watch(MAPS, Duration::from_secs(20));
    let lines = std::thread::spawn(move || {
        let mut lines = Vec::new();
        // Ended without an error: the last chunk came.
        watch.lines(|line| lines.push(line.to_owned())).map(|()| lines)
    });
    std::thread::sleep(Duration::from_millis(300));
    let started = std::time::Instant::now();
    assert!(server.stop(), "it exits with success");
    assert!(started.elapsed() < Duration::from_secs(10), "within {:?}", started.elapsed());
    let lines = lines.join().unwrap().expect("the watch ends in an orderly way");
    let is_added = |line: &String| line.contains(r#""type":"ADDED""#) && line.contains(r#""name":"one""#);
    assert!(lines.iter().any(is_added), "{lines:?}");

    let server = Running::on(data.path());
    assert_eq!(server.api().get(&format!("{MAPS}/one")).status, 200);
}

#[test]
fn two_servers_do_not_share_a_directory() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::on(data.path());
    let second = Command::new(binary())
        .args(["serve", "--port", "0", "--data-dir", data.path().to_str().unwrap()])
        .stdout(Stdio::null())
        .output()
        .unwrap();
    assert!(!second.status.success());
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(!said.contains("panicked") && said.contains("pleach:"), "it says why: {said}");
    assert_eq!(server.api().get("/readyz").status, 200, "the first one goes on");
}

#[test]
fn the_data_directory_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let parent = tempfile::tempdir().unwrap();
    let data = parent.path().join("data");
    let server = Running::on(&data);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    assert_eq!(mode(&data.join("ca.key")), 0o600);
    assert_eq!(mode(server.kubeconfig()), 0o600);
}
