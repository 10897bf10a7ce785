//! Faults that are about time, watches, webhooks and the server as a whole, each met by a `kube` client.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams, WatchEvent, WatchParams};
use pleach_test::Server;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Longer than anything here takes, also on a busy machine.
const LONG: Duration = Duration::from_secs(20);

fn config_maps(server: &Server) -> Api<ConfigMap> {
    Api::default_namespaced(server.client())
}

async fn create(api: &Api<ConfigMap>, name: &str) -> kube::Result<ConfigMap> {
    let object = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    api.create(&PostParams::default(), &object).await
}

async fn names(api: &Api<ConfigMap>) -> Vec<String> {
    let list = api.list(&ListParams::default()).await.unwrap();
    list.items.into_iter().filter_map(|item| item.metadata.name).collect()
}

async fn post(server: &Server, path: &str, body: Value) -> kube::Result<String> {
    let request = http::Request::post(path).header("content-type", "application/json");
    server.client().request_text(request.body(serde_json::to_vec(&body).unwrap()).unwrap()).await
}

#[tokio::test]
async fn requests_and_events_wait() {
    let server = Server::start().await;
    let api = config_maps(&server);
    let began = Instant::now();
    server.add_faults("[{match: {verbs: [create]}, delay: 60ms, times: 1}]").unwrap();
    let version = create(&api, "a").await.unwrap().metadata.resource_version.unwrap();
    assert!(began.elapsed() >= Duration::from_millis(60));
    assert_eq!(server.requests()[0].fault.as_deref(), Some("delay 60ms"));

    server.add_faults("[{match: {verbs: [watch]}, delayEvents: 60ms}]").unwrap();
    let mut watch = api.watch(&WatchParams::default(), &version).await.unwrap().boxed();
    let began = Instant::now();
    create(&api, "b").await.unwrap();
    let event = tokio::time::timeout(LONG, watch.try_next()).await.unwrap().unwrap();
    assert!(matches!(event, Some(WatchEvent::Added(_))), "{event:?}");
    assert!(began.elapsed() >= Duration::from_millis(60));
}

#[tokio::test]
async fn clients_wait_in_vain_before_or_after_the_commit() {
    let server = Server::start().await;
    let api = config_maps(&server);
    for (when, expected) in [("before", 0), ("after", 1)] {
        server.add_faults(&format!("[{{match: {{verbs: [create]}}, noAnswer: {when}, times: 1}}]")).unwrap();
        let answer = tokio::time::timeout(Duration::from_millis(100), create(&api, "a")).await;
        assert!(answer.is_err(), "{answer:?}");
        server
            .eventually(|| async {
                let found = names(&api).await.len();
                if found == expected { Ok(()) } else { Err(format!("{when}: {found}")) }
            })
            .await;
    }
}

/// fabric8 asks for a WebSocket first, and opens an ordinary watch if the answer is an ordinary one that ends.
#[tokio::test]
async fn a_watch_that_asks_for_a_websocket_is_sent_away() {
    let server = Server::start().await;
    create(&config_maps(&server), "a").await.unwrap();
    server.clear_requests();
    server.add_faults("[{match: {verbs: [watch]}, cutEvents: 1}]").unwrap();
    let listener = server.listen().await.unwrap();
    let address = listener.url().replace("http://", "");
    let mut answers = Vec::new();
    let upgrade = format!(
        "connection: Upgrade\r\nupgrade: WebSocket\r\norigin: http://{address}\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    );
    for headers in [upgrade.as_str(), "connection: close\r\n"] {
        let mut socket = tokio::net::TcpStream::connect(&address).await.unwrap();
        let request = format!(
            "GET /api/v1/namespaces/default/configmaps?watch=true HTTP/1.1\r\nhost: {address}\r\n\
             authorization: Bearer {}\r\n{headers}\r\n",
            listener.token()
        );
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        let read = async {
            while !answer.ends_with("0\r\n\r\n") && !answer.contains("content-length: 0\r\n") {
                let mut buffer = [0; 4096];
                let count = socket.read(&mut buffer).await.unwrap();
                assert!(count > 0, "{answer}");
                answer.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
            }
        };
        tokio::time::timeout(LONG, read).await.expect("the answer ends");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        answers.push(answer.contains(r#""type":"ADDED""#));
    }
    assert_eq!(answers, [false, true]);
    assert_eq!(server.requests().len(), 1, "only the second one is a watch: {}", server.transcript());
}

#[tokio::test]
async fn bookmarks_are_withheld() {
    let server = Server::start().await;
    let api = config_maps(&server);
    create(&api, "a").await.unwrap();
    let mut next = Vec::new();
    for rules in ["[]", "[{match: {verbs: [watch]}, withholdBookmarks: true}]"] {
        server.add_faults(rules).unwrap();
        let mut watch = api.watch(&WatchParams::default(), "0").await.unwrap().boxed();
        let first = tokio::time::timeout(LONG, watch.try_next()).await.unwrap().unwrap();
        assert!(matches!(first, Some(WatchEvent::Added(_))), "{first:?}");
        create(&api, &format!("b{}", next.len())).await.unwrap();
        let second = tokio::time::timeout(LONG, watch.try_next()).await.unwrap().unwrap();
        next.push(matches!(second, Some(WatchEvent::Bookmark(_))));
    }
    assert_eq!(next, [true, false], "the end of the initial events, unless bookmarks are withheld");
}

#[tokio::test]
async fn the_server_restarts_in_the_middle() {
    let server = Server::start().await;
    let api = config_maps(&server);
    let crd = json!({"metadata": {"name": "figs.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "figs", "kind": "Fig"},
        "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
    server.install_crd(&serde_json::from_value(crd).unwrap()).await.unwrap();
    let version = create(&api, "a").await.unwrap().metadata.resource_version.unwrap();
    let mut watch = api.watch(&WatchParams::default(), &version).await.unwrap().boxed();
    server.add_faults("[{match: {verbs: [create]}, restart: 50ms, times: 1}]").unwrap();
    assert!(matches!(create(&api, "b").await, Err(kube::Error::Service(_))));
    let ended = tokio::time::timeout(LONG, async {
        while let Ok(Some(event)) = watch.try_next().await {
            assert!(!matches!(event, WatchEvent::Added(_)), "nothing was created");
        }
    });
    ended.await.expect("watches are cut");
    server
        .eventually(|| async { create(&api, "b").await.map(drop).map_err(|error| error.to_string()) })
        .await;
    assert_eq!(names(&api).await, ["a", "b"]);
    let fig = json!({"apiVersion": "example.com/v1", "kind": "Fig", "metadata": {"name": "f"}});
    post(&server, "/apis/example.com/v1/namespaces/default/figs", fig).await.unwrap();
    let faults: Vec<_> = server.requests().into_iter().filter_map(|request| request.fault).collect();
    assert_eq!(faults[0], "restart, away for 50ms");
}

#[tokio::test]
async fn every_code_comes_with_its_reason() {
    let server = Server::start().await;
    let api = config_maps(&server);
    for (code, reason) in [
        (400, "BadRequest"),
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (404, "NotFound"),
        (405, "MethodNotAllowed"),
        (409, "Conflict"),
        (410, "Expired"),
        (413, "RequestEntityTooLarge"),
        (422, "Invalid"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
    ] {
        for fault in ["error", "errorAfterCommit"] {
            let name = format!("{}-{code}", fault.to_lowercase());
            server.add_faults(&format!("[{{match: {{verbs: [create]}}, {fault}: {code}}}]")).unwrap();
            match create(&api, &name).await {
                Err(kube::Error::Api(status)) => {
                    assert_eq!((status.code, status.reason.as_str()), (code, reason), "{fault}");
                    let seconds = status.details.as_ref().map_or(0, |details| details.retry_after_seconds);
                    assert_eq!(seconds, u32::from(code == 429), "{fault}: {code}");
                }
                other => panic!("{fault}: {code}: {other:?}"),
            }
            server.clear_faults();
            assert_eq!(
                api.get_opt(&name).await.unwrap().is_some(),
                fault == "errorAfterCommit",
                "{fault}: {code}"
            );
        }
    }
}

/// A `kube` watcher lists again after a 410, and goes on after a 429, a reset and the end of its watch.
#[tokio::test]
async fn watchers_get_over_errors() {
    for rule in [
        "{match: {verbs: [watch]}, error: 410, times: 1}",
        "{match: {verbs: [watch]}, error: 429, times: 1}",
        "{match: {verbs: [list]}, error: 429, times: 1}",
        "{match: {verbs: [list]}, error: 410, times: 1}",
        "{match: {verbs: [watch]}, reset: before, times: 1}",
        "{match: {verbs: [watch]}, reset: after, times: 1}",
        "{match: {verbs: [watch]}, cutEvents: 0, times: 1}",
    ] {
        let server = Server::start().await;
        let api = config_maps(&server);
        server.add_faults(&format!("[{rule}]")).unwrap();
        let backoff = kube::runtime::watcher::DefaultBackoff::default();
        let watcher = kube::runtime::watcher(api.clone(), kube::runtime::watcher::Config::default());
        let objects = kube::runtime::WatchStreamExt::backoff(watcher, backoff).boxed();
        let mut objects = kube::runtime::WatchStreamExt::applied_objects(objects).boxed();
        for name in ["a", "b"] {
            create(&api, name).await.unwrap();
            let seen = tokio::time::timeout(LONG, async {
                loop {
                    match objects.next().await {
                        Some(Ok(object)) if object.metadata.name.as_deref() == Some(name) => break,
                        Some(_) => {}
                        None => panic!("a watcher never ends"),
                    }
                }
            });
            seen.await.unwrap_or_else(|_| panic!("{rule}: {name}\n{}", server.transcript()));
        }
        let faults = server.requests().iter().filter(|request| request.fault.is_some()).count();
        assert_eq!(faults, 1, "{rule}:\n{}", server.transcript());
    }
}

#[tokio::test]
async fn rules_choose_requests_by_all_they_have() {
    let server = Server::start().await;
    let refused = async |rule: &str, user: &str| {
        server.clear_faults();
        server.add_faults(&format!("[{{match: {rule}, error: 503}}]")).unwrap();
        let api: Api<ConfigMap> = Api::default_namespaced(server.client_as(user, &[]));
        api.get("a").await.unwrap_err().to_string().contains("injected by a fault rule")
    };
    for (rule, matches) in [
        ("{}", true),
        ("{user: ann}", true),
        ("{user: bob}", false),
        ("{verbs: [list, get]}", true),
        ("{verbs: [list]}", false),
        ("{group: ''}", true),
        ("{group: apps}", false),
        ("{resources: [configmaps]}", true),
        ("{resources: [configmaps/status]}", false),
        ("{namespace: default}", true),
        ("{namespace: other}", false),
        ("{name: a}", true),
        ("{name: 'b*'}", false),
        ("{userAgent: 'other/*'}", false),
    ] {
        assert_eq!(refused(rule, "ann").await, matches, "{rule}");
    }
}

#[tokio::test]
async fn webhooks_fail() {
    let server = Server::start().await;
    let api = config_maps(&server);
    let hook = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "hooks"}, "webhooks": [{"name": "hook.example.com", "sideEffects": "None",
            "admissionReviewVersions": ["v1"], "timeoutSeconds": 1, "failurePolicy": "Fail",
            "clientConfig": {"url": "https://127.0.0.1:1/validate"},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
                "resources": ["configmaps"]}]}]});
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    post(&server, path, hook).await.unwrap();
    let url = "match: {webhook: 'https://127.0.0.1:1/*'}";
    for (fault, words) in [
        ("error: 503", "injected by a fault rule: ServiceUnavailable"),
        ("reset: before", "Post \"https://127.0.0.1:1/validate?timeout=1s\": EOF"),
        ("noAnswer: before", "context deadline exceeded"),
        ("delay: 2s", "context deadline exceeded"),
    ] {
        server.add_faults(&format!("[{{{url}, {fault}, times: 1}}]")).unwrap();
        match create(&api, "a").await {
            Err(kube::Error::Api(status)) => assert!(
                status.code == 500
                    && status.message.contains("failed calling webhook \"hook.example.com\"")
                    && status.message.contains(words),
                "{fault}: {status:?}"
            ),
            other => panic!("{fault}: {other:?}"),
        }
    }
    let rules = server.add_faults("[{match: {webhook: 'https://elsewhere/*'}, error: 500}]").unwrap();
    let refused = create(&api, "a").await.unwrap_err();
    assert!(refused.to_string().contains("connection refused"), "no rule is about this webhook: {refused}");
    assert!(server.remove_fault(rules[0]));
}
