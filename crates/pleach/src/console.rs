//! `pleach console`: the web console before any Kubernetes API server.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::process::{self, Stdio};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use bytes::{Buf as _, Bytes};
use clap::{Args, Parser as _};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use pleach_auth::UserInfo;
use pleach_chaos::{Credentials, ExecPlugin, Upstream, UpstreamClient};
use pleach_json::{Str, Value};
use pleach_server::console::{Console, RemoteApi, RemoteConsole};
use pleach_world::ConnectionReset;
use tokio::net::TcpListener;

use crate::certificates::{self, Certificates};
use crate::chaos::of_kubeconfig;
use crate::cli::{Cli, Command};
use crate::data_dir::DataDir;
use crate::local_server::{self, Answer, Handler};
use crate::serve::{console_assets, runtime};

/// Options of `pleach console`.
#[derive(Debug, Args)]
pub(crate) struct ConsoleOptions {
    /// The kubeconfig: its API server is shown, with its user's rights.
    #[arg(long, value_name = "FILE", env = "KUBECONFIG")]
    pub kubeconfig: PathBuf,
    /// The context of the kubeconfig; the current one if not given.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
    /// Let the page write: create, edit and delete objects. Without this, requests that write are refused.
    #[arg(long)]
    pub writable: bool,
    /// The port to listen on, on this machine only; 0 takes any free port and prints it.
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Serve the console's files from this directory, not those that are built in.
    #[arg(long, value_name = "DIR")]
    pub console_dir: Option<PathBuf>,
}

/// Runs the console until a signal stops it.
pub(crate) fn run(options: &ConsoleOptions) -> Result<(), Box<dyn Error>> {
    runtime()?.block_on(serve(options))
}

async fn serve(options: &ConsoleOptions) -> Result<(), Box<dyn Error>> {
    let assets = console_assets(options.console_dir.as_deref())?;
    if !assets.is_built() {
        return Err(
            "the console is not part of this build: scripts/build-console.sh, or --console-dir".into()
        );
    }
    let upstream = of_kubeconfig(&options.kubeconfig, options.context.as_deref())?;
    let server = upstream.server.clone();
    let api = Remote::new(upstream, &options.kubeconfig).await?;
    let user = api.user().await.map_err(|why| format!("{server}: {why}"))?;
    let console = Console::new(assets, Vec::new()).with_engine(pleach_cli::playground::answer);
    let console = RemoteConsole::new(console, Box::new(api), user, server.clone(), !options.writable);
    let directory = DataDir::temporary()?;
    let authority = directory.authority()?;
    // The flags of a server that nothing was said to.
    let Command::Serve(flags) = Cli::try_parse_from(["pleach", "serve", "--in-memory"])?.command else {
        return Err("there are no options of a server".into());
    };
    let Certificates { tls, .. } = certificates::open(&flags, Some(&authority), &directory)?;
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, options.port))).await?;
    let address = listener.local_addr()?;
    let rights = if options.writable { "" } else { ", read-only" };
    writeln_out!("pleach {} shows {server}{rights}", env!("CARGO_PKG_VERSION"));
    writeln_out!("console: https://{address}/console/{}", console.sign_in_fragment());
    local_server::serve(listener, tls, Arc::new(Shown(console))).await
}

/// The API server of the kubeconfig.
struct Remote {
    upstream: Upstream,
    /// The directory of the kubeconfig, to which commands are relative.
    home: PathBuf,
    /// The client with the newest credentials, and since when it has them.
    client: RwLock<(Arc<UpstreamClient>, Instant)>,
}

/// Credentials of plugins that were refused are not asked for anew before this.
const ASKED_AGAIN: Duration = Duration::from_secs(5);

/// The most that is read of the answer to a question of our own.
const ANSWER: usize = 1 << 20;

impl Remote {
    async fn new(upstream: Upstream, kubeconfig: &Path) -> Result<Self, String> {
        let home = kubeconfig.parent().unwrap_or(Path::new(".")).to_owned();
        let client = connect(&upstream, &home).await?;
        Ok(Self { upstream, home, client: RwLock::new((client, Instant::now())) })
    }

    fn client(&self) -> (Arc<UpstreamClient>, Instant) {
        self.client.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sends a request; if the credentials of a plugin have expired, once more with new ones.
    async fn send_signed(&self, request: Request<Bytes>) -> Result<Response<Incoming>, String> {
        let (client, since) = self.client();
        let signed = |client: &UpstreamClient| {
            let mut request = request.clone();
            client.sign(request.headers_mut());
            request
        };
        let response = client.send(signed(&client)).await?;
        if response.status().as_u16() != 401 || self.upstream.exec.is_none() || since.elapsed() < ASKED_AGAIN
        {
            return Ok(response);
        }
        let client = connect(&self.upstream, &self.home).await?;
        *self.client.write().unwrap_or_else(PoisonError::into_inner) = (client.clone(), Instant::now());
        client.send(signed(&client)).await
    }

    /// The user of the credentials, as the API server knows it.
    async fn user(&self) -> Result<Arc<UserInfo>, String> {
        let review = br#"{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}"#;
        let mut request = Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
            .body(Bytes::from_static(review))
            .map_err(|error| error.to_string())?;
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let response = self.send(request).await?;
        let code = response.status();
        if code.as_u16() == 401 {
            return Err("the credentials of the kubeconfig are refused".to_owned());
        }
        let body =
            Limited::new(response.into_body(), ANSWER).collect().await.map_err(|error| error.to_string())?;
        let review = pleach_json::parse(&body.to_bytes()).unwrap_or_default();
        let info = review.at(&["status", "userInfo"]);
        // API servers before 1.28 do not say.
        let name = info.and_then(|info| info.get("username")).and_then(Value::as_str).unwrap_or("kubeconfig");
        let groups = info.and_then(|info| info.get("groups")).and_then(Value::as_array);
        let groups =
            groups.into_iter().flat_map(|groups| groups.iter()).filter_map(Value::as_str).map(Str::from);
        Ok(UserInfo::authenticated(name, groups))
    }
}

impl RemoteApi for Remote {
    fn send(
        &self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Incoming>, String>> + Send + '_>> {
        Box::pin(self.send_signed(request))
    }
}

/// A client with the credentials of the kubeconfig, or those that its plugin prints.
async fn connect(upstream: &Upstream, home: &Path) -> Result<Arc<UpstreamClient>, String> {
    let mut upstream = upstream.clone();
    if let Some(plugin) = upstream.exec.clone() {
        let home = home.to_owned();
        let ran = tokio::task::spawn_blocking(move || run_plugin(&plugin, &home)).await;
        upstream.credentials = ran.map_err(|error| error.to_string())??;
    }
    UpstreamClient::new(&upstream).map(Arc::new).map_err(|error| error.to_string())
}

/// Runs a credential plugin as kubectl does. What it has to say to people goes to this terminal.
fn run_plugin(plugin: &ExecPlugin, home: &Path) -> Result<Credentials, String> {
    let command = &plugin.command;
    // A path is relative to the kubeconfig; a name is looked for in PATH.
    let program = if command.contains('/') { home.join(command) } else { PathBuf::from(command) };
    let ran = process::Command::new(program)
        .args(&plugin.args)
        .envs(plugin.env.iter().map(|(name, value)| (name, value)))
        .env("KUBERNETES_EXEC_INFO", plugin.info())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("exec: {command}: {error}"))?;
    if !ran.status.success() {
        return Err(format!("exec: {command}: {}", ran.status));
    }
    ExecPlugin::credentials(&ran.stdout).map_err(|error| format!("exec: {command}: {error}"))
}

struct Shown(RemoteConsole);

impl Handler for Shown {
    async fn handle(
        &self,
        request: Request<Incoming>,
        _: Option<&Arc<UserInfo>>,
    ) -> Result<Answer, ConnectionReset> {
        let response = self.0.handle(request).await;
        Ok(response.map(|body| {
            let body =
                body.map_frame(|frame| frame.map_data(|mut data| data.copy_to_bytes(data.remaining())));
            UnsyncBoxBody::new(body.map_err(Into::into))
        }))
    }
}
