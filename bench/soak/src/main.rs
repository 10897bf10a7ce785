//! Soak test: well-behaved clients beside hostile ones on one server, for as long as wanted.
//!
//! Prints latencies of the well-behaved clients, memory before and after, and whether every acknowledged write
//! is there after `kill -9`. Ends with 1 if a write was lost, a well-behaved client met an error, a request of
//! its took more than two seconds, or memory did not come back.

mod behaved;
mod client;
mod hostile;
mod random;
mod world;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use http::Method;
use pleach_conformance::{HookServer, TestServer};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::behaved::{Expected, Seen};
use crate::client::{Call, Server};
use crate::hostile::Answers;

/// The phases and their lengths.
#[derive(Parser)]
struct Options {
    /// The server's binary.
    #[arg(long, default_value = "target/release/pleach")]
    binary: PathBuf,
    /// Seconds with hostile clients.
    #[arg(long, default_value_t = 3_600)]
    seconds: u64,
    /// Well-behaved writers.
    #[arg(long, default_value_t = 4)]
    writers: u64,
    /// Hostile clients.
    #[arg(long, default_value_t = 8)]
    hostile: u64,
}

#[tokio::main]
async fn main() -> ExitCode {
    let options = Options::parse();
    let data = tempfile::tempdir().expect("a temporary directory");
    let arguments = ["--data-dir", data.path().to_str().expect("a path of text"), "--history-mib", "8"];
    let process = TestServer::start(&options.binary, &arguments).expect("the server starts");
    let server = Server { port: process.endpoint.port, token: process.endpoint.token.clone() };
    let turn = AtomicU64::new(0);
    let hook = HookServer::start(0, move |_, _| {
        match turn.fetch_add(1, Ordering::Relaxed) % 4 {
            0 => std::thread::sleep(Duration::from_secs(20)),
            1 => return (500, "x".repeat(100_000)),
            2 => return (200, "{".repeat(100_000)),
            _ => {}
        }
        (200, "{}".into())
    })
    .expect("the webhook listens");
    world::make(&server, &hook).await.expect("the server takes the kinds");

    let seen = Arc::new(Seen::default());
    let mut expected = behave(&options, &server, &seen, (options.seconds / 20).clamp(5, 60), 0, None).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let idle = resident(process.pid());
    println!("idle after {} requests: {idle} kB", seen.requests.load(Ordering::Relaxed));

    let answers = Arc::new(Answers::default());
    let began = Instant::now();
    expected.extend(behave(&options, &server, &seen, options.seconds, options.writers, Some(&answers)).await);
    println!("soaked for {:?}", began.elapsed());
    let mut after = resident(process.pid());
    println!("at the end: {after} kB");
    // What hostile clients stored is data like any other: without it, and without the five minutes of history that
    // the server keeps, it holds what it held before.
    for plural in ["mazes", "loops", "trees"] {
        let _ = server.once(Call::new(Method::DELETE, world::path(plural))).await;
    }
    for _ in 0..80 {
        tokio::time::sleep(Duration::from_secs(5)).await;
        after = resident(process.pid());
        if after * 100 <= idle * 120 {
            break;
        }
    }
    println!("idle again: {after} kB, {} % of before", after * 100 / idle.max(1));
    let panics = metric(&server, "pleach_request_panics_total").await;

    // As kill -9 does it.
    drop(process);
    let process = TestServer::start(&options.binary, &arguments).expect("the server starts again");
    let server = Server { port: process.endpoint.port, token: process.endpoint.token.clone() };
    let lost = lost(&server, &expected).await;
    report(&seen, &answers);
    println!(
        "{} objects checked after kill -9, {} lost or wrong; panics {panics}",
        expected.len(),
        lost.len()
    );
    lost.iter().take(10).for_each(|lost| println!("  {lost}"));
    let failures = seen.failures.lock().expect("no panic before").len();
    let slow = seen.slow.lock().expect("no panic before").len();
    let held = lost.is_empty() && failures == 0 && slow == 0 && after * 100 <= idle * 120 && panics == "0";
    println!("{}", if held { "held" } else { "did not hold" });
    ExitCode::from(u8::from(!held))
}

/// Runs the clients for some seconds; hostile ones only where their answers are wanted.
async fn behave(
    options: &Options,
    server: &Server,
    seen: &Arc<Seen>,
    seconds: u64,
    first: u64,
    answers: Option<&Arc<Answers>>,
) -> Expected {
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for number in first..first + options.writers {
        let (server, seen, stop) = (server.clone(), seen.clone(), stop.clone());
        writers.spawn(async move { behaved::write(server, number, &seen, &stop).await });
    }
    let mut others = JoinSet::new();
    for _ in 0..2 {
        let (server, seen, stop) = (server.clone(), seen.clone(), stop.clone());
        others.spawn(async move { behaved::watch(server, &seen, &stop).await });
    }
    if let Some(answers) = answers {
        for seed in 0..options.hostile {
            let (server, answers, stop) = (server.clone(), answers.clone(), stop.clone());
            others.spawn(async move { hostile::attack(server, seed, &answers, &stop).await });
        }
    }
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    stop.store(true, Ordering::Relaxed);
    let mut expected = Expected::new();
    while let Some(part) = writers.join_next().await {
        expected.extend(part.expect("a writer does not panic"));
    }
    while others.join_next().await.is_some() {}
    expected
}

/// Objects that are not as they were acknowledged.
async fn lost(server: &Server, expected: &Expected) -> Vec<String> {
    let mut connection = server.http2().await.expect("the server listens");
    let mut lost = Vec::new();
    for (name, states) in expected {
        let call = Call::new(Method::GET, format!("{}/{name}", world::path("widgets")));
        let (status, body) = connection.send(&call).await.expect("the server answers");
        let found: Value = serde_json::from_slice(&body).unwrap_or_default();
        let size = (status == 200).then(|| found["spec"]["size"].as_u64()).flatten();
        if !states.contains(&size) {
            lost.push(format!("{name}: {size:?} is none of {states:?}"));
        }
    }
    lost
}

async fn metric(server: &Server, name: &str) -> String {
    let (_, text) = server.once(Call::new(Method::GET, "/metrics")).await.expect("the server answers");
    let text = String::from_utf8_lossy(&text).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or(" no such metric");
    line.trim().to_owned()
}

/// Resident memory of a process, in kB.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the server runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux tells it");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn report(seen: &Seen, answers: &Answers) {
    println!(
        "well-behaved: {} requests, {} refused with 429, {} watch events; p50 {} ms, p99 {} ms, p99.99 {} ms, most {} ms",
        seen.requests.load(Ordering::Relaxed),
        seen.refused.load(Ordering::Relaxed),
        seen.events.load(Ordering::Relaxed),
        seen.percentile(0.5),
        seen.percentile(0.99),
        seen.percentile(0.9999),
        seen.percentile(1.0),
    );
    for (title, list) in [("slower than 2 s", &seen.slow), ("failed", &seen.failures)] {
        let list = list.lock().expect("no panic before");
        println!("{title}: {}", list.len());
        list.iter().take(10).for_each(|line| println!("  {line}"));
    }
    println!("hostile requests by answer (0: connection ended or given up):");
    for ((title, code), count) in answers.lock().expect("no panic before").iter() {
        println!("  {title}: {code} × {count}");
    }
}
