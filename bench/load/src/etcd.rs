//! A server on etcd beside one on a data directory: cost of requests and events, memory, start, and how soon
//! another server on the same etcd serves a new CRD.
//!
//! Both get the same requests in turns. The CPU time is that of the servers: etcd's own is not counted.

use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::Method;
use pleach_conformance::etcd::Etcd;
use tempfile::TempDir;
use tokio::process::Child;

use crate::client::{Call, Connection, Server};
use crate::objects::{self, COLLECTION, DEFINITIONS, definition, object, schema};
use crate::operations::{self, Operation, Plan};
use crate::{Cli, binary, crds, other, process, start};

/// Updates that every watcher sees.
const UPDATES: usize = 300;
/// The time between two of them.
const PACE: Duration = Duration::from_millis(25);
/// CRDs that another server is to serve.
const PROPAGATED: usize = 200;

/// A server on a data directory, and one on etcd.
struct Pair {
    servers: Vec<Server>,
    children: Vec<Child>,
    etcd: Etcd,
    room: TempDir,
}

impl Pair {
    async fn start(program: &Path) -> Self {
        let room = tempfile::tempdir().expect("a directory to measure in");
        let etcd = Etcd::start(1);
        let made = std::process::Command::new(program)
            .arg("credentials")
            .arg(room.path().join("shared"))
            .stdout(Stdio::null())
            .status();
        assert!(made.is_ok_and(|status| status.success()), "credentials are made");
        let mut pair = Self { servers: Vec::new(), children: Vec::new(), etcd, room };
        pair.start_servers(program).await;
        pair
    }

    /// How long each took to be ready.
    async fn start_servers(&mut self, program: &Path) -> [Duration; 2] {
        for mut child in self.children.drain(..) {
            let _ = child.kill().await;
        }
        self.servers.clear();
        let (embedded, first, took) =
            start::named("embedded", program, &self.room.path().join("data"), &[]).await;
        let (on_etcd, second, took_etcd) = self.another("etcd", program).await;
        self.servers = vec![embedded, on_etcd];
        self.children = vec![first, second];
        [took, took_etcd]
    }

    /// One more server on etcd.
    async fn another(&self, name: &str, program: &Path) -> (Server, Child, Duration) {
        let kubeconfig = self.room.path().join(format!("kubeconfig-{name}"));
        let kubeconfig = kubeconfig.to_string_lossy();
        let arguments = ["--etcd-servers", &self.etcd.servers(), "--kubeconfig", &kubeconfig];
        start::named(name, program, &self.room.path().join("shared"), &arguments).await
    }

    fn resident(&self) -> Vec<f64> {
        self.servers.iter().map(|server| process::resident(server.pids[0])).collect()
    }

    fn port(&self) -> u16 {
        let url = &self.etcd.members[0].url;
        url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a URL with a port")
    }
}

/// Measures everything.
pub(crate) async fn measure(cli: &Cli, objects: usize, watchers: usize) {
    let program = binary(cli);
    start::report(&program);
    let wanted = |name: &str| cli.only.is_empty() || cli.only.iter().any(|only| only == name);
    let plan = Plan { connections: cli.connections, requests: cli.requests, turns: cli.turns };
    let mut pair = Pair::start(&program).await;
    pair.servers.extend(cli.other.as_deref().map(|text| other(text, cli)));
    for server in &pair.servers {
        objects::install(server).await;
    }
    println!(
        "\n{:<10} {:<10} {:>9} {:>9} {:>9} {:>12}",
        "operation", "server", "per s", "p50 ms", "p99 ms", "CPU µs each"
    );
    for operation in Operation::OF_STORES.into_iter().filter(|operation| wanted(operation.name())) {
        let figures = operations::compare(operation, &pair.servers, plan).await;
        let cost: Vec<f64> = figures.iter().map(|figures| figures.cpu).collect();
        // Only reads that need no look at etcd are bounded by the embedded store's.
        let (asked, asked_other) = match operation {
            Operation::CachedGet | Operation::CachedList => ("at most 1.1", 50),
            Operation::Get | Operation::List => ("reported", 50),
            _ => ("at most 2.5", 15),
        };
        ratio(operation.name(), cost[1] / cost[0], asked);
        if let Some(theirs) = cost.get(2) {
            println!(
                "{:<10} {}: {:.1} times that of etcd (asked: at least {asked_other})",
                "",
                pair.servers[2].name,
                theirs / cost[1]
            );
        }
    }
    if wanted("watch") {
        events(&pair.servers, watchers).await;
    }
    if wanted("crd") {
        propagation(&pair, &program).await;
    }
    drop(pair);
    if cli.crds > 0 && wanted("crds") {
        many_crds(&program, cli.crds).await;
    }
    if objects > 0 && wanted("objects") {
        many_objects(&program, objects, plan).await;
    }
}

fn ratio(what: &str, found: f64, asked: &str) {
    println!("{what:<10} {found:.2} times that of the embedded store (asked: {asked})");
}

/// CPU time per event and watcher.
async fn events(servers: &[Server], watchers: usize) {
    let mut cost = Vec::new();
    for server in servers {
        let mut writer = Connection::open(server).await;
        let body = pleach_json::to_vec(&object("watched", 0));
        let created = writer.must(&Call::new(Method::POST, COLLECTION).with("application/json", body)).await;
        let created = pleach_json::parse(&created).expect("an object");
        let version = created
            .at(&["metadata", "resourceVersion"])
            .and_then(|version| version.as_str().map(str::to_owned));
        let path =
            format!("{COLLECTION}?watch=true&resourceVersion={}", version.expect("a resource version"));
        let opened = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..watchers)
            .map(|_| {
                let (server, path, opened) = (server.clone(), path.clone(), opened.clone());
                tokio::spawn(async move {
                    let mut connection = Connection::open(&server).await;
                    let has_opened = || {
                        opened.fetch_add(1, Ordering::Relaxed);
                    };
                    connection.watch(&path, UPDATES, has_opened).await;
                })
            })
            .collect();
        while opened.load(Ordering::Relaxed) < watchers {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let before = process::cpu(&server.pids);
        // At the same pace on all servers: a watcher that gets several events at once is cheaper.
        let mut pace = tokio::time::interval(PACE);
        for n in 0..UPDATES {
            pace.tick().await;
            let body = format!("{{\"spec\":{{\"step\":{}}}}}", n + 1);
            let call = Call::new(Method::PATCH, format!("{COLLECTION}/watched"));
            writer.must(&call.with("application/merge-patch+json", body)).await;
        }
        for task in tasks {
            task.await.expect("a watcher");
        }
        let each = (process::cpu(&server.pids) - before) * 1e6 / (UPDATES * watchers) as f64;
        println!("{:<10} {:<10} {each:>42.2}", "event", server.name);
        cost.push(each);
    }
    ratio("event", cost[1] / cost[0], "at most 1.2");
}

/// How soon a second server serves what the first has created.
async fn propagation(pair: &Pair, program: &Path) {
    let (second, _child, _) = pair.another("second", program).await;
    let (mut to_first, mut to_second) =
        (Connection::open(&pair.servers[1]).await, Connection::open(&second).await);
    let mut took = Vec::new();
    for n in 0..PROPAGATED {
        let group = format!("p{n}.bench.pleach.example");
        let body = definition(&format!("gadgets.{group}"), &group, schema());
        to_first.must(&Call::new(Method::POST, DEFINITIONS).with("application/json", body)).await;
        let created = Instant::now();
        let call = Call::new(Method::GET, format!("/apis/{group}/v1/gadgets"));
        while !to_second.send(&call).await.0.is_success() {
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        took.push(created.elapsed().as_secs_f64() * 1e3);
    }
    took.sort_unstable_by(f64::total_cmp);
    let at = |percent: usize| took[(took.len() * percent / 100).min(took.len() - 1)];
    println!(
        "a new CRD is served by another server after p50 {:.1} ms, p99 {:.1} ms (asked: p99 100), at most {:.1} ms; {PROPAGATED} CRDs",
        at(50),
        at(99),
        at(100)
    );
}

/// Memory and connections with many CRDs.
async fn many_crds(program: &Path, count: usize) {
    let pair = Pair::start(program).await;
    let before = pair.resident();
    for server in &pair.servers {
        let mut connection = Connection::open(server).await;
        for n in 0..count {
            crds::install(&mut connection, n).await;
        }
    }
    tokio::time::sleep(Duration::from_secs(3)).await;
    let after = pair.resident();
    println!(
        "\n{count} CRDs: {:.0} MB embedded, {:.0} MB on etcd ({:.0} and {:.0} when empty), {} connections to etcd",
        after[0],
        after[1],
        before[0],
        before[1],
        process::connections(pair.servers[1].pids[0], pair.port())
    );
    ratio("memory", after[1] / after[0], "at most 1.1");
}

/// Memory of many objects, and starting with them.
async fn many_objects(program: &Path, count: usize, plan: Plan) {
    let mut pair = Pair::start(program).await;
    let before = pair.resident();
    for server in &pair.servers {
        objects::install(server).await;
    }
    operations::compare(Operation::Create, &pair.servers, Plan { requests: count, turns: 1, ..plan }).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let after = pair.resident();
    let each = |n: usize| (after[n] - before[n]) * 1024.0 / count as f64;
    println!("\n{count} objects: {:.2} KB resident each embedded, {:.2} KB on etcd", each(0), each(1));
    let took = pair.start_servers(program).await;
    for (server, took) in pair.servers.iter().zip(took) {
        let pid = server.pids[0];
        println!(
            "{:<10} ready with them after {:.1} s, {:.1} s of CPU; {:.0} MB resident, {:.0} MB at most",
            server.name,
            took.as_secs_f64(),
            process::cpu(&server.pids),
            process::resident(pid),
            process::peak(pid)
        );
    }
}
