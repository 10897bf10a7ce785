//! One etcd, used by kube-apiserver and by this server in turn: each serves byte by byte what the other wrote.
//!
//! `PLEACH_KUBE_APISERVER=/path/to/kube-apiserver cargo test -p pleach-clients --test kube_apiserver`; without the
//! variable nothing is tested here, and `crates/pleach-storage` has recorded keys and values of a kube-apiserver.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pleach_clients::{Api, binary};
use pleach_conformance::etcd::{Etcd, free_port};
use pleach_conformance::{Endpoint, TestServer};
use serde_json::{Value, json};

const TOKEN: &str = "both";

struct KubeApiserver {
    process: Child,
    api: Api,
}

impl KubeApiserver {
    fn start(program: &Path, etcd: &Etcd, directory: &Path) -> Self {
        let (port, path) =
            (free_port().to_string(), |name: &str| directory.join(name).to_str().unwrap().to_owned());
        std::fs::write(path("tokens"), format!("{TOKEN},admin,admin,system:masters\n")).unwrap();
        let process = Command::new(program)
            .args([
                "--etcd-servers",
                &etcd.servers(),
                "--secure-port",
                &port,
                "--cert-dir",
                &path("certificates"),
            ])
            .args([
                "--bind-address",
                "127.0.0.1",
                "--token-auth-file",
                &path("tokens"),
                "--authorization-mode",
                "RBAC",
            ])
            .args([
                "--service-cluster-ip-range",
                "10.0.0.0/24",
                "--service-account-issuer",
                "https://both.example.com",
            ])
            .args([
                "--service-account-key-file",
                &path("sa.key"),
                "--service-account-signing-key-file",
                &path("sa.key"),
            ])
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(path("kube-apiserver.log")).unwrap())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
        let api = Api::new(Endpoint::new(port.parse().unwrap(), TOKEN));
        let server = Self { process, api };
        let end = Instant::now() + Duration::from_mins(2);
        while !server.api.try_send("GET", "/readyz", None).is_ok_and(|answer| answer.status == 200) {
            assert!(Instant::now() < end, "kube-apiserver is not ready: {}", path("kube-apiserver.log"));
            std::thread::sleep(Duration::from_millis(200));
        }
        server
    }

    fn stop(mut self) {
        let _ = Command::new("kill").args(["-TERM", &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}

impl Drop for KubeApiserver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn pleach(etcd: &Etcd) -> (TestServer, Api) {
    // Controllers would change what is compared.
    let controllers = "--controllers=*,-serviceaccount-controller,-serviceaccount-token-controller,\
                       -root-ca-certificate-publisher-controller,-garbage-collector-controller,-namespace-controller";
    let server = etcd.serve(&binary(), &[controllers]).unwrap();
    let api = Api::new(server.endpoint.clone());
    (server, api)
}

/// Bodies as they are sent, or the status.
fn read(api: &Api, paths: &[String]) -> BTreeMap<String, String> {
    let read = |path: &String| {
        let (status, _, body) = api.bytes("GET", path, &[], None);
        let body = if status == 200 { String::from_utf8(body).unwrap() } else { format!("{status}") };
        (path.clone(), body)
    };
    paths.iter().map(read).collect()
}

/// Paths of objects, and of their collections.
#[derive(Default)]
struct Paths {
    objects: Vec<String>,
    collections: Vec<String>,
}

impl Paths {
    fn all(&self) -> Vec<String> {
        [&self.objects[..], &self.collections].concat()
    }
}

/// Creates all objects under names with an ending.
fn create(api: &Api, ending: &str, wrong: &mut Vec<String>) -> Paths {
    let manifest = include_str!("../manifests/many-kinds.json");
    let mut paths = Paths::default();
    for entry in serde_json::from_str::<Vec<Value>>(manifest).unwrap() {
        let (collection, mut object) = (entry["path"].as_str().unwrap().to_owned(), entry["object"].clone());
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let once = ["both", "both-sa", "widgets.both.example.com", "planets.both.example.com"]
            .contains(&name.as_str());
        let name = if once { name } else { format!("{name}{ending}") };
        object["metadata"]["name"] = name.as_str().into();
        // A new CRD is served a moment later.
        let end = Instant::now() + Duration::from_secs(20);
        let mut answer = api.send("POST", &collection, Some(&object));
        while answer.status == 404 && collection.contains("both.example.com") && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(100));
            answer = api.send("POST", &collection, Some(&object));
        }
        match answer.status {
            201 | 404 => {}
            409 if once => {}
            _ => wrong.push(format!("POST {collection} {name}: {} {}", answer.status, answer.body)),
        }
        paths.objects.push(format!("{collection}/{name}"));
        paths.collections.push(collection);
    }
    paths.collections.sort();
    paths.collections.dedup();
    paths
}

/// Compares what was served where it was written with what is served there now: custom resources byte by byte, other
/// kinds by their content, since their keys are in another order here.
fn compare(
    what: &str,
    written: &BTreeMap<String, String>,
    served: &BTreeMap<String, String>,
    wrong: &mut Vec<String>,
) {
    for (path, after) in served {
        let (before, is_custom) = (&written[path], path.starts_with("/apis/both.example.com"));
        let (mut one, mut other) = (parsed(before), parsed(after));
        let is_list = one["items"].is_array();
        if is_list {
            [&mut one, &mut other].into_iter().for_each(keep_own);
        }
        if one != other || (is_custom && !is_list && before != after) {
            wrong.push(format!("{what}: {path}\n  written: {before}\n  served:  {after}"));
        }
    }
}

/// A list says the revision of the whole store, which grows as a server starts, and has objects of the server's own.
fn keep_own(list: &mut Value) {
    list["metadata"]["resourceVersion"] = Value::Null;
    if let Some(items) = list["items"].as_array_mut() {
        items.retain(|item| item["metadata"]["annotations"]["by"].is_string());
    }
}

fn parsed(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|_| body.into())
}

/// Changes every object.
fn annotate(api: &Api, objects: &[String], value: &str, wrong: &mut Vec<String>) {
    for path in objects {
        let answer = api.send("PATCH", path, Some(&json!({"metadata": {"annotations": {"by": value}}})));
        if answer.status != 200 {
            wrong.push(format!("PATCH {path}: {} {}", answer.status, answer.body));
        }
    }
}

#[test]
fn both_serve_what_the_other_wrote() {
    let Some(program) = std::env::var_os("PLEACH_KUBE_APISERVER").map(PathBuf::from) else {
        println!("PLEACH_KUBE_APISERVER is not set");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let key = directory.path().join("sa.key");
    let made = Command::new("openssl")
        .args(["genrsa", "-traditional", "-out"])
        .arg(key)
        .stderr(Stdio::null())
        .status();
    assert!(made.unwrap().success(), "openssl makes a key");
    let etcd = Etcd::start(1);
    let mut wrong = Vec::new();

    let upstream = KubeApiserver::start(&program, &etcd, directory.path());
    let mut paths = create(&upstream.api, "-theirs", &mut wrong);
    annotate(&upstream.api, &paths.objects, "kube-apiserver", &mut wrong);
    let theirs = read(&upstream.api, &paths.all());
    upstream.stop();

    let (server, api) = pleach(&etcd);
    let unserved: Vec<String> =
        paths.collections.iter().filter(|path| api.get(path).status == 404).cloned().collect();
    println!("not served here: {unserved:?}");
    let is_served = |path: &String| !unserved.iter().any(|unserved| path.starts_with(unserved));
    paths.objects.retain(is_served);
    paths.collections.retain(is_served);
    let ours = read(&api, &paths.all());
    compare("written by kube-apiserver", &theirs, &ours, &mut wrong);

    let mut more = create(&api, "-ours", &mut wrong);
    more.objects.retain(is_served);
    paths.objects.extend(more.objects);
    paths.objects.sort();
    paths.objects.dedup();
    annotate(&api, &paths.objects, "pleach", &mut wrong);
    let ours = read(&api, &paths.all());
    assert!(stops(server), "the server stops");

    let upstream = KubeApiserver::start(&program, &etcd, directory.path());
    let theirs = read(&upstream.api, &paths.all());
    compare("written by pleach", &ours, &theirs, &mut wrong);
    annotate(&upstream.api, &paths.objects, "kube-apiserver again", &mut wrong);
    upstream.stop();
    let paths = paths.all();
    println!("{} objects and lists compared, {} differ", paths.len(), wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn stops(mut server: TestServer) -> bool {
    let told = Command::new("kill").args(["-TERM", &server.pid().to_string()]).status();
    told.unwrap().success() && server.wait().unwrap().success()
}
