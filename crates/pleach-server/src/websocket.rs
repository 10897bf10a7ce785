//! Watches over WebSocket: the upgrade of a watch request, and its events as messages.
//!
//! A browser, and most clients in Java, cannot read a response body event by event; they ask for
//! `Upgrade: websocket`. The watch is opened as any other: errors before its first event are ordinary responses. Then
//! the connection changes its protocol, and each event is one message: text for JSON, binary for protobuf and CBOR.
//!
//! The handshake is upstream's: `Origin` is required, at most one subprotocol may be left to choose, and it is
//! returned whatever it is. Messages of the client are read and ignored, its pings are answered.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::{Buf as _, Bytes};
use futures_util::{SinkExt as _, StreamExt as _};
use http::header::{
    AUTHORIZATION, CONNECTION, HeaderMap, HeaderName, HeaderValue, ORIGIN, SEC_WEBSOCKET_ACCEPT,
    SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{Request, Response};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use pleach_go::url::Url;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::{Error, ProtocolError};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::Utf8Bytes;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role, WebSocketConfig};

use crate::body::Body;
use crate::chunk::Chunk;
use crate::outcome::Outcome;
use crate::respond;
use crate::watch_queue::Receiver;

/// A subprotocol that is no protocol but a bearer token.
const TOKEN: &str = "base64url.bearer.authorization.k8s.io.";
/// The largest message that a client may send. Watches expect none.
const RECEIVED: usize = 64 * 1024;
/// How long the client has to confirm that the connection is closed.
const CLOSING: Duration = Duration::from_secs(2);

/// Whether a request asks for the WebSocket protocol.
pub fn is_requested(headers: &HeaderMap) -> bool {
    let is = |value: &HeaderValue, word: &str, whole: bool| {
        value.to_str().is_ok_and(|value| {
            let value = value.to_ascii_lowercase();
            if whole { value == word } else { value.contains(word) }
        })
    };
    headers.get(UPGRADE).is_some_and(|value| is(value, "websocket", true))
        && headers.get_all(CONNECTION).iter().any(|value| is(value, "upgrade", false))
}

/// Makes the token among the subprotocols of a request its `Authorization` header.
///
/// A token that cannot be read, or that has no other subprotocol beside it, is taken over as it stands: no
/// authenticator accepts it. A bearer token in the header comes first.
pub fn authorize<B>(request: &mut Request<B>) {
    let headers = request.headers_mut();
    let offered: Vec<String> = protocols(headers);
    let (tokens, others): (Vec<&str>, Vec<&str>) =
        offered.iter().map(String::as_str).partition(|protocol| protocol.starts_with(TOKEN));
    let [token] = tokens[..] else {
        if let Some(token) = tokens.first() {
            set_token(headers, token);
        }
        return;
    };
    let decoded = URL_SAFE_NO_PAD.decode(&token[TOKEN.len()..]).ok();
    match decoded.and_then(|token| String::from_utf8(token).ok()) {
        Some(token) if token.is_empty() => return,
        Some(token) if !others.is_empty() => set_token(headers, &token),
        _ => set_token(headers, token),
    }
    match HeaderValue::from_str(&others.join(",")) {
        Ok(others) if !others.is_empty() => drop(headers.insert(SEC_WEBSOCKET_PROTOCOL, others)),
        _ => drop(headers.remove(SEC_WEBSOCKET_PROTOCOL)),
    }
}

fn set_token(headers: &mut HeaderMap, token: &str) {
    let has_bearer = headers.get(AUTHORIZATION).is_some_and(|value| {
        value.as_bytes().get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case(b"bearer "))
    });
    if has_bearer {
        return;
    }
    // Bytes that no header can hold are no token either.
    let value = HeaderValue::from_str(&format!("Bearer {token}"));
    let mut value = value.unwrap_or_else(|_| HeaderValue::from_static("Bearer -"));
    value.set_sensitive(true);
    headers.insert(AUTHORIZATION, value);
}

/// The subprotocols that a client offers.
fn protocols(headers: &HeaderMap) -> Vec<String> {
    let lines = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|value| value.to_str().ok());
    lines
        .flat_map(|line| line.split(','))
        .map(|protocol| protocol.trim().to_owned())
        .filter(|p| !p.is_empty())
        .collect()
}

/// How events are written as messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Messages {
    /// Text messages.
    Text,
    /// Binary messages.
    Binary,
    /// Binary messages, of events that have their length before them, which a message needs not.
    BinaryWithoutLength,
}

/// The events of a watch, in the extensions of its response until the connection has changed its protocol.
#[derive(Clone)]
pub struct Events(Arc<Mutex<Option<(Receiver, Messages)>>>);

/// The response to a watch request that asks for the WebSocket protocol.
pub fn response(headers: &HeaderMap, events: Receiver, messages: Messages) -> Response<Body> {
    let header =
        |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let key = header(SEC_WEBSOCKET_KEY);
    if key.is_empty() {
        return respond::text(Outcome::BadHandshake, "mismatch challenge/response");
    }
    if header(SEC_WEBSOCKET_VERSION) != "13" {
        let mut response = respond::text(Outcome::BadHandshake, "missing or bad WebSocket Version");
        response.headers_mut().insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
        return response;
    }
    if Url::parse_request_uri(header(ORIGIN)).is_err() {
        return bare(Outcome::ForeignOrigin);
    }
    let offered = protocols(headers);
    if offered.len() > 1 {
        return bare(Outcome::BadHandshake);
    }
    let mut response = bare(Outcome::SwitchingProtocols);
    response.extensions_mut().insert(Events(Arc::new(Mutex::new(Some((events, messages))))));
    let headers = response.headers_mut();
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    if let Ok(accept) = HeaderValue::from_str(&derive_accept_key(key.as_bytes())) {
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
    }
    if let Some(protocol) = offered.first().and_then(|protocol| HeaderValue::from_str(protocol).ok()) {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    response
}

fn bare(outcome: Outcome) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = outcome.code();
    response
}

/// A connection that is about to be a WebSocket.
pub struct Upgrade {
    connection: OnUpgrade,
    events: Events,
}

impl Upgrade {
    /// The upgrade that a response requests; `None` if it is an ordinary one.
    pub fn of(response: &mut Response<Body>, connection: OnUpgrade) -> Option<Self> {
        let events = response.extensions_mut().remove::<Events>()?;
        Some(Self { connection, events })
    }

    /// Sends the events until they end, the client closes, or it does not read for too long: the socket below
    /// gives up then.
    pub async fn serve(self) -> Result<(), Error> {
        let taken = self.events.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((mut events, messages)) = taken else { return Ok(()) };
        let Ok(connection) = self.connection.await else { return Ok(()) };
        let config = WebSocketConfig::default()
            .write_buffer_size(0)
            .max_message_size(Some(RECEIVED))
            .max_frame_size(Some(RECEIVED))
            .read_buffer_size(4 * 1024);
        let connection = TokioIo::new(connection);
        let mut socket = WebSocketStream::from_raw_socket(connection, Role::Server, Some(config)).await;
        let Some(code) = exchange(&mut socket, &mut events, messages).await? else { return Ok(()) };
        drop(events);
        let close = CloseFrame { code, reason: Utf8Bytes::from_static("") };
        let confirmed = async {
            let _ = socket.close(Some(close)).await;
            while let Some(Ok(_)) = socket.next().await {}
            let _ = socket.get_mut().shutdown().await;
        };
        let _ = timeout(CLOSING, confirmed).await;
        Ok(())
    }
}

/// Sends the events and answers pings until either side ends; gives the code to close with, or none where there is no
/// peer any more.
///
/// Every pong is sent before more is read: a client that sends pings and does not read has to wait.
async fn exchange<S: AsyncRead + AsyncWrite + Unpin>(
    socket: &mut WebSocketStream<S>,
    events: &mut Receiver,
    messages: Messages,
) -> Result<Option<CloseCode>, Error> {
    loop {
        tokio::select! {
            biased;
            received = socket.next() => match received {
                // The library has confirmed the close, or there is no peer any more.
                None | Some(Ok(Message::Close(_))) => return Ok(Some(CloseCode::Normal)),
                Some(Ok(Message::Ping(_))) => socket.flush().await?,
                Some(Ok(_)) => {}
                Some(Err(Error::Capacity(_))) => return Ok(Some(CloseCode::Size)),
                Some(Err(Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) | Error::Io(_))) => {
                    return Ok(None);
                }
                Some(Err(Error::Protocol(_) | Error::Utf8(_))) => return Ok(Some(CloseCode::Protocol)),
                Some(Err(error)) => return Err(error),
            },
            event = poll_fn(|cx| events.poll_next(cx)) => match event {
                Some(event) => socket.send(message(event, messages)).await?,
                None => return Ok(Some(CloseCode::Normal)),
            },
        }
    }
}

/// An event as a message.
fn message(mut event: Chunk, messages: Messages) -> Message {
    if messages == Messages::BinaryWithoutLength {
        event.advance(event.remaining().min(size_of::<u32>()));
    }
    let length = event.remaining();
    let bytes: Bytes = event.copy_to_bytes(length);
    match messages {
        Messages::Text => match Utf8Bytes::try_from(bytes) {
            Ok(text) => Message::Text(text),
            // JSON is text always.
            Err(error) => Message::text(error.to_string()),
        },
        Messages::Binary | Messages::BinaryWithoutLength => Message::Binary(bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use tokio::io::{AsyncReadExt as _, duplex};

    use super::*;
    use crate::watch_queue;

    #[test]
    fn a_client_that_sends_pings_and_does_not_read_has_to_wait() {
        // Both ends hold a kibibyte; a masked ping of 125 bytes is 131 long, its pong 127.
        const PINGS: usize = 10_000;
        let mut ping = vec![0x89, 0xfd, 0, 0, 0, 0];
        ping.resize(131, b'x');
        let (server, client) = duplex(1024);
        let (_sender, mut events) = watch_queue::queue();
        let mut cx = Context::from_waker(Waker::noop());

        let config = WebSocketConfig::default().write_buffer_size(0).read_buffer_size(4 * 1024);
        let mut server = pin!(async move {
            let mut socket = WebSocketStream::from_raw_socket(server, Role::Server, Some(config)).await;
            exchange(&mut socket, &mut events, Messages::Text).await
        });
        let (mut read, mut write) = tokio::io::split(client);
        let sent = std::cell::Cell::new(0);
        let mut sends = pin!(async {
            for _ in 0..PINGS {
                write.write_all(&ping).await.unwrap();
                sent.set(sent.get() + 1);
            }
        });
        for _ in 0..2 * PINGS {
            assert!(server.as_mut().poll(&mut cx).is_pending());
            let _ = sends.as_mut().poll(&mut cx);
        }
        assert!(sent.get() < 100, "{} pings were read without an answer", sent.get());

        // Once it reads, every ping is answered.
        let mut received = 0;
        let mut done = false;
        let mut buffer = [0; 1024];
        while received < PINGS * 127 {
            assert!(server.as_mut().poll(&mut cx).is_pending());
            if !done {
                done = sends.as_mut().poll(&mut cx).is_ready();
            }
            if let Poll::Ready(read) = pin!(read.read(&mut buffer)).poll(&mut cx) {
                received += read.unwrap();
            }
        }
        assert_eq!((done, received), (true, PINGS * 127));
    }
}
