//! Connects: looks a name up, dials, shakes hands.

use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls::pki_types::UnixTime;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::time_provider::TimeProvider;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::errors::{GoError, of_handshake, of_system};
use crate::services::ServiceMap;
use crate::stream::{Stream, TcpConnection};
use crate::trust::Trust;

const DIAL: Duration = Duration::from_secs(30);
const HANDSHAKE: Duration = Duration::from_secs(10);
const KEEP_ALIVE: Duration = Duration::from_secs(30);

/// The machine's clock for TLS. The library's own panics before 1970.
#[derive(Debug)]
struct SystemTime;

impl TimeProvider for SystemTime {
    fn current_time(&self) -> Option<UnixTime> {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Some(UnixTime::since_unix_epoch(since.unwrap_or_default()))
    }
}

/// Opens connections for a client.
#[derive(Clone)]
pub(crate) struct Connector {
    /// HTTP/1.1 only: one HTTP/2 connection would send everything to one of a service's backends.
    elsewhere: TlsConnector,
    /// This machine has one backend, and HTTP/2 is offered.
    here: TlsConnector,
    server_name: Option<String>,
    services: Arc<ServiceMap>,
}

impl Connector {
    pub(crate) fn new(
        trust: Arc<Trust>,
        server_name: Option<String>,
        certificate: Option<Arc<CertifiedKey>>,
        services: Arc<ServiceMap>,
    ) -> Result<Self, String> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_details(provider, Arc::new(SystemTime))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .dangerous()
            .with_custom_certificate_verifier(trust);
        let mut config = match certificate {
            Some(certificate) => {
                config.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(certificate)))
            }
            None => config.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let elsewhere = TlsConnector::from(Arc::new(config.clone()));
        config.alpn_protocols.insert(0, b"h2".to_vec());
        Ok(Self { elsewhere, here: TlsConnector::from(Arc::new(config)), server_name, services })
    }

    async fn connect(self, uri: Uri) -> Result<TokioIo<Stream>, GoError> {
        let host = uri.host().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let port = uri.port_u16().unwrap_or(443);
        let wire = match self.services.get(host, port) {
            Some((host, port)) => dial(host, port).await?,
            None => dial(host, port).await?,
        };
        let wanted = self.server_name.as_deref().unwrap_or(host);
        // A dot at the end says that a name is whole; it is not part of it.
        let wanted = wanted.strip_suffix('.').unwrap_or(wanted).to_owned();
        let name = ServerName::try_from(wanted).map_err(|_| {
            GoError(
                "tls: either ServerName or InsecureSkipVerify must be specified in the tls.Config".to_owned(),
            )
        })?;
        let connector = if is_here(host) { self.here } else { self.elsewhere };
        let shaken = timeout(HANDSHAKE, connector.connect(name, wire).into_fallible())
            .await
            .map_err(|_| GoError("net/http: TLS handshake timeout".to_owned()))?;
        match shaken {
            Ok(tls) => Ok(TokioIo::new(Stream::new(tls))),
            Err((_, wire)) if wire.speaks_http() => {
                Err(GoError("http: server gave HTTP response to HTTPS client".to_owned()))
            }
            Err((error, _)) => Err(GoError(of_handshake(&error))),
        }
    }
}

impl tower_service::Service<Uri> for Connector {
    type Response = TokioIo<Stream>;
    type Error = GoError;
    type Future = Pin<Box<dyn Future<Output = Result<TokioIo<Stream>, GoError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), GoError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(self.clone().connect(uri))
    }
}

/// Whether a host is this machine by its name alone.
fn is_here(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// A connection to the first address that takes one; the error is that of the first address.
async fn dial(host: &str, port: u16) -> Result<TcpConnection, GoError> {
    let addresses = timeout(DIAL, look_up(host, port))
        .await
        .map_err(|_| GoError(format!("dial tcp: lookup {host}: i/o timeout")))??;
    let mut first = None;
    for address in addresses {
        match timeout(DIAL, open(address)).await {
            Ok(Ok(wire)) => return Ok(wire),
            Ok(Err(error)) => {
                first.get_or_insert_with(|| format!("dial tcp {address}: connect: {}", of_system(&error)));
            }
            Err(_) => {
                first.get_or_insert_with(|| format!("dial tcp {address}: i/o timeout"));
            }
        }
    }
    Err(GoError(first.unwrap_or_else(|| format!("dial tcp: lookup {host}: no such host"))))
}

async fn open(address: SocketAddr) -> io::Result<TcpConnection> {
    let tcp = TcpStream::connect(address).await?;
    tcp.set_nodelay(true)?;
    let keep_alive = TcpKeepalive::new().with_time(KEEP_ALIVE).with_interval(KEEP_ALIVE);
    SockRef::from(&tcp).set_tcp_keepalive(&keep_alive)?;
    TcpConnection::new(tcp)
}

async fn look_up(host: &str, port: u16) -> Result<Vec<SocketAddr>, GoError> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![(address, port).into()]);
    }
    if !is_name(host) {
        return Err(GoError(format!("dial tcp: lookup {host}: no such host")));
    }
    match resolve(host.to_owned(), port).await {
        Ok(found) => Ok(found),
        Err(error) => {
            let server = name_server().await;
            // The resolver's texts are not Go's; only two cases can be told apart.
            let why =
                if error.to_string().contains("Temporary") { "server misbehaving" } else { "no such host" };
            Err(GoError(format!("dial tcp: lookup {host} on {server}: {why}")))
        }
    }
}

/// Asks the system's resolver, which blocks its thread. It cannot be cancelled, so the permit is kept until
/// it is done: name servers that do not answer must not take all threads of the runtime.
async fn resolve(host: String, port: u16) -> io::Result<Vec<SocketAddr>> {
    static LOOKUPS: Semaphore = Semaphore::const_new(32);
    let permit = LOOKUPS.acquire().await.map_err(io::Error::other)?;
    let look_up = move || {
        let _permit = permit;
        Ok((host.as_str(), port).to_socket_addrs()?.collect())
    };
    tokio::task::spawn_blocking(look_up).await.map_err(io::Error::other)?
}

/// Whether a host is a name that may be looked up.
fn is_name(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    !host.is_empty() && host.len() <= 253 && host.split('.').all(|label| (1..=63).contains(&label.len()))
}

/// The first name server of the resolver's configuration, for the text of an error.
async fn name_server() -> SocketAddr {
    let text = tokio::fs::read_to_string("/etc/resolv.conf").await.unwrap_or_default();
    let first = text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        words.next().filter(|word| *word == "nameserver")?;
        words.next()?.parse().ok()
    });
    (first.unwrap_or(IpAddr::from([127, 0, 0, 1])), 53).into()
}
