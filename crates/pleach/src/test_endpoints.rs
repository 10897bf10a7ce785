//! `pleach serve --in-memory --test-endpoints`: worlds for tests in any language, on this machine.
//!
//! Each world is an API server of its own under a path, `/worlds/<name>`, which a kubeconfig takes as the address of a
//! cluster. `/pleach/worlds` forks, resets and removes them, adds users, moves their clocks, sets faults and shows
//! requests; only the admin's token opens it.

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use clap::parser::ValueSource;
use clap::{Arg, CommandFactory as _};
use http::{Method, Request, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use pleach_auth::UserInfo;
use pleach_engine::{EnabledControllers, set_compatibility_version};
use pleach_go::time::parse_std_duration;
use pleach_json::{Map, Value};
use pleach_server::kubeconfig;
use pleach_server::outcome::Outcome;
use pleach_server::tls::Leaf;
use pleach_world::{ConnectionReset, World, WorldOptions, replay};
use tokio::net::TcpListener;

use crate::certificates::{self, Certificates};
use crate::cli::{AuthorizationMode, Cli, ServeOptions};
use crate::data_dir::{DataDir, write_private};
use crate::local_server::{self, Answer, Handler, has_token, json, text, whole};
use crate::script_control;
use crate::serve::admission;

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
    refuse_other_flags(std::env::args_os())?;
    let rbac = match options.authorization.authorization_mode[..] {
        [AuthorizationMode::AlwaysAllow] => false,
        [AuthorizationMode::Rbac] => true,
        _ => return Err("--authorization-mode of --test-endpoints is RBAC or AlwaysAllow".into()),
    };
    let gates = options.gates()?;
    // The process serves worlds of one version; nothing has been compiled yet.
    let _ = set_compatibility_version(gates.version.min_compatibility().minor());
    let first = WorldOptions {
        rbac,
        token: token.clone(),
        seed: options.seed,
        gates,
        admission: admission(options)?,
        enabled_controllers: Some(options.controllers).filter(|some| *some != EnabledControllers::default()),
        served_kinds: options.served_kinds(),
        service_ranges: options.service_ranges()?,
        ..WorldOptions::default()
    };
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

/// The flags of `pleach serve` that count for worlds, or for the process that serves them.
const FLAGS: [&str; 30] = [
    "authorization-mode",
    "bind",
    "builtin-kinds",
    "client-ca-file",
    "color",
    "controllers",
    "disable-admission-plugins",
    "emulated-version",
    "enable-admission-plugins",
    "end-with-parent",
    "feature-gates",
    "in-memory",
    "kubeconfig",
    "log-format",
    "log-level",
    "port",
    "root-ca-file",
    "runtime-config",
    "seed",
    "service-cluster-ip-range",
    "service-node-port-range",
    "test-endpoints",
    "tls-cert-file",
    "tls-cipher-suites",
    "tls-min-version",
    "tls-private-key-file",
    "tls-san",
    "tls-sni-cert-key",
    "token",
    "token-file",
];

/// Refuses flags that have no effect on worlds. `arguments` are those of the process, with its name.
fn refuse_other_flags<T: Into<OsString> + Clone>(
    arguments: impl IntoIterator<Item = T>,
) -> Result<(), Box<dyn Error>> {
    let command = Cli::command();
    let matches = command.clone().try_get_matches_from(arguments)?;
    let (Some(given), Some(serve)) = (matches.subcommand_matches("serve"), command.find_subcommand("serve"))
    else {
        return Ok(());
    };
    let is_given = |flag: &&Arg| given.value_source(flag.get_id().as_str()) == Some(ValueSource::CommandLine);
    let names = serve.get_arguments().filter(is_given).filter_map(Arg::get_long);
    match names.into_iter().find(|name| !FLAGS.contains(name)) {
        Some(name) => {
            Err(format!("--{name} has no effect on worlds: leave it out with --test-endpoints").into())
        }
        None => Ok(()),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_without_effect_on_worlds_are_refused() {
        let refused = |line: &str| {
            let line = format!("pleach serve --in-memory --test-endpoints {line}");
            refuse_other_flags(line.split_whitespace()).err().map(|error| error.to_string())
        };
        assert_eq!(refused("--port=0 --token=a --disable-admission-plugins=PodSecurity --color=never"), None);
        for flag in ["--audit-policy-file=a", "--anonymous-auth=false", "--console=false"] {
            let name = flag.split('=').next().unwrap();
            assert!(refused(flag).is_some_and(|why| why.starts_with(name)), "{flag}");
        }
        let serve = Cli::command();
        let serve = serve.find_subcommand("serve").unwrap();
        for name in FLAGS.iter().filter(|name| **name != "color") {
            assert!(serve.get_arguments().any(|flag| flag.get_long() == Some(name)), "{name}");
        }
    }
}
