//! Reading, writing, cloning and dropping a realistic object, against serde_json into its own value.
//!
//! `cargo bench -p pleach-json` prints the ratios first (best of many rounds, taken in turn so that
//! a busy machine slows both alike), then divan's table.

use std::hint::black_box;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// About two kilobytes, forty fields: lists of objects, maps of labels, long and short strings.
const OBJECT: &str = include_str!("object.json");

fn best(rounds: usize, mut work: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..rounds {
        let start = Instant::now();
        for _ in 0..50 {
            work();
        }
        best = best.min(start.elapsed() / 50);
    }
    best
}

fn ratio(name: &str, mut ours: impl FnMut(), mut theirs: impl FnMut()) {
    let (mut us, mut them) = (Duration::MAX, Duration::MAX);
    for _ in 0..20 {
        us = us.min(best(20, &mut ours));
        them = them.min(best(20, &mut theirs));
    }
    let ratio = us.as_secs_f64() / them.as_secs_f64();
    println!("{name:<6} {us:>9.2?} serde_json {them:>9.2?}  ratio {ratio:.2}");
}

fn main() {
    let ours = pleach_json::parse(OBJECT.as_bytes()).expect("the object is JSON");
    let theirs: serde_json::Value = serde_json::from_str(OBJECT).expect("the object is JSON");
    println!("object of {} bytes", OBJECT.len());
    ratio(
        "parse",
        || drop(black_box(pleach_json::parse(black_box(OBJECT.as_bytes())))),
        || drop(black_box(serde_json::from_slice::<serde_json::Value>(black_box(OBJECT.as_bytes())))),
    );
    ratio(
        "write",
        || drop(black_box(pleach_json::to_vec(black_box(&ours)))),
        || drop(black_box(serde_json::to_vec(black_box(&theirs)))),
    );
    ratio("clone", || drop(black_box(ours.clone())), || drop(black_box(theirs.clone())));
    let written = pleach_json::to_vec(&ours);
    assert!(pleach_json::is_canonical(&written), "it is recognized as written here");
    let (mut checked, mut parsed) = (Duration::MAX, Duration::MAX);
    for _ in 0..20 {
        checked = checked.min(best(20, || assert!(pleach_json::is_canonical(black_box(&written)))));
        parsed = parsed.min(best(20, || drop(black_box(pleach_json::parse(black_box(&written))))));
    }
    let ratio = checked.as_secs_f64() / parsed.as_secs_f64();
    println!("canonical {checked:>9.2?} parse {parsed:>9.2?}  ratio {ratio:.2}");
    if !std::env::args().any(|argument| argument == "--ratios") {
        divan::main();
    }
}

#[divan::bench]
fn parse() -> pleach_json::Value {
    pleach_json::parse(black_box(OBJECT.as_bytes())).expect("the object is JSON")
}

#[divan::bench]
fn parse_serde_json() -> serde_json::Value {
    serde_json::from_slice(black_box(OBJECT.as_bytes())).expect("the object is JSON")
}

#[divan::bench]
fn write(bencher: divan::Bencher<'_, '_>) {
    let value = parse();
    bencher.bench_local(|| pleach_json::to_vec(black_box(&value)));
}

#[divan::bench]
fn write_serde_json(bencher: divan::Bencher<'_, '_>) {
    let value = parse_serde_json();
    bencher.bench_local(|| serde_json::to_vec(black_box(&value)));
}
