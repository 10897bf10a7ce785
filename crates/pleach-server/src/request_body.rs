//! The body of a request: read at most once, up to a limit, and never left lying in the socket.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::{Body as _, Incoming};
use pleach_engine::Rejection;

/// The largest request body.
pub const BODY_LIMIT: usize = 3 * 1024 * 1024;
/// How much of a body that nobody asked for is read all the same, as Go's server does.
const DRAIN_LIMIT: usize = 256 * 1024;
/// How long that may take.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// A body that has been read or not.
pub struct Unread(Option<Incoming>);

impl Unread {
    /// Not yet read.
    pub fn new(body: Incoming) -> Self {
        Self(Some(body))
    }

    /// Reads it, up to the limit. What was read before is gone.
    pub async fn read(&mut self) -> Result<Bytes, Rejection> {
        let Some(body) = self.0.take() else { return Ok(Bytes::new()) };
        match Limited::new(body, BODY_LIMIT).collect().await {
            Ok(collected) => Ok(collected.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => {
                Err(Rejection::TooLarge(format!("limit is {BODY_LIMIT}")))
            }
            Err(error) => Err(Rejection::BadRequest(format!("reading the request body failed: {error}"))),
        }
    }

    /// Reads what nobody wanted: a connection that is closed on unread bytes is reset, and the client
    /// may never see the answer that was sent before.
    pub async fn drain(self) {
        if let Some(body) = self.0.filter(|body| !body.is_end_stream()) {
            let rest = Limited::new(body, DRAIN_LIMIT).collect();
            let _ = tokio::time::timeout(DRAIN_TIME, rest).await;
        }
    }
}
