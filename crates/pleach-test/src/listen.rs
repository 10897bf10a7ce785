//! [`Listener`]: a server on a port, for clients in other processes.
//!
//! The port takes TLS and plain HTTP: kubectl and client-go send no token without TLS, and other clients need no CA then.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use pleach_server::kubeconfig;
use pleach_server::request_body::BODY_LIMIT;
use pleach_server::tls::{
    Authority, ClientCertificates, ProtocolOptions, ServingCertificates, Tls, serving_names,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::server::Server;

/// A server that listens on a port of this machine until this is dropped.
pub struct Listener {
    address: SocketAddr,
    token: String,
    /// The CA of the serving certificate, as PEM.
    ca: String,
    accepting: JoinHandle<()>,
}

impl Listener {
    pub(crate) async fn new(server: Server) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let (address, token) = (listener.local_addr()?, server.world().options().token.clone());
        let authority = Authority::generate()?;
        let serving = authority.serving(&serving_names(address.ip()))?;
        let clients = ClientCertificates::new(&[&authority.certificate])?;
        let tls = Tls::new(ServingCertificates::new(&serving, &[])?, clients, &ProtocolOptions::default())?;
        let accepting = tokio::spawn(accept(listener, tls, server));
        Ok(Self { address, token, ca: authority.certificate, accepting })
    }

    /// The URL in plain HTTP, for clients that send their token without TLS too.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The bearer token of the admin.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A kubeconfig of the admin, with TLS.
    pub fn kubeconfig(&self) -> String {
        kubeconfig::write(&format!("https://{}", self.address), &self.ca, None, Some(&self.token))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, tls: Tls, server: Server) {
    // Connections end with the listener.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(connection(stream, tls.clone(), server.clone()))),
                // Out of descriptors: some connection will end.
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// The first byte of a TLS connection.
const HANDSHAKE: u8 = 0x16;

async fn connection(stream: TcpStream, tls: Tls, server: Server) {
    let _ = stream.set_nodelay(true);
    let mut first = [0];
    match stream.peek(&mut first).await {
        Ok(1) if first[0] == HANDSHAKE => {
            if let Ok(stream) = tls.acceptor().accept(stream).await {
                requests(TokioIo::new(stream), server).await;
            }
        }
        Ok(1) => requests(TokioIo::new(stream), server).await,
        _ => {}
    }
}

async fn requests<S>(stream: TokioIo<S>, server: Server)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let world = server.world();
        async move {
            let (parts, body) = request.into_parts();
            // A body that is too large is refused by the server in its own words.
            let body = Limited::new(body, BODY_LIMIT + 1).collect().await;
            let body = body.map_or_else(
                |_| Bytes::from(vec![b' '; BODY_LIMIT + 1]),
                http_body_util::Collected::to_bytes,
            );
            world.handle(Request::from_parts(parts, body), None).await
        }
    });
    // A client that disconnects, or is cut off by a fault, is no error.
    let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(stream, service).await;
}
