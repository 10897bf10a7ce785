//! What is under way on a connection, since when nothing is, and what its unsent answers hold.
//!
//! A request is under way until its answer has been handed over to be sent, so an open watch keeps its
//! connection busy however little there is to tell. Answers that clients do not take hold memory: it is counted
//! by connection and for the whole server ([`Connections`]), and a connection with too much of it gets no further
//! requests answered until it has taken some.

use std::cell::Cell;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body::{Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until};

use crate::body::Body;
use crate::connections::Connections;

/// Answers that hold less are not counted.
const SMALL: usize = 8 * 1024;

/// What is under way on a connection.
#[derive(Debug)]
pub struct Busy {
    opened: Instant,
    under_way: AtomicUsize,
    /// When the last answer ended, in milliseconds after the connection was opened.
    rested_at: AtomicU64,
    /// What answers hold that have not been sent.
    held: AtomicUsize,
    /// How often answers were taken, a part at a time.
    taken: AtomicUsize,
    /// Whether a user has made himself known on it.
    is_known: AtomicBool,
    /// Its answers hold less than they may.
    room: Notify,
    cut: Notify,
    among: Arc<Connections>,
}

impl Busy {
    /// A new connection, on which nothing is under way.
    pub fn new(among: Arc<Connections>) -> Self {
        Self {
            opened: Instant::now(),
            under_way: AtomicUsize::new(0),
            rested_at: AtomicU64::new(0),
            held: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            is_known: AtomicBool::new(false),
            room: Notify::new(),
            cut: Notify::new(),
            among,
        }
    }

    /// Ends when nothing has been under way for some time.
    pub async fn idle_for(&self, time: Duration) {
        loop {
            if self.is_under_way() {
                sleep(time).await;
                continue;
            }
            let rested_at = self.opened + self.rested_at();
            if rested_at.elapsed() >= time {
                return;
            }
            sleep_until(rested_at + time).await;
        }
    }

    /// Whether anything is under way.
    pub fn is_under_way(&self) -> bool {
        self.under_way.load(Ordering::Acquire) > 0
    }

    /// When it was opened.
    pub fn opened(&self) -> Instant {
        self.opened
    }

    /// When the last answer ended, as time since it was opened.
    pub fn rested_at(&self) -> Duration {
        Duration::from_millis(self.rested_at.load(Ordering::Acquire))
    }

    /// What answers hold that have not been sent.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Acquire)
    }

    /// How often answers were taken, a part at a time.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// A user has made himself known.
    pub fn set_known(&self) {
        if !self.is_known() {
            self.is_known.store(true, Ordering::Release);
        }
    }

    /// Whether a user has made himself known.
    pub fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Acquire)
    }

    /// Ends the connection.
    pub fn cut(&self) {
        self.cut.notify_one();
    }

    /// Waits until the connection is to end.
    pub async fn is_cut(&self) {
        self.cut.notified().await;
    }

    /// Waits until the answers of this connection hold less than they may.
    pub async fn has_room(&self) {
        while self.held() >= self.among.per_connection() {
            let room = self.room.notified();
            if self.held() >= self.among.per_connection() {
                room.await;
            }
        }
    }

    /// Counts what an answer holds now in place of what it held before.
    fn hold(&self, now: usize, before: usize) {
        if now > before {
            self.held.fetch_add(now - before, Ordering::AcqRel);
            self.among.hold(now - before);
        } else if now < before {
            let held = self.held.fetch_sub(before - now, Ordering::AcqRel);
            self.among.release(before - now);
            let limit = self.among.per_connection();
            if held >= limit && held - (before - now) < limit {
                self.room.notify_waiters();
            }
        }
    }
}

thread_local! {
    /// Whether the answer that was polled last had something to hand over.
    static HANDED_OVER: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Runs a step of something that may send an answer. Says whether a part of it was handed over, or that there
/// was nothing to hand over; `None` if the answer was not asked.
pub(crate) fn watch_answers<T>(step: impl FnOnce() -> T) -> (T, Option<bool>) {
    HANDED_OVER.set(None);
    let done = step();
    (done, HANDED_OVER.take())
}

/// Whatever knows how busy its connection is.
pub trait Connected: Send + Sync + 'static {
    /// What is under way on it.
    fn busy(&self) -> &Busy;
}

/// A request that is under way.
pub struct UnderWay<C: Connected>(Arc<C>);

impl<C: Connected> UnderWay<C> {
    /// From now on.
    pub fn on(connection: Arc<C>) -> Self {
        connection.busy().under_way.fetch_add(1, Ordering::AcqRel);
        Self(connection)
    }

    /// What it is under way on.
    pub fn connection(&self) -> &C {
        &self.0
    }

    /// Until its answer has been sent.
    pub fn with(self, body: Body) -> Answer<C> {
        let held = body.held();
        let held = if held < SMALL { 0 } else { held };
        self.0.busy().hold(held, 0);
        Answer { body, held, under_way: self }
    }
}

impl<C: Connected> Drop for UnderWay<C> {
    fn drop(&mut self) {
        let busy = self.0.busy();
        // The time first: a reader that sees no work under way also sees since when.
        busy.rested_at.store(busy.opened.elapsed().as_millis() as u64, Ordering::Release);
        busy.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The body of an answer; while it is there, its request is under way.
pub struct Answer<C: Connected> {
    body: Body,
    /// What it holds, as it was counted.
    held: usize,
    under_way: UnderWay<C>,
}

impl<C: Connected> Drop for Answer<C> {
    fn drop(&mut self) {
        self.under_way.0.busy().hold(0, self.held);
    }
}

impl<C: Connected> http_body::Body for Answer<C> {
    type Data = <Body as http_body::Body>::Data;
    type Error = <Body as http_body::Body>::Error;

    #[inline]
    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let next = Pin::new(&mut self.body).poll_frame(cx);
        HANDED_OVER.set(Some(matches!(next, Poll::Ready(Some(_)))));
        let held = self.body.held();
        if held >= SMALL || self.held > 0 {
            let busy = self.under_way.0.busy();
            busy.taken.fetch_add(1, Ordering::Relaxed);
            busy.hold(held, self.held);
            self.held = held;
        }
        next
    }

    #[inline]
    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    #[inline]
    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use http_body::Body as _;

    use super::*;

    struct Connection(Busy);

    impl Connected for Connection {
        fn busy(&self) -> &Busy {
            &self.0
        }
    }

    fn connection() -> Arc<Connection> {
        Arc::new(Connection(Busy::new(Arc::new(Connections::new(100_000, 1_000_000)))))
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_rests_after_its_last_answer() {
        let second = Duration::from_secs(1);
        let connection = connection();
        let began = Instant::now();
        connection.0.idle_for(second * 3).await;
        assert_eq!(began.elapsed(), second * 3, "nothing ever came");

        let under_way = UnderWay::on(connection.clone());
        let answer = under_way.with(Body::empty());
        let rest = tokio::spawn({
            let connection = connection.clone();
            async move { connection.0.idle_for(second * 3).await }
        });
        sleep(second * 100).await;
        assert!(!rest.is_finished(), "an answer is under way");
        drop(answer);
        let ended = Instant::now();
        rest.await.unwrap();
        assert!((second * 3..second * 7).contains(&ended.elapsed()), "{:?}", ended.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn answers_that_are_not_taken_are_counted() {
        let connection = connection();
        let answer = |size: usize| UnderWay::on(connection.clone()).with(vec![b'x'; size].into());
        let small = answer(100);
        assert_eq!(connection.0.held(), 0, "small ones are not");
        let mut large = answer(150_000);
        assert_eq!(connection.0.held(), 150_000);
        let room = tokio::spawn({
            let connection = connection.clone();
            async move { connection.0.has_room().await }
        });
        sleep(Duration::from_secs(1)).await;
        assert!(!room.is_finished(), "there is too much already");
        let (part, handed_over) = watch_answers(|| {
            Pin::new(&mut large).poll_frame(&mut Context::from_waker(std::task::Waker::noop()))
        });
        assert!(part.is_ready() && handed_over == Some(true));
        room.await.unwrap();
        while poll_fn(|cx| Pin::new(&mut large).poll_frame(cx)).await.is_some() {}
        drop((small, large));
        assert_eq!(connection.0.held(), 0);
        assert_eq!(connection.0.among.held(), 0);
        assert!(!connection.0.is_under_way());
    }
}
