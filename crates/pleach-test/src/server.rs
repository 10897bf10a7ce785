//! [`Server`]: a server inside a test.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, PostParams};
use kube::{Client, CustomResourceExt};
use pleach_auth::UserInfo;
use pleach_json::{Str, Value};
use pleach_world::{
    LoggedRequest, Rule, RuleError, TestClock, World, WorldOptions, audit_log, parse_rules, recording, replay,
};
use tokio::sync::OnceCell;

use crate::listen::Listener;
use crate::service::InProcess;

/// The world that servers with default options are forks of: built-in kinds are read once per process.
static FIRST: OnceCell<Template> = OnceCell::const_new();

/// A world without background tasks: they would end with the runtime of the test that made it.
struct Template(World);

/// A Kubernetes API server inside a test. Clones are the same server. When a test panics, the requests of its servers are
/// printed.
#[derive(Clone)]
pub struct Server {
    world: Arc<RwLock<Arc<World>>>,
    /// Whether the requests are part of a message about a failure already.
    is_shown: Arc<AtomicBool>,
}

impl Drop for Server {
    fn drop(&mut self) {
        if !std::thread::panicking() || self.is_shown.load(Ordering::Relaxed) {
            return;
        }
        let requests = self.transcript_of_failure();
        if !requests.is_empty() {
            eprintln!("requests:\n{requests}");
        }
    }
}

/// The state of a server at some time.
#[derive(Clone)]
pub struct Snapshot(Arc<World>);

impl Server {
    /// A new server, with default options.
    pub async fn start() -> Self {
        Self::start_with(WorldOptions::default()).await
    }

    /// A new server.
    ///
    /// # Panics
    ///
    /// If the built-in kinds cannot be loaded, which is a bug.
    pub async fn start_with(options: WorldOptions) -> Self {
        if options != WorldOptions::default() {
            return Self::of(World::start(options).await.expect("built-in kinds load"));
        }
        let quiet = WorldOptions { controllers: false, ..options };
        let template =
            FIRST.get_or_init(|| async { Template(World::start(quiet).await.expect("built-in kinds load")) });
        let world = template.await.0.fork_with(true).await;
        Self::of(world.expect("a fork of an empty world loads"))
    }

    fn of(world: World) -> Self {
        Self { world: Arc::new(RwLock::new(Arc::new(world))), is_shown: Arc::default() }
    }

    /// The world of the next request.
    pub(crate) fn world(&self) -> Arc<World> {
        self.world.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A client of the admin.
    pub fn client(&self) -> Client {
        self.client_of(World::admin())
    }

    /// A client of a user.
    pub fn client_as(&self, user: &str, groups: &[&str]) -> Client {
        self.client_of(UserInfo::authenticated(user, groups.iter().map(|group| Str::from(*group))))
    }

    fn client_of(&self, user: Arc<UserInfo>) -> Client {
        Client::new(self.service(user), "default")
    }

    /// The service behind a client: for clients with layers of their own.
    pub fn service(&self, user: Arc<UserInfo>) -> InProcess {
        InProcess::new(self.clone(), user)
    }

    /// Creates the CRD of a `#[derive(CustomResource)]` type. It is served when this returns.
    pub async fn install<K: CustomResourceExt>(&self) -> kube::Result<()> {
        self.install_crd(&K::crd()).await
    }

    /// Creates a CRD. It is served when this returns.
    pub async fn install_crd(&self, crd: &CustomResourceDefinition) -> kube::Result<()> {
        let api: Api<CustomResourceDefinition> = Api::all(self.client());
        api.create(&PostParams::default(), crd).await.map(drop)
    }

    /// Another server with the state of this one: objects, CRDs, clock. Unchanged data is shared.
    /// Fault rules and logged requests stay behind.
    ///
    /// # Panics
    ///
    /// If a role or webhook configuration of this server cannot be read, which is a bug.
    pub async fn fork(&self) -> Self {
        Self::of(self.world().fork().await.expect("what this server has stored can be read"))
    }

    /// A fork whose uids, generated names and the chance of fault rules are those of another seed from now on.
    ///
    /// # Panics
    ///
    /// As [`Server::fork`].
    pub async fn fork_with_seed(&self, seed: u64) -> Self {
        let world = self.world().fork_with_seed(seed).await;
        Self::of(world.expect("what this server has stored can be read"))
    }

    /// The state of now, for [`Server::reset`].
    ///
    /// # Panics
    ///
    /// As [`Server::fork`].
    pub async fn snapshot(&self) -> Snapshot {
        let world = self.world().fork_with(false).await;
        Snapshot(Arc::new(world.expect("what this server has stored can be read")))
    }

    /// Goes back to a snapshot. Clients stay valid; their watches end, and they list again.
    ///
    /// # Panics
    ///
    /// As [`Server::fork`].
    pub async fn reset(&self, snapshot: &Snapshot) {
        let controllers = self.world().options().controllers;
        let world = snapshot.0.fork_with(controllers).await.expect("a snapshot can be read");
        let old = std::mem::replace(
            &mut *self.world.write().unwrap_or_else(PoisonError::into_inner),
            Arc::new(world),
        );
        // Watches hold the old world; they end by this.
        old.shut_down();
    }

    /// Listens on a free port of this machine, with TLS and in plain HTTP, until the listener is dropped.
    pub async fn listen(&self) -> std::io::Result<Listener> {
        Listener::new(self.clone()).await
    }

    /// The clock of the server. It stands still until it is moved.
    pub fn clock(&self) -> Arc<TestClock> {
        self.world().clock().clone()
    }

    /// Adds a fault; the number is for [`Server::remove_fault`].
    pub fn add_fault(&self, rule: Rule) -> u64 {
        self.world().script().add_rule(rule)
    }

    /// Adds faults, as a list in YAML.
    pub fn add_faults(&self, yaml: &str) -> Result<Vec<u64>, RuleError> {
        let world = self.world();
        Ok(parse_rules(yaml.as_bytes())?.into_iter().map(|rule| world.script().add_rule(rule)).collect())
    }

    /// Removes a fault; events that it holds back are sent.
    pub fn remove_fault(&self, number: u64) -> bool {
        self.world().script().remove_rule(number)
    }

    /// Removes all faults.
    pub fn clear_faults(&self) {
        self.world().script().clear_rules();
    }

    /// All requests so far that have been answered, since the last reset.
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.world().script().requests()
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        self.world().script().clear_requests();
    }

    /// The requests so far, a line each.
    pub fn transcript(&self) -> String {
        self.requests().iter().map(|request| request.line() + "\n").collect()
    }

    /// The requests so far, for the message of a failure: they are not printed again when the test ends.
    pub(crate) fn transcript_of_failure(&self) -> String {
        self.is_shown.store(true, Ordering::Relaxed);
        self.transcript()
    }

    /// Restarts the server: its state in memory is rebuilt from its store, and watches end.
    ///
    /// # Panics
    ///
    /// If something stored cannot be read, which is a bug.
    pub async fn restart(&self) {
        self.world().restart().await.expect("what this server has stored can be read");
    }

    /// Adds a user with these groups; returns the bearer token, for clients at [`Server::listen`].
    pub fn add_user(&self, name: &str, groups: &[&str]) -> String {
        let groups: Vec<String> = groups.iter().map(ToString::to_string).collect();
        self.world().add_user(name, &groups)
    }

    /// The requests so far as a recording, in JSON: a conversation that [`Server::replay`] plays again, to this server
    /// or another one.
    pub fn recording(&self, name: &str) -> String {
        pleach_json::to_string(&recording(name, &self.requests()))
    }

    /// Plays a recording; returns a line for each answer that differs.
    ///
    /// # Errors
    ///
    /// If the recording cannot be read.
    pub async fn replay(&self, recording: &str) -> Result<Vec<String>, String> {
        let recording = pleach_json::parse(recording.as_bytes()).map_err(|error| error.to_string())?;
        replay(&self.world(), &recording).await
    }

    /// The requests so far as an audit log, which `pleach rbac learn` makes roles of.
    pub fn audit_log(&self) -> String {
        audit_log(&self.requests())
    }

    /// All objects but events and leases, without uids, times, resource versions and managers.
    ///
    /// # Panics
    ///
    /// If an object cannot be read, which is a bug.
    pub(crate) async fn objects(&self) -> Vec<Value> {
        self.world().objects().await.expect("what this server has stored can be read")
    }
}
