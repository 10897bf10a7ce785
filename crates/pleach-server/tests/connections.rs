//! How long connections and requests are kept, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pleach_engine::deterministic;
use pleach_engine::webhooks::{Address, CallFuture, Caller};
use pleach_server::app::App;
use pleach_server::authentication::authenticators;
use pleach_server::inflight::{BoundedCaller, InflightLimits};
use pleach_server::serve::{Limits, serve};
use pleach_server::tls::{self, Authority, ClientCertificates, ProtocolOptions, ServingCertificates, Tls};
use pleach_store::ModelStore;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const IDLE: Duration = Duration::from_millis(400);

/// A webhook that never answers, and counts the calls that wait for it.
#[derive(Clone, Default)]
struct Webhook(Arc<AtomicUsize>);

impl Webhook {
    async fn has(&self, calls: usize) {
        while self.0.load(Ordering::SeqCst) != calls {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

struct Waiting(Arc<AtomicUsize>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Caller for Webhook {
    fn call<'a>(&'a self, _: &'a Address, _: bytes::Bytes, _: Duration) -> CallFuture<'a> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let waiting = Waiting(self.0.clone());
        Box::pin(async move {
            let _waiting = waiting;
            std::future::pending().await
        })
    }
}

struct Server {
    address: SocketAddr,
    certificate: String,
    stop: oneshot::Sender<()>,
    ended: tokio::task::JoinHandle<()>,
}

impl Server {
    async fn start() -> Self {
        Self::with_webhook(Webhook::default()).await
    }

    async fn with_webhook(webhook: Webhook) -> Self {
        let limits =
            Limits { header_read: IDLE, idle: IDLE, drain: Duration::from_secs(1), ..Limits::default() };
        Self::start_with(limits, InflightLimits::default(), webhook).await
    }

    async fn start_with(limits: Limits, inflight: InflightLimits, webhook: Webhook) -> Self {
        let engine = deterministic::engine(Arc::new(ModelStore::new()))
            .with_caller(Arc::new(BoundedCaller::new(webhook, &inflight)));
        engine.start().await.unwrap();
        let authority = Authority::generate().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = authority.serving(&tls::serving_names(address.ip())).unwrap();
        let clients = ClientCertificates::new(&[&authority.certificate]).unwrap();
        let serving = ServingCertificates::new(&serving, &[]).unwrap();
        let tls = Tls::new(serving, clients, &ProtocolOptions::default()).unwrap();
        let app = Arc::new(App::new(Arc::new(engine), authenticators(Some("secret".into())), &inflight));
        let (stop, stopped) = oneshot::channel::<()>();
        let stop_at = async move { drop(stopped.await) };
        let ended = tokio::spawn(serve(listener, tls, app, limits, stop_at));
        Self { address, certificate: authority.certificate, stop, ended }
    }

    async fn connect(&self, protocol: &str) -> TlsStream<TcpStream> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap()).unwrap();
        let mut config = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
    }

    /// Begins a write.
    async fn post(&self, path: &str, object: &str) -> TlsStream<TcpStream> {
        let rest =
            format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{object}", object.len());
        let mut stream = self.connect("http/1.1").await;
        stream.write_all(request(&format!("POST {path}"), &rest).as_bytes()).await.unwrap();
        stream
    }

    /// A write like any other, which must work.
    async fn create_a_map(&self) {
        self.create(r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#).await;
    }

    async fn create(&self, map: &str) {
        let mut stream = self.post("/api/v1/namespaces/default/configmaps", map).await;
        read_until(&mut stream, "201 Created").await;
    }
}

fn request(line: &str, rest: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n{rest}")
}

/// Reads until something was said.
async fn read_until(stream: &mut TlsStream<TcpStream>, text: &str) -> String {
    let mut said = Vec::new();
    loop {
        let so_far = String::from_utf8_lossy(&said).into_owned();
        if so_far.contains(text) {
            return so_far;
        }
        let read = stream.read_buf(&mut said).await.unwrap();
        assert!(read > 0, "closed before {text:?}: {so_far}");
    }
}

/// How long it takes until the other side closes.
async fn closed_after(stream: &mut TlsStream<TcpStream>) -> Duration {
    let began = Instant::now();
    let mut rest = Vec::new();
    // Whether the end is orderly does not matter here.
    let _ = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut rest)).await.unwrap();
    began.elapsed()
}

#[tokio::test]
async fn connections_on_which_nothing_happens_are_closed() {
    let server = Server::start().await;
    let mut silent = server.connect("http/1.1").await;
    let mut rested = server.connect("http/1.1").await;
    rested.write_all(request("GET /readyz", "\r\n").as_bytes()).await.unwrap();
    read_until(&mut rested, "ok").await;
    let mut slow = server.connect("http/1.1").await;
    slow.write_all(b"GET /readyz HT").await.unwrap();
    let mut http2 = server.connect("h2").await;
    // The preface and empty settings; what the server says is never acknowledged.
    http2.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    for (why, stream) in [
        ("says nothing", &mut silent),
        ("is done", &mut rested),
        ("stops within a line", &mut slow),
        ("speaks HTTP/2 and asks nothing", &mut http2),
    ] {
        closed_after(stream).await;
        eprintln!("closed: one that {why}");
    }
}

#[tokio::test]
async fn a_watch_keeps_its_connection() {
    let server = Server::start().await;
    let mut watch = server.connect("http/1.1").await;
    let line = "GET /api/v1/namespaces/default/configmaps?watch=1&timeoutSeconds=30";
    watch.write_all(request(line, "\r\n").as_bytes()).await.unwrap();
    read_until(&mut watch, "\r\n\r\n").await;
    tokio::time::sleep(IDLE * 5).await;
    server.create_a_map().await;
    read_until(&mut watch, r#""type":"ADDED""#).await;
}

/// A server with more in a list than sockets and windows hold, and one place for reads.
async fn with_a_large_list(unread: Duration) -> Server {
    let limits = Limits { unread, ..Limits::default() };
    let server = Server::start_with(limits, one_read(), Webhook::default()).await;
    for i in 0..24 {
        let text = "x".repeat(900_000);
        let map = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m{i}"}},"data":{{"x":"{text}"}}}}"#
        );
        server.create(&map).await;
    }
    server
}

/// One place for reads, and none in reserve.
fn one_read() -> InflightLimits {
    InflightLimits { exempt_readonly: 1, ..InflightLimits::default() }
}

const LIST: &str = "GET /api/v1/namespaces/default/configmaps";

impl Server {
    /// The status of a read.
    async fn status(&self) -> String {
        let mut stream = self.connect("http/1.1").await;
        stream.write_all(request(&format!("{LIST}/m0"), "\r\n").as_bytes()).await.unwrap();
        read_until(&mut stream, "\r\n").await[9..12].to_owned()
    }

    /// Waits until there is a place for a read.
    async fn is_free(&self) {
        for _ in 0..400 {
            if self.status().await == "200" {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("no place for a read");
    }
}

#[tokio::test]
async fn an_answer_holds_its_place_until_it_is_taken() {
    let server = with_a_large_list(Duration::from_mins(10)).await;
    let mut slow = server.connect("http/1.1").await;
    slow.write_all(request(LIST, "\r\n").as_bytes()).await.unwrap();
    read_until(&mut slow, "200 OK").await;
    assert_eq!(server.status().await, "429", "the list has not been taken");
    let mut left = Vec::new();
    while !left.ends_with(b"0\r\n\r\n") {
        left.drain(..left.len().saturating_sub(8));
        assert!(slow.read_buf(&mut left).await.unwrap() > 0, "the list goes on");
    }
    server.is_free().await;
}

#[tokio::test]
async fn a_peer_that_takes_nothing_is_cut() {
    let server = with_a_large_list(IDLE).await;
    let mut slow = server.connect("http/1.1").await;
    slow.write_all(request(LIST, "\r\n").as_bytes()).await.unwrap();
    server.is_free().await;
    let mut rest = Vec::new();
    let _ = slow.read_to_end(&mut rest).await;
    assert!(!rest.ends_with(b"0\r\n\r\n"), "the list has no regular end");
}

#[tokio::test]
async fn a_websocket_whose_peer_takes_nothing_is_cut() {
    let server = with_a_large_list(IDLE).await;
    let mut slow = server.connect("http/1.1").await;
    let handshake = "Origin: http://x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                     Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    slow.write_all(request(&format!("{LIST}?watch=1"), handshake).as_bytes()).await.unwrap();
    tokio::time::sleep(IDLE * 5).await;
    let mut rest = Vec::new();
    // A watch that is still open has no end.
    let end = tokio::time::timeout(Duration::from_secs(20), slow.read_to_end(&mut rest)).await;
    assert!(end.is_ok(), "the connection has ended");
    assert!(String::from_utf8_lossy(&rest[..200]).starts_with("HTTP/1.1 101 "));
}

#[tokio::test]
async fn a_stream_that_takes_nothing_is_given_up_and_its_connection_is_not() {
    let server = with_a_large_list(IDLE).await;
    let socket = server.connect("h2").await;
    let (requests, connection) =
        h2::client::Builder::new().initial_window_size(0).handshake::<_, bytes::Bytes>(socket).await.unwrap();
    let driver = tokio::spawn(connection);
    let ask = async |path: &str| {
        let request = http::Request::get(format!("https://x{path}")).header("authorization", "Bearer secret");
        let mut requests = requests.clone().ready().await.unwrap();
        requests.send_request(request.body(()).unwrap(), true).unwrap().0.await.unwrap()
    };
    let list = ask("/api/v1/namespaces/default/configmaps").await;
    assert_eq!(list.status(), 200);
    assert_eq!(
        ask("/api/v1/namespaces/default/configmaps/m0").await.status(),
        429,
        "the only place is taken"
    );
    server.is_free().await;
    assert!(list.into_body().data().await.unwrap().is_err(), "the stream was reset");
    assert_eq!(ask("/api/v1/namespaces/default/configmaps/m0").await.status(), 200, "the connection goes on");
    driver.abort();
}

#[tokio::test]
async fn connections_give_way_when_there_are_too_many() {
    let limits = Limits { connections: 4, ..Limits::default() };
    let server = Server::start_with(limits, InflightLimits::default(), Webhook::default()).await;
    let mut known = server.connect("http/1.1").await;
    known.write_all(request("GET /api/v1/namespaces", "\r\n").as_bytes()).await.unwrap();
    read_until(&mut known, "200 OK").await;
    let mut strangers = Vec::new();
    for _ in 0..20 {
        strangers.push(TcpStream::connect(server.address).await.unwrap());
    }
    server.create_a_map().await;
    known.write_all(request("GET /version", "\r\n").as_bytes()).await.unwrap();
    read_until(&mut known, "gitVersion").await;
}

#[tokio::test]
async fn a_body_that_never_comes_does_not_keep_its_place() {
    let server = Server::start().await;
    let limits = InflightLimits::default();
    let places = limits.exempt_mutating;
    let mut waiting = Vec::new();
    for _ in 0..places {
        let mut stream = server.connect("http/1.1").await;
        let post = "POST /api/v1/namespaces/default/configmaps?timeout=3s";
        let post = request(post, "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{");
        stream.write_all(post.as_bytes()).await.unwrap();
        waiting.push(stream);
    }
    let first = read_until(&mut waiting[0], "\"code\":504}").await;
    assert!(first.starts_with("HTTP/1.1 504 "), "{first}");
    assert!(first.contains("request did not complete within the allotted timeout"), "{first}");
    for stream in &mut waiting[1..] {
        read_until(stream, "\"code\":504}").await;
    }
    server.create_a_map().await;
}

#[tokio::test]
async fn a_body_that_comes_slowly_takes_no_place() {
    let one_write = InflightLimits { exempt_mutating: 1, ..InflightLimits::default() };
    let server = Server::start_with(Limits::default(), one_write, Webhook::default()).await;
    let map = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"slow"}}"#;
    let mut slow = server.connect("http/1.1").await;
    let head = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n", map.len());
    let post = request("POST /api/v1/namespaces/default/configmaps", &head);
    slow.write_all(post.as_bytes()).await.unwrap();
    slow.write_all(&map.as_bytes()[..1]).await.unwrap();
    // Long enough for the server to wait for the rest.
    tokio::time::sleep(Duration::from_millis(300)).await;
    server.create_a_map().await;
    slow.write_all(&map.as_bytes()[1..]).await.unwrap();
    read_until(&mut slow, "201 Created").await;
}

#[tokio::test]
async fn shutdown_ends_watches_and_closes_idle_connections() {
    let server = Server::start().await;
    let mut watch = server.connect("http/1.1").await;
    let line = "GET /api/v1/configmaps?watch=1&timeoutSeconds=30";
    watch.write_all(request(line, "\r\n").as_bytes()).await.unwrap();
    read_until(&mut watch, "\r\n\r\n").await;
    let mut idle = server.connect("h2").await;
    idle.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    server.stop.send(()).unwrap();
    tokio::time::timeout(Duration::from_secs(10), server.ended).await.unwrap().unwrap();
    let mut rest = Vec::new();
    watch.read_to_end(&mut rest).await.ok();
    assert!(String::from_utf8_lossy(&rest).ends_with("0\r\n\r\n"), "the watch ends in an orderly way");
}

#[tokio::test]
async fn a_request_that_ends_takes_its_call_to_a_webhook_with_it() {
    let webhook = Webhook::default();
    let server = Server::with_webhook(webhook.clone()).await;
    let configuration = r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"ValidatingWebhookConfiguration",
        "metadata":{"name":"slow"},"webhooks":[{"name":"slow.example.com","admissionReviewVersions":["v1"],
        "sideEffects":"None","clientConfig":{"url":"https://127.0.0.1:1/"},"timeoutSeconds":30,
        "rules":[{"apiGroups":[""],"apiVersions":["*"],"operations":["*"],"resources":["configmaps"]}]}]}"#;
    let configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    read_until(&mut server.post(configurations, configuration).await, "201 Created").await;
    let map = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}"#;
    let maps = "/api/v1/namespaces/default/configmaps";
    let gone = server.post(maps, map).await;
    webhook.has(1).await;
    drop(gone);
    webhook.has(0).await;
    let mut late = server.post(&format!("{maps}?timeout=1s"), map).await;
    read_until(&mut late, "\"code\":504").await;
    webhook.has(0).await;
}

#[tokio::test]
async fn http2_connections_of_unknown_clients_end_after_an_answer() {
    let server = Server::start().await;
    for (token, path, status, ends, why) in [
        ("wrong", "/api/v1/namespaces", 401, true, "credentials that are not valid"),
        ("", "/version", 200, true, "the anonymous user"),
        ("secret", "/api/v1/namespaces", 200, false, "a known user"),
    ] {
        let socket = server.connect("h2").await;
        let (requests, connection) = h2::client::handshake(socket).await.unwrap();
        let driver = tokio::spawn(connection);
        let ask = async || {
            let mut requests = requests.clone().ready().await?;
            let mut request = http::Request::get(format!("https://x{path}"));
            if !token.is_empty() {
                request = request.header("authorization", format!("Bearer {token}"));
            }
            requests.send_request(request.body(()).unwrap(), true)?.0.await
        };
        assert_eq!(ask().await.unwrap().status(), status, "{why}");
        if ends {
            drop(requests);
            let ended = tokio::time::timeout(Duration::from_secs(20), driver).await;
            assert!(ended.unwrap().unwrap().is_ok(), "{why}: an orderly end");
        } else {
            assert_eq!(ask().await.unwrap().status(), status, "{why}");
            driver.abort();
        }
    }
}
