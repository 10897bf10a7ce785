//! Clients that do not read, or request too much: the server's memory stays bounded, and other clients
//! are served.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use pleach_clients::{Api, Running, definition, eventually};
use rustls::pki_types::ServerName;
use serde_json::{Value, json};

const FOOS: &str = "/apis/example.com/v1/namespaces/default/foos";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const TOKEN: &str = "Bearer conformance";

/// Creates a kind without a schema.
fn with_foos(server: &Running) -> Api {
    let api = server.api();
    let mut crd = definition("foos", "Foo", json!({}));
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-preserve-unknown-fields"] =
        true.into();
    api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &crd);
    eventually("the kind is served", || (api.get(FOOS).status == 200).then_some(()));
    api
}

fn foo(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": name}, "spec": spec})
}

/// An HTTP/2 connection with a flow-control window of zero, and its driver.
async fn closed_windows(port: u16) -> (SendRequest<Bytes>, tokio::task::JoinHandle<()>) {
    let mut config = pleach_conformance::trusting();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let socket = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let socket = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, socket).await.unwrap();
    let (requests, connection) =
        h2::client::Builder::new().initial_window_size(0).handshake::<_, Bytes>(socket).await.unwrap();
    (requests, tokio::spawn(async move { drop(connection.await) }))
}

async fn ask(requests: &SendRequest<Bytes>, path: &str, headers: &[(&str, &str)]) -> ResponseFuture {
    let uri = format!("https://127.0.0.1{path}");
    let mut request = http::Request::get(uri).header("authorization", TOKEN);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut ready = requests.clone().ready().await.unwrap();
    ready.send_request(request.body(()).unwrap(), true).unwrap().0
}

const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";
const PARTIAL: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn unread_streams_use_bounded_memory() {
    let server = Running::in_memory();
    let api = with_foos(&server);
    for i in 0..8 {
        api.create(FOOS, &foo(&format!("n{i}"), json!({"text": vec!["0123456789"; 50_000]})));
        api.create(
            MAPS,
            &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("n{i}")},
                    "data": {"text": "0123456789".repeat(60_000)}}),
        );
    }
    let object = format!("{FOOS}/n0");
    let with_objects = format!("{FOOS}?includeObject=Object");
    let forms: [(&str, &[(&str, &str)]); 10] = [
        (FOOS, &[]),
        (FOOS, &[("user-agent", "curl/8.0")]),
        (FOOS, &[("accept", "application/yaml")]),
        (FOOS, &[("accept-encoding", "gzip")]),
        (&with_objects, &[("accept", TABLE)]),
        (FOOS, &[("accept", PARTIAL), ("user-agent", "curl/8.0")]),
        (&object, &[("user-agent", "curl/8.0"), ("accept-encoding", "gzip")]),
        (&object, &[("accept", "application/yaml")]),
        (MAPS, &[("accept", "application/vnd.kubernetes.protobuf")]),
        (MAPS, &[("accept", "application/vnd.kubernetes.protobuf"), ("accept-encoding", "gzip")]),
    ];
    // Memory used once per response format.
    for (path, headers) in forms {
        assert_eq!(api.raw_with("GET", path, headers, None).unwrap().status, 200);
    }
    let before = eventually("memory settles", || {
        let now = server.resident();
        std::thread::sleep(Duration::from_millis(1500));
        (server.resident() == now).then_some(now)
    });
    let (requests, driver) = closed_windows(server.port()).await;
    let mut streams = Vec::new();
    for (path, headers) in forms.iter().cycle().take(200) {
        streams.push(ask(&requests, path, headers).await);
    }
    // Requests may get a 429; none takes unbounded memory.
    let mut most = 0;
    for _ in 0..50 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        most = most.max(server.resident());
    }
    assert_eq!(api.get(&object).status, 200, "others are served");
    eprintln!("{before} MB before, {most} MB with 200 streams that take nothing");
    assert!(most < before + 20, "{before} MB before, {most} MB with 200 streams that take nothing");
    drop((streams, requests));
    driver.abort();
}

#[test]
fn deep_objects_are_printed_in_bounded_space() {
    let server = Running::in_memory();
    let api = with_foos(&server);
    // 60 KB: deep, with many lines at the bottom.
    let deep = format!("{}{}{}", "[".repeat(5_000), vec!["1"; 25_000].join(","), "]".repeat(5_000));
    let body = format!(
        r#"{{"apiVersion":"example.com/v1","kind":"Foo","metadata":{{"name":"deep"}},"spec":{deep}}}"#
    );
    assert_eq!(api.raw("POST", FOOS, &body).status, 201);
    let before = server.resident();
    for (headers, most) in
        [(&[("User-Agent", "curl/8.0")], 8_000_000), (&[("Accept", "application/yaml")], 8_000_000)]
    {
        for path in [format!("{FOOS}/deep"), FOOS.to_owned(), format!("{FOOS}/deep?pretty=1")] {
            let length = api.length(&path, headers).unwrap();
            assert!((60_000..most).contains(&length), "{path} {headers:?}: {length} bytes");
        }
    }
    let after = server.resident();
    assert!(after < before + 64, "{before} MB before, {after} MB after");
}

#[test]
fn unauthenticated_connections_do_not_displace_authenticated_ones() {
    let data = tempfile::tempdir().unwrap();
    let server = Running::with_files(256, &["--data-dir", data.path().to_str().unwrap()]);
    let api = server.api();
    let mut strangers = Vec::new();
    let map = |i: usize| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{i}")},
               "data": {"x": "y".repeat(100_000)}})
    };
    for i in 0..300 {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        // Some start a handshake.
        let _ = stream.write_all(&[0x16, 3, 1, 2, 0][..i % 6]);
        strangers.push(stream);
        if i % 30 == 0 {
            api.create(MAPS, &map(i));
        }
    }
    for i in 1_000..1_020 {
        api.create(MAPS, &map(i));
    }
    assert_eq!(api.get("/readyz").status, 200);
}

#[test]
fn incomplete_headers_use_bounded_memory() {
    let server = Running::in_memory();
    let api = server.api();
    for (why, headers, expected) in [
        ("within the bound", vec![("X-Long", "x".repeat(50_000))], 200),
        ("beyond it", vec![("X-Long", "x".repeat(70_000))], 431),
        ("many", (0..150).map(|_| ("X-Many", "x".to_owned())).collect(), 431),
    ] {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let status = api.raw_with("GET", MAPS, &headers, None).unwrap().status;
        assert_eq!(status, expected, "{why}");
    }
    let path = format!("{MAPS}?labelSelector={}", "a".repeat(66_000));
    assert!(matches!(api.get(&path).status, 414 | 431));
    let before = server.resident();
    let config = Arc::new(pleach_conformance::trusting());
    let unfinished: Vec<_> = (0..200)
        .map(|_| {
            let socket = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
            let name = ServerName::try_from("127.0.0.1").unwrap();
            let session = rustls::ClientConnection::new(config.clone(), name).unwrap();
            let mut stream = rustls::StreamOwned::new(session, socket);
            let head = format!("GET / HTTP/1.1\r\nHost: x\r\nX-Long: {}", "x".repeat(60_000));
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    std::thread::sleep(Duration::from_secs(1));
    let each = server.resident().saturating_sub(before) * 1024 / unfinished.len() as u64;
    eprintln!("{each} KB for each connection with unfinished headers");
    assert!(each < 250, "{each} KB for each connection with unfinished headers");
}

#[test]
fn requests_are_refused_at_the_memory_limit() {
    let server = Running::start(&["--in-memory", "--memory-limit", "200Mi", "--history-mib", "1"]);
    let api = server.api();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "m-"},
                     "data": {"x": "y".repeat(900_000)}});
    let began = Instant::now();
    let refused = loop {
        let answer = api.send("POST", MAPS, Some(&map));
        if answer.status != 201 {
            break answer;
        }
        assert!(began.elapsed() < Duration::from_mins(2), "{} MB and still taken", server.resident());
    };
    assert_eq!(refused.status, 429, "{}", refused.body);
    assert_eq!(refused.body["details"]["retryAfterSeconds"], 1);
    assert!(server.resident() < 230, "{} MB", server.resident());
    for path in ["/readyz", "/livez", "/healthz"] {
        assert_eq!(api.get(path).status, 200, "{path}");
    }
    assert_eq!(api.send("DELETE", MAPS, None).status, 200, "what makes room is done");
    eventually("there is room again", || (api.send("POST", MAPS, Some(&map)).status == 201).then_some(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn unread_responses_do_not_delay_shutdown() {
    let server = Running::in_memory();
    let api = with_foos(&server);
    for i in 0..8 {
        api.create(FOOS, &foo(&format!("n{i}"), json!({"text": "x".repeat(900_000)})));
    }
    let (requests, driver) = closed_windows(server.port()).await;
    let mut streams = Vec::new();
    for path in [FOOS, &format!("{FOOS}/n0"), &format!("{FOOS}?watch=1&resourceVersion=0")] {
        streams.push(ask(&requests, path, &[]).await);
    }
    // Over HTTP/1.1: a list and a watch that are not read.
    let unread = [api.watch(&format!("{FOOS}?resourceVersion=0"), Duration::from_secs(5)), api.open(FOOS)];
    tokio::time::sleep(Duration::from_millis(500)).await;
    let began = Instant::now();
    assert!(tokio::task::spawn_blocking(move || server.stop()).await.unwrap());
    assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
    drop((unread, streams, requests));
    driver.abort();
}

#[test]
fn memory_is_released_after_a_peak() {
    let server = Running::in_memory();
    let api = with_foos(&server);
    let idle = server.resident();
    let items: Vec<Value> = (0..40_000).map(|i| json!({"a": [i, i.to_string()]})).collect();
    let large = foo("large", items.into()).to_string();
    let path = format!("{FOOS}?dryRun=All");
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| assert_eq!(api.raw("POST", &path, &large).status, 201));
        }
    });
    let peak = server.resident();
    let after = eventually("memory is given back", || {
        let now = server.resident();
        (now < idle + 40).then_some(now)
    });
    eprintln!("{idle} MB idle, {peak} MB at the end of the peak, {after} MB some time later");
}

#[test]
fn aborted_connections_release_their_slots() {
    let server = Running::in_memory();
    let api = with_foos(&server);
    for i in 0..4 {
        api.create(FOOS, &foo(&format!("n{i}"), json!({"text": "x".repeat(900_000)})));
    }
    for _ in 0..500 {
        drop(api.open(&format!("{FOOS}?pretty=1")));
    }
    // More than there are slots: each was released.
    assert_eq!(api.get(FOOS).status, 200);
}
