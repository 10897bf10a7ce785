//! The web console at `/console`: its files, signing in, and the API on behalf of the user who signed in.
//!
//! | path below `/console` | method | purpose |
//! |---|---|---|
//! | `/`, `/assets/…` | GET | the page |
//! | `/session` | GET, POST, DELETE | the user; sign in with a one-time code or a bearer token; sign out |
//! | `/links` | POST | a new sign-in link for the user of a bearer token or client certificate |
//! | `/engine` | POST | checks, samples and differences of CRDs: stateless, with the budget of a request |
//! | `/k8s/…` | all | the API of this server, as the user of the session |
//!
//! [`RemoteConsole`] shows another API server, through the same doors.
//!
//! The session cookie counts below `/console/k8s` only: the API itself takes no cookies, so that no other page can use
//! them there. Requests other than for the page's files need a header that other origins cannot send.

mod api;
mod assets;
mod origin;
mod remote;
mod sessions;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, SET_COOKIE};
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use pleach_auth::{Unauthorized, UserInfo};
use pleach_json::{Value, json};
use pleach_work::{Meter, run_metered};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::app::{App, REQUEST_STEPS};
use crate::authentication::{Bearer, bearer};
use crate::body::Body;
use crate::cpu::CpuGuard;
use crate::memory;
use crate::outcome::Outcome;
use crate::request_body::Unread;
use crate::respond;

use api::{Api, ThisServer};
pub use assets::Assets;
use origin::Authority;
pub use remote::{RemoteApi, RemoteConsole};
use sessions::{Grant, Sessions};

/// The engine for the playground when there is none in the browser: JSON in, JSON out.
pub type PlaygroundEngine = fn(&[u8]) -> Vec<u8>;

/// The user of the connection's certificate, if it has one.
type Certificate<'a> = Option<Result<&'a Arc<UserInfo>, Unauthorized>>;

/// The path that the console is served at.
const PATH: &str = "/console";

/// The header that requests of the page have. A page of another origin would have to ask first, and is refused.
const HEADER: HeaderName = HeaderName::from_static("x-pleach-console");

/// No inline script or style, nothing from elsewhere, no frames.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self' data:; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types pleach-worker";

/// The policy of the worker that runs the engine: nothing but compiling WebAssembly, from our own file.
const WORKER_POLICY: &str = "default-src 'none'; script-src 'wasm-unsafe-eval'; connect-src 'self'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'";

/// The beginning of the path of the worker's script, which the build names.
const WORKER: &str = "/console/assets/engine.worker-";

/// The largest body that signs in, and how long it may take to come.
const SIGN_IN_BYTES: usize = 64 * 1024;
const SIGN_IN_TIME: Duration = Duration::from_secs(10);
/// The largest question to the playground.
const QUESTION_BYTES: usize = 3 << 20;
/// How long a question to the playground may take to come, and to be answered.
const QUESTION_TIME: Duration = Duration::from_secs(34);
/// Questions to the playground that are answered at once; others wait.
const QUESTIONS_AT_ONCE: usize = 1;

/// The console of a server.
pub struct Console {
    assets: Assets,
    sessions: Sessions,
    /// Names besides `localhost` and IP addresses that the `Host` header may have.
    hosts: Vec<String>,
    engine: Option<PlaygroundEngine>,
    questions: Semaphore,
}

impl Console {
    /// A console with these files, for requests to these hosts.
    pub fn new(assets: Assets, hosts: Vec<String>) -> Self {
        let questions = Semaphore::new(QUESTIONS_AT_ONCE);
        Self { assets, sessions: Sessions::default(), hosts, engine: None, questions }
    }

    /// Answers a request of the playground.
    #[must_use]
    pub fn with_engine(mut self, engine: PlaygroundEngine) -> Self {
        self.engine = Some(engine);
        self
    }

    /// Whether the page's files are there.
    pub fn is_built(&self) -> bool {
        self.assets.is_built()
    }

    /// The fragment of a link that signs a user in once, within a few minutes.
    pub fn sign_in_fragment(&self, user: Arc<UserInfo>) -> String {
        format!("#/sign-in/{}", self.sessions.new_code(Grant::User(user), Instant::now()))
    }

    /// Whether a path is the console's.
    pub fn is_at(path: &str) -> bool {
        path.strip_prefix(PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Answers a request below `/console`.
    pub async fn handle(
        &self,
        app: &Arc<App>,
        request: Request<Incoming>,
        certificate: Certificate<'_>,
        peer: Option<SocketAddr>,
        cpu: Arc<CpuGuard>,
    ) -> Response<Body> {
        self.handle_for(&ThisServer { app, certificate, peer, cpu }, request).await
    }

    async fn handle_for(&self, api: &impl Api, request: Request<Incoming>) -> Response<Body> {
        let policy =
            if request.uri().path().starts_with(WORKER) { WORKER_POLICY } else { CONTENT_SECURITY_POLICY };
        let mut response = self.route(api, request).await;
        secure(&mut response, policy);
        response
    }

    async fn route(&self, api: &impl Api, request: Request<Incoming>) -> Response<Body> {
        let Some(authority) = Authority::of(&request).filter(|authority| authority.is_allowed(&self.hosts))
        else {
            return respond::text(
                Outcome::Misdirected,
                "the console is not served for this Host: see --console-hosts\n",
            );
        };
        let path = request.uri().path().strip_prefix(PATH).unwrap_or_default().to_owned();
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        if path.is_empty() {
            return redirect();
        }
        if path == "/" || path.starts_with("/assets/") {
            return if is_read {
                self.assets.serve(path.trim_start_matches('/'), request.headers())
            } else {
                respond::text(Outcome::MethodNotAllowed, "GET only\n")
            };
        }
        if path == "/links" && request.method() == Method::POST {
            return self.link(api, &authority, request).await;
        }
        if !request.headers().contains_key(HEADER) || !authority.is_origin_of(request.headers()) {
            return respond::text(Outcome::ForeignOrigin, "requests of other origins are refused\n");
        }
        let now = Instant::now();
        if path == "/session" && request.method() == Method::POST {
            return self.sign_in(api, &authority, request, now).await;
        }
        let cookie = authority.cookie(request.headers());
        let Some(grant) = cookie.and_then(|id| self.sessions.find(id, &authority.text, now)) else {
            return respond::text(Outcome::NotSignedIn, "sign in first\n");
        };
        match (path.as_str(), request.method()) {
            ("/session", &Method::GET) => self.session(api, &grant).await,
            ("/session", &Method::DELETE) => {
                if let Some(id) = cookie {
                    self.sessions.end(id);
                }
                let mut response = respond::text(Outcome::NoContent, "");
                set_cookie(&mut response, &authority.cookie_that_ends());
                response
            }
            ("/engine", &Method::POST) => self.engine(request, api.cpu()).await,
            (path, _) if path.starts_with("/k8s/") => api.pass_on(request, &grant).await,
            _ => respond::page_not_found(),
        }
    }

    /// Signs in: the answer has the cookie of a new session.
    async fn sign_in(
        &self,
        api: &impl Api,
        authority: &Authority,
        request: Request<Incoming>,
        now: Instant,
    ) -> Response<Body> {
        // The client is not authenticated: little is read, and not for long.
        let few = Limited::new(request.into_body(), SIGN_IN_BYTES).collect();
        let Ok(Ok(bytes)) = timeout(SIGN_IN_TIME, few).await else {
            return respond::text(Outcome::BadPath, "the body cannot be read\n");
        };
        let bytes = bytes.to_bytes();
        let body = pleach_json::parse(&bytes).unwrap_or(Value::Null);
        let member = |name| body.get(name).and_then(Value::as_str);
        let grant = match (member("code"), member("token")) {
            (Some(code), _) => self.sessions.take_code(code, now),
            (None, Some(token)) => {
                let token = token.trim();
                api.authenticate(token).await.map(|_| Grant::Token(token.to_owned()))
            }
            (None, None) => None,
        };
        let Some(grant) = grant else {
            return respond::text(Outcome::NotSignedIn, "the code or token is not valid\n");
        };
        let id = self.sessions.begin(grant.clone(), &authority.text, now);
        let mut response = self.session(api, &grant).await;
        set_cookie(&mut response, &authority.new_cookie(&id));
        response
    }

    /// The user of a session, and the features of the page.
    async fn session(&self, api: &impl Api, grant: &Grant) -> Response<Body> {
        let user = match grant {
            Grant::User(user) => Some(user.clone()),
            Grant::Token(token) => api.authenticate(token).await,
        };
        let Some(user) = user else {
            return respond::text(Outcome::NotSignedIn, "the token is not valid any more\n");
        };
        let groups: Vec<Value> = user.groups.iter().map(|group| Value::from(group.as_str())).collect();
        let value = json!({
            "user": (user.name.as_str()),
            "groups": groups,
            "version": (env!("CARGO_PKG_VERSION")),
            "engine": (self.engine.is_some()),
            "wasm": (self.assets.wasm().map_or(Value::Null, Value::from)),
            "readOnly": (api.is_read_only()),
            "cluster": (api.cluster().map_or(Value::Null, Value::from)),
        });
        respond::value(Outcome::Ok, &value, &respond::ResponseFormat::plain())
    }

    /// A sign-in link for the user of a bearer token or client certificate.
    async fn link(
        &self,
        api: &impl Api,
        authority: &Authority,
        request: Request<Incoming>,
    ) -> Response<Body> {
        // A page cannot set this header for another origin, but a browser sends its certificate with everything.
        let is_page =
            request.headers().contains_key("origin") || request.headers().contains_key("sec-fetch-site");
        let grant = match (api.certificate(), bearer(request.headers())) {
            (_, _) if is_page => None,
            (Some(Ok(user)), _) => Some(Grant::User(user.clone())),
            (_, Bearer::Token(token)) => {
                api.authenticate(token).await.map(|_| Grant::Token(token.to_owned()))
            }
            _ => None,
        };
        let Some(grant) = grant else {
            return respond::text(Outcome::NotSignedIn, "a bearer token or client certificate is needed\n");
        };
        let code = self.sessions.new_code(grant, Instant::now());
        respond::text(Outcome::Ok, format!("https://{}{PATH}/#/sign-in/{code}\n", authority.text))
    }

    /// Asks the engine of the playground.
    async fn engine(&self, request: Request<Incoming>, cpu: Arc<CpuGuard>) -> Response<Body> {
        let Some(engine) = self.engine else { return respond::page_not_found() };
        if memory::is_short() {
            return respond::text(Outcome::TooManyRequests, "the server is short of memory\n");
        }
        // It counts as a body that is received until the answer is made.
        let mut body = Unread::new(request.into_body());
        let read = timeout(QUESTION_TIME, body.read()).await;
        let Ok(Some(bytes)) = read.map(|read| read.ok().filter(|bytes| bytes.len() <= QUESTION_BYTES)) else {
            return respond::text(Outcome::BadPath, "the body cannot be read, or has more than 3 MiB\n");
        };
        let Ok(Ok(_turn)) = timeout(QUESTION_TIME, self.questions.acquire()).await else {
            return respond::text(Outcome::TooManyRequests, "other questions take too long\n");
        };
        let meter = Meter::new(REQUEST_STEPS).deadline(Instant::now() + QUESTION_TIME).supervisor(cpu);
        let answer = run_metered(meter, async move { engine(&bytes) }).await;
        let answer = answer.unwrap_or_else(|_| {
            let value = json!({"error": "this needs more work than a request may take"});
            pleach_json::to_vec(&value)
        });
        let mut response = respond::text(Outcome::Ok, answer);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}

/// To the page; relative, since there may be a path before `/console` that only a proxy knows.
fn redirect() -> Response<Body> {
    let mut response = respond::text(Outcome::Moved, "");
    response.headers_mut().insert(LOCATION, HeaderValue::from_static("console/"));
    response
}

fn set_cookie(response: &mut Response<Body>, cookie: &str) {
    if let Ok(value) = HeaderValue::from_str(cookie) {
        response.headers_mut().insert(SET_COOKIE, value);
    }
}

/// Headers that every response below `/console` has.
fn secure(response: &mut Response<Body>, policy: &'static str) {
    let headers = response.headers_mut();
    for (name, value) in [
        ("content-security-policy", policy),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_console_has_its_own_paths() {
        for (path, want) in [
            ("/console", true),
            ("/console/", true),
            ("/console/k8s/api", true),
            ("/consoles", false),
            ("/api", false),
            ("/apis/x/console", false),
        ] {
            assert_eq!(Console::is_at(path), want, "{path}");
        }
    }
}
