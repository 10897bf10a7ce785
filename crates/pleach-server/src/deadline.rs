//! Request deadlines: how long a request may take.
//!
//! Clients may set a shorter one with `timeout=`. A watch has a deadline for its opening only.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use http::Response;
use pleach_engine::Rejection;
use pleach_go::time::parse_duration;

use crate::body::Body;
use crate::outcome;
use crate::query::Query;
use crate::respond::{self, ResponseFormat};

/// The longest deadline of a request.
const REQUEST: Duration = Duration::from_mins(1);
/// The deadline of a write.
const WRITE: Duration = Duration::from_secs(34);

/// How long a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    after: Duration,
    /// It is that of all writes, and not of this request.
    of_writes: bool,
}

impl Deadline {
    /// The deadline of a request.
    pub fn of(query: &Query, writes: bool, is_watch: bool) -> Result<Self, Rejection> {
        let wanted = query.text("timeout");
        let usual = if wanted.is_empty() || is_watch { REQUEST } else { shorter(wanted)? };
        Ok(Self { after: if writes { usual.min(WRITE) } else { usual }, of_writes: writes && usual > WRITE })
    }

    /// How long the request may wait in queues before it is executed.
    pub fn in_queues(self) -> Duration {
        self.after / 4
    }

    /// The moment, for a request that began at another one.
    pub fn at(self, began: Instant) -> Instant {
        began + self.after
    }

    /// The response of a request, or a timeout. Most requests never wait, and need no timer.
    pub async fn keep<R>(self, answer: impl Future<Output = R>) -> Option<R> {
        let mut answer = pin!(answer);
        if let Poll::Ready(ready) = poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx))).await {
            return Some(ready);
        }
        tokio::time::timeout(self.after, answer).await.ok()
    }

    /// The response to a request that took too long, as upstream's timeout filters write it.
    pub fn missed(self) -> Response<Body> {
        if self.of_writes {
            let why = "request did not complete within requested timeout - context deadline exceeded";
            return respond::rejection(Rejection::Timeout(why), &ResponseFormat::plain());
        }
        let why = "request did not complete within the allotted timeout";
        let status = Rejection::Timeout(why).into_status();
        // Upstream's outermost filter knows no types.
        let typed = String::from_utf8(respond::status_json(&status, None)).unwrap_or_default();
        let untyped = typed.replacen("\"kind\":\"Status\",\"apiVersion\":\"v1\",", "", 1);
        let mut response = respond::text(outcome::code_of(&status), untyped + "\n");
        response.headers_mut().remove("x-content-type-options");
        response
    }
}

/// The timeout of a client; values that are not positive stand for the default.
fn shorter(wanted: &str) -> Result<Duration, Rejection> {
    let nanoseconds = parse_duration(wanted).map_err(|why| {
        Rejection::BadRequest(format!("invalid timeout specified in the request URL - {why}"))
    })?;
    let wanted = u64::try_from(nanoseconds).ok().filter(|n| *n > 0).map(Duration::from_nanos);
    Ok(wanted.map_or(REQUEST, |wanted| wanted.min(REQUEST)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_may_ask_for_less() {
        for (query, writes, want, why) in [
            ("", false, REQUEST, "reads have a minute"),
            ("", true, WRITE, "writes have less"),
            ("timeout=2s", false, Duration::from_secs(2), "asked for"),
            ("timeout=2s", true, Duration::from_secs(2), "asked for"),
            ("timeout=40s", true, WRITE, "more than there is"),
            ("timeout=2h", false, REQUEST, "more than there is"),
            ("timeout=0", false, REQUEST, "zero is nothing asked for"),
            ("timeout=-1s", false, REQUEST, "nor is less"),
            ("timeout=", false, REQUEST, "nor is no text"),
        ] {
            let deadline = Deadline::of(&Query::parse(Some(query)), writes, false).unwrap();
            assert_eq!(deadline.after, want, "{why}: {query}");
        }
    }

    #[test]
    fn invalid_timeouts_are_refused_except_for_watches() {
        let query = Query::parse(Some("timeout=2x"));
        let refused = Deadline::of(&query, false, false).unwrap_err();
        let want =
            "invalid timeout specified in the request URL - time: unknown unit \"x\" in duration \"2x\"";
        assert_eq!(refused.to_string(), want);
        assert_eq!(Deadline::of(&query, false, true).unwrap().after, REQUEST);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_never_ends_is_answered_with_504() {
        let deadline = Deadline { after: WRITE, of_writes: true };
        assert!(deadline.keep(std::future::pending::<()>()).await.is_none());
        assert!(deadline.keep(async { respond::page_not_found() }).await.is_some());
        assert_eq!(deadline.missed().status().as_u16(), 504);
    }
}
