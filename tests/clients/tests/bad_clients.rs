//! Misbehaving clients get an error or are disconnected, and the server stays up.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use pleach_clients::{Api, Running};
use serde_json::json;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// The server responds in time.
#[track_caller]
fn alive(api: &Api) {
    let started = Instant::now();
    assert_eq!(api.get("/readyz").status, 200);
    assert_eq!(api.get(MAPS).status, 200);
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[test]
fn bodies_have_a_limit() {
    let server = Running::in_memory();
    let api = server.api();
    let of = |size: usize| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "big"},
               "data": {"x": "y".repeat(size)}})
    };
    let refused = api.send("POST", MAPS, Some(&of(3 * 1024 * 1024 + 1)));
    assert_eq!(refused.status, 413, "{}", refused.body);
    assert_eq!(refused.body["reason"], "RequestEntityTooLarge");
    let taken = api.send("POST", MAPS, Some(&of(900 * 1024)));
    assert_eq!(taken.status, 201, "below 1 MiB: {}", taken.body["message"]);
    alive(&api);
}

#[test]
fn malformed_requests_are_answered() {
    let server = Running::in_memory();
    let api = server.api();
    let deep = format!("{}1{}", "[".repeat(200_000), "]".repeat(200_000));
    let body: &[(&str, &str, &str, &[u16])] = &[
        ("not JSON", MAPS, "{", &[400]),
        ("another kind", MAPS, r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"}}"#, &[400]),
        ("no object", MAPS, "[]", &[400]),
        ("nothing", MAPS, "", &[400]),
        ("deep", MAPS, &deep, &[400]),
    ];
    for (why, path, body, expected) in body {
        let answer = api.raw("POST", path, body);
        assert!(expected.contains(&answer.status), "{why}: {} {}", answer.status, answer.body);
        assert_eq!(answer.body["kind"], "Status", "{why}: {}", answer.body);
    }
    let long = format!("{MAPS}?labelSelector={}", "a".repeat(100_000));
    let paths: &[(&str, &str, &[u16])] = &[
        ("dots", "/api/v1/namespaces/default/../../../etc/passwd", &[301, 400, 404]),
        ("bad escape", "/api/v1/namespaces/%zz/configmaps", &[400]),
        ("a NUL", "/api/v1/namespaces/%00/configmaps", &[200, 400, 404]),
        ("not UTF-8", "/api/v1/namespaces/%ff/configmaps", &[200, 400, 404]),
        ("empty parts", "/apis//v1//x", &[301, 400, 404]),
        ("many parts", &"/a".repeat(10_000), &[400, 404, 414, 431]),
        ("bad selector", "/api/v1/configmaps?labelSelector=a%20in%20(", &[400]),
        ("bad continue", "/api/v1/configmaps?limit=1&continue=%F0%9F%8C%B3", &[400]),
        ("bad limit", "/api/v1/configmaps?limit=many", &[400]),
        ("bad version", "/api/v1/configmaps?resourceVersion=soon", &[400]),
        ("the future", "/api/v1/configmaps?resourceVersion=999999999", &[504]),
        ("long query", &long, &[400, 414, 431]),
    ];
    for (why, path, expected) in paths {
        let answer = api.get(path);
        assert!(expected.contains(&answer.status), "{why}: {} {}", answer.status, answer.body);
    }
    let huge = "x".repeat(2 * 1024 * 1024);
    match api.raw_with("GET", MAPS, &[("X-Huge", &huge)], None) {
        Ok(answer) => assert!([400, 431].contains(&answer.status), "{}", answer.status),
        Err(error) => eprintln!("the connection was closed on huge headers: {error}"),
    }
    alive(&api);
}

#[test]
fn silent_and_slow_connections_do_no_harm() {
    let server = Running::in_memory();
    let api = server.api();
    let connect = || TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    // Connections that never speak TLS, speak something else, or stop in the middle.
    let mut silent: Vec<TcpStream> = (0..200).map(|_| connect()).collect();
    let mut plain = connect();
    plain.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut said = Vec::new();
    let _ = plain.read_to_end(&mut said);
    assert!(!said.starts_with(b"HTTP/1.1 200"), "no answer without TLS");
    for (number, stream) in silent.iter_mut().enumerate() {
        // The start of a TLS record.
        let _ = stream.write_all(&[0x16, 3, 1, 2, 0][..=number % 5]);
    }
    alive(&api);
    // Half open: the client has sent everything and does not read.
    let half: Vec<_> = (0..50).map(|_| api.watch(MAPS, Duration::from_secs(5))).collect();
    let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "n-"},
                      "data": {"x": "y".repeat(500 * 1024)}});
    // 50 watchers that do not read, with 40 MB of events each.
    for _ in 0..80 {
        api.create(MAPS, &body);
    }
    alive(&api);
    let memory = resident(server.pid());
    assert!(memory < 1500, "{memory} MB for events that nobody reads");
    eprintln!("{memory} MB resident with 50 watchers that do not read 40 MB of events each");
    drop((half, silent));
    alive(&api);
}

#[test]
fn idle_watches_do_no_harm() {
    const WATCHES: usize = 10_000;
    let server = Running::start(&pleach_conformance::AS_RECORDED);
    let api = server.api();
    let before = resident(server.pid());
    let watches: Vec<_> = std::thread::scope(|scope| {
        let openers: Vec<_> = (0..8)
            .map(|_| {
                let api = api.clone();
                scope.spawn(move || {
                    (0..WATCHES / 8).map(|_| api.watch(MAPS, Duration::from_mins(1))).collect::<Vec<_>>()
                })
            })
            .collect();
        openers.into_iter().flat_map(|opener| opener.join().unwrap()).collect()
    });
    assert_eq!(watches.len(), WATCHES);
    alive(&api);
    let each = (resident(server.pid()) - before) * 1024 / WATCHES as u64;
    eprintln!("{each} KB for each idle watch");
    assert!(each < 200, "{each} KB for each idle watch");
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "news"}});
    api.create(MAPS, &object);
    for watch in watches.into_iter().step_by(100) {
        let line = watch.first_line().expect("the event comes");
        assert!(line.contains(r#""name":"news""#), "{line}");
    }
    alive(&api);
}

#[test]
fn anonymous_requests_get_health_and_version_only() {
    let server = Running::in_memory();
    let api = server.api();
    for (path, expected) in [
        ("/readyz", 200),
        ("/livez", 200),
        ("/healthz", 200),
        ("/version", 200),
        ("/api/v1/namespaces", 401),
        ("/metrics", 401),
    ] {
        let wrong = api.raw_with("GET", path, &[("Authorization", "Bearer wrong")], None).unwrap();
        assert_eq!(wrong.status, 401, "{path} with a wrong token");
        let none = api.anonymous("GET", path).unwrap();
        assert!(
            none.status == expected || (expected == 401 && none.status == 403),
            "{path}: {}",
            none.status
        );
    }
}

/// Resident memory of a process in megabytes.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}
