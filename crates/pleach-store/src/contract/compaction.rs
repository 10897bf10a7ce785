//! Compaction.

use std::sync::Arc;

use super::{delete, is_quiet, key, lines, list, next, put, value_of, watch};
use crate::{Expect, Op, RangeQuery, Revision, Store, StoreError};

fn is_compacted<T: std::fmt::Debug>(answer: &Result<T, StoreError>, at: Revision, by: Revision) {
    let Err(StoreError::Compacted { requested, oldest }) = answer else { panic!("{answer:?}") };
    assert_eq!((*requested, *oldest), (at, by));
}

/// Reads and watches of every kind.
pub async fn reads_and_watches_of_compacted_revisions_fail(store: Arc<dyn Store>) {
    let first = put(&*store, "a", "one").await;
    put(&*store, "a", "two").await;
    let third = put(&*store, "a", "three").await;
    store.compact(third).await.expect("a compaction");
    for at in [first, Revision::FIRST, Revision(0)] {
        is_compacted(&store.get(&key("a"), Some(at)).await, at, third);
        is_compacted(&store.range(RangeQuery::prefix("").at(at)).await, at, third);
        is_compacted(&store.watch(key("a"), at).await.map(|_| ()), at, third);
    }
}

/// Reads at the compacted revision and later, and watches after it.
pub async fn reads_and_watches_from_the_compacted_revision_succeed(store: Arc<dyn Store>) {
    put(&*store, "a", "one").await;
    put(&*store, "b", "one").await;
    let kept = put(&*store, "a", "two").await;
    let later = put(&*store, "b", "two").await;
    store.compact(kept).await.expect("a compaction");
    assert_eq!(list(&*store, RangeQuery::prefix("").at(kept)).await, ["a=two", "b=one"]);
    assert_eq!(list(&*store, RangeQuery::prefix("").at(later)).await, ["a=two", "b=two"]);
    let mut watch = watch(&*store, "", kept).await;
    assert_eq!(lines(&next(&mut watch).await.expect("an event")), ["~b two<one"]);
    assert_eq!(store.revision().await.expect("a revision"), later, "compaction is no commit");
}

/// Most likely a mistake.
pub async fn compaction_of_the_future_is_refused(store: Arc<dyn Store>) {
    let current = put(&*store, "a", "one").await;
    let answer = store.compact(current.next()).await;
    assert!(matches!(answer, Err(StoreError::Future { .. })), "{answer:?}");
    store.compact(current).await.expect("up to now is allowed");
    assert_eq!(value_of(&*store, "a").await.as_deref(), Some("one"));
}

/// Compacting again, or less, changes nothing.
pub async fn compaction_does_not_go_back(store: Arc<dyn Store>) {
    let first = put(&*store, "a", "one").await;
    let second = put(&*store, "a", "two").await;
    put(&*store, "a", "three").await;
    for at in [second, second, first] {
        store.compact(at).await.expect("a compaction");
    }
    is_compacted(&store.get(&key("a"), Some(first)).await, first, second);
    let found = store.get(&key("a"), Some(second)).await.expect("a read").expect("the key");
    assert_eq!(&*found.value, b"two");
}

/// A key that has not changed for long is kept, and a deleted one does not come back.
pub async fn compaction_keeps_old_keys_and_forgets_deleted_ones(store: Arc<dyn Store>) {
    let old = put(&*store, "old", "one").await;
    put(&*store, "gone", "one").await;
    delete(&*store, "gone").await;
    let mut current = Revision::FIRST;
    for n in 0..20 {
        current = put(&*store, "busy", &n.to_string()).await;
    }
    for before in [Revision(current.0 - 10), current] {
        store.compact(before).await.expect("a compaction");
        assert_eq!(list(&*store, RangeQuery::prefix("")).await, ["busy=19", "old=one"]);
        assert_eq!(value_of(&*store, "gone").await, None);
    }
    let found = store.get(&key("old"), None).await.expect("a read").expect("the key");
    assert_eq!((found.created, found.revision), (old, old));
    let again = put(&*store, "gone", "two").await;
    let found = store.get(&key("gone"), None).await.expect("a read").expect("the key");
    assert_eq!(found.created, again, "it was created anew");
}

/// Compacting exactly before, at and after a delete.
pub async fn a_watch_after_the_compacted_revision_misses_no_delete(store: Arc<dyn Store>) {
    let created = put(&*store, "a", "one").await;
    let deleted = delete(&*store, "a").await;
    put(&*store, "b", "one").await;
    store.compact(created).await.expect("a compaction");
    let mut watch_before = watch(&*store, "", created).await;
    for wanted in ["-a <one", "+b one<"] {
        assert_eq!(lines(&next(&mut watch_before).await.expect("an event")), [wanted]);
    }
    store.compact(deleted).await.expect("a compaction");
    let mut watch_at = watch(&*store, "", deleted).await;
    assert_eq!(lines(&next(&mut watch_at).await.expect("an event")), ["+b one<"]);
    is_compacted(&store.watch(key(""), created).await.map(|_| ()), created, deleted);
}

/// A watcher that did not read gets everything, or an error after a prefix; never a gap.
pub async fn a_slow_watcher_gets_an_error_or_misses_nothing(store: Arc<dyn Store>) {
    const ROUNDS: u64 = 3_000;
    let mut slow = watch(&*store, "a/", Revision::FIRST).await;
    let mut first = Revision::FIRST;
    for round in 0..ROUNDS / 100 {
        let ops = |n: u64| Op::put(format!("a/{}", n % 10), Expect::Anything, n.to_string().into_bytes());
        for n in 0..100 {
            first = store.commit(ops(round * 100 + n).into()).await.expect("a commit");
        }
    }
    store.compact(first).await.expect("a compaction");
    let last = put(&*store, "a/last", "v").await;
    let mut seen = Revision::FIRST;
    loop {
        match next(&mut slow).await {
            Ok(batch) => {
                assert_eq!(batch.revision(), seen.next(), "a gap");
                seen = batch.revision();
                if seen == last {
                    break;
                }
            }
            Err(StoreError::WatchCompacted) => {
                assert!(slow.next().await.is_none(), "an error ends a watch");
                assert!(slow.progress() <= seen.max(Revision::FIRST), "progress is not ahead");
                break;
            }
            Err(other) => panic!("{other}"),
        }
    }
}

/// Only watchers that are behind are affected.
pub async fn compaction_does_not_disturb_watchers_that_keep_up(store: Arc<dyn Store>) {
    let mut busy = watch(&*store, "a/", Revision::FIRST).await;
    let mut quiet = watch(&*store, "b/", Revision::FIRST).await;
    for n in 0..50 {
        let revision = put(&*store, &format!("a/{n}"), "v").await;
        assert_eq!(lines(&next(&mut busy).await.expect("an event")), [format!("+a/{n} v<")]);
        assert!(is_quiet(&*store, &mut quiet).await);
        store.compact(revision).await.expect("a compaction");
    }
    put(&*store, "b/1", "v").await;
    assert_eq!(lines(&next(&mut quiet).await.expect("an event")), ["+b/1 v<"]);
}

/// A list at latest does not fail because of a compaction during it.
pub async fn reads_in_steps_survive_compaction(store: Arc<dyn Store>) {
    const KEYS: usize = 2_000;
    let ops = (0..KEYS).map(|n| Op::put(format!("k/{n:05}"), Expect::Absent, "v"));
    store.commit(ops.collect()).await.expect("a transaction");
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let writer = {
        let (store, stop) = (Arc::clone(&store), Arc::clone(&stop));
        std::thread::spawn(move || {
            let mut n = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                n = (n + 7) % KEYS;
                super::block_on(async {
                    let revision = put(&*store, &format!("k/{n:05}"), "w").await;
                    store.compact(revision).await.expect("a compaction");
                });
            }
        })
    };
    for _ in 0..150 {
        let range = store.range(RangeQuery::prefix("k/")).await.expect("a range at latest");
        assert_eq!(range.items.len(), KEYS, "at {}", range.revision);
        let range = store.range(RangeQuery::prefix("k/").limit(KEYS / 2)).await.expect("a range at latest");
        assert_eq!((range.items.len(), range.remaining as usize), (KEYS / 2, KEYS / 2));
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    writer.join().expect("no panic");
}

/// Keys, bytes, history.
pub async fn stats_add_up(store: Arc<dyn Store>) {
    put(&*store, "a", "12345").await;
    put(&*store, "b", "123").await;
    put(&*store, "a", "1").await;
    let last = delete(&*store, "b").await;
    let stats = store.stats().await.expect("figures");
    assert_eq!((stats.revision, stats.oldest), (last, Revision::FIRST));
    assert_eq!((stats.keys, stats.value_bytes, stats.history), (1, 1, 4));
    assert_eq!((stats.watchers, stats.compactions, stats.read_only), (0, 0, None));
    store.compact(last).await.expect("a compaction");
    let mut stats = store.stats().await.expect("figures");
    assert_eq!((stats.oldest, stats.keys, stats.compactions), (last, 1, 1));
    // A backend may prune a little later.
    for _ in 0..10_000 {
        if stats.history > 0 {
            std::thread::sleep(std::time::Duration::from_millis(1));
            store.compact(last).await.expect("a compaction");
            stats = store.stats().await.expect("figures");
        }
    }
    assert_eq!(stats.history, 0);
}
