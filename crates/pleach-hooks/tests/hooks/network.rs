//! Servers that are not there, that say something else, or nothing.

use std::time::Duration;

use bytes::Bytes;
use pleach_engine::webhooks::caller::{Address, CallError, Caller as _, Place};
use pleach_hooks::HttpCaller;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, sleep};

use crate::server::{config, good, request, says, tcp, tls};
use crate::{call, call_within, reason};

#[tokio::test]
async fn connection_refused() {
    for (url, wanted) in [
        (
            "https://127.0.0.1:1/convert/good",
            "Post \"https://127.0.0.1:1/convert/good?timeout=3s\": dial tcp 127.0.0.1:1: connect: connection refused",
        ),
        (
            "https://127.0.0.1:1",
            "Post \"https://127.0.0.1:1/?timeout=3s\": dial tcp 127.0.0.1:1: connect: connection refused",
        ),
        (
            "https://bad..host/a",
            "Post \"https://bad..host/a?timeout=3s\": dial tcp: lookup bad..host: no such host",
        ),
    ] {
        assert_eq!(call(url, "").await, Err(wanted.to_owned()));
    }
    let timeout = Duration::from_secs(30);
    let error = call_within(&HttpCaller::new(), "https://127.0.0.1:1/x", "", timeout).await;
    let wanted =
        "Post \"https://127.0.0.1:1/x?timeout=30s\": dial tcp 127.0.0.1:1: connect: connection refused";
    assert_eq!(error, Err(wanted.to_owned()));
}

/// Whether and how names are resolved is the machine's affair; where the port stands is not.
#[tokio::test]
async fn services_are_named_with_their_port() {
    let place = Place::Service { namespace: "ns".into(), name: "svc".into(), path: "/p".into(), port: 443 };
    let address = Address { place, ca_bundle: Bytes::new() };
    let error = HttpCaller::new().call(&address, Bytes::new(), Duration::from_secs(3)).await;
    let Err(CallError::Failed(error)) = error else { panic!("there is no such service") };
    let lookup = "Post \"https://svc.ns.svc:443/p?timeout=3s\": dial tcp: lookup svc.ns.svc on ";
    let timeout = "Post \"https://svc.ns.svc:443/p?timeout=3s\": context deadline exceeded";
    assert!(error.starts_with(lookup) || error == timeout, "{error}");
}

/// A server without TLS that says something once it was spoken to.
async fn plainly(said: &'static [u8]) -> String {
    let address = tcp(move |mut stream| async move {
        let mut hello = [0; 4096];
        let _ = stream.read(&mut hello).await;
        let _ = stream.write_all(said).await;
    })
    .await;
    reason(&format!("https://{address}/hook"), "").await
}

#[tokio::test]
async fn no_tls() {
    assert_eq!(
        plainly(b"HTTP/1.0 400 Bad Request\r\n\r\n").await,
        "http: server gave HTTP response to HTTPS client"
    );
    assert_eq!(
        plainly(b"SSH-2.0-OpenSSH_9\r\n").await,
        "tls: first record does not look like a TLS handshake"
    );
    assert_eq!(plainly(b"").await, "EOF");
}

#[tokio::test]
async fn connections_that_break() {
    let (root, good) = good();
    let url = tls(config(&[&good]), |mut stream| async move {
        request(&mut stream).await;
        let _ = stream.shutdown().await;
    })
    .await;
    assert_eq!(reason(&url, &root.pem).await, "EOF");
    let url = tls(config(&[&good]), |mut stream| async move {
        request(&mut stream).await;
    })
    .await;
    assert_eq!(reason(&url, &root.pem).await, "EOF", "closed without a word in TLS");
    let url = tls(config(&[&good]), |mut stream| async move {
        request(&mut stream).await;
        let (tcp, _) = stream.into_inner();
        let _ = socket2::SockRef::from(&tcp).set_linger(Some(Duration::ZERO));
    })
    .await;
    let reset = reason(&url, &root.pem).await;
    let peer = url.trim_start_matches("https://").trim_end_matches("/hook").to_owned();
    assert!(reset.starts_with("read tcp 127.0.0.1:"), "{reset}");
    assert!(reset.ends_with(&format!("->{peer}: read: connection reset by peer")), "{reset}");
}

#[tokio::test]
async fn answers_cut_short() {
    let (root, good) = good();
    let short = "unexpected error when reading response body. Please retry. Original error: ";
    for (answer, wanted) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc", "unexpected EOF"),
        ("HTTP/1.1 500 OK\r\nContent-Length: 100\r\n\r\nabc", "unexpected EOF"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nabc", "unexpected EOF"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc", "invalid byte in chunk length"),
    ] {
        let url = says(&good, answer).await;
        assert_eq!(call(&url, &root.pem).await, Err(format!("{short}{wanted}")), "{answer}");
    }
    for (answer, wanted) in [
        ("junk junk junk\r\n\r\n", "malformed HTTP status code \"junk\""),
        ("junk", "malformed HTTP response \"junk\""),
        ("HTTP/1.1 abc OK\r\n\r\n", "malformed HTTP status code \"abc\""),
        ("HTTP/1.1 200 OK\r\nbad header\r\n\r\n", "malformed MIME header: missing colon: \"bad header\""),
        ("HTTP/1.1 200 OK\r\nContent-Type: appl", "unexpected EOF"),
        ("HTTP/1.1 200 OK\r\nConte", "unexpected EOF"),
    ] {
        let url = says(&good, answer).await;
        let reason = reason(&url, &root.pem).await;
        assert_eq!(reason, format!("net/http: HTTP/1.x transport connection broken: {wanted}"), "{answer}");
    }
    let url = says(&good, "HTTP/1.0 200 OK\r\n\r\nto the end").await;
    assert_eq!(call(&url, &root.pem).await, Ok("to the end".to_owned()));
}

#[tokio::test]
async fn silence() {
    let (root, good) = good();
    let long = Duration::from_mins(1);
    let mute = tcp(move |stream| async move {
        sleep(long).await;
        drop(stream);
    })
    .await;
    let mute = format!("https://{mute}/hook");
    let deaf = tls(config(&[&good]), move |stream| async move {
        sleep(long).await;
        drop(stream);
    })
    .await;
    let slow = tls(config(&[&good]), move |mut stream| async move {
        request(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc").await;
        sleep(long).await;
    })
    .await;
    let slow_error = "unexpected error when reading response body. Please retry. Original error: context deadline exceeded";
    for (url, wanted) in [
        (&mute, format!("Post \"{mute}?timeout=1s\": context deadline exceeded")),
        (&deaf, format!("Post \"{deaf}?timeout=1s\": context deadline exceeded")),
        (&slow, slow_error.to_owned()),
    ] {
        let start = Instant::now();
        let error = call_within(&HttpCaller::new(), url, &root.pem, Duration::from_millis(200)).await;
        assert_eq!(error, Err(wanted));
        assert!(start.elapsed() < Duration::from_secs(2), "it took {:?}", start.elapsed());
    }
}

#[tokio::test]
async fn a_body_without_end() {
    let (root, good) = good();
    let url = tls(config(&[&good]), |mut stream| async move {
        request(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        while stream.write_all(&[b' '; 1 << 12]).await.is_ok() {}
    })
    .await;
    let error = call_within(&HttpCaller::new(), &url, &root.pem, Duration::from_secs(30)).await;
    let wanted = "unexpected error when reading response body. Please retry. Original error: the body is larger than the 16777216 bytes that are allowed";
    assert_eq!(error, Err(wanted.to_owned()));
}
