//! The body of a request: read at most once, up to a limit, and never left lying in the socket.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body as _, Frame};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use pleach_engine::Rejection;

use crate::flow_control;
use crate::memory::Receiving;

/// The largest request body.
pub const BODY_LIMIT: usize = 3 * 1024 * 1024;
/// How much of a body that is not wanted is read and thrown away: a little more than a body may have, so that a
/// client that was refused sees why.
const DRAIN_LIMIT: usize = 2 * BODY_LIMIT;
/// How long that may take.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// Where the bytes of a request come from.
pub enum Source {
    /// A connection.
    Incoming(Incoming),
    /// They are there.
    Full(Full<Bytes>),
}

impl From<Incoming> for Source {
    fn from(body: Incoming) -> Self {
        Self::Incoming(body)
    }
}

impl From<Bytes> for Source {
    fn from(bytes: Bytes) -> Self {
        Self::Full(Full::new(bytes))
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").finish_non_exhaustive()
    }
}

impl http_body::Body for Source {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match self.get_mut() {
            Self::Incoming(body) => Pin::new(body).poll_frame(cx),
            Self::Full(body) => Pin::new(body)
                .poll_frame(cx)
                .map(|frame| frame.map(|frame| frame.map_err(|never| match never {}))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Incoming(body) => body.is_end_stream(),
            Self::Full(body) => body.is_end_stream(),
        }
    }
}

/// A body that has been read or not.
pub struct Unread {
    body: Option<Source>,
    /// Bytes that were received before the body was read, or why that failed.
    received: Option<Result<Bytes, Rejection>>,
    /// The memory of the body, counted as long as the request is handled.
    receiving: Receiving,
    /// The body, for the audit log.
    kept: Option<Bytes>,
}

impl Unread {
    /// Not yet read.
    pub fn new(body: impl Into<Source>) -> Self {
        Self { body: Some(body.into()), received: None, receiving: Receiving::default(), kept: None }
    }

    /// Keeps a copy of the body.
    pub fn keep(&mut self) {
        self.kept = Some(Bytes::new());
    }

    /// The copy of the body.
    pub fn take_kept(&mut self) -> Option<Bytes> {
        self.kept.take()
    }

    /// Receives the body for a later [`Unread::read`], which returns an error of this.
    pub async fn receive(&mut self) {
        if self.body.as_ref().is_some_and(|body| !body.is_end_stream()) {
            self.received = Some(self.read().await);
        }
    }

    /// Reads the body, up to the limit. It can be read once.
    pub async fn read(&mut self) -> Result<Bytes, Rejection> {
        if let Some(received) = self.received.take() {
            return received;
        }
        let Some(mut body) = self.body.take() else { return Ok(Bytes::new()) };
        // A client that sends its body slowly takes no seats meanwhile.
        let read = match flow_control::current() {
            Some(place) => place.without_seats(self.read_all(&mut body)).await,
            None => self.read_all(&mut body).await,
        };
        if let (Some(kept), Ok(read)) = (&mut self.kept, &read) {
            *kept = read.clone();
        }
        if read.is_err() {
            // The rest is still to be drained.
            self.body = Some(body);
        }
        read
    }

    async fn read_all(&mut self, body: &mut Source) -> Result<Bytes, Rejection> {
        let mut left = BODY_LIMIT;
        // Most bodies are one frame, whose bytes are taken as they are.
        let (mut first, mut rest) = (Bytes::new(), Vec::new());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| {
                Rejection::BadRequest(format!("reading the request body failed: {error}"))
            })?;
            // Trailers say nothing here.
            let Ok(data) = frame.into_data() else { continue };
            left = left
                .checked_sub(data.len())
                .ok_or_else(|| Rejection::TooLarge(format!("limit is {BODY_LIMIT}")))?;
            if !self.receiving.more(data.len()) {
                return Err(Rejection::TooManyRequests);
            }
            if first.is_empty() {
                first = data;
            } else {
                rest.push(data);
            }
            if body.is_end_stream() {
                break;
            }
        }
        if rest.is_empty() {
            return Ok(first);
        }
        rest.insert(0, first);
        Ok(rest.concat().into())
    }

    /// Reads the rest and discards it: a connection that is closed on unread bytes is reset, and the client
    /// may never see the answer that was sent before.
    pub async fn drain(self) {
        let Some(mut body) = self.body.filter(|body| !body.is_end_stream()) else { return };
        let rest = async move {
            let mut left = DRAIN_LIMIT;
            while let Some(Ok(frame)) = body.frame().await {
                let Some(less) = left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) else { return };
                left = less;
            }
        };
        // Rare, so it takes no room in the future of every request.
        let _ = Box::pin(tokio::time::timeout(DRAIN_TIME, rest)).await;
    }
}
