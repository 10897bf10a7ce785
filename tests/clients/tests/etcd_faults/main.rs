//! Three etcd members and two servers under load, while members and servers are killed, paused, cut off and partitioned,
//! two of them at a time, and a CRD is changed: every acknowledged write is kept, every object is linearizable, every watch
//! is ordered and without gaps, each of its bookmarks can be resumed from, and no object is admitted under a schema that
//! was replaced.
//!
//! `PLEACH_FAULT_SECONDS=3600 cargo test -p pleach-clients --test etcd_faults -- --nocapture` runs for an hour; ninety
//! seconds is the default, which takes two minutes altogether.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod cluster;
mod schemas;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use pleach_clients::history::{Change, History, Operation, Outcome, WatchHistory};
use pleach_clients::{Api, eventually, tools};
use serde_json::{Value, json};

use self::cluster::{Cluster, SERVERS};
use self::schemas::Schemas;

/// Objects of a built-in kind, and custom resources.
const COLLECTIONS: [&str; 2] =
    ["/api/v1/namespaces/faults/configmaps", "/apis/example.com/v1/namespaces/faults/registers"];
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const KEYS: u64 = 4;
/// After so many seconds other objects are used, so that no object's history gets long.
const GENERATION: u64 = 60;
/// A client pauses between requests: what is looked for are faults, not the machine's limits.
const PACE: Duration = Duration::from_millis(10);
/// Faults that are injected at the same time.
const FAULTS: usize = 2;
/// Pauses between faults: while only some of them overlap, requests get through.
const BETWEEN_FAULTS: [Duration; FAULTS] = [Duration::from_millis(500), Duration::from_secs(4)];
const WRITERS: u64 = 8;
const READERS: u64 = 4;
/// How long a request may take; what is answered later is of unknown outcome.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a watch may be silent.
const SILENCE: Duration = Duration::from_secs(15);

fn revision_of(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

fn content_of(object: &Value) -> String {
    object["data"]["value"].as_str().unwrap_or_default().to_owned()
}

fn object(collection: usize, name: &str, content: &str) -> Value {
    let (version, kind) = [("v1", "ConfigMap"), ("example.com/v1", "Register")][collection];
    json!({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "data": {"value": content}})
}

/// Whether an answer is about an object: before a server knows a CRD, it has no such path.
fn says(answer: &Value, reason: &str) -> bool {
    answer["reason"] == reason
}

/// A read that says nothing about the object.
struct NoAnswer;

/// Reads an object; `None`: it is absent.
fn read(
    cluster: &Cluster,
    server: usize,
    path: &str,
    key: &str,
    history: &Mutex<History>,
) -> Result<Option<Value>, NoAnswer> {
    let began = Instant::now();
    let (status, answer) = cluster.send(server, "GET", path, None).ok_or(NoAnswer)?;
    let (outcome, found) = match status {
        200 => (Outcome::At(revision_of(&answer), content_of(&answer)), Some(answer)),
        404 if says(&answer, "NotFound") => (Outcome::Absent, None),
        _ => return Err(NoAnswer),
    };
    let operation = Operation { key: key.into(), change: None, outcome, began, ended: Instant::now() };
    history.lock().unwrap().operations.push(operation);
    Ok(found)
}

/// Reads an object and, if it writes, creates it, replaces what it read, or deletes that.
fn client(cluster: &Cluster, began: Instant, writes: bool, history: &Mutex<History>) {
    while !cluster.is_over() {
        std::thread::sleep(PACE);
        let collection = cluster.random(2) as usize;
        let name = format!("k{}-{}", began.elapsed().as_secs() / GENERATION, cluster.random(KEYS));
        let (from, to) = (cluster.random(2) as usize, cluster.random(2) as usize);
        let (key, path) = (format!("{collection}/{name}"), format!("{}/{name}", COLLECTIONS[collection]));
        let Ok(found) = read(cluster, from, &path, &key, history) else {
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        if writes {
            write(cluster, to, (&key, &path), found, history);
        }
    }
}

fn write(
    cluster: &Cluster,
    server: usize,
    (key, path): (&str, &str),
    found: Option<Value>,
    history: &Mutex<History>,
) {
    let (collection_path, name) = path.rsplit_once('/').unwrap();
    let collection = COLLECTIONS.iter().position(|path| *path == collection_path).unwrap();
    let content = format!("{:016x}", cluster.random(u64::MAX));
    let replaced = found.as_ref().map(revision_of);
    let mut change = Change { replaced, from: found.as_ref().map(content_of), to: Some(content.clone()) };
    let (method, path, body) = match found {
        None => ("POST", collection_path, object(collection, name, &content)),
        Some(found) if cluster.random(8) == 0 => {
            change.to = None;
            (
                "DELETE",
                path,
                json!({"preconditions": {"resourceVersion": found["metadata"]["resourceVersion"]}}),
            )
        }
        Some(mut found) => {
            found["data"] = json!({"value": content});
            ("PUT", path, found)
        }
    };
    let began = Instant::now();
    let answer = cluster.send(server, method, path, Some(&body));
    let outcome = match answer {
        Some((200 | 201, _)) if change.to.is_none() => Outcome::Absent,
        Some((200 | 201, written)) => Outcome::At(revision_of(&written), content),
        Some((409, _)) => Outcome::Refused,
        Some((404, answer)) if says(&answer, "NotFound") => Outcome::Refused,
        _ => Outcome::Unknown,
    };
    let operation =
        Operation { key: key.into(), change: Some(change), outcome, began, ended: Instant::now() };
    history.lock().unwrap().operations.push(operation);
}

/// Watches through one server, and goes on where it was after the connection ended.
fn watcher(cluster: &Cluster, server: usize, collection: usize, history: &Mutex<History>) {
    let path = COLLECTIONS[collection];
    while !cluster.is_over() {
        let Some((200, list)) = cluster.send(server, "GET", path, None) else {
            std::thread::sleep(Duration::from_millis(100));
            continue;
        };
        let after = revision_of(&list);
        let mut watched = WatchHistory { prefix: format!("{collection}/"), after, ..WatchHistory::default() };
        let (mut resume, mut expired) = (after, false);
        while !expired && !cluster.is_over() {
            let path = format!(
                "{path}?watch=true&allowWatchBookmarks=true&timeoutSeconds=5&resourceVersion={resume}"
            );
            let opened = cluster
                .endpoint(server)
                .and_then(|endpoint| endpoint.send("GET", &path, &[], None, SILENCE).ok());
            let Some(stream) = opened.filter(|stream| stream.status == 200) else {
                std::thread::sleep(Duration::from_millis(100));
                continue;
            };
            let _ = stream.lines(|line| {
                let Ok(event) = serde_json::from_str::<Value>(line) else { return };
                let object = &event["object"];
                match event["type"].as_str() {
                    Some("ERROR") => expired |= object["code"] == 410,
                    Some("BOOKMARK") => {
                        resume = revision_of(object);
                        watched.bookmarks.push((watched.events.len(), resume));
                    }
                    Some(kind) => {
                        let name = object["metadata"]["name"].as_str().unwrap();
                        let content = (kind != "DELETED").then(|| content_of(object));
                        resume = revision_of(object);
                        watched.events.push((resume, format!("{collection}/{name}"), content));
                    }
                    None => {}
                }
            });
        }
        history.lock().unwrap().watches.push(watched);
    }
}

/// Gives the history to the checker of linearizability; what it says if it finds something.
fn linearizable(history: &History) -> Result<String, String> {
    let file = tempfile::NamedTempFile::new().unwrap();
    history.export(file.path()).unwrap();
    let installed = tools().join("venv/bin/go");
    let go = if installed.exists() { installed } else { "go".into() };
    let module = concat!(env!("CARGO_MANIFEST_DIR"), "/../go/linearizability");
    let checked = Command::new(go).args(["-C", module, "run", "."]).arg(file.path()).output().unwrap();
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    let complained = String::from_utf8_lossy(&checked.stderr).into_owned();
    if checked.status.success() { Ok(said) } else { Err(said + &complained) }
}

#[test]
fn acknowledged_writes_survive_faults() {
    let seconds = std::env::var("PLEACH_FAULT_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(90);
    let cluster = Cluster::start();
    let api = Api::new(cluster.endpoint(0).unwrap());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "faults"}});
    api.create("/api/v1/namespaces", &namespace);
    api.create(DEFINITIONS, &schemas::definition(0));
    for server in 0..SERVERS {
        let api = Api::new(cluster.endpoint(server).unwrap());
        eventually("the kind is served", || (api.get(COLLECTIONS[1]).status == 200).then_some(()));
    }
    let history = Mutex::new(History::default());
    let schemas = Schemas::default();
    let faults = Mutex::new(BTreeMap::<&str, u64>::new());
    let began = Instant::now();
    std::thread::scope(|scope| {
        let (cluster, history, schemas, faults) = (&cluster, &history, &schemas, &faults);
        for number in 0..WRITERS + READERS {
            scope.spawn(move || client(cluster, began, number < WRITERS, history));
        }
        for number in 0..4 {
            scope.spawn(move || watcher(cluster, number % 2, number / 2, history));
        }
        scope.spawn(move || schemas.change(cluster));
        let injecting = BETWEEN_FAULTS.map(|pause| {
            scope.spawn(move || {
                while began.elapsed() < Duration::from_secs(seconds) {
                    std::thread::sleep(pause);
                    let fault = cluster.fault();
                    *faults.lock().unwrap().entry(fault).or_default() += 1;
                }
            })
        });
        injecting.into_iter().for_each(|thread| thread.join().unwrap());
        // Healed: both servers answer with the same state.
        let healed = Instant::now();
        while !(0..SERVERS).all(|server| {
            matches!(cluster.send(server, "GET", "/api/v1/namespaces/faults", None), Some((200, _)))
        }) {
            assert!(healed.elapsed() < Duration::from_mins(1), "the servers do not recover");
            std::thread::sleep(Duration::from_millis(200));
        }
        std::thread::sleep(Duration::from_secs(2));
        cluster.over.store(true, Ordering::Relaxed);
    });
    let keys: BTreeSet<String> =
        history.lock().unwrap().operations.iter().map(|operation| operation.key.clone()).collect();
    for (server, key) in (0..SERVERS).flat_map(|server| keys.iter().map(move |key| (server, key))) {
        let (collection, name) = key.split_once('/').unwrap();
        let path = format!("{}/{name}", COLLECTIONS[collection.parse::<usize>().unwrap()]);
        assert!(read(&cluster, server, &path, key, &history).is_ok(), "{path} can be read");
    }
    let overlapping = cluster.overlapping.load(Ordering::Relaxed);
    report(
        &history.into_inner().unwrap(),
        &schemas,
        (&faults.into_inner().unwrap(), overlapping),
        began.elapsed(),
    );
}

/// Prints the figures and fails if there are violations, or if hardly anything happened.
fn report(
    history: &History,
    schemas: &Schemas,
    (faults, overlapping): (&BTreeMap<&str, u64>, u64),
    took: Duration,
) {
    let count = |wanted: fn(&Operation) -> bool| history.operations.iter().filter(|one| wanted(one)).count();
    let writes =
        count(|one| one.change.is_some() && matches!(one.outcome, Outcome::At(..) | Outcome::Absent));
    let refused = count(|one| matches!(one.outcome, Outcome::Refused));
    let unknown = count(|one| matches!(one.outcome, Outcome::Unknown));
    let reads = count(|one| one.change.is_none());
    let events: usize = history.watches.iter().map(|watch| watch.events.len()).sum();
    let bookmarks: usize = history.watches.iter().map(|watch| watch.bookmarks.len()).sum();
    let injected: u64 = faults.values().sum();
    let mut violations = history.violations();
    violations.extend(schemas.violations());
    let checked = linearizable(history);
    println!(
        "{} operations, {injected} faults ({overlapping} while another one lasted), {} seconds, {} violations",
        history.operations.len(),
        took.as_secs(),
        violations.len() + usize::from(checked.is_err())
    );
    println!(
        "{writes} writes acknowledged, {refused} refused, {unknown} of unknown outcome; {reads} reads; {} watches, \
         {events} events, {bookmarks} bookmarks; {} CRD changes, {} objects refused by them; {faults:?}",
        history.watches.len(),
        schemas.changes(),
        schemas.refused()
    );
    match checked {
        Ok(said) => println!("{}", said.trim_end()),
        Err(said) => violations.push(said),
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    // An idle run proves nothing. A busy machine of two cores does ten times as much.
    let seconds = took.as_secs();
    assert!(
        writes as u64 > seconds / 2 && reads as u64 > seconds && events as u64 > seconds,
        "hardly any operations"
    );
    assert!(injected > seconds / 15 && overlapping > 0, "hardly any faults");
    assert!(schemas.changes() > seconds / 20 && schemas.refused() > seconds / 20, "hardly any CRD changes");
}
