//! [`World`]: a whole server in memory, without a socket.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use pleach_auth::UserInfo;
use pleach_auth::user::MASTERS;
use pleach_engine::gates::Gates;
use pleach_engine::kinds::served::ServedKinds;
use pleach_engine::{AdmissionPlugins, EnabledControllers, Engine, Rejection, ServiceRanges};
use pleach_json::{Str, Value};
use pleach_server::app::App;
use pleach_server::authentication::{authenticators, bearer, credentials};
use pleach_server::body::Body;
use pleach_server::cpu::CpuGuard;
use pleach_server::inflight::InflightLimits;
use pleach_server::service_account::ServiceAccountAuthenticator;
use pleach_store::{Revision, Store as _};
use pleach_store_memory::MemoryStore;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::clock::{SeededRandomness, TestClock};
use crate::describe::describe;
use crate::event_expiry;
use crate::fault_body::FaultyBody;
use crate::objects;
use crate::script::{Backend, ConnectionReset, Script};
use crate::service_account_tokens;
use crate::under_way::UnderWay;
use crate::users::Users;
use crate::webhook_faults::FaultyCaller;

/// The initial options of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldOptions {
    /// Requests are authorized by RBAC, with upstream's bootstrap roles. Otherwise every user may do everything.
    pub rbac: bool,
    /// Objects are collected and namespaces emptied, as kube-controller-manager does it; events expire.
    pub controllers: bool,
    /// The seed of uids, names and probabilities.
    pub seed: u64,
    /// The bearer token of the admin.
    pub token: String,
    /// Feature gates, with the Kubernetes version that is emulated. The CEL libraries of new expressions are a matter of
    /// the process: [`pleach_engine::set_compatibility_version`].
    pub gates: Gates,
    /// The admission plugins that run.
    pub admission: AdmissionPlugins,
    /// The controllers that run, if any do. All if this is not given; without `rbac`, all but serviceaccount-controller
    /// and root-ca-certificate-publisher-controller.
    pub enabled_controllers: Option<EnabledControllers>,
    /// The built-in kinds that are served.
    pub served_kinds: ServedKinds,
    /// The addresses of Services and their node ports.
    pub service_ranges: ServiceRanges,
}

impl Default for WorldOptions {
    fn default() -> Self {
        Self {
            rbac: false,
            controllers: true,
            seed: 1,
            token: "admin".into(),
            gates: Gates::default(),
            admission: AdmissionPlugins::default(),
            enabled_controllers: None,
            served_kinds: ServedKinds::default(),
            service_ranges: ServiceRanges::default(),
        }
    }
}

/// How long requests wait for background controllers. They may be on a runtime that is not driven.
const SETTLES: Duration = Duration::from_secs(10);

/// The body of an answer of a world.
pub type WorldBody = FaultyBody<Body>;

/// A whole server in memory. Dropping it ends its watches.
pub struct World {
    options: WorldOptions,
    store: MemoryStore,
    clock: Arc<TestClock>,
    randomness: Arc<SeededRandomness>,
    script: Arc<Script>,
    users: Users,
    under_way: Arc<UnderWay>,
    /// Whether a wait for the background controllers has timed out.
    unsettled: AtomicBool,
    /// The state that a restart makes anew.
    running: RwLock<Running>,
}

/// The state of a server in memory besides its store.
struct Running {
    engine: Arc<Engine>,
    app: Arc<App>,
    cpu: Arc<CpuGuard>,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

impl Running {
    fn end(&self) {
        self.app.begin_shutdown();
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl World {
    /// A new world. Needs a tokio runtime.
    pub async fn start(options: WorldOptions) -> Result<Self, Rejection> {
        let world = Parts::new(options);
        let engine = world.engine();
        engine.start().await?;
        if world.options.rbac {
            engine.bootstrap_rbac().await?;
        }
        world.with(engine)
    }

    /// Another world with everything that is in this one. Rules and logged requests stay behind.
    pub async fn fork(&self) -> Result<Self, Rejection> {
        self.fork_with(self.options.controllers).await
    }

    /// A fork with background controllers, or without: then nothing in it changes by itself.
    pub async fn fork_with(&self, controllers: bool) -> Result<Self, Rejection> {
        let options = WorldOptions { controllers, ..self.options.clone() };
        self.fork_as(options, None).await
    }

    /// A fork whose uids, names and probabilities are those of another seed from now on.
    pub async fn fork_with_seed(&self, seed: u64) -> Result<Self, Rejection> {
        let options = WorldOptions { seed, ..self.options.clone() };
        self.fork_as(options, Some(SeededRandomness::new(seed))).await
    }

    /// A fork with these options; its randomness goes on with that of this world if none is given.
    async fn fork_as(
        &self,
        options: WorldOptions,
        randomness: Option<SeededRandomness>,
    ) -> Result<Self, Rejection> {
        let _entered = self.under_way.enter();
        self.settle().await;
        let parts = Parts {
            store: self.store.fork(),
            clock: Arc::new(TestClock::clone(&self.clock)),
            randomness: Arc::new(randomness.unwrap_or_else(|| SeededRandomness::clone(&self.randomness))),
            script: Arc::new(Script::new(options.seed)),
            users: self.users.fork(),
            under_way: Arc::default(),
            options,
        };
        let (store, clock, randomness) = (&parts.store, &parts.clock, &parts.randomness);
        let engine = self.engine();
        let fork = engine.fork(Arc::new(store.clone()), clock.clone(), randomness.clone()).await;
        // Connections belong to the runtime on which they were opened; a fork may be on another one.
        let fork = fork.with_caller(parts.webhook_caller());
        let fork = if self.options.rbac { fork.with_rbac() } else { fork };
        fork.load_fork().await?;
        parts.with(fork)
    }

    /// Restarts it: state in memory is rebuilt from the store, and watches end.
    pub async fn restart(&self) -> Result<(), Rejection> {
        let parts = Parts {
            options: self.options.clone(),
            store: self.store.clone(),
            clock: self.clock.clone(),
            randomness: self.randomness.clone(),
            script: self.script.clone(),
            users: self.users.clone(),
            under_way: self.under_way.clone(),
        };
        let engine = parts.engine();
        engine.start().await?;
        if parts.options.rbac {
            engine.bootstrap_rbac().await?;
        }
        let fresh = parts.run(engine)?;
        // What was there before ends with its watches; requests that are under way are answered by it.
        *self.running.write().unwrap_or_else(PoisonError::into_inner) = fresh;
        Ok(())
    }

    /// Ends watches and background controllers. Requests are still answered.
    pub fn shut_down(&self) {
        self.running.read().unwrap_or_else(PoisonError::into_inner).end();
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<TestClock> {
        &self.clock
    }

    /// The options that it began with.
    pub fn options(&self) -> &WorldOptions {
        &self.options
    }

    /// Fault rules and the log of requests.
    pub fn script(&self) -> &Arc<Script> {
        &self.script
    }

    /// The current resource version.
    pub async fn revision(&self) -> Result<Revision, Rejection> {
        self.store.revision().await.map_err(Rejection::from_store)
    }

    /// All objects but events and leases, without what no two servers share: uids, times, resource versions, managers.
    pub async fn objects(&self) -> Result<Vec<Value>, Rejection> {
        objects::all(&self.store).await
    }

    /// The admin, a member of `system:masters`.
    pub fn admin() -> Arc<UserInfo> {
        UserInfo::authenticated("admin", [Str::new_static(MASTERS)])
    }

    /// Adds a user to this world, or gives one other groups. Returns the user's bearer token.
    pub fn add_user(&self, name: &str, groups: &[String]) -> String {
        self.users.add(self.options.seed, name, groups)
    }

    /// Waits until the background controllers have done what follows from the requests before, so that the same requests
    /// have the same answers however fast the controllers are. Where requests or calls of webhooks are under way at the
    /// same time, nothing is waited for: controllers may wait for them, and their order is one of chance anyway.
    async fn settle(&self) {
        if !self.options.controllers || self.unsettled.load(Ordering::Relaxed) {
            return;
        }
        let engine = self.engine();
        tokio::select! {
            settled = engine.controllers_settled() => {
                if let Err(error) = settled {
                    tracing::error!(%error, "cannot wait for the background controllers");
                }
            }
            () = self.under_way.several() => {}
            () = tokio::time::sleep(SETTLES) => {
                self.unsettled.store(true, Ordering::Relaxed);
                tracing::warn!("background controllers do not become idle: requests no longer wait for them");
            }
        }
    }

    fn engine(&self) -> Arc<Engine> {
        self.running.read().unwrap_or_else(PoisonError::into_inner).engine.clone()
    }

    fn app(&self) -> (Arc<App>, Arc<CpuGuard>) {
        let running = self.running.read().unwrap_or_else(PoisonError::into_inner);
        (running.app.clone(), running.cpu.clone())
    }

    /// Answers a request. `user` is the user of the connection, if it has one.
    pub async fn handle(
        &self,
        request: Request<Bytes>,
        user: Option<&Arc<UserInfo>>,
    ) -> Result<Response<WorldBody>, ConnectionReset> {
        let _entered = self.under_way.enter();
        self.settle().await;
        let (parts, body) = request.into_parts();
        let (app, _) = self.app();
        let given = credentials(bearer(&parts.headers), user.map(Ok), parts.uri.path());
        let found = app.authenticate(given).await;
        let user_of = |user: &Arc<UserInfo>| user.groups.iter().map(ToString::to_string).collect();
        let name = found.as_ref().map_or("", |user| user.name.as_str());
        let logged = describe(&parts, &body, (name, found.as_ref().map(user_of).unwrap_or_default()));
        let backend = Connection { world: self, user };
        self.script.run(&backend, Request::from_parts(parts, body), logged).await
    }
}

/// The server behind the rules, as a user's connection reaches it.
struct Connection<'a> {
    world: &'a World,
    user: Option<&'a Arc<UserInfo>>,
}

impl Backend for Connection<'_> {
    type Body = Body;

    async fn answer(&self, request: Request<Bytes>) -> Result<Response<Body>, ConnectionReset> {
        let (app, cpu) = self.world.app();
        Ok(app.handle(request, self.user.map(Ok), None, cpu).await)
    }

    async fn revisions(&self, _: &Request<Bytes>) -> Option<(u64, u64)> {
        let stats = self.world.store.stats().await.ok()?;
        Some((stats.oldest.0, stats.revision.0))
    }

    async fn restart(&self) {
        if let Err(error) = self.world.restart().await {
            tracing::error!(%error, "the world cannot be restarted");
        }
    }
}

/// The parts of a world before it runs.
struct Parts {
    options: WorldOptions,
    store: MemoryStore,
    clock: Arc<TestClock>,
    randomness: Arc<SeededRandomness>,
    script: Arc<Script>,
    users: Users,
    under_way: Arc<UnderWay>,
}

impl Parts {
    fn new(options: WorldOptions) -> Self {
        Self {
            store: MemoryStore::new().value_limit(u64::MAX),
            clock: Arc::new(TestClock::default()),
            randomness: Arc::new(SeededRandomness::new(options.seed)),
            script: Arc::new(Script::new(options.seed)),
            users: Users::default(),
            under_way: Arc::default(),
            options,
        }
    }

    /// An engine that has read nothing yet.
    fn engine(&self) -> Engine {
        let (clock, randomness) = (self.clock.clone(), self.randomness.clone());
        let options = &self.options;
        let engine = Engine::new(Arc::new(self.store.clone()), clock, randomness, options.admission.clone())
            .with_gates(options.gates)
            .with_served_kinds(options.served_kinds.clone())
            .with_service_ranges(options.service_ranges.clone())
            .with_caller(self.webhook_caller())
            .with_controllers_in_order();
        let controllers = options.enabled_controllers.or(options.rbac.then(EnabledControllers::default));
        let engine = match controllers {
            Some(controllers) => {
                // There is no certificate to verify.
                let root_ca = watch::channel(Str::default()).1;
                engine.with_controllers(controllers, root_ca)
            }
            None => engine,
        };
        if options.rbac { engine.with_rbac() } else { engine }
    }

    fn webhook_caller(&self) -> Arc<FaultyCaller> {
        Arc::new(FaultyCaller::new(self.script.clone(), self.under_way.clone()))
    }

    fn run(&self, engine: Engine) -> Result<Running, Rejection> {
        let tokens = service_account_tokens::shared()?;
        let engine = Arc::new(engine.with_secret_tokens(tokens.secrets));
        let chain = authenticators(Some(self.options.token.clone()))
            .with_anonymous(true)
            .with(Box::new(self.users.clone()))
            .with(Box::new(ServiceAccountAuthenticator::new(tokens.issuer.clone(), engine.clone())));
        let app =
            App::new(engine.clone(), chain, &InflightLimits::default()).with_token_issuer(tokens.issuer);
        let app = Arc::new(app);
        let cpu = Arc::new(CpuGuard::new(app.cpu_lanes(), None));
        let mut tasks = Vec::new();
        if self.options.controllers {
            tasks.push(tokio::spawn(engine.clone().run_controllers()));
            tasks.push(tokio::spawn(event_expiry::run(self.store.clone(), self.clock.clone())));
        }
        Ok(Running { engine, app, cpu, tasks })
    }

    fn with(self, engine: Engine) -> Result<World, Rejection> {
        let running = self.run(engine)?;
        let Self { options, store, clock, randomness, script, users, under_way } = self;
        let running = RwLock::new(running);
        let unsettled = AtomicBool::new(false);
        Ok(World { options, store, clock, randomness, script, users, under_way, unsettled, running })
    }
}
