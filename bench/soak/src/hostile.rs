//! Clients that do not behave: each attack is one of those that once stopped a server, or a relative.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::{Call, Server};
use crate::random::Random;
use crate::world::{object, path};

/// How often each attack was answered with which code; 0 is a connection that ended.
pub(crate) type Answers = Mutex<BTreeMap<(&'static str, u16), u64>>;

static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Attacks at random until `stop` is set.
pub(crate) async fn attack(server: Server, seed: u64, answers: &Answers, stop: &AtomicBool) {
    let mut random = Random::new(seed);
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(200 + random.below(800))).await;
        let (name, code) = one(&server, &mut random, stop).await;
        *answers.lock().expect("no panic before").entry((name, code)).or_default() += 1;
    }
}

fn post(plural: &str, body: String) -> Call {
    Call::new(Method::POST, path(plural)).body("application/json", body)
}

async fn one(server: &Server, random: &mut Random, stop: &AtomicBool) -> (&'static str, u16) {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("h{number}");
    let (title, call) = match random.below(14) {
        0 => {
            let items: Vec<Value> = (0..40_000).map(|_| json!({"a": "-"})).collect();
            ("alternatives × items", post("mazes", object("Maze", &name, items.into()).to_string()))
        }
        1 => ("CEL equality of shared lists", post("loops", object("Loop", &name, json!(1)).to_string())),
        2 => {
            let depth = 3_000 + random.below(6_900) as usize;
            let deep = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
            let text = object("Tree", &name, json!("spec"))
                .to_string()
                .replace("\"spec\":\"spec\"", &format!("\"spec\":{deep}"));
            ("deep object, indented answer", post("trees", text).agent("curl/8"))
        }
        3 => {
            let long = "x".repeat(300_000);
            let aliases = "- *a\n    ".repeat(4_000);
            let yaml = format!(
                "apiVersion: soak.example.com/v1\nkind: Tree\nmetadata: {{name: {name}}}\nspec:\n  a: &a {long}\n  b:\n    {aliases}\n"
            );
            ("YAML aliases", Call::new(Method::POST, path("trees")).body("application/yaml", yaml))
        }
        4 => {
            let owners: Vec<Value> = (0..20_000)
                .map(|n| json!({"apiVersion": "v1", "kind": "K", "name": "n", "uid": n.to_string()}))
                .collect();
            let mut tree = object("Tree", &name, json!({}));
            tree["metadata"]["ownerReferences"] = owners.into();
            ("many owners", post("trees", tree.to_string()))
        }
        5 => {
            let operations: Vec<Value> =
                (0..9_000).map(|_| json!({"op": "add", "path": "/data/0", "value": 1})).collect();
            let target = format!("{}/{}", path("trees"), "none");
            let body = Value::from(operations).to_string();
            ("JSON patch", Call::new(Method::PATCH, target).body("application/json-patch+json", body))
        }
        6 => {
            let managers: Vec<Value> = (0..5_000)
                .map(|n| json!({"manager": n.to_string(), "operation": "Update", "apiVersion": "soak.example.com/v1",
                    "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {format!("f:{n}"): {}}}}))
                .collect();
            let mut tree = object("Tree", &name, json!({"a": 1}));
            tree["metadata"]["managedFields"] = managers.into();
            ("forged managers", post("trees", tree.to_string()))
        }
        7 => ("webhook faults", post("victims", object("Victim", &name, json!({})).to_string())),
        8 => {
            let body: String = (0..random.below(5_000)).map(|_| random.below(128) as u8 as char).collect();
            ("noise in a body", post("trees", body))
        }
        9 => return ("does not read a list", slow_reader(server, random, stop).await),
        10 => return ("unfinished headers", slow_headers(server, random, stop).await),
        11 => return ("killed connection", killed(server, random).await),
        12 => return ("noise instead of HTTP", noise(server, random).await),
        _ => {
            let list = format!("{}?labelSelector={}", path("widgets"), "a,".repeat(2_000) + "a");
            ("long selector", Call::new(Method::GET, list).agent("curl/8"))
        }
    };
    // Half of them do not wait for an answer.
    if random.below(2) == 0 {
        let patience = Duration::from_millis(random.below(1_500));
        return (
            title,
            tokio::time::timeout(patience, server.once(call)).await.map_or(0, |a| a.map_or(0, |a| a.0)),
        );
    }
    (title, server.once(call).await.map_or(0, |answer| answer.0))
}

async fn hold(random: &mut Random, stop: &AtomicBool) {
    for _ in 0..20 + random.below(60) {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// Asks for lists and watches, many on one connection, and reads nothing.
async fn slow_reader(server: &Server, random: &mut Random, stop: &AtomicBool) -> u16 {
    let Ok(mut stream) = server.connect(b"http/1.1").await else { return 0 };
    let watch = if random.below(2) == 0 { "?watch=true" } else { "" };
    let request = format!(
        "GET {}{watch} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n",
        path("widgets"),
        server.token
    );
    for _ in 0..8 {
        if stream.write_all(request.as_bytes()).await.is_err() {
            return 0;
        }
    }
    hold(random, stop).await;
    1
}

async fn slow_headers(server: &Server, random: &mut Random, stop: &AtomicBool) -> u16 {
    let Ok(mut stream) = server.connect(b"http/1.1").await else { return 0 };
    let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n").await;
    for _ in 0..random.below(60) {
        if stop.load(Ordering::Relaxed) || stream.write_all(b"X-A: b\r\n").await.is_err() {
            return 0;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    1
}

/// Goes away in the middle of a body.
async fn killed(server: &Server, random: &mut Random) -> u16 {
    let Ok(mut stream) = server.connect(b"http/1.1").await else { return 0 };
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: 2000000\r\n\r\n",
        path("trees"),
        server.token
    );
    let _ = stream.write_all(head.as_bytes()).await;
    let _ = stream.write_all(&vec![b' '; random.below(1_000_000) as usize]).await;
    1
}

async fn noise(server: &Server, random: &mut Random) -> u16 {
    let Ok(mut stream) = server.connect(b"h2").await else { return 0 };
    let _ = stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    let bytes: Vec<u8> = (0..random.below(4_000)).map(|_| random.below(256) as u8).collect();
    let _ = stream.write_all(&bytes).await;
    let mut answer = [0; 1_024];
    let read = stream.read(&mut answer);
    tokio::time::timeout(Duration::from_secs(5), read).await.map_or(1, |_| 0)
}
