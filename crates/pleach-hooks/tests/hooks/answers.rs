//! Requests, and responses that need more than to be read: retries, redirects, compression.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use pleach_hooks::HttpCaller;
use tokio::io::AsyncWriteExt as _;

use crate::server::{Identity, answer, config, good, request, says, tls};
use crate::{REVIEW, call, call_within};

/// A server that writes down what it is asked, and answers by path.
struct Log {
    url: String,
    heads: Arc<Mutex<Vec<String>>>,
    connections: Arc<AtomicUsize>,
}

impl Log {
    fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("nobody panicked").clone()
    }
}

async fn log(identity: &Identity, reply: fn(&str) -> String) -> Log {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let connections = Arc::new(AtomicUsize::new(0));
    let (heads_too, connections_too) = (heads.clone(), connections.clone());
    let url = tls(config(&[identity]), move |mut stream| {
        let (heads, connections) = (heads.clone(), connections.clone());
        async move {
            connections.fetch_add(1, Ordering::SeqCst);
            while let Some((head, body)) = request(&mut stream).await {
                assert!(body.is_empty() || body == REVIEW);
                let path = head.split(' ').nth(1).expect("a path").to_owned();
                heads.lock().expect("nobody panicked").push(head);
                if stream.write_all(reply(&path).as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    })
    .await;
    Log { url: url.trim_end_matches("/hook").to_owned(), heads: heads_too, connections: connections_too }
}

#[tokio::test]
async fn requests_are_those_of_upstream() {
    let (root, good) = good();
    let server = log(&good, |_| answer("200 OK", "", "{}")).await;
    let caller = HttpCaller::new();
    for _ in 0..3 {
        let url = format!("{}/a/b", server.url);
        let answer = call_within(&caller, &url, &root.pem, Duration::from_millis(2500)).await;
        assert_eq!(answer, Ok("{}".to_owned()));
    }
    let heads = server.heads();
    let host = server.url.trim_start_matches("https://");
    let mut lines: Vec<&str> = heads[0].trim_end().split("\r\n").collect();
    lines[1..].sort_unstable();
    assert_eq!(
        lines,
        [
            "POST /a/b?timeout=3s HTTP/1.1",
            "Accept-Encoding: gzip",
            "Accept: application/json, */*",
            "Content-Length: 26",
            "Content-Type: application/json",
            &format!("Host: {host}"),
            "User-Agent: kube-apiserver-admission",
        ]
    );
    assert_eq!(heads.len(), 3);
    assert_eq!(server.connections.load(Ordering::SeqCst), 1, "connections are used again");
}

#[tokio::test]
async fn connections_closed_meanwhile_are_not_used() {
    let (root, good) = good();
    let url = says(&good, answer("200 OK", "", "{}")).await;
    let caller = HttpCaller::new();
    for _ in 0..3 {
        let answer = call_within(&caller, &url, &root.pem, Duration::from_secs(3)).await;
        assert_eq!(answer, Ok("{}".to_owned()));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn calls_at_the_same_time() {
    let (root, good) = good();
    let server = log(&good, |_| answer("200 OK", "", "{}")).await;
    let caller = Arc::new(HttpCaller::new());
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let (caller, url, bundle) = (caller.clone(), server.url.clone(), root.pem.clone());
            tokio::spawn(async move { call_within(&caller, &url, &bundle, Duration::from_secs(5)).await })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.expect("nobody panicked"), Ok("{}".to_owned()));
    }
    assert_eq!(server.heads().len(), 20);
}

#[tokio::test]
async fn retries() {
    const MANY: &str = "the server has received too many requests and has asked us to try again later";
    const BUSY: &str = "the server is currently unable to handle the request";
    let (root, good) = good();
    for (reply, asked, wanted) in [
        ((|_| answer("429 X", "Retry-After: 0\r\n", "again")) as fn(&str) -> String, 11, MANY),
        (|_| answer("503 X", "Retry-After: 0\r\n", "again"), 11, BUSY),
        (|_| answer("503 X", "Retry-After: -1\r\n", "again"), 11, BUSY),
        (|_| answer("503 X", "Retry-After: Fri, 31 Dec 1999 23:59:59 GMT\r\n", "again"), 1, BUSY),
        (
            |_| answer("404 X", "Retry-After: 0\r\n", "again"),
            1,
            "the server could not find the requested resource",
        ),
    ] {
        let server = log(&good, reply).await;
        assert_eq!(call(&format!("{}/hook", server.url), &root.pem).await, Err(wanted.to_owned()));
        assert_eq!(server.heads().len(), asked, "{wanted}");
        assert_eq!(server.connections.load(Ordering::SeqCst), 1);
    }
    let server = log(&good, |_| answer("429 X", "Retry-After: 10\r\n", "again")).await;
    let url = format!("{}/hook", server.url);
    let error = call_within(&HttpCaller::new(), &url, &root.pem, Duration::from_millis(200)).await;
    assert_eq!(error, Err(format!("Post \"{url}?timeout=1s\": context deadline exceeded")));
    assert_eq!(server.heads().len(), 1);
}

fn redirects(path: &str) -> String {
    let path = path.split('?').next().unwrap_or(path);
    let (code, what) = path[1..].split_once('/').unwrap_or(("200", ""));
    let location = match what {
        "loop" => path,
        "rel" => "../end?q=1#frag",
        "bad" => "http://[::1/x",
        "ftp" => "ftp://foo/x",
        "port" => "https://127.0.0.1:1/x y",
        "host" => "https://elsewhere.example/x?a=b#frag",
        "plain" => "http://127.0.0.1/x",
        "long" => {
            return answer(
                &format!("{code} X"),
                &format!("Location: https://e/{}\r\n", "x".repeat(9000)),
                "",
            );
        }
        "none" => return answer(&format!("{code} X"), "", ""),
        "empty" => "",
        _ => return answer("200 OK", "", "{}"),
    };
    answer(&format!("{code} X"), &format!("Location: {location}\r\n"), "")
}

#[tokio::test]
async fn redirects_are_followed() {
    let (root, good) = good();
    for (code, second) in [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")] {
        let server = log(&good, redirects).await;
        let url = format!("{}/{code}/rel", server.url);
        assert_eq!(call(&url, &root.pem).await, Ok("{}".to_owned()), "{code}");
        let heads = server.heads();
        assert_eq!(heads.len(), 2);
        assert!(heads[1].starts_with(&format!("{second} /end?q=1 HTTP/1.1\r\n")), "{}", heads[1]);
        assert!(heads[1].contains(&format!("Referer: {url}?timeout=3s\r\n")), "{}", heads[1]);
        assert_eq!(heads[1].contains("Content-Type"), second == "POST", "{}", heads[1]);
    }
}

#[tokio::test]
async fn redirects_that_lead_nowhere() {
    let (root, good) = good();
    let server = log(&good, redirects).await;
    let url = &server.url;
    let refused = "redirects to another scheme, host or port are not followed";
    for (code, what, wanted) in [
        (302, "port", format!("Post \"https://127.0.0.1:1/x%20y\": {refused}")),
        (307, "port", format!("Post \"https://127.0.0.1:1/x%20y\": {refused}")),
        (302, "host", format!("Post \"https://elsewhere.example/x?a=b#frag\": {refused}")),
        (308, "plain", format!("Post \"http://127.0.0.1/x\": {refused}")),
        (302, "ftp", format!("Post \"ftp://foo/x\": {refused}")),
        (302, "long", format!("Post \"https://e/{}...\": {refused}", "x".repeat(246))),
        (
            307,
            "bad",
            format!(
                "Post \"{url}/307/bad?timeout=3s\": failed to parse Location header \"http://[::1/x\": parse \"http://[::1/x\": missing ']' in host"
            ),
        ),
        (
            302,
            "none",
            "the server responded with the status code 302 but did not return more information".to_owned(),
        ),
        (
            302,
            "empty",
            "the server responded with the status code 302 but did not return more information".to_owned(),
        ),
        (
            300,
            "rel",
            "the server responded with the status code 300 but did not return more information".to_owned(),
        ),
        (302, "loop", "Post \"/302/loop\": stopped after 10 redirects".to_owned()),
        (307, "loop", "Post \"/307/loop\": stopped after 10 redirects".to_owned()),
    ] {
        let before = server.heads().len();
        assert_eq!(call(&format!("{url}/{code}/{what}"), &root.pem).await, Err(wanted), "{code} {what}");
        let asked = server.heads().len() - before;
        assert_eq!(asked, if what == "loop" { 10 } else { 1 }, "{code} {what}");
    }
}

#[tokio::test]
async fn packed_answers() {
    use std::io::Write as _;
    let (root, good) = good();
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(b"{\"kind\":\"AdmissionReview\"}").expect("memory takes everything");
    let packed = packer.finish().expect("memory takes everything");
    let short = "unexpected error when reading response body. Please retry. Original error: ";
    for (encoding, body, wanted) in [
        ("gzip", packed.as_slice(), Ok("{\"kind\":\"AdmissionReview\"}".to_owned())),
        ("GZIP", &packed, Ok("{\"kind\":\"AdmissionReview\"}".to_owned())),
        ("gzip", &packed[..packed.len() - 12], Err(format!("{short}unexpected EOF"))),
        ("gzip", b"abc", Err(format!("{short}unexpected EOF"))),
        ("gzip", b"abcabcabcabcabcabcabc", Err(format!("{short}gzip: invalid header"))),
        (
            "gzip",
            b"",
            Err("0-length response with status code: 200 and content type: application/json".to_owned()),
        ),
        ("deflate", b"{}", Ok("{}".to_owned())),
    ] {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let url = says(&good, [head.as_bytes(), body].concat()).await;
        assert_eq!(call(&url, &root.pem).await, wanted);
    }
}

#[tokio::test]
async fn statuses() {
    let (root, good) = good();
    for (said, wanted) in [
        (
            answer("500 X", "Content-Type: text/plain\r\n", "boom\n"),
            "an error on the server (\"boom\") has prevented the request from succeeding",
        ),
        (
            answer("404 X", "Content-Type: text/plain\r\n", "gone\n"),
            "the server could not find the requested resource",
        ),
        (
            answer("200 OK", "Content-Type: text/plain\r\n", ""),
            "0-length response with status code: 200 and content type: text/plain",
        ),
        (
            "HTTP/1.1 204 X\r\n\r\n".to_owned(),
            "0-length response with status code: 204 and content type: application/json",
        ),
        (
            answer(
                "403 X",
                "Content-Type: application/json\r\n",
                "{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"mine\"}",
            ),
            "mine",
        ),
    ] {
        let url = says(&good, said).await;
        assert_eq!(call(&url, &root.pem).await, Err(wanted.to_owned()));
    }
    let continued = format!("HTTP/1.1 100 Continue\r\n\r\n{}", answer("206 X", "", "part"));
    let url = says(&good, continued).await;
    assert_eq!(call(&url, &root.pem).await, Ok("part".to_owned()));
}

#[tokio::test]
async fn headers_are_bounded() {
    let (root, good) = good();
    let head = format!("HTTP/1.1 200 OK\r\nX: {}\r\nContent-Length: 2\r\n\r\n{{}}", "x".repeat(1 << 20));
    let url = says(&good, head).await;
    let error = call(&url, &root.pem).await.expect_err("there is too much of it");
    assert!(error.ends_with("server response headers exceeded the limit; aborted"), "{error}");
}

#[tokio::test]
async fn packed_answers_are_bounded_by_what_they_unpack_to() {
    use std::io::Write as _;
    let (root, good) = good();
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(&vec![b' '; 1 << 20]).expect("memory takes everything");
    // Several in a row unpack to one.
    let packed = packer.finish().expect("memory takes everything").repeat(20);
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", packed.len());
    let url = says(&good, [head.as_bytes(), &packed].concat()).await;
    let error = call_within(&HttpCaller::new(), &url, &root.pem, Duration::from_secs(30)).await;
    let wanted = "unexpected error when reading response body. Please retry. Original error: the body is larger than the 16777216 bytes that are allowed";
    assert_eq!(error, Err(wanted.to_owned()));
}

/// Quotes of a response end after 256 bytes in every error.
#[tokio::test]
async fn errors_quote_little_of_an_answer() {
    let (root, good) = good();
    let long = "Secret-".repeat(400);
    for said in [
        answer("500 X", "Content-Type: text/plain\r\n", &long),
        answer("403 X", "Content-Type: text/plain\r\n", &long),
        answer("200 OK", &format!("Content-Type: text/{long}\r\n"), ""),
        answer(
            "403 X",
            "",
            &format!("{{\"kind\":\"Status\",\"status\":\"Failure\",\"message\":\"{long}\"}}"),
        ),
        format!("{long}\r\n\r\n"),
        format!("HTTP/1.1 {long} OK\r\n\r\n"),
        format!("HTTP/1.1 200 OK\r\n{long}\r\n\r\n"),
        answer("302 X", &format!("Location: https://{long}/\r\n"), ""),
        answer("302 X", &format!("Location: http://[{long}/\r\n"), ""),
    ] {
        let url = says(&good, said.clone()).await;
        let error = call(&url, &root.pem).await.expect_err("this must fail");
        let quoted = error.matches("Secret-").count() * "Secret-".len();
        // The text of an unparsable location says it twice, as upstream's does.
        assert!(quoted > 0 && quoted <= 512, "{quoted} bytes: {error}");
        assert!(error.len() < 900, "{error}");
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_closes_its_connection() {
    let (root, good) = good();
    let (asked, was_asked) = tokio::sync::oneshot::channel();
    let (closed, was_closed) = tokio::sync::oneshot::channel();
    let signals = Arc::new(Mutex::new(Some((asked, closed))));
    let url = tls(config(&[&good]), move |mut stream| {
        let signals = signals.clone();
        async move {
            request(&mut stream).await;
            let (asked, closed) = signals.lock().expect("nobody panicked").take().expect("one connection");
            asked.send(()).expect("the test waits");
            assert_eq!(request(&mut stream).await, None);
            closed.send(()).expect("the test waits");
        }
    })
    .await;
    let caller = HttpCaller::new();
    tokio::select! {
        _ = call_within(&caller, &url, &root.pem, Duration::from_mins(1)) => panic!("there is no answer"),
        asked = was_asked => asked.expect("the webhook was asked"),
    }
    was_closed.await.expect("the webhook sees the end");
}
