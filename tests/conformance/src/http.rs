//! A blocking HTTP/1.1 client that sends exactly what a case says: odd methods, odd paths, odd
//! headers. One connection per request, since a case is about answers and not about connections.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};

/// The value of a header that is not sent, and keeps the usual one of its name away.
pub(crate) const ABSENT: &str = "\0";

/// An answer whose body has not been read.
pub struct Connection {
    /// The status code.
    pub status: u16,
    /// Header names in lower case, and values.
    pub headers: Vec<(String, String)>,
    reader: BufReader<StreamOwned<ClientConnection, TcpStream>>,
    left: Left,
}

/// The rest of the body.
enum Left {
    Nothing,
    Exactly(usize),
    Chunked,
    UntilClose,
}

/// Where to connect, and with which token.
#[derive(Clone)]
pub struct Endpoint {
    /// The port on this machine.
    pub port: u16,
    /// The bearer token.
    pub token: String,
    tls: Arc<ClientConfig>,
}

impl Endpoint {
    /// A server on this machine; its certificate is not checked.
    pub fn new(port: u16, token: &str) -> Self {
        Self { port, token: token.to_owned(), tls: Arc::new(trusting()) }
    }

    /// The same with another configuration of TLS. The name of the server is `localhost`.
    #[must_use]
    pub fn with_tls(mut self, tls: Arc<ClientConfig>) -> Self {
        self.tls = tls;
        self
    }

    pub(crate) fn tls(&self) -> Arc<ClientConfig> {
        self.tls.clone()
    }

    /// Sends a request and reads the answer's head.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: Option<&str>,
        timeout: Duration,
    ) -> io::Result<Connection> {
        self.send_bytes(method, path, headers, body.map(str::as_bytes), timeout)
    }

    /// Sends a request whose body need not be text.
    pub fn send_bytes(
        &self,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: Option<&[u8]>,
        timeout: Duration,
    ) -> io::Result<Connection> {
        let stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(timeout))?;
        let name = ServerName::try_from("localhost").expect("localhost is a name");
        let session = ClientConnection::new(self.tls.clone(), name).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(session, stream);
        let has = |name: &str| headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n", self.port);
        if !has("accept") {
            head.push_str("Accept: application/json\r\n");
        }
        if !has("authorization") && !self.token.is_empty() {
            head.push_str(&format!("Authorization: Bearer {}\r\n", self.token));
        }
        if body.is_some() && !has("content-type") {
            head.push_str("Content-Type: application/json\r\n");
        }
        for (key, value) in headers.iter().filter(|(_, value)| value != ABSENT) {
            head.push_str(&format!("{key}: {value}\r\n"));
        }
        if let Some(body) = body {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("Connection: close\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        // A server may answer and close before it has read a body that it does not want.
        let _ = stream.write_all(body.unwrap_or_default());
        let _ = stream.flush();
        Connection::read_head(BufReader::new(stream), method)
    }
}

impl Connection {
    fn read_head(
        mut reader: BufReader<StreamOwned<ClientConnection, TcpStream>>,
        method: &str,
    ) -> io::Result<Self> {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let status = line
            .split(' ')
            .nth(1)
            .and_then(|code| code.parse().ok())
            .ok_or_else(|| io::Error::other(format!("not a status line: {line:?}")))?;
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some((key, value)) = line.split_once(':') {
                headers.push((key.trim().to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        let get = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
        let left = if method == "HEAD" || status == 304 || status == 204 {
            Left::Nothing
        } else if get("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
            Left::Chunked
        } else if let Some(length) = get("content-length").and_then(|value| value.parse().ok()) {
            Left::Exactly(length)
        } else {
            Left::UntilClose
        };
        Ok(Self { status, headers, reader, left })
    }

    /// The whole body.
    pub fn body(mut self) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        match self.left {
            Left::Nothing => {}
            Left::Exactly(length) => {
                out.resize(length, 0);
                self.reader.read_exact(&mut out)?;
            }
            Left::Chunked => while self.chunk(&mut out)? {},
            Left::UntilClose => {
                let _ = self.reader.read_to_end(&mut out);
            }
        }
        Ok(out)
    }

    /// Reads a streamed body and gives each line to `each` until the stream ends.
    pub fn lines(mut self, mut each: impl FnMut(&str)) -> io::Result<()> {
        let mut pending = Vec::new();
        loop {
            let more = match self.left {
                Left::Chunked => self.chunk(&mut pending)?,
                _ => self.reader.read_until(b'\n', &mut pending)? > 0,
            };
            while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = pending.drain(..=end).collect();
                each(String::from_utf8_lossy(&line).trim_end());
            }
            if !more {
                return Ok(());
            }
        }
    }

    /// The first line of a streamed body.
    pub fn first_line(mut self) -> io::Result<String> {
        let mut pending = Vec::new();
        loop {
            if let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
                return Ok(String::from_utf8_lossy(&pending[..end]).into_owned());
            }
            if !matches!(self.left, Left::Chunked) || !self.chunk(&mut pending)? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn chunk(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        let size = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
        let start = out.len();
        out.resize(start + size, 0);
        self.reader.read_exact(&mut out[start..])?;
        let mut end = [0; 2];
        self.reader.read_exact(&mut end)?;
        Ok(size > 0)
    }
}

/// TLS for a server on this machine, whose certificate is not checked.
pub fn trusting() -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("the provider has the default versions")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anyone(provider)))
        .with_no_client_auth()
}

/// Takes any certificate: the server under test is the one this process started.
#[derive(Debug)]
struct Anyone(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
