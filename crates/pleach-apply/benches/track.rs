//! What owners cost: a write that changes one field, an apply, a long list.
//!
//! `settle_and_validate` is what the schema does to the same object on the same write, for scale.

#![allow(clippy::unwrap_used, reason = "what is measured must work")]

use pleach_apply::{Request, Tracker, Type, Versions};
use pleach_json::{Value, json};
use pleach_schema::{Record, Schema, SchemaOptions, SettleOptions};

fn main() {
    divan::main();
}

const V1: &str = "g/v1";

struct Kind(Schema);

impl Versions for Kind {
    fn type_of(&self, api_version: &str) -> Option<Type<'_>> {
        (api_version == V1).then(|| Type::of(&self.0))
    }
}

fn kind() -> Kind {
    let text = json!({"type": "string"});
    let texts = json!({"type": "object", "additionalProperties": (text.clone())});
    let container = json!({"type": "object", "properties": {
        "name": (text.clone()),
        "image": (text.clone()),
        "args": {"type": "array", "items": (text.clone())},
        "env": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": (text.clone()), "value": (text.clone())}}},
        "resources": {"type": "object", "properties": {"limits": (texts.clone()), "requests": (texts.clone())}},
    }});
    let condition = json!({"type": "object", "properties": {
        "type": (text.clone()), "status": (text.clone()), "reason": (text.clone()), "message": (text.clone()),
        "lastTransitionTime": {"type": "string", "format": "date-time"},
    }});
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "replicas": {"type": "integer"},
            "selector": (texts.clone()),
            "paused": {"type": "boolean"},
            "containers": {"type": "array", "items": (container), "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"]},
        }},
        "status": {"type": "object", "properties": {
            "phase": (text),
            "conditions": {"type": "array", "items": (condition), "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"]},
        }},
    }});
    Kind(Schema::from_value(&schema, SchemaOptions::default()))
}

fn config(containers: usize, image: &str) -> Value {
    let containers: Vec<Value> = (0..containers)
        .map(|i| {
            json!({
                "name": (format!("container-{i}")),
                "image": (image),
                "args": ["--leader-elect", "--metrics-bind-address=:8080"],
                "env": [{"name": "POD_NAMESPACE", "value": "default"}, {"name": "LOG_LEVEL", "value": "info"}],
                "resources": {"limits": {"cpu": "500m", "memory": "128Mi"}, "requests": {"cpu": "10m", "memory": "64Mi"}},
            })
        })
        .collect();
    json!({
        "apiVersion": (V1),
        "kind": "Foo",
        "metadata": {"name": "x", "namespace": "default", "labels": {"app": "x", "tier": "backend"},
            "annotations": {"example.com/owner": "team-a"}},
        "spec": {"replicas": 3, "paused": false, "selector": {"app": "x"}, "containers": (Value::from(containers))},
    })
}

fn tracker<'a>(kind: &'a Kind, manager: &'a str) -> Tracker<'a> {
    let request =
        Request { manager, api_version: V1, kind: "Foo", subresource: "", time: "2026-01-01T00:00:00Z" };
    Tracker::new(kind, request)
}

/// An object of about 2 KB without its owners: applied by one, its status updated by another.
fn live(kind: &Kind) -> Value {
    let mut object = tracker(kind, "applier").apply(None, &config(4, "i:1"), false, &|_| {}).unwrap().object;
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut).unwrap();
    metadata.insert("uid", "8a2f9a0c-0e5b-4a42-8b34-9d8f0a7c3e11");
    let mut new = object.clone();
    new.as_object_mut().unwrap().insert(
        "status",
        json!({"phase": "Ready", "conditions": [
            {"type": "Ready", "status": "True", "reason": "AllGood", "message": "all is well",
             "lastTransitionTime": "2026-01-01T00:00:00Z"},
            {"type": "Progressing", "status": "False", "reason": "Done", "message": "nothing to do",
             "lastTransitionTime": "2026-01-01T00:00:00Z"},
        ]}),
    );
    tracker(kind, "controller").update(Some(&object), &mut new);
    new
}

fn scaled(live: &Value) -> Value {
    let mut new = live.clone();
    new.get_mut("spec").and_then(Value::as_object_mut).unwrap().insert("replicas", 4);
    new
}

#[divan::bench]
fn update_one_field(bencher: divan::Bencher<'_, '_>) {
    let kind = kind();
    let live = live(&kind);
    let new = scaled(&live);
    bencher.with_inputs(|| new.clone()).bench_local_values(|mut new| {
        tracker(&kind, "scaler").update(Some(&live), &mut new);
        new
    });
}

#[divan::bench]
fn update_nothing(bencher: divan::Bencher<'_, '_>) {
    let kind = kind();
    let live = live(&kind);
    bencher.with_inputs(|| live.clone()).bench_local_values(|mut new| {
        tracker(&kind, "scaler").update(Some(&live), &mut new);
        new
    });
}

#[divan::bench]
fn settle_and_validate(bencher: divan::Bencher<'_, '_>) {
    let kind = kind();
    let live = live(&kind);
    let new = pleach_json::to_vec(&scaled(&live));
    bencher.bench_local(|| {
        let mut new = pleach_json::parse(&new).unwrap();
        let _ = kind.0.settle(&mut new, SettleOptions::request(Record::Unknown));
        let errors = kind.0.validate_value_update(&new, &live);
        (pleach_json::to_vec(&new), errors.len())
    });
}

#[divan::bench]
fn apply_one_field(bencher: divan::Bencher<'_, '_>) {
    let kind = kind();
    let live = live(&kind);
    let config = config(4, "i:2");
    bencher.bench_local(|| tracker(&kind, "applier").apply(Some(&live), &config, false, &|_| {}).unwrap());
}

#[divan::bench]
fn apply_without_a_container(bencher: divan::Bencher<'_, '_>) {
    let kind = kind();
    let live = live(&kind);
    let config = config(3, "i:1");
    bencher.bench_local(|| tracker(&kind, "applier").apply(Some(&live), &config, false, &|_| {}).unwrap());
}

#[divan::bench(args = [100, 1_000, 10_000], sample_count = 5, sample_size = 1)]
fn apply_long_list(bencher: divan::Bencher<'_, '_>, items: usize) {
    let kind = kind();
    let first = config(items, "i:1");
    let live = tracker(&kind, "applier").apply(None, &first, false, &|_| {}).unwrap().object;
    let second = config(items / 2, "i:2");
    bencher.bench_local(|| tracker(&kind, "applier").apply(Some(&live), &second, false, &|_| {}).unwrap());
}
