//! Worlds from outside: `pleach serve --in-memory --test-endpoints`, kube-rs as the client.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use kube::api::{Api, DeleteParams, ListParams, PostParams};
use kube::{Client, Config};
use pleach_clients::binary;
use pleach_conformance::{HOOK_CA, HookServer};
use serde_json::{Value, json};

struct Process {
    child: Child,
    url: String,
}

impl Process {
    fn start() -> Self {
        Self::start_with(&[])
    }

    fn start_with(arguments: &[&str]) -> Self {
        let mut child = Command::new(binary())
            .args([
                "serve",
                "--in-memory",
                "--test-endpoints",
                "--port=0",
                "--token=secret",
                "--log-level=warn",
            ])
            .args(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().rsplit(' ').next().unwrap().to_owned();
        Self { child, url }
    }

    fn client(&self, path: &str, token: &str) -> Client {
        let mut config = Config::new(format!("{}{path}", self.url).parse().unwrap());
        config.auth_info.token = Some(token.to_owned().into());
        config.read_timeout = Some(Duration::from_secs(20));
        Client::try_from(config).unwrap()
    }

    async fn admin(&self, method: &str, path: &str, body: &str) -> kube::Result<String> {
        let request = http::Request::builder().method(method).uri(format!("/pleach/worlds{path}"));
        self.client("", "secret").request_text(request.body(body.as_bytes().to_vec()).unwrap()).await
    }

    fn config_maps(&self, world: &str) -> Api<ConfigMap> {
        Api::default_namespaced(self.client(&format!("/worlds/{world}"), "secret"))
    }
}

impl Drop for Process {
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

#[tokio::test]
async fn worlds_are_forked_reset_and_removed() {
    let process = Process::start();
    let first = process.config_maps("default");
    create(&first, "a").await.unwrap();
    process.admin("PUT", "/one", "").await.unwrap();
    let one = process.config_maps("one");
    create(&one, "b").await.unwrap();
    assert_eq!((names(&first).await, names(&one).await), (vec!["a".into()], vec!["a".into(), "b".into()]));
    process.admin("PUT", "/two", r#"{"from": "one"}"#).await.unwrap();
    assert_eq!(names(&process.config_maps("two")).await, ["a", "b"]);
    process.admin("PUT", "/one", "").await.unwrap();
    assert_eq!(names(&one).await, ["a"], "made anew from the first world");
    process.admin("DELETE", "/one", "").await.unwrap();
    assert!(one.list(&ListParams::default()).await.is_err());
    let worlds: Value = serde_json::from_str(&process.admin("GET", "", "").await.unwrap()).unwrap();
    let listed: Vec<_> = worlds.as_array().unwrap().iter().map(|world| world["name"].clone()).collect();
    assert_eq!(listed, ["default", "two"]);
}

#[tokio::test]
async fn clock_faults_and_requests_of_a_world() {
    let process = Process::start();
    process.admin("PUT", "/one", "").await.unwrap();
    process.admin("POST", "/one/clock", r#"{"advance": "2h"}"#).await.unwrap();
    let api = process.config_maps("one");
    process.admin("POST", "/one/faults", "[{match: {verbs: [create]}, error: 409, times: 1}]").await.unwrap();
    let refused = create(&api, "a").await.unwrap_err();
    assert!(matches!(refused, kube::Error::Api(status) if status.code == 409));
    let created = create(&api, "a").await.unwrap().metadata.creation_timestamp.unwrap();
    assert_eq!(serde_json::to_value(created).unwrap(), "2027-01-15T10:00:00Z");
    let requests = process.admin("GET", "/one/requests", "").await.unwrap();
    let requests: Value = serde_json::from_str(&requests).unwrap();
    let codes: Vec<_> = requests.as_array().unwrap().iter().map(|request| request["code"].clone()).collect();
    assert_eq!(codes, [409, 201]);
    assert_eq!(requests[0]["fault"], "error 409 before the commit");
    assert_eq!(requests[0]["user"], "admin");
}

#[tokio::test]
async fn only_the_admin_and_only_with_the_flag() {
    let process = Process::start();
    let request = || http::Request::get("/pleach/worlds").body(Vec::new()).unwrap();
    assert!(process.client("", "wrong").request_text(request()).await.is_err());
    let refused = Command::new(binary()).args(["serve", "--test-endpoints"]).output().unwrap();
    assert!(!refused.status.success());
    let arguments = ["serve", "--in-memory", "--test-endpoints", "--bind=0.0.0.0", "--port=0"];
    let refused = Command::new(binary()).args(arguments).output().unwrap();
    assert!(!refused.status.success());
    let reason = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(reason.contains("needs --in-memory and an address of this machine"), "{reason}");
}

#[tokio::test]
async fn users_of_a_world_have_tokens_and_kubeconfigs() {
    let process = Process::start();
    process.admin("PUT", "/one", "").await.unwrap();
    let ann = process.admin("PUT", "/one/users/ann", r#"{"groups": ["system:masters"]}"#).await.unwrap();
    let ann: Value = serde_json::from_str(&ann).unwrap();
    let list = async |world: &str| {
        let client = process.client(&format!("/worlds/{world}"), ann["token"].as_str().unwrap());
        Api::<ConfigMap>::default_namespaced(client).list(&ListParams::default()).await
    };
    list("one").await.unwrap();
    assert!(list("default").await.is_err(), "she is a user of one world");
    let kubeconfig = ann["kubeconfig"].as_str().unwrap();
    assert!(kubeconfig.contains("/worlds/one\n") && kubeconfig.contains(ann["token"].as_str().unwrap()));
    assert!(!kubeconfig.contains("client-certificate"), "a certificate is good in every world: {kubeconfig}");
    let requests = process.admin("GET", "/one/requests", "").await.unwrap();
    let requests: Value = serde_json::from_str(&requests).unwrap();
    assert_eq!(requests[0]["user"], "ann");
}

/// `pleach world …`, from the shell.
#[tokio::test]
async fn worlds_from_the_command_line() {
    let process = Process::start();
    let home = tempfile::tempdir().unwrap();
    let world = |arguments: &[&str]| {
        let command = Command::new(binary())
            .arg("world")
            .args(arguments)
            .env("PLEACH_WORLDS", &process.url)
            .env("PLEACH_TOKEN", "secret")
            .output();
        let ran = command.unwrap();
        (ran.status.code(), String::from_utf8(ran.stdout).unwrap() + &String::from_utf8_lossy(&ran.stderr))
    };
    let ok = |arguments: &[&str]| {
        let (code, text) = world(arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {text}");
        text
    };
    assert!(ok(&["fork", "one"]).ends_with("/worlds/one\n"));
    assert_eq!(ok(&["list"]).lines().count(), 2);
    assert_eq!(ok(&["clock", "one", "--set", "1000", "--advance", "1h"]), "4600\n");
    let faults = home.path().join("faults.yaml");
    std::fs::write(&faults, "[{match: {verbs: [create]}, error: 409, times: 1}]").unwrap();
    let path = faults.to_str().unwrap();
    assert_eq!(ok(&["faults", "one", "--add", path]), "1\terror 409 before the commit\thappened 0 times\n");
    let api = process.config_maps("one");
    assert!(create(&api, "a").await.is_err());
    create(&api, "a").await.unwrap();
    assert!(ok(&["requests", "one"]).contains("[error 409 before the commit]"));
    assert!(ok(&["requests", "one", "--json"]).contains("\"answer\":"));
    let recording = home.path().join("recording.json");
    std::fs::write(&recording, ok(&["record", "one", "--case", "tests/create"])).unwrap();
    let audit = home.path().join("audit.log");
    std::fs::write(&audit, ok(&["audit", "one"])).unwrap();
    ok(&["fork", "two"]);
    assert_eq!(ok(&["replay", "two", recording.to_str().unwrap()]), "");
    let (code, differences) = world(&["replay", "two", recording.to_str().unwrap()]);
    assert_eq!((code, differences.contains("status 409")), (Some(1), true), "{differences}");
    assert!(ok(&["objects", "two"]).contains("\"name\":\"a\""));
    ok(&["restart", "two"]);
    assert_eq!(names(&process.config_maps("two")).await, ["a"]);
    assert!(ok(&["user", "two", "ann", "--group", "dev"]).contains("/worlds/two\n"));
    assert!(ok(&["kubeconfig", "two"]).contains("/worlds/two\n"));
    ok(&["remove", "two"]);
    let (code, error) = world(&["clock", "two"]);
    assert_eq!((code, error.as_str()), (Some(2), "pleach: there is no world \"two\"\n"));

    let learn = ["rbac", "learn", "--from-audit", audit.to_str().unwrap()];
    let learned = Command::new(binary()).args(learn).output().unwrap();
    let roles = String::from_utf8(learned.stdout).unwrap();
    assert!(roles.contains("- configmaps") && roles.contains("- create"), "{roles}");
}

/// Sends requests that keep every background controller busy; returns the answers.
async fn answers_of_a_busy_day(process: &Process, world: &str) -> Vec<String> {
    let client = process.client(&format!("/worlds/{world}"), "secret");
    let text = async |method: &str, path: &str, body: Value| {
        let request =
            http::Request::builder().method(method).uri(path).header("content-type", "application/json");
        let request = request.body(serde_json::to_vec(&body).unwrap()).unwrap();
        let answer = client.request_text(request).await;
        answer.unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    };
    let crd = json!({"metadata": {"name": "figs.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "figs", "kind": "Fig"},
        "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
    let mut answers = vec![
        text("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd).await,
        text("POST", "/api/v1/namespaces", json!({"metadata": {"name": "a"}})).await,
    ];
    let maps = "/api/v1/namespaces/a/configmaps";
    let owner = text("POST", maps, json!({"metadata": {"generateName": "owner-"}})).await;
    let owner: Value = serde_json::from_str(&owner).unwrap();
    let (name, uid) = (&owner["metadata"]["name"], &owner["metadata"]["uid"]);
    for _ in 0..5 {
        let owners = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}]);
        let owned = json!({"metadata": {"generateName": "owned-", "ownerReferences": owners}});
        answers.push(text("POST", maps, owned).await);
    }
    process.admin("POST", &format!("/{world}/clock"), r#"{"advance": "90m"}"#).await.unwrap();
    let fig = json!({"apiVersion": "example.com/v1", "kind": "Fig", "metadata": {"generateName": "f-"}});
    answers.push(text("POST", "/apis/example.com/v1/namespaces/a/figs", fig).await);
    answers.push(text("DELETE", &format!("{maps}/{}", name.as_str().unwrap()), Value::Null).await);
    answers.push(text("POST", "/api/v1/namespaces", json!({"metadata": {"name": "b"}})).await);
    answers.push(text("DELETE", "/api/v1/namespaces/a", Value::Null).await);
    for path in
        ["/api/v1/namespaces", "/api/v1/configmaps", "/api/v1/serviceaccounts", "/apis/example.com/v1/figs"]
    {
        answers.push(text("GET", path, Value::Null).await);
    }
    answers
}

#[tokio::test]
async fn two_processes_with_one_seed_give_the_same_bytes() {
    let (one, two) = (Process::start_with(&["--seed=42"]), Process::start_with(&["--seed=42"]));
    let other = Process::start_with(&["--seed=43"]);
    let first = answers_of_a_busy_day(&one, "default").await;
    for (answer, again) in first.iter().zip(answers_of_a_busy_day(&two, "default").await) {
        assert_eq!(*answer, again);
    }
    let owned = &first[2];
    assert!(first.last().unwrap().contains(r#""items":[]"#), "nothing is left of the namespace: {first:?}");
    assert!(first.iter().any(|answer| answer.contains("\"kube-root-ca.crt\"")), "controllers run");
    let different = answers_of_a_busy_day(&other, "default").await;
    assert_ne!(*owned, different[2], "another seed, other uids");
    // Forks with a seed of their own, in processes that began with others.
    for (process, seed) in [(&one, 7), (&two, 7), (&other, 8)] {
        let options = format!(r#"{{"seed": {seed}}}"#);
        process.admin("PUT", "/fork", &options).await.unwrap();
    }
    let made =
        async |process: &Process| create(&process.config_maps("fork"), "in-fork").await.unwrap().metadata.uid;
    let (first, second, third) = (made(&one).await, made(&two).await, made(&other).await);
    assert!(first.is_some() && first == second && first != third, "{first:?} {second:?} {third:?}");
    let refused = one.admin("PUT", "/fork", r#"{"seed": -1}"#).await.unwrap_err();
    assert!(refused.to_string().contains("seed"), "{refused}");
}

/// A generated name that is taken was an error before v1.31. One seed gives one name.
#[tokio::test]
async fn worlds_emulate_a_version() {
    for (version, minor, taken) in
        [("--emulated-version=1.30", "30", true), ("--emulated-version=1.36", "36", false)]
    {
        let process = Process::start_with(&[version]);
        let made = async |world: &str, from: &str| {
            process
                .admin("PUT", &format!("/{world}"), &format!(r#"{{"from": "{from}", "seed": 9}}"#))
                .await
                .unwrap();
            let object = serde_json::from_value(json!({"metadata": {"generateName": "a-"}})).unwrap();
            process.config_maps(world).create(&PostParams::default(), &object).await
        };
        let name = made("one", "default").await.unwrap().metadata.name;
        match made("two", "one").await {
            Ok(other) => assert!(!taken && other.metadata.name != name, "{version}: {other:?}"),
            Err(kube::Error::Api(status)) => assert!(taken && status.code == 409, "{version}: {status:?}"),
            Err(error) => panic!("{version}: {error}"),
        }
        let client = process.client("/worlds/two", "secret");
        let shown =
            client.request_text(http::Request::get("/version").body(Vec::new()).unwrap()).await.unwrap();
        assert!(shown.contains(&format!("\"emulationMinor\":\"{minor}\"")), "{shown}");
    }
    let refused = Command::new(binary())
        .args(["serve", "--in-memory", "--test-endpoints", "--port=0", "--feature-gates=Nope=true"])
        .output()
        .unwrap();
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("--feature-gates: there is no feature gate"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn writes_after_an_event_are_found() {
    let process = Process::start();
    process.admin("PUT", "/one", "").await.unwrap();
    let api = process.config_maps("one");
    let version = api.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let mut watch = Box::pin(api.watch(&kube::api::WatchParams::default(), &version).await.unwrap());
    for name in ["a", "b", "c"] {
        create(&api, name).await.unwrap();
        let event = futures::StreamExt::next(&mut watch).await.unwrap().unwrap();
        assert!(matches!(event, kube::api::WatchEvent::Added(_)), "{event:?}");
    }
    let after = async |event: usize| {
        let found = process
            .admin("GET", &format!("/one/requests?writes=true&user=adm*&afterEvent={event}"), "")
            .await;
        found.map(|found| serde_json::from_str::<Value>(&found).unwrap().as_array().unwrap().len())
    };
    assert_eq!((after(1).await.unwrap(), after(2).await.unwrap(), after(3).await.unwrap()), (2, 1, 0));
    let error = after(4).await.unwrap_err();
    assert!(error.to_string().contains("there is no event 4: 3 were sent"), "{error}");
    let shell = |event: &str| {
        let command = Command::new(binary())
            .args(["world", "requests", "one", "--writes", "--user", "admin", "--after-event", event])
            .args(["--server", &process.url, "--token", "secret"])
            .output();
        String::from_utf8(command.unwrap().stdout).unwrap()
    };
    assert!(
        shell("2").contains("\"name\":\"c\"") && !shell("2").contains("\"name\":\"b\""),
        "{}",
        shell("2")
    );
    assert_eq!(shell("3"), "");
}

/// Requests of a user that may do everything become roles with which the same requests are allowed, and no others.
#[tokio::test]
async fn roles_learned_from_a_world_are_enough() {
    let process = Process::start();
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    let world = |arguments: &[&str]| {
        let command = Command::new(binary())
            .arg("world")
            .args(arguments)
            .args(["--server", &process.url, "--token", "secret"])
            .output();
        let ran = command.unwrap();
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8(ran.stdout).unwrap()
    };
    let ann = |name: &str, group: &[&str]| {
        let arguments = [&["user", name, "ann", "--token-only"], group].concat();
        let client = process.client(&format!("/worlds/{name}"), world(&arguments).trim());
        Api::<ConfigMap>::default_namespaced(client)
    };
    world(&["fork", "one"]);
    let api = ann("one", &["--group", "system:masters"]);
    create(&api, "a").await.unwrap();
    names(&api).await;
    std::fs::write(path("audit.log"), world(&["audit", "one"])).unwrap();
    let learn = ["rbac", "learn", "--from-audit", &path("audit.log"), "--user", "ann"];
    let learned = Command::new(binary()).args(learn).output().unwrap();
    assert!(learned.status.success(), "{learned:?}");
    std::fs::write(path("roles.yaml"), &learned.stdout).unwrap();

    world(&["fork", "two"]);
    std::fs::write(path("two.kubeconfig"), world(&["kubeconfig", "two"])).unwrap();
    let api = ann("two", &[]);
    let code = |result: kube::Result<ConfigMap>| match result {
        Err(kube::Error::Api(status)) => status.code,
        other => panic!("{other:?}"),
    };
    assert_eq!(code(create(&api, "a").await), 403);
    let (kubectl, _) = pleach_clients::oldest_and_newest_kubectl().into_iter().last().unwrap();
    let applied = Command::new(kubectl)
        .args(["apply", "-f", &path("roles.yaml"), "--kubeconfig", &path("two.kubeconfig")])
        .env("HOME", home.path())
        .output()
        .unwrap();
    assert!(applied.status.success(), "{applied:?}");
    create(&api, "a").await.unwrap();
    assert!(names(&api).await.contains(&"a".to_owned()));
    assert_eq!(code(api.get("a").await), 403, "it was never done before");
}

/// A recording has the format of the recorded conversations, and plays against any server.
#[tokio::test(flavor = "multi_thread")]
async fn recordings_play_against_a_server() {
    let process = Process::start();
    let api = process.config_maps("default");
    let made = create(&api, "a").await.unwrap();
    let mut changed = made.clone();
    changed.data = Some([("k".to_owned(), "v".to_owned())].into());
    api.replace("a", &PostParams::default(), &changed).await.unwrap();
    assert!(api.replace("a", &PostParams::default(), &changed).await.is_err(), "its resource version is old");
    api.delete("a", &kube::api::DeleteParams::default()).await.unwrap();
    let recording = process.admin("GET", "/default/recording?name=tests/life", "").await.unwrap();
    let played = tokio::task::spawn_blocking(move || {
        let server = pleach_clients::Running::in_memory();
        let case = pleach_conformance::Case::parse("tests/life", &recording).unwrap();
        case.play(server.endpoint())
    });
    assert_eq!(played.await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn flags_about_kinds_controllers_and_admission_count_for_worlds() {
    let process = Process::start_with(&[
        "--runtime-config=apps/v1=false",
        "--disable-admission-plugins=NamespaceLifecycle",
        "--service-cluster-ip-range=10.96.0.0/16",
    ]);
    process.admin("PUT", "/fork", "").await.unwrap();
    for world in ["default", "fork"] {
        let client = process.client(&format!("/worlds/{world}"), "secret");
        let groups = client.list_api_groups().await.unwrap().groups;
        assert!(groups.iter().all(|group| group.name != "apps"), "{world}");
        let elsewhere: Api<ConfigMap> = Api::namespaced(client.clone(), "missing");
        create(&elsewhere, "a").await.unwrap();
        let own: Api<Service> = Api::default_namespaced(client);
        let address = own.get("kubernetes").await.unwrap().spec.unwrap().cluster_ip;
        assert_eq!(address.as_deref(), Some("10.96.0.1"), "{world}");
    }
    let refused = Command::new(binary())
        .args(["serve", "--in-memory", "--test-endpoints", "--port=0", "--anonymous-auth=false"])
        .output()
        .unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && said.contains("--anonymous-auth has no effect on worlds"), "{said}");
}

#[tokio::test]
async fn faults_of_a_webhook_that_answers() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let hook = HookServer::start(0, move |_, review| {
        count.fetch_add(1, Ordering::SeqCst);
        let response = json!({"uid": review["request"]["uid"], "allowed": true});
        let answer =
            json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response});
        (200, answer.to_string())
    });
    let hook = hook.unwrap();
    let process = Process::start();
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "hooks"}, "webhooks": [{
            "name": "hook.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 5, "failurePolicy": "Fail",
            "clientConfig": {"url": hook.url("/validate"), "caBundle": BASE64_STANDARD.encode(HOOK_CA)},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        }],
    });
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let request = http::Request::post(path).header("content-type", "application/json");
    let request = request.body(configuration.to_string().into_bytes()).unwrap();
    process.client("/worlds/default", "secret").request_text(request).await.unwrap();
    let api = process.config_maps("default");
    for (fault, allowed, calls) in [
        ("delay: 1ms", true, 1),
        ("error: 500", false, 0),
        ("errorAfterCommit: 503", false, 1),
        ("reset: before", false, 0),
        ("reset: after", false, 1),
    ] {
        let rules = format!("[{{match: {{webhook: '{}*'}}, {fault}, times: 1}}]", hook.url("/"));
        process.admin("POST", "/default/faults", &rules).await.unwrap();
        let before = asked.load(Ordering::SeqCst);
        let created = create(&api, "a").await;
        assert_eq!(created.is_ok(), allowed, "{fault}: {created:?}");
        assert_eq!(asked.load(Ordering::SeqCst) - before, calls, "{fault}");
        if allowed {
            api.delete("a", &DeleteParams::default()).await.unwrap();
        }
    }
    create(&api, "a").await.unwrap();
}
