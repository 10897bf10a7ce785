//! A connection to a server: HTTP/2 over TLS, one request at a time.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A server under measurement.
#[derive(Clone)]
pub(crate) struct Server {
    /// Its name in the report.
    pub(crate) name: String,
    /// Host and port.
    pub(crate) address: String,
    /// The bearer token.
    pub(crate) token: String,
    /// Its processes.
    pub(crate) pids: Vec<u32>,
}

impl Server {
    /// A server at a URL.
    pub(crate) fn new(name: &str, url: &str, token: &str, pids: Vec<u32>) -> Self {
        let address = url.trim_start_matches("https://").trim_end_matches('/').to_owned();
        Self { name: name.into(), address, token: token.into(), pids }
    }
}

/// A request.
#[derive(Clone)]
pub(crate) struct Call {
    /// The method.
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) path: String,
    /// The body's media type.
    pub(crate) media: &'static str,
    /// The body.
    pub(crate) body: Bytes,
}

impl Call {
    /// A request without a body.
    pub(crate) fn new(method: Method, path: impl Into<String>) -> Self {
        Self { method, path: path.into(), media: "application/json", body: Bytes::new() }
    }

    /// The same with a body.
    pub(crate) fn with(mut self, media: &'static str, body: impl Into<Bytes>) -> Self {
        (self.media, self.body) = (media, body.into());
        self
    }
}

/// An open connection.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    authority: String,
    token: String,
}

impl Connection {
    /// Connects.
    pub(crate) async fn open(server: &Server) -> Self {
        let tcp = TcpStream::connect(&server.address).await.expect("the server listens");
        tcp.set_nodelay(true).expect("a TCP socket");
        let name = ServerName::try_from("localhost").expect("a host name");
        let tls = connector().connect(name, tcp).await.expect("a TLS handshake");
        let (sender, connection) =
            handshake(TokioExecutor::new(), TokioIo::new(tls)).await.expect("an HTTP/2 handshake");
        tokio::spawn(connection);
        Self { sender, authority: server.address.clone(), token: server.token.clone() }
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn send(&mut self, call: &Call) -> (StatusCode, Bytes) {
        let mut request = Request::builder()
            .method(call.method.clone())
            .uri(format!("https://{}{}", self.authority, call.path))
            .header(header::ACCEPT, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token));
        if !call.body.is_empty() {
            request = request.header(header::CONTENT_TYPE, call.media);
        }
        let request = request.body(Full::new(call.body.clone())).expect("a request");
        self.sender.ready().await.expect("the connection is open");
        let response = self.sender.send_request(request).await.expect("an answer");
        let status = response.status();
        let body = response.into_body().collect().await.expect("a whole answer").to_bytes();
        (status, body)
    }

    /// Opens a watch and reads it until it has so many events.
    pub(crate) async fn watch(&mut self, path: &str, events: usize, opened: impl FnOnce()) {
        let mut body = self.stream(path).await;
        opened();
        let mut seen = 0;
        while seen < events {
            let frame = body.frame().await.expect("events come").expect("the watch is open");
            let data = frame.into_data().unwrap_or_default();
            seen += data.split(|byte| *byte == b'\n').count() - 1;
        }
    }

    /// The body of the answer to a GET.
    async fn stream(&mut self, path: &str) -> Incoming {
        let request = Request::builder()
            .uri(format!("https://{}{path}", self.authority))
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token))
            .body(Full::new(Bytes::new()))
            .expect("a request");
        self.sender.ready().await.expect("the connection is open");
        let response = self.sender.send_request(request).await.expect("an answer");
        assert!(response.status().is_success(), "{path}: {}", response.status());
        response.into_body()
    }

    /// Opens a stream of lines and hands each to `line`, until it answers that it has seen enough.
    pub(crate) async fn lines(
        &mut self,
        path: &str,
        opened: impl FnOnce(),
        mut line: impl FnMut(&[u8]) -> bool,
    ) {
        let mut body = self.stream(path).await;
        opened();
        // The beginning of a line whose end is still to come.
        let mut begun = Vec::new();
        loop {
            let frame = body.frame().await.expect("events come").expect("the stream is open");
            let data = frame.into_data().unwrap_or_default();
            let mut rest = &data[..];
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let more = if begun.is_empty() {
                    line(&rest[..end])
                } else {
                    begun.extend_from_slice(&rest[..end]);
                    let more = line(&begun);
                    begun.clear();
                    more
                };
                if !more {
                    return;
                }
                rest = &rest[end + 1..];
            }
            begun.extend_from_slice(rest);
        }
    }

    /// Sends a request that must succeed.
    pub(crate) async fn must(&mut self, call: &Call) -> Bytes {
        let (status, body) = self.send(call).await;
        assert!(
            status.is_success(),
            "{} {}: {status}: {}",
            call.method,
            call.path,
            String::from_utf8_lossy(&body)
        );
        body
    }
}

fn connector() -> TlsConnector {
    let mut config = pleach_conformance::trusting();
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsConnector::from(Arc::new(config))
}
