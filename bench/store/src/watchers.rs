//! Latency from a commit to a thousand watchers.

use std::{
    path::Path,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use pleach_store::{Commit, Expect, Key, Revision, Store, WatchItem};
use pleach_store_log::LogStore;
use tokio::runtime::Runtime;

use crate::{cpu, percentile, report};

const WATCHERS: usize = 1_000;
const COMMITS: usize = 200;

/// One writer at an easy pace; every watcher sees every commit.
pub(crate) fn delivery(room: &Path) {
    let runtime = Runtime::new().expect("a runtime");
    let store = Arc::new(LogStore::open(room.join("watchers")).expect("a store"));
    // When each commit was acknowledged, by its revision.
    let acknowledged: Arc<Mutex<Vec<Option<Instant>>>> = Arc::new(Mutex::new(vec![None; COMMITS]));
    let watchers: Vec<_> = (0..WATCHERS)
        .map(|_| {
            let store = Arc::clone(&store);
            runtime.spawn(async move {
                let mut watch = store.watch(Key::new("k/"), Revision::FIRST).await.expect("a watch");
                let mut seen = Vec::with_capacity(COMMITS);
                while seen.len() < COMMITS {
                    if let WatchItem::Events(_) = watch.next().await.expect("an item").expect("no error") {
                        seen.push(Instant::now());
                    }
                }
                seen
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(200));
    let (before, begin) = (cpu::of_process(), Instant::now());
    for n in 0..COMMITS {
        let commit = Commit::put(format!("k/{}", n % 10), Expect::Anything, vec![b'x'; 2048]);
        runtime.block_on(store.commit(commit)).expect("a commit");
        acknowledged.lock().expect("no panic")[n] = Some(Instant::now());
        std::thread::sleep(Duration::from_millis(4));
    }
    let mut delays = Vec::new();
    for watcher in watchers {
        let seen = runtime.block_on(watcher).expect("no panic");
        let acknowledged = acknowledged.lock().expect("no panic");
        let late = seen.iter().zip(acknowledged.iter().flatten());
        // A watcher may be told before the writer is.
        delays.extend(late.map(|(seen, said)| seen.saturating_duration_since(*said).as_secs_f64() * 1e6));
    }
    let each = (cpu::of_process() - before) / (COMMITS * WATCHERS) as f64 / 1e3;
    let (half, most) = (percentile(&mut delays, 50), percentile(&mut delays, 99));
    let found = format!("p50 {half:.0} µs, p99 {most:.0} µs, {:.1} s in all", begin.elapsed().as_secs_f64());
    report("commit to delivery, 1,000 watchers", &found, "reported");
    report("processor time per delivered event", &format!("{each:.2} µs"), "under 2 µs");
}
