//! Watchers on connections of their own: what an event costs the server and how long it takes to arrive, beside a
//! bare server that streams the same bytes.
//!
//! Writers change objects at full speed, and then at a fixed pace. A step in each object tells which write an event
//! comes from; its delay is the time from the begin of the request to the last byte of the event at a watcher.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use http::Method;

use crate::client::{Call, Connection, Server};
use crate::objects::{self, COLLECTION, object};
use crate::process::Work;
use crate::{Cli, bare, binary, other, start};

/// Updates per second of the second part, and for how many seconds.
const PACED: usize = 30;
const SECONDS: usize = 5;
/// Bytes of an annotation, which makes events 5 KB long.
const NOTE: usize = 400;
/// Where the step is in an object.
const STEP: &[u8] = b"\"step\":";

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// Watchers.
    pub(crate) watchers: usize,
    /// Writers at full speed.
    pub(crate) writers: usize,
    /// Updates at full speed.
    pub(crate) updates: usize,
    /// Turns; the middle one counts.
    pub(crate) turns: usize,
}

/// How fast writers write.
#[derive(Clone, Copy)]
enum Rate {
    /// Each its next update when its last is answered.
    Full { writers: usize, updates: usize },
    /// Updates at equal intervals by one writer.
    Fixed,
}

impl Rate {
    fn name(self) -> &'static str {
        match self {
            Self::Full { .. } => "full",
            Self::Fixed => "30/s",
        }
    }

    fn writers(self) -> usize {
        match self {
            Self::Full { writers, .. } => writers,
            Self::Fixed => 1,
        }
    }

    fn updates(self) -> usize {
        match self {
            Self::Full { updates, .. } => updates,
            Self::Fixed => PACED * SECONDS,
        }
    }
}

/// The interface of a server.
#[derive(Clone)]
enum Api {
    /// Watches of the kind and patches of its objects, after a resource version.
    Kubernetes { after: String },
    /// Streams of lines of a size.
    Bare { size: usize },
}

impl Api {
    fn stream(&self) -> String {
        match self {
            Self::Kubernetes { after } => format!("{COLLECTION}?watch=true&resourceVersion={after}"),
            Self::Bare { .. } => "/stream".into(),
        }
    }

    fn write(&self, writer: usize, step: usize) -> Call {
        let body = format!("{{\"spec\":{{\"step\":{step}}}}}");
        let (method, path) = match self {
            Self::Kubernetes { .. } => (Method::PATCH, format!("{COLLECTION}/watched-{writer}")),
            Self::Bare { size } => (Method::POST, format!("/stream/{size}")),
        };
        Call::new(method, path).with("application/merge-patch+json", body)
    }
}

/// When each update of a turn was begun.
struct Begun {
    /// The step of the first update: no two updates have the same, so that every one changes its object.
    first: usize,
    at: Vec<OnceLock<Instant>>,
}

impl Begun {
    fn new(updates: usize) -> Arc<Self> {
        static STEPS: AtomicUsize = AtomicUsize::new(1);
        let first = STEPS.fetch_add(updates, Ordering::Relaxed);
        Arc::new(Self { first, at: (0..updates).map(|_| OnceLock::new()).collect() })
    }
}

/// The figures of a turn.
struct Turn {
    /// Per event and watcher.
    work: Work,
    updates: f64,
    events: f64,
    p50: f64,
    p99: f64,
    /// The bytes of an event.
    size: usize,
}

/// Measures events at full speed and at a fixed pace.
pub(crate) async fn measure(cli: &Cli, plan: Plan) {
    let program = binary(cli);
    start::report(&program);
    let room = tempfile::tempdir().expect("a directory to measure in");
    let (ours, _child) = start::server(&program, room.path()).await;
    let (bare, _bare) = bare::start().await;
    let mut servers = vec![ours];
    servers.extend(cli.other.as_deref().map(|text| other(text, cli)));
    for server in &servers {
        objects::install(server).await;
        create(server, plan.writers.max(1)).await;
    }
    println!(
        "\n{} watchers on connections of their own\n{:<6} {:<10} {:>10} {:>10} {:>9} {:>9} {:>13} {:>13} {:>15} {:>12}",
        plan.watchers,
        "pace",
        "server",
        "updates/s",
        "events/s",
        "p50 ms",
        "p99 ms",
        "CPU µs/event",
        "writes/event",
        "switches/event",
        "bytes/event"
    );
    for pace in [Rate::Full { writers: plan.writers.max(1), updates: plan.updates.max(1) }, Rate::Fixed] {
        let mut turns: Vec<Vec<Turn>> = (0..=servers.len()).map(|_| Vec::new()).collect();
        for _ in 0..plan.turns.max(1) {
            let mut size = 0;
            for (server, turns) in servers.iter().zip(&mut turns) {
                let mut connection = Connection::open(server).await;
                let after = resource_version(&connection.must(&Call::new(Method::GET, COLLECTION)).await);
                let done = turn(server, Api::Kubernetes { after }, pace, plan.watchers).await;
                size = done.size;
                turns.push(done);
            }
            turns[servers.len()].push(turn(&bare, Api::Bare { size }, pace, plan.watchers).await);
        }
        let names = servers.iter().chain([&bare]).map(|server| &server.name);
        let cpu: Vec<f64> = names.zip(&mut turns).map(|(name, turns)| middle(pace, name, turns)).collect();
        for (server, each) in servers.iter().zip(&cpu) {
            println!(
                "{:<6} {:<10} {:.2} times the CPU time of the bare server (asked: 1.3)",
                "",
                server.name,
                each / cpu[servers.len()]
            );
        }
    }
}

/// Creates the objects that are written.
async fn create(server: &Server, count: usize) {
    let mut connection = Connection::open(server).await;
    for writer in 0..count {
        let mut object = object(&format!("watched-{writer}"), 0);
        if let Some(metadata) = object.get_mut("metadata").and_then(|metadata| metadata.as_object_mut()) {
            metadata.insert("annotations", pleach_json::json!({"example.com/note": ("n".repeat(NOTE))}));
        }
        let body = pleach_json::to_vec(&object);
        connection.must(&Call::new(Method::POST, COLLECTION).with("application/json", body)).await;
    }
}

fn resource_version(list: &[u8]) -> String {
    let list = pleach_json::parse(list).expect("a list");
    let version = list.at(&["metadata", "resourceVersion"]).and_then(|version| version.as_str());
    version.expect("a resource version").to_owned()
}

fn middle(pace: Rate, server: &str, turns: &mut [Turn]) -> f64 {
    turns.sort_by(|a, b| a.work.cpu.total_cmp(&b.work.cpu));
    let turn = &turns[turns.len() / 2];
    println!(
        "{:<6} {server:<10} {:>10.0} {:>10.0} {:>9.1} {:>9.1} {:>13.2} {:>13.2} {:>15.2} {:>12.0}",
        pace.name(),
        turn.updates,
        turn.events,
        turn.p50,
        turn.p99,
        turn.work.cpu * 1e6,
        turn.work.writes,
        turn.work.switches,
        turn.work.written
    );
    turn.work.cpu
}

/// Opens all streams, writes, and waits until each has every event.
async fn turn(server: &Server, api: Api, pace: Rate, watchers: usize) -> Turn {
    let (updates, opened) = (pace.updates(), Arc::new(AtomicUsize::new(0)));
    let begun = Begun::new(updates);
    let watching: Vec<_> = (0..watchers)
        .map(|_| tokio::spawn(watch(server.clone(), api.stream(), opened.clone(), begun.clone())))
        .collect();
    while opened.load(Ordering::Relaxed) < watchers {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let (begin, before) = (Instant::now(), Work::of(&server.pids));
    let next = Arc::new(AtomicUsize::new(0));
    let writing: Vec<_> = (0..pace.writers())
        .map(|writer| {
            tokio::spawn(write(server.clone(), api.clone(), pace, writer, next.clone(), begun.clone()))
        })
        .collect();
    for writer in writing {
        writer.await.expect("a writer");
    }
    let wrote = begin.elapsed().as_secs_f64();
    let (mut delays, mut size) = (Vec::with_capacity(updates * watchers), 0);
    for watcher in watching {
        let (more, length) = watcher.await.expect("a watcher");
        delays.extend(more);
        size = length;
    }
    let took = begin.elapsed().as_secs_f64();
    let work = Work::of(&server.pids).since(before, updates * watchers);
    delays.sort_unstable();
    let at =
        |percent: usize| delays[(delays.len() * percent / 100).min(delays.len() - 1)].as_secs_f64() * 1e3;
    let events = (updates * watchers) as f64 / took;
    Turn { work, updates: updates as f64 / wrote, events, p50: at(50), p99: at(99), size }
}

/// Writes until all updates are made.
async fn write(
    server: Server,
    api: Api,
    pace: Rate,
    writer: usize,
    next: Arc<AtomicUsize>,
    begun: Arc<Begun>,
) {
    let mut connection = Connection::open(&server).await;
    let mut ticks = tokio::time::interval(Duration::from_secs(1) / PACED as u32);
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let Some(at) = begun.at.get(number) else { return };
        if matches!(pace, Rate::Fixed) {
            ticks.tick().await;
        }
        let _ = at.set(Instant::now());
        connection.must(&api.write(writer, begun.first + number)).await;
    }
}

/// Reads a stream until it has every event: their delays, and the size of one.
async fn watch(
    server: Server,
    path: String,
    opened: Arc<AtomicUsize>,
    begun: Arc<Begun>,
) -> (Vec<Duration>, usize) {
    let mut connection = Connection::open(&server).await;
    let (mut delays, mut size) = (Vec::with_capacity(begun.at.len()), 0);
    let has_opened = || {
        opened.fetch_add(1, Ordering::Relaxed);
    };
    let line = |line: &[u8]| {
        size = line.len() + 1;
        let number = step_of(line).expect("an event has a step") - begun.first;
        delays.push(begun.at[number].get().expect("a write comes before its event").elapsed());
        delays.len() < begun.at.len()
    };
    connection.lines(&path, has_opened, line).await;
    (delays, size)
}

fn step_of(line: &[u8]) -> Option<usize> {
    let at = line.windows(STEP.len()).position(|window| window == STEP)? + STEP.len();
    let digits = line[at..].iter().take_while(|byte| byte.is_ascii_digit());
    std::str::from_utf8(&line[at..at + digits.count()]).ok()?.parse().ok()
}
