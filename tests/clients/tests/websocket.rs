//! Watches over WebSocket, as clients in browsers and in Java open them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::{SinkExt as _, StreamExt as _};
use pleach_clients::{Api, Running, definition, eventually};
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::Response;
use tokio_tungstenite::tungstenite::{Error, Message};

const FOOS: &str = "/apis/example.com/v1/namespaces/default/foos";
const TOKEN: &str = "conformance";
const TYPED: &str = "application/vnd.kubernetes.protobuf";

type Socket = WebSocketStream<TlsStream<TcpStream>>;

async fn tls(server: &Running) -> TlsStream<TcpStream> {
    let socket = TcpStream::connect(("127.0.0.1", server.port())).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let config = Arc::new(pleach_conformance::trusting());
    tokio_rustls::TlsConnector::from(config).connect(name, socket).await.unwrap()
}

/// Opens a watch with the administrator's token and these headers.
async fn open(
    server: &Running,
    path: &str,
    headers: &[(&'static str, &str)],
) -> Result<(Socket, Response<Option<Vec<u8>>>), Error> {
    let mut request = format!("wss://127.0.0.1:{}{path}", server.port()).into_client_request()?;
    let bearer = format!("Bearer {TOKEN}");
    for (name, value) in [("origin", "https://example.com"), ("authorization", bearer.as_str())] {
        request.headers_mut().insert(name, value.parse().unwrap());
    }
    for (name, value) in headers {
        if value.is_empty() {
            request.headers_mut().remove(*name);
        } else {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
    }
    tokio_tungstenite::client_async(request, tls(server).await).await
}

/// The status of a refused handshake.
async fn refused(server: &Running, path: &str, headers: &[(&'static str, &str)]) -> u16 {
    match open(server, path, headers).await {
        Err(Error::Http(response)) => response.status().as_u16(),
        Err(error) => panic!("{error}"),
        Ok(_) => 101,
    }
}

async fn next(socket: &mut Socket) -> Message {
    let next = tokio::time::timeout(pleach_clients::SOON, socket.next()).await;
    next.expect("an event in time").expect("no end").expect("no error")
}

/// The next event: its type and the object's name.
async fn event(socket: &mut Socket) -> (String, String) {
    let Message::Text(text) = next(socket).await else { panic!("no text") };
    assert!(text.ends_with("}\n"), "{text}");
    let event: Value = serde_json::from_str(&text).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&event["type"]), text(&event["object"]["metadata"]["name"]))
}

fn serve_foos(server: &Running) -> Api {
    let api = server.api();
    let crd = definition(
        "foos",
        "Foo",
        json!({"spec": {"type": "object", "properties": {"n": {"type": "integer"}}}}),
    );
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &crd);
    eventually("the kind is served", || (api.get(FOOS).status == 200).then_some(()));
    api
}

fn foo(name: &str) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": name}, "spec": {"n": 1}})
}

fn pair(kind: &str, name: &str) -> (String, String) {
    (kind.to_owned(), name.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_text_messages() {
    let server = Running::in_memory();
    let api = serve_foos(&server);
    api.create(FOOS, &foo("a"));
    let (mut socket, response) = open(&server, &format!("{FOOS}?watch=true"), &[]).await.unwrap();
    assert_eq!(response.status(), 101);
    assert!(response.headers().get("sec-websocket-protocol").is_none());
    assert_eq!(event(&mut socket).await, pair("ADDED", "a"));
    api.create(FOOS, &foo("b"));
    assert_eq!(event(&mut socket).await, pair("ADDED", "b"));
    api.try_send("DELETE", &format!("{FOOS}/a"), None).unwrap();
    assert_eq!(event(&mut socket).await, pair("DELETED", "a"));

    // Messages of the client are ignored, pings are answered.
    socket.send(Message::text("hello")).await.unwrap();
    socket.send(Message::Ping(b"12345".as_slice().into())).await.unwrap();
    assert_eq!(next(&mut socket).await, Message::Pong(b"12345".as_slice().into()));
    api.create(FOOS, &foo("c"));
    assert_eq!(event(&mut socket).await, pair("ADDED", "c"));

    // The client's close is confirmed.
    socket.close(None).await.unwrap();
    assert!(matches!(next(&mut socket).await, Message::Close(_)));
    assert!(socket.next().await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_watch_is_a_normal_close() {
    let server = Running::in_memory();
    serve_foos(&server);
    let watch = format!("{FOOS}?watch=true");
    let close_code = |message: Message| match message {
        Message::Close(Some(close)) => u16::from(close.code),
        other => panic!("{other:?}"),
    };
    let (mut timed, _) = open(&server, &format!("{watch}&timeoutSeconds=1"), &[]).await.unwrap();
    assert_eq!(close_code(next(&mut timed).await), 1000);

    let (mut expired, _) = open(&server, &format!("{watch}&resourceVersion=1"), &[]).await.unwrap();
    let (mut stopped, _) = open(&server, &watch, &[]).await.unwrap();
    server.terminate();
    assert_eq!(close_code(next(&mut stopped).await), 1000);
    while !matches!(next(&mut expired).await, Message::Close(_)) {}
    assert!(server.stop());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn protobuf_events_are_binary_messages() {
    let server = Running::in_memory();
    let maps = "/api/v1/namespaces/default/configmaps";
    server.api().create(maps, &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}}));
    let path = format!("{maps}?watch=true&fieldSelector=metadata.name%3Dm");
    let (mut socket, _) = open(&server, &path, &[("accept", TYPED)]).await.unwrap();
    let Message::Binary(event) = next(&mut socket).await else { panic!("no binary message") };
    // A WatchEvent without its length: field 1, the type.
    assert_eq!(&event[..7], b"\x0a\x05ADDED");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subprotocols_are_returned_and_may_carry_a_token() {
    let server = Running::in_memory();
    serve_foos(&server);
    let watch = format!("{FOOS}?watch=true");
    let token =
        |token: &str| format!("base64url.bearer.authorization.k8s.io.{}", URL_SAFE_NO_PAD.encode(token));
    for (offered, authorization, status, chosen, why) in [
        ("binary.k8s.io".to_owned(), "Bearer conformance", 101, "binary.k8s.io", "a subprotocol"),
        ("base64.binary.k8s.io".to_owned(), "Bearer conformance", 101, "base64.binary.k8s.io", "another"),
        ("a, b".to_owned(), "Bearer conformance", 400, "", "two to choose from"),
        (format!("{}, binary.k8s.io", token(TOKEN)), "", 101, "binary.k8s.io", "a token"),
        (format!("binary.k8s.io,{}", token(TOKEN)), "", 101, "binary.k8s.io", "a token behind"),
        (format!("{}, binary.k8s.io", token("wrong")), "", 401, "", "a wrong token"),
        (token(TOKEN), "", 401, "", "a token alone"),
        (format!("{0}, {0}, binary.k8s.io", token(TOKEN)), "", 401, "", "two tokens"),
        ("base64url.bearer.authorization.k8s.io.?, x".to_owned(), "", 401, "", "no base64"),
    ] {
        let headers = [("sec-websocket-protocol", offered.as_str()), ("authorization", authorization)];
        match open(&server, &watch, &headers).await {
            Ok((_, response)) => {
                assert_eq!(
                    (101, chosen),
                    (status, response.headers()["sec-websocket-protocol"].to_str().unwrap()),
                    "{why}"
                );
            }
            Err(Error::Http(response)) => assert_eq!(response.status(), status, "{why}"),
            Err(error) => panic!("{why}: {error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_handshakes_are_refused_and_other_requests_are_not_upgraded() {
    let server = Running::in_memory();
    serve_foos(&server);
    let watch = format!("{FOOS}?watch=true");
    for (headers, want, why) in [
        (&[("origin", "")][..], 403, "no origin"),
        (&[("origin", "null")], 403, "an origin that is no URL"),
        (&[("authorization", "Bearer wrong")], 401, "a wrong token"),
        (&[("authorization", "")], 403, "an anonymous user"),
        (&[("accept", "text/html")], 406, "no such stream"),
    ] {
        assert_eq!(refused(&server, &watch, headers).await, want, "{why}");
    }
    assert_eq!(refused(&server, FOOS, &[]).await, 200, "a list is an ordinary response");
    assert_eq!(refused(&server, "/apis/example.com/v1/bars?watch=true", &[]).await, 404);

    let mut stream = tls(&server).await;
    let request = |lines: &str| {
        format!(
            "GET {watch} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n{lines}\r\n"
        )
    };
    stream.write_all(request("").as_bytes()).await.unwrap();
    let mut buffer = vec![0; 2048];
    let read = stream.read(&mut buffer).await.unwrap();
    let text = String::from_utf8_lossy(&buffer[..read]).into_owned();
    assert!(text.starts_with("HTTP/1.1 400") && text.ends_with("mismatch challenge/response"), "{text}");
    let mut stream = tls(&server).await;
    stream
        .write_all(request("Sec-WebSocket-Key: x\r\nSec-WebSocket-Version: 8\r\n").as_bytes())
        .await
        .unwrap();
    let read = stream.read(&mut buffer).await.unwrap();
    let text = String::from_utf8_lossy(&buffer[..read]).to_lowercase();
    assert!(text.starts_with("http/1.1 400") && text.contains("sec-websocket-version: 13\r\n"), "{text}");

    // A frame without a mask breaks the protocol.
    let mut stream = tls(&server).await;
    let handshake = request(
        "Origin: http://x\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n",
    );
    stream.write_all(handshake.as_bytes()).await.unwrap();
    let read = stream.read(&mut buffer).await.unwrap();
    let text = String::from_utf8_lossy(&buffer[..read]).to_lowercase();
    // The example of RFC 6455.
    assert!(text.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="), "{text}");
    stream.write_all(b"\x81\x01x").await.unwrap();
    let read =
        tokio::time::timeout(Duration::from_secs(20), stream.read(&mut buffer)).await.unwrap().unwrap();
    assert_eq!(&buffer[..read], b"\x88\x02\x03\xea", "close code 1002");
}
