//! [`World`]: a whole server in memory, without a socket.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, Request, Response, StatusCode, Uri};
use pleach_auth::UserInfo;
use pleach_auth::user::MASTERS;
use pleach_engine::{AdmissionPlugins, EnabledControllers, Engine, Rejection};
use pleach_hooks::HttpCaller;
use pleach_json::{Map, Str, Value};
use pleach_server::app::App;
use pleach_server::authentication::{authenticators, bearer, credentials};
use pleach_server::body::Body;
use pleach_server::cpu::CpuGuard;
use pleach_server::inflight::InflightLimits;
use pleach_server::query::Query;
use pleach_server::request_info::RequestInfo;
use pleach_store::{Revision, Store as _};
use pleach_store_memory::MemoryStore;
use tokio::task::JoinHandle;

use crate::clock::{SeededRandomness, TestClock};
use crate::fault::{Action, Rule, reason};
use crate::fault_body::WorldBody;
use crate::request_log::LoggedRequest;

/// Requests in the log before the oldest are dropped.
const LOGGED: usize = 100_000;

/// The initial options of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldOptions {
    /// Requests are authorized by RBAC, with upstream's bootstrap roles. Otherwise every user may do everything.
    pub rbac: bool,
    /// Objects are collected and namespaces emptied, as kube-controller-manager does it.
    pub controllers: bool,
    /// The seed of uids, names and probabilities.
    pub seed: u64,
    /// The bearer token of the admin.
    pub token: String,
}

impl Default for WorldOptions {
    fn default() -> Self {
        Self { rbac: false, controllers: true, seed: 1, token: "admin".into() }
    }
}

/// The connection of a request was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionReset;

impl std::fmt::Display for ConnectionReset {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("connection reset by a fault rule")
    }
}

impl std::error::Error for ConnectionReset {}

/// A rule with how often it has matched.
struct ActiveRule {
    number: u64,
    rule: Rule,
    matched: u64,
    happened: u64,
    is_active: Arc<AtomicBool>,
}

/// A whole server in memory. Dropping it ends its watches.
pub struct World {
    options: WorldOptions,
    store: MemoryStore,
    engine: Arc<Engine>,
    app: Arc<App>,
    cpu: Arc<CpuGuard>,
    clock: Arc<TestClock>,
    randomness: Arc<SeededRandomness>,
    /// Chance of fault rules; apart, so that rules do not change the uids of objects.
    chance: SeededRandomness,
    rules: Mutex<Vec<ActiveRule>>,
    next_rule: AtomicU64,
    log: Mutex<Vec<LoggedRequest>>,
    next_request: AtomicU64,
    controllers: Option<JoinHandle<()>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    /// A new world. Needs a tokio runtime.
    pub async fn start(options: WorldOptions) -> Result<Self, Rejection> {
        let (store, clock) = (MemoryStore::new().value_limit(u64::MAX), Arc::new(TestClock::default()));
        let randomness = Arc::new(SeededRandomness::new(options.seed));
        let plugins = AdmissionPlugins::default();
        let mut engine = Engine::new(Arc::new(store.clone()), clock.clone(), randomness.clone(), plugins)
            .with_caller(Arc::new(HttpCaller::new()));
        if options.rbac {
            engine = engine.with_controllers(EnabledControllers::default(), "").with_rbac();
        }
        engine.start().await?;
        if options.rbac {
            engine.bootstrap_rbac().await?;
        }
        Ok(Self::with(options, store, engine, clock, randomness))
    }

    /// Another world with everything that is in this one. Rules and logged requests stay behind.
    pub async fn fork(&self) -> Result<Self, Rejection> {
        self.fork_with(self.options.controllers).await
    }

    /// A fork with background controllers, or without: then nothing in it changes by itself.
    pub async fn fork_with(&self, controllers: bool) -> Result<Self, Rejection> {
        let options = WorldOptions { controllers, ..self.options.clone() };
        let store = self.store.fork();
        let clock = Arc::new(TestClock::clone(&self.clock));
        let randomness = Arc::new(SeededRandomness::clone(&self.randomness));
        let fork = self.engine.fork(Arc::new(store.clone()), clock.clone(), randomness.clone()).await;
        // Connections belong to the runtime on which they were opened; a fork may be on another one.
        let fork = fork.with_caller(Arc::new(HttpCaller::new()));
        let fork = if self.options.rbac { fork.with_rbac() } else { fork };
        fork.load_fork().await?;
        Ok(Self::with(options, store, fork, clock, randomness))
    }

    fn with(
        options: WorldOptions,
        store: MemoryStore,
        engine: Engine,
        clock: Arc<TestClock>,
        randomness: Arc<SeededRandomness>,
    ) -> Self {
        let engine = Arc::new(engine);
        let chain = authenticators(options.token.clone()).with_anonymous(true);
        let app = Arc::new(App::new(engine.clone(), chain, &InflightLimits::default()));
        let controllers = options.controllers.then(|| tokio::spawn(engine.clone().run_controllers()));
        let cpu = Arc::new(CpuGuard::new(app.cpu_lanes(), None));
        Self {
            chance: SeededRandomness::new(options.seed),
            options,
            store,
            engine,
            app,
            cpu,
            clock,
            randomness,
            rules: Mutex::default(),
            next_rule: AtomicU64::new(1),
            log: Mutex::default(),
            next_request: AtomicU64::new(1),
            controllers,
        }
    }

    /// Ends watches and background controllers. Requests are still answered.
    pub fn shut_down(&self) {
        self.app.begin_shutdown();
        if let Some(controllers) = &self.controllers {
            controllers.abort();
        }
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<TestClock> {
        &self.clock
    }

    /// The options that it began with.
    pub fn options(&self) -> &WorldOptions {
        &self.options
    }

    /// The current resource version.
    pub async fn revision(&self) -> Result<Revision, Rejection> {
        self.store.revision().await.map_err(Rejection::from_store)
    }

    /// The admin, a member of `system:masters`.
    pub fn admin() -> Arc<UserInfo> {
        UserInfo::authenticated("admin", [Str::new_static(MASTERS)])
    }

    /// Adds a rule; its number is for [`World::remove_rule`].
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
        lock(&self.log).clone()
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        lock(&self.log).clear();
    }

    /// Answers a request. `user` is the user of the connection, if it has one.
    pub async fn handle(
        &self,
        request: Request<Bytes>,
        user: Option<&Arc<UserInfo>>,
    ) -> Result<Response<WorldBody>, ConnectionReset> {
        let (mut parts, body) = request.into_parts();
        let mut logged = self.describe(&parts, &body, user).await;
        let fault = self.fault(&logged);
        logged.fault = fault.as_ref().map(|(action, _)| action.to_string());
        let (answer_error, reset) = match fault {
            Some((Action::Error { code, after_commit: false }, _)) => {
                logged.code = code;
                self.push(logged);
                return Ok(error(code));
            }
            Some((Action::Reset { after_commit: false }, _)) => {
                self.push(logged);
                return Err(ConnectionReset);
            }
            Some((Action::Error { code, after_commit: true }, _)) => (Some(code), false),
            Some((Action::Reset { after_commit: true }, _)) => (None, true),
            Some((Action::Delay(by), _)) => {
                tokio::time::sleep(by).await;
                (None, false)
            }
            Some((Action::StaleList(revisions), _)) => {
                let now = self.store.revision().await.map_or(0, |revision| revision.0);
                if let Some(uri) = stale(&parts.uri, now.saturating_sub(revisions)) {
                    parts.uri = uri;
                }
                (None, false)
            }
            _ => (None, false),
        };
        let is_watch = logged.verb == "watch";
        let response =
            self.app.handle(Request::from_parts(parts, body), user.map(Ok), None, self.cpu.clone()).await;
        logged.code = answer_error.unwrap_or(response.status().as_u16());
        if reset {
            logged.code = 0;
        }
        self.push(logged);
        if reset {
            return Err(ConnectionReset);
        }
        if let Some(code) = answer_error {
            return Ok(error(code));
        }
        match fault {
            Some((action, is_active)) if is_watch && response.status() == StatusCode::OK => {
                let is_json = has_json(response.headers());
                Ok(response.map(|body| WorldBody::with_fault(body, action, is_json, is_active)))
            }
            _ => Ok(response.map(WorldBody::new)),
        }
    }

    fn push(&self, logged: LoggedRequest) {
        let mut log = lock(&self.log);
        if log.len() >= LOGGED {
            log.drain(..LOGGED / 2);
        }
        log.push(logged);
    }

    /// The log entry of a request, without its answer.
    async fn describe(
        &self,
        parts: &http::request::Parts,
        body: &Bytes,
        user: Option<&Arc<UserInfo>>,
    ) -> LoggedRequest {
        let query = Query::parse(parts.uri.query());
        let info = RequestInfo::new(&parts.method, parts.uri.path(), &query);
        let user =
            self.app.authenticate(credentials(bearer(&parts.headers), user.map(Ok), parts.uri.path())).await;
        let resource = info.resource.as_ref();
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        let full_name = resource.map(|resource| match resource.subresource {
            "" => resource.resource.to_owned(),
            subresource => format!("{}/{subresource}", resource.resource),
        });
        LoggedRequest {
            number: self.next_request.fetch_add(1, Ordering::Relaxed),
            user: user.map(|user| user.name.to_string()).unwrap_or_default(),
            user_agent: text(parts.headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok())),
            verb: info.verb.as_str().to_owned(),
            method: parts.method.to_string(),
            uri: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
            group: text(resource.map(|resource| resource.group)),
            resource: full_name.unwrap_or_default(),
            namespace: text(resource.map(|resource| resource.namespace)),
            name: text(resource.map(|resource| &*resource.name)),
            body: body.clone(),
            code: 0,
            fault: None,
        }
    }

    /// The fault that happens to a request: that of the first rule that is about it and whose turn it is.
    fn fault(&self, request: &LoggedRequest) -> Option<(Action, Arc<AtomicBool>)> {
        let mut rules = lock(&self.rules);
        for active in rules.iter_mut().filter(|active| active.rule.selector.matches(request)) {
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
}

impl Drop for World {
    fn drop(&mut self) {
        self.shut_down();
    }
}

fn has_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_none_or(|kind| kind.contains("json"))
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

/// An error as kube-apiserver answers it.
fn error(code: u16) -> Response<WorldBody> {
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
    let body = pleach_json::to_string(&Value::from(status));
    let mut response = Response::new(WorldBody::new(Body::from(body.into_bytes())));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if code == 429 {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}
