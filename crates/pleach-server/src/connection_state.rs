//! Connection state: requests in flight, idle time and unsent response bytes.
//!
//! A request is in flight until its response has been handed over to be sent, so an open watch keeps its
//! connection busy even without events. Responses that clients do not read hold memory: it is counted by
//! connection and for the whole server ([`Connections`]), and a connection over its limit gets no further
//! responses until the client has read some.

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

/// State of one connection: its requests in flight and the response bytes that it holds.
#[derive(Debug)]
pub struct ConnectionState {
    opened: Instant,
    in_flight: AtomicUsize,
    /// When the last answer ended, in milliseconds after the connection was opened.
    idle_since: AtomicU64,
    /// The memory of responses that have not been sent.
    held: AtomicUsize,
    /// How often answers were taken, a part at a time.
    taken: AtomicUsize,
    /// Whether a request on it was authenticated.
    is_authenticated: AtomicBool,
    /// Its answers hold less than they may.
    room: Notify,
    cut: Notify,
    unwanted: Notify,
    connections: Arc<Connections>,
}

impl ConnectionState {
    /// A new connection, on which nothing is under way.
    pub fn new(connections: Arc<Connections>) -> Self {
        Self {
            opened: Instant::now(),
            in_flight: AtomicUsize::new(0),
            idle_since: AtomicU64::new(0),
            held: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
            is_authenticated: AtomicBool::new(false),
            room: Notify::new(),
            cut: Notify::new(),
            unwanted: Notify::new(),
            connections,
        }
    }

    /// Ends when nothing has been under way for some time.
    pub async fn idle_for(&self, time: Duration) {
        loop {
            if self.is_under_way() {
                sleep(time).await;
                continue;
            }
            let idle_since = self.opened + self.idle_since();
            if idle_since.elapsed() >= time {
                return;
            }
            sleep_until(idle_since + time).await;
        }
    }

    /// Whether anything is under way.
    pub fn is_under_way(&self) -> bool {
        self.in_flight.load(Ordering::Acquire) > 0
    }

    /// When it was opened.
    pub fn opened(&self) -> Instant {
        self.opened
    }

    /// When the last answer ended, as time since it was opened.
    pub fn idle_since(&self) -> Duration {
        Duration::from_millis(self.idle_since.load(Ordering::Acquire))
    }

    /// The memory of responses that have not been sent.
    pub fn held(&self) -> usize {
        self.held.load(Ordering::Acquire)
    }

    /// How often answers were taken, a part at a time.
    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// A user has made himself known.
    pub fn set_known(&self) {
        if !self.is_authenticated() {
            self.is_authenticated.store(true, Ordering::Release);
        }
    }

    /// Whether a user has made himself known.
    pub fn is_authenticated(&self) -> bool {
        self.is_authenticated.load(Ordering::Acquire)
    }

    /// The connection is to end when the requests on it are answered.
    pub fn set_unwanted(&self) {
        self.unwanted.notify_one();
    }

    /// Waits until the connection is to end after its requests.
    pub async fn is_unwanted(&self) {
        self.unwanted.notified().await;
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
        while self.held() >= self.connections.per_connection() {
            let room = self.room.notified();
            if self.held() >= self.connections.per_connection() {
                room.await;
            }
        }
    }

    /// Updates the memory of a response.
    fn hold(&self, now: usize, before: usize) {
        if now > before {
            self.held.fetch_add(now - before, Ordering::AcqRel);
            self.connections.hold(now - before);
        } else if now < before {
            let held = self.held.fetch_sub(before - now, Ordering::AcqRel);
            self.connections.release(before - now);
            let limit = self.connections.per_connection();
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
/// was nothing to send; `None` if the response was not polled.
pub(crate) fn watch_answers<T>(step: impl FnOnce() -> T) -> (T, Option<bool>) {
    HANDED_OVER.set(None);
    let done = step();
    (done, HANDED_OVER.take())
}

/// Marks the response to a request of the anonymous user, or with credentials that are not valid.
#[derive(Clone, Copy, Debug)]
pub struct Unauthenticated;

/// A connection that has a state.
pub trait Connected: Send + Sync + 'static {
    /// The requests on it.
    fn state(&self) -> &ConnectionState;
}

/// A request that is under way.
pub struct InFlight<C: Connected>(Arc<C>);

impl<C: Connected> InFlight<C> {
    /// From now on.
    pub fn on(connection: Arc<C>) -> Self {
        connection.state().in_flight.fetch_add(1, Ordering::AcqRel);
        Self(connection)
    }

    /// The connection.
    pub fn connection(&self) -> &C {
        &self.0
    }

    /// Until its answer has been sent.
    pub fn with(self, body: Body) -> Answer<C> {
        let held = body.held();
        let held = if held < SMALL { 0 } else { held };
        self.0.state().hold(held, 0);
        Answer { body, held, in_flight: self }
    }
}

impl<C: Connected> Drop for InFlight<C> {
    fn drop(&mut self) {
        let state = self.0.state();
        // The time first: a reader that sees no work under way also sees since when.
        state.idle_since.store(state.opened.elapsed().as_millis() as u64, Ordering::Release);
        state.in_flight.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The body of an answer; while it is there, its request is under way.
pub struct Answer<C: Connected> {
    body: Body,
    /// The memory it holds, as it was counted.
    held: usize,
    in_flight: InFlight<C>,
}

impl<C: Connected> Drop for Answer<C> {
    fn drop(&mut self) {
        self.in_flight.0.state().hold(0, self.held);
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
            let state = self.in_flight.0.state();
            state.taken.fetch_add(1, Ordering::Relaxed);
            state.hold(held, self.held);
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

    struct Connection(ConnectionState);

    impl Connected for Connection {
        fn state(&self) -> &ConnectionState {
            &self.0
        }
    }

    fn connection() -> Arc<Connection> {
        Arc::new(Connection(ConnectionState::new(Arc::new(Connections::new(100_000, 1_000_000)))))
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_rests_after_its_last_answer() {
        let second = Duration::from_secs(1);
        let connection = connection();
        let began = Instant::now();
        connection.0.idle_for(second * 3).await;
        assert_eq!(began.elapsed(), second * 3, "nothing ever came");

        let in_flight = InFlight::on(connection.clone());
        let answer = in_flight.with(Body::empty());
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
        let answer = |size: usize| InFlight::on(connection.clone()).with(vec![b'x'; size].into());
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
        assert_eq!(connection.0.connections.held(), 0);
        assert!(!connection.0.is_under_way());
    }
}
