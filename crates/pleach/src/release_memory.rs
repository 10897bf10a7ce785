//! Freed memory of idle threads: returns it to the system.
//!
//! The allocator keeps pages for each thread, and frees those that have become empty only when the thread allocates
//! again or ends. After a peak an idle server would hold the pages, and the stacks, of its workers for good. So the
//! workers are replaced by new threads now and then: a worker that blocks hands its tasks to another thread, and the
//! runtime ends threads that have nothing to do.

use std::time::Duration;

use tokio::runtime::Handle;

/// How often workers are replaced: more seldom than the runtime ends idle threads, or they would take turns.
const EVERY: Duration = Duration::from_secs(20);
/// How long a worker blocks: until another thread has its tasks.
const BLOCKED: Duration = Duration::from_millis(2);

/// Replaces the threads of the workers now and then; the task ends with the runtime.
pub(crate) async fn replace_workers() {
    loop {
        tokio::time::sleep(EVERY).await;
        for _ in 0..Handle::current().metrics().num_workers() {
            tokio::spawn(async { tokio::task::block_in_place(|| std::thread::sleep(BLOCKED)) });
        }
    }
}
