//! The measured operations, in turns on each server.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;
use pleach_json::Value;

use crate::client::{Call, Connection, Server};
use crate::objects::{COLLECTION, object};
use crate::process;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// GET of one object.
    Get,
    /// The same with `resourceVersion=0`: a server with a cache answers from it as it is.
    CachedGet,
    /// GET of fifty objects.
    List,
    /// The same, not older than the first resource version.
    CachedList,
    /// POST of a new object.
    Create,
    /// PUT with the current resource version and one field changed.
    Update,
    /// A merge patch of one field.
    Patch,
    /// A server-side apply with one field changed.
    Apply,
    /// DELETE of one object.
    Delete,
}

impl Operation {
    /// In the order they are measured.
    pub(crate) const ALL: [Self; 6] =
        [Self::Get, Self::Create, Self::Update, Self::Patch, Self::Apply, Self::Delete];

    /// The operations that servers on different stores are compared by.
    pub(crate) const OF_STORES: [Self; 7] =
        [Self::Get, Self::CachedGet, Self::List, Self::CachedList, Self::Create, Self::Update, Self::Delete];

    /// The word in the report.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::CachedGet => "get rv=0",
            Self::List => "list",
            Self::CachedList => "list rv=1",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Apply => "apply",
            Self::Delete => "delete",
        }
    }

    /// Whether nothing is committed.
    pub(crate) fn is_read(self) -> bool {
        matches!(self, Self::Get | Self::CachedGet | Self::List | Self::CachedList)
    }
}

/// How much is measured.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    /// Connections.
    pub(crate) connections: usize,
    /// Requests in one turn.
    pub(crate) requests: usize,
    /// Turns.
    pub(crate) turns: usize,
}

/// The median of all turns.
pub(crate) struct Figures {
    /// CPU time of the server per request, in µs.
    pub(crate) cpu: f64,
}

/// Measures an operation on the servers and, with bytes of the same size, on the bare one; its
/// figures come last.
pub(crate) async fn run(operation: Operation, servers: &[Server], bare: &Server, plan: Plan) -> Vec<Figures> {
    let mut turns: Vec<Vec<Turn>> = servers.iter().chain([bare]).map(|_| Vec::new()).collect();
    for _ in 0..plan.turns {
        let mut sizes = (0, 0);
        for (index, server) in servers.iter().enumerate() {
            let turn = on_api(operation, server, plan).await;
            sizes = turn.sizes;
            turns[index].push(turn);
        }
        turns[servers.len()].push(on_bare(sizes, bare, plan).await);
    }
    let names = servers.iter().chain([bare]).map(|server| &server.name);
    names.zip(&mut turns).map(|(name, turns)| middle(operation, name, turns)).collect()
}

/// Measures an operation on the servers.
pub(crate) async fn compare(operation: Operation, servers: &[Server], plan: Plan) -> Vec<Figures> {
    let mut turns: Vec<Vec<Turn>> = servers.iter().map(|_| Vec::new()).collect();
    for _ in 0..plan.turns {
        for (server, turns) in servers.iter().zip(&mut turns) {
            turns.push(on_api(operation, server, plan).await);
        }
    }
    servers.iter().zip(&mut turns).map(|(server, turns)| middle(operation, &server.name, turns)).collect()
}

struct Turn {
    cpu: f64,
    rate: f64,
    p50: f64,
    p99: f64,
    /// Bytes of a request's and an answer's body.
    sizes: (usize, usize),
}

fn middle(operation: Operation, server: &str, turns: &mut [Turn]) -> Figures {
    turns.sort_by(|a, b| a.cpu.total_cmp(&b.cpu));
    let turn = &turns[turns.len() / 2];
    println!(
        "{:<10} {server:<10} {:>9.0} {:>9.2} {:>9.2} {:>12.1}",
        operation.name(),
        turn.rate,
        turn.p50,
        turn.p99,
        turn.cpu
    );
    Figures { cpu: turn.cpu }
}

/// One worker's next request, made from its number and the answer to its last.
type Next = Box<dyn FnMut(usize, &Bytes) -> Call + Send>;

async fn on_api(operation: Operation, server: &Server, plan: Plan) -> Turn {
    static TURN: AtomicU64 = AtomicU64::new(0);
    let turn = TURN.fetch_add(1, Ordering::Relaxed);
    let each = plan.requests / plan.connections;
    let workers = (0..plan.connections).map(|worker| {
        let prefix = format!("t{turn}-w{worker}");
        let (before, next) = requests(operation, &prefix, each);
        (before, next)
    });
    drive(server, each, workers.collect()).await
}

async fn on_bare((sent, received): (usize, usize), server: &Server, plan: Plan) -> Turn {
    let method = if sent == 0 { Method::GET } else { Method::POST };
    let call = Call::new(method, format!("/bytes/{received}"))
        .with("application/json", Bytes::from(vec![b'x'; sent]));
    let workers = (0..plan.connections).map(|_| {
        let call = call.clone();
        let next: Next = Box::new(move |_, _| call.clone());
        (Vec::new(), next)
    });
    drive(server, plan.requests / plan.connections, workers.collect()).await
}

/// The requests of a worker before the clock starts, and after.
fn requests(operation: Operation, prefix: &str, each: usize) -> (Vec<Call>, Next) {
    const APPLY: &str = "application/apply-patch+yaml";
    const JSON: &str = "application/json";
    let encode = |value: &Value| Bytes::from(pleach_json::to_vec(value));
    let own = format!("{prefix}-own");
    let path = format!("{COLLECTION}/{own}");
    let apply_path = format!("{path}?fieldManager=bench&force=true");
    let create = |name: &str| Call::new(Method::POST, COLLECTION).with(JSON, encode(&object(name, 0)));
    match operation {
        Operation::Get | Operation::CachedGet => {
            let path = if operation == Operation::Get { path } else { path + "?resourceVersion=0" };
            (vec![create(&own)], Box::new(move |_, _| Call::new(Method::GET, path.clone())))
        }
        Operation::List | Operation::CachedList => {
            let cached = if operation == Operation::List {
                ""
            } else {
                "&resourceVersion=1&resourceVersionMatch=NotOlderThan"
            };
            let path = format!("{COLLECTION}?limit=50{cached}");
            (vec![create(&own)], Box::new(move |_, _| Call::new(Method::GET, path.clone())))
        }
        Operation::Create => {
            let bodies: Vec<Bytes> =
                (0..each).map(|n| encode(&object(&format!("{prefix}-{n}"), 0))).collect();
            let next = move |n: usize, _: &Bytes| {
                Call::new(Method::POST, COLLECTION).with(JSON, bodies[n % bodies.len()].clone())
            };
            (Vec::new(), Box::new(next))
        }
        Operation::Update => {
            let next = move |n: usize, last: &Bytes| {
                let mut value = pleach_json::parse(last).expect("an object");
                set_step(&mut value, n as i64 + 1);
                Call::new(Method::PUT, path.clone()).with(JSON, pleach_json::to_vec(&value))
            };
            (vec![create(&own)], Box::new(next))
        }
        Operation::Patch => {
            let next = move |n: usize, _: &Bytes| {
                let body = format!("{{\"spec\":{{\"step\":{}}}}}", n + 1);
                Call::new(Method::PATCH, path.clone()).with("application/merge-patch+json", body)
            };
            (vec![create(&own)], Box::new(next))
        }
        Operation::Apply => {
            let bodies: Vec<Bytes> = (0..each).map(|n| encode(&object(&own, n as i64 + 1))).collect();
            let first = Call::new(Method::PATCH, apply_path.clone()).with(APPLY, encode(&object(&own, 0)));
            let next = move |n: usize, _: &Bytes| {
                Call::new(Method::PATCH, apply_path.clone()).with(APPLY, bodies[n % bodies.len()].clone())
            };
            (vec![first], Box::new(next))
        }
        Operation::Delete => {
            let prefix = prefix.to_owned();
            let made = (0..each).map(|n| create(&format!("{prefix}-{n}"))).collect();
            let next =
                move |n: usize, _: &Bytes| Call::new(Method::DELETE, format!("{COLLECTION}/{prefix}-{n}"));
            (made, Box::new(next))
        }
    }
}

fn set_step(value: &mut Value, step: i64) {
    let spec = value.get_mut("spec").and_then(Value::as_object_mut).expect("a spec");
    spec.insert("step", step);
}

async fn drive(server: &Server, each: usize, workers: Vec<(Vec<Call>, Next)>) -> Turn {
    let count = workers.len();
    let ready = Arc::new(tokio::sync::Barrier::new(count + 1));
    let mut tasks = Vec::with_capacity(count);
    for (before, mut next) in workers {
        let (server, ready) = (server.clone(), ready.clone());
        tasks.push(tokio::spawn(async move {
            let mut connection = Connection::open(&server).await;
            let mut last = Bytes::new();
            for call in &before {
                last = connection.must(call).await;
            }
            ready.wait().await;
            ready.wait().await;
            let mut times = Vec::with_capacity(each);
            let mut sizes = (0, 0);
            for n in 0..each {
                let call = next(n, &last);
                let begin = Instant::now();
                last = connection.must(&call).await;
                times.push(begin.elapsed());
                sizes = (call.body.len(), last.len());
            }
            (times, sizes)
        }));
    }
    ready.wait().await;
    // Freshly created objects are still being written.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let (begin, before) = (Instant::now(), process::cpu(&server.pids));
    ready.wait().await;
    let mut times = Vec::with_capacity(each * count);
    let mut sizes = (0, 0);
    for task in tasks {
        let (more, last) = task.await.expect("a worker");
        times.extend(more);
        sizes = last;
    }
    let (took, cpu) = (begin.elapsed(), process::cpu(&server.pids) - before);
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)].as_secs_f64() * 1e3;
    Turn {
        cpu: cpu * 1e6 / times.len() as f64,
        rate: times.len() as f64 / took.as_secs_f64(),
        p50: at(50),
        p99: at(99),
        sizes,
    }
}
