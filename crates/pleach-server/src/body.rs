//! Response bodies: bytes that are there, or a stream of events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes};
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;

use crate::chunk::{Chunk, Stored};
use crate::documents::rope::Rope;
use crate::listing::Stream;

/// The body of a response.
pub enum Body {
    /// Bytes that are there.
    Full(Bytes),
    /// A stored object, until it is sent.
    Stored(Option<Stored>),
    /// Frames as they come; the end of the channel is the end of the body.
    Stream(mpsc::Receiver<Bytes>),
    /// Bytes that lie in many places.
    Rope(Rope),
    /// Frames that are made when the client is ready for them.
    Pieces(Stream),
}

impl Body {
    /// No bytes.
    pub fn empty() -> Self {
        Self::Full(Bytes::new())
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Full(bytes.into())
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::Full(bytes)
    }
}

impl From<Rope> for Body {
    fn from(rope: Rope) -> Self {
        Self::Rope(rope)
    }
}

impl http_body::Body for Body {
    type Data = Chunk;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Chunk>, Infallible>>> {
        let next = match &mut *self {
            Self::Full(bytes) if bytes.is_empty() => None,
            Self::Full(bytes) => Some(std::mem::take(bytes).into()),
            Self::Stored(stored) => stored.take().map(Chunk::Stored),
            Self::Rope(rope) => rope.next().map(Chunk::from),
            Self::Stream(frames) => match frames.poll_recv(cx) {
                Poll::Ready(frame) => frame.map(Chunk::from),
                Poll::Pending => return Poll::Pending,
            },
            Self::Pieces(pieces) => pieces.next().map(Chunk::from),
        };
        Poll::Ready(next.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.is_empty(),
            Self::Stored(stored) => stored.is_none(),
            Self::Rope(rope) => rope.left() == 0,
            Self::Stream(_) | Self::Pieces(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Self::Stored(stored) => {
                SizeHint::with_exact(stored.as_ref().map_or(0, |stored| stored.remaining() as u64))
            }
            Self::Rope(rope) => SizeHint::with_exact(rope.left() as u64),
            Self::Stream(_) | Self::Pieces(_) => SizeHint::default(),
        }
    }
}
