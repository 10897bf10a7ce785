//! Cost of the embedded store compared with the disk below it.
//!
//! Disks differ, so the figures are ratios of two things measured in turns in one run. `cargo run
//! --release -p bench-store` prints them beside their targets. The first argument is a directory on the
//! disk to measure, the second how many objects the large store has.

mod cpu;
mod memory;
mod reads;
mod watchers;
mod writes;

use std::{path::PathBuf, time::Instant};

use pleach_store_log::LogStore;
use tempfile::TempDir;

fn main() {
    if memory::was_asked_to_open() {
        return;
    }
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let objects = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let room = TempDir::new_in(&directory).expect("a directory to measure in");
    opening(&room);
    writes::one_writer(room.path());
    writes::many_writers(room.path());
    watchers::delivery(room.path());
    reads::ranges(room.path());
    reads::large_store(room.path(), objects);
}

/// One line of the report.
fn report(what: &str, found: &str, wanted: &str) {
    println!("{what:<46} {found:<44} {wanted}");
}

/// The median of some measurements.
fn median(values: &mut [f64]) -> f64 {
    percentile(values, 50)
}

/// A percentile of the measurements.
fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values
        .get((values.len() * percent / 100).min(values.len().saturating_sub(1)))
        .copied()
        .unwrap_or(f64::NAN)
}

fn opening(room: &TempDir) {
    let mut times: Vec<f64> = (0..11)
        .map(|n| {
            let directory = room.path().join(format!("empty-{n}"));
            let begin = Instant::now();
            let store = LogStore::open(directory).expect("a store");
            let time = begin.elapsed().as_secs_f64() * 1e3;
            drop(store);
            time
        })
        .collect();
    report("open an empty directory", &format!("{:.2} ms", median(&mut times)), "under 5 ms");
}
