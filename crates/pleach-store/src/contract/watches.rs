//! Watches: every event once, in order.

use std::{future::poll_fn, sync::Arc, task::Poll, thread};

use super::{block_on, delete, is_quiet, key, line, lines, next, put, watch};
use crate::{Commit, Expect, Op, Revision, Store, StoreError, WatchItem};

/// With the previous values.
pub async fn a_watch_sees_create_update_and_delete(store: Arc<dyn Store>) {
    let mut watch = watch(&*store, "a", Revision::FIRST).await;
    let created = put(&*store, "a", "one").await;
    let updated = put(&*store, "a", "two").await;
    let deleted = delete(&*store, "a").await;
    for (revision, wanted) in [(created, "+a one<"), (updated, "~a two<one"), (deleted, "-a <two")] {
        let batch = next(&mut watch).await.expect("an event");
        assert_eq!((batch.revision(), lines(&batch)), (revision, vec![wanted.to_owned()]));
        let event = &batch[0];
        assert_eq!(event.revision, revision);
        if let Some(value) = &event.value {
            assert_eq!((value.revision, value.created), (revision, created));
        }
        assert!(event.previous.as_ref().is_none_or(|previous| previous.revision < revision));
    }
    assert!(is_quiet(&*store, &mut watch).await);
}

/// From every past revision.
pub async fn a_watch_from_the_past_replays_it(store: Arc<dyn Store>) {
    let wanted = ["+a 1<", "+b 1<", "~a 2<1", "-b <1", "+b 2<"];
    put(&*store, "a", "1").await;
    put(&*store, "b", "1").await;
    put(&*store, "a", "2").await;
    delete(&*store, "b").await;
    put(&*store, "b", "2").await;
    for (skipped, _) in wanted.iter().enumerate() {
        let mut watch = watch(&*store, "", Revision(Revision::FIRST.0 + skipped as u64)).await;
        for wanted in &wanted[skipped..] {
            assert_eq!(lines(&next(&mut watch).await.expect("an event")), [*wanted]);
        }
        assert!(is_quiet(&*store, &mut watch).await);
    }
}

/// Started in the past, with concurrent writers.
pub async fn a_watch_spans_past_and_present_without_a_gap(store: Arc<dyn Store>) {
    const COMMITS: u64 = 300;
    let first = put(&*store, "n/0", "0").await;
    let writer = {
        let store = Arc::clone(&store);
        thread::spawn(move || {
            for n in 1..=COMMITS {
                block_on(put(&*store, &format!("n/{}", n % 7), &n.to_string()));
            }
        })
    };
    let last = Revision(first.0 + COMMITS);
    // One after the other, so that they start at different revisions.
    for after in [Revision::FIRST, first, Revision::FIRST] {
        let mut watch = watch(&*store, "n/", after).await;
        let mut seen = after;
        while seen < last {
            let batch = next(&mut watch).await.expect("an event");
            assert_eq!(batch.revision(), seen.next());
            seen = batch.revision();
        }
    }
    writer.join().expect("no panic");
}

/// And no events of neighbours.
pub async fn a_watch_sees_its_prefix_only(store: Arc<dyn Store>) {
    let mut watch = watch(&*store, "a/", Revision::FIRST).await;
    for at in ["a", "a/1", "a0", "b/1", "a/2", "A/1"] {
        put(&*store, at, "v").await;
    }
    delete(&*store, "a").await;
    delete(&*store, "a/1").await;
    for wanted in ["+a/1 v<", "+a/2 v<", "-a/1 <v"] {
        assert_eq!(lines(&next(&mut watch).await.expect("an event")), [wanted]);
    }
    assert!(is_quiet(&*store, &mut watch).await);
}

/// A prefix need not end with a slash, and a key has itself as a prefix.
pub async fn a_prefix_is_not_a_path(store: Arc<dyn Store>) {
    let mut watch = watch(&*store, "a/b", Revision::FIRST).await;
    for at in ["a/b", "a/bc", "a/c", "a/b/c", "a/ä"] {
        put(&*store, at, "v").await;
    }
    for wanted in ["+a/b v<", "+a/bc v<", "+a/b/c v<"] {
        assert_eq!(lines(&next(&mut watch).await.expect("an event")), [wanted]);
    }
    assert!(is_quiet(&*store, &mut watch).await);
}

/// All its changes under the prefix, in the commit's order; live and replayed.
pub async fn a_transaction_is_one_batch(store: Arc<dyn Store>) {
    put(&*store, "a/2", "old").await;
    let begin = store.revision().await.expect("a revision");
    let mut live = watch(&*store, "a/", begin).await;
    let mut other = watch(&*store, "b/", begin).await;
    let ops = [
        Op::put("b/1", Expect::Anything, "v"),
        Op::put("a/3", Expect::Anything, "v"),
        Op::delete("a/2", Expect::Anything),
        Op::delete("a/9", Expect::Anything),
        Op::put("a/1", Expect::Anything, "v"),
    ];
    let revision = store.commit(Commit::from_iter(ops)).await.expect("a transaction");
    let mut replayed = watch(&*store, "a/", begin).await;
    for watch in [&mut live, &mut replayed] {
        let batch = next(watch).await.expect("a batch");
        assert_eq!(lines(&batch), ["+a/3 v<", "-a/2 <old", "+a/1 v<"]);
        assert!(batch.iter().all(|event| event.revision == revision));
    }
    assert_eq!(lines(&next(&mut other).await.expect("a batch")), ["+b/1 v<"]);
}

/// For any number of watchers.
pub async fn many_watchers_each_see_everything_once(store: Arc<dyn Store>) {
    let mut watches = Vec::new();
    for _ in 0..100 {
        watches.push(watch(&*store, "a/", Revision::FIRST).await);
    }
    for n in 0..20 {
        put(&*store, &format!("a/{n}"), "v").await;
        put(&*store, &format!("b/{n}"), "v").await;
    }
    for watch in &mut watches {
        for n in 0..20 {
            assert_eq!(lines(&next(watch).await.expect("an event")), [format!("+a/{n} v<")]);
        }
        assert!(is_quiet(&*store, watch).await);
    }
}

/// Everything, one namespace, one object.
pub async fn watches_of_nested_prefixes(store: Arc<dyn Store>) {
    let prefixes = ["", "r/", "r/ns1/", "r/ns1/x", "r/ns2/", "ä"];
    let keys = ["r/ns1/x", "r/ns1/y", "r/ns2/x", "s/ns1/x", "r/ns1/xx", "ä", "öä"];
    let mut watches = Vec::new();
    for prefix in prefixes {
        watches.push(watch(&*store, prefix, Revision::FIRST).await);
    }
    for at in keys {
        put(&*store, at, "v").await;
    }
    for (prefix, watch) in prefixes.iter().zip(&mut watches) {
        for at in keys.iter().filter(|at| at.starts_with(prefix)) {
            assert_eq!(
                lines(&next(watch).await.expect("an event")),
                [format!("+{at} v<")],
                "under {prefix:?}"
            );
        }
        assert!(is_quiet(&*store, watch).await, "under {prefix:?}");
    }
}

/// Events are after the revision, not at it.
pub async fn a_watch_from_now_skips_the_past(store: Arc<dyn Store>) {
    let current = put(&*store, "a", "one").await;
    let mut watch = watch(&*store, "a", current).await;
    assert!(is_quiet(&*store, &mut watch).await);
    put(&*store, "a", "two").await;
    assert_eq!(line(&next(&mut watch).await.expect("an event")[0]), "~a two<one");
}

/// The caller decides what to do.
pub async fn a_watch_in_the_future_is_refused(store: Arc<dyn Store>) {
    let current = put(&*store, "a", "one").await;
    let answer = store.watch(key("a"), current.next()).await.map(|_| ());
    let Err(StoreError::Future { requested, current: found }) = answer else { panic!("{answer:?}") };
    assert_eq!((requested, found), (current.next(), current));
}

/// A dropped watch leaves nothing behind.
pub async fn a_dropped_watch_is_removed(store: Arc<dyn Store>) {
    let mut kept = watch(&*store, "a", Revision::FIRST).await;
    let dropped: Vec<_> =
        [watch(&*store, "a", Revision::FIRST).await, watch(&*store, "b", Revision::FIRST).await].into();
    assert_eq!(store.stats().await.expect("figures").watchers, 3);
    drop(dropped);
    assert_eq!(store.stats().await.expect("figures").watchers, 1);
    put(&*store, "a", "one").await;
    assert_eq!(line(&next(&mut kept).await.expect("an event")[0]), "+a one<");
}

/// Progress advances even when nothing under the prefix changes.
pub async fn progress_follows_writes_elsewhere(store: Arc<dyn Store>) {
    let mut watch = watch(&*store, "a", Revision::FIRST).await;
    for n in 0..10 {
        let revision = put(&*store, &format!("b/{n}"), "v").await;
        assert!(is_quiet(&*store, &mut watch).await);
        assert!(watch.progress() >= revision);
    }
}

/// A bookmark must not be ahead of events not yet returned.
pub async fn progress_is_never_ahead_of_events(store: Arc<dyn Store>) {
    const COMMITS: u64 = 200;
    let mut watch = watch(&*store, "a/", Revision::FIRST).await;
    let writer = {
        let store = Arc::clone(&store);
        thread::spawn(move || {
            for n in 0..COMMITS {
                // Every third commit is under the watched prefix.
                let prefix = if n % 3 == 0 { "a" } else { "b" };
                block_on(put(&*store, &format!("{prefix}/{n}"), "v"));
            }
            block_on(put(&*store, "a/last", "v"))
        })
    };
    loop {
        let progress = watch.progress();
        let batch = next(&mut watch).await.expect("an event");
        assert!(batch.revision() > progress, "progress was {progress} before {} came", batch.revision());
        let after = watch.progress();
        assert!(after >= batch.revision() || after >= progress, "progress went back to {after}");
        if line(&batch[0]).starts_with("+a/last") {
            break;
        }
    }
    assert!(watch.progress() >= writer.join().expect("no panic"));
}

/// `next` raced against a timer, dropped, and called again.
pub async fn a_cancelled_next_loses_nothing(store: Arc<dyn Store>) {
    let mut watch = watch(&*store, "a/", Revision::FIRST).await;
    for n in 0..20 {
        {
            // Polled once, then dropped.
            let mut waiting = Box::pin(watch.next());
            let polled = poll_fn(|cx| Poll::Ready(waiting.as_mut().poll(cx).is_ready())).await;
            assert!(!polled, "nothing has happened yet");
        }
        put(&*store, &format!("a/{n}"), "v").await;
        let Some(Ok(WatchItem::Events(batch))) = watch.next().await else { panic!("an event") };
        assert_eq!(lines(&batch), [format!("+a/{n} v<")]);
    }
}

/// Conflicts and deletes of absent keys.
pub async fn failed_commits_make_no_events(store: Arc<dyn Store>) {
    put(&*store, "a/1", "v").await;
    let now = store.revision().await.expect("a revision");
    let mut watch = watch(&*store, "a/", now).await;
    let commits = [
        Commit::put("a/1", Expect::Absent, "x"),
        Commit::delete("a/2", Expect::At(now)),
        Commit::from_iter([Op::put("a/3", Expect::Absent, "x"), Op::put("a/1", Expect::Absent, "x")]),
    ];
    for commit in commits {
        assert!(store.commit(commit).await.is_err());
    }
    delete(&*store, "a/2").await;
    assert!(is_quiet(&*store, &mut watch).await);
    put(&*store, "a/4", "v").await;
    let batch = next(&mut watch).await.expect("an event");
    assert_eq!((lines(&batch), batch.revision()), (vec!["+a/4 v<".to_owned()], now.next()));
}

/// Each watcher sees each revision once and in order, and each event's previous value is the
/// value of the event before it.
pub async fn events_come_in_order_under_racing_writers(store: Arc<dyn Store>) {
    const EACH: u64 = 60;
    let watches = [watch(&*store, "", Revision::FIRST).await, watch(&*store, "k", Revision::FIRST).await];
    let writers = (0..4).map(|writer| {
        let store = Arc::clone(&store);
        thread::spawn(move || {
            for n in 0..EACH {
                let at = format!("k{}", (n + writer) % 3);
                if n % 5 == 4 {
                    // There may be nothing to delete.
                    block_on(delete(&*store, &at));
                } else {
                    block_on(put(&*store, &at, &format!("{writer}-{n}")));
                }
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    for writer in writers {
        writer.join().expect("no panic");
    }
    let last = store.revision().await.expect("a revision");
    for mut watch in watches {
        let mut state = std::collections::BTreeMap::new();
        let mut seen = Revision::FIRST;
        while seen < last {
            let batch = next(&mut watch).await.expect("an event");
            assert_eq!(batch.revision(), seen.next());
            seen = batch.revision();
            for event in &batch {
                assert_eq!(state.remove(&event.key), event.previous, "at {seen}");
                if let Some(value) = &event.value {
                    state.insert(event.key.clone(), value.clone());
                }
            }
        }
    }
}
