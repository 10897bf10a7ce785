//! Range reads, in steps.
//!
//! A step holds the index lock for a few hundred keys. Between steps the revision is pinned against
//! compaction, and other tasks of the executor get to run.

use std::{future::poll_fn, task::Poll};

use pleach_store::{Key, Range, RangeQuery, Revision, StoreError};

use crate::{
    index::Step,
    mvcc::{Mvcc, Pin},
};

/// How many keys are visited per hold of the lock.
const KEYS_PER_STEP: usize = 512;
/// How many steps are done before the task yields.
const STEPS_PER_YIELD: usize = 16;

/// Reads a range.
pub async fn read(mvcc: &Mvcc, query: RangeQuery) -> Result<Range, StoreError> {
    let limit = query.limit.unwrap_or(usize::MAX);
    let (mut range, mut from, pin) = first_step(mvcc, &query, limit)?;
    let end = query.end.as_ref().map(Key::as_str);
    let mut steps = 0;
    while let Some(start) = &from {
        if range.items.len() == limit {
            range.remaining = count(mvcc, (start.as_str(), end), pin.as_ref()).await;
            range.more = range.remaining > 0;
            break;
        }
        steps += 1;
        if steps % STEPS_PER_YIELD == 0 {
            yield_now().await;
        }
        let step = Step { items: limit - range.items.len(), visits: KEYS_PER_STEP };
        let index = mvcc.index();
        if index.pruned() > range.revision {
            // Everything was replaced meanwhile.
            return Err(StoreError::Compacted { requested: range.revision, oldest: index.oldest() });
        }
        let stop = index.collect((start.as_str(), end), range.revision, step, &mut range.items);
        drop(index);
        from = stop.before();
    }
    Ok(range)
}

/// The first step, which for most ranges is the last. Returns where to continue, with a pin on the
/// revision, if there is more.
fn first_step<'a>(
    mvcc: &'a Mvcc,
    query: &RangeQuery,
    limit: usize,
) -> Result<(Range, Option<Key>, Option<Pin<'a>>), StoreError> {
    let index = mvcc.index();
    let revision = index.resolve_revision(query.at)?;
    let mut range = Range { items: Vec::new(), revision, more: false, remaining: 0 };
    if query.is_empty() {
        return Ok((range, None, None));
    }
    let span = (query.start.as_str(), query.end.as_ref().map(Key::as_str));
    let from = index
        .collect(span, revision, Step { items: limit, visits: KEYS_PER_STEP }, &mut range.items)
        .before();
    let pin = from.is_some().then(|| mvcc.pin(&index, revision));
    Ok((range, from, pin))
}

/// How many keys existed in a range at a pinned revision: the current count, corrected by later
/// creations and deletions.
async fn count(mvcc: &Mvcc, (start, end): (&str, Option<&str>), pin: Option<&Pin<'_>>) -> u64 {
    let (mut count, current) = {
        let index = mvcc.index();
        (index.count((start, end)), index.current())
    };
    let mut seen = pin.map_or(current, Pin::revision);
    while seen < current {
        (seen, count) = count_back(mvcc, (start, end), (seen, current), count);
        if seen < current {
            yield_now().await;
        }
    }
    count
}

/// Corrects the count by a step of history, after `seen` up to `current`.
fn count_back(
    mvcc: &Mvcc,
    (start, end): (&str, Option<&str>),
    (mut seen, current): (Revision, Revision),
    mut count: u64,
) -> (Revision, u64) {
    let within = |key: &str| key >= start && end.is_none_or(|end| key < end);
    let index = mvcc.index();
    let mut left = KEYS_PER_STEP;
    for batch in index.history(seen).take_while(|batch| batch.revision() <= current) {
        if left == 0 {
            return (seen, count);
        }
        left -= 1;
        seen = batch.revision();
        for event in batch.iter().filter(|event| within(event.key.as_str())) {
            match (&event.previous, &event.value) {
                // Wrapping: creations may be subtracted before the deletions that outweigh them are
                // added.
                (Some(_), None) => count = count.wrapping_add(1),
                (None, Some(_)) => count = count.wrapping_sub(1),
                _ => {}
            }
        }
    }
    (current, count)
}

/// Lets other tasks of the executor run.
async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
