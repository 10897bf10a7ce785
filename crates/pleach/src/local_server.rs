//! A server for tests on one port of this machine, which takes TLS and plain HTTP: kubectl sends no token without TLS,
//! and helpers in other languages need no certificates.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use pleach_auth::UserInfo;
use pleach_json::Value;
use pleach_server::outcome::Outcome;
use pleach_server::request_body::BODY_LIMIT;
use pleach_server::tls::Tls;
use pleach_world::{BoxError, ConnectionReset};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::signal::unix::{SignalKind, signal};

/// An answer.
pub(crate) type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;

/// Answers requests.
pub(crate) trait Handler: Send + Sync + 'static {
    /// Answers a request; `user` is that of the connection's certificate.
    fn handle(
        &self,
        request: Request<Incoming>,
        user: Option<&Arc<UserInfo>>,
    ) -> impl Future<Output = Result<Answer, ConnectionReset>> + Send;
}

/// Serves until a signal stops the process.
pub(crate) async fn serve<H: Handler>(
    listener: TcpListener,
    tls: Tls,
    handler: Arc<H>,
) -> Result<(), Box<dyn Error>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => drop(tokio::spawn(connection(stream, tls.clone(), handler.clone()))),
                // Out of descriptors: some connection will end.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
        }
    }
}

/// The first byte of a TLS connection.
const HANDSHAKE: u8 = 0x16;

async fn connection<H: Handler>(stream: TcpStream, tls: Tls, handler: Arc<H>) {
    let _ = stream.set_nodelay(true);
    let mut first = [0];
    match stream.peek(&mut first).await {
        Ok(1) if first[0] == HANDSHAKE => {
            let Ok(stream) = tls.acceptor().accept(stream).await else { return };
            let chain = stream.get_ref().1.peer_certificates().unwrap_or_default();
            let user = tls.clients.identity(chain).map(|identity| identity.user().cloned());
            // A certificate that is not valid never becomes another user.
            let Ok(user) = user.transpose() else { return };
            requests(TokioIo::new(stream), handler, user).await;
        }
        Ok(1) => requests(TokioIo::new(stream), handler, None).await,
        _ => {}
    }
}

async fn requests<S, H: Handler>(stream: TokioIo<S>, handler: Arc<H>, user: Option<Arc<UserInfo>>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let (handler, user) = (handler.clone(), user.clone());
        async move { handler.handle(request, user.as_ref()).await }
    });
    // A client that goes away, or is cut off by a fault, is no error.
    let _ = auto::Builder::new(TokioExecutor::new()).serve_connection_with_upgrades(stream, service).await;
}

/// The request with all of its body. A body that is too large is refused by the server in its own words.
pub(crate) async fn whole(request: Request<Incoming>) -> Request<Bytes> {
    let (parts, body) = request.into_parts();
    let body = Limited::new(body, BODY_LIMIT + 1).collect().await;
    let too_large = |_| Bytes::from(vec![b' '; BODY_LIMIT + 1]);
    Request::from_parts(parts, body.map_or_else(too_large, http_body_util::Collected::to_bytes))
}

/// Whether a request has this bearer token.
pub(crate) fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    given.and_then(|given| given.strip_prefix("Bearer ")) == Some(token)
}

/// An answer in JSON.
pub(crate) fn json(value: &Value) -> Answer {
    let mut response = text(Outcome::Ok, pleach_json::to_string(value) + "\n");
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A text.
pub(crate) fn text(outcome: Outcome, text: String) -> Answer {
    let body = Full::from(text).map_err(|never| match never {});
    let mut response = Response::new(UnsyncBoxBody::new(body));
    *response.status_mut() = outcome.code();
    response
}
