//! `pleach serve --in-memory --test-endpoints`: worlds for tests in any language, on this machine.
//!
//! Each world is an API server of its own under a path, `/worlds/<name>`, which a kubeconfig takes as the address of a
//! cluster. `/pleach/worlds` forks, resets and removes them, moves their clocks, sets faults and shows requests;
//! only the admin's token opens it. One port takes TLS and plain HTTP: kubectl sends no token without TLS, and helpers
//! in other languages need no certificates.

use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use pleach_auth::UserInfo;
use pleach_json::{Map, Value};
use pleach_server::body::Broken;
use pleach_server::kubeconfig;
use pleach_server::outcome::Outcome;
use pleach_server::request_body::BODY_LIMIT;
use pleach_server::tls::{Leaf, Tls};
use pleach_world::{ConnectionReset, World, WorldOptions, parse_rules};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};

use crate::certificates::{self, Certificates};
use crate::cli::{AuthorizationMode, ServeOptions};
use crate::data_dir::{DataDir, write_private};

/// The world that requests without a prefix go to.
const FIRST: &str = "default";

/// Worlds at once.
const WORLDS: usize = 10_000;

type Answer = Response<UnsyncBoxBody<Bytes, Broken>>;

/// The worlds by name.
struct Worlds {
    address: SocketAddr,
    token: String,
    tls: Tls,
    roots: String,
    admin: Leaf,
    by_name: Mutex<BTreeMap<String, Arc<World>>>,
}

/// Serves worlds until a signal stops the process.
pub(crate) async fn run(
    options: &ServeOptions,
    token: String,
    directory: &DataDir,
) -> Result<(), Box<dyn Error>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    if !options.in_memory || !options.bind.is_loopback() {
        return Err("--test-endpoints needs --in-memory and an address of this machine".into());
    }
    // Other authorizers do not run here: they never become more rights than RBAC gives.
    let rbac = options.authorization.authorization_config.is_some()
        || options.authorization.authorization_mode != [AuthorizationMode::AlwaysAllow];
    let first = WorldOptions { rbac, token: token.clone(), ..WorldOptions::default() };
    let first = Arc::new(World::start(first).await?);
    let listener = TcpListener::bind(SocketAddr::new(options.bind, options.port)).await?;
    let certificates = certificates::open(options, &directory.authority()?, directory)?;
    let Certificates { tls, roots, admin, .. } = certificates;
    let by_name = Mutex::new(BTreeMap::from([(FIRST.to_owned(), first)]));
    let worlds = Arc::new(Worlds { address: listener.local_addr()?, token, tls, roots, admin, by_name });
    println!("pleach {} serves at http://{}", env!("CARGO_PKG_VERSION"), worlds.address);
    let path = options.kubeconfig.clone().unwrap_or_else(|| directory.kubeconfig());
    write_private(&path, &worlds.kubeconfig(FIRST))?;
    println!("export KUBECONFIG={}", path.display());
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(tokio::spawn(connection(stream, worlds.clone()))),
                // Out of descriptors: some connection will end.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
        }
    }
}

/// The first byte of a TLS connection.
const HANDSHAKE: u8 = 0x16;

async fn connection(stream: TcpStream, worlds: Arc<Worlds>) {
    let _ = stream.set_nodelay(true);
    let mut first = [0];
    match stream.peek(&mut first).await {
        Ok(1) if first[0] == HANDSHAKE => {
            let Ok(stream) = worlds.tls.acceptor.accept(stream).await else { return };
            let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
            let user = worlds.tls.clients.identity(chain).map(|identity| identity.user().cloned());
            // A certificate that is not valid never becomes another user.
            let Ok(user) = user.transpose() else { return };
            requests(TokioIo::new(stream), worlds, user).await;
        }
        Ok(1) => requests(TokioIo::new(stream), worlds, None).await,
        _ => {}
    }
}

async fn requests<S>(stream: TokioIo<S>, worlds: Arc<Worlds>, user: Option<Arc<UserInfo>>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let (worlds, user) = (worlds.clone(), user.clone());
        async move {
            let (parts, body) = request.into_parts();
            // A body that is too large is refused by the world in its own words.
            let body = Limited::new(body, BODY_LIMIT + 1).collect().await;
            let too_large = |_| Bytes::from(vec![b' '; BODY_LIMIT + 1]);
            let body = body.map_or_else(too_large, http_body_util::Collected::to_bytes);
            worlds.serve(Request::from_parts(parts, body), user.as_ref()).await
        }
    });
    // A client that disconnects, or is cut off by a fault, is no error.
    let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(stream, service).await;
}

impl Worlds {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<World>>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, name: &str) -> Result<Arc<World>, String> {
        self.lock().get(name).cloned().ok_or_else(|| format!("there is no world {name:?}"))
    }

    /// The kubeconfig of the admin for a world. kubectl sends credentials over TLS only.
    fn kubeconfig(&self, name: &str) -> String {
        let url = format!("https://{}/worlds/{name}", self.address);
        kubeconfig::write(&url, &self.roots, &self.admin, &self.token)
    }

    fn world_url(&self, name: &str) -> String {
        format!("http://{}/worlds/{name}", self.address)
    }

    async fn serve(
        &self,
        mut request: Request<Bytes>,
        user: Option<&Arc<UserInfo>>,
    ) -> Result<Answer, ConnectionReset> {
        let path = request.uri().path().to_owned();
        if path == "/pleach/worlds" || path.starts_with("/pleach/worlds/") {
            return Ok(self.administer(&request, path.trim_start_matches("/pleach/worlds")).await);
        }
        let (name, rest) = match path.strip_prefix("/worlds/") {
            Some(rest) => rest.split_once('/').unwrap_or((rest, "")),
            None => (FIRST, path.trim_start_matches('/')),
        };
        let Ok(world) = self.get(name) else {
            return Ok(text(Outcome::PageNotFound, format!("there is no world {name:?}\n")));
        };
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        if let Ok(uri) = format!("/{rest}{query}").parse::<Uri>() {
            *request.uri_mut() = uri;
        }
        let response = world.handle(request, user).await?;
        Ok(response.map(UnsyncBoxBody::new))
    }

    /// Handles a request of `/pleach/worlds`; `path` is the rest of the path.
    async fn administer(&self, request: &Request<Bytes>, path: &str) -> Answer {
        let given = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        if given.and_then(|given| given.strip_prefix("Bearer ")) != Some(&self.token) {
            return text(Outcome::NotSignedIn, "the admin's token is needed\n".to_owned());
        }
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        match self.command(request.method(), &parts, request.body()).await {
            Ok(value) => json(&value),
            Err(message) => text(Outcome::BadPath, message + "\n"),
        }
    }

    async fn command(&self, method: &Method, parts: &[&str], body: &Bytes) -> Result<Value, String> {
        let input = || {
            let text: &[u8] = if body.is_empty() { b"{}" } else { body };
            pleach_json::parse(text).map_err(|error| error.to_string())
        };
        let from = |input: &Value| input.get("from").and_then(Value::as_str).unwrap_or(FIRST).to_owned();
        match (method.as_str(), parts) {
            ("GET", []) => {
                let worlds = self.lock();
                Ok(worlds.keys().map(|name| self.describe(name)).collect::<Vec<_>>().into())
            }
            ("GET", [name]) => self.get(name).map(|_| self.describe(name)),
            ("PUT", [name]) => {
                let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                if name.len() > 63 || !name.chars().all(is_name) {
                    return Err(format!(
                        "{name:?} is no name: lower case letters, digits and dashes, at most 63"
                    ));
                }
                let origin = self.get(&from(&input()?))?;
                let fork = origin.fork().await.map_err(|error| error.to_string())?;
                let mut worlds = self.lock();
                if worlds.len() >= WORLDS {
                    return Err(format!("there are {WORLDS} worlds already"));
                }
                // A world of that name is replaced: this is also how a world is reset.
                let before = worlds.insert((*name).to_owned(), Arc::new(fork));
                drop(worlds);
                before.iter().for_each(|world| world.shut_down());
                Ok(self.describe(name))
            }
            ("DELETE", [FIRST]) => Err("the first world cannot be removed".into()),
            ("DELETE", [name]) => {
                let gone = self.lock().remove(*name);
                gone.iter().for_each(|world| world.shut_down());
                Ok(Map::new().into())
            }
            ("POST", [name, "clock"]) => {
                let (world, input) = (self.get(name)?, input()?);
                if let Some(seconds) = input.get("set").and_then(Value::as_int) {
                    world.clock().set(seconds);
                }
                if let Some(by) = input.get("advance").and_then(Value::as_str) {
                    let by = u64::try_from(pleach_go::time::parse_duration(by)?);
                    world
                        .clock()
                        .advance(Duration::from_nanos(by.map_err(|_| "time does not go backwards")?));
                }
                let mut answer = Map::new();
                answer.insert("seconds", world.clock().seconds());
                Ok(answer.into())
            }
            ("GET", [name, "requests"]) => {
                let requests = self.get(name)?.requests();
                Ok(requests.iter().map(pleach_world::LoggedRequest::to_value).collect::<Vec<_>>().into())
            }
            ("DELETE", [name, "requests"]) => {
                self.get(name)?.clear_requests();
                Ok(Map::new().into())
            }
            ("POST", [name, "faults"]) => {
                let world = self.get(name)?;
                let rules = parse_rules(body).map_err(|error| error.to_string())?;
                let numbers = rules.into_iter().map(|rule| Value::from(world.add_rule(rule) as i64));
                Ok(numbers.collect::<Vec<_>>().into())
            }
            ("DELETE", [name, "faults"]) => {
                self.get(name)?.clear_rules();
                Ok(Map::new().into())
            }
            ("DELETE", [name, "faults", number]) => {
                let number = number.parse().map_err(|_| format!("{number:?} is no number of a rule"))?;
                let removed = self.get(name)?.remove_rule(number);
                if removed { Ok(Map::new().into()) } else { Err(format!("there is no rule {number}")) }
            }
            _ => Err(format!("{method} is not possible here")),
        }
    }

    fn describe(&self, name: &str) -> Value {
        let mut world = Map::new();
        world.insert("name", name);
        world.insert("url", self.world_url(name));
        world.insert("token", self.token.clone());
        world.insert("kubeconfig", self.kubeconfig(name));
        world.into()
    }
}

fn json(value: &Value) -> Answer {
    let body = Full::from(pleach_json::to_string(value) + "\n").map_err(|never| match never {});
    let mut response = Response::new(UnsyncBoxBody::new(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn text(outcome: Outcome, text: String) -> Answer {
    let body = Full::from(text).map_err(|never| match never {});
    let mut response = Response::new(UnsyncBoxBody::new(body));
    *response.status_mut() = outcome.code();
    response
}
