//! `pleach serve`: wiring, startup and shutdown of the server.

use std::error::Error;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pleach_auth::UserInfo;
use pleach_auth::user::MASTERS;
use pleach_cli::Color;
use pleach_engine::webhooks::{Caller, WebhookPlugin};
use pleach_engine::{AdmissionPlugins, Engine, set_compatibility_version};
use pleach_hooks::HttpCaller;
use pleach_json::Str;
use pleach_jwt::AnonymousConfig;
use pleach_jwt::key::{SigningKey, public_keys};
use pleach_server::access_record::AccessRecord;
use pleach_server::app::App;
use pleach_server::authentication::{TokenFile, authenticators};
use pleach_server::console::{Assets, Console};
use pleach_server::flow_control::worker_rests;
use pleach_server::inflight::{BoundedCaller, InflightLimits};
use pleach_server::kubeconfig;
use pleach_server::serve::{Limits, serve};
use pleach_server::service_account::{IssuerOptions, SecretTokens, ServiceAccountAuthenticator, TokenIssuer};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use crate::admission_config::AdmissionConfig;
use crate::cli::{LogFormat, ServeOptions};
use crate::clock_and_randomness::{SystemClock, SystemRandomness};
use crate::data_dir::{DataDir, write_private};
use crate::files::{at, read};
use crate::storage::{self, Storage};
use crate::{audit, authentication, authorization, certificates, release_memory, system_limits};

/// Deep recursion is handled by growing the stack; this is for ordinary depth.
const STACK: usize = 1024 * 1024;

/// A thread for each request that may compute for long, besides the workers and the disk: if they ran out, no
/// thread could take over from a worker that computes.
const BLOCKING_THREADS: usize = 1_024;

/// How long tasks may take to end after the connections have been drained.
const SHUTDOWN: Duration = Duration::from_secs(1);

/// Runs the server until a signal stops it.
pub(crate) fn run(options: ServeOptions, color: Color) -> Result<(), Box<dyn Error>> {
    if options.end_with_parent {
        pleach_envtest::parent::end_with_parent();
    }
    start_logging(&options, color)?;
    let runtime = runtime()?;
    let result = runtime.block_on(serve_until_stopped(options));
    // Computations that are still running are abandoned; everything acknowledged is on disk.
    runtime.shutdown_timeout(SHUTDOWN);
    result
}

/// The threads that requests run on.
pub(crate) fn runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK)
        .max_blocking_threads(BLOCKING_THREADS)
        .on_thread_park(worker_rests)
        .build()
}

fn start_logging(options: &ServeOptions, color: Color) -> Result<(), Box<dyn Error>> {
    let filter = EnvFilter::try_new(&options.log_level)
        .map_err(|error| format!("--log-level {}: {error}", options.log_level))?;
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // Errors of writing the log would go to standard error themselves, and panic where that is closed.
        .log_internal_errors(false)
        .with_ansi(color.on_stderr(no_color));
    match options.log_format {
        LogFormat::Text => log.with_target(false).init(),
        LogFormat::Json => log.json().init(),
    }
    Ok(())
}

async fn serve_until_stopped(options: ServeOptions) -> Result<(), Box<dyn Error>> {
    system_limits::allow_many_files();
    // Signals first: from here on the server shuts down gracefully on SIGTERM.
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let directory = match (&options.data_dir, options.in_memory) {
        (_, true) => DataDir::temporary()?,
        (Some(path), false) => DataDir::open(path)?,
        (None, false) => DataDir::open(&DataDir::default_path())?,
    };
    if options.test_endpoints {
        let token = admin_token(&options, &directory)?.unwrap_or_else(new_token);
        return crate::test_endpoints::run(&options, token, &directory).await;
    }
    let gates = options.gates()?;
    // The process serves once; nothing has been compiled yet.
    let _ = set_compatibility_version(gates.version.min_compatibility().minor());
    // Before the store: a directory that is not whole is not touched.
    let authority = storage::authority(&options, &directory)?;
    let certificates = certificates::open(&options, authority.as_ref(), &directory)?;
    let storage = Storage::open(&options, &directory).await?;
    let limits = inflight_limits(&options).for_open_files(system_limits::open_files());
    let webhooks = webhook_caller(&options)?;
    let mut engine = Engine::new(
        storage.store.clone(),
        Arc::new(SystemClock),
        Arc::new(SystemRandomness),
        admission(&options)?,
    )
    .with_gates(gates)
    .with_served_kinds(options.served_kinds())
    .with_service_ranges(options.service_ranges()?)
    .with_controllers(options.controllers, certificates.root_ca)
    .with_write_cache(!options.no_write_cache)
    .with_max_request_bytes(usize::try_from(options.max_request_bytes)?)
    .with_caller(Arc::new(BoundedCaller::new(webhooks, &limits)));
    let own_caller: Arc<dyn Caller> = Arc::new(HttpCaller::new());
    let (audit, sending_events) = audit::open(&options.audit, &own_caller)?;
    let authorizers = authorization::open(&options.authorization, &own_caller)?;
    let (has_rbac, allows_all) = (authorizers.has_rbac, authorizers.allows_all);
    let mut authorization_watcher = None;
    engine = match &options.authorization.authorization_config {
        Some(path) => {
            let (engine, replaceable) = engine.with_replaceable_authorizers(authorizers.links);
            let chain = (has_rbac, allows_all);
            authorization_watcher =
                Some(authorization::ConfigWatcher::new(path, chain, own_caller.clone(), replaceable));
            engine
        }
        None => engine.with_authorizers(authorizers.links),
    };
    engine = engine.with_secret_tokens(Arc::new(SecretTokens(signing_key(&options, &directory)?)));
    let engine = Arc::new(storage.configure(engine, &options.storage));
    storage.attach(&engine);
    engine.start().await?;
    if has_rbac {
        engine.bootstrap_rbac().await?;
    }

    let listener = TcpListener::bind(SocketAddr::new(options.bind, options.port))
        .await
        .map_err(|error| format!("cannot listen on {}:{}: {error}", options.bind, options.port))?;
    let address = listener.local_addr()?;
    let url = format!("https://{}", reachable(address));

    let token = match admin_token(&options, &directory)? {
        // Servers on one etcd cluster share it, or have none.
        None if options.storage.is_etcd() => None,
        token => Some(token.unwrap_or_else(new_token)),
    };
    let path = options.kubeconfig.clone().unwrap_or_else(|| directory.kubeconfig());
    let kubeconfig =
        kubeconfig::write(&url, &certificates.roots, certificates.admin.as_ref(), token.as_deref());
    match write_private(&path, &kubeconfig) {
        // An older one has a certificate that is still good; objects can be deleted with it.
        Err(error) if is_no_space(&error) => tracing::error!(%error, "cannot write the kubeconfig"),
        written => written?,
    }

    let issuer = Arc::new(token_issuer(&options, &directory, &url)?);
    let authentication = {
        let engine = engine.clone();
        authentication::open(&options.authentication, &options.service_account_issuer, move || {
            engine.now_seconds()
        })?
    };
    let AnonymousConfig { enabled, paths } = authentication.anonymous;
    let mut chain = authenticators(token).with_anonymous(enabled && !allows_all).with_anonymous_paths(paths);
    if let Some(path) = &options.token_auth_file {
        chain = chain.with(Box::new(TokenFile::parse(&read(path)?).map_err(|error| at(path, &error))?));
    }
    chain = chain.with(Box::new(ServiceAccountAuthenticator::new(issuer.clone(), engine.clone())));
    if let Some(authenticators) = &authentication.authenticators {
        chain = chain.with(Box::new(authenticators.clone()));
    }
    let mut app = App::new(engine.clone(), chain, &limits).with_token_issuer(issuer).with_audit(audit);
    let record = options.audit.record_access.as_deref().map(AccessRecord::open).transpose()?;
    app = app.with_access_record(record);
    if let Some(authenticators) = authentication.authenticators {
        app = app.with_jwt_authenticators(authenticators);
    }
    let mut link = None;
    if options.console {
        let console = console(&options)?;
        // The code is for the person at the terminal, not for a log file.
        link = std::io::stdout().is_terminal().then(|| console_link(&console, &url));
        app = app.with_console(console);
    }
    let app = Arc::new(app);
    let controllers = tokio::spawn(engine.clone().run_controllers());
    storage.start_tasks();
    let renewal = tokio::spawn(certificates.watcher.run());
    if let Some(watcher) = authentication.watcher {
        tokio::spawn(watcher.run());
    }
    if let Some(watcher) = authorization_watcher {
        tokio::spawn(watcher.run());
    }
    writeln_out!("pleach {} serves at {url}", env!("CARGO_PKG_VERSION"));
    writeln_out!("export KUBECONFIG={}", path.display());
    if let Some(link) = link {
        writeln_out!("{link}");
    }

    let stop = async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping");
    };
    let memory = options.memory_limit.or_else(system_limits::memory_limit);
    if let Some(limit) = memory {
        tokio::spawn(pleach_server::memory::keep_below(limit));
    }
    tokio::spawn(release_memory::replace_workers());
    serve(listener, certificates.tls, app, connection_limits(memory), stop).await;
    controllers.abort();
    renewal.abort();
    storage.resign().await;
    if let Some(sending) = sending_events {
        sending.finish().await;
    }
    drop((engine, storage));
    Ok(())
}

/// The web console.
fn console(options: &ServeOptions) -> Result<Console, String> {
    let assets = console_assets(options.console_dir.as_deref())?;
    Ok(Console::new(assets, options.console_hosts.clone()).with_engine(pleach_cli::playground::answer))
}

/// The files of the console.
pub(crate) fn console_assets(directory: Option<&Path>) -> Result<Assets, String> {
    match directory {
        Some(path) => Assets::of_directory(path)
            .map_err(|error| format!("--console-dir: cannot read {}: {error}", path.display())),
        None => Ok(Assets::embedded(pleach_console::FILES)),
    }
}

/// The line about the console on a terminal: a link that signs the admin in once.
fn console_link(console: &Console, url: &str) -> String {
    let admin = UserInfo::authenticated("admin", [Str::new_static(MASTERS)]);
    let fragment = if console.is_built() { console.sign_in_fragment(admin) } else { String::new() };
    format!("console: {url}/console/{fragment}")
}

/// The key that signs service account tokens.
fn signing_key(options: &ServeOptions, directory: &DataDir) -> Result<SigningKey, Box<dyn Error>> {
    match &options.service_account_signing_key_file {
        Some(path) => Ok(SigningKey::from_pem(&read(path)?).map_err(|error| at(path, &error))?),
        None => Ok(SigningKey::from_pem(&directory.token_signing_key()?)?),
    }
}

/// The issuer of service account tokens. Keys that cannot be used keep the server from starting.
fn token_issuer(
    options: &ServeOptions,
    directory: &DataDir,
    url: &str,
) -> Result<TokenIssuer, Box<dyn Error>> {
    let signing_key = signing_key(options, directory)?;
    let mut keys = Vec::new();
    for path in &options.service_account_key_file {
        keys.extend(public_keys(&read(path)?).map_err(|error| at(path, &error))?);
    }
    let jwks_uri = options.service_account_jwks_uri.clone();
    Ok(TokenIssuer::new(IssuerOptions {
        issuers: options.service_account_issuer.clone(),
        audiences: options.api_audiences.clone(),
        signing_key,
        keys,
        max_expiration: options.service_account_max_token_expiration,
        jwks_uri: jwks_uri.unwrap_or_else(|| format!("{url}/openid/v1/jwks")),
    }))
}

/// The admin's token, if one is given.
fn admin_token(options: &ServeOptions, directory: &DataDir) -> Result<Option<String>, Box<dyn Error>> {
    if let Some(path) = &options.token_file {
        let token = read(path)?.trim().to_owned();
        return if token.is_empty() { Err(at(path, "the token is empty").into()) } else { Ok(Some(token)) };
    }
    let Some(token) = options.token.clone() else {
        return Ok(directory.token()?);
    };
    let in_environment = std::env::var_os("PLEACH_TOKEN").is_some_and(|value| value == *token);
    if !in_environment && !options.bind.is_loopback() {
        tracing::warn!("--token is visible in the list of processes; use --token-file or PLEACH_TOKEN");
    }
    Ok(Some(token))
}

fn is_no_space(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
}

/// The limits on requests in flight.
fn inflight_limits(options: &ServeOptions) -> InflightLimits {
    let flags = &options.flow_control;
    let limits = InflightLimits::default().with_flags(
        flags.max_requests_inflight as usize,
        flags.max_mutating_requests_inflight as usize,
        flags.enable_priority_and_fairness,
    );
    let workers = tokio::runtime::Handle::current().metrics().num_workers();
    InflightLimits { turns: if flags.enable_priority_and_fairness { workers } else { 0 }, ..limits }
}

/// The limits on clients, from those of the system.
fn connection_limits(memory: Option<u64>) -> Limits {
    let usual = Limits::default();
    let share = memory.map_or(usize::MAX, |limit| (limit / 8) as usize);
    Limits {
        connections: system_limits::connections(usual.connections),
        answers: usual.answers.min(share),
        ..usual
    }
}

/// The admission plugins that the flags leave.
pub(crate) fn admission(options: &ServeOptions) -> Result<AdmissionPlugins, String> {
    let ServeOptions { enable_admission_plugins, disable_admission_plugins, .. } = options;
    let (plugins, without_effect) =
        AdmissionPlugins::from_flags(enable_admission_plugins, disable_admission_plugins)?;
    for name in without_effect {
        tracing::warn!(name, "admission plugin is not implemented, enabling it has no effect");
    }
    Ok(plugins)
}

/// Calls webhooks of configurations and CRDs.
fn webhook_caller(options: &ServeOptions) -> Result<HttpCaller, String> {
    let config = match &options.admission_control_config_file {
        Some(path) => AdmissionConfig::open(path)?,
        None => AdmissionConfig::default(),
    };
    Ok(HttpCaller::new()
        .with_services(options.service_address.iter().cloned().collect())
        .with_credentials(WebhookPlugin::Mutating, config.mutating)
        .with_credentials(WebhookPlugin::Validating, config.validating))
}

/// An address a client on this machine can connect to.
fn reachable(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => SocketAddr::from(([127, 0, 0, 1], v4.port())),
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => {
            SocketAddr::from((std::net::Ipv6Addr::LOCALHOST, v6.port()))
        }
        other => other,
    }
}

pub(crate) fn new_token() -> String {
    use pleach_engine::Randomness as _;
    use std::fmt::Write as _;
    let mut bytes = [0u8; 24];
    SystemRandomness.fill(&mut bytes);
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
