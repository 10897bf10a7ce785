//! A webhook for tests: HTTPS on this machine, an answer per request from a function.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

/// The certificate of the authority that the webhook's is signed by; the recorded cases carry it.
pub const HOOK_CA: &str = include_str!("../certs/ca.crt");
const CERTIFICATE: &[u8] = include_bytes!("../certs/tls.crt");
const KEY: &[u8] = include_bytes!("../certs/tls.key");

/// A status code and a body.
pub type Reply = (u16, String);

/// A webhook that runs until the test's process ends.
pub struct HookServer {
    /// Where it listens on this machine.
    pub port: u16,
}

impl HookServer {
    /// Starts a webhook on a port of this machine, 0 for any. `answer` is given the path and the review.
    pub fn start(
        port: u16,
        answer: impl Fn(&str, &Value) -> Reply + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(CERTIFICATE).collect();
        let certificates = certificates.map_err(io::Error::other)?;
        let key = PrivateKeyDer::from_pem_slice(KEY).map_err(io::Error::other)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_single_cert(certificates, key)
            .map_err(io::Error::other)?;
        let config = Arc::new(config);
        let answer = Arc::new(answer);
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        let port = listener.local_addr()?.port();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (config, answer) = (config.clone(), answer.clone());
                std::thread::spawn(move || serve(stream, config, &*answer));
            }
        });
        Ok(Self { port })
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.port)
    }
}

/// Answers the requests of one connection; a client that goes away ends it.
fn serve(
    stream: TcpStream,
    config: Arc<ServerConfig>,
    answer: &(dyn Fn(&str, &Value) -> Reply + Send + Sync),
) -> io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_mins(1)))?;
    stream.set_nodelay(true)?;
    let session = ServerConnection::new(config).map_err(io::Error::other)?;
    let mut reader = BufReader::new(StreamOwned::new(session, stream));
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut length = 0;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            let header = header.trim_end().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(given) = header.strip_prefix("content-length:") {
                length = given.trim().parse().map_err(io::Error::other)?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let review: Value = serde_json::from_slice(&body).map_err(io::Error::other)?;
        let path = target.split('?').next().unwrap_or_default();
        let (status, text) = answer(path, &review);
        let media = if text.starts_with('{') { "application/json" } else { "text/plain" };
        let out = reader.get_mut();
        write!(
            out,
            "HTTP/1.1 {status} Whatever\r\nContent-Type: {media}\r\nContent-Length: {}\r\n\r\n{text}",
            text.len()
        )?;
        out.flush()?;
    }
}
