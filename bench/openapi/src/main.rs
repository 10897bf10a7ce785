//! Cost of published documents: time, size, memory and staleness with many CRDs.
//!
//! ```text
//! cargo run --release -p bench-openapi [CRDs…]
//! ```
//!
//! CRDs of 300 fields each are created in an engine in this process, ten per group, and documents are
//! requested as the server does. Times are wall and CPU time, the median of several; memory is what was
//! allocated and not freed.

mod crds;
mod harness;
mod meter;

use std::alloc::System;
use std::time::Duration;

use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use crate::crds::Big;
use crate::harness::{Encoding, Harness};
use crate::meter::{held, median, memory, report, size, time};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Fields of each CRD.
const FIELDS: usize = 300;
/// How often something is changed.
const CHANGES: usize = 9;

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![10, 500, 2000] } else { sizes };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    for count in sizes {
        runtime.block_on(measure(count));
    }
}

async fn measure(count: usize) {
    println!("\n{count} CRDs of {FIELDS} fields");
    let before = held();
    let harness = Harness::new().await;
    let mut bytes = 0;
    let ((), spent) = time(async {
        for number in 0..count {
            let crd = Big::new(number).crd(FIELDS, None);
            bytes += crd.to_string().len();
            harness.create(&crd).await;
        }
    })
    .await;
    report("create a CRD", &spent.each(count), &format!("{} each", size(bytes / count)));
    report("  memory of the server, per CRD", &memory((held() - before) / count as isize), "documents apart");

    first_builds(&harness, count).await;
    changes(&harness, count).await;
    rest().await;
}

/// Time and memory of the first request of each document.
async fn first_builds(harness: &Harness, count: usize) {
    // Shared parts are made once, with the first document.
    harness.document("v3/api/v1", Encoding::Json).await;
    let first = format!("v3/apis/{}/v1", Big::new(0).group);
    let before = held();
    let (document, spent) = time(harness.document(&first, Encoding::Json)).await;
    let length = document.to_bytes().len();
    report("v3 of one group, first", &spent.to_string(), &size(length));
    let kept = held() - before;
    let times = kept as f64 / length as f64;
    report("  kept for it and for all others", &memory(kept), &format!("{times:.2} x its size"));
    let before = held();
    let (_, spent) = time(harness.document("v3", Encoding::Json)).await;
    report("v3 index, first", &spent.to_string(), &spent.each(count));
    report("  kept, per CRD", &memory((held() - before) / count as isize), "hashes only");

    let forms =
        [("v2 JSON", Encoding::Json), ("v2 JSON gzip", Encoding::Gzip), ("v2 protobuf", Encoding::Protobuf)];
    for (what, ask) in forms {
        let before = held();
        let (document, spent) = time(harness.document("v2", ask)).await;
        let length = document.to_bytes().len();
        report(&format!("{what}, first"), &spent.to_string(), &size(length));
        let kept = held() - before;
        report(
            "  kept",
            &memory(kept),
            &format!(
                "{:.2} x its size, {} per CRD",
                kept as f64 / length as f64,
                memory(kept / count as isize)
            ),
        );
        let (_, spent) = time(harness.document("v2", ask)).await;
        report("  again", &spent.to_string(), "");
    }
}

/// Time until a change of one CRD is in a document.
async fn changes(harness: &Harness, count: usize) {
    let mut at_commit = Vec::new();
    let wanted = |bar: &'static str| if count == 2000 { bar } else { "" };
    for (what, path, ask, wanted) in [
        ("v3 of its group", "", Encoding::Json, wanted("under 10 ms")),
        ("v3 index", "v3", Encoding::Json, ""),
        ("v2 JSON", "v2", Encoding::Json, wanted("under 150 ms")),
        ("v2 JSON gzip", "v2", Encoding::Gzip, wanted("under 150 ms")),
        ("v2 protobuf", "v2", Encoding::Protobuf, wanted("under 150 ms")),
    ] {
        let (mut visible, mut asked) = (Vec::new(), Vec::new());
        for round in 0..CHANGES {
            let big = Big::new(round * count / CHANGES);
            let extra = format!("later{}{round}", what.replace(' ', ""));
            let patch = json!({"spec": {"versions": big.crd(FIELDS, Some(&extra))["spec"]["versions"]}});
            let path = if path.is_empty() { format!("v3/apis/{}/v1", big.group) } else { path.to_owned() };
            // The documents must exist to become stale.
            let old = harness.document(&path, ask).await.to_bytes();
            let ((), commit) = time(harness.patch(&big.name(), &patch)).await;
            let (new, request) = time(harness.document(&path, ask)).await;
            let new = new.to_bytes();
            assert!(old != new, "{what} is as it was");
            if ask != Encoding::Gzip && path != "v3" {
                let found = new.windows(extra.len()).any(|window| window == extra.as_bytes());
                assert!(found, "{what}: {extra} is not there");
            }
            at_commit.push(commit);
            visible.push(commit + request);
            asked.push(request);
        }
        report(&format!("change to {what}, from the request"), &median(&mut asked).to_string(), wanted);
        report("  from the change itself", &median(&mut visible).to_string(), "");
    }
    report("a change without requests", &median(&mut at_commit).to_string(), "");
}

/// Work without requests.
async fn rest() {
    let time_of_rest = Duration::from_secs(2);
    let ((), spent) = time(tokio::time::sleep(time_of_rest)).await;
    let percent = spent.processor.as_secs_f64() / time_of_rest.as_secs_f64() * 100.0;
    report("processor at rest", &format!("{percent:.3} %"), "none");
}
