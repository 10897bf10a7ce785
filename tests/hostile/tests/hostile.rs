//! Inputs made to cost much, one for each kind of work on what clients send.
//!
//! Each is as large as a request may be, 3 MiB, and either ends within the steps that a request has or is ended by
//! them. The memory that it takes at its peak is at most 64 MiB more than eight times its size. Steps are counted and
//! not timed; so that they mean something, the table that the test prints has the time of each step, which should be
//! some ten nanoseconds in a release build.
//!
//! A debug build takes inputs and steps of a tenth. One test, because the counters are the process's.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test may panic, and tells its figures")]

#[path = "hostile/access.rs"]
mod access;
#[path = "hostile/apply.rs"]
mod apply;
#[path = "hostile/crds.rs"]
mod crds;
#[path = "hostile/credentials.rs"]
mod credentials;
#[path = "hostile/encodings.rs"]
mod encodings;
#[path = "hostile/filled.rs"]
mod filled;
#[path = "hostile/kinds.rs"]
mod kinds;
#[path = "hostile/metadata.rs"]
mod metadata;
#[path = "hostile/patches.rs"]
mod patches;
#[path = "hostile/peak.rs"]
mod peak;
#[path = "hostile/places.rs"]
mod places;
#[path = "hostile/schemas.rs"]
mod schemas;
#[path = "hostile/texts.rs"]
mod texts;

use std::borrow::Cow;
use std::hint::black_box;
use std::time::Duration;

use pleach_work::{measure, with_limit};

/// A debug build runs only one in so many.
const SCALE: usize = if cfg!(debug_assertions) { 10 } else { 1 };
/// How large a request may be.
const BODY: usize = (3 << 20) / SCALE;
/// How many steps a request has.
const STEPS: u64 = 60_000_000 / SCALE as u64;
/// The memory that any request may take, beside eight times its size.
const MEMORY: usize = 64 << 20;

/// The attacks that take more memory than that, in MiB: CRDs of nothing but tiny schemas, and all kinds of writes of one long
/// list, one after the other. The list may only get shorter.
const MORE_MEMORY: &[(&str, usize)] = &[
    ("CRD: many properties without a type", 120),
    ("CRD: wide junctors", 240),
    ("CRD: wide junctors about properties that are not there", 240),
    ("CRD: everything that is forbidden", 100),
    ("CRD: many defaults", 130),
    ("CRD: wrong defaults", 110),
    ("managers: a long list of items", 180),
];

/// Something that a client may send.
struct Attack {
    name: Cow<'static, str>,
    /// How many bytes it sends.
    bytes: usize,
    work: Box<dyn FnOnce()>,
}

/// Makes an attack: one after the other, as each takes memory.
type Make = Box<dyn FnOnce() -> Attack>;

/// An attack by `bytes` that are sent; what `work` makes is dropped outside of what is measured.
fn attack<T: 'static>(
    name: impl Into<Cow<'static, str>>,
    bytes: usize,
    work: impl FnOnce() -> T + 'static,
) -> Attack {
    Attack { name: name.into(), bytes, work: Box::new(move || drop(black_box(work()))) }
}

/// So many of something that takes `each` bytes in a body.
fn fitting(each: usize) -> usize {
    BODY / each
}

/// The CPU time of this thread; the machine may be busy with other things. None where it cannot be told.
fn cpu_time() -> Duration {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(schedule.split(' ').next().and_then(|nanos| nanos.parse().ok()).unwrap_or_default())
}

#[test]
fn nothing_costs_more_than_a_request_may() {
    let only = std::env::var("HOSTILE").unwrap_or_default();
    let mut wrong = Vec::new();
    println!("{:<52}{:>10}{:>12}{:>9}{:>9}{:>9}", "", "bytes", "steps", "ms", "ns/step", "peak MB");
    let groups: [fn() -> Vec<Make>; 10] = [
        texts::all,
        encodings::all,
        patches::all,
        metadata::all,
        schemas::all,
        apply::all,
        crds::all,
        access::all,
        credentials::all,
        kinds::all,
    ];
    for make in groups.into_iter().flat_map(|group| group()) {
        let Attack { name, bytes, work } = make();
        if !name.contains(&only) {
            continue;
        }
        assert!(bytes <= 2 * BODY + 100, "{name}: nobody can send {bytes} bytes");
        let ((result, steps, time), peak) = peak::of(|| {
            let begin = cpu_time();
            let (result, steps) = measure(|| with_limit(STEPS, work));
            (result, steps, cpu_time().saturating_sub(begin))
        });
        let end = if result.is_ok() { ' ' } else { '!' };
        println!(
            "{name:<52}{bytes:>10}{steps:>11}{end}{:>9}{:>9.1}{:>9.1}",
            time.as_millis(),
            time.as_nanos() as f64 / steps.max(1) as f64,
            peak as f64 / f64::from(1 << 20),
        );
        if steps > STEPS + STEPS / 100 && result.is_ok() {
            wrong.push(format!("{name} takes {steps} steps"));
        }
        let more = MORE_MEMORY.iter().find(|(known, _)| name == *known).map_or(0, |(_, most)| most << 20);
        if peak > (MEMORY + 8 * bytes).max(more) {
            wrong.push(format!("{name} takes {} MB for {bytes} bytes", peak >> 20));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
