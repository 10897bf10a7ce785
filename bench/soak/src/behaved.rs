//! Well-behaved clients: acknowledged writes are recorded and compared with the objects at the end.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http::Method;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::client::{Call, Http2, Server};
use crate::random::Random;
use crate::world::{object, path};

/// The possible states of an object: each is its size, `None` stands for no object. More than one where a request had no
/// answer.
pub(crate) type Expected = BTreeMap<String, Vec<Option<u64>>>;

/// The effect of a request on an object, if it succeeds.
#[derive(Clone, Copy)]
enum Effect {
    None,
    Makes(u64),
    Deletes,
}

impl Effect {
    fn state(self) -> Option<u64> {
        match self {
            Self::Makes(size) => Some(size),
            Self::None | Self::Deletes => None,
        }
    }
}

/// The results of the clients.
#[derive(Default)]
pub(crate) struct Seen {
    /// Requests that were answered.
    pub(crate) requests: AtomicU64,
    /// Answers 429, which say to come back later.
    pub(crate) refused: AtomicU64,
    /// Connections that broke, and answers that a client does not expect.
    pub(crate) failures: Mutex<Vec<String>>,
    /// The latencies, in milliseconds rounded up, and how often each was.
    pub(crate) latencies: Mutex<BTreeMap<u64, u64>>,
    /// The slowest requests.
    pub(crate) slow: Mutex<Vec<String>>,
    /// Events that watches delivered.
    pub(crate) events: AtomicU64,
}

impl Seen {
    fn answered(&self, call: &Call, took: Duration) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let millis = took.as_micros().div_ceil(1_000) as u64;
        *self.latencies.lock().expect("no panic before").entry(millis).or_default() += 1;
        if took > Duration::from_secs(2) {
            self.slow.lock().expect("no panic before").push(format!("{took:?}: {}", call.title()));
        }
    }

    fn failed(&self, why: String) {
        self.failures.lock().expect("no panic before").push(why);
    }

    /// The latency that a share of the requests kept to.
    pub(crate) fn percentile(&self, share: f64) -> u64 {
        let latencies = self.latencies.lock().expect("no panic before");
        let wanted = (latencies.values().sum::<u64>() as f64 * share) as u64;
        let mut seen = 0;
        for (millis, count) in latencies.iter() {
            seen += count;
            if seen >= wanted {
                return *millis;
            }
        }
        0
    }
}

/// Creates, changes, reads and deletes objects of its own until `stop` is set.
pub(crate) async fn write(server: Server, number: u64, seen: &Seen, stop: &AtomicBool) -> Expected {
    let mut random = Random::new(number + 1);
    let mut expected = Expected::new();
    let mut connection: Option<Http2> = None;
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(5)).await;
        let open = match &mut connection {
            Some(open) => open,
            None => match server.http2().await {
                Ok(opened) => connection.insert(opened),
                Err(error) => {
                    seen.failed(format!("connect: {error}"));
                    continue;
                }
            },
        };
        let name = format!("w{number}-{}", random.below(60));
        let size = random.below(1_000_000);
        let (call, effect) = operation(&mut random, &name, size, expected.get(&name));
        let began = Instant::now();
        match open.send(&call).await {
            Ok((status, body)) => {
                seen.answered(&call, began.elapsed());
                match status {
                    200 | 201 => {
                        if !matches!(effect, Effect::None) {
                            expected.insert(name, vec![effect.state()]);
                        }
                    }
                    404 | 409 => {}
                    429 => {
                        seen.refused.fetch_add(1, Ordering::Relaxed);
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                    other => {
                        let text: String = String::from_utf8_lossy(&body).chars().take(300).collect();
                        seen.failed(format!("{}: {other} {text}", call.title()));
                        uncertain(&mut expected, name, effect);
                    }
                }
            }
            Err(error) => {
                seen.failed(format!("{}: {error}", call.title()));
                uncertain(&mut expected, name, effect);
                connection = None;
            }
        }
    }
    expected
}

fn uncertain(expected: &mut Expected, name: String, effect: Effect) {
    if !matches!(effect, Effect::None) {
        expected.entry(name).or_insert_with(|| vec![None]).push(effect.state());
    }
}

/// A request, and what it makes of the object if it succeeds.
fn operation(random: &mut Random, name: &str, size: u64, now: Option<&Vec<Option<u64>>>) -> (Call, Effect) {
    let exists = now.is_some_and(|states| states.iter().any(Option::is_some));
    let one = format!("{}/{name}", path("widgets"));
    let text = "x".repeat(random.below(3_000) as usize);
    // Never empty: an apply that empties a list that was created empty is a 422, upstream too.
    let parts: Vec<Value> = (0..=random.below(8)).map(|n| json!({"id": n.to_string()})).collect();
    let spec = json!({"size": size, "text": text, "parts": parts});
    let whole = object("Widget", name, spec).to_string();
    match random.below(10) {
        0..=1 if !exists => {
            (Call::new(Method::POST, path("widgets")).body("application/json", whole), Effect::Makes(size))
        }
        2..=3 if exists => {
            let patch = json!({"spec": {"size": size}}).to_string();
            (Call::new(Method::PATCH, one).body("application/merge-patch+json", patch), Effect::Makes(size))
        }
        4 if exists => (Call::new(Method::DELETE, one), Effect::Deletes),
        5..=6 => {
            let applied = format!("{one}?fieldManager=soak&force=true");
            let call = Call::new(Method::PATCH, applied).body("application/apply-patch+yaml", whole);
            (call, Effect::Makes(size))
        }
        7 => (Call::new(Method::GET, format!("{}?limit=20", path("widgets"))), Effect::None),
        _ => (Call::new(Method::GET, one), Effect::None),
    }
}

/// The resource version of all objects.
async fn latest(server: &Server) -> Option<u64> {
    let list = Call::new(Method::GET, format!("{}?limit=1", path("widgets")));
    let (_, body) = server.once(list).await.ok()?;
    let list: Value = serde_json::from_slice(&body).ok()?;
    list["metadata"]["resourceVersion"].as_str()?.parse().ok()
}

/// Watches all objects, from where it was whenever the watch ends.
pub(crate) async fn watch(server: Server, seen: &Seen, stop: &AtomicBool) {
    let mut version: Option<u64> = None;
    while !stop.load(Ordering::Relaxed) {
        // Objects that are there already come in the order of their names: the watch begins behind them.
        let Some(from) = (match version {
            Some(version) => Some(version),
            None => latest(&server).await,
        }) else {
            continue;
        };
        version = Some(from);
        let call = Call::new(Method::GET, format!("{}?watch=true&resourceVersion={from}", path("widgets")));
        let Ok(mut connection) = server.http2().await else { continue };
        let Ok(response) = connection.begin(&call).await else { continue };
        if response.status() == 410 {
            version = None;
            continue;
        }
        let mut body = response.into_body();
        let mut line = Vec::new();
        while let Ok(Some(Ok(frame))) = tokio::time::timeout(Duration::from_secs(5), body.frame()).await {
            let Ok(data) = frame.into_data() else { continue };
            for byte in data {
                if byte != b'\n' {
                    line.push(byte);
                    continue;
                }
                let event: Value = serde_json::from_slice(&line).unwrap_or_default();
                line.clear();
                let metadata = &event["object"]["metadata"]["resourceVersion"];
                match metadata.as_str().and_then(|text| text.parse::<u64>().ok()) {
                    Some(next) if version.is_some_and(|last| next <= last) => {
                        seen.failed(format!("a watch went back from {version:?} to {next}"));
                    }
                    Some(next) => {
                        seen.events.fetch_add(1, Ordering::Relaxed);
                        version = Some(next);
                    }
                    None => version = None,
                }
            }
            if stop.load(Ordering::Relaxed) {
                return;
            }
        }
    }
}
