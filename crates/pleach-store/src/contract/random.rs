//! Random operations on a store and on the model side by side.
//!
//! The seed is printed when something differs; the same seed makes the same operations.

use std::{collections::BTreeMap, sync::Arc};

use super::{block_on, key, next};
use crate::{Batch, Commit, Expect, Key, ModelStore, Op, RangeQuery, Revision, Store, StoreError, Versioned};

/// A small generator: tests need no better, and no dependency.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Dice that fall the same way for the same seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides.max(1)
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

/// Does the same random things to an empty store and to a model, and compares every answer; then
/// checks that the list at each revision is what the events up to it add up to.
pub async fn compare(store: &dyn Store, seed: u64, steps: usize, ops: u64) {
    let model = ModelStore::new();
    let mut dice = Dice::new(seed);
    let mut revisions = vec![Revision::FIRST];
    for step in 0..steps {
        let context = format!("seed {seed}, step {step}");
        match dice.roll(20) {
            0..12 => {
                let commit = random_commit(&mut dice, &revisions, ops);
                let (mine, wanted) = (store.commit(commit.clone()).await, model.commit(commit.clone()).await);
                assert_eq!(text(&mine), text(&wanted), "{context}: {commit:?}");
                revisions.extend(mine.ok());
            }
            12..15 => {
                let (at, when) = (random_key(&mut dice), random_moment(&mut dice, &revisions));
                let (mine, wanted) = (store.get(&at, when).await, model.get(&at, when).await);
                assert_eq!(text(&mine), text(&wanted), "{context}: get {at} at {when:?}");
            }
            15..19 => {
                let query = random_range(&mut dice, &revisions);
                let (mine, wanted) = (store.range(query.clone()).await, model.range(query.clone()).await);
                assert_eq!(text(&mine), text(&wanted), "{context}: {query:?}");
            }
            _ => {
                // Never far: the history is compared in the end.
                let before = Revision(1 + dice.roll(revisions.len() as u64 / 4));
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

/// Errors are compared by what they say.
fn text<T: std::fmt::Debug>(answer: &Result<T, StoreError>) -> String {
    format!("{answer:?}")
}

/// Few keys, so that they meet.
fn random_key(dice: &mut Dice) -> Key {
    Key::new(format!("{}/{}", ["a", "a/b", "c"][dice.roll(3) as usize], dice.roll(8)))
}

fn random_moment(dice: &mut Dice, revisions: &[Revision]) -> Option<Revision> {
    match dice.roll(10) {
        0..4 => None,
        9 => Some(Revision(dice.roll(revisions.len() as u64 + 4))),
        _ => Some(revisions[dice.roll(revisions.len() as u64) as usize]),
    }
}

fn random_commit(dice: &mut Dice, revisions: &[Revision], ops: u64) -> Commit {
    let count = 1 + dice.roll(ops);
    let random_op = |_| {
        let expect = match dice.roll(8) {
            0..4 => Expect::Anything,
            4..6 => Expect::Absent,
            _ => Expect::At(
                revisions[revisions.len() - 1 - dice.roll(revisions.len().min(12) as u64) as usize],
            ),
        };
        let value = (dice.roll(4) > 0).then(|| dice.roll(1_000_000).to_string().into());
        Op { key: random_key(dice), expect, value }
    };
    (0..count).map(random_op).collect()
}

fn random_range(dice: &mut Dice, revisions: &[Revision]) -> RangeQuery {
    let mut query = match dice.roll(3) {
        0 => RangeQuery::prefix(["", "a", "a/", "a/b/", "c/", "x"][dice.roll(6) as usize]),
        1 => RangeQuery::prefix("").after(&random_key(dice)),
        _ => RangeQuery { start: random_key(dice), end: Some(random_key(dice)), limit: None, at: None },
    };
    query.limit = (dice.roll(2) == 0).then(|| dice.roll(10) as usize);
    query.at = random_moment(dice, revisions);
    query
}

/// [`compare`] for callers without an executor.
pub fn compare_blocking(store: &dyn Store, seed: u64, steps: usize, ops: u64) {
    block_on(compare(store, seed, steps, ops));
}
