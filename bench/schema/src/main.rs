//! Speed and memory of the schema engine, as ratios measured in one run.
//!
//! ```text
//! cargo run --release -p pleach-bench-schema
//! ```
//!
//! Objects and yardsticks are measured in turn within one process, the fastest of several rounds
//! counts, and ratios are printed. The corpus is beside the checkout, or in `PLEACH_SHARED`.

mod corpus;
mod settle;

use std::alloc::System;
use std::hint::black_box;
use std::time::{Duration, Instant};

use pleach_json::Value;
use pleach_schema::{Schema, SchemaOptions, SettleOptions};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const SCHEMA: &[u8] = include_bytes!("../data/widget.schema.json");
const OBJECT: &[u8] = include_bytes!("../data/widget.json");

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [what, case, times] = &arguments[..] {
        let times = times.parse().expect("how many times is a number");
        settle::count(what == "settle", case, times);
        return;
    }
    one_object();
    settle::times();
    corpus::sizes();
}

/// A measurement: runs a round of calls and returns the time of one.
type Round<'a> = Box<dyn FnMut() -> Duration + 'a>;

/// A call as it is, over and over.
fn repeated<'a>(calls: u32, mut call: impl FnMut() + 'a) -> Round<'a> {
    Box::new(move || {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        start.elapsed() / calls
    })
}

/// A call on its own object, made and dropped outside the measurement.
fn on_copies<'a>(calls: u32, object: &'a Value, mut call: impl FnMut(&mut Value) + 'a) -> Round<'a> {
    Box::new(move || {
        let mut objects = vec![object.clone(); calls as usize];
        let start = Instant::now();
        objects.iter_mut().for_each(&mut call);
        let took = start.elapsed();
        black_box(objects);
        took / calls
    })
}

/// Times everything in turn, so that other load affects all alike; the fastest of each counts.
fn least<const N: usize>(rounds: usize, mut all: [Round<'_>; N]) -> [Duration; N] {
    let mut least = [Duration::MAX; N];
    for _ in 0..rounds {
        for (least, round) in least.iter_mut().zip(&mut all) {
            *least = (*least).min(round());
        }
    }
    least
}

fn ratio(what: &str, cost: Duration, yardstick_name: &str, yardstick: Duration) {
    let times = cost.as_secs_f64() / yardstick.as_secs_f64();
    println!("{what:<42} {cost:>10.2?}   {times:>5.2} x {yardstick_name} ({yardstick:.2?})");
}

fn one_object() {
    let schema = pleach_json::parse(SCHEMA).expect("the schema is JSON");
    let schema = Schema::from_value(&schema, SchemaOptions::default());
    let object = pleach_json::parse(OBJECT).expect("the object is JSON");
    let mut settled = object.clone();
    schema.settle(&mut settled, SettleOptions::STORED).expect("stored objects always settle");
    assert!(schema.validate_value(&settled).is_empty(), "{:?}", schema.validate_value(&settled));
    let theirs_schema = serde_json::from_slice(&widened(SCHEMA)).expect("the schema is JSON");
    let theirs = jsonschema::validator_for(&theirs_schema).expect("the schema compiles");
    let theirs_object: serde_json::Value =
        serde_json::from_slice(&pleach_json::to_vec(&settled)).expect("what was written is JSON");

    let settle = |object: &mut Value| {
        black_box(schema.settle(object, SettleOptions::STORED).expect("stored objects always settle"));
    };
    let [parse, parse_here, everything, settling, nothing, validating, is_valid] = least(
        60,
        [
            repeated(200, || drop(black_box(serde_json::from_slice::<serde_json::Value>(black_box(OBJECT))))),
            repeated(200, || drop(black_box(pleach_json::parse(black_box(OBJECT))))),
            on_copies(200, &object, |object| {
                settle(object);
                assert!(schema.validate_value(object).is_empty());
            }),
            on_copies(200, &object, settle),
            on_copies(200, &settled, settle),
            repeated(500, || assert!(black_box(&schema).root().accepts(black_box(&settled)))),
            repeated(500, || assert!(black_box(&theirs).is_valid(black_box(&theirs_object)))),
        ],
    );
    println!("an object of {} bytes", OBJECT.len());
    ratio("prune + default + validate", everything, "serde_json parse", parse);
    ratio("  prune + default", settling, "serde_json parse", parse);
    ratio("  prune + default, nothing to do", nothing, "serde_json parse", parse);
    ratio("validate", validating, "jsonschema is_valid", is_valid);
    ratio("pleach_json parse", parse_here, "serde_json parse", parse);
}

/// The schema for a validator that does not know `x-kubernetes-int-or-string`.
fn widened(schema: &[u8]) -> Vec<u8> {
    let text = std::str::from_utf8(schema).expect("the schema is text");
    text.replace("\"x-kubernetes-int-or-string\": true", "\"type\": [\"integer\", \"string\"]").into_bytes()
}
