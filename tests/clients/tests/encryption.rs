//! Encryption at rest: what is on disk and in etcd, keys that are replaced, and configurations that cannot be used.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pleach_clients::{Api, Running, binary, definition};
use pleach_conformance::etcd::Etcd;
use serde_json::{Value, json};

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const FIRST: &str = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA=";
const SECOND: &str = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=";

/// A configuration for Secrets and a custom resource, the providers in order.
fn config(home: &Path, name: &str, providers: &[&str]) -> PathBuf {
    let text = format!(
        "{{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{{resources: [secrets, '*.example.com'], providers: [{}]}}]}}",
        providers.join(", ")
    );
    let path = home.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn keys(provider: &str, keys: &[(&str, &str)]) -> String {
    let keys: Vec<String> =
        keys.iter().map(|(name, key)| format!("{{name: {name}, secret: '{key}'}}")).collect();
    format!("{{{provider}: {{keys: [{}]}}}}", keys.join(", "))
}

fn secret(name: &str, text: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"a": text}})
}

fn read(api: &Api, name: &str) -> String {
    let data = api.get(&format!("{SECRETS}/{name}")).ok()["data"]["a"].as_str().unwrap().to_owned();
    String::from_utf8(STANDARD.decode(data).unwrap()).unwrap()
}

/// Whether a file of the store has a text; Secrets hold it in base64.
fn disk_has(data: &Path, text: &str) -> bool {
    let encoded = STANDARD.encode(text);
    std::fs::read_dir(data.join("store")).unwrap().any(|entry| {
        let content = std::fs::read(entry.unwrap().path()).unwrap_or_default();
        [text.as_bytes(), encoded.as_bytes()]
            .iter()
            .any(|text| content.windows(text.len()).any(|part| part == *text))
    })
}

fn serve(data: &Path, config: Option<&Path>) -> Running {
    let mut arguments = vec!["--data-dir", data.to_str().unwrap()];
    if let Some(config) = config {
        arguments.extend(["--encryption-provider-config", config.to_str().unwrap()]);
    }
    Running::start(&arguments)
}

#[test]
fn objects_are_encrypted_on_disk_and_keys_are_replaced() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let server = serve(&data, None);
    server.api().create(SECRETS, &secret("before", "plain-before"));
    server.api().create(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        &definition(
            "vaults",
            "Vault",
            json!({"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}),
        ),
    );
    assert!(server.stop() && disk_has(&data, "plain-before"));

    // Switched on: what was there is encrypted as well, and so is everything new.
    let begin = config(home.path(), "begin", &[&keys("aesgcm", &[("one", FIRST)]), "{identity: {}}"]);
    let server = serve(&data, Some(&begin));
    let api = server.api();
    assert_eq!(read(&api, "before"), "plain-before");
    api.create(SECRETS, &secret("after", "plain-after"));
    let vaults = "/apis/example.com/v1/namespaces/default/vaults";
    let vault = json!({"apiVersion": "example.com/v1", "kind": "Vault", "metadata": {"name": "v"}, "spec": {"a": "plain-vault"}});
    api.create(vaults, &vault);
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "plain-map"}});
    api.create("/api/v1/namespaces/default/configmaps", &map);
    let version = api.get(&format!("{SECRETS}/after")).body["metadata"]["resourceVersion"].clone();
    assert!(server.stop());
    for text in ["plain-before", "plain-after", "plain-vault"] {
        assert!(!disk_has(&data, text), "{text}");
    }
    assert!(
        disk_has(&data, "plain-map") && disk_has(&data, "k8s:enc:aesgcm:v1:one:"),
        "only what is configured"
    );

    // Another key in front: everything is written with it when the server starts.
    let both = config(
        home.path(),
        "both",
        &[&keys("secretbox", &[("two", SECOND)]), &keys("aesgcm", &[("one", FIRST)])],
    );
    let server = serve(&data, Some(&both));
    let api = server.api();
    assert_eq!(
        (read(&api, "before").as_str(), read(&api, "after").as_str()),
        ("plain-before", "plain-after")
    );
    assert_eq!(api.get(&format!("{SECRETS}/after")).body["metadata"]["resourceVersion"], version);
    assert!(server.stop());
    assert!(!disk_has(&data, "k8s:enc:aesgcm:") && disk_has(&data, "k8s:enc:secretbox:v1:two:"));

    // A backup is as encrypted as the directory.
    let backup = home.path().join("backup");
    let ran = Command::new(binary())
        .args(["store", "backup", "--data-dir"])
        .arg(&data)
        .arg(&backup)
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let content = std::fs::read(&backup).unwrap();
    assert!(content.windows(18).any(|part| part == b"k8s:enc:secretbox:"));
    let check = Command::new(binary()).args(["store", "repair", "--dry-run"]).arg(&data).output().unwrap();
    assert!(String::from_utf8_lossy(&check.stdout).contains("the store is sound"), "{check:?}");

    // Without the key nothing is lost, and nothing shows.
    let server = serve(&data, Some(&begin));
    let answer = server.api().get(&format!("{SECRETS}/after"));
    assert_eq!(answer.status, 500);
    let message = answer.body["message"].as_str().unwrap();
    assert!(message.contains("no provider of --encryption-provider-config decrypts it"), "{message}");
    assert!(server.stop());
    let last = config(home.path(), "last", &[&keys("secretbox", &[("two", SECOND)])]);
    let server = serve(&data, Some(&last));
    assert_eq!(read(&server.api(), "after"), "plain-after");
    assert!(server.stop());

    // Switched off.
    let end = config(home.path(), "end", &["{identity: {}}", &keys("secretbox", &[("two", SECOND)])]);
    let rewrite = Command::new(binary())
        .args(["store", "rewrite"])
        .arg(&data)
        .arg("--encryption-provider-config")
        .arg(&end)
        .output()
        .unwrap();
    assert!(rewrite.status.success(), "{rewrite:?}");
    assert!(disk_has(&data, "plain-after") && !disk_has(&data, "k8s:enc:"));
    assert_eq!(read(&serve(&data, None).api(), "after"), "plain-after");
}

#[test]
fn configurations_with_errors_keep_the_server_from_starting() {
    let home = tempfile::tempdir().unwrap();
    for (providers, want) in [
        (
            keys("aesgcm", &[("a", "AAAA")]),
            "secret is not of the expected length, got 3, expected one of [16 24 32]",
        ),
        (keys("secretbox", &[("a", "!")]), "secrets must be base64 encoded"),
        ("{kms: {name: x}}".to_owned(), "KMS plugins are not supported"),
        ("{}".to_owned(), "provider does not contain any of the expected providers"),
    ] {
        let path = config(home.path(), "config", &[&providers]);
        let ran = Command::new(binary())
            .args(["serve", "--in-memory", "--port", "0", "--encryption-provider-config"])
            .arg(path)
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&ran.stderr);
        assert!(!ran.status.success() && error.contains(want), "{providers}: {error}");
    }
}

/// A call of etcd's JSON gateway.
fn etcd_call(etcd: &Etcd, path: &str, body: &Value) -> Value {
    let address = etcd.members[0].url.trim_start_matches("http://");
    let body = body.to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST {path} HTTP/1.1\r\nHost: etcd\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let json = &answer[answer.find('{').unwrap()..=answer.rfind('}').unwrap()];
    serde_json::from_str(json).unwrap()
}

fn stored(etcd: &Etcd, key: &str) -> Vec<u8> {
    let found = etcd_call(etcd, "/v3/kv/range", &json!({"key": STANDARD.encode(key)}));
    STANDARD.decode(found["kvs"][0]["value"].as_str().unwrap()).unwrap()
}

#[test]
fn values_in_etcd_have_the_prefixes_of_kube_apiserver() {
    let home = tempfile::tempdir().unwrap();
    let etcd = Etcd::start(1);
    let key = "/registry/secrets/default/s";
    let one = config(home.path(), "one", &[&keys("aesgcm", &[("one", FIRST)]), "{identity: {}}"]);
    let server = etcd.serve(&binary(), &["--encryption-provider-config", one.to_str().unwrap()]).unwrap();
    let api = Api::new(server.endpoint.clone());
    api.create(SECRETS, &secret("s", "text"));
    let first = stored(&etcd, key);
    assert!(first.starts_with(b"k8s:enc:aesgcm:v1:one:"), "{}", String::from_utf8_lossy(&first));
    assert_eq!(read(&api, "s"), "text");
    let version = api.get(&format!("{SECRETS}/s")).body["metadata"]["resourceVersion"].clone();
    drop(server);

    let both = config(home.path(), "both", &[&keys("aesgcm", &[("two", SECOND), ("one", FIRST)])]);
    let server = etcd.serve(&binary(), &["--encryption-provider-config", both.to_str().unwrap()]).unwrap();
    let api = Api::new(server.endpoint.clone());
    assert_eq!(read(&api, "s"), "text");
    assert_eq!(stored(&etcd, key), first, "reading changes nothing");
    let rewrite = Command::new(binary())
        .args(["store", "rewrite", &etcd.members[0].url, "--encryption-provider-config"])
        .arg(&both)
        .output()
        .unwrap();
    assert!(rewrite.status.success(), "{rewrite:?}");
    assert!(stored(&etcd, key).starts_with(b"k8s:enc:aesgcm:v1:two:"));
    assert_eq!(read(&api, "s"), "text", "the server that runs sees it");
    assert_ne!(api.get(&format!("{SECRETS}/s")).body["metadata"]["resourceVersion"], version);
    drop(server);

    // A value that was moved to another key is no value of that key.
    let put = json!({"key": STANDARD.encode("/registry/secrets/default/moved"), "value": STANDARD.encode(stored(&etcd, key))});
    etcd_call(&etcd, "/v3/kv/put", &put);
    let two = config(home.path(), "two", &[&keys("aesgcm", &[("two", SECOND)])]);
    let server = etcd.serve(&binary(), &["--encryption-provider-config", two.to_str().unwrap()]).unwrap();
    let api = Api::new(server.endpoint.clone());
    assert_eq!(read(&api, "s"), "text");
    assert_eq!(api.get(&format!("{SECRETS}/moved")).status, 500);
}
