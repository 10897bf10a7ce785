//! Model test of the index, with enough keys that leaves split and merge.

use std::collections::BTreeMap;

use pleach_store::contract::TestRng;

use super::*;

type Plain = BTreeMap<String, Revision>;

fn step() -> Step {
    Step { items: usize::MAX, visits: usize::MAX }
}

fn commit(index: &mut Index, changes: &[(String, bool)]) {
    let revision = index.current().next();
    let events = changes.iter().filter_map(|(key, exists)| {
        let value = exists.then(|| Bytes::from(revision.to_string()));
        let previous = index.live(key);
        Index::event(revision, Key::new(key.as_str()), value, previous)
    });
    if let Some(batch) = Batch::new(events.collect::<Vec<_>>()) {
        index.apply(batch);
    }
}

#[track_caller]
fn check(index: &Index, plain: &Plain, at: Revision, rng: &mut TestRng) {
    let mut items = Vec::new();
    assert!(matches!(index.collect(("", None), at, step(), &mut items), Stop::End));
    let found = items.iter().map(|item| (item.key.as_str(), item.revision));
    assert!(found.eq(plain.iter().map(|(key, revision)| (key.as_str(), *revision))), "the list at {at}");
    for _ in 0..5 {
        let (start, end) = (key(rng.below(6_000)), key(rng.below(6_000)));
        let mut items = Vec::new();
        index.collect((&start, Some(&end)), at, step(), &mut items);
        let wanted = if start < end { plain.range(start.clone()..end.clone()).count() } else { 0 };
        assert_eq!(items.len(), wanted, "{start}..{end} at {at}");
        if at == index.current() {
            assert_eq!(index.count((&start, Some(&end))), wanted as u64, "{start}..{end}");
            assert_eq!(index.count((&start, None)), plain.range(start.clone()..).count() as u64);
        }
        assert_eq!(index.get(&start, at).map(|item| item.revision), plain.get(&start).copied());
    }
}

fn key(n: u64) -> String {
    format!("k/{n:05}")
}

#[test]
fn random_changes_match_a_plain_map() {
    let mut rng = TestRng::new(4);
    let mut index = Index::new(Revision::FIRST);
    let mut plain = Plain::new();
    let mut past: Vec<(Revision, Plain)> = Vec::new();
    for round in 0..120_u64 {
        // Grows, shrinks, grows again, so that leaves split, merge and are reused.
        let growing = (round / 30) % 2 == 0;
        for _ in 0..4 {
            let changes: BTreeMap<String, bool> = (0..100)
                .map(|_| (key(rng.below(6_000)), rng.below(20) < if growing { 17 } else { 1 }))
                .collect();
            let changes: Vec<_> = changes.into_iter().collect();
            commit(&mut index, &changes);
            let revision = index.current();
            for (key, exists) in changes {
                if exists {
                    plain.insert(key, revision);
                } else {
                    plain.remove(&key);
                }
            }
        }
        past.push((index.current(), plain.clone()));
        check(&index, &plain, index.current(), &mut rng);
        let (at, then) = &past[rng.below(past.len() as u64) as usize];
        check(&index, then, *at, &mut rng);
        if round % 7 == 6 {
            let (floor, _) = past[past.len() / 2];
            index.compact(floor);
            while !index.prune(floor, 10).is_empty() {}
            past.retain(|(at, _)| *at >= floor);
            assert_eq!(index.pruned(), floor);
        }
    }
    assert_eq!(index.live_size().0, plain.len() as u64);
    let all: Vec<_> = plain.keys().map(|key| (key.clone(), false)).collect();
    commit(&mut index, &all);
    index.compact(index.current());
    while !index.prune(index.current(), 1_000).is_empty() {}
    assert_eq!((index.live_size(), index.history_size()), ((0, 0), (0, 0)), "nothing is left behind");
    check(&index, &Plain::new(), index.current(), &mut rng);
}

#[test]
fn keys_that_come_in_order_fill_their_leaves() {
    let mut index = Index::new(Revision::FIRST);
    for chunk in 0..100 {
        let changes: Vec<_> = (0..100).map(|n| (key(chunk * 100 + n), true)).collect();
        commit(&mut index, &changes);
    }
    assert_eq!(index.count(("", None)), 10_000);
    assert_eq!(index.count((&key(500), Some(&key(9_500)))), 9_000);
    assert!(index.by_key.leaves() <= 10_000 / 400, "{} leaves", index.by_key.leaves());
}

#[test]
fn a_step_stops_at_its_bounds() {
    let mut index = Index::new(Revision::FIRST);
    let changes: Vec<_> = (0..10).map(|n| (key(n), true)).collect();
    commit(&mut index, &changes);
    for (items, visits, found) in [(3, 100, 3), (100, 4, 4), (0, 100, 0), (5, 5, 5)] {
        let mut taken = Vec::new();
        let stop = index.collect(("", None), index.current(), Step { items, visits }, &mut taken);
        assert_eq!(taken.len(), found);
        assert_eq!(stop.before().expect("there is more").as_str(), key(found as u64));
    }
    let mut taken = Vec::new();
    let stop = index.collect(("", None), index.current(), Step { items: 10, visits: 10 }, &mut taken);
    assert!(matches!(stop, Stop::End), "met exactly");
}
