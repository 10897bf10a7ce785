//! A member of the cluster: its connection, and whether it answers.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
};
use std::time::Duration;

use pleach_store::StoreError;
use tokio::sync::Mutex;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};

use crate::options::{Options, ReadIdentity};

/// Connections are checked this often when nothing arrives.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);

/// How connections to a member with TLS are made.
struct Tls {
    config: ClientTlsConfig,
    identity: Option<Arc<ReadIdentity>>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

/// One member.
#[derive(Debug)]
pub(crate) struct Member {
    /// Without TLS.
    endpoint: Endpoint,
    tls: Option<Tls>,
    /// The connection, with a number that tells it from later ones.
    pub(crate) connection: Mutex<Option<(usize, Channel)>>,
    made: AtomicUsize,
    /// Its last call got no answer: other members are asked first, until it has answered a read.
    pub(crate) failed: AtomicBool,
}

impl Member {
    pub(crate) fn new(url: &str, options: &Options) -> Result<Self, StoreError> {
        let refuse = |why: String| invalid(format!("etcd server {url:?}: {why}"));
        let mut tls_of_all = None;
        let endpoint = Endpoint::from_shared(url.to_owned())
            .map_err(|error| refuse(error.to_string()))?
            .connect_timeout(options.connect_timeout)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .keep_alive_while_idle(true)
            .tcp_nodelay(true)
            .initial_stream_window_size(4 << 20)
            .initial_connection_window_size(16 << 20);
        match endpoint.uri().scheme_str() {
            Some("http") => {}
            Some("https") => {
                let tls = ClientTlsConfig::new();
                tls_of_all = Some(match &options.ca {
                    Some(ca) => tls.ca_certificate(Certificate::from_pem(ca)),
                    None => tls.with_native_roots(),
                });
            }
            _ => return Err(refuse("it must start with http:// or https://".into())),
        }
        let tls = tls_of_all.map(|config| Tls { config, identity: options.identity.clone() });
        let member = Self {
            endpoint,
            tls,
            connection: Mutex::default(),
            made: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
        };
        member.endpoint().map_err(refuse)?;
        Ok(member)
    }

    /// The endpoint, with the client's certificate as it is now.
    fn endpoint(&self) -> Result<Endpoint, String> {
        let Some(tls) = &self.tls else { return Ok(self.endpoint.clone()) };
        let mut config = tls.config.clone();
        if let Some(identity) = &tls.identity {
            let (certificate, key) = identity()?;
            config = config.identity(Identity::from_pem(certificate, key));
        }
        self.endpoint.clone().tls_config(config).map_err(|error| with_causes(&error))
    }

    /// The connection, made if there is none.
    pub(crate) async fn connection(&self) -> Result<(usize, Channel), Arc<str>> {
        let mut connection = self.connection.lock().await;
        if let Some((number, channel)) = &*connection {
            return Ok((*number, channel.clone()));
        }
        let endpoint = self.endpoint()?;
        let channel = endpoint.connect().await.map_err(|error| {
            Arc::<str>::from(format!("cannot connect to {}: {}", self.endpoint.uri(), with_causes(&error)))
        })?;
        let number = self.made.fetch_add(1, Relaxed);
        *connection = Some((number, channel.clone()));
        Ok((number, channel))
    }

    /// Drops a connection that broke, unless there is a new one already.
    pub(crate) async fn drop_connection(&self, broken: usize) {
        let mut connection = self.connection.lock().await;
        if matches!(&*connection, Some((number, _)) if *number == broken) {
            *connection = None;
        }
    }
}

pub(crate) fn invalid(why: String) -> StoreError {
    StoreError::io(why, std::io::ErrorKind::InvalidInput.into())
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
