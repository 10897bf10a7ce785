//! The log of requests: every client's requests and responses.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use pleach_json::{Map, Value};

/// Requests in the log before the oldest are dropped.
const LOGGED: usize = 100_000;

/// Bytes of requests and answers before the oldest requests are dropped.
const LOGGED_BYTES: usize = 64 << 20;

/// Bytes of an answer that are kept.
const ANSWER: usize = 1 << 20;

/// How much of a body stands in the transcript.
const EXCERPT: usize = 160;

/// The outcome of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// It was carried out and answered.
    #[default]
    Answered,
    /// It was carried out, and a fault kept the answer from the client.
    Lost,
    /// A fault kept it from being carried out.
    NotCarriedOut,
}

/// A request and its answer.
#[derive(Clone, Debug, Default)]
pub struct LoggedRequest {
    /// The number of the request, from 1 on.
    pub number: u64,
    /// The user; empty if the credentials were not accepted.
    pub user: String,
    /// The groups of the user.
    pub groups: Vec<String>,
    /// The headers that make the request one of another user: `Impersonate-User` and its neighbours.
    pub impersonation: Vec<(String, String)>,
    /// The `User-Agent` header.
    pub user_agent: String,
    /// The verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, or that of HTTP.
    pub verb: String,
    /// The method.
    pub method: String,
    /// Path and query.
    pub uri: String,
    /// The API group.
    pub group: String,
    /// The API version.
    pub version: String,
    /// The resource, with its subresource: `deployments/status`.
    pub resource: String,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The `Content-Type` of the body.
    pub content_type: String,
    /// The `Accept` header.
    pub accept: String,
    /// The body: an object or a patch.
    pub body: Bytes,
    /// The status code; 0 if there was no answer.
    pub code: u16,
    /// The fault that was injected.
    pub fault: Option<String>,
    /// The outcome.
    pub delivery: Delivery,
    /// The answer of the server.
    pub answer: Answer,
}

/// The body of an answer, as much of it as the client has taken.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    inner: Arc<Mutex<Taken>>,
}

#[derive(Debug, Default)]
struct Taken {
    content_type: String,
    parts: Vec<Bytes>,
    length: usize,
    /// For each event of a watch, the number of the last request before it.
    events: Vec<u64>,
    /// Bytes in the whole log.
    total: Arc<AtomicUsize>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Answer {
    /// Its media type.
    pub fn content_type(&self) -> String {
        lock(&self.inner).content_type.clone()
    }

    /// Its bytes; `None` if there are more than a log keeps of one answer.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let taken = lock(&self.inner);
        (taken.length <= ANSWER).then(|| taken.parts.concat())
    }

    /// The events of a watch that were sent, without bookmarks: for each the number of the last request that had come
    /// before it.
    pub fn events(&self) -> Vec<u64> {
        lock(&self.inner).events.clone()
    }

    pub(crate) fn note_event(&self, last_request: u64) {
        lock(&self.inner).events.push(last_request);
    }

    pub(crate) fn begin(&self, content_type: &str) {
        content_type.clone_into(&mut lock(&self.inner).content_type);
    }

    pub(crate) fn push(&self, part: &Bytes) {
        let mut taken = lock(&self.inner);
        taken.length += part.len();
        if taken.length <= ANSWER {
            // A part may be a view of something larger.
            taken.parts.push(Bytes::copy_from_slice(part));
            taken.total.fetch_add(part.len(), Ordering::Relaxed);
        }
    }
}

impl LoggedRequest {
    /// Whether it asks for a change.
    pub fn is_write(&self) -> bool {
        !["GET", "HEAD", "OPTIONS"].contains(&self.method.as_str())
    }

    /// The bytes of its texts and its body.
    fn length(&self) -> usize {
        let texts = [
            &self.user,
            &self.user_agent,
            &self.uri,
            &self.group,
            &self.version,
            &self.resource,
            &self.namespace,
            &self.name,
            &self.content_type,
            &self.accept,
        ];
        texts.map(String::len).iter().sum::<usize>() + self.body.len()
    }

    /// Whether it belongs to leader election or reports an event.
    pub fn is_housekeeping(&self) -> bool {
        matches!(self.resource.as_str(), "leases" | "events")
    }

    /// As JSON, with the answer if that is text.
    pub fn to_value(&self, with_answer: bool) -> Value {
        let mut map = Map::new();
        map.insert("number", i64::try_from(self.number).unwrap_or(i64::MAX));
        for (name, text) in [
            ("user", &self.user),
            ("userAgent", &self.user_agent),
            ("verb", &self.verb),
            ("method", &self.method),
            ("uri", &self.uri),
            ("group", &self.group),
            ("version", &self.version),
            ("resource", &self.resource),
            ("namespace", &self.namespace),
            ("name", &self.name),
            ("contentType", &self.content_type),
        ] {
            map.insert(name, text.clone());
        }
        map.insert("body", String::from_utf8_lossy(&self.body).into_owned());
        map.insert("code", i64::from(self.code));
        if let Some(fault) = &self.fault {
            map.insert("fault", fault.clone());
        }
        if self.verb == "watch" {
            let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
            let events = self.answer.events().into_iter().map(|last| Value::from(number(last)));
            map.insert("events", events.collect::<Vec<_>>());
        }
        if with_answer
            && let Some(answer) = self.answer.bytes().and_then(|bytes| String::from_utf8(bytes).ok())
        {
            map.insert("answer", answer);
        }
        map.into()
    }

    /// A line for people; writes with the beginning of what they write.
    pub fn line(&self) -> String {
        let fault = self.fault.as_ref().map(|fault| format!("  [{fault}]")).unwrap_or_default();
        let body = String::from_utf8_lossy(&self.body[..self.body.len().min(EXCERPT)])
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect::<String>();
        let more = if self.body.len() > EXCERPT { " …" } else { "" };
        let body =
            if self.is_write() && !body.is_empty() { format!("  {body}{more}") } else { String::new() };
        format!(
            "{:>4} {:>3} {:<7} {} ({}){fault}{body}",
            self.number, self.code, self.method, self.uri, self.user
        )
    }
}

/// All requests so far.
#[derive(Debug, Default)]
pub(crate) struct RequestLog {
    requests: Mutex<Vec<LoggedRequest>>,
    total: Arc<AtomicUsize>,
}

impl RequestLog {
    /// Adds a request once the status code of its answer is known. The answer's bytes may follow.
    pub(crate) fn push(&self, request: LoggedRequest) {
        let mut requests = lock(&self.requests);
        lock(&request.answer.inner).total = self.total.clone();
        let total = self.total.fetch_add(request.length(), Ordering::Relaxed);
        if requests.len() >= LOGGED || (total > LOGGED_BYTES && requests.len() > 1) {
            let half = requests.len() / 2;
            requests.drain(..half);
            let left =
                requests.iter().map(|left| left.length() + lock(&left.answer.inner).length.min(ANSWER));
            self.total.store(left.sum(), Ordering::Relaxed);
        }
        requests.push(request);
    }

    pub(crate) fn all(&self) -> Vec<LoggedRequest> {
        lock(&self.requests).clone()
    }

    pub(crate) fn clear(&self) {
        lock(&self.requests).clear();
        self.total.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_drops_the_oldest_when_it_is_large() {
        let log = RequestLog::default();
        for number in 0..40 {
            let request = LoggedRequest { number, ..LoggedRequest::default() };
            let answer = request.answer.clone();
            log.push(request);
            for _ in 0..4 {
                answer.push(&Bytes::from(vec![b'a'; 1 << 20 >> 1]));
            }
            assert_eq!(answer.bytes(), None, "more than is kept of one answer");
        }
        assert_eq!(log.all().len(), 40, "one megabyte of each is kept");
        for number in 0..40 {
            log.push(LoggedRequest { number, body: vec![b'a'; 2 << 20].into(), ..LoggedRequest::default() });
        }
        let left = log.all();
        assert!(left.len() < 60, "{}", left.len());
        assert_eq!(left.last().map(|request| request.number), Some(39));
    }

    #[test]
    fn long_paths_count() {
        let log = RequestLog::default();
        for number in 0..3_000 {
            let uri = "x".repeat(64 << 10);
            log.push(LoggedRequest { number, uri, ..LoggedRequest::default() });
        }
        let left = log.all();
        let bytes: usize = left.iter().map(|request| request.uri.len()).sum();
        assert!(bytes <= 2 * LOGGED_BYTES, "{bytes}");
        assert_eq!(left.last().map(|request| request.number), Some(2_999));
    }

    #[test]
    fn lines_show_what_was_written() {
        let request = LoggedRequest {
            number: 7,
            code: 200,
            method: "PATCH".into(),
            uri: "/a".into(),
            user: "ann".into(),
            body: "{\"spec\":\n1}".into(),
            ..LoggedRequest::default()
        };
        assert_eq!(request.line(), "   7 200 PATCH   /a (ann)  {\"spec\": 1}");
    }
}
