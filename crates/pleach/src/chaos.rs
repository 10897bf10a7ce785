//! `pleach chaos`: fault rules and the log of requests in front of any API server.

use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Parser as _};
use http::Request;
use http::header::UPGRADE;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Incoming;
use pleach_auth::UserInfo;
use pleach_chaos::{Proxy, Upstream};
use pleach_json::Map;
use pleach_server::kubeconfig;
use pleach_server::outcome::Outcome;
use pleach_server::query::Query;
use pleach_server::request_info::RequestInfo;
use pleach_world::{ConnectionReset, Script, parse_rules};
use tokio::net::TcpListener;

use crate::certificates::{self, Certificates};
use crate::cli::{Cli, Command};
use crate::data_dir::{DataDir, write_private};
use crate::files::{at, read};
use crate::local_server::{self, Answer, Handler, has_token, json, text, whole};
use crate::script_control;
use crate::serve::{new_token, runtime};

/// The name under which the proxy answers what worlds answer.
const CONTROL: &str = "/pleach/worlds/default";

/// Options of `pleach chaos`.
#[derive(Debug, Args)]
pub(crate) struct ChaosOptions {
    /// The URL of the API server; that of the kubeconfig if not given.
    #[arg(long, value_name = "URL", required_unless_present = "upstream_kubeconfig")]
    pub proxy: Option<String>,
    /// A kubeconfig for the API server: its address, CA and credentials. They are used for requests with the proxy's
    /// own token; all others are sent with theirs.
    #[arg(long, value_name = "FILE")]
    pub upstream_kubeconfig: Option<PathBuf>,
    /// The CA of the API server, as PEM; that of the kubeconfig or the system's if not given.
    #[arg(long, value_name = "FILE")]
    pub certificate_authority: Option<PathBuf>,
    /// Take any certificate of the API server.
    #[arg(long)]
    pub insecure_skip_tls_verify: bool,
    /// Fault rules to begin with: a list in YAML, see docs/testing.md.
    #[arg(long, value_name = "FILE")]
    pub faults: Option<PathBuf>,
    /// The seed of the rules' probabilities.
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub seed: u64,
    /// The port to listen on, on this machine only; 0 takes any free port and prints it.
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// The bearer token that opens the rules and the log, and the credentials of the kubeconfig; generated if not given.
    #[arg(long, env = "PLEACH_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// Stop when the process that started the proxy has ended, also by SIGKILL.
    #[arg(long)]
    pub end_with_parent: bool,
    /// Where to write a kubeconfig for clients of the proxy.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
}

/// Runs the proxy until a signal stops it.
pub(crate) fn run(options: &ChaosOptions) -> Result<(), Box<dyn Error>> {
    if options.end_with_parent {
        pleach_envtest::parent::end_with_parent();
    }
    runtime()?.block_on(serve(options))
}

async fn serve(options: &ChaosOptions) -> Result<(), Box<dyn Error>> {
    let token = options.token.clone().unwrap_or_else(new_token);
    let script = Arc::new(Script::new(options.seed));
    if let Some(path) = &options.faults {
        let rules = parse_rules(read(path)?.as_bytes()).map_err(|error| at(path, &error.to_string()))?;
        for rule in rules {
            script.add_rule(rule);
        }
    }
    let proxy = Proxy::new(&upstream(options)?, token.clone(), script)?;
    let directory = DataDir::temporary()?;
    let authority = directory.authority()?;
    // The flags of a server that nothing was said to.
    let Command::Serve(flags) = Cli::try_parse_from(["pleach", "serve", "--in-memory"])?.command else {
        return Err("there are no options of a server".into());
    };
    let Certificates { tls, roots, admin, .. } = certificates::open(&flags, Some(&authority), &directory)?;
    let listener = TcpListener::bind(SocketAddr::new(flags.bind, options.port)).await?;
    let address = listener.local_addr()?;
    let path = options.kubeconfig.clone().unwrap_or_else(|| directory.kubeconfig());
    write_private(
        &path,
        &kubeconfig::write(&format!("https://{address}"), &roots, admin.as_ref(), Some(&token)),
    )?;
    writeln_out!("pleach {} serves at http://{address}", env!("CARGO_PKG_VERSION"));
    writeln_out!("export KUBECONFIG={}", path.display());
    local_server::serve(listener, tls, Arc::new(Chaos { proxy, token })).await
}

/// The API server that the options name.
fn upstream(options: &ChaosOptions) -> Result<Upstream, Box<dyn Error>> {
    let mut upstream = match &options.upstream_kubeconfig {
        Some(path) => {
            let upstream = of_kubeconfig(path, None)?;
            if upstream.exec.is_some() {
                return Err(at(path, "credentials of plugins (exec) are not supported here").into());
            }
            upstream
        }
        None => Upstream::default(),
    };
    if let Some(url) = &options.proxy {
        upstream.server.clone_from(url);
    }
    if let Some(path) = &options.certificate_authority {
        upstream.certificate_authority = Some(read(path)?);
    }
    upstream.insecure_skip_tls_verify |= options.insecure_skip_tls_verify;
    Ok(upstream)
}

/// The API server of a kubeconfig.
pub(crate) fn of_kubeconfig(path: &Path, context: Option<&str>) -> Result<Upstream, String> {
    let home = path.parent().unwrap_or(Path::new("."));
    // Files in a kubeconfig are beside it.
    Upstream::of_kubeconfig(read(path)?.as_bytes(), context, |file| read(&home.join(file)))
        .map_err(|error| at(path, &error))
}

/// Whether a request becomes another protocol (exec, port forwarding). A watch over WebSocket does not: clients are made
/// to open an ordinary one, so that rules apply to it.
fn is_upgrade(request: &Request<Incoming>) -> bool {
    let query = Query::parse(request.uri().query());
    request.headers().contains_key(UPGRADE)
        && RequestInfo::new(request.method(), request.uri().path(), &query).verb.as_str() != "watch"
}

struct Chaos {
    proxy: Proxy,
    token: String,
}

impl Handler for Chaos {
    async fn handle(
        &self,
        mut request: Request<Incoming>,
        user: Option<&Arc<UserInfo>>,
    ) -> Result<Answer, ConnectionReset> {
        if let Some(rest) = request.uri().path().strip_prefix(CONTROL) {
            let parts: Vec<String> =
                rest.split('/').filter(|part| !part.is_empty()).map(Into::into).collect();
            return Ok(self.control(&whole(request).await, &parts));
        }
        // The client certificate of the proxy's own kubeconfig stands for its token.
        if user.is_some() && !request.headers().contains_key(http::header::AUTHORIZATION) {
            let value = format!("Bearer {}", self.token).parse().map_err(|_| ConnectionReset)?;
            request.headers_mut().insert(http::header::AUTHORIZATION, value);
        }
        if is_upgrade(&request) {
            let answer = self.proxy.upgrade(request).await?;
            return Ok(answer.map(|body| UnsyncBoxBody::new(body.map_err(|never| match never {}))));
        }
        Ok(self.proxy.handle(whole(request).await).await?.map(UnsyncBoxBody::new))
    }
}

impl Chaos {
    /// Answers a request about the rules or the log.
    fn control(&self, request: &Request<bytes::Bytes>, parts: &[String]) -> Answer {
        if !has_token(request.headers(), &self.token) {
            return text(Outcome::NotSignedIn, "the proxy's token is needed\n".to_owned());
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (method, query) = (request.method().as_str(), request.uri().query().unwrap_or_default());
        let script = self.proxy.script();
        let answer = match (method, parts.as_slice()) {
            ("POST", ["restart"]) => {
                let body: &[u8] = if request.body().is_empty() { b"{}" } else { request.body() };
                let input = pleach_json::parse(body).map_err(|error| error.to_string());
                input.and_then(|input| script_control::away(&input)).map(|away| {
                    script.cut(away);
                    json(&Map::new().into())
                })
            }
            _ => script_control::answer(script, method, &parts, query, request.body())
                .unwrap_or_else(|| Err(format!("{method} is not possible here"))),
        };
        answer.unwrap_or_else(|message| text(Outcome::BadPath, message + "\n"))
    }
}
