//! Random operations on a store, compared with the model.
//!
//! The seed is printed when something differs; the same seed makes the same operations.

use std::{collections::BTreeMap, sync::Arc};

use super::{block_on, key, next};
use crate::{Batch, Commit, Expect, Key, ModelStore, Op, RangeQuery, Revision, Store, StoreError, Versioned};

/// A small random number generator, without a dependency.
#[derive(Debug, Clone)]
pub struct TestRng(u64);

impl TestRng {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound.max(1)
    }
}

/// Single-key commits, reads in the past, pages, compactions.
pub async fn random_operations_match_the_model(store: Arc<dyn Store>) {
    compare(&*store, 1, 1_200, 1).await;
}

/// Commits of several keys.
pub async fn random_transactions_match_the_model(store: Arc<dyn Store>) {
    compare(&*store, 2, 600, 4).await;
}

/// Applies the same random operations to an empty store and to a model, and compares every result; then
/// checks that the list at each revision matches the events up to it.
pub async fn compare(store: &dyn Store, seed: u64, steps: usize, ops: u64) {
    let model = ModelStore::new();
    let mut rng = TestRng::new(seed);
    let mut revisions = vec![Revision::FIRST];
    for step in 0..steps {
        let context = format!("seed {seed}, step {step}");
        match rng.below(20) {
            0..12 => {
                let commit = random_commit(&mut rng, &revisions, ops);
                let (mine, wanted) = (store.commit(commit.clone()).await, model.commit(commit.clone()).await);
                assert_eq!(text(&mine), text(&wanted), "{context}: {commit:?}");
                revisions.extend(mine.ok());
            }
            12..15 => {
                let (at, when) = (random_key(&mut rng), random_moment(&mut rng, &revisions));
                let (mine, wanted) = (store.get(&at, when).await, model.get(&at, when).await);
                assert_eq!(text(&mine), text(&wanted), "{context}: get {at} at {when:?}");
            }
            15..19 => {
                let query = random_range(&mut rng, &revisions);
                let (mine, wanted) = (store.range(query.clone()).await, model.range(query.clone()).await);
                assert_eq!(text(&mine), text(&wanted), "{context}: {query:?}");
            }
            _ => {
                // Not far: the history is compared in the end.
                let before = Revision(1 + rng.below(revisions.len() as u64 / 4));
                let (mine, wanted) = (store.compact(before).await, model.compact(before).await);
                assert_eq!(text(&mine), text(&wanted), "{context}: compact {before}");
            }
        }
    }
    lists_are_what_events_add_up_to(store, &model, seed).await;
}

async fn lists_are_what_events_add_up_to(store: &dyn Store, model: &ModelStore, seed: u64) {
    let (oldest, last) = {
        let stats = model.stats().await.expect("figures");
        (stats.oldest, stats.revision)
    };
    assert_eq!(store.revision().await.expect("a revision"), last, "seed {seed}");
    let mut mine = store.watch(key(""), oldest).await.expect("a watch");
    let mut wanted = model.watch(key(""), oldest).await.expect("a watch");
    let begin = store.range(RangeQuery::prefix("").at(oldest)).await.expect("a range");
    let mut state: BTreeMap<Key, Versioned> =
        begin.items.into_iter().map(|item| (item.key.clone(), item)).collect();
    let mut seen = oldest;
    while seen < last {
        let batch: Batch = next(&mut mine).await.expect("a batch");
        assert_eq!(batch, next(&mut wanted).await.expect("a batch"), "seed {seed}");
        assert_eq!(batch.revision(), seen.next(), "seed {seed}: revisions go up by one");
        seen = batch.revision();
        for event in &batch {
            match &event.value {
                Some(value) => state.insert(event.key.clone(), value.clone()),
                None => state.remove(&event.key),
            };
        }
        let list = store.range(RangeQuery::prefix("").at(seen)).await.expect("a range");
        assert!(list.items.iter().eq(state.values()), "seed {seed}: the list at {seen}");
    }
}

/// Errors are compared by their text.
fn text<T: std::fmt::Debug>(answer: &Result<T, StoreError>) -> String {
    format!("{answer:?}")
}

/// Few keys, so that they collide.
fn random_key(rng: &mut TestRng) -> Key {
    Key::new(format!("{}/{}", ["a", "a/b", "c"][rng.below(3) as usize], rng.below(8)))
}

fn random_moment(rng: &mut TestRng, revisions: &[Revision]) -> Option<Revision> {
    match rng.below(10) {
        0..4 => None,
        9 => Some(Revision(rng.below(revisions.len() as u64 + 4))),
        _ => Some(revisions[rng.below(revisions.len() as u64) as usize]),
    }
}

fn random_commit(rng: &mut TestRng, revisions: &[Revision], ops: u64) -> Commit {
    let count = 1 + rng.below(ops);
    let random_op = |_| {
        let expect = match rng.below(8) {
            0..4 => Expect::Anything,
            4..6 => Expect::Absent,
            _ => Expect::At(
                revisions[revisions.len() - 1 - rng.below(revisions.len().min(12) as u64) as usize],
            ),
        };
        let value = (rng.below(4) > 0).then(|| rng.below(1_000_000).to_string().into());
        Op { key: random_key(rng), expect, value }
    };
    (0..count).map(random_op).collect()
}

fn random_range(rng: &mut TestRng, revisions: &[Revision]) -> RangeQuery {
    let mut query = match rng.below(3) {
        0 => RangeQuery::prefix(["", "a", "a/", "a/b/", "c/", "x"][rng.below(6) as usize]),
        1 => RangeQuery::prefix("").after(&random_key(rng)),
        _ => RangeQuery { start: random_key(rng), end: Some(random_key(rng)), limit: None, at: None },
    };
    query.limit = (rng.below(2) == 0).then(|| rng.below(10) as usize);
    query.at = random_moment(rng, revisions);
    query
}

/// [`compare`] for callers without an executor.
pub fn compare_blocking(store: &dyn Store, seed: u64, steps: usize, ops: u64) {
    block_on(compare(store, seed, steps, ops));
}
