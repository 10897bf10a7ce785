//! The thread between the committer and the watchers.
//!
//! It follows the history in the index, so there is no queue of its own to bound, and it never
//! waits for a watcher. Compaction leaves it what it has not handed out yet.

use pleach_store::Batch;

use crate::shared::{STEP, Shared};

/// Hands commits to the watchers until the store is closed.
pub(crate) fn run(shared: &Shared) {
    loop {
        let batches: Vec<Batch> = {
            let index = shared.index();
            index.history(shared.hub.published()).take(4 * STEP).cloned().collect()
        };
        if batches.is_empty() {
            if shared.is_closing() {
                return;
            }
            shared.committed.wait(None);
            continue;
        }
        shared.hub.publish(&batches);
        shared.published.ring();
    }
}
