//! `pleach chaos`: fault rules in front of an API server, with kube-rs as the client.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, Config};
use pleach_clients::{Running, SOON, binary, oldest_and_newest_kubectl};
use serde_json::json;

struct Chaos {
    child: Child,
    url: String,
}

impl Chaos {
    /// In front of a server, with the credentials of its kubeconfig for the token "secret".
    fn before(server: &Running, faults: &str) -> Self {
        let rules = server.home().join("faults.yaml");
        std::fs::write(&rules, faults).unwrap();
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let kubeconfig = text(server.kubeconfig());
        Self::start(&[
            "--upstream-kubeconfig",
            &kubeconfig,
            "--faults",
            &text(&rules),
            "--kubeconfig",
            &text(&server.home().join("chaos.kubeconfig")),
        ])
    }

    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(binary())
            .args(["chaos", "--token=secret"])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.as_mut().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        out.read_line(&mut String::new()).unwrap();
        let url = line.trim().rsplit(' ').next().unwrap().to_owned();
        Self { child, url }
    }

    fn client(&self, token: &str) -> Client {
        let mut config = Config::new(self.url.parse().unwrap());
        config.auth_info.token = Some(token.to_owned().into());
        config.read_timeout = Some(SOON);
        Client::try_from(config).unwrap()
    }

    fn config_maps(&self) -> Api<ConfigMap> {
        Api::default_namespaced(self.client("secret"))
    }

    /// Runs `pleach world …`.
    fn world(&self, arguments: &[&str]) -> String {
        let ran = Command::new(binary())
            .arg("world")
            .args(arguments)
            .env("PLEACH_WORLDS", &self.url)
            .env("PLEACH_TOKEN", "secret")
            .output()
            .unwrap();
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8(ran.stdout).unwrap()
    }
}

impl Drop for Chaos {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn create(api: &Api<ConfigMap>, name: &str) -> kube::Result<ConfigMap> {
    let object = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    api.create(&PostParams::default(), &object).await
}

async fn names(api: &Api<ConfigMap>) -> Vec<String> {
    let list = api.list(&ListParams::default()).await.unwrap();
    let names = list.items.into_iter().filter_map(|item| item.metadata.name);
    names.filter(|name| name != "kube-root-ca.crt").collect()
}

fn code(result: kube::Result<ConfigMap>) -> u16 {
    match result {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_and_resets_before_and_after_the_commit() {
    let server = Running::in_memory();
    let chaos = Chaos::before(
        &server,
        "- {match: {verbs: [create]}, error: 409, times: 1}\n\
         - {match: {verbs: [create]}, errorAfterCommit: 500, times: 1}\n\
         - {match: {verbs: [create]}, reset: after, times: 1}\n\
         - {match: {verbs: [create], user: admin}, error: 403, times: 1}\n",
    );
    let api = chaos.config_maps();
    assert_eq!(code(create(&api, "a").await), 409);
    assert!(names(&api).await.is_empty());
    assert_eq!(code(create(&api, "a").await), 500);
    assert!(!matches!(create(&api, "b").await, Err(kube::Error::Api(_)) | Ok(_)));
    assert_eq!(names(&api).await, ["a", "b"]);
    assert_eq!(code(create(&api, "c").await), 403, "the API server says that the user is admin");
    create(&api, "c").await.unwrap();
    let log = chaos.world(&["requests", "default"]);
    assert!(log.contains("[error 409 before the commit]") && log.contains("(admin)"), "{log}");
    let rules = chaos.world(&["faults", "default"]);
    assert!(rules.starts_with("1\terror 409 before the commit\thappened 1 times\n"), "{rules}");
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_lists_and_restarts() {
    let server = Running::in_memory();
    let chaos = Chaos::before(&server, "[{match: {verbs: [watch]}, cutEvents: 1, times: 1}]");
    let api = chaos.config_maps();
    let version = create(&api, "a").await.unwrap().metadata.resource_version.unwrap();
    let watch = api.watch(&WatchParams::default(), &version).await.unwrap();
    create(&api, "b").await.unwrap();
    let events: Vec<_> = tokio::time::timeout(SOON, watch.collect()).await.unwrap();
    assert_eq!(events.len(), 1, "{events:?}");

    let rules = server.home().join("more.yaml");
    std::fs::write(&rules, "[{match: {verbs: [list]}, staleList: 1}]").unwrap();
    chaos.world(&["faults", "default", "--clear", "--add", rules.to_str().unwrap()]);
    let old = api.list(&ListParams::default().match_any()).await.unwrap();
    assert!(!old.items.iter().any(|item| item.metadata.name.as_deref() == Some("b")), "{old:?}");
    assert_eq!(names(&api).await, ["a", "b"]);

    let mut watch = api.watch(&WatchParams::default(), &version).await.unwrap().boxed();
    let first = tokio::time::timeout(SOON, watch.try_next()).await.unwrap().unwrap();
    assert!(matches!(first, Some(WatchEvent::Added(_))), "{first:?}");
    chaos.world(&["restart", "default", "--away", "200ms"]);
    let rest = tokio::time::timeout(SOON, watch.try_next()).await.unwrap();
    assert!(!matches!(rest, Ok(Some(WatchEvent::Added(_)))), "the watch is cut: {rest:?}");
    let end = std::time::Instant::now() + SOON;
    while create(&api, "c").await.is_err() {
        assert!(std::time::Instant::now() < end, "the server is back after a while");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_over_websocket_is_sent_away_and_falls_under_the_rules() {
    let server = Running::in_memory();
    let chaos = Chaos::before(&server, "[{match: {verbs: [watch]}, error: 500, times: 1}]");
    let client = chaos.client("secret");
    let mut codes = Vec::new();
    for is_upgrade in [true, false] {
        let path = "/api/v1/namespaces/default/configmaps?watch=true&timeoutSeconds=1";
        let mut request = http::Request::get(path);
        if is_upgrade {
            request = request
                .header("connection", "Upgrade")
                .header("upgrade", "websocket")
                .header("origin", chaos.url.as_str())
                .header("sec-websocket-version", "13")
                .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
        }
        let answer = client.send(request.body(kube::client::Body::empty()).unwrap()).await.unwrap();
        codes.push(answer.status().as_u16());
    }
    assert_eq!(codes, [200, 500], "clients open an ordinary watch instead");
    assert_eq!(chaos.world(&["requests", "default"]).lines().count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_too_old_is_that_of_now() {
    let server = Running::in_memory();
    let chaos = Chaos::before(&server, "[{match: {verbs: [list]}, staleList: 1000000}]");
    let api = chaos.config_maps();
    create(&api, "a").await.unwrap();
    api.list(&ListParams::default().match_any()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn other_credentials_are_passed_on() {
    let server = Running::start(&["--in-memory", "--authorization-mode=RBAC"]);
    let url = format!("https://127.0.0.1:{}", server.port());
    let chaos = Chaos::start(&["--proxy", &url, "--insecure-skip-tls-verify"]);
    let list = async |token: &str| {
        Api::<ConfigMap>::default_namespaced(chaos.client(token)).list(&ListParams::default()).await
    };
    list("conformance").await.unwrap();
    let anonymous = list("secret").await.unwrap_err();
    assert!(anonymous.to_string().contains("system:anonymous"), "the proxy has no credentials: {anonymous}");
    let wrong = list("wrong").await.unwrap_err();
    assert!(matches!(&wrong, kube::Error::Api(status) if status.code == 401), "{wrong}");
    let client = chaos.client("conformance");
    let refused =
        client.request_text(http::Request::get("/pleach/worlds/default/requests").body(Vec::new()).unwrap());
    assert!(refused.await.is_err(), "only the proxy's token opens the log");
}

#[test]
fn kubectl_goes_through_the_proxy() {
    let server = Running::in_memory();
    let chaos = Chaos::before(&server, "[{match: {verbs: [delete]}, error: 503, times: 1}]");
    let (kubectl, _) = oldest_and_newest_kubectl().into_iter().last().unwrap();
    let run = |arguments: &[&str]| {
        Command::new(&kubectl)
            .args(arguments)
            .env("KUBECONFIG", server.home().join("chaos.kubeconfig"))
            .env("HOME", server.home())
            .output()
            .unwrap()
    };
    assert!(run(&["create", "configmap", "a"]).status.success());
    let refused = run(&["delete", "configmap", "a"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("injected by a fault rule"), "{refused:?}");
    assert!(run(&["delete", "configmap", "a"]).status.success());
    drop(chaos);
}

#[test]
fn a_proxy_ends_with_the_process_that_started_it() {
    let script = "\"$0\" chaos --end-with-parent --proxy https://127.0.0.1:1 --token=secret & wait";
    let mut shell =
        Command::new("sh").args(["-c", script]).arg(binary()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(shell.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().rsplit("http://").next().unwrap().to_owned();
    let is_listening = || std::net::TcpStream::connect(&address).is_ok();
    let listened = is_listening();
    shell.kill().unwrap();
    shell.wait().unwrap();
    assert!(listened, "{line}");
    pleach_clients::eventually("the proxy has ended", || (!is_listening()).then_some(()));
}
