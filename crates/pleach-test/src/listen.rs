//! [`Listener`]: a server on a port, for clients in other processes.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use pleach_server::request_body::BODY_LIMIT;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::server::Server;

/// A server that listens on a port of this machine until this is dropped.
pub struct Listener {
    address: SocketAddr,
    token: String,
    accepting: JoinHandle<()>,
}

impl Listener {
    pub(crate) async fn new(server: Server) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let (address, token) = (listener.local_addr()?, server.world().options().token.clone());
        Ok(Self { address, token, accepting: tokio::spawn(accept(listener, server)) })
    }

    /// The URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The bearer token of the admin.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A kubeconfig of the admin.
    pub fn kubeconfig(&self) -> String {
        format!(
            "apiVersion: v1\nkind: Config\nclusters:\n- name: test\n  cluster:\n    server: {}\nusers:\n- name: admin\n  \
             user:\n    token: {}\ncontexts:\n- name: test\n  context:\n    cluster: test\n    user: admin\n\
             current-context: test\n",
            self.url(),
            self.token
        )
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, server: Server) {
    // Connections end with the listener.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(connections.spawn(connection(stream, server.clone()))),
                // Out of descriptors: some connection will end.
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(50)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connection(stream: TcpStream, server: Server) {
    let _ = stream.set_nodelay(true);
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
    let _ = auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
}
