//! The listener: TLS, HTTP/1.1 and HTTP/2, limits per connection, and a shutdown that loses nothing.
//!
//! A connection gets a deadline for its handshake and for each request's headers, and is closed when nothing
//! has been under way on it for a while, or when its peer takes nothing although something waits for it. How many
//! there may be is bounded, and beyond the bound a new one takes the place of another ([`crate::connections`]).
//! On shutdown the listener closes, watches end, requests in flight are answered, and the rest after a while
//! is cut.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::os::fd::AsRawFd as _;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{Request, Response, Version};
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::app::{App, too_many_requests};
use crate::authorization::is_public;
use crate::connection_state::{Answer, Connected, ConnectionState, InFlight, Unauthenticated};
use crate::connections::Connections;
use crate::cpu::CpuGuard;
use crate::outcome::is_unauthorized;
use crate::stall::{Stall, Streams};
use crate::tls::{ClientIdentity, Tls};
use crate::websocket::{self, Upgrade};

/// Limits on the resources of one client, and of all clients.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// Time for a TLS handshake.
    pub handshake: Duration,
    /// Time for a request's headers, which over HTTP/1.1 begins with the end of the request before.
    pub header_read: Duration,
    /// Time that nothing need be under way on a connection.
    pub idle: Duration,
    /// Size of a request's headers.
    pub header_bytes: usize,
    /// Concurrent streams on one HTTP/2 connection.
    pub streams: u32,
    /// Time for requests under way when the server stops.
    pub drain: Duration,
    /// Time within which a peer must take a byte that waits for it. A stream of HTTP/2 has twice this for each
    /// part of its answer.
    pub unread: Duration,
    /// Memory of answers that one connection has not taken, before its further requests wait.
    pub connection_answers: usize,
    /// Memory of all answers that have not been taken, before requests are refused.
    pub answers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 20_000,
            handshake: Duration::from_secs(10),
            header_read: Duration::from_secs(32),
            idle: Duration::from_secs(90),
            header_bytes: 64 * 1024,
            streams: 1_000,
            drain: Duration::from_secs(10),
            unread: Duration::from_mins(1),
            connection_answers: 4 << 20,
            answers: 256 << 20,
        }
    }
}

/// Serves until `stop` is ready, then drains.
pub async fn serve(
    listener: TcpListener,
    tls: Tls,
    app: Arc<App>,
    limits: Limits,
    stop: impl Future<Output = ()>,
) {
    let http = Arc::new(http(limits));
    let slots = Arc::new(Semaphore::new(limits.connections));
    let connections = Arc::new(Connections::new(limits.connection_answers, limits.answers));
    tokio::pin!(stop);
    loop {
        let stream = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    // Out of file descriptors, most likely: wait for some connection to end.
                    tracing::warn!(%error, "cannot accept a connection");
                    connections.make_place();
                    tokio::time::sleep(CONNECTION_LIMIT_PAUSE).await;
                    continue;
                }
            },
        };
        let slot = tokio::select! {
            () = &mut stop => break,
            slot = place(&slots, &connections) => slot,
        };
        let (tls, app, http, connections) = (tls.clone(), app.clone(), http.clone(), connections.clone());
        tokio::spawn(async move {
            let state = Arc::new(ConnectionState::new(connections.clone()));
            let id = connections.add(state.clone());
            tokio::select! {
                () = connection(stream, tls, app, &http, limits, state.clone(), connections.clone()) => {}
                () = state.is_cut() => {}
            }
            connections.remove(id);
            drop(slot);
        });
    }
    drop(listener);
    app.begin_shutdown();
    let all_ended = slots.acquire_many(limits.connections as u32);
    if tokio::time::timeout(limits.drain, all_ended).await.is_err() {
        tracing::warn!("connections that were still active were closed");
        connections.cut_all();
    }
    app.end_computations();
}

/// The pause before another connection is closed to make room for a new one.
const CONNECTION_LIMIT_PAUSE: Duration = Duration::from_millis(50);

/// A place for a connection: if there is none, another one gives way.
async fn place(slots: &Arc<Semaphore>, connections: &Connections) -> OwnedSemaphorePermit {
    loop {
        if let Ok(slot) = slots.clone().try_acquire_owned() {
            return slot;
        }
        connections.make_place();
        if let Ok(Ok(slot)) =
            tokio::time::timeout(CONNECTION_LIMIT_PAUSE, slots.clone().acquire_owned()).await
        {
            return slot;
        }
    }
}

/// The interval of TCP keep-alive.
const KEEPALIVE: TcpKeepalive =
    TcpKeepalive::new().with_time(Duration::from_secs(30)).with_interval(Duration::from_secs(15));

fn http(limits: Limits) -> auto::Builder<Streams> {
    let mut http = auto::Builder::new(Streams::new(limits.unread * 2));
    // `http_date` writes it: hyper panics with a clock before 1970.
    http.http1()
        .auto_date_header(false)
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_read)
        .max_buf_size(limits.header_bytes.max(8192))
        .keep_alive(true);
    http.http2()
        .auto_date_header(false)
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(limits.header_bytes as u32)
        .max_send_buf_size(64 * 1024)
        .adaptive_window(false)
        .initial_stream_window_size(256 * 1024)
        .initial_connection_window_size(1024 * 1024);
    http
}

async fn connection(
    stream: TcpStream,
    tls: Tls,
    app: Arc<App>,
    http: &auto::Builder<Streams>,
    limits: Limits,
    state: Arc<ConnectionState>,
    connections: Arc<Connections>,
) {
    let _ = stream.set_nodelay(true);
    // A peer that vanished is noticed by TCP keep-alive: pings of HTTP/2 cost every request.
    let _ = SockRef::from(&stream).set_tcp_keepalive(&KEEPALIVE);
    let peer = stream.peer_addr().ok();
    let cpu = Arc::new(CpuGuard::new(app.cpu_lanes(), Some(stream.as_raw_fd())));
    let stream = match tokio::time::timeout(
        limits.handshake,
        tls.acceptor().accept(Stall::new(stream, limits.unread)),
    )
    .await
    {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            tracing::debug!(%error, ?peer, "TLS handshake failed");
            return;
        }
        Err(_) => {
            tracing::debug!(?peer, "TLS handshake took too long");
            return;
        }
    };
    let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
    let identity = tls.clients.identity(chain);
    if identity.as_ref().is_some_and(|identity| identity.user().is_ok()) {
        state.set_known();
    }
    let mut stopping = app.stopping();
    let client = Arc::new(Client { app, identity, peer, state, cpu, connections, upgrade: Mutex::default() });
    let mut connection =
        pin!(http.serve_connection_with_upgrades(TokioIo::new(stream), service(client.clone())));
    let mut stop = pin!(stopping.wait_for(|stopping| *stopping));
    let mut rest = pin!(client.state.idle_for(limits.idle));
    let (mut told, mut warned) = (false, false);
    let ended = loop {
        tokio::select! {
            biased;
            ended = &mut connection => break ended,
            _ = &mut stop, if !told => {
                told = true;
                connection.as_mut().graceful_shutdown();
            }
            () = client.state.is_unwanted(), if !told => {
                told = true;
                connection.as_mut().graceful_shutdown();
            }
            // Told to end, a client has some time to do so.
            () = &mut rest => {
                if warned {
                    return;
                }
                warned = true;
                connection.as_mut().graceful_shutdown();
                rest.set(client.state.idle_for(limits.idle + limits.drain));
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, ?peer, "connection ended");
        return;
    }
    let upgrade = client.upgrade.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(upgrade) = upgrade {
        let _under_way = InFlight::on(client.clone());
        if let Err(error) = upgrade.serve().await {
            tracing::debug!(%error, ?peer, "WebSocket ended");
        }
    }
}

/// The client of a connection.
struct Client {
    app: Arc<App>,
    /// The user that its certificate names.
    identity: Option<ClientIdentity>,
    /// Its address.
    peer: Option<SocketAddr>,
    state: Arc<ConnectionState>,
    /// Looks after requests that take long to compute.
    cpu: Arc<CpuGuard>,
    connections: Arc<Connections>,
    /// The state of the connection when its last request was answered.
    upgrade: Mutex<Option<Upgrade>>,
}

impl Connected for Client {
    fn state(&self) -> &ConnectionState {
        &self.state
    }
}

/// Answers the requests of one connection. It has a count of references of its own: processors need not take
/// turns at a common one.
fn service(
    client: Arc<Client>,
) -> impl Service<Request<Incoming>, Response = Response<Answer<Client>>, Error = Infallible, Future: Send + 'static>
{
    service_fn(move |mut request: Request<Incoming>| {
        let under_way = InFlight::on(client.clone());
        // An HTTP/2 stream moves this future some ten times on its way into and out of a task.
        Box::pin(async move {
            let Client { app, identity, peer, cpu, state, connections, upgrade } = under_way.connection();
            // A client that does not read responses gets no more of them.
            state.has_room().await;
            if connections.are_full() && !is_public(request.uri().path()) {
                return Ok(too_many_requests().map(|body| under_way.with(body)));
            }
            let socket = websocket::is_requested(request.headers()).then(|| {
                websocket::authorize(&mut request);
                hyper::upgrade::on(&mut request)
            });
            let has_credentials = request.headers().contains_key(AUTHORIZATION);
            let user = identity.as_ref().map(ClientIdentity::user);
            let is_http2 = request.version() == Version::HTTP_2;
            let mut response = match app.console_at(request.uri().path()) {
                // Rare, so it takes no room in the future of every request.
                Some(console) => Box::pin(console.handle(app, request, user, *peer, cpu.clone())).await,
                None => app.handle(request, user, *peer, cpu.clone()).await,
            };
            // As upstream: HTTP/2 costs a server too much for clients that it does not know to keep their connections.
            if response.extensions_mut().remove::<Unauthenticated>().is_some() && is_http2 {
                state.set_unwanted();
            }
            if has_credentials && !is_unauthorized(response.status()) {
                state.set_known();
            }
            if let Some(socket) = socket
                && let Some(accepted) = Upgrade::of(&mut response, socket)
            {
                *upgrade.lock().unwrap_or_else(PoisonError::into_inner) = Some(accepted);
            }
            Ok(response.map(|body| under_way.with(body)))
        })
    })
}
