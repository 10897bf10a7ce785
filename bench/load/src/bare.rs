//! Baseline: a server that only sends bytes over the same HTTP and TLS.
//!
//! It answers `/bytes/N` with N bytes, whatever the method, after reading the request's body. `/stream` is a body
//! without an end; a POST to `/stream/N` sends its body, made N bytes long, as a line to every open one, and answers
//! with the same bytes.

use std::convert::Infallible;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt as _, Collected, Either, Full};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

use crate::client::Server;

/// Starts it in a process of its own.
pub(crate) async fn start() -> (Server, Child) {
    let own = std::env::current_exe().expect("this program has a path");
    let mut child = Command::new(own)
        .arg("bare")
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("this program starts again");
    let mut line = String::new();
    let out = child.stdout.take().expect("its output is piped");
    BufReader::new(out).read_line(&mut line).await.expect("it says where it listens");
    let pid = child.id().expect("it runs");
    (Server::new("bare", line.trim(), "none", vec![pid]), child)
}

/// Serves until it is killed.
pub(crate) async fn serve() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let mut config =
        rustls::ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider knows the default versions")
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .expect("certificate and key belong together");
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let tls = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    println!("https://{}", listener.local_addr().expect("an address"));
    let http = Arc::new(auto::Builder::new(TokioExecutor::new()));
    while let Ok((stream, _)) = listener.accept().await {
        let (tls, http) = (tls.clone(), http.clone());
        tokio::spawn(async move {
            stream.set_nodelay(true).expect("a TCP socket");
            let Ok(stream) = tls.accept(stream).await else { return };
            let _ = http.serve_connection(TokioIo::new(stream), service_fn(answer)).await;
        });
    }
}

/// Lines that may wait for a connection.
const WAITING: usize = 64;

/// The open streams.
static STREAMS: Mutex<Vec<mpsc::Sender<Bytes>>> = Mutex::new(Vec::new());

/// Lines as they come.
struct Lines(mpsc::Receiver<Bytes>);

impl Body for Lines {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|line| line.map(|line| Ok(Frame::data(line))))
    }
}

type Answer = Either<Full<Bytes>, Lines>;

async fn answer(request: Request<Incoming>) -> Result<Response<Answer>, Infallible> {
    static BYTES: [u8; 64 * 1024] = [b'x'; 64 * 1024];
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map(Collected::to_bytes).unwrap_or_default();
    let path = parts.uri.path();
    let size = path.rsplit('/').next().and_then(|n| n.parse().ok()).unwrap_or(0);
    let answer = if path == "/stream" {
        let (sender, lines) = mpsc::channel(WAITING);
        STREAMS.lock().unwrap_or_else(PoisonError::into_inner).push(sender);
        Either::Right(Lines(lines))
    } else if path.starts_with("/stream/") {
        let mut line = body.to_vec();
        line.resize(size - 1, b' ');
        line.push(b'\n');
        let line = Bytes::from(line);
        push(&line).await;
        Either::Left(Full::new(line))
    } else {
        Either::Left(Full::new(Bytes::from_static(&BYTES[..usize::min(size, BYTES.len())])))
    };
    let mut response = Response::new(answer);
    let json = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    Ok(response)
}

/// Sends a line to every open stream, and waits for room where there is none.
async fn push(line: &Bytes) {
    let full: Vec<_> = {
        let mut streams = STREAMS.lock().unwrap_or_else(PoisonError::into_inner);
        streams.retain(|stream| !stream.is_closed());
        let full = |stream: &&mpsc::Sender<Bytes>| {
            matches!(stream.try_send(line.clone()), Err(mpsc::error::TrySendError::Full(_)))
        };
        streams.iter().filter(full).cloned().collect()
    };
    for stream in full {
        let _ = stream.send(line.clone()).await;
    }
}
