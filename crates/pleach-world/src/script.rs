//! [`Script`]: the fault rules of a server and the log of its requests, in front of any [`Backend`].

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, HeaderValue, RETRY_AFTER, UPGRADE};
use http::{HeaderMap, Request, Response, StatusCode, Uri};
use pleach_json::{Map, Value};
use pleach_server::query::Query;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::clock::SeededRandomness;
use crate::fault::{Action, Rule};
use crate::fault_body::{BoxError, FaultyBody};
use crate::request_log::{Delivery, LoggedRequest, RequestLog};

/// The connection of a request was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionReset;

impl fmt::Display for ConnectionReset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("connection reset by a fault rule")
    }
}

impl std::error::Error for ConnectionReset {}

/// An API server behind the rules.
pub trait Backend: Send + Sync {
    /// The body of its answers.
    type Body: http_body::Body<Data: Buf, Error: Into<BoxError>> + Unpin + Send + 'static;

    /// Answers a request.
    fn answer(
        &self,
        request: Request<Bytes>,
    ) -> impl Future<Output = Result<Response<Self::Body>, ConnectionReset>> + Send;

    /// The oldest and the current resource version, for a list of this request's. An oldest one that is not known is 1.
    fn revisions(&self, request: &Request<Bytes>) -> impl Future<Output = Option<(u64, u64)>> + Send;

    /// Restarts: everything that is only in memory is made anew. Its connections are cut by the script.
    fn restart(&self) -> impl Future<Output = ()> + Send;
}

/// A rule with how often it has matched.
struct ActiveRule {
    number: u64,
    rule: Rule,
    matched: u64,
    happened: u64,
    is_active: Arc<AtomicBool>,
}

/// A fault that happens now.
type Fault = (Action, Arc<AtomicBool>);

/// Fault rules and the log of requests.
pub struct Script {
    rules: Mutex<Vec<ActiveRule>>,
    next_rule: AtomicU64,
    /// Chance of rules; apart, so that rules do not change the uids of objects.
    chance: SeededRandomness,
    log: RequestLog,
    next_request: Arc<AtomicU64>,
    /// Until when the server is away.
    away: Mutex<Option<Instant>>,
    /// Counts restarts.
    restarts: watch::Sender<u64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Script {
    /// No rules and an empty log. Probabilities come from the seed.
    pub fn new(seed: u64) -> Self {
        Self {
            rules: Mutex::default(),
            next_rule: AtomicU64::new(1),
            chance: SeededRandomness::new(seed),
            log: RequestLog::default(),
            next_request: Arc::new(AtomicU64::new(1)),
            away: Mutex::default(),
            restarts: watch::Sender::new(0),
        }
    }

    /// Adds a rule; its number is for [`Script::remove_rule`].
    pub fn add_rule(&self, rule: Rule) -> u64 {
        let number = self.next_rule.fetch_add(1, Ordering::Relaxed);
        let is_active = Arc::new(AtomicBool::new(true));
        lock(&self.rules).push(ActiveRule { number, rule, matched: 0, happened: 0, is_active });
        number
    }

    /// Removes a rule; events that it holds back are sent.
    pub fn remove_rule(&self, number: u64) -> bool {
        let mut rules = lock(&self.rules);
        let Some(at) = rules.iter().position(|rule| rule.number == number) else { return false };
        rules.remove(at).is_active.store(false, Ordering::Release);
        true
    }

    /// Removes all rules.
    pub fn clear_rules(&self) {
        for rule in lock(&self.rules).drain(..) {
            rule.is_active.store(false, Ordering::Release);
        }
    }

    /// The rules, with their numbers and how often each has happened.
    pub fn rules(&self) -> Vec<(u64, Rule, u64)> {
        lock(&self.rules).iter().map(|rule| (rule.number, rule.rule.clone(), rule.happened)).collect()
    }

    /// All requests so far that have been answered.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.log.all()
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        self.log.clear();
    }

    /// Cuts all watches, and every request for a while.
    pub fn cut(&self, away: Duration) {
        *lock(&self.away) = Instant::now().checked_add(away);
        self.restarts.send_modify(|count| *count += 1);
    }

    /// The fault of a call to a webhook.
    pub(crate) fn webhook_fault(&self, url: &str) -> Option<Action> {
        self.next_fault(|rule| rule.selector.matches_webhook(url)).map(|(action, _)| action)
    }

    /// The fault that happens: that of the first rule that matches and whose turn it is.
    fn next_fault(&self, matches: impl Fn(&Rule) -> bool) -> Option<Fault> {
        let mut rules = lock(&self.rules);
        for active in rules.iter_mut().filter(|active| matches(&active.rule)) {
            active.matched += 1;
            if active.matched <= active.rule.skip || active.happened >= active.rule.times {
                continue;
            }
            let chance = (self.chance.next() >> 11) as f64 / (1_u64 << 53) as f64;
            if chance < active.rule.probability {
                active.happened += 1;
                return Some((active.rule.action.clone(), active.is_active.clone()));
            }
        }
        None
    }

    fn is_away(&self) -> bool {
        lock(&self.away).is_some_and(|until| Instant::now() < until)
    }

    /// Has a request answered by a server, with what the rules say. `logged` describes the request.
    pub async fn run<B: Backend>(
        &self,
        backend: &B,
        mut request: Request<Bytes>,
        mut logged: LoggedRequest,
    ) -> Result<Response<FaultyBody<B::Body>>, ConnectionReset> {
        if logged.verb == "watch" && is_websocket(request.headers()) {
            // A refusal at which clients open the watch again without a WebSocket, where rules apply to its events.
            return Ok(Response::new(FaultyBody::full(Vec::new())));
        }
        logged.number = self.next_request.fetch_add(1, Ordering::AcqRel);
        if self.is_away() {
            logged.fault = Some("the server is away".to_owned());
            logged.delivery = Delivery::NotCarriedOut;
            self.log.push(logged);
            return Err(ConnectionReset);
        }
        // Answers in the log can be read.
        request.headers_mut().remove(ACCEPT_ENCODING);
        let mut fresh = None;
        let fault = self.next_fault(|rule| rule.selector.matches(&logged));
        logged.fault = fault.as_ref().map(|(action, _)| action.to_string());
        match &fault {
            Some((Action::Error { after_commit: false, code }, _)) => {
                (logged.code, logged.delivery) = (*code, Delivery::NotCarriedOut);
                self.log.push(logged);
                return Ok(error(*code));
            }
            Some((Action::Reset { after_commit: false }, _)) => {
                logged.delivery = Delivery::NotCarriedOut;
                self.log.push(logged);
                return Err(ConnectionReset);
            }
            Some((Action::NoAnswer { after_commit: false }, _)) => {
                logged.delivery = Delivery::NotCarriedOut;
                self.log.push(logged);
                return std::future::pending().await;
            }
            Some((Action::Restart(away), _)) => {
                logged.delivery = Delivery::NotCarriedOut;
                self.log.push(logged);
                self.cut(*away);
                backend.restart().await;
                return Err(ConnectionReset);
            }
            Some((Action::Delay(by), _)) => tokio::time::sleep(*by).await,
            Some((Action::StaleList(ago), _)) => {
                let (oldest, now) = backend.revisions(&request).await.unwrap_or_default();
                if let Some(uri) = stale(request.uri(), now.saturating_sub(*ago).max(oldest)) {
                    fresh = Some(request.clone());
                    *request.uri_mut() = uri;
                }
            }
            _ => {}
        }
        let mut restarts = self.restarts.subscribe();
        let mut response = backend.answer(request).await?;
        // A revision that is compacted: the list of now.
        if let Some(request) = fresh.filter(|_| response.status() == StatusCode::GONE) {
            response = backend.answer(request).await?;
        }
        logged.code = response.status().as_u16();
        logged.answer.begin(content_type(response.headers()));
        let replaced = match &fault {
            Some((Action::Error { code, .. }, _)) => Some(*code),
            Some((Action::Reset { .. } | Action::NoAnswer { .. }, _)) => Some(0),
            _ => None,
        };
        if let Some(code) = replaced {
            (logged.code, logged.delivery) = (code, Delivery::Lost);
        }
        let (answer, is_watch) = (logged.answer.clone(), logged.verb == "watch");
        self.log.push(logged);
        match fault {
            Some((Action::Error { code, .. }, _)) => Ok(error(code)),
            Some((Action::Reset { .. }, _)) => Err(ConnectionReset),
            Some((Action::NoAnswer { .. }, _)) => std::future::pending().await,
            _ if !is_watch || response.status() != StatusCode::OK => {
                Ok(response.map(|body| FaultyBody::new(body, answer)))
            }
            fault => {
                let kind = content_type(response.headers()).to_owned();
                let next_request = self.next_request.clone();
                Ok(response.map(|body| {
                    let body =
                        FaultyBody::new(body, answer).counting(&kind, next_request).until(async move {
                            if restarts.changed().await.is_err() {
                                std::future::pending::<()>().await;
                            }
                        });
                    match fault.filter(|(action, _)| action.is_about_events()) {
                        Some((action, is_active)) => body.with_fault(action, &kind, is_active),
                        None => body,
                    }
                }))
            }
        }
    }
}

/// Whether a watch asks for a WebSocket.
fn is_websocket(headers: &HeaderMap) -> bool {
    headers.get(UPGRADE).is_some_and(|protocol| protocol.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// The media type of a body; JSON if there is none.
pub(crate) fn content_type(headers: &HeaderMap) -> &str {
    headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("application/json")
}

/// The URI of a list that may be of any age, as that of a revision; `None` for other requests.
fn stale(uri: &Uri, revision: u64) -> Option<Uri> {
    let query = Query::parse(uri.query());
    let is_any_age = query.get("resourceVersion") == Some("0")
        && matches!(query.get("resourceVersionMatch"), None | Some("NotOlderThan"));
    if !is_any_age || query.get("watch").is_some() || revision == 0 {
        return None;
    }
    let kept = uri.query().unwrap_or_default().split('&').filter(|part| {
        let name = part.split('=').next().unwrap_or_default();
        !["resourceVersion", "resourceVersionMatch", "limit"].contains(&name)
    });
    let mut text = format!("{}?resourceVersion={revision}&resourceVersionMatch=Exact", uri.path());
    for part in kept.filter(|part| !part.is_empty()) {
        text.push('&');
        text.push_str(part);
    }
    text.parse().ok()
}

/// The reason of a status code.
fn reason(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        409 => "Conflict",
        410 => "Expired",
        413 => "RequestEntityTooLarge",
        422 => "Invalid",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    }
}

/// The `Status` of an injected error.
pub(crate) fn status(code: u16) -> Value {
    let mut status = Map::new();
    status.insert("kind", "Status");
    status.insert("apiVersion", "v1");
    status.insert("metadata", Map::new());
    status.insert("status", "Failure");
    status.insert("message", format!("injected by a fault rule: {}", reason(code)));
    status.insert("reason", reason(code));
    if code == 429 {
        let mut details = Map::new();
        details.insert("retryAfterSeconds", 1);
        status.insert("details", details);
    }
    status.insert("code", i64::from(code));
    status.into()
}

/// An error as kube-apiserver answers it.
fn error<B>(code: u16) -> Response<FaultyBody<B>> {
    let mut response = Response::new(FaultyBody::full(pleach_json::to_string(&status(code)).into_bytes()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if code == 429 {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}
