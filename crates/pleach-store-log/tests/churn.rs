//! Watchers come, lag, catch up and go, during writes, compactions and checkpoints.
//!
//! Each lists at a revision, watches from there, and replays the events onto its list: every previous
//! value must match, progress must neither go back nor run ahead, and in the end its list must be the
//! store's.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use pleach_store::{
    Batch, Commit, Expect, Key, RangeQuery, Revision, Store, StoreError, Versioned, WatchItem,
    contract::{TestRng, block_on},
};
use pleach_store_log::{LogStore, Options};
use tempfile::TempDir;

const LASTS: Duration = Duration::from_millis(1_500);

#[test]
fn replayed_events_match_the_store() {
    let directory = TempDir::new().expect("a directory");
    let options = Options::new().sync(false).history_commits(1_000).watch_queue(3);
    let options = options.segment_bytes(20_000).checkpoint_bytes(40_000);
    let store = Arc::new(options.open(directory.path()).expect("a store"));
    let (stop, events) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let writers = (0..3).map(|number| {
        let (store, stop) = (Arc::clone(&store), Arc::clone(&stop));
        thread::spawn(move || write(&store, &stop, TestRng::new(number)))
    });
    let writers: Vec<_> = writers.collect();
    let watchers = (0..4).map(|number| {
        let (store, events) = (Arc::clone(&store), Arc::clone(&events));
        thread::spawn(move || {
            let (mut rng, begin) = (TestRng::new(100 + number), Instant::now());
            while begin.elapsed() < LASTS {
                events.fetch_add(follow(&store, &mut rng), Relaxed);
            }
        })
    });
    let watchers: Vec<_> = watchers.collect();
    // Writers write until the last watcher is done.
    for watcher in watchers {
        watcher.join().expect("no panic");
    }
    stop.store(true, Relaxed);
    for writer in writers {
        writer.join().expect("no panic");
    }
    let stats = block_on(store.stats()).expect("figures");
    assert!(events.load(Relaxed) > 100 && stats.compactions > 0, "too little happened: {stats:?}");
    assert_eq!((stats.watchers, stats.maintenance_error), (0, None));
}

fn write(store: &LogStore, stop: &AtomicBool, mut rng: TestRng) {
    for number in 0_u64.. {
        if stop.load(Relaxed) {
            return;
        }
        let key = format!("p{}/{}", rng.below(3), rng.below(4));
        let commit = match rng.below(5) {
            0 => Commit::delete(key, Expect::Anything),
            _ => Commit::put(key, Expect::Anything, number.to_string().into_bytes()),
        };
        block_on(store.commit(commit)).expect("a commit");
        if rng.below(40) == 0 {
            thread::sleep(Duration::from_micros(rng.below(2_000)));
        }
    }
}

/// One watch, from some revision in the past. Returns how many events it saw.
fn follow(store: &LogStore, rng: &mut TestRng) -> u64 {
    let everything = rng.below(2) == 0;
    let prefix = if everything { String::new() } else { format!("p{}/", rng.below(3)) };
    let current = block_on(store.revision()).expect("a revision").0;
    let mut seen = Revision(current.saturating_sub(rng.below(2) * rng.below(900)).max(1));
    let list = |at| block_on(store.range(RangeQuery::prefix(&prefix).at(at)));
    let begin = match (list(seen), block_on(store.watch(Key::new(prefix.as_str()), seen))) {
        (Ok(list), Ok(watch)) => Some((list, watch)),
        (Err(StoreError::Compacted { .. }), _) | (_, Err(StoreError::Compacted { .. })) => None,
        other => panic!("{other:?}"),
    };
    let Some((listed, mut watch)) = begin else { return 0 };
    let mut state: BTreeMap<Key, Versioned> =
        listed.items.into_iter().map(|item| (item.key.clone(), item)).collect();
    let (mut progress, wanted) = (watch.progress(), rng.below(1_500));
    for count in 0..wanted {
        assert!(watch.progress() >= progress, "progress went back from {progress}");
        progress = watch.progress();
        match block_on(watch.next()).expect("the watch goes on") {
            Ok(WatchItem::Events(batch)) => {
                assert!(batch.revision() > progress, "progress {progress} was ahead of {}", batch.revision());
                assert!(batch.revision() > seen && (!everything || batch.revision() == seen.next()));
                seen = batch.revision();
                replay(&batch, &mut state);
            }
            Ok(WatchItem::Progress(_)) => {}
            Err(StoreError::WatchCompacted) => return count,
            Err(other) => panic!("{other}"),
        }
        if rng.below(150) == 0 {
            thread::sleep(Duration::from_micros(rng.below(6_000)));
        }
    }
    match list(seen) {
        Ok(list) => assert!(list.items.iter().eq(state.values()), "the list at {seen}"),
        Err(StoreError::Compacted { .. }) => {}
        Err(other) => panic!("{other}"),
    }
    wanted
}

fn replay(batch: &Batch, state: &mut BTreeMap<Key, Versioned>) {
    for event in batch {
        assert_eq!(state.remove(&event.key), event.previous, "at {}", event.revision);
        if let Some(value) = &event.value {
            state.insert(event.key.clone(), value.clone());
        }
    }
}
