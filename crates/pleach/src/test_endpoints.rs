//! `pleach serve --in-memory --test-endpoints`: worlds for tests in any language, on this machine.
//!
//! Each world is an API server of its own under a path, `/worlds/<name>`, which a kubeconfig takes as the address of a
//! cluster. `/pleach/worlds` forks, resets and removes them, adds users, moves their clocks, sets faults and shows
//! requests; only the admin's token opens it.

use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{Method, Request, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use pleach_auth::UserInfo;
use pleach_engine::set_compatibility_version;
use pleach_go::time::parse_std_duration;
use pleach_json::{Map, Value};
use pleach_server::kubeconfig;
use pleach_server::outcome::Outcome;
use pleach_server::tls::Leaf;
use pleach_world::{ConnectionReset, World, WorldOptions, replay};
use tokio::net::TcpListener;

use crate::certificates::{self, Certificates};
use crate::cli::{AuthorizationMode, ServeOptions};
use crate::data_dir::{DataDir, write_private};
use crate::local_server::{self, Answer, Handler, has_token, json, text, whole};
use crate::script_control;

/// The world that requests without a prefix go to.
const FIRST: &str = "default";

/// Worlds at once.
const WORLDS: usize = 10_000;

/// The worlds by name.
struct Worlds {
    address: SocketAddr,
    token: String,
    roots: String,
    admin: Option<Leaf>,
    by_name: Mutex<BTreeMap<String, Arc<World>>>,
}

/// Serves worlds until a signal stops the process.
pub(crate) async fn run(
    options: &ServeOptions,
    token: String,
    directory: &DataDir,
) -> Result<(), Box<dyn Error>> {
    if !options.in_memory || !options.bind.is_loopback() {
        return Err("--test-endpoints needs --in-memory and an address of this machine".into());
    }
    // Other authorizers do not run here: they never become more rights than RBAC gives.
    let rbac = options.authorization.authorization_config.is_some()
        || options.authorization.authorization_mode != [AuthorizationMode::AlwaysAllow];
    let gates = options.gates()?;
    // The process serves worlds of one version; nothing has been compiled yet.
    let _ = set_compatibility_version(gates.version.min_compatibility().minor());
    let first =
        WorldOptions { rbac, token: token.clone(), seed: options.seed, gates, ..WorldOptions::default() };
    let first = Arc::new(World::start(first).await?);
    let listener = TcpListener::bind(SocketAddr::new(options.bind, options.port)).await?;
    let authority = directory.authority()?;
    let Certificates { tls, roots, admin, .. } = certificates::open(options, Some(&authority), directory)?;
    let by_name = Mutex::new(BTreeMap::from([(FIRST.to_owned(), first)]));
    let worlds = Worlds { address: listener.local_addr()?, token, roots, admin, by_name };
    writeln_out!("pleach {} serves at http://{}", env!("CARGO_PKG_VERSION"), worlds.address);
    let path = options.kubeconfig.clone().unwrap_or_else(|| directory.kubeconfig());
    write_private(&path, &worlds.kubeconfig(FIRST))?;
    writeln_out!("export KUBECONFIG={}", path.display());
    local_server::serve(listener, tls, Arc::new(worlds)).await
}

impl Handler for Worlds {
    async fn handle(
        &self,
        request: Request<Incoming>,
        user: Option<&Arc<UserInfo>>,
    ) -> Result<Answer, ConnectionReset> {
        self.serve(whole(request).await, user).await
    }
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
        kubeconfig::write(&url, &self.roots, self.admin.as_ref(), Some(&self.token))
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

    /// Answers a request of `/pleach/worlds`; `path` is what follows.
    async fn administer(&self, request: &Request<Bytes>, path: &str) -> Answer {
        if !has_token(request.headers(), &self.token) {
            return text(Outcome::NotSignedIn, "the admin's token is needed\n".to_owned());
        }
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let answer = match parts.as_slice() {
            [name, rest @ ..] if !rest.is_empty() => self.of_world(request, name, rest).await,
            _ => self.command(request.method(), &parts, request.body()).await.map(|value| json(&value)),
        };
        answer.unwrap_or_else(|message| text(Outcome::BadPath, message + "\n"))
    }

    async fn of_world(&self, request: &Request<Bytes>, name: &str, parts: &[&str]) -> Result<Answer, String> {
        let (world, body) = (self.get(name)?, request.body());
        let query = request.uri().query().unwrap_or_default();
        let method = request.method().as_str();
        if let Some(answer) = script_control::answer(world.script(), method, parts, query, body) {
            return answer;
        }
        let done = || json(&Map::new().into());
        Ok(match (method, parts) {
            ("POST", ["clock"]) => json(&move_clock(&world, &input(body)?)?),
            ("PUT", ["users", user]) => json(&self.add_user(name, &world, user, &input(body)?)),
            ("GET", ["objects"]) => json(&world.objects().await.map_err(|error| error.to_string())?.into()),
            ("POST", ["restart"]) => {
                let away = script_control::away(&input(body)?)?;
                world.script().cut(away);
                world.restart().await.map_err(|error| error.to_string())?;
                done()
            }
            ("POST", ["replay"]) => {
                let differences = replay(&world, &input(body)?).await?;
                json(&differences.into_iter().map(Value::from).collect::<Vec<_>>().into())
            }
            _ => return Err(format!("{method} is not possible here")),
        })
    }

    async fn command(&self, method: &Method, parts: &[&str], body: &Bytes) -> Result<Value, String> {
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
                let input = input(body)?;
                let origin = self.get(&from(&input))?;
                let fork = match seed(&input)? {
                    Some(seed) => origin.fork_with_seed(seed).await,
                    None => origin.fork().await,
                };
                let fork = fork.map_err(|error| error.to_string())?;
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
            _ => Err(format!("{method} is not possible here")),
        }
    }

    /// Adds a user to a world: a token for plain HTTP, and a kubeconfig.
    fn add_user(&self, name: &str, world: &World, user: &str, input: &Value) -> Value {
        let groups = input.get("groups").and_then(Value::as_array);
        let groups = groups.into_iter().flat_map(|groups| groups.iter());
        let groups: Vec<String> = groups.filter_map(Value::as_str).map(ToOwned::to_owned).collect();
        let token = world.add_user(user, &groups);
        let url = format!("https://{}/worlds/{name}", self.address);
        let mut answer = Map::new();
        answer.insert("token", token.clone());
        // No certificate: it would name a user of every world, and keep its groups.
        answer.insert("kubeconfig", kubeconfig::write(&url, &self.roots, None, Some(&token)));
        answer.into()
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

/// The body of a request, in JSON; nothing is an empty object.
fn input(body: &Bytes) -> Result<Value, String> {
    let text: &[u8] = if body.is_empty() { b"{}" } else { body };
    pleach_json::parse(text).map_err(|error| error.to_string())
}

/// The seed of `{"seed": 7}`.
fn seed(input: &Value) -> Result<Option<u64>, String> {
    let seed = input.get("seed").map(|seed| seed.as_int().and_then(|seed| u64::try_from(seed).ok()));
    seed.map(|seed| seed.ok_or_else(|| "seed is a number that is not negative".to_owned())).transpose()
}

fn move_clock(world: &World, input: &Value) -> Result<Value, String> {
    if let Some(seconds) = input.get("set").and_then(Value::as_int) {
        world.clock().set(seconds);
    }
    if let Some(by) = input.get("advance").and_then(Value::as_str) {
        world.clock().advance(parse_std_duration(by).map_err(|error| format!("advance: {error}"))?);
    }
    let mut answer = Map::new();
    answer.insert("seconds", world.clock().seconds());
    Ok(answer.into())
}
