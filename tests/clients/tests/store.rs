//! Storage failures under the real server: damage, no descriptors, no space.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use pleach_clients::{Api, Running, binary};
use pleach_conformance::TestServer;
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(name: &str, size: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"of": "x".repeat(size)}})
}

/// The names of the ConfigMaps that tests have created.
fn names(api: &Api) -> Vec<String> {
    let list = api.get(MAPS).ok();
    let items = list["items"].as_array().unwrap();
    let names = items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned());
    names.filter(|name| name != "kube-root-ca.crt").collect()
}

#[track_caller]
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < Duration::from_mins(1), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Runs the program and waits for it.
fn pleach(arguments: &[&str]) -> Output {
    Command::new(binary()).args(arguments).stdin(Stdio::null()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The error of a server that does not start.
#[track_caller]
fn refused(data: &Path) -> String {
    let output = pleach(&["serve", "--port", "0", "--data-dir", data.to_str().unwrap()]);
    assert!(!output.status.success());
    said(&output)
}

fn log_of(data: &Path) -> PathBuf {
    let files = fs::read_dir(data.join("store")).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|end| end == "log")).max().unwrap()
}

/// Changes a byte at some text.
fn damage(path: &Path, text: &str) {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.windows(text.len()).rposition(|part| part == text.as_bytes()).unwrap();
    bytes[at] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_store_is_refused_and_repaired() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::on(data.path());
    for name in ["one", "two", "three"] {
        server.api().create(MAPS, &map(name, 10));
    }
    // Killed, not shut down.
    drop(server);
    damage(&log_of(data.path()), "configmaps/default/three");
    let error = refused(data.path());
    assert!(error.contains("were acknowledged") && error.contains("pleach store repair"), "{error}");

    let directory = data.path().to_str().unwrap();
    let dry = pleach(&["store", "repair", "--dry-run", directory]);
    assert!(dry.status.success(), "{}", said(&dry));
    for wanted in ["damaged: ", "lost: commits ", "nothing was changed"] {
        assert!(said(&dry).contains(wanted), "{}", said(&dry));
    }
    assert!(refused(data.path()).contains("were acknowledged"), "it is as it was");
    let done = pleach(&["store", "repair", directory]);
    assert!(done.status.success() && said(&done).contains("what was there before is in"), "{}", said(&done));
    assert!(data.path().join("store/repair-1").is_dir());

    let server = Running::on(data.path());
    assert_eq!(names(&server.api()), ["one", "two"]);
    server.api().create(MAPS, &map("three", 10));
    assert!(server.stop());
    let again = pleach(&["store", "repair", directory]);
    assert!(again.status.success() && said(&again).contains("the store is sound"), "{}", said(&again));
}

#[test]
fn a_missing_log_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::on(data.path());
    server.api().create(MAPS, &map("one", 10));
    assert!(server.stop());
    let (log, kept) = (log_of(data.path()), data.path().join("kept"));
    fs::rename(&log, &kept).unwrap();
    assert!(refused(data.path()).contains("is missing"));
    fs::write(&log, "").unwrap();
    assert!(refused(data.path()).contains("were acknowledged"));
    fs::rename(&kept, &log).unwrap();
    let key = data.path().join("ca.key");
    fs::rename(&key, &kept).unwrap();
    assert!(refused(data.path()).contains("ca.key is missing, and ca.crt is there"));
    fs::rename(&kept, &key).unwrap();
    assert_eq!(names(&Running::on(data.path()).api()), ["one"]);
}

#[test]
fn an_object_that_cannot_be_decoded_is_listed_and_deleted() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::on(data.path());
    server.api().create(MAPS, &map("good", 10));
    server.api().create(MAPS, &map("bad", 10));
    assert!(server.stop());
    // A value that is not JSON.
    let key = "/registry/core/configmaps/default/bad";
    {
        use pleach_store::{Commit, Expect, Store as _, contract::block_on};
        let store = pleach_store_log::LogStore::open(data.path().join("store")).unwrap();
        let value = b"\x01\0\0\0\0\0\0\0\0\0\0\0\0{\"cut short".to_vec();
        block_on(store.commit(Commit::put(key, Expect::Anything, value))).unwrap();
    }
    let directory = data.path().to_str().unwrap();
    let found = pleach(&["store", "repair", "--dry-run", directory]);
    assert!(said(&found).contains(&format!("cannot be decoded: {key}: ")), "{}", said(&found));
    let missing = pleach(&["store", "repair", directory, "--delete-key", "/registry/core/nothing"]);
    assert!(!missing.status.success() && said(&missing).contains("not there: "), "{}", said(&missing));
    let done = pleach(&["store", "repair", directory, "--delete-key", key]);
    assert!(done.status.success() && said(&done).contains(&format!("deleted: {key}")), "{}", said(&done));
    assert!(fs::read(data.path().join("store/repair-1/value-0")).unwrap().ends_with(b"{\"cut short"));
    assert_eq!(names(&Running::on(data.path()).api()), ["good"]);
}

/// A server with a `ulimit`.
fn limited(data: &Path, limit: &str) -> (TestServer, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let script = home.path().join("pleach");
    let text = format!("#!/bin/sh\n{limit}\nexec '{}' \"$@\"\n", binary().display());
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
    let server = TestServer::start(&script, &["--data-dir", data.to_str().unwrap()]).unwrap();
    (server, home)
}

#[test]
fn connections_leave_descriptors_for_the_store() {
    let data = tempfile::tempdir().unwrap();
    let (server, _home) = limited(data.path(), "ulimit -n 128");
    let api = Api::new(server.endpoint.clone());
    api.create(MAPS, &map("before", 10));
    let idle: Vec<_> =
        (0..300).map_while(|_| TcpStream::connect(("127.0.0.1", server.endpoint.port)).ok()).collect();
    // They may have to wait for a connection, and need no response.
    for n in 0..3 {
        let body = map(&format!("meanwhile-{n}"), 10).to_string();
        let _ = api.raw_within("POST", MAPS, &body, Duration::from_secs(2));
    }
    drop(idle);
    wait_until("it is ready", || {
        api.try_send("GET", "/readyz", None).is_ok_and(|answer| answer.status == 200)
    });
    for n in 0..5 {
        api.create(MAPS, &map(&format!("after-{n}"), 10_000));
    }
    assert_eq!(api.get("/readyz").status, 200);
}

#[test]
fn writes_succeed_under_a_file_size_limit() {
    let data = tempfile::tempdir().unwrap();
    // Blocks of 512 bytes or of 1 KiB: files of 8 or 16 MiB, with segments of 32.
    let (server, _home) = limited(data.path(), "trap '' XFSZ\nulimit -f 16384");
    let api = Api::new(server.endpoint.clone());
    for n in 0..40 {
        api.create(MAPS, &map(&format!("map-{n:02}"), 900_000));
    }
    drop(server);
    assert_eq!(names(&Running::on(data.path()).api()).len(), 40);
}

#[test]
fn over_quota_only_deletes_are_allowed() {
    let data = tempfile::tempdir().unwrap();
    let server =
        Running::start(&["--data-dir", data.path().to_str().unwrap(), "--quota-backend-bytes", "2000000"]);
    let api = server.api();
    // A checkpoint that ends just after a refusal may free enough for another write.
    let mut refused = 0;
    let is_full = |n: usize| {
        let answer = api.send("POST", MAPS, Some(&map(&format!("map-{n:03}"), 100_000)));
        if answer.status == 201 {
            return false;
        }
        refused += 1;
        assert_eq!(answer.status, 500);
        assert_eq!(answer.body["message"], "etcdserver: mvcc: database space exceeded");
        api.send("GET", "/readyz", None).status == 500
            && api.text("/metrics").contains("pleach_store_no_space 1")
    };
    assert!((0..200).any(is_full), "the quota is not used up, or readiness does not tell; {refused} refused");
    assert_eq!(api.send("GET", "/livez", None).status, 200);
    let there = names(&api);
    assert!(there.len() > 10, "{there:?}");
    for name in &there {
        assert_eq!(api.send("DELETE", &format!("{MAPS}/{name}"), None).status, 200);
    }
    wait_until("it is ready", || api.send("GET", "/readyz", None).status == 200);
    assert!(api.text("/metrics").contains("pleach_store_no_space 0"));
    api.create(MAPS, &map("again", 100_000));
}
