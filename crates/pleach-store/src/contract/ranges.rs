//! Range reads, now and in the past.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
};

use super::{block_on, delete, key, list, put};
use crate::{Commit, Expect, Key, Op, RangeQuery, Revision, Store, StoreError};

async fn fill(store: &dyn Store, keys: &[&str]) {
    for at in keys {
        put(store, at, "v").await;
    }
}

/// Bytewise, not by any locale.
pub async fn a_range_is_ordered_bytewise(store: Arc<dyn Store>) {
    fill(&*store, &["b", "ä", "a/z", "a", "B", "a-b", "a0"]).await;
    let range = store.range(RangeQuery::prefix("")).await.expect("a range");
    let keys: Vec<&str> = range.items.iter().map(|item| item.key.as_str()).collect();
    assert_eq!(keys, ["B", "a", "a-b", "a/z", "a0", "b", "ä"]);
}

/// Neighbours of a prefix do not have it.
pub async fn a_prefix_ends_where_it_says(store: Arc<dyn Store>) {
    fill(&*store, &["a", "a/", "a/b", "a/b/c", "a/\u{10ffff}", "a0", "a.", "b/a"]).await;
    let found = list(&*store, RangeQuery::prefix("a/")).await;
    assert_eq!(found, ["a/=v", "a/b=v", "a/b/c=v", "a/\u{10ffff}=v"]);
}

/// Start is in, end is out.
pub async fn a_range_has_an_exclusive_end(store: Arc<dyn Store>) {
    fill(&*store, &["a", "b", "c", "d"]).await;
    let query = RangeQuery { start: key("b"), end: Some(key("d")), limit: None, at: None };
    assert_eq!(list(&*store, query).await, ["b=v", "c=v"]);
    let query = RangeQuery { start: key("bb"), end: None, limit: None, at: None };
    assert_eq!(list(&*store, query).await, ["c=v", "d=v"]);
}

/// No error, no items, and still a revision.
pub async fn an_empty_or_backward_range_has_nothing(store: Arc<dyn Store>) {
    fill(&*store, &["a", "b", "c"]).await;
    for (start, end) in [("b", "b"), ("c", "a"), ("x", "y")] {
        let query = RangeQuery { start: key(start), end: Some(key(end)), limit: Some(1), at: None };
        let range = store.range(query).await.expect("a range");
        assert_eq!((range.items.len(), range.more, range.remaining), (0, false, 0), "{start}..{end}");
        assert_eq!(range.revision, store.revision().await.expect("a revision"));
    }
}

/// The remaining items are counted.
pub async fn a_limit_cuts_and_counts(store: Arc<dyn Store>) {
    fill(&*store, &["a/1", "a/2", "a/3", "a/4", "a/5", "b"]).await;
    delete(&*store, "a/4").await;
    let range = store.range(RangeQuery::prefix("a/").limit(2)).await.expect("a range");
    assert_eq!((range.items.len(), range.more, range.remaining), (2, true, 2));
    assert_eq!(range.items[1].key.as_str(), "a/2");
}

/// Also when it is met exactly, and when only deleted keys follow.
pub async fn a_limit_that_is_not_reached_cuts_nothing(store: Arc<dyn Store>) {
    fill(&*store, &["a", "b", "c", "d"]).await;
    delete(&*store, "d").await;
    for limit in [3, 4, usize::MAX] {
        let range = store.range(RangeQuery::prefix("").limit(limit)).await.expect("a range");
        assert_eq!((range.items.len(), range.more, range.remaining), (3, false, 0), "limit {limit}");
    }
}

/// Counting without reading.
pub async fn a_limit_of_zero_counts(store: Arc<dyn Store>) {
    fill(&*store, &["a", "b", "c"]).await;
    let range = store.range(RangeQuery::prefix("").limit(0)).await.expect("a range");
    assert_eq!((range.items.len(), range.more, range.remaining), (0, true, 3));
}

/// Continuing at the first page's revision gives one consistent list.
pub async fn pages_at_a_revision_are_one_list(store: Arc<dyn Store>) {
    fill(&*store, &["a", "b", "c", "d", "e"]).await;
    let whole = list(&*store, RangeQuery::prefix("")).await;
    let query = RangeQuery::prefix("").limit(2);
    let mut page = store.range(query.clone()).await.expect("a page");
    let (revision, mut found, mut remaining) = (page.revision, Vec::new(), Vec::new());
    for round in 0.. {
        found.extend(page.items.iter().map(|item| format!("{}=v", item.key)));
        remaining.push(page.remaining);
        if !page.more {
            break;
        }
        // Writes between pages.
        put(&*store, "bb", &round.to_string()).await;
        put(&*store, "d", "changed").await;
        delete(&*store, "e").await;
        let last = page.items.last().expect("a page with more has items").key.clone();
        page = store.range(query.clone().at(revision).after(&last)).await.expect("a page");
        assert_eq!(page.revision, revision);
        assert!(page.items.iter().all(|item| &*item.value == b"v"));
    }
    assert_eq!(found, whole);
    assert_eq!(remaining, [3, 1, 0]);
}

/// Continuing at latest may see later changes.
pub async fn pages_at_latest_see_changes(store: Arc<dyn Store>) {
    fill(&*store, &["a", "b", "c"]).await;
    let page = store.range(RangeQuery::prefix("").limit(1)).await.expect("a page");
    put(&*store, "bb", "new").await;
    let rest = list(&*store, RangeQuery::prefix("").after(&page.items[0].key)).await;
    assert_eq!(rest, ["b=v", "bb=new", "c=v"]);
}

/// Deleted keys exist, later ones do not, values are the old ones.
pub async fn a_range_in_the_past_shows_the_past(store: Arc<dyn Store>) {
    let mut wanted = Vec::new();
    for (at, value) in [("a", "1"), ("b", "1"), ("a", "2"), ("b", ""), ("c", "1"), ("b", "2"), ("a", "")] {
        let revision =
            if value.is_empty() { delete(&*store, at).await } else { put(&*store, at, value).await };
        wanted.push((revision, list(&*store, RangeQuery::prefix("")).await));
    }
    for (revision, wanted) in wanted {
        assert_eq!(list(&*store, RangeQuery::prefix("").at(revision)).await, wanted, "at {revision}");
    }
    assert!(list(&*store, RangeQuery::prefix("").at(Revision::FIRST)).await.is_empty());
}

/// The count is at the requested revision.
pub async fn remaining_items_are_counted_at_the_requested_revision(store: Arc<dyn Store>) {
    fill(&*store, &["a", "b", "c", "d"]).await;
    let then = store.revision().await.expect("a revision");
    fill(&*store, &["c1", "c2", "c3", "x"]).await;
    delete(&*store, "d").await;
    delete(&*store, "c1").await;
    let range = store.range(RangeQuery::prefix("").limit(1).at(then)).await.expect("a range");
    assert_eq!((range.remaining, range.revision), (3, then));
    let range = store.range(RangeQuery::prefix("").limit(1)).await.expect("a range");
    assert_eq!(range.remaining, 5);
}

/// Point reads in the past.
pub async fn a_get_in_the_past_shows_the_past(store: Arc<dyn Store>) {
    let first = put(&*store, "a", "one").await;
    let second = put(&*store, "a", "two").await;
    let gone = delete(&*store, "a").await;
    let third = put(&*store, "a", "three").await;
    for (at, value, created) in [
        (Revision::FIRST, None, first),
        (first, Some("one"), first),
        (second, Some("two"), first),
        (gone, None, first),
        (third, Some("three"), third),
    ] {
        let found = store.get(&key("a"), Some(at)).await.expect("a read");
        assert_eq!(found.as_ref().map(|found| &*found.value), value.map(str::as_bytes), "at {at}");
        assert!(found.is_none_or(|found| found.created == created), "at {at}");
    }
}

/// Not the latest, and not empty.
pub async fn reads_of_future_revisions_fail(store: Arc<dyn Store>) {
    let current = put(&*store, "a", "one").await;
    let ahead = Revision(current.0 + 5);
    let get = store.get(&key("a"), Some(ahead)).await.map(|_| ());
    let range = store.range(RangeQuery::prefix("").at(ahead)).await.map(|_| ());
    for answer in [get, range] {
        let Err(StoreError::Future { requested, current: found }) = answer else { panic!("{answer:?}") };
        assert_eq!((requested, found), (ahead, current));
    }
}

/// Longer than a backend's step.
pub async fn a_long_range_is_whole(store: Arc<dyn Store>) {
    const KEYS: usize = 3_000;
    for chunk in 0..KEYS / 100 {
        let ops =
            (0..100).map(|n| Op::put(format!("k/{:05}", n * (KEYS / 100) + chunk), Expect::Absent, "v"));
        store.commit(ops.collect()).await.expect("a transaction");
    }
    let range = store.range(RangeQuery::prefix("k/")).await.expect("a range");
    assert_eq!(range.items.len(), KEYS);
    assert!(range.items.windows(2).all(|pair| pair[0].key < pair[1].key));
    let range = store.range(RangeQuery::prefix("k/").limit(KEYS - 1)).await.expect("a range");
    assert_eq!((range.items.len(), range.remaining), (KEYS - 1, 1));
    let then = range.revision;
    let ops = (0..KEYS).step_by(3).map(|n| Op::delete(format!("k/{n:05}"), Expect::Anything));
    store.commit(ops.collect()).await.expect("a transaction");
    let left = store.range(RangeQuery::prefix("k/")).await.expect("a range");
    assert_eq!(left.items.len(), KEYS - KEYS / 3);
    let past = store.range(RangeQuery::prefix("k/").at(then).limit(10)).await.expect("a range");
    assert_eq!(past.remaining as usize, KEYS - 10);
}

/// A token moves between keys, in transactions; every read finds it exactly once.
pub async fn a_range_never_sees_half_a_transaction(store: Arc<dyn Store>) {
    const PLACES: usize = 700;
    let place = |n: usize| Key::new(format!("place/{n:04}"));
    // Keys around the token make the range long enough to be read in steps.
    store
        .commit((0..PLACES).map(|n| Op::put(place(2 * n), Expect::Absent, "")).collect())
        .await
        .expect("a transaction");
    put(&*store, place(1).as_str(), "token").await;
    let stop = Arc::new(AtomicBool::new(false));
    let writer = {
        let (store, stop) = (Arc::clone(&store), Arc::clone(&stop));
        thread::spawn(move || {
            let mut at = 1;
            while !stop.load(Relaxed) {
                let to = (at + 622) % (2 * PLACES);
                let ops =
                    [Op::delete(place(at), Expect::Anything), Op::put(place(to), Expect::Absent, "token")];
                block_on(store.commit(Commit::from_iter(ops))).expect("a transaction");
                at = to;
            }
        })
    };
    for _ in 0..60 {
        let range = store.range(RangeQuery::prefix("place/")).await.expect("a range");
        let tokens = range.items.iter().filter(|item| &*item.value == b"token").count();
        assert_eq!((tokens, range.items.len()), (1, PLACES + 1), "at {}", range.revision);
        assert!(range.items.iter().all(|item| item.revision <= range.revision));
    }
    stop.store(true, Relaxed);
    writer.join().expect("no panic");
}
