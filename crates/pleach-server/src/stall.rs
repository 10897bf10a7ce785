//! Write timeouts: connections and HTTP/2 streams of clients that do not read are closed.
//!
//! [`Stall`] is around a socket: when it takes not one byte for a while although some wait, it fails, and with it
//! the connection. HTTP/2 has windows of its own: a stream whose client opens none waits without a byte on the
//! socket. [`Streams`] runs streams, and ends one whose answer has not got on.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use crate::connection_state::watch_answers;

/// A socket that fails when its peer reads nothing for some time.
pub struct Stall<S> {
    socket: S,
    patience: Duration,
    /// Runs from the first time that the socket took nothing.
    timer: Option<Pin<Box<Sleep>>>,
    /// Whether it took something since the timer was set.
    got_on: bool,
}

impl<S> Stall<S> {
    /// Around a socket.
    pub fn new(socket: S, patience: Duration) -> Self {
        Self { socket, patience, timer: None, got_on: false }
    }

    fn judge<T>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.got_on = true;
            return result;
        }
        let timer = self.timer.get_or_insert_with(|| {
            self.got_on = false;
            Box::pin(sleep(self.patience))
        });
        while timer.as_mut().poll(cx).is_ready() {
            if !std::mem::take(&mut self.got_on) {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            timer.as_mut().reset(Instant::now() + self.patience);
        }
        Poll::Pending
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Stall<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Stall<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.socket).poll_write(cx, bytes);
        self.judge(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.socket).poll_write_vectored(cx, slices);
        self.judge(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

/// Runs the streams of HTTP/2 connections.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    patience: Duration,
}

impl Streams {
    /// Streams whose client must read a part of the response within this time.
    pub fn new(patience: Duration) -> Self {
        Self { patience }
    }
}

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Streams {
    fn execute(&self, stream: F) {
        tokio::spawn(with_stall_timeout(stream, self.patience));
    }
}

pin_project! {
    /// Runs a stream until it ends, or a part of its answer has waited too long.
    // A type of its own: the future of an `async fn` has room for its argument twice, and is moved several times.
    struct WithStallTimeout<F> {
        #[pin]
        stream: F,
        patience: Duration,
        timer: Option<Pin<Box<Sleep>>>,
        // Whether a part of the answer waits to be taken.
        waits: bool,
        // The number of parts so far, and when the timer was set.
        parts: usize,
        before: usize,
    }
}

fn with_stall_timeout<F>(stream: F, patience: Duration) -> WithStallTimeout<F> {
    WithStallTimeout { stream, patience, timer: None, waits: false, parts: 0, before: 0 }
}

impl<F: Future<Output = ()>> Future for WithStallTimeout<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        let (ended, handed_over) = watch_answers(|| this.stream.as_mut().poll(cx));
        if ended.is_ready() {
            return Poll::Ready(());
        }
        if let Some(handed_over) = handed_over {
            *this.waits = handed_over;
            *this.parts += 1;
        }
        if !*this.waits {
            *this.timer = None;
            return Poll::Pending;
        }
        let timer = this.timer.get_or_insert_with(|| {
            *this.before = *this.parts;
            Box::pin(sleep(*this.patience))
        });
        while timer.as_mut().poll(cx).is_ready() {
            if *this.parts == *this.before {
                tracing::debug!("response stalled: client does not read; stream closed");
                return Poll::Ready(());
            }
            *this.before = *this.parts;
            timer.as_mut().reset(Instant::now() + *this.patience);
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_nothing_is_let_go() {
        let minute = Duration::from_mins(1);
        let (server, _client) = duplex(10);
        let mut server = Stall::new(server, minute);
        let began = Instant::now();
        let error = server.write_all(&[0; 100]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(began.elapsed(), minute);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_little_is_kept() {
        let minute = Duration::from_mins(1);
        let (server, mut client) = duplex(10);
        let mut server = Stall::new(server, minute);
        let reader = tokio::spawn(async move {
            let mut read = 0;
            while read < 100 {
                sleep(minute * 2 / 3).await;
                read += client.read(&mut [0; 5]).await.unwrap();
            }
        });
        server.write_all(&[0; 100]).await.unwrap();
        reader.await.unwrap();
    }
}
