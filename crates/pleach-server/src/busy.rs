//! Whether anything is under way on a connection, and since when nothing is.
//!
//! A request is under way until the last byte of its answer has been handed over, so an open watch keeps its
//! connection busy however little there is to tell.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body::{Frame, SizeHint};
use tokio::time::{Instant, sleep, sleep_until};

use crate::body::Body;

/// What is under way on a connection.
#[derive(Debug)]
pub struct Busy {
    opened: Instant,
    under_way: AtomicUsize,
    /// When the last answer ended, in milliseconds after the connection was opened.
    rested_at: AtomicU64,
}

impl Busy {
    /// A new connection, on which nothing is under way.
    pub fn new() -> Self {
        Self { opened: Instant::now(), under_way: AtomicUsize::new(0), rested_at: AtomicU64::new(0) }
    }

    /// Ends when nothing has been under way for some time.
    pub async fn rests_for(&self, time: Duration) {
        loop {
            if self.under_way.load(Ordering::Acquire) > 0 {
                sleep(time).await;
                continue;
            }
            let rested_at = self.opened + Duration::from_millis(self.rested_at.load(Ordering::Acquire));
            if rested_at.elapsed() >= time {
                return;
            }
            sleep_until(rested_at + time).await;
        }
    }
}

impl Default for Busy {
    fn default() -> Self {
        Self::new()
    }
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
        Answer { body, _under_way: self }
    }
}

impl<C: Connected> Drop for UnderWay<C> {
    fn drop(&mut self) {
        let busy = self.0.busy();
        // First the time: whoever sees that nothing is under way sees since when.
        busy.rested_at.store(busy.opened.elapsed().as_millis() as u64, Ordering::Release);
        busy.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The body of an answer; while it is there, its request is under way.
pub struct Answer<C: Connected> {
    body: Body,
    _under_way: UnderWay<C>,
}

impl<C: Connected> http_body::Body for Answer<C> {
    type Data = <Body as http_body::Body>::Data;
    type Error = <Body as http_body::Body>::Error;

    #[inline]
    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
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
    use super::*;

    struct Connection(Busy);

    impl Connected for Connection {
        fn busy(&self) -> &Busy {
            &self.0
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_rests_after_its_last_answer() {
        let second = Duration::from_secs(1);
        let connection = Arc::new(Connection(Busy::new()));
        let began = Instant::now();
        connection.0.rests_for(second * 3).await;
        assert_eq!(began.elapsed(), second * 3, "nothing ever came");

        let under_way = UnderWay::on(connection.clone());
        let answer = under_way.with(Body::empty());
        let rest = tokio::spawn({
            let connection = connection.clone();
            async move { connection.0.rests_for(second * 3).await }
        });
        sleep(second * 100).await;
        assert!(!rest.is_finished(), "an answer is under way");
        drop(answer);
        let ended = Instant::now();
        rest.await.unwrap();
        assert!((second * 3..second * 7).contains(&ended.elapsed()), "{:?}", ended.elapsed());
    }
}
