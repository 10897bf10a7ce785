//! Cost of a path: parsing, and evaluation in the simple and the general form.

use divan::{Bencher, black_box};
use pleach_json::{Value, json};
use pleach_jsonpath::{JsonPath, KeyPath};

const PATHS: &[&str] =
    &["{.spec.replicas}", "{.status.conditions[?(@.type==\"Ready\")].status}", "{.spec.containers[*].name}"];

fn main() {
    divan::main();
}

fn object() -> Value {
    json!({
        "metadata": {"name": "x", "labels": {"app": "y"}},
        "spec": {"replicas": 3, "containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "j"}]},
        "status": {"conditions": [{"type": "Synced", "status": "True"}, {"type": "Ready", "status": "False"}]},
    })
}

#[divan::bench(args = PATHS)]
fn parse(path: &str) -> JsonPath {
    JsonPath::parse(black_box(path)).expect("a valid path")
}

#[divan::bench(args = PATHS)]
fn first(bencher: Bencher<'_, '_>, path: &str) {
    let path = JsonPath::parse(path).expect("a valid path");
    let object = object();
    bencher.bench(|| path.first(black_box(&object)).is_some());
}

#[divan::bench]
fn key_path(bencher: Bencher<'_, '_>) {
    let path = KeyPath::new(".spec.replicas");
    let object = object();
    bencher.bench(|| path.get(black_box(&object)).is_some());
}
