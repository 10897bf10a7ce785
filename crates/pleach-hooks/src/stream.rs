//! A connection whose errors name both of its ends.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::errors::{GoError, of_system};
use crate::received::Received;

/// A TCP connection. It keeps the first bytes received: a server that speaks plain HTTP has an error of its own, and
/// TLS only sees a record it cannot read.
#[derive(Debug)]
pub(crate) struct TcpConnection {
    tcp: TcpStream,
    local: SocketAddr,
    peer: SocketAddr,
    first: Vec<u8>,
}

/// How many bytes tell HTTP from TLS.
const FIRST: usize = 5;

impl TcpConnection {
    pub(crate) fn new(tcp: TcpStream) -> io::Result<Self> {
        let (local, peer) = (tcp.local_addr()?, tcp.peer_addr()?);
        Ok(Self { tcp, local, peer, first: Vec::new() })
    }

    /// Whether the first bytes received were HTTP.
    pub(crate) fn speaks_http(&self) -> bool {
        self.first == b"HTTP/"
    }

    fn error(&self, operation: &str, error: &io::Error) -> io::Error {
        let Self { local, peer, .. } = self;
        GoError(format!("{operation} tcp {local}->{peer}: {operation}: {}", of_system(error))).into()
    }
}

impl AsyncRead for TcpConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = ready!(Pin::new(&mut self.tcp).poll_read(cx, buf));
        let missing = FIRST - self.first.len();
        if missing > 0 {
            let new = &buf.filled()[before..];
            self.first.extend_from_slice(&new[..new.len().min(missing)]);
        }
        Poll::Ready(read.map_err(|error| self.error("read", &error)))
    }
}

impl AsyncWrite for TcpConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(match ready!(Pin::new(&mut self.tcp).poll_write(cx, buf)) {
            // The peer no longer reads, but may have sent the reason.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(buf.len()),
            written => written.map_err(|error| self.error("write", &error)),
        })
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}

/// The TLS connection below HTTP.
pub(crate) struct Stream {
    tls: Box<TlsStream<TcpConnection>>,
    received: Received,
}

impl Stream {
    pub(crate) fn new(tls: TlsStream<TcpConnection>) -> Self {
        Self { tls: Box::new(tls), received: Received::default() }
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = Connected::new().extra(self.received.clone());
        match self.tls.get_ref().1.alpn_protocol() {
            Some(b"h2") => connected.negotiated_h2(),
            _ => connected,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let read = match ready!(Pin::new(&mut self.tls).poll_read(cx, buf)) {
            // Many servers close without a TLS alert. HTTP knows where a response ends.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            read => read,
        };
        self.received.record(&buf.filled()[before..]);
        Poll::Ready(read)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.received.clear();
        Pin::new(&mut self.tls).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tls).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tls).poll_shutdown(cx)
    }
}
