//! Certificates and tokens of the real binary, over real sockets: client certificates, serving certificates by name, the
//! versions of TLS, renewal, the root CA bundle in namespaces, and TLS to etcd.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pleach_clients::certificates::{Authority, Pair, certificates, client_tls};
use pleach_clients::{Api, Running, binary, eventually};
use pleach_conformance::etcd::Etcd;
use pleach_conformance::{Endpoint, TestServer};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ALL_VERSIONS, ClientConfig, ClientConnection, StreamOwned};
use serde_json::{Value, json};

const NAMESPACES: &str = "/api/v1/namespaces";
const ROOT_CA: &str = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt";

/// The CAs in the kubeconfig of a server.
fn roots_of(kubeconfig: &Path) -> String {
    let text = std::fs::read_to_string(kubeconfig).unwrap();
    let line =
        text.lines().find_map(|line| line.trim().strip_prefix("certificate-authority-data: ")).unwrap();
    String::from_utf8(STANDARD.decode(line).unwrap()).unwrap()
}

/// A client of a server, with a certificate and no token.
fn with_certificate(server: &Running, client: &Pair) -> Api {
    let tls = client_tls(&roots_of(server.kubeconfig()), Some(client), ALL_VERSIONS);
    Api::new(Endpoint::new(server.port(), "").with_tls(tls))
}

/// The certificates that a server shows a client that asks for a name.
fn shown(port: u16, name: &str, tls: Arc<ClientConfig>) -> Result<Vec<CertificateDer<'static>>, String> {
    let name = ServerName::try_from(name.to_owned()).unwrap();
    let mut session = ClientConnection::new(tls, name).unwrap();
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    while session.is_handshaking() {
        session.complete_io(&mut socket).map_err(|error| error.to_string())?;
    }
    Ok(session.peer_certificates().unwrap().iter().map(|der| der.clone().into_owned()).collect())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn self_subject_review(api: &Api) -> (u16, Value) {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let answer = api.raw("POST", path, &review.to_string());
    (answer.status, answer.body)
}

#[test]
fn client_certificates_authenticate_or_are_a_401() {
    let home = tempfile::tempdir().unwrap();
    let (trusted, other) = (Authority::new("trusted"), Authority::new("other"));
    let client_ca = home.path().join("client-ca.crt");
    std::fs::write(&client_ca, &trusted.certificate).unwrap();
    let server = Running::start(&["--in-memory", "--client-ca-file", text(&client_ca)]);

    let ann = with_certificate(&server, &trusted.client("ann", &["dev", "ops"]));
    let (status, review) = self_subject_review(&ann);
    assert_eq!(status, 201, "{review}");
    let user = &review["status"]["userInfo"];
    assert_eq!(user["username"], "ann");
    assert_eq!(user["groups"], json!(["dev", "ops", "system:authenticated"]));
    let id = user["extra"]["authentication.kubernetes.io/credential-id"][0].as_str().unwrap();
    assert!(id.starts_with("X509SHA256="), "{id}");
    assert_eq!(ann.get(NAMESPACES).status, 403, "known, without rights");
    let root = with_certificate(&server, &trusted.client("root", &["system:masters"]));
    assert_eq!(root.get(NAMESPACES).status, 200);

    // A certificate that is not valid is no user, not even the anonymous one.
    for (pair, why) in [
        (other.client("root", &["system:masters"]), "another CA"),
        (trusted.expired_client("root", &["system:masters"]), "expired"),
        (trusted.serving(&["root"]), "for servers"),
    ] {
        let api = with_certificate(&server, &pair);
        for path in [NAMESPACES, "/version", "/healthz"] {
            let answer = api.try_send("GET", path, None).unwrap_or_else(|error| panic!("{why}: {error}"));
            assert_eq!(answer.status, 401, "{why}: {path}");
            assert_eq!(answer.body["reason"], "Unauthorized", "{why}: {path}");
        }
    }
    assert_eq!(server.api().anonymous("GET", "/version").unwrap().status, 200, "no certificate");
}

#[test]
fn serving_certificates_are_chosen_by_name() {
    let home = tempfile::tempdir().unwrap();
    let ca = Authority::new("names");
    let (exact, by_own_name) = (ca.serving(&["api.example.com"]), ca.serving(&["own.example.org"]));
    let (certificate, key) = exact.write(home.path(), "exact");
    let (own_certificate, own_key) = by_own_name.write(home.path(), "own");
    let server = Running::start(&[
        "--in-memory",
        "--tls-sni-cert-key",
        &format!("{certificate},{key}:api.example.com,*.api.example.com"),
        "--tls-sni-cert-key",
        &format!("{own_certificate},{own_key}"),
        "--tls-san",
        "pleach.example.net,192.0.2.7",
    ]);
    let own_roots = roots_of(server.kubeconfig());
    let show = |name: &str, roots: &str| shown(server.port(), name, client_tls(roots, None, ALL_VERSIONS));
    assert_eq!(show("api.example.com", &ca.certificate).unwrap(), certificates(&exact.certificate));
    assert_eq!(show("own.example.org", &ca.certificate).unwrap(), certificates(&by_own_name.certificate));
    // The pattern chooses the certificate, which is not for that name.
    let wrong = show("a.api.example.com", &ca.certificate).unwrap_err();
    assert!(wrong.contains("not valid for name"), "{wrong}");
    // All others get the server's own, with its further names and addresses.
    for name in ["localhost", "kubernetes.default.svc", "127.0.0.1", "pleach.example.net", "192.0.2.7"] {
        let error = show(name, &own_roots).err();
        assert_eq!(error, None, "{name}");
    }
    let unknown = show("unknown.example.net", &own_roots).unwrap_err();
    assert!(unknown.contains("not valid for name"), "{unknown}");
}

#[test]
fn older_versions_of_tls_are_refused() {
    let usual = Running::in_memory();
    let strict = Running::start(&["--in-memory", "--tls-min-version", "VersionTLS13"]);
    let connect = |server: &Running, versions: &[&'static rustls::SupportedProtocolVersion]| {
        let roots = roots_of(server.kubeconfig());
        shown(server.port(), "localhost", client_tls(&roots, None, versions)).map(|_| ())
    };
    assert_eq!(connect(&usual, &[&TLS12]), Ok(()));
    assert_eq!(connect(&usual, &[&TLS13]), Ok(()));
    assert_eq!(connect(&strict, &[&TLS13]), Ok(()));
    let refused = connect(&strict, &[&TLS12]).unwrap_err();
    assert!(refused.contains("ProtocolVersion"), "{refused}");

    let suites = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256";
    let server = Running::start(&["--in-memory", "--tls-cipher-suites", suites]);
    let tls = client_tls(&roots_of(server.kubeconfig()), None, &[&TLS12]);
    let name = ServerName::try_from("localhost").unwrap();
    let socket = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let mut stream = StreamOwned::new(ClientConnection::new(tls, name).unwrap(), socket);
    stream.write_all(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let suite = stream.conn.negotiated_cipher_suite().unwrap().suite();
    assert_eq!(suite, rustls::CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256);
}

#[test]
fn changed_certificates_are_served_without_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let (before, after) = (Authority::new("before"), Authority::new("after"));
    let old = before.serving(&["localhost"]);
    let old = Pair { certificate: old.certificate + &before.certificate, ..old };
    let (certificate, key) = old.write(home.path(), "serving");
    let client_ca = home.path().join("client-ca.crt");
    std::fs::write(&client_ca, &before.certificate).unwrap();
    let server = Running::start(&[
        "--in-memory",
        "--tls-cert-file",
        &certificate,
        "--tls-private-key-file",
        &key,
        "--client-ca-file",
        text(&client_ca),
    ]);
    let roots = [before.certificate.as_str(), &after.certificate].concat();
    let serves = || shown(server.port(), "localhost", client_tls(&roots, None, ALL_VERSIONS)).unwrap();
    let ask = |client: &Pair| {
        let tls = client_tls(&roots, Some(client), ALL_VERSIONS);
        Api::new(Endpoint::new(server.port(), "").with_tls(tls)).get(NAMESPACES).status
    };
    let (old_client, new_client) =
        (before.client("ann", &["system:masters"]), after.client("ann", &["system:masters"]));
    assert_eq!(serves(), certificates(&old.certificate));
    assert_eq!((ask(&old_client), ask(&new_client)), (200, 401));
    let bundle = |client: &Pair| {
        let tls = client_tls(&roots, Some(client), ALL_VERSIONS);
        let map = Api::new(Endpoint::new(server.port(), "").with_tls(tls)).get(ROOT_CA).body;
        map["data"]["ca.crt"].as_str().map(certificates)
    };
    eventually("the bundle is published", || {
        (bundle(&old_client)? == certificates(&before.certificate)).then_some(())
    });

    let new = after.serving(&["localhost"]);
    let new = Pair { certificate: new.certificate + &after.certificate, ..new };
    new.write(home.path(), "serving");
    std::fs::write(&client_ca, &after.certificate).unwrap();
    let wanted = certificates(&new.certificate);
    eventually("the new certificate is served", || (serves() == wanted).then_some(()));
    eventually("the new client CA counts", || (ask(&new_client) == 200).then_some(()));
    assert_eq!(ask(&old_client), 401);
    eventually("the bundle verifies the new certificate", || {
        (bundle(&new_client)? == certificates(&after.certificate)).then_some(())
    });

    // Files that cannot be used leave the certificates as they are. Files are looked at every five seconds.
    std::fs::write(&certificate, "half a file").unwrap();
    std::thread::sleep(Duration::from_secs(6));
    assert_eq!(serves(), wanted);
}

/// Whether a client that has nothing but this bundle can talk to the server.
fn bundle_is_enough(server: &Running, bundle: &str) -> bool {
    let tls = client_tls(bundle, None, ALL_VERSIONS);
    let api = Api::new(server.endpoint().clone().with_tls(tls));
    api.try_send("GET", NAMESPACES, None).is_ok_and(|answer| answer.status == 200)
}

/// The bundles in the ConfigMap of a namespace and in a Secret with a token.
fn published(server: &Running) -> [String; 2] {
    let api = server.api();
    let map = eventually("the bundle is published", || {
        let map = api.get(ROOT_CA);
        (map.status == 200).then_some(map.body)
    });
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
        "metadata": {"name": "t", "annotations": {"kubernetes.io/service-account.name": "default"}},
    });
    eventually("the Secret is created", || {
        (api.send("POST", secrets, Some(&secret)).status == 201).then_some(())
    });
    let in_secret = eventually("the Secret is filled", || {
        api.get(&format!("{secrets}/t")).body["data"]["ca.crt"].as_str().map(ToOwned::to_owned)
    });
    let in_secret = String::from_utf8(STANDARD.decode(in_secret).unwrap()).unwrap();
    [map["data"]["ca.crt"].as_str().unwrap().to_owned(), in_secret]
}

#[test]
fn the_root_ca_bundle_verifies_the_serving_certificate() {
    let home = tempfile::tempdir().unwrap();
    let (ca, stranger) = (Authority::new("serving"), Authority::new("stranger"));
    let alone = ca.serving(&["localhost"]);
    let chain = Pair { certificate: alone.certificate.clone() + &ca.certificate, key: alone.key.clone() };
    let (certificate, key) = alone.write(home.path(), "alone");
    let (with_ca, _) = chain.write(home.path(), "chain");
    let file = home.path().join("root-ca.crt");
    std::fs::write(&file, &ca.certificate).unwrap();
    for arguments in [
        vec![],
        vec!["--tls-cert-file", &with_ca, "--tls-private-key-file", &key],
        vec!["--tls-cert-file", &certificate, "--tls-private-key-file", &key, "--root-ca-file", text(&file)],
    ] {
        let server = Running::start(&[&["--in-memory"], &arguments[..]].concat());
        for bundle in published(&server) {
            assert!(bundle_is_enough(&server, &bundle), "{arguments:?}: {bundle}");
        }
        assert!(bundle_is_enough(&server, &roots_of(server.kubeconfig())), "{arguments:?}: kubeconfig");
        assert!(!bundle_is_enough(&server, &stranger.certificate), "{arguments:?}: certificates are checked");
    }

    // Without a CA certificate there is nothing better than the certificate itself, which Go's clients accept.
    let server =
        Running::start(&["--in-memory", "--tls-cert-file", &certificate, "--tls-private-key-file", &key]);
    for bundle in published(&server) {
        assert_eq!(certificates(&bundle), certificates(&alone.certificate));
    }
}

/// Starts a server with these arguments, sends a request with a token, and ends it; the status and what it complained of.
fn served_with(arguments: &[&str], environment: &[(&str, &str)], token: &str) -> (u16, String) {
    let home = tempfile::tempdir().unwrap();
    let errors = home.path().join("stderr");
    let mut command = Command::new(binary());
    command.args(["serve", "--in-memory", "--port", "0", "--kubeconfig"]).arg(home.path().join("kubeconfig"));
    command.args(arguments).env_remove("PLEACH_TOKEN").envs(environment.iter().copied());
    command.stderr(Stdio::from(std::fs::File::create(&errors).unwrap()));
    let server = TestServer::run(&mut command, token).unwrap();
    let status = Api::new(server.endpoint.clone()).get(NAMESPACES).status;
    drop(server);
    (status, std::fs::read_to_string(&errors).unwrap())
}

#[test]
fn the_token_of_the_admin_comes_from_a_file_or_the_environment() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("token");
    std::fs::write(&file, "of-the-file\n").unwrap();
    let warning = "--token is visible in the list of processes";
    let from_file = ["--token-file", text(&file), "--bind", "0.0.0.0"];
    assert_eq!(served_with(&from_file, &[], "of-the-file").0, 200);
    assert_eq!(served_with(&from_file, &[], "another").0, 401);
    let (status, said) =
        served_with(&["--bind", "0.0.0.0"], &[("PLEACH_TOKEN", "of-the-environment")], "of-the-environment");
    assert!(status == 200 && !said.contains(warning), "{said}");
    let (status, said) = served_with(&["--token", "shown", "--bind", "0.0.0.0"], &[], "shown");
    assert!(status == 200 && said.contains(warning) && !said.contains("shown"), "{said}");
    let (status, said) = served_with(&["--token", "shown"], &[], "shown");
    assert!(status == 200 && !said.contains(warning), "{said}");
}

#[test]
fn etcd_is_reached_with_certificates_from_files() {
    let home = tempfile::tempdir().unwrap();
    let (members, clients) = (Authority::new("members"), Authority::new("clients"));
    let ca = |name: &str, authority: &Authority| {
        let path = home.path().join(name);
        std::fs::write(&path, &authority.certificate).unwrap();
        text(&path).to_owned()
    };
    let (member_ca, client_ca) = (ca("members.crt", &members), ca("clients.crt", &clients));
    // etcd's JSON gateway is a client of its own listener.
    let (member, member_key) = members.peer(&["127.0.0.1"]).write(home.path(), "member");
    let (client, client_key) = clients.client("pleach", &[]).write(home.path(), "client");
    let etcd = Etcd::start_with_tls(&[
        "--client-cert-auth",
        "--trusted-ca-file",
        &client_ca,
        "--cert-file",
        &member,
        "--key-file",
        &member_key,
    ]);
    let flags = ["--etcd-cafile", &member_ca, "--etcd-certfile", &client, "--etcd-keyfile", &client_key];
    let server = etcd.serve(&binary(), &flags).unwrap();
    let api = Api::new(server.endpoint.clone());
    api.create(
        "/api/v1/namespaces/default/configmaps",
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}}),
    );
    drop(server);

    // The other commands that take etcd's URLs take the flags as well.
    let data = home.path().join("data");
    let mut copy = Command::new(binary());
    copy.args(["store", "copy", "--from", &etcd.servers(), "--to", text(&data)]).args(flags);
    let copied = copy.output().unwrap();
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    let embedded = Running::on(&data);
    assert_eq!(embedded.api().get("/api/v1/namespaces/default/configmaps/kept").status, 200);

    let missing = home.path().join("missing.crt");
    let refused = Command::new(binary())
        .args(["store", "copy", "--from", &etcd.servers(), "--to", text(&home.path().join("other"))])
        .args(["--etcd-cafile", text(&missing)])
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && error.contains(&format!("cannot read {}", missing.display())),
        "{error}"
    );
}
