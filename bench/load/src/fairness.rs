//! Fairness: how long a user's requests take alone, and while another user floods the server.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Method;

use crate::client::{Call, Connection, Server};
use crate::start;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Objects in the lists of the flood.
const OBJECTS: usize = 2_000;
/// Between two requests of the user who is measured.
const PAUSE: Duration = Duration::from_millis(4);

/// A request of the flood, by the number of its connection and its own.
type Flood = fn(usize, usize) -> Call;

/// Measures the requests of one user alone and beside floods.
pub(crate) async fn measure(binary: &Path, connections: usize, requests: usize) {
    let room = tempfile::tempdir().expect("a directory to measure in");
    let tokens = room.path().join("tokens.csv");
    std::fs::write(&tokens, "flood,flood,1\nother,other,2\n").expect("a file of tokens");
    let file = tokens.to_str().expect("the path is text").to_owned();
    let (admin, _child) = start::server_with(binary, room.path(), &["--token-auth-file", &file]).await;
    prepare(&admin).await;
    let server = |token: &str| Server { token: token.to_owned(), ..admin.clone() };
    let (flood, other) = (server("flood"), server("other"));
    let floods: [(&str, Flood); 3] = [
        ("lists", |_, _| Call::new(Method::GET, MAPS)),
        ("gets", |_, _| Call::new(Method::GET, format!("{MAPS}/m0"))),
        ("creates", |worker, n| {
            let map = format!(r#"{{"metadata":{{"name":"f{worker}-{n}","namespace":"flood"}}}}"#);
            Call::new(Method::POST, "/api/v1/namespaces/flood/configmaps").with("application/json", map)
        }),
    ];
    println!(
        "\n{:<10} {:>9} {:>9} {:>7} {:>9} {:>9}",
        "flood", "p50 ms", "p99 ms", "ratio", "per s", "refused"
    );
    let alone = times(&other, requests).await;
    println!("{:<10} {:>9.2} {:>9.2}", "none", at(&alone, 50), at(&alone, 99));
    for (name, call) in floods {
        let stop = Arc::new(AtomicBool::new(false));
        let (sent, refused) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let workers: Vec<_> = (0..connections)
            .map(|worker| {
                let (flood, stop, sent, refused) =
                    (flood.clone(), stop.clone(), sent.clone(), refused.clone());
                tokio::spawn(async move {
                    let mut connection = Connection::open(&flood).await;
                    for n in 0.. {
                        if stop.load(Ordering::Relaxed) {
                            break;
                        }
                        let (status, _) = connection.send(&call(worker, n)).await;
                        sent.fetch_add(1, Ordering::Relaxed);
                        if status.as_u16() == 429 {
                            refused.fetch_add(1, Ordering::Relaxed);
                            tokio::time::sleep(Duration::from_millis(100)).await;
                        }
                    }
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let (begin, before) = (Instant::now(), sent.load(Ordering::Relaxed));
        let beside = times(&other, requests).await;
        let rate = (sent.load(Ordering::Relaxed) - before) as f64 / begin.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        for worker in workers {
            worker.await.expect("a worker of the flood");
        }
        let ratio = at(&beside, 99) / at(&alone, 99);
        println!(
            "{name:<10} {:>9.2} {:>9.2} {ratio:>7.2} {rate:>9.0} {:>9}",
            at(&beside, 50),
            at(&beside, 99),
            refused.load(Ordering::Relaxed)
        );
    }
}

/// Users, rights and objects.
async fn prepare(admin: &Server) {
    let mut connection = Connection::open(admin).await;
    let json = "application/json";
    connection
        .must(&Call::new(Method::POST, "/api/v1/namespaces").with(json, r#"{"metadata":{"name":"flood"}}"#))
        .await;
    let binding = r#"{"metadata":{"name":"both"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-admin"},
        "subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"flood"},{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"other"}]}"#;
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    connection.must(&Call::new(Method::POST, bindings).with(json, binding)).await;
    let text = "x".repeat(300);
    for i in 0..OBJECTS {
        let map = Bytes::from(format!(r#"{{"metadata":{{"name":"m{i}"}},"data":{{"k":"{text}"}}}}"#));
        connection.must(&Call::new(Method::POST, MAPS).with(json, map)).await;
    }
}

/// How long requests of a user take, in order of their length: half of them read, half of them write.
async fn times(user: &Server, requests: usize) -> Vec<Duration> {
    let mut connection = Connection::open(user).await;
    let mut times = Vec::with_capacity(requests);
    for n in 0..requests {
        let call = if n % 2 == 0 {
            Call::new(Method::GET, format!("{MAPS}/m1"))
        } else {
            let patch = format!(r#"{{"data":{{"n":"{n}"}}}}"#);
            Call::new(Method::PATCH, format!("{MAPS}/m2")).with("application/merge-patch+json", patch)
        };
        let begin = Instant::now();
        connection.must(&call).await;
        times.push(begin.elapsed());
        tokio::time::sleep(PAUSE).await;
    }
    times.sort_unstable();
    times
}

fn at(times: &[Duration], percent: usize) -> f64 {
    times[(times.len() * percent / 100).min(times.len() - 1)].as_secs_f64() * 1e3
}
