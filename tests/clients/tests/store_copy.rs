//! `pleach store copy`: a copy that was killed goes on, other objects in the target are kept or replaced.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use pleach_clients::{Api, Running, binary};
use pleach_conformance::etcd::Etcd;
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// More than some pages of a copy.
const OBJECTS: usize = 700;
/// How many objects a page has.
const PAGE: u64 = 256;

fn map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": value}})
}

/// A data directory with objects.
fn source(path: &Path) {
    let server = Running::on(path);
    let api = server.api();
    for n in 0..OBJECTS {
        api.create(MAPS, &map(&format!("m{n:04}"), &n.to_string()));
    }
    assert!(server.stop());
}

fn copy(from: &str, to: &str, flags: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.args(["store", "copy", "--from", from, "--to", to]).args(flags);
    command
}

/// The figures of a copy: copied, there already, verified; or its error.
fn copied(from: &str, to: &str, flags: &[&str]) -> Result<[u64; 3], String> {
    let output = copy(from, to, flags).output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let figures = said.split([' ', ';']).filter_map(|word| word.parse().ok()).collect::<Vec<u64>>();
    Ok(figures.try_into().unwrap_or_else(|_| panic!("{said}")))
}

/// The values of all ConfigMaps of a server, by name.
fn values(api: &Api) -> BTreeMap<String, String> {
    let list = api.get(MAPS).ok();
    let items = list["items"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    items.map(|item| (text(&item["metadata"]["name"]), text(&item["data"]["value"]))).collect()
}

#[test]
fn a_copy_that_was_killed_goes_on() {
    let home = tempfile::tempdir().unwrap();
    let (from, to) = (home.path().join("from"), home.path().join("to"));
    source(&from);
    let from = from.to_str().unwrap();
    let etcd = Etcd::start(1);
    for target in [etcd.servers(), to.to_str().unwrap().to_owned()] {
        let mut first = copy(from, &target, &[]).stderr(Stdio::piped()).spawn().unwrap();
        let progress = BufReader::new(first.stderr.take().unwrap()).lines().next().unwrap().unwrap();
        first.kill().unwrap();
        first.wait().unwrap();
        assert!(progress.starts_with(&format!("{PAGE} objects done, ")), "{progress}");

        let [new, old, verified] = copied(from, &target, &[]).unwrap();
        assert!(old >= PAGE, "the first page is there: {old}");
        assert!(new + old == verified && verified >= OBJECTS as u64, "{new} {old} {verified}");
        assert_eq!(copied(from, &target, &[]).unwrap(), [0, verified, verified]);
    }
    let server = etcd.serve(&binary(), &[]).unwrap();
    let on_etcd = values(&Api::new(server.endpoint.clone()));
    assert_eq!(on_etcd.len(), OBJECTS + 1, "kube-root-ca.crt is another");
    assert_eq!(on_etcd["m0123"], "123");
    assert_eq!(values(&Running::on(&to).api())["m0699"], "699");
}

#[test]
fn other_objects_in_the_target_are_kept_or_replaced() {
    let home = tempfile::tempdir().unwrap();
    let from = home.path().join("from");
    source(&from);
    let from = from.to_str().unwrap();
    let etcd = Etcd::start(1);
    {
        let server = etcd.serve(&binary(), &[]).unwrap();
        let api = Api::new(server.endpoint.clone());
        api.create(MAPS, &map("extra", "of the target"));
        api.create(MAPS, &map("m0600", "of the target"));
    }
    let refused = copied(from, &etcd.servers(), &[]).unwrap_err();
    let key = "is there already, and different; --overwrite replaces it";
    assert!(refused.contains(key), "{refused}");
    let [new, old, verified] = copied(from, &etcd.servers(), &["--overwrite"]).unwrap();
    assert!(new + old == verified && new >= 1, "{new} {old} {verified}");
    let server = etcd.serve(&binary(), &[]).unwrap();
    let after = values(&Api::new(server.endpoint.clone()));
    assert_eq!((after["m0600"].as_str(), after["extra"].as_str()), ("600", "of the target"));
    assert_eq!(after.len(), OBJECTS + 2, "and kube-root-ca.crt");
}
