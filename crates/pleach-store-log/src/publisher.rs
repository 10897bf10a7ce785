//! The publisher thread: delivers commits to watchers.
//!
//! It reads history from the index, so it needs no bounded queue, and never waits for a watcher.
//! Compaction keeps what it has not delivered.

use pleach_store::Batch;
use pleach_store_mvcc::STEP;

use crate::shared::Shared;

/// Delivers commits to the watchers until the store is closed.
pub(crate) fn run(shared: &Shared) {
    loop {
        let batches: Vec<Batch> = {
            let index = shared.index();
            index.history(shared.mvcc.watchers.published()).take(4 * STEP).cloned().collect()
        };
        if batches.is_empty() {
            if shared.is_closing() {
                return;
            }
            shared.committed.wait(None);
            continue;
        }
        shared.mvcc.watchers.publish(&batches);
        shared.published.notify();
    }
}
