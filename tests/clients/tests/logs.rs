//! Logs at the default level.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use pleach_clients::{Api, binary, eventually};
use pleach_conformance::Endpoint;

#[test]
fn failed_requests_are_logged_without_colours() {
    let home = tempfile::tempdir().unwrap();
    let log = home.path().join("log");
    let kubeconfig = home.path().join("kubeconfig");
    let mut child = Command::new(binary())
        .args(["serve", "--in-memory", "--port", "0", "--token", "t", "--kubeconfig"])
        .arg(kubeconfig)
        .env_remove("NO_COLOR")
        .env_remove("PLEACH_LOG")
        .stdout(Stdio::piped())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    // Read until the end: the server writes more than one line.
    let mut printed = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    printed.read_line(&mut line).unwrap();
    let port = line.trim().rsplit(':').next().unwrap().parse().unwrap();
    let api = Api::new(Endpoint::new(port, "t"));
    let path = "/api/v1/namespaces/default/configmaps";
    let headers = [("User-Agent", "tester")];
    // A bad resource version is a 500, as upstream; a 404 is not logged.
    let failed = api.raw_with("GET", &format!("{path}/a?resourceVersion=x"), &headers, None).unwrap();
    assert_eq!((failed.status, api.get(&format!("{path}/none")).status), (500, 404));
    let told = eventually("the failure is logged", || {
        let told = fs::read_to_string(&log).unwrap();
        told.contains("code=500").then_some(told)
    });
    let _ = child.kill();
    let _ = child.wait();
    for part in ["method=GET", path, "resourceVersion=x", "user=\"admin\"", "agent=\"tester\"", "micros="] {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert!(!told.contains('\u{1b}') && !told.contains("code=404"), "{told}");
}

#[test]
fn a_server_goes_on_when_its_output_is_closed() {
    let home = tempfile::tempdir().unwrap();
    let kubeconfig = home.path().join("kubeconfig");
    let mut child = Command::new(binary())
        .args(["serve", "--in-memory", "--port", "0", "--token", "t", "--kubeconfig"])
        .arg(&kubeconfig)
        .env_remove("PLEACH_LOG")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    let port = eventually("the kubeconfig is written", || {
        let text = fs::read_to_string(&kubeconfig).ok()?;
        text.lines().find_map(|line| line.trim().strip_prefix("server: ")?.rsplit(':').next()?.parse().ok())
    });
    let api = Api::new(Endpoint::new(port, "t"));
    let path = "/api/v1/namespaces/default/configmaps";
    let ready = eventually("the server answers", || api.raw_with("GET", path, &[], None).ok());
    // Logged, as a failure.
    let failed = api.raw_with("GET", &format!("{path}/a?resourceVersion=x"), &[], None).unwrap();
    let after = api.raw_with("GET", path, &[], None).unwrap();
    let _ = child.kill();
    let _ = child.wait();
    assert_eq!((ready.status, failed.status, after.status), (200, 500, 200));
}
