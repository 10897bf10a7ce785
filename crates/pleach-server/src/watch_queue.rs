//! The queue of events between a watch and its connection, bounded in number and in bytes.
//!
//! Frames that were made for watches count with their length; a stored object that is only pointed at counts
//! as nothing. One frame always fits, however long it is.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Buf as _;
use tokio::sync::{Notify, mpsc};

use crate::chunk::Chunk;

/// Frames that may wait.
const FRAMES: usize = 64;
/// Bytes that may wait.
const BYTES: usize = 256 * 1024;
/// The most bytes that are joined: with the head of an HTTP/2 frame they fill one TLS record.
const JOINED: usize = 16 * 1024 - 9;

/// A queue of frames.
pub fn queue() -> (Sender, Receiver) {
    let (sender, receiver) = mpsc::channel(FRAMES);
    let waiting = Arc::new(Waiting::default());
    (Sender { frames: sender, waiting: waiting.clone() }, Receiver { frames: receiver, waiting, held: None })
}

#[derive(Default)]
struct Waiting {
    bytes: AtomicUsize,
    fewer: Notify,
}

/// Where frames come from.
pub struct Sender {
    frames: mpsc::Sender<Chunk>,
    waiting: Arc<Waiting>,
}

/// Where frames go to.
pub struct Receiver {
    frames: mpsc::Receiver<Chunk>,
    waiting: Arc<Waiting>,
    /// A frame that was too long to be joined with those before it.
    held: Option<Chunk>,
}

/// The error of a closed connection.
#[derive(Clone, Copy, Debug)]
pub struct Gone;

fn weight(frame: &Chunk) -> usize {
    match frame {
        Chunk::Whole(bytes) => bytes.len(),
        Chunk::Stored(_) | Chunk::Joined(_) => 0,
    }
}

impl Sender {
    /// Waits for room, and puts a frame in.
    pub async fn send(&self, frame: Chunk) -> Result<(), Gone> {
        while self.waiting.bytes.load(Ordering::Acquire) >= BYTES {
            tokio::select! {
                () = self.waiting.fewer.notified() => {}
                () = self.frames.closed() => return Err(Gone),
            }
        }
        self.waiting.bytes.fetch_add(weight(&frame), Ordering::AcqRel);
        self.frames.send(frame).await.map_err(|_| Gone)
    }

    /// Puts a frame into a queue that is empty.
    pub fn first(&self, frame: Chunk) {
        self.waiting.bytes.fetch_add(weight(&frame), Ordering::AcqRel);
        let _ = self.frames.try_send(frame);
    }

    /// Waits until there is no connection any more.
    pub async fn closed(&self) {
        self.frames.closed().await;
    }
}

impl Receiver {
    /// The next frame, together with those behind it that are there and fit into one write; `None` is the end.
    pub fn poll_joined(&mut self, cx: &mut Context<'_>) -> Poll<Option<Chunk>> {
        let Some(first) = std::task::ready!(self.poll_next(cx)) else { return Poll::Ready(None) };
        let mut bytes = first.remaining();
        let mut joined = VecDeque::new();
        while bytes < JOINED
            && let Poll::Ready(Some(next)) = self.poll_next(cx)
        {
            bytes += next.remaining();
            if bytes > JOINED {
                self.held = Some(next);
                break;
            }
            joined.push_back(next);
        }
        Poll::Ready(Some(first.followed_by(joined)))
    }

    /// The next frame; `None` is the end.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Chunk>> {
        if let Some(held) = self.held.take() {
            return Poll::Ready(Some(held));
        }
        let frame = std::task::ready!(self.frames.poll_recv(cx));
        if let Some(weight @ 1..) = frame.as_ref().map(weight) {
            let before = self.waiting.bytes.fetch_sub(weight, Ordering::AcqRel);
            if before >= BYTES && before - weight < BYTES {
                self.waiting.fewer.notify_one();
            }
        }
        Poll::Ready(frame)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use bytes::Bytes;
    use tokio::time::{Duration, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn bytes_are_bounded() {
        let (sender, mut receiver) = queue();
        let large = || Chunk::from(Bytes::from(vec![0; BYTES / 2]));
        let later = Duration::from_secs(1);
        for _ in 0..2 {
            sender.send(large()).await.unwrap();
        }
        assert!(timeout(later, sender.send(large())).await.is_err(), "there is no room");
        poll_fn(|cx| receiver.poll_next(cx)).await.unwrap();
        sender.send(large()).await.unwrap();
        let waiting = tokio::spawn(async move { sender.send(large()).await.is_ok() });
        tokio::time::sleep(later).await;
        assert!(!waiting.is_finished());
        poll_fn(|cx| receiver.poll_next(cx)).await.unwrap();
        assert!(waiting.await.unwrap(), "it was woken");
        drop(receiver);
    }

    /// The lengths of what is joined, until nothing is ready.
    fn joined(receiver: &mut Receiver, sent: &mut Vec<u8>) -> Vec<usize> {
        let mut lengths = Vec::new();
        let mut cx = Context::from_waker(std::task::Waker::noop());
        while let Poll::Ready(Some(mut chunk)) = receiver.poll_joined(&mut cx) {
            lengths.push(chunk.remaining());
            sent.extend_from_slice(&chunk.copy_to_bytes(chunk.remaining()));
        }
        lengths
    }

    #[tokio::test]
    async fn frames_that_wait_are_joined_up_to_one_record_and_keep_their_order() {
        let (sender, mut receiver) = queue();
        let lengths = [5000, 5000, 5000, 5000, JOINED, 1, JOINED - 1, 1, JOINED + 1, 2, 40_000, 3];
        let mut all = Vec::new();
        for (n, length) in lengths.into_iter().enumerate() {
            let frame = Bytes::from(vec![n as u8; length]);
            all.extend_from_slice(&frame);
            sender.send(frame.into()).await.unwrap();
        }
        let mut sent = Vec::new();
        let want = [15_000, 5000, JOINED, JOINED, 1, JOINED + 1, 2, 40_000, 3];
        assert_eq!(joined(&mut receiver, &mut sent), want);
        assert!(sent == all);
        assert_eq!(receiver.waiting.bytes.load(Ordering::Relaxed), 0, "there is room again");
        for text in ["a", "b"] {
            sender.send(Bytes::from_static(text.as_bytes()).into()).await.unwrap();
        }
        drop(sender);
        sent.clear();
        assert_eq!(joined(&mut receiver, &mut sent), [2], "the end does not hold back what is before it");
        assert_eq!(sent, b"ab");
        assert!(poll_fn(|cx| receiver.poll_joined(cx)).await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_frame_may_be_larger_than_the_queue_and_the_end_is_noticed() {
        let (sender, receiver) = queue();
        sender.send(Bytes::from(vec![0; BYTES * 3]).into()).await.unwrap();
        let waiting = tokio::spawn(async move { sender.send(Bytes::from_static(b"x").into()).await.is_ok() });
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(receiver);
        assert!(!waiting.await.unwrap());
    }
}
