//! A connection whose errors name both of its ends.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper_util::client::legacy::connect::{Connected, Connection};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::heard::Heard;
use crate::words::{Words, of_system};

/// A TCP connection. It remembers what came first, because a server that speaks plain HTTP is worth
/// a sentence of its own, and TLS only sees a record it cannot read.
#[derive(Debug)]
pub(crate) struct Wire {
    tcp: TcpStream,
    local: SocketAddr,
    peer: SocketAddr,
    first: Vec<u8>,
}

/// As much as says which protocol it is.
const FIRST: usize = 5;

impl Wire {
    pub(crate) fn new(tcp: TcpStream) -> io::Result<Self> {
        let (local, peer) = (tcp.local_addr()?, tcp.peer_addr()?);
        Ok(Self { tcp, local, peer, first: Vec::new() })
    }

    /// Whether the first thing the server said was HTTP.
    pub(crate) fn speaks_http(&self) -> bool {
        self.first == b"HTTP/"
    }

    fn tell(&self, what: &str, error: &io::Error) -> io::Error {
        let Self { local, peer, .. } = self;
        Words(format!("{what} tcp {local}->{peer}: {what}: {}", of_system(error))).into()
    }
}

impl AsyncRead for Wire {
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
        Poll::Ready(read.map_err(|error| self.tell("read", &error)))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(match ready!(Pin::new(&mut self.tcp).poll_write(cx, buf)) {
            // The peer no longer reads, but may have sent the reason.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(buf.len()),
            written => written.map_err(|error| self.tell("write", &error)),
        })
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}

/// What HTTP is spoken over.
pub(crate) struct Stream {
    tls: Box<TlsStream<Wire>>,
    heard: Heard,
}

impl Stream {
    pub(crate) fn new(tls: TlsStream<Wire>) -> Self {
        Self { tls: Box::new(tls), heard: Heard::default() }
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = Connected::new().extra(self.heard.clone());
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
            // Many servers close without saying so in TLS. HTTP knows where an answer ends.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(()),
            read => read,
        };
        self.heard.note(&buf.filled()[before..]);
        Poll::Ready(read)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.heard.forget();
        Pin::new(&mut self.tls).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tls).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tls).poll_shutdown(cx)
    }
}
