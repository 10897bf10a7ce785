//! Turns at the processor, while it is saturated by several users.
//!
//! Most requests are computed in one go, so that few of them ever hold seats at the same time: which one is computed
//! next would be decided by the order in which connections became readable, and a user with a thousand connections would
//! have a thousand turns for each of another user's. So when the workers have had no rest lately and more than one user
//! has sent requests, a request stands in fair queues for one of as many turns as there are workers, and is computed
//! when it gets one; while it waits for the disk or a webhook it has none. A turn is not waited for longer than
//! ten milliseconds, since a long computation keeps its turn.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::queue_set::{QueueSet, Queuing, Slot, Start, Ticket};

/// Requests that a worker begins without a rest before it counts as saturated.
const SATURATED: u32 = 8;
/// A request is queued if another user sent one within this time.
const OTHER_USERS_WINDOW: Duration = Duration::from_secs(1);
/// The longest wait for a turn.
const LONGEST_WAIT: Duration = Duration::from_millis(10);

const QUEUES: Queuing = Queuing::Queue { queues: 256, hand: 2, length: usize::MAX };

thread_local! {
    /// Requests that this worker has begun since it had nothing to do.
    static WITHOUT_REST: Cell<u32> = const { Cell::new(0) };
}

/// A worker of the runtime has nothing to do.
pub fn worker_rests() {
    WITHOUT_REST.set(0);
}

/// Turns at the processor.
pub(super) struct Turns {
    /// None: requests are computed as they come.
    queues: Option<Mutex<QueueSet>>,
    began: Instant,
    /// The flow of the last request.
    last: AtomicU64,
    /// Milliseconds after `began` at which another flow than before was seen; 0 for never.
    others_at: AtomicU64,
}

impl Turns {
    /// As many turns as there are workers; 0 for no turns.
    pub(super) fn new(workers: usize) -> Arc<Self> {
        let began = Instant::now();
        let queues = (workers > 0).then(|| {
            let mut queues = QueueSet::new(QUEUES, workers, began);
            queues.flow("");
            Mutex::new(queues)
        });
        Arc::new(Self { queues, began, last: AtomicU64::new(0), others_at: AtomicU64::new(0) })
    }

    /// Whether requests of this flow have to stand in the queues.
    fn is_contended(&self, flow: u64, now: Instant) -> bool {
        let saturated = WITHOUT_REST.get() >= SATURATED;
        WITHOUT_REST.set(WITHOUT_REST.get().saturating_add(1));
        let at = now.saturating_duration_since(self.began).as_millis() as u64;
        let before = self.last.load(Ordering::Relaxed);
        if before != flow {
            self.last.store(flow, Ordering::Relaxed);
            // The first flow of all is not another one.
            self.others_at.store(if before == 0 { 0 } else { at.max(1) }, Ordering::Relaxed);
        }
        let others_at = self.others_at.load(Ordering::Relaxed);
        saturated && others_at > 0 && at.saturating_sub(others_at) < OTHER_USERS_WINDOW.as_millis() as u64
    }

    /// A turn for a request; `None` if it may be computed as it is.
    pub(super) fn take(self: &Arc<Self>, flow: u64, now: Instant) -> Option<Turn> {
        let queues = self.queues.as_ref()?;
        if !self.is_contended(flow, now) {
            return None;
        }
        let (ticket, slot) = match lock(queues).start(0, flow, 1, now) {
            Start::Run(ticket) => (ticket, None),
            Start::Wait(ticket, slot) => (ticket, Some(slot)),
            Start::Refused => return None,
        };
        Some(Turn { turns: self.clone(), ticket, slot })
    }
}

fn lock(queues: &Mutex<QueueSet>) -> MutexGuard<'_, QueueSet> {
    queues.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request's turn, or its place in the queue for one.
pub struct Turn {
    turns: Arc<Turns>,
    ticket: Ticket,
    slot: Option<Arc<Slot>>,
}

impl Turn {
    /// Computes a request when it is its turn, up to where it first waits.
    pub async fn compute<F: Future>(self, request: F) -> F::Output {
        match self.slot.clone() {
            Some(slot) => {
                let _ = tokio::time::timeout(LONGEST_WAIT, slot.granted()).await;
            }
            // Requests that other connections have for us stand in the queues before this one is computed.
            None => tokio::task::yield_now().await,
        }
        let (mut turn, mut request) = (Some(self), pin!(request));
        poll_fn(|cx| {
            let polled = request.as_mut().poll(cx);
            turn = None;
            polled
        })
        .await
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some(queues) = &self.turns.queues else { return };
        let (now, mut queues) = (Instant::now(), lock(queues));
        if self.slot.as_ref().is_some_and(|slot| queues.cancel(self.ticket, slot, now)) {
            return;
        }
        queues.finish(self.ticket, now);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    /// How many requests of a flood are computed before one of another user that came last.
    async fn before_the_last(turns: &Arc<Turns>) -> usize {
        let (done, before) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(usize::MAX)));
        let mut tasks = Vec::new();
        for n in 0..500 {
            let (turns, done, before) = (turns.clone(), done.clone(), before.clone());
            tasks.push(tokio::spawn(async move {
                let is_last = n == 499;
                let compute = async {
                    let count = done.fetch_add(1, Ordering::Relaxed);
                    if is_last {
                        before.store(count, Ordering::Relaxed);
                    }
                };
                match turns.take(if is_last { 2 } else { 1 }, Instant::now()) {
                    Some(turn) => turn.compute(compute).await,
                    None => compute.await,
                }
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(done.load(Ordering::Relaxed), 500);
        before.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn a_flood_of_ready_requests_does_not_go_before_another_user() {
        assert_eq!(before_the_last(&Turns::new(0)).await, 499, "in the order in which they came");
        let turns = Turns::new(2);
        worker_rests();
        turns.take(2, Instant::now());
        let before = before_the_last(&turns).await;
        assert!(before <= 30, "about as many as were computed while it was read: {before}");
        let queues = lock(turns.queues.as_ref().unwrap());
        assert_eq!((queues.executing(), queues.waiting()), (0, 0));
    }

    #[tokio::test]
    async fn one_user_alone_and_workers_with_rests_need_no_turns() {
        let turns = Turns::new(2);
        let later = Instant::now() + 2 * OTHER_USERS_WINDOW;
        (0..100).for_each(|_| assert!(turns.take(1, later).is_none() || WITHOUT_REST.get() < SATURATED));
        assert!(turns.take(2, later).is_some(), "another one, while the worker is busy");
        worker_rests();
        assert!(turns.take(1, later).is_none(), "the worker was idle");
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_is_not_waited_for_long() {
        let turns = Turns::new(1);
        WITHOUT_REST.set(SATURATED);
        turns.take(1, Instant::now());
        let long = turns.take(2, Instant::now()).unwrap();
        let other = turns.take(1, Instant::now()).unwrap();
        other.compute(async {}).await;
        drop(long);
        let queues = lock(turns.queues.as_ref().unwrap());
        assert_eq!((queues.executing(), queues.waiting()), (0, 0));
    }
}
