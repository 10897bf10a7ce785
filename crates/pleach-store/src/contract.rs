//! The contract suite: tests that every [`Store`] implementation passes.
//!
//! Each function gets an empty store and panics when the contract is broken. A backend calls all of
//! them through [`contract!`](crate::contract!), which makes a test of each:
//!
//! ```
//! # use std::sync::Arc;
//! # use pleach_store::{ModelStore, Store};
//! // The second value lives as long as the test: a directory to be removed, say.
//! pleach_store::contract!(|| (Arc::new(ModelStore::new()) as Arc<dyn Store>, ()));
//! ```
//!
//! The functions need no particular executor; [`block_on`] is enough.

mod commits;
mod compaction;
mod random;
mod ranges;
mod watches;

use std::{
    future::poll_fn,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
    thread::{self, Thread},
    time::{Duration, Instant},
};

pub use commits::*;
pub use compaction::*;
pub use random::*;
pub use ranges::*;
pub use watches::*;

use crate::{
    Batch, Bytes, Commit, Event, Expect, Key, RangeQuery, Revision, Store, StoreError, Watch, WatchItem,
};

/// How long a test waits for an event.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Makes a test of each function of the contract. The argument is a function that returns an empty
/// store, as `Arc<dyn Store>`, and a guard that is dropped after the test.
#[macro_export]
macro_rules! contract {
    ($make:expr) => {
        $crate::contract!($make;
            a_fresh_store_is_empty_at_the_first_revision
            a_created_key_reads_back
            creating_an_existing_key_conflicts
            an_update_at_the_right_revision_replaces
            a_stale_update_changes_nothing
            updating_an_absent_key_conflicts
            a_write_that_expects_anything_always_happens
            a_delete_at_the_right_revision_removes
            a_stale_delete_changes_nothing
            deleting_an_absent_key_at_a_revision_conflicts
            deleting_an_absent_key_changes_nothing
            creation_is_remembered_until_the_key_is_gone
            every_commit_is_the_next_revision
            an_empty_value_is_a_value
            a_large_value_reads_back
            a_value_over_the_limit_is_refused
            odd_keys_are_keys
            a_transaction_has_one_revision
            a_transaction_is_all_or_nothing
            a_transaction_may_not_name_a_key_twice
            an_empty_commit_returns_the_current_revision
            a_precondition_without_a_change_guards_a_transaction
            a_commit_may_check_keys_that_it_does_not_change
            one_of_many_racing_creates_wins
            racing_updates_lose_nothing
            try_get_agrees_with_get
            shared_bytes_survive_later_writes
            a_range_is_ordered_bytewise
            a_prefix_ends_where_it_says
            a_range_has_an_exclusive_end
            an_empty_or_backward_range_has_nothing
            a_limit_cuts_and_counts
            a_limit_that_is_not_reached_cuts_nothing
            a_limit_of_zero_counts
            pages_at_a_revision_are_one_list
            pages_at_latest_see_changes
            a_range_in_the_past_shows_the_past
            remaining_items_are_counted_at_the_requested_revision
            a_get_in_the_past_shows_the_past
            reads_of_future_revisions_fail
            a_long_range_is_whole
            a_range_never_sees_half_a_transaction
            a_watch_sees_create_update_and_delete
            a_watch_from_the_past_replays_it
            a_watch_spans_past_and_present_without_a_gap
            a_watch_sees_its_prefix_only
            a_prefix_is_not_a_path
            a_transaction_is_one_batch
            many_watchers_each_see_everything_once
            watches_of_nested_prefixes
            a_watch_from_now_skips_the_past
            a_watch_in_the_future_is_refused
            a_dropped_watch_is_removed
            progress_follows_writes_elsewhere
            progress_is_never_ahead_of_events
            a_cancelled_next_loses_nothing
            failed_commits_make_no_events
            events_come_in_order_under_racing_writers
            reads_and_watches_of_compacted_revisions_fail
            reads_and_watches_from_the_compacted_revision_succeed
            compaction_of_the_future_is_refused
            compaction_does_not_go_back
            compaction_keeps_old_keys_and_forgets_deleted_ones
            a_watch_after_the_compacted_revision_misses_no_delete
            a_slow_watcher_gets_an_error_or_misses_nothing
            compaction_does_not_disturb_watchers_that_keep_up
            reads_in_steps_survive_compaction
            stats_add_up
            random_operations_match_the_model
            random_transactions_match_the_model
        );
    };
    ($make:expr; $($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                let (store, _guard) = $make();
                $crate::contract::block_on($crate::contract::$name(store));
            }
        )*
    };
}

/// Runs a future to its end on this thread.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut cx = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

fn key(text: impl AsRef<str>) -> Key {
    Key::new(text.as_ref())
}

async fn put(store: &dyn Store, at: &str, value: &str) -> Revision {
    let commit = Commit::put(at, Expect::Anything, Bytes::copy_from_slice(value.as_bytes()));
    store.commit(commit).await.expect("a write that expects nothing")
}

async fn delete(store: &dyn Store, at: &str) -> Revision {
    store.commit(Commit::delete(at, Expect::Anything)).await.expect("a delete that expects nothing")
}

async fn value_of(store: &dyn Store, at: &str) -> Option<String> {
    let found = store.get(&key(at), None).await.expect("a read");
    found.map(|found| String::from_utf8_lossy(&found.value).into_owned())
}

/// The keys and values of a range, as `key=value`.
async fn list(store: &dyn Store, query: RangeQuery) -> Vec<String> {
    let range = store.range(query).await.expect("a range");
    range.items.iter().map(|item| format!("{}={}", item.key, String::from_utf8_lossy(&item.value))).collect()
}

async fn watch(store: &dyn Store, prefix: &str, after: Revision) -> Watch {
    store.watch(key(prefix), after).await.expect("a watch")
}

/// The next batch of a watch, skipping progress.
async fn next(watch: &mut Watch) -> Result<Batch, StoreError> {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let item = poll_fn(|cx| match watch.poll_next(cx) {
            Poll::Pending if Instant::now() > deadline => {
                panic!("no event came; the watch is at {}", watch.progress())
            }
            Poll::Pending => {
                // A backend that does not wake its reader fails at the deadline instead of hanging.
                thread::sleep(Duration::from_micros(200));
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            ready @ Poll::Ready(_) => ready,
        });
        match item.await.expect("a watch does not end by itself")? {
            WatchItem::Events(batch) => return Ok(batch),
            WatchItem::Progress(_) => {}
        }
    }
}

/// Whether a watch has no event after the store had time to deliver it.
async fn is_quiet(store: &dyn Store, watch: &mut Watch) -> bool {
    let current = store.revision().await.expect("a revision");
    let deadline = Instant::now() + TIMEOUT;
    poll_fn(|cx| match watch.poll_next(cx) {
        Poll::Ready(Some(Ok(WatchItem::Progress(_)))) => {
            cx.waker().wake_by_ref();
            Poll::Pending
        }
        Poll::Ready(_) => Poll::Ready(false),
        Poll::Pending if watch.progress() >= current => Poll::Ready(true),
        Poll::Pending if Instant::now() > deadline => panic!("progress does not reach {current}"),
        Poll::Pending => {
            thread::sleep(Duration::from_micros(200));
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

/// An event as a line: `+` created, `~` updated, `-` deleted; the value, and the previous one.
fn line(event: &Event) -> String {
    let text = |side: &Option<crate::Versioned>| {
        side.as_ref().map(|side| String::from_utf8_lossy(&side.value).into_owned()).unwrap_or_default()
    };
    let sign = match (&event.previous, &event.value) {
        (None, _) => '+',
        (_, Some(_)) => '~',
        (_, None) => '-',
    };
    format!("{sign}{} {}<{}", event.key, text(&event.value), text(&event.previous))
}

fn lines(batch: &Batch) -> Vec<String> {
    batch.iter().map(|event| line(event)).collect()
}
