//! Cost of many CRDs: the last must cost what the first did.

use std::time::Instant;

use http::Method;
use pleach_json::{Map, Value, json};

use crate::client::{Call, Connection, Server};
use crate::objects::{DEFINITIONS, definition, schema};
use crate::process;

/// How many CRDs one line of the report is about.
const STEP: usize = 250;

/// Installs CRDs one after the other, with an object each, and prints what each hundred cost.
pub(crate) async fn measure(server: &Server, count: usize) {
    println!("\nCRDs of some 300 fields, one object each");
    println!("{:<14} {:>12} {:>14} {:>16}", "number", "ms each", "CPU µs each", "KB resident each");
    let mut connection = Connection::open(server).await;
    for first in (0..count).step_by(STEP) {
        let last = (first + STEP).min(count);
        let (begin, cpu, memory) =
            (Instant::now(), process::cpu(&server.pids), process::resident(server.pids[0]));
        for n in first..last {
            install(&mut connection, n).await;
        }
        let each = |total: f64| total / (last - first) as f64;
        println!(
            "{:<14} {:>12.2} {:>14.0} {:>16.0}",
            format!("{}–{last}", first + 1),
            each(begin.elapsed().as_secs_f64() * 1e3),
            each((process::cpu(&server.pids) - cpu) * 1e6),
            each((process::resident(server.pids[0]) - memory) * 1024.0)
        );
    }
}

/// Installs a CRD with an object.
pub(crate) async fn install(connection: &mut Connection, n: usize) {
    let (plural, group) = (format!("things{n}s"), format!("g{}.bench.pleach.example", n / 10));
    let body = definition(&format!("{plural}.{group}"), &group, large_schema(n));
    connection.must(&Call::new(Method::POST, DEFINITIONS).with("application/json", body)).await;
    let object = json!({
        "apiVersion": (format!("{group}/v1")),
        "kind": (format!("Things{n}")),
        "metadata": {"name": "one"},
        "spec": {},
    });
    let path = format!("/apis/{group}/v1/namespaces/default/{plural}");
    connection
        .must(&Call::new(Method::POST, path).with("application/json", pleach_json::to_vec(&object)))
        .await;
}

/// Some 300 fields; each CRD has some that no other has.
fn large_schema(n: usize) -> Value {
    let mut parts = Map::new();
    for part in 0..7 {
        let mut one = schema().at(&["properties", "spec"]).cloned().unwrap_or_default();
        if let Some(object) = one.as_object_mut() {
            object.remove("required");
            object.insert("description", format!("Part {part} of thing {n}, which has fields of its own."));
        }
        parts.insert(format!("part{part}"), one);
    }
    parts.insert(format!("own{n}"), json!({"type": "string", "maxLength": (n as i64 + 1)}));
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": (parts)}}})
}
