//! Connections to the server: HTTP/2 for clients that behave, bare TLS for those that do not.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// The server under test.
#[derive(Clone)]
pub(crate) struct Server {
    /// The port on this machine.
    pub(crate) port: u16,
    /// The admin's bearer token.
    pub(crate) token: String,
}

/// A status code and a body.
pub(crate) type Answer = (u16, Bytes);

impl Server {
    /// A TLS connection that speaks the given protocol.
    pub(crate) async fn connect(&self, protocol: &[u8]) -> io::Result<TlsStream<TcpStream>> {
        let tcp = TcpStream::connect(("127.0.0.1", self.port)).await?;
        tcp.set_nodelay(true)?;
        let mut config = pleach_conformance::trusting();
        config.alpn_protocols = vec![protocol.to_vec()];
        let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
        TlsConnector::from(Arc::new(config)).connect(name, tcp).await
    }

    /// An HTTP/2 connection.
    pub(crate) async fn http2(&self) -> io::Result<Http2> {
        let tls = self.connect(b"h2").await?;
        let (sender, connection) =
            handshake(TokioExecutor::new(), TokioIo::new(tls)).await.map_err(io::Error::other)?;
        tokio::spawn(connection);
        Ok(Http2 { server: self.clone(), sender })
    }

    /// One request on a connection of its own, given up after a while.
    pub(crate) async fn once(&self, request: Call) -> io::Result<Answer> {
        let send = async { self.http2().await?.send(&request).await };
        tokio::time::timeout(Duration::from_secs(90), send).await.map_err(io::Error::other)?
    }
}

/// A request.
#[derive(Clone)]
pub(crate) struct Call {
    method: Method,
    path: String,
    media: &'static str,
    agent: &'static str,
    body: Bytes,
}

impl Call {
    /// A request without a body.
    pub(crate) fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), media: "application/json", agent: "soak", body: Bytes::new() }
    }

    /// With a body.
    pub(crate) fn body(mut self, media: &'static str, body: impl Into<Bytes>) -> Self {
        (self.media, self.body) = (media, body.into());
        self
    }

    /// From a client of this name.
    pub(crate) fn agent(mut self, agent: &'static str) -> Self {
        self.agent = agent;
        self
    }

    /// Its description, for reports.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

/// An HTTP/2 connection.
pub(crate) struct Http2 {
    server: Server,
    sender: SendRequest<Full<Bytes>>,
}

impl Http2 {
    /// Sends a request and reads the head of the answer.
    pub(crate) async fn begin(&mut self, call: &Call) -> io::Result<http::Response<Incoming>> {
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(format!("https://127.0.0.1:{}{}", self.server.port, call.path))
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, call.agent)
            .header(header::AUTHORIZATION, format!("Bearer {}", self.server.token));
        if !call.body.is_empty() {
            request = request.header(header::CONTENT_TYPE, call.media);
        }
        let request = request.body(Full::new(call.body.clone())).map_err(io::Error::other)?;
        self.sender.ready().await.map_err(io::Error::other)?;
        self.sender.send_request(request).await.map_err(io::Error::other)
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn send(&mut self, call: &Call) -> io::Result<Answer> {
        let response = self.begin(call).await?;
        let status = response.status().as_u16();
        Ok((status, response.into_body().collect().await.map_err(io::Error::other)?.to_bytes()))
    }
}
