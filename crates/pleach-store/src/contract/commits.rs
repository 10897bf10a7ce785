//! Commits and point reads.

use std::{sync::Arc, thread};

use super::{block_on, delete, key, put, value_of};
use crate::{Bytes, Commit, Expect, Key, Op, RangeQuery, Revision, Store, StoreError, VALUE_LIMIT};

/// At revision one, never zero.
pub async fn a_fresh_store_is_empty_at_the_first_revision(store: Arc<dyn Store>) {
    assert_eq!(store.revision().await.expect("a revision"), Revision::FIRST);
    assert_eq!(store.get(&key("a"), None).await.expect("a read"), None);
    let range = store.range(RangeQuery::prefix("")).await.expect("a range");
    assert_eq!((range.items.len(), range.revision, range.more), (0, Revision::FIRST, false));
}

/// The bytes, and both revisions.
pub async fn a_created_key_reads_back(store: Arc<dyn Store>) {
    let revision = store.commit(Commit::put("a", Expect::Absent, "one")).await.expect("a create");
    let found = store.get(&key("a"), None).await.expect("a read").expect("the key");
    assert_eq!((&*found.value, found.key.as_str()), (&b"one"[..], "a"));
    assert_eq!((found.created, found.revision), (revision, revision));
    assert_eq!(store.revision().await.expect("a revision"), revision);
}

/// Create only if absent; the error has the current value.
pub async fn creating_an_existing_key_conflicts(store: Arc<dyn Store>) {
    let first = put(&*store, "a", "one").await;
    let answer = store.commit(Commit::put("a", Expect::Absent, "two")).await;
    let Err(StoreError::Conflict { key, expected: Expect::Absent, found: Some(found) }) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!((key.as_str(), &*found.value, found.revision), ("a", &b"one"[..], first));
    assert_eq!(value_of(&*store, "a").await.as_deref(), Some("one"));
}

/// Compare and swap.
pub async fn an_update_at_the_right_revision_replaces(store: Arc<dyn Store>) {
    let first = put(&*store, "a", "one").await;
    let second = store.commit(Commit::put("a", Expect::At(first), "two")).await.expect("an update");
    assert!(second > first);
    assert_eq!(value_of(&*store, "a").await.as_deref(), Some("two"));
}

/// Neither the value nor the revision changes.
pub async fn a_stale_update_changes_nothing(store: Arc<dyn Store>) {
    let first = put(&*store, "a", "one").await;
    let second = put(&*store, "a", "two").await;
    let answer = store.commit(Commit::put("a", Expect::At(first), "three")).await;
    assert!(
        matches!(&answer, Err(StoreError::Conflict { found: Some(found), .. }) if found.revision == second),
        "{answer:?}"
    );
    assert_eq!(value_of(&*store, "a").await.as_deref(), Some("two"));
    assert_eq!(store.revision().await.expect("a revision"), second);
}

/// `found: None` distinguishes "deleted" from "changed".
pub async fn updating_an_absent_key_conflicts(store: Arc<dyn Store>) {
    let first = put(&*store, "a", "one").await;
    delete(&*store, "a").await;
    let answer = store.commit(Commit::put("a", Expect::At(first), "two")).await;
    assert!(matches!(&answer, Err(StoreError::Conflict { found: None, .. })), "{answer:?}");
}

/// Without a precondition a put creates or replaces.
pub async fn a_write_that_expects_anything_always_happens(store: Arc<dyn Store>) {
    put(&*store, "a", "one").await;
    put(&*store, "a", "two").await;
    assert_eq!(value_of(&*store, "a").await.as_deref(), Some("two"));
}

/// A delete is a commit like any other.
pub async fn a_delete_at_the_right_revision_removes(store: Arc<dyn Store>) {
    let first = put(&*store, "a", "one").await;
    let gone = store.commit(Commit::delete("a", Expect::At(first))).await.expect("a delete");
    assert_eq!(gone, first.next());
    assert_eq!(value_of(&*store, "a").await, None);
    let again = store.commit(Commit::put("a", Expect::Absent, "new")).await;
    assert!(again.is_ok(), "a deleted key can be created: {again:?}");
}

/// An object that was changed meanwhile stays.
pub async fn a_stale_delete_changes_nothing(store: Arc<dyn Store>) {
    let first = put(&*store, "a", "one").await;
    put(&*store, "a", "two").await;
    let answer = store.commit(Commit::delete("a", Expect::At(first))).await;
    assert!(matches!(answer, Err(StoreError::Conflict { found: Some(_), .. })));
    assert_eq!(value_of(&*store, "a").await.as_deref(), Some("two"));
}

/// With a precondition, deleting an absent key is a conflict.
pub async fn deleting_an_absent_key_at_a_revision_conflicts(store: Arc<dyn Store>) {
    let answer = store.commit(Commit::delete("a", Expect::At(Revision::FIRST))).await;
    assert!(matches!(answer, Err(StoreError::Conflict { found: None, .. })), "{answer:?}");
}

/// Commits that change nothing are not in the history.
pub async fn deleting_an_absent_key_changes_nothing(store: Arc<dyn Store>) {
    let before = put(&*store, "a", "one").await;
    assert_eq!(delete(&*store, "b").await, before);
    assert_eq!(put(&*store, "c", "one").await, before.next());
}

/// `created` survives updates and is reset by a delete.
pub async fn creation_is_remembered_until_the_key_is_gone(store: Arc<dyn Store>) {
    let first = put(&*store, "a", "one").await;
    put(&*store, "a", "two").await;
    let found = store.get(&key("a"), None).await.expect("a read").expect("the key");
    assert_eq!(found.created, first);
    delete(&*store, "a").await;
    let again = put(&*store, "a", "three").await;
    let found = store.get(&key("a"), None).await.expect("a read").expect("the key");
    assert_eq!((found.created, found.revision), (again, again));
}

/// Revisions are common to all keys.
pub async fn every_commit_is_the_next_revision(store: Arc<dyn Store>) {
    let mut last = store.revision().await.expect("a revision");
    for round in 0..20 {
        let revision = put(&*store, &format!("key-{}", round % 3), "x").await;
        assert_eq!(revision, last.next());
        last = revision;
    }
}

/// Empty is not absent.
pub async fn an_empty_value_is_a_value(store: Arc<dyn Store>) {
    put(&*store, "a", "").await;
    assert_eq!(value_of(&*store, "a").await.as_deref(), Some(""));
    let answer = store.commit(Commit::put("a", Expect::Absent, "x")).await;
    assert!(matches!(answer, Err(StoreError::Conflict { .. })));
}

/// As large as the largest object.
pub async fn a_large_value_reads_back(store: Arc<dyn Store>) {
    let large: Bytes = (0..VALUE_LIMIT).map(|n| (n % 251) as u8).collect::<Vec<u8>>().into();
    store.commit(Commit::put("a", Expect::Absent, large.clone())).await.expect("a large write");
    let found = store.get(&key("a"), None).await.expect("a read").expect("the key");
    assert!(found.value == large);
}

/// The whole commit is refused.
pub async fn a_value_over_the_limit_is_refused(store: Arc<dyn Store>) {
    let first = put(&*store, "a", "one").await;
    let over: Bytes = vec![b'x'; VALUE_LIMIT as usize + 1].into();
    let commits = [
        Commit::put("a", Expect::Anything, over.clone()),
        Commit::put("b", Expect::Absent, over.clone()),
        Commit::from_iter([Op::delete("a", Expect::At(first)), Op::put("b", Expect::Absent, over)]),
    ];
    for commit in commits {
        let answer = store.commit(commit).await;
        let Err(StoreError::TooLarge { size, limit }) = answer else { panic!("{answer:?}") };
        assert_eq!((size, limit), (VALUE_LIMIT + 1, VALUE_LIMIT));
    }
    assert_eq!(store.revision().await.expect("a revision"), first);
    assert_eq!(value_of(&*store, "a").await.as_deref(), Some("one"));
    // The limit is on each value, not on their sum.
    let half: Bytes = vec![b'x'; VALUE_LIMIT as usize].into();
    let two = [Op::put("a", Expect::At(first), half.clone()), Op::put("b", Expect::Absent, half)];
    store.commit(Commit::from_iter(two)).await.expect("two values at the limit");
}

/// Keys are any text.
pub async fn odd_keys_are_keys(store: Arc<dyn Store>) {
    let long = "x".repeat(4000);
    let odd = ["", "\0", "a\0b", "/", "//", "ä/ö", "\u{10ffff}", " ", "a\nb", &long];
    for text in odd {
        put(&*store, text, text).await;
    }
    for text in odd {
        assert_eq!(value_of(&*store, text).await.as_deref(), Some(text));
    }
    let all = store.range(RangeQuery::prefix("")).await.expect("a range");
    assert_eq!(all.items.len(), odd.len());
}

/// Several keys, one revision.
pub async fn a_transaction_has_one_revision(store: Arc<dyn Store>) {
    let first = put(&*store, "a", "one").await;
    let commit: Commit = [
        Op::put("a", Expect::At(first), "two"),
        Op::put("b", Expect::Absent, "two"),
        Op::delete("c", Expect::Anything),
    ]
    .into_iter()
    .collect();
    let revision = store.commit(commit).await.expect("a transaction");
    assert_eq!(revision, first.next());
    for at in ["a", "b"] {
        let found = store.get(&key(at), None).await.expect("a read").expect("the key");
        assert_eq!(found.revision, revision);
    }
}

/// One failed precondition fails the whole commit.
pub async fn a_transaction_is_all_or_nothing(store: Arc<dyn Store>) {
    let before = put(&*store, "a", "one").await;
    let commit: Commit = [
        Op::put("b", Expect::Absent, "two"),
        Op::delete("a", Expect::Anything),
        Op::put("c", Expect::At(Revision(1)), "two"),
    ]
    .into_iter()
    .collect();
    let answer = store.commit(commit).await;
    assert!(matches!(&answer, Err(StoreError::Conflict { key, .. }) if key.as_str() == "c"), "{answer:?}");
    assert_eq!(value_of(&*store, "a").await.as_deref(), Some("one"));
    assert_eq!(value_of(&*store, "b").await, None);
    assert_eq!(store.revision().await.expect("a revision"), before);
}

/// The second precondition would be ambiguous.
pub async fn a_transaction_may_not_name_a_key_twice(store: Arc<dyn Store>) {
    let commit: Commit = ["a", "b", "a"].into_iter().map(|key| Op::put(key, Expect::Anything, "x")).collect();
    let answer = store.commit(commit).await;
    assert!(matches!(&answer, Err(StoreError::Duplicate { key }) if key.as_str() == "a"), "{answer:?}");
    assert_eq!(value_of(&*store, "b").await, None);
}

/// No operations, no history.
pub async fn an_empty_commit_returns_the_current_revision(store: Arc<dyn Store>) {
    let current = put(&*store, "a", "one").await;
    assert_eq!(store.commit(Commit::default()).await.expect("nothing"), current);
}

/// Deleting with [`Expect::Absent`] is only a precondition.
pub async fn a_precondition_without_a_change_guards_a_transaction(store: Arc<dyn Store>) {
    let guarded = |value: &'static str| -> Commit {
        [Op::delete("guard", Expect::Absent), Op::put("a", Expect::Anything, value)].into_iter().collect()
    };
    store.commit(guarded("one")).await.expect("the guard is absent");
    put(&*store, "guard", "x").await;
    let answer = store.commit(guarded("two")).await;
    assert!(matches!(answer, Err(StoreError::Conflict { found: Some(_), .. })));
    assert_eq!(value_of(&*store, "a").await.as_deref(), Some("one"));
}

/// A key that is not changed must still be as it was read.
pub async fn a_commit_may_check_keys_that_it_does_not_change(store: Arc<dyn Store>) {
    let guard = put(&*store, "guard", "one").await;
    let commit = |revision| Commit::put("a", Expect::Anything, "x").checked("guard", revision);
    store.commit(commit(guard)).await.expect("the guard is as expected");
    let current = put(&*store, "guard", "two").await;
    let answer = store.commit(commit(guard)).await;
    assert!(
        matches!(&answer, Err(StoreError::Conflict { key, found: Some(found), .. })
            if key.as_str() == "guard" && found.revision == current),
        "{answer:?}"
    );
    store.commit(Commit::delete("guard", Expect::At(current))).await.expect("it is there");
    let answer = store.commit(commit(current)).await;
    assert!(matches!(&answer, Err(StoreError::Conflict { found: None, .. })), "{answer:?}");
    assert_eq!(value_of(&*store, "a").await.as_deref(), Some("x"));
}

/// Exactly one succeeds, and the others see its value.
pub async fn one_of_many_racing_creates_wins(store: Arc<dyn Store>) {
    for round in 0..10 {
        let at = Key::new(format!("race-{round}"));
        let racers = (0..4_u32).map(|racer| {
            let (store, at) = (Arc::clone(&store), at.clone());
            thread::spawn(move || {
                let commit = Commit::put(at, Expect::Absent, racer.to_string().into_bytes());
                block_on(store.commit(commit)).map_err(|error| match error {
                    StoreError::Conflict { found: Some(found), .. } => found.revision,
                    other => panic!("{other}"),
                })
            })
        });
        let racers: Vec<_> = racers.collect();
        let results: Vec<_> = racers.into_iter().map(|racer| racer.join().expect("no panic")).collect();
        let winners: Vec<_> = results.iter().filter_map(|result| result.as_ref().ok()).collect();
        assert_eq!(winners.len(), 1, "{results:?}");
        let found = store.get(&at, None).await.expect("a read").expect("the key");
        assert_eq!(found.revision, *winners[0]);
        for loser in results.iter().filter_map(|result| result.as_ref().err()) {
            assert_eq!(loser, winners[0]);
        }
    }
}

/// A counter incremented by compare and swap counts every increment.
pub async fn racing_updates_lose_nothing(store: Arc<dyn Store>) {
    const EACH: u64 = 25;
    put(&*store, "counter", "0").await;
    let writers = (0..4).map(|_| {
        let store = Arc::clone(&store);
        thread::spawn(move || {
            let at = key("counter");
            for _ in 0..EACH {
                loop {
                    let found = block_on(store.get(&at, None)).expect("a read").expect("the key");
                    let count: u64 =
                        std::str::from_utf8(&found.value).expect("text").parse().expect("a number");
                    let value = (count + 1).to_string().into_bytes();
                    match block_on(store.commit(Commit::put("counter", Expect::At(found.revision), value))) {
                        Ok(_) => break,
                        Err(StoreError::Conflict { .. }) => {}
                        Err(other) => panic!("{other}"),
                    }
                }
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    for writer in writers {
        writer.join().expect("no panic");
    }
    assert_eq!(value_of(&*store, "counter").await, Some((4 * EACH).to_string()));
}

/// `try_get`, where it is implemented.
pub async fn try_get_agrees_with_get(store: Arc<dyn Store>) {
    put(&*store, "a", "one").await;
    for at in ["a", "b"] {
        let at = key(at);
        if let Some(read) = store.try_get(&at) {
            assert_eq!(read.expect("a read"), store.get(&at, None).await.expect("a read"));
        }
    }
}

/// A reader keeps its bytes, whatever is written later.
pub async fn shared_bytes_survive_later_writes(store: Arc<dyn Store>) {
    put(&*store, "a", "one").await;
    let found = store.get(&key("a"), None).await.expect("a read").expect("the key");
    let revision = put(&*store, "a", "two").await;
    delete(&*store, "a").await;
    store.compact(revision.next()).await.expect("a compaction");
    assert_eq!(&*found.value, b"one");
}
