//! Three etcd members and two servers under load, while members and servers are killed, paused and cut off: every
//! acknowledged write is kept, every object is linearizable, every watch is ordered and without gaps.
//!
//! `PLEACH_FAULT_SECONDS=3600 cargo test -p pleach-clients --test etcd_faults -- --nocapture` runs for an hour.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant};

use pleach_clients::history::{History, Operation, WatchHistory};
use pleach_clients::proxy::Proxy;
use pleach_clients::{Api, binary};
use pleach_conformance::etcd::Etcd;
use pleach_conformance::{Endpoint, TestServer};
use serde_json::{Value, json};

const MAPS: &str = "/api/v1/namespaces/faults/configmaps";
const KEYS: u64 = 6;
const WRITERS: u64 = 4;
const READERS: u64 = 2;
const PATIENCE: Duration = Duration::from_secs(15);

struct Cluster {
    etcd: Mutex<Etcd>,
    proxies: Vec<Proxy>,
    servers: Vec<RwLock<Option<TestServer>>>,
    urls: String,
    over: AtomicBool,
    random: AtomicU64,
}

impl Cluster {
    fn start() -> Self {
        let etcd = Etcd::start(3);
        let proxies: Vec<Proxy> = etcd
            .members
            .iter()
            .map(|member| Proxy::start(member.url.trim_start_matches("http://")))
            .collect();
        let urls: Vec<String> =
            proxies.iter().map(|proxy| format!("http://127.0.0.1:{}", proxy.port)).collect();
        let cluster = Self {
            etcd: Mutex::new(etcd),
            proxies,
            servers: vec![RwLock::new(None), RwLock::new(None)],
            urls: urls.join(","),
            over: AtomicBool::new(false),
            random: AtomicU64::new(1),
        };
        (0..cluster.servers.len()).for_each(|number| cluster.start_server(number));
        cluster
    }

    fn start_server(&self, number: usize) {
        for _ in 0..20 {
            let started = self.etcd.lock().unwrap().serve_at(&binary(), &self.urls, &[]);
            match started {
                Ok(server) => {
                    *self.servers[number].write().unwrap() = Some(server);
                    return;
                }
                // Without a quorum it does not start.
                Err(_) => std::thread::sleep(Duration::from_secs(1)),
            }
        }
        panic!("a server does not start");
    }

    fn random(&self, below: u64) -> u64 {
        let mut x = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % below
    }

    fn endpoint(&self, number: usize) -> Option<Endpoint> {
        self.servers[number].read().unwrap().as_ref().map(|server| server.endpoint.clone())
    }

    fn send(&self, server: usize, method: &str, path: &str, body: Option<&Value>) -> Option<(u16, Value)> {
        let endpoint = self.endpoint(server)?;
        let body = body.map(Value::to_string);
        let answer = endpoint.send(method, path, &[], body.as_deref(), PATIENCE).ok()?;
        let status = answer.status;
        Some((status, serde_json::from_slice(&answer.body().ok()?).ok()?))
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Does one fault and heals it.
    fn fault(&self) -> &'static str {
        let pause = Duration::from_millis(500 + self.random(2500));
        let member = self.random(3) as usize;
        let signal = |pid: u32, signal: &str| {
            let _ = Command::new("kill").args([signal, &pid.to_string()]).status();
        };
        match self.random(5) {
            0 => {
                self.etcd.lock().unwrap().members[member].kill();
                std::thread::sleep(pause);
                self.etcd.lock().unwrap().members[member].start();
                "etcd member killed"
            }
            1 => {
                let pid = self.etcd.lock().unwrap().members[member].pid();
                pid.into_iter().for_each(|pid| signal(pid, "-STOP"));
                std::thread::sleep(pause);
                pid.into_iter().for_each(|pid| signal(pid, "-CONT"));
                "etcd member paused"
            }
            2 => {
                self.proxies[member].cut();
                std::thread::sleep(pause);
                self.proxies[member].heal();
                "etcd member cut off"
            }
            3 => {
                let server = self.random(2) as usize;
                let pid = self.servers[server].read().unwrap().as_ref().map(TestServer::pid);
                pid.into_iter().for_each(|pid| signal(pid, "-STOP"));
                std::thread::sleep(pause);
                pid.into_iter().for_each(|pid| signal(pid, "-CONT"));
                "server paused"
            }
            _ => {
                let server = self.random(2) as usize;
                drop(self.servers[server].write().unwrap().take());
                std::thread::sleep(pause);
                self.start_server(server);
                "server killed"
            }
        }
    }
}

fn revision_of(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

fn value_of(object: &Value) -> String {
    object["data"]["value"].as_str().unwrap_or_default().to_owned()
}

/// Reads an object and, if it writes, replaces what it read.
fn client(cluster: &Cluster, writes: bool, history: &Mutex<History>, unknown: &AtomicU64) {
    while !cluster.is_over() {
        let key = format!("k{}", cluster.random(KEYS));
        let (from, to) = (cluster.random(2) as usize, cluster.random(2) as usize);
        let path = format!("{MAPS}/{key}");
        let began = Instant::now();
        let Some((200, object)) = cluster.send(from, "GET", &path, None) else {
            std::thread::sleep(Duration::from_millis(50));
            continue;
        };
        let replaced = revision_of(&object);
        let read = Operation {
            key: key.clone(),
            revision: replaced,
            replaced: None,
            value: value_of(&object),
            began,
            ended: Instant::now(),
        };
        history.lock().unwrap().operations.push(read);
        if !writes {
            continue;
        }
        let value = format!("{:016x}", cluster.random(u64::MAX));
        let mut object = object;
        object["data"] = json!({"value": value});
        let began = Instant::now();
        match cluster.send(to, "PUT", &path, Some(&object)) {
            Some((200, written)) => {
                let revision = revision_of(&written);
                let ended = Instant::now();
                let write = Operation { key, revision, replaced: Some(replaced), value, began, ended };
                history.lock().unwrap().operations.push(write);
            }
            Some((409, _)) => history.lock().unwrap().refused.push(value),
            _ => drop(unknown.fetch_add(1, Ordering::Relaxed)),
        }
    }
}

/// Watches through one server, and goes on where it was after the connection ended.
fn watcher(cluster: &Cluster, server: usize, history: &Mutex<History>) {
    while !cluster.is_over() {
        let Some((200, list)) = cluster.send(server, "GET", MAPS, None) else {
            std::thread::sleep(Duration::from_millis(100));
            continue;
        };
        let mut watched = WatchHistory { after: revision_of(&list), events: Vec::new() };
        let (mut resume, mut expired) = (watched.after, false);
        while !expired && !cluster.is_over() {
            let path = format!(
                "{MAPS}?watch=true&allowWatchBookmarks=true&timeoutSeconds=5&resourceVersion={resume}"
            );
            let opened = cluster
                .endpoint(server)
                .and_then(|endpoint| endpoint.send("GET", &path, &[], None, PATIENCE).ok());
            let Some(stream) = opened.filter(|stream| stream.status == 200) else {
                std::thread::sleep(Duration::from_millis(100));
                continue;
            };
            let _ = stream.lines(|line| {
                let Ok(event) = serde_json::from_str::<Value>(line) else { return };
                let object = &event["object"];
                match event["type"].as_str() {
                    Some("ERROR") => expired |= object["code"] == 410,
                    Some("BOOKMARK") => resume = revision_of(object),
                    Some(_) => {
                        let key = object["metadata"]["name"].as_str().unwrap().to_owned();
                        resume = revision_of(object);
                        watched.events.push((resume, key, value_of(object)));
                    }
                    None => {}
                }
            });
        }
        history.lock().unwrap().watches.push(watched);
    }
}

#[test]
fn acknowledged_writes_survive_faults() {
    let seconds = std::env::var("PLEACH_FAULT_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(45);
    let cluster = Cluster::start();
    let api = Api::new(cluster.endpoint(0).unwrap());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "faults"}});
    api.create("/api/v1/namespaces", &namespace);
    for number in 0..KEYS {
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("k{number}")}});
        api.create(MAPS, &map);
    }
    let (history, unknown) = (Mutex::new(History::default()), AtomicU64::new(0));
    let mut faults = std::collections::BTreeMap::<&str, u64>::new();
    let began = Instant::now();
    std::thread::scope(|scope| {
        let (cluster, history, unknown) = (&cluster, &history, &unknown);
        (0..WRITERS).for_each(|_| drop(scope.spawn(|| client(cluster, true, history, unknown))));
        (0..READERS).for_each(|_| drop(scope.spawn(|| client(cluster, false, history, unknown))));
        (0..4).for_each(|number| drop(scope.spawn(move || watcher(cluster, number % 2, history))));
        while began.elapsed() < Duration::from_secs(seconds) {
            std::thread::sleep(Duration::from_millis(500));
            *faults.entry(cluster.fault()).or_default() += 1;
        }
        // Healed: both servers answer with the same state.
        let healed = Instant::now();
        while !(0..2).all(|server| {
            matches!(cluster.send(server, "GET", "/api/v1/namespaces/faults", None), Some((200, _)))
        }) {
            assert!(healed.elapsed() < Duration::from_mins(1), "the servers do not recover");
            std::thread::sleep(Duration::from_millis(200));
        }
        std::thread::sleep(Duration::from_secs(2));
        cluster.over.store(true, Ordering::Relaxed);
    });
    let mut history = history.into_inner().unwrap();
    for (server, number) in (0..2).flat_map(|server| (0..KEYS).map(move |number| (server, number))) {
        let key = format!("k{number}");
        let began = Instant::now();
        let (status, object) = cluster.send(server, "GET", &format!("{MAPS}/{key}"), None).unwrap();
        assert_eq!(status, 200);
        let (revision, value) = (revision_of(&object), value_of(&object));
        let ended = Instant::now();
        history.operations.push(Operation { key, revision, replaced: None, value, began, ended });
    }
    let writes = history.operations.iter().filter(|operation| operation.replaced.is_some()).count();
    let events: usize = history.watches.iter().map(|watch| watch.events.len()).sum();
    let violations = history.violations();
    println!(
        "{} seconds; {writes} writes acknowledged, {} refused, {} of unknown outcome; {} reads; {} watches, {events} \
         events; faults {faults:?}; {} violations",
        began.elapsed().as_secs(),
        history.refused.len(),
        unknown.load(Ordering::Relaxed),
        history.operations.len() - writes,
        history.watches.len(),
        violations.len()
    );
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    assert!(writes > 20 && events > 20 && faults.values().sum::<u64>() > 3, "something has happened");
}
