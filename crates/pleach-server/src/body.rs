//! Response bodies: bytes that are there, pieces that are made as they are taken, or a stream of events.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf as _, Bytes};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::chunk::{Chunk, Stored};
use crate::documents::rope::Rope;
use crate::pieces::Pieces;
use crate::watch_queue::Receiver;

/// Larger bodies are sent in parts, so that the server knows how much the client has received.
const PART: usize = 64 * 1024;

/// The body of a response.
pub struct Body {
    content: Content,
    /// The request's place among those in flight, until the body is sent.
    place: Option<Arc<dyn Send + Sync>>,
}

enum Content {
    /// Bytes that are there.
    Full(Bytes),
    /// A stored object, until it is sent.
    Stored(Option<Stored>),
    /// Events as they come.
    Events(Receiver),
    /// Bytes that lie in many places.
    Rope(Rope),
    /// Pieces that are made when the client is ready for them.
    Pieces(Box<dyn Pieces>),
    /// The response of another server.
    Relayed(Incoming),
    /// A body whose beginning was read before, or that broke there.
    Resumed(VecDeque<Bytes>, Result<Box<Body>, Broken>),
}

impl Body {
    /// No bytes.
    pub fn empty() -> Self {
        Self::from(Bytes::new())
    }

    /// Events as they come; the end of the queue is the end of the body.
    pub fn events(queue: Receiver) -> Self {
        Content::Events(queue).into()
    }

    /// Pieces that are made when the client is ready for them.
    pub fn pieces(pieces: Box<dyn Pieces>) -> Self {
        Content::Pieces(pieces).into()
    }

    /// The response of another server, as it comes.
    pub fn relayed(body: Incoming) -> Self {
        Content::Relayed(body).into()
    }

    /// Reads a body to its end, unless it is longer than `most`. Comes back whole, with its bytes if they are all.
    pub async fn read(mut self, most: usize) -> (Self, Option<Bytes>) {
        let (mut first, mut size) = (VecDeque::new(), 0);
        loop {
            match self.frame().await {
                Some(Ok(frame)) => {
                    let Ok(mut data) = frame.into_data() else { continue };
                    size += data.remaining();
                    first.push_back(data.copy_to_bytes(data.remaining()));
                    if size > most {
                        return (Content::Resumed(first, Ok(Box::new(self))).into(), None);
                    }
                }
                Some(Err(broken)) => return (Content::Resumed(first, Err(broken)).into(), None),
                None => break,
            }
        }
        let bytes: Bytes = match first.len() {
            1 => first.pop_front().unwrap_or_default(),
            _ => first.iter().flatten().copied().collect(),
        };
        let whole = Self { content: Content::Full(bytes.clone()), place: self.place.take() };
        (whole, Some(bytes))
    }

    /// Keeps a request's place among those in flight until the body is sent.
    pub fn hold(&mut self, place: Arc<dyn Send + Sync>) {
        self.place = Some(place);
    }

    /// About how much memory it holds.
    pub fn held(&self) -> usize {
        match &self.content {
            Content::Full(bytes) => bytes.len(),
            Content::Stored(stored) => stored.as_ref().map_or(0, Stored::remaining),
            // Their queues have bounds of their own; documents are shared by all responses.
            Content::Events(_) | Content::Rope(_) | Content::Relayed(_) => 0,
            Content::Pieces(pieces) => pieces.held(),
            Content::Resumed(first, rest) => {
                first.iter().map(Bytes::len).sum::<usize>() + rest.as_ref().map_or(0, |rest| rest.held())
            }
        }
    }
}

impl From<Content> for Body {
    fn from(content: Content) -> Self {
        Self { content, place: None }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Content::Full(bytes.into()).into()
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Content::Full(bytes).into()
    }
}

impl From<Stored> for Body {
    fn from(stored: Stored) -> Self {
        Content::Stored(Some(stored)).into()
    }
}

impl From<Rope> for Body {
    fn from(rope: Rope) -> Self {
        Content::Rope(rope).into()
    }
}

/// The error of a body that cannot be continued.
#[derive(Clone, Copy, Debug)]
pub struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the rest of the answer could not be made")
    }
}

impl std::error::Error for Broken {}

impl http_body::Body for Body {
    type Data = Chunk;
    type Error = Broken;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Chunk>, Broken>>> {
        let next = match &mut self.content {
            Content::Full(bytes) if bytes.is_empty() => None,
            Content::Full(bytes) if bytes.len() > PART => Some(bytes.split_to(PART).into()),
            Content::Full(bytes) => Some(std::mem::take(bytes).into()),
            Content::Stored(Some(stored)) if stored.remaining() > PART => {
                Some(Chunk::Stored(stored.split_to(PART)))
            }
            Content::Stored(stored) => stored.take().map(Chunk::Stored),
            Content::Rope(rope) => rope.next().map(Chunk::from),
            Content::Events(events) => match events.poll_joined(cx) {
                Poll::Ready(event) => event,
                Poll::Pending => return Poll::Pending,
            },
            Content::Pieces(pieces) => match pieces.next() {
                Some(Ok(piece)) => Some(piece.into()),
                Some(Err(rejection)) => {
                    tracing::error!(%rejection, "response aborted");
                    return Poll::Ready(Some(Err(Broken)));
                }
                None => None,
            },
            Content::Relayed(body) => loop {
                match std::task::ready!(Pin::new(&mut *body).poll_frame(cx)) {
                    // Trailers are not for the page.
                    Some(Ok(frame)) => {
                        if let Ok(data) = frame.into_data() {
                            break Some(data.into());
                        }
                    }
                    Some(Err(_)) => return Poll::Ready(Some(Err(Broken))),
                    None => break None,
                }
            },
            Content::Resumed(first, rest) => match (first.pop_front(), rest) {
                (Some(bytes), _) => Some(bytes.into()),
                (None, Ok(rest)) => return Pin::new(&mut **rest).poll_frame(cx),
                (None, Err(broken)) => return Poll::Ready(Some(Err(*broken))),
            },
        };
        Poll::Ready(next.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Full(bytes) => bytes.is_empty(),
            Content::Stored(stored) => stored.is_none(),
            Content::Rope(rope) => rope.left() == 0,
            Content::Resumed(first, Ok(rest)) => first.is_empty() && rest.is_end_stream(),
            Content::Relayed(body) => body.is_end_stream(),
            Content::Events(_) | Content::Pieces(_) | Content::Resumed(_, Err(_)) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Stored(_) => SizeHint::with_exact(self.held() as u64),
            Content::Rope(rope) => SizeHint::with_exact(rope.left() as u64),
            Content::Relayed(body) => body.size_hint(),
            Content::Events(_) | Content::Pieces(_) | Content::Resumed(..) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_that_is_read_comes_back_whole() {
        let bytes: Vec<u8> = (0..3 * PART).map(|n| (n % 251) as u8).collect();
        for (most, all) in [(0, false), (PART, false), (bytes.len() - 1, false), (bytes.len(), true)] {
            let (body, read) = Body::from(bytes.clone()).read(most).await;
            assert_eq!(read.as_deref(), all.then_some(&bytes[..]), "{most}");
            assert!(body.held() >= bytes.len(), "{most}");
            let sent = body.collect().await.expect("it does not break").to_bytes();
            assert!(sent == bytes, "{most}");
        }
        let (body, read) = Body::empty().read(0).await;
        assert_eq!(read.as_deref(), Some(&[][..]));
        assert!(http_body::Body::is_end_stream(&body));
    }
}
