//! Servers on an etcd cluster: what kube-apiserver wrote is served, several servers agree, and an etcd that does not
//! answer is told as such.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pleach_clients::certificates::{Authority, Pair, certificates, client_tls};
use pleach_clients::{Api, Running, binary, definition, eventually};
use pleach_conformance::etcd::Etcd;
use pleach_conformance::{Endpoint, TestServer};
use serde_json::{Value, json};

fn serve(etcd: &Etcd, arguments: &[&str]) -> (TestServer, Api) {
    let server = etcd.serve(&binary(), arguments).unwrap();
    let api = Api::new(server.endpoint.clone());
    (server, api)
}

/// A call of etcd's JSON gateway.
fn etcd_call(etcd: &Etcd, path: &str, body: &Value) -> Value {
    let address = etcd.members[0].url.trim_start_matches("http://");
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: etcd\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let json = &answer[answer.find('{').unwrap()..=answer.rfind('}').unwrap()];
    serde_json::from_str(json).unwrap()
}

fn stored(etcd: &Etcd, key: &str) -> Vec<u8> {
    let found = etcd_call(etcd, "/v3/kv/range", &json!({"key": STANDARD.encode(key)}));
    STANDARD.decode(found["kvs"][0]["value"].as_str().unwrap()).unwrap()
}

fn without_version(mut object: Value) -> Value {
    object["metadata"].as_object_mut().unwrap().remove("resourceVersion");
    object
}

#[test]
fn objects_that_kube_apiserver_wrote_are_served_and_can_be_changed() {
    let recorded: Value =
        serde_json::from_str(include_str!("../../../crates/pleach-storage/src/tests/registry.json")).unwrap();
    let etcd = Etcd::start(1);
    let objects = recorded["objects"].as_array().unwrap();
    for object in objects {
        let value = match object["value"].as_str() {
            Some(text) => STANDARD.encode(text),
            None => object["valueBase64"].as_str().unwrap().to_owned(),
        };
        let put = json!({"key": STANDARD.encode(object["key"].as_str().unwrap()), "value": value});
        etcd_call(&etcd, "/v3/kv/put", &put);
    }
    let (_server, api) = serve(&etcd, &[]);
    let mut served = 0;
    for object in objects.iter().filter(|object| object.get("path").is_some()) {
        let answer = api.get(object["path"].as_str().unwrap()).ok();
        assert_eq!(without_version(answer), without_version(object["served"].clone()), "{}", object["path"]);
        served += 1;
    }
    assert_eq!(served, 16);

    // What is changed is written as kube-apiserver writes it.
    let path = "/apis/etcd.example.com/v1/namespaces/etcd-example/widgets/w2";
    api.try_send("PATCH", path, Some(&json!({"metadata": {"labels": {"a": "b"}}}))).unwrap().ok();
    let text =
        String::from_utf8(stored(&etcd, "/registry/etcd.example.com/widgets/etcd-example/w2")).unwrap();
    assert!(
        text.starts_with(r#"{"apiVersion":"etcd.example.com/v1","kind":"Widget","metadata":{"#),
        "{text}"
    );
    assert!(text.contains(r#""labels":{"a":"b"}"#) && text.ends_with("}\n"), "{text}");
    let map = "/api/v1/namespaces/etcd-example/configmaps/c";
    api.try_send("PATCH", map, Some(&json!({"data": {"k": "w"}}))).unwrap().ok();
    assert!(
        stored(&etcd, "/registry/configmaps/etcd-example/c")
            .starts_with(b"k8s\0\n\x0f\n\x02v1\x12\tConfigMap")
    );
    let crd =
        stored(&etcd, "/registry/apiextensions.k8s.io/customresourcedefinitions/gadgets.etcd.example.com");
    let crd: Value = serde_json::from_slice(&crd).unwrap();
    assert_eq!(crd["apiVersion"], "apiextensions.k8s.io/v1beta1");
}

fn bounded(maximum: u32) -> Value {
    definition(
        "things",
        "Thing",
        json!({"spec": {"type": "object", "properties": {"n": {"type": "integer", "maximum": maximum}}}}),
    )
}

fn thing(name: &str, n: u32) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name}, "spec": {"n": n}})
}

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

#[test]
fn no_server_admits_an_object_under_an_older_schema() {
    let etcd = Etcd::start(1);
    let (_first, first) = serve(&etcd, &[]);
    let (_second, second) = serve(&etcd, &[]);
    let crd = bounded(1000);
    let name = crd["metadata"]["name"].as_str().unwrap().to_owned();
    let group = crd["spec"]["group"].as_str().unwrap().to_owned();
    first.create(DEFINITIONS, &crd);
    let things = format!("/apis/{group}/v1/namespaces/default/things");
    let mut invalid = thing("too-large", 1001);
    invalid["apiVersion"] = format!("{group}/v1").into();
    let began = Instant::now();
    // From the answer on: the other server does not know the kind yet, or refuses by its schema.
    eventually("the other server serves the kind", || {
        let refused = second.send("POST", &things, Some(&invalid));
        assert!([404, 422].contains(&refused.status), "{}: {}", refused.status, refused.body);
        (refused.status == 422).then_some(())
    });
    println!("served by the other server after {:?}", began.elapsed());
    for maximum in 0..30 {
        let path = format!("{DEFINITIONS}/{name}");
        let schema = bounded(maximum)["spec"]["versions"].clone();
        first.try_send("PATCH", &path, Some(&json!({"spec": {"versions": schema}}))).unwrap().ok();
        // At once, before the other server can have heard of it.
        let mut object = thing(&format!("over-{maximum}"), maximum + 1);
        object["apiVersion"] = format!("{group}/v1").into();
        let refused = second.send("POST", &things, Some(&object));
        assert_eq!(refused.status, 422, "{maximum}: {}", refused.body);
        let mut object = thing(&format!("within-{maximum}"), maximum);
        object["apiVersion"] = format!("{group}/v1").into();
        second.create(&things, &object);
    }
    // Watches and lists of both servers agree.
    let names = |api: &Api| {
        let list = api.get(&things).ok();
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["metadata"]["resourceVersion"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&first), names(&second));
    assert_eq!(names(&first).len(), 30);

    // A CRD that is being deleted takes no more objects, through no server.
    first.try_send("DELETE", &format!("{DEFINITIONS}/{name}"), None).unwrap().ok();
    let mut late = thing("late", 1);
    late["apiVersion"] = format!("{group}/v1").into();
    for _ in 0..20 {
        let refused = second.send("POST", &things, Some(&late));
        assert!([403, 404].contains(&refused.status), "{}: {}", refused.status, refused.body);
    }
}

#[test]
fn a_policy_that_one_server_takes_counts_on_all_of_them() {
    let etcd = Etcd::start(1);
    let (_first, first) = serve(&etcd, &[]);
    let (_second, second) = serve(&etcd, &[]);
    let admission = "/apis/admissionregistration.k8s.io/v1";
    let object = |kind: &str, spec: &Value| json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "few"}, "spec": spec});
    let policy = json!({
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
            "resources": ["secrets"]}]},
        "validations": [{"expression": "object.metadata.name != params.data.forbidden"}],
    });
    let parameter = |forbidden: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits"}, "data": {"forbidden": forbidden}});
    first.create("/api/v1/namespaces/default/configmaps", &parameter("a"));
    first.create(
        &format!("{admission}/validatingadmissionpolicies"),
        &object("ValidatingAdmissionPolicy", &policy),
    );
    let binding = json!({"policyName": "few", "validationActions": ["Deny"],
        "paramRef": {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"}});
    let bindings = format!("{admission}/validatingadmissionpolicybindings");
    first.create(&bindings, &object("ValidatingAdmissionPolicyBinding", &binding));
    let secrets = "/api/v1/namespaces/default/secrets?dryRun=All";
    let status = |api: &Api, name: &str| {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}});
        api.send("POST", secrets, Some(&secret)).status
    };
    let counts = |name: &str, wanted: u16| {
        // At once where it was written.
        assert_eq!(status(&first, name), wanted, "{name}");
        eventually("the other server has heard of it", || (status(&second, name) == wanted).then_some(()));
    };
    counts("a", 422);
    counts("b", 201);
    let path = "/api/v1/namespaces/default/configmaps/limits";
    first.try_send("PUT", path, Some(&parameter("b"))).unwrap().ok();
    counts("b", 422);
    counts("a", 201);
    first.try_send("DELETE", &format!("{bindings}/few"), None).unwrap().ok();
    counts("b", 201);
}

/// `pleach serve` on this cluster, without credentials in its arguments.
fn without_credentials(etcd: &Etcd, data: &Path) -> Command {
    let mut command = Command::new(binary());
    command.args(["serve", "--port", "0", "--log-level", "warn", "--etcd-servers", &etcd.servers()]);
    command.arg("--data-dir").arg(data).env_remove("PLEACH_TOKEN");
    command
}

#[test]
fn the_token_of_servers_on_etcd_may_be_in_a_file() {
    let etcd = Etcd::start(1);
    let data = tempfile::tempdir().unwrap();
    let made = Command::new(binary()).arg("credentials").arg(data.path()).output().unwrap();
    assert!(made.status.success());
    std::fs::remove_file(data.path().join("token")).unwrap();
    let refused = without_credentials(&etcd, data.path()).output().unwrap();
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && error.contains("has no token"), "{error}");
    let token = data.path().join("of-the-cluster");
    std::fs::write(&token, "from-a-file\n").unwrap();
    let mut command = without_credentials(&etcd, data.path());
    let server = TestServer::run(command.arg("--token-file").arg(&token), "from-a-file").unwrap();
    assert_eq!(Api::new(server.endpoint.clone()).get("/api/v1/namespaces").status, 200);
}

#[test]
fn servers_on_etcd_with_certificates_from_files_make_no_credentials() {
    let etcd = Etcd::start(1);
    let home = tempfile::tempdir().unwrap();
    let ca = Authority::new("cluster");
    let client_ca = home.path().join("client-ca.crt");
    std::fs::write(&client_ca, &ca.certificate).unwrap();
    let chain = |pair: Pair| Pair { certificate: pair.certificate + &ca.certificate, ..pair };
    let made = Command::new(binary()).arg("credentials").arg(home.path().join("keys")).output().unwrap();
    assert!(made.status.success());
    let admin = ca.client("root", &["system:masters"]);
    let mut servers = Vec::new();
    for name in ["one", "two"] {
        let data = home.path().join(name);
        let (certificate, key) = chain(ca.serving(&["localhost"])).write(home.path(), name);
        let serve = || {
            let mut command = without_credentials(&etcd, &data);
            command.args(["--tls-cert-file", &certificate, "--tls-private-key-file", &key]);
            command.arg("--client-ca-file").arg(&client_ca);
            command
        };
        let refused = serve().output().unwrap();
        let error = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && error.contains("has no sa.key"), "{error}");
        let mut command = serve();
        command.arg("--service-account-signing-key-file").arg(home.path().join("keys/sa.key"));
        let server = TestServer::run(&mut command, "").unwrap();
        let mut files: Vec<_> = std::fs::read_dir(&data)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        files.sort();
        assert_eq!(files, ["kubeconfig"], "nothing is made for one server alone");
        let kubeconfig = std::fs::read_to_string(&server.kubeconfig).unwrap();
        assert!(kubeconfig.contains("user: {}") && !kubeconfig.contains("token"), "{kubeconfig}");
        servers.push(server);
    }
    // The same certificates and service account tokens are good at both.
    let tls = client_tls(&ca.certificate, Some(&admin), rustls::ALL_VERSIONS);
    let apis: Vec<Api> =
        servers.iter().map(|server| Api::new(server.endpoint.clone().with_tls(tls.clone()))).collect();
    let account = "/api/v1/namespaces/default/serviceaccounts/default";
    eventually("the account is made", || (apis[0].get(account).status == 200).then_some(()));
    let token = apis[0].create(&format!("{account}/token"), &json!({"spec": {}}));
    let token = token["status"]["token"].as_str().unwrap();
    let api = Api::new(Endpoint::new(servers[1].endpoint.port, token));
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let review = api.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", &review);
    assert_eq!(review["status"]["userInfo"]["username"], "system:serviceaccount:default:default");
    assert_eq!(apis[1].get("/api/v1/namespaces").status, 200);
    let bundle = eventually("the bundle is published", || {
        let map = apis[1].get("/api/v1/namespaces/default/configmaps/kube-root-ca.crt").body;
        map["data"]["ca.crt"].as_str().map(ToOwned::to_owned)
    });
    assert_eq!(certificates(&bundle), certificates(&ca.certificate));
}

#[test]
fn another_server_takes_over_the_controllers() {
    let etcd = Etcd::start(1);
    let (first, _) = serve(&etcd, &[]);
    let (_second, second) = serve(&etcd, &[]);
    for name in ["one", "two"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        second.create("/api/v1/namespaces", &namespace);
    }
    let gone = |name: &str| {
        let path = format!("/api/v1/namespaces/{name}");
        second.try_send("DELETE", &path, None).unwrap().ok();
        let began = Instant::now();
        eventually("the namespace goes", || (second.get(&path).status == 404).then_some(()));
        began.elapsed()
    };
    println!("with both servers: {:?}", gone("one"));
    // Killed: it cannot give the lease back.
    drop(first);
    println!("after the first was killed: {:?}", gone("two"));
}

#[test]
fn an_etcd_that_does_not_answer() {
    let etcd = Etcd::start(1);
    let (_server, api) = serve(&etcd, &[]);
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    api.create(maps, &map("a"));
    let signal = |signal: &str| {
        let pid = etcd.members[0].pid().unwrap().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    };
    assert_eq!(api.get("/readyz").status, 200);
    signal("-STOP");
    // Reads that may be stale go on.
    assert_eq!(api.get(&format!("{maps}/a?resourceVersion=0")).status, 200);
    assert_eq!(api.get(&format!("{maps}?resourceVersion=0")).status, 200);
    let watch = api.watch(&format!("{maps}?resourceVersion=0&timeoutSeconds=1"), Duration::from_secs(30));
    let mut events = 0;
    watch.lines(|line| events += usize::from(line.contains("\"ADDED\""))).unwrap();
    assert!(events > 0, "a watch begins with the cache");
    // Others fail as kube-apiserver's do: writes after 34 seconds.
    let began = Instant::now();
    let failed = api.raw_within("POST", maps, &map("b").to_string(), Duration::from_mins(2)).unwrap();
    assert_eq!((failed.status, &failed.body["reason"]), (504, &json!("Timeout")), "{}", failed.body);
    let message = "Timeout: request did not complete within requested timeout - context deadline exceeded";
    assert_eq!(failed.body["message"], message);
    assert!(began.elapsed() >= Duration::from_secs(33), "{:?}", began.elapsed());
    assert_eq!(api.get("/readyz").status, 500);
    assert!(api.text("/metrics").contains("\npleach_store_unavailable 1\n"));
    signal("-CONT");
    eventually("the server is ready again", || (api.get("/readyz").status == 200).then_some(()));
    api.create(maps, &map("c"));
    assert_eq!(api.get(&format!("{maps}/a")).status, 200);
}

#[test]
fn events_expire() {
    let etcd = Etcd::start(1);
    let (_on_etcd, on_etcd) = serve(&etcd, &["--event-ttl", "2s"]);
    let embedded = Running::start(&["--in-memory", "--event-ttl", "2s"]);
    for api in [on_etcd, embedded.api()] {
        let path = "/api/v1/namespaces/default/events";
        let event = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"},
            "involvedObject": {"kind": "ConfigMap", "namespace": "default", "name": "c"}, "reason": "R", "type": "Normal"
        });
        api.create(path, &event);
        let path = format!("{path}/e");
        assert_eq!(api.get(&path).status, 200);
        eventually("the event expires", || (api.get(&path).status == 404).then_some(()));
    }
}

#[test]
fn objects_move_between_a_data_directory_and_etcd() {
    let data = tempfile::tempdir().unwrap();
    let (from, back) = (data.path().join("from"), data.path().join("back"));
    let server = Running::on(&from);
    let api = server.api();
    api.create(DEFINITIONS, &bounded(1000));
    let things = "/apis/example.com/v1/namespaces/default/things";
    eventually("the kind is served", || (api.get(things).status == 200).then_some(()));
    for number in 0..300 {
        api.create(things, &thing(&format!("t{number}"), number));
    }
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {"ports": [{"port": 80, "targetPort": "http"}], "selector": {"a": "b"}}
    });
    api.create("/api/v1/namespaces/default/services", &service);
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "100m"}}}]}
        }}
    });
    api.create("/apis/apps/v1/namespaces/default/deployments", &deployment);
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": "ConfigMap", "namespace": "default", "name": "c"}, "reason": "R", "type": "Normal"
    });
    api.create("/api/v1/namespaces/default/events", &event);
    let paths = [
        things,
        "/api/v1/namespaces/default/events",
        "/api/v1/namespaces/default/services",
        "/apis/apps/v1/namespaces/default/deployments",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/api/v1/namespaces",
        DEFINITIONS,
    ];
    let everything = |api: &Api| -> Vec<Value> {
        let items = paths.iter().flat_map(|path| api.get(path).ok()["items"].as_array().unwrap().clone());
        items.map(without_version).collect()
    };
    let before = everything(&api);
    assert!(before.len() > 310);
    server.stop();

    let etcd = Etcd::start(1);
    let copy = |from: &str, to: &str| {
        let output =
            Command::new(binary()).args(["store", "copy", "--from", from, "--to", to]).output().unwrap();
        let text =
            String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        text
    };
    let (from, back) = (from.to_str().unwrap(), back.to_str().unwrap());
    let said = copy(from, &etcd.servers());
    assert!(said.contains(", 0 were there already"), "{said}");
    let event =
        etcd_call(&etcd, "/v3/kv/range", &json!({"key": STANDARD.encode("/registry/events/default/e")}));
    assert!(event["kvs"][0]["lease"].is_string(), "an event expires there: {event}");
    let again = copy(from, &etcd.servers());
    assert!(again.contains("copied 0 objects"), "a copy that is whole changes nothing: {again}");
    let (_server, api) = serve(&etcd, &[]);
    assert_eq!(everything(&api), before);

    copy(&etcd.servers(), back);
    let server = Running::on(std::path::Path::new(back));
    assert_eq!(everything(&server.api()), before);
}

#[test]
fn a_watch_from_before_a_servers_history_is_read_from_etcd() {
    let etcd = Etcd::start(1);
    let (_server, on_etcd) = serve(&etcd, &["--history-mib", "1"]);
    let embedded = Running::start(&["--in-memory", "--history-mib", "1"]);
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = |version: usize| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}, "data": {"version": version.to_string(), "x": "x".repeat(200_000)}});
    let versions: Vec<String> = (1..20).map(|version| format!("MODIFIED {version}")).collect();
    let watched = [on_etcd, embedded.api()].map(|api| {
        let first = api.create(maps, &map(0));
        for version in 1..20 {
            api.send("PUT", &format!("{maps}/large"), Some(&map(version))).ok();
        }
        let after = first["metadata"]["resourceVersion"].as_str().unwrap();
        let path =
            format!("{maps}?resourceVersion={after}&timeoutSeconds=3&fieldSelector=metadata.name%3Dlarge");
        let mut events = Vec::new();
        let event = |line: &str| {
            let event: Value = serde_json::from_str(line).unwrap();
            let object = &event["object"];
            let what = object["data"]["version"].as_str().map_or(object["code"].to_string(), Into::into);
            events.push(format!("{} {what}", event["type"].as_str().unwrap()));
        };
        api.watch(&path, Duration::from_secs(30)).lines(event).unwrap();
        events
    });
    assert_eq!(watched, [versions, vec!["ERROR 410".to_owned()]]);
}

#[test]
fn a_full_etcd_takes_deletes_only() {
    let etcd = Etcd::start_with(1, &["--quota-backend-bytes", "16777216"]);
    let (_server, api) = serve(&etcd, &[]);
    let maps = "/api/v1/namespaces/default/configmaps";
    let map = |name: String| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"x": "x".repeat(500_000)}});
    let mut written = 0;
    let refused = loop {
        let answer = api.send("POST", maps, Some(&map(format!("m{written}"))));
        if answer.status != 201 {
            break answer;
        }
        written += 1;
        assert!(written < 100, "the quota is reached");
    };
    assert_eq!(refused.status, 500);
    assert_eq!(refused.body["message"], "etcdserver: mvcc: database space exceeded");
    assert_eq!(api.get("/readyz").status, 500);
    assert_eq!(api.get("/livez").status, 200);
    assert!(api.text("/metrics").contains("\npleach_store_no_space 1\n"));
    assert_eq!(api.get(&format!("{maps}/m0")).status, 200);
    api.try_send("DELETE", &format!("{maps}/m0"), None).unwrap().ok();
    assert_eq!(api.get(&format!("{maps}/m0")).status, 404);
}
