//! The handler of requests: authentication (401), authorization (403), then routing (404, 405).
//!
//! The order is upstream's. Only the dispatch is here; each endpoint has a module of its own.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http::header::{ACCEPT, DATE, HeaderMap, HeaderValue, USER_AGENT};
use http::{Method, Request, Response, StatusCode};
use pleach_auth::user::UNAUTHENTICATED;
use pleach_auth::{Answer, Attributes, AuthenticatorChain, Credentials, Unauthorized, UserInfo, Verb};
use pleach_engine::options::Context;
use pleach_engine::{Engine, Rejection, audit};
use pleach_go::url::unescape_path;
use pleach_json::Map;
use pleach_jwt::JwtAuthenticators;
use pleach_work::{Interrupted, Meter, Stopped, run_metered};
use tokio::sync::watch;

use crate::accept::negotiate_error;
use crate::access_record::AccessRecord;
use crate::audit::{Audit, Origin};
use crate::audit_id::{AUDIT_ID, AuditIds};
use crate::authentication::{Bearer, EXTRA_SPACE, bearer, credentials};
use crate::authorization::{self, is_public};
use crate::body::Body;
use crate::connection_state::Unauthenticated;
use crate::console::Console;
use crate::cpu::{CpuGuard, CpuLanes};
use crate::deadline::Deadline;
use crate::documents::Documents;
use crate::flow_control::{self, Begun, FlowControl, Place};
use crate::impersonation::{self, LastModes};
use crate::inflight::InflightLimits;
use crate::metrics::{Labels, Metrics};
use crate::outcome::Outcome;
use crate::query::Query;
use crate::request_body::{Source, Unread};
use crate::request_info::{PathKind, RequestInfo};
use crate::respond::{self, ResponseFormat};
use crate::service_account::{self, TokenIssuer};
use crate::{discovery, health, http_date, memory, pod_requests, resource, reviews};

/// A request: its attributes, query and headers.
pub struct Call<'a> {
    /// The method as it was sent.
    pub method: Method,
    /// User, verb, path and resource.
    pub attributes: Attributes<'a>,
    /// Where the path leads.
    pub kind: PathKind<'a>,
    /// Whether the path names an object.
    pub is_named: bool,
    /// The query.
    pub query: &'a Query,
    /// The headers.
    pub headers: http::HeaderMap,
    /// Whether CBOR is read and written.
    pub cbor: bool,
    /// Path and query as they were sent.
    pub request_uri: &'a str,
}

impl<'a> Call<'a> {
    /// A request of a user.
    pub fn new(
        method: Method,
        info: RequestInfo<'a>,
        user: Arc<UserInfo>,
        query: &'a Query,
        headers: http::HeaderMap,
    ) -> Self {
        let RequestInfo { kind, verb, path, resource, is_named } = info;
        let attributes = Attributes { user, verb, path, resource };
        Self { method, attributes, kind, is_named, query, headers, cbor: false, request_uri: path }
    }

    /// The context of the request for the engine, without warnings.
    pub fn context(&self) -> Context {
        Context {
            user: self.attributes.user.clone(),
            user_agent: self.header(USER_AGENT).unwrap_or_default().into(),
            warnings: Vec::new(),
        }
    }

    /// A header as text.
    pub fn header(&self, name: impl http::header::AsHeaderName) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Several headers of one name, joined as HTTP says they may be.
    pub fn accept(&self) -> Option<Cow<'_, str>> {
        let mut values = self.headers.get_all(ACCEPT).iter().filter_map(|v| v.to_str().ok());
        let mut all = Cow::Borrowed(values.next()?);
        for more in values {
            all = format!("{all},{more}").into();
        }
        Some(all)
    }

    /// Whether the response is indented: by request, or because a person is reading.
    pub fn pretty(&self) -> bool {
        if let Some(value) = self.query.get("pretty") {
            !matches!(value, "0" | "false" | "False" | "FALSE" | "f" | "F")
        } else {
            let agent = self.header(USER_AGENT).unwrap_or_default();
            ["curl", "Wget", "Mozilla/5.0"].iter().any(|known| agent.starts_with(known))
        }
    }
}

/// A request that takes longer is logged. A watch takes as long as it takes to begin.
const SLOW: Duration = Duration::from_secs(1);

/// How long it may take to find the user of a request.
pub const AUTHENTICATION: Duration = Duration::from_secs(30);

/// From how many writes at once waiting for one another costs less than it saves.
const MANY_WRITES: usize = 8;

/// Steps of CPU work that a request with a body may take, about ten nanoseconds each. The largest bodies with
/// the largest schemas of real CRDs take a tenth of it.
pub const REQUEST_STEPS: u64 = 60_000_000;

/// The server's parts, shared by all requests.
pub struct App {
    /// The engine.
    pub engine: Arc<Engine>,
    /// Documents made from the catalog.
    pub documents: Documents,
    /// Counters.
    pub metrics: Metrics,
    authenticators: AuthenticatorChain,
    token_issuer: Option<Arc<TokenIssuer>>,
    jwt_authenticators: Option<Arc<JwtAuthenticators>>,
    access_record: Option<AccessRecord>,
    /// Which requests are executed now.
    pub flow_control: Arc<FlowControl>,
    stopping: watch::Sender<bool>,
    stopped: AtomicBool,
    audit_ids: AuditIds,
    cpu: Arc<CpuLanes>,
    impersonation: LastModes,
    audit: Option<Arc<Audit>>,
    console: Option<Console>,
}

impl App {
    /// The parts, put together.
    pub fn new(engine: Arc<Engine>, authenticators: AuthenticatorChain, limits: &InflightLimits) -> Self {
        let flow_control = FlowControl::of(&engine, limits);
        Self {
            engine,
            documents: Documents::default(),
            metrics: Metrics::new(),
            authenticators,
            token_issuer: None,
            jwt_authenticators: None,
            access_record: None,
            flow_control,
            stopping: watch::Sender::new(false),
            stopped: AtomicBool::new(false),
            audit_ids: AuditIds::new(),
            cpu: Arc::new(CpuLanes::of_this_machine()),
            impersonation: LastModes::default(),
            audit: None,
            console: None,
        }
    }

    /// Serves token requests with this issuer, and its documents.
    #[must_use]
    pub fn with_token_issuer(mut self, issuer: Arc<TokenIssuer>) -> Self {
        self.token_issuer = Some(issuer);
        self
    }

    /// Records requests.
    #[must_use]
    pub fn with_audit(mut self, audit: Option<Arc<Audit>>) -> Self {
        self.audit = audit;
        self
    }

    /// Records what users do, for `pleach rbac learn`.
    #[must_use]
    pub fn with_access_record(mut self, record: Option<AccessRecord>) -> Self {
        self.access_record = record;
        self
    }

    /// Serves the web console.
    #[must_use]
    pub fn with_console(mut self, console: Console) -> Self {
        self.console = Some(console);
        self
    }

    /// The web console, for a path that it serves.
    pub fn console_at(&self, path: &str) -> Option<&Console> {
        self.console.as_ref().filter(|_| Console::is_at(path))
    }

    /// The issuer of service account tokens.
    pub fn token_issuer(&self) -> Option<&TokenIssuer> {
        self.token_issuer.as_deref()
    }

    /// Shows in token reviews why these authenticators refuse a token. They are links of the chain besides.
    #[must_use]
    pub fn with_jwt_authenticators(mut self, authenticators: Arc<JwtAuthenticators>) -> Self {
        self.jwt_authenticators = Some(authenticators);
        self
    }

    /// The authenticators of other issuers' tokens.
    pub fn jwt_authenticators(&self) -> Option<&JwtAuthenticators> {
        self.jwt_authenticators.as_deref()
    }

    /// The user of some credentials.
    pub async fn authenticate(&self, credentials: Credentials<'_>) -> Result<Arc<UserInfo>, Unauthorized> {
        self.authenticators.authenticate(credentials).get().await
    }

    /// The lanes of long computations.
    pub fn cpu_lanes(&self) -> Arc<CpuLanes> {
        self.cpu.clone()
    }

    /// Ends computations, because the process is about to end.
    pub fn end_computations(&self) {
        self.cpu.close();
    }

    /// Ends watches; requests under way go on.
    pub fn begin_shutdown(&self) {
        self.stopped.store(true, Ordering::Release);
        self.stopping.send_replace(true);
    }

    /// Whether the server is stopping.
    pub fn is_stopping(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Waits until the server is stopping.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    /// Answers one request.
    pub async fn handle(
        self: &Arc<Self>,
        request: Request<impl Into<Source>>,
        certificate: Option<Result<&Arc<UserInfo>, Unauthorized>>,
        peer: Option<SocketAddr>,
        cpu: Arc<CpuGuard>,
    ) -> Response<Body> {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
        let mut body = Unread::new(body);
        let audit_id = self.audit_ids.of(&parts.headers);
        let is_head = parts.method == Method::HEAD;
        let path = decoded(parts.uri.path());
        let query = Query::parse(parts.uri.query());
        let mut labels = Labels::default();
        let info = path.as_deref().map(|path| RequestInfo::new(&parts.method, path, &query));
        let is_watch = info.as_ref().is_some_and(|info| info.verb == Verb::Watch);
        let deadline = Deadline::of(&query, !parts.method.is_safe(), is_watch);
        let bearer = bearer(&parts.headers);
        let extra_space = bearer == Bearer::ExtraSpace;
        let asked = path.as_deref().unwrap_or_default();
        let mut annotations = Map::new();
        let user = match self.authenticators.authenticate(credentials(bearer, certificate, asked)) {
            Answer::Now(user) => user,
            // What a token names is read from the store, and may be large.
            Answer::Later(user) => {
                let meter = Meter::new(REQUEST_STEPS).supervisor(cpu.clone());
                let metered = run_metered(meter.deadline(started + AUTHENTICATION), user);
                let ended = if self.audit.is_some() {
                    let (ended, collected) = Box::pin(audit::collecting(metered, false)).await;
                    annotations = collected;
                    ended
                } else {
                    metered.await
                };
                match ended {
                    Ok(user) => user,
                    Err(interrupted) => {
                        if matches!(interrupted, Interrupted::Panicked(_)) {
                            self.metrics.panicked();
                        }
                        Err(Unauthorized)
                    }
                }
            }
        };
        let is_unauthenticated =
            user.as_ref().map_or(true, |user| user.is_anonymous() || user.is_in(UNAUTHENTICATED));
        let mut response = match (info, deadline, user) {
            (None, ..) => respond::text(Outcome::BadPath, "400 Bad Request"),
            (_, Err(rejection), _) => respond::rejection(rejection, &ResponseFormat::plain()),
            (Some(info), _, Err(Unauthorized)) => {
                if let Some(audit) = &self.audit {
                    let RequestInfo { verb, path, resource, .. } = info;
                    let attributes = Attributes { user: Arc::default(), verb, path, resource };
                    let origin = Origin { uri: &parts.uri, id: &audit_id, peer };
                    audit.unauthorized(&attributes, &parts.headers, &origin, certificate.is_some());
                }
                respond::rejection(
                    Rejection::Unauthorized,
                    &unauthorized_format(&parts.headers, self.engine.gates().cbor),
                )
            }
            (Some(info), Ok(deadline), Ok(user)) => {
                let mut call = Call::new(parts.method, info, user, &query, parts.headers);
                call.cbor = self.engine.gates().cbor;
                call.request_uri = parts.uri.path_and_query().map_or("", |uri| uri.as_str());
                let meter = meter(&call.method).deadline(deadline.at(started)).supervisor(cpu.clone());
                let origin = Origin { uri: &parts.uri, id: &audit_id, peer };
                let record = self.audit.as_ref().and_then(|audit| audit.begin(&mut call, &origin));
                if record.as_ref().is_some_and(|record| record.keeps_body(&call.method)) {
                    body.keep();
                }
                let mut panicked = false;
                // Pinned here, so that the futures around it hold a reference: each would make room for it twice.
                let response = {
                    let time = (started, deadline.in_queues());
                    let mut routed = pin!(self.route(&mut call, &mut body, &mut labels, time));
                    let kept = deadline.keep(run_metered(meter, routed.as_mut()));
                    let ended = if let Some(record) = &record {
                        let has_body = record.has_request_object();
                        let (ended, collected) = Box::pin(audit::collecting(kept, has_body)).await;
                        annotations.extend(collected);
                        ended
                    } else {
                        kept.await
                    };
                    match ended {
                        Some(Ok(response)) => response,
                        Some(Err(interrupted)) => {
                            panicked = matches!(interrupted, Interrupted::Panicked(_));
                            self.interrupted(interrupted, deadline)
                        }
                        None => deadline.missed(),
                    }
                };
                let response = match record {
                    Some(record) => {
                        let sent = body.take_kept();
                        Box::pin(record.finish(&call, sent, annotations, response, panicked, &cpu)).await
                    }
                    None => response,
                };
                log(&call, parts.uri.query(), response.status(), started.elapsed());
                response
            }
        };
        if extra_space {
            respond::add_warnings(response.headers_mut(), &[EXTRA_SPACE.to_owned()]);
        }
        body.drain().await;
        let catalog = self.engine.catalog();
        self.metrics.request(labels, response.status().as_u16(), started.elapsed(), catalog);
        finish(&mut response, audit_id, is_head);
        if is_unauthenticated {
            response.extensions_mut().insert(Unauthenticated);
        }
        response
    }

    async fn route(
        self: &Arc<Self>,
        call: &mut Call<'_>,
        body: &mut Unread,
        labels: &mut Labels,
        (started, in_queues): (Instant, Duration),
    ) -> Response<Body> {
        if impersonation::is_asked_for(&call.headers)
            && let Err(refused) = Box::pin(self.impersonate(call)).await
        {
            return refused;
        }
        let call = &*call;
        let (begun, uids) = match self.flow_control.begin(call, &self.engine, started) {
            Begun::Unlimited => return self.authorized(call, body, labels, None).await,
            Begun::Runs(place, uids) => (Ok(place), uids),
            Begun::Waits(waiting, uids) => match Box::pin(waiting.wait(in_queues)).await {
                Some(place) => (Ok(place), uids),
                None => (Err(self.flow_control.refuse_after_waiting(&uids, Instant::now())), uids),
            },
            Begun::Refused(retry_after, uids) => (Err(retry_after), uids),
        };
        let mut response = match begun {
            Ok(place) => {
                let answer = place.clone().hold(self.authorized(call, body, labels, Some(&place)));
                let mut response = match self.flow_control.turn(&place, started) {
                    Some(turn) => Box::pin(turn.compute(answer)).await,
                    None => answer.await,
                };
                if call.attributes.verb != Verb::Watch {
                    response.body_mut().hold(place);
                }
                response
            }
            Err(retry_after) => flow_control::too_many_requests(retry_after),
        };
        uids.add_to(response.headers_mut());
        response
    }

    /// Answers a request that has its seats.
    async fn authorized(
        self: &Arc<Self>,
        call: &Call<'_>,
        body: &mut Unread,
        labels: &mut Labels,
        place: Option<&Arc<Place>>,
    ) -> Response<Body> {
        let checked = authorization::check(self.engine.authorizer(), call).await;
        if let Some(record) = &self.access_record {
            record.record(&call.attributes, checked.is_ok());
        }
        if let Err(forbidden) = checked {
            return forbidden;
        }
        let path = call.attributes.path;
        // Deletions need little, and may make room.
        if memory::is_short() && !is_public(path) && path != "/metrics" && call.method != Method::DELETE {
            return too_many_requests();
        }
        match (&call.attributes.resource, call.kind) {
            (Some(info), _) if service_account::is_token_request(self, info) => {
                Box::pin(service_account::serve_token_request(self, call, info, body)).await
            }
            (Some(info), _) if pod_requests::is_served(self, info) => {
                Box::pin(pod_requests::serve(self, call, info, body)).await
            }
            (Some(info), _) => match reviews::find(info) {
                Some(review) => Box::pin(reviews::serve(self, call, review, body)).await,
                None => resource::serve(self, call, info, body, labels, place).await,
            },
            (None, PathKind::Other | PathKind::Resource) => Box::pin(self.route_other(call)).await,
            (None, _) => discovery::serve(self, call),
        }
    }

    /// Impersonation: the request continues as the user that its headers name.
    async fn impersonate(&self, call: &mut Call<'_>) -> Result<(), Response<Body>> {
        let authorizer = self.engine.authorizer();
        let attributes = &call.attributes;
        let user =
            impersonation::impersonated(authorizer, &self.impersonation, &call.headers, attributes).await;
        match user {
            Ok(None) => Ok(()),
            Ok(Some(user)) => {
                call.attributes.user = user;
                Ok(())
            }
            Err(rejection) => Err(authorization::refusal(rejection, call)),
        }
    }

    async fn route_other(self: &Arc<Self>, call: &Call<'_>) -> Response<Body> {
        let path = call.attributes.path.trim_matches('/');
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        match first {
            "healthz" | "livez" | "readyz" => health::serve(self, call, first, rest).await,
            "version" if rest.is_empty() => health::version(self, call),
            "metrics" if rest.is_empty() => self.metrics.serve(&self.engine, &self.flow_control).await,
            "debug" => {
                let name = rest.strip_prefix("api_priority_and_fairness/");
                name.and_then(|name| self.flow_control.dump(name)).unwrap_or_else(respond::page_not_found)
            }
            "openapi" => self.documents.openapi(&self.engine, call, rest),
            ".well-known" | "openid" => service_account::serve_issuer_documents(self, call, path)
                .unwrap_or_else(respond::page_not_found),
            "" => discovery::root(self, call),
            _ => respond::page_not_found(),
        }
    }

    /// The answer to a request whose computation was ended, or panicked.
    fn interrupted(&self, interrupted: Interrupted, deadline: Deadline) -> Response<Body> {
        match interrupted {
            Interrupted::Stopped(stopped) => {
                self.metrics.stopped(stopped);
                match stopped {
                    Stopped::Budget => {
                        respond::rejection(Rejection::TooMuchWork(REQUEST_STEPS), &ResponseFormat::plain())
                    }
                    Stopped::Deadline => deadline.missed(),
                    // There is no client any more, or soon no server.
                    Stopped::Disconnected | Stopped::Shutdown => {
                        respond::text(Outcome::Stopped, stopped.to_string())
                    }
                }
            }
            // The panic hook has written it to the log.
            Interrupted::Panicked(_) => {
                self.metrics.panicked();
                respond::text(
                    Outcome::Failed,
                    "This request caused apiserver to panic. Look in the logs for details.\n",
                )
            }
        }
    }

    /// Waits for the writes that are about to get as far as this one, if there are many.
    ///
    /// A write runs more code than the nearest cache holds. Here its first part ends; if the second
    /// parts of several run in a row, only the first of them waits for the code to be fetched.
    pub async fn yield_when_crowded(&self) {
        if self.flow_control.mutating() >= MANY_WRITES {
            tokio::task::yield_now().await;
        }
    }
}

/// The bound on the work of a request. A small body can cause a lot of work; reads and deletions work
/// on stored objects, however many, and have only their deadline.
fn meter(method: &Method) -> Meter {
    if matches!(*method, Method::POST | Method::PUT | Method::PATCH) {
        Meter::new(REQUEST_STEPS)
    } else {
        Meter::unlimited()
    }
}

/// Logs a request; one that failed here or took long is worth it by default.
fn log(call: &Call<'_>, query: Option<&str>, code: StatusCode, took: Duration) {
    macro_rules! event {
        ($level:expr) => {
            tracing::event!(
                $level,
                method = %call.method,
                verb = call.attributes.verb.as_str(),
                path = call.attributes.path,
                query = query.unwrap_or_default(),
                user = call.attributes.user.name.as_str(),
                agent = call.header(USER_AGENT).unwrap_or_default(),
                code = code.as_u16(),
                micros = took.as_micros() as u64,
                "request"
            )
        };
    }
    if code.is_server_error() || took >= SLOW {
        event!(tracing::Level::INFO);
    } else {
        event!(tracing::Level::DEBUG);
    }
}

/// The path without escapes; `None` where a percent sign starts none, which Go's server refuses before
/// anything else.
fn decoded(path: &str) -> Option<Cow<'_, str>> {
    if !path.contains('%') {
        return Some(Cow::Borrowed(path));
    }
    let bytes = unescape_path(path).ok()?;
    Some(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()))
}

/// Adds the headers of every response.
fn finish(response: &mut Response<Body>, audit_id: HeaderValue, is_head: bool) {
    response.headers_mut().insert(AUDIT_ID, audit_id);
    if let Some(date) = http_date::now() {
        response.headers_mut().insert(DATE, date);
    }
    if is_head {
        *response.body_mut() = Body::empty();
    }
}

/// The format of a 401: the encoding that the client accepts, never a transformation.
fn unauthorized_format(headers: &HeaderMap, cbor: bool) -> ResponseFormat {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    ResponseFormat { accepted: negotiate_error(accept, cbor), ..ResponseFormat::plain() }
}

/// 429: the client may try again in a second.
pub fn too_many_requests() -> Response<Body> {
    respond::rejection(Rejection::TooManyRequests, &ResponseFormat::plain())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_decoded_or_refused() {
        for (path, want, why) in [
            ("/apis/g/v1/foos", Some("/apis/g/v1/foos"), "nothing to decode"),
            ("/apis/g/v1/foos/a%2Fb", Some("/apis/g/v1/foos/a/b"), "an escape"),
            ("/a%ff", Some("/a\u{fffd}"), "an escape that is no text"),
            ("/a%", None, "a percent sign at the end"),
            ("/a%2", None, "half an escape"),
            ("/a%zz", None, "no digits"),
            ("/a%2F%", None, "one good, one bad"),
        ] {
            assert_eq!(decoded(path).as_deref(), want, "{why}: {path}");
        }
    }
}
