//! Authorization over real connections: routes that only a socket has, and kubectl's commands about roles.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use pleach_clients::{Running, every_kubectl};
use pleach_conformance::Endpoint;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use serde_json::json;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const MARKER: &str = "e1d2-marker";
const PATIENCE: Duration = Duration::from_mins(1);

/// A server with an object, and a user who may do nothing.
fn server() -> (Running, tempfile::TempDir) {
    let files = tempfile::tempdir().unwrap();
    let tokens = files.path().join("tokens.csv");
    std::fs::write(&tokens, "alice-token,alice,1\n").unwrap();
    let server = Running::start(&["--in-memory", "--token-auth-file", tokens.to_str().unwrap()]);
    let map =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"k": MARKER}});
    server.api().create(MAPS, &map);
    (server, files)
}

/// One connection for several requests.
struct Reused(BufReader<StreamOwned<ClientConnection, TcpStream>>);

impl Reused {
    fn connect(server: &Running) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let session = ClientConnection::new(Arc::new(pleach_conformance::trusting()), name).unwrap();
        Self(BufReader::new(StreamOwned::new(session, stream)))
    }

    /// The status code and body of a response with a length.
    fn ask(&mut self, method: &str, path: &str, token: &str, headers: &str) -> (u16, String) {
        let authorization =
            if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
        let request = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{authorization}{headers}\r\n");
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
        let (mut code, mut length) = (0, 0);
        for line in 0.. {
            let mut text = String::new();
            self.0.read_line(&mut text).unwrap();
            let text = text.trim_end().to_ascii_lowercase();
            if line == 0 {
                code = text.split(' ').nth(1).unwrap().parse().unwrap();
            } else if let Some(value) = text.strip_prefix("content-length: ") {
                length = value.parse().unwrap();
            } else if text.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).unwrap();
        (code, String::from_utf8_lossy(&body).into_owned())
    }
}

#[test]
fn a_connection_has_no_rights_of_its_own() {
    let (server, _files) = server();
    let admin = server.endpoint().token.clone();
    let mut connection = Reused::connect(&server);
    let path = format!("{MAPS}/x");
    for _ in 0..3 {
        let (code, body) = connection.ask("GET", &path, &admin, "");
        assert!(code == 200 && body.contains(MARKER), "{code} {body}");
        for (token, want) in [("alice-token", 403), ("", 403), ("wrong", 401)] {
            for method in ["GET", "DELETE"] {
                let (code, body) = connection.ask(method, &path, token, "");
                assert!(code == want && !body.contains(MARKER), "{method} {token}: {code} {body}");
            }
        }
    }
}

#[test]
fn a_websocket_needs_the_right_to_watch() {
    let (server, _files) = server();
    let handshake = "Origin: https://x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                     Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";
    let watch = format!("{MAPS}?watch=1");
    for token in ["alice-token", ""] {
        let (code, body) = Reused::connect(&server).ask("GET", &watch, token, handshake);
        assert!(code == 403 && !body.contains(MARKER), "{token}: {code} {body}");
    }
    let admin = server.endpoint().token.clone();
    assert_eq!(Reused::connect(&server).ask("GET", &watch, &admin, handshake).0, 101);
}

#[test]
fn a_console_session_has_the_rights_of_its_user() {
    let (server, _files) = server();
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let nobody = Endpoint::new(server.port(), "");
    let sign_in = json!({"token": "alice-token"}).to_string();
    let console = [header("X-Pleach-Console", "1")];
    let session = nobody.send("POST", "/console/session", &console, Some(&sign_in), PATIENCE).unwrap();
    assert_eq!(session.status, 200);
    let cookie = session.headers.iter().find(|(name, _)| name == "set-cookie").unwrap().1.clone();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let ask = |method: &str, path: &str, body: Option<&str>| {
        let headers = [header("X-Pleach-Console", "1"), header("Cookie", &cookie)];
        let answer = nobody.send(method, &format!("/console/k8s{path}"), &headers, body, PATIENCE).unwrap();
        (answer.status, String::from_utf8(answer.body().unwrap()).unwrap())
    };
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "y"}}).to_string();
    let before = server.api().get(MAPS).ok();
    for (method, path, body) in [
        ("GET", format!("{MAPS}/x"), None),
        ("GET", MAPS.to_owned(), None),
        ("GET", format!("{MAPS}?watch=1"), None),
        ("POST", MAPS.to_owned(), Some(map.as_str())),
        ("DELETE", format!("{MAPS}/x"), None),
        ("DELETE", MAPS.to_owned(), None),
    ] {
        let (code, body) = ask(method, &path, body);
        assert!(code == 403 && !body.contains(MARKER), "{method} {path}: {code} {body}");
    }
    let after = server.api().get(MAPS).ok();
    assert_eq!(before["items"], after["items"]);
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    server.api().create(
        &format!("{rbac}/roles"),
        &json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "reader"},
            "rules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["x"]}],
        }),
    );
    server.api().create(
        &format!("{rbac}/rolebindings"),
        &json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "reader"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
        }),
    );
    let (code, body) = ask("GET", &format!("{MAPS}/x"), None);
    assert!(code == 200 && body.contains(MARKER), "{code} {body}");
    assert_eq!(ask("GET", MAPS, None).0, 403);
}

#[test]
fn kubectl_makes_lists_and_reconciles_roles() {
    every_kubectl(|kubectl| {
        kubectl.ok(&["create", "role", "reader", "--verb=get,list", "--resource=configmaps"]);
        kubectl.ok(&["create", "rolebinding", "reader", "--role=reader", "--user=bob"]);
        kubectl.ok(&[
            "create",
            "clusterrole",
            "nodes",
            "--verb=get",
            "--resource=nodes",
            "--non-resource-url=/metrics",
        ]);
        kubectl.ok(&["create", "clusterrolebinding", "nodes", "--clusterrole=nodes", "--group=team"]);
        let can = |arguments: &[&str]| {
            let all: Vec<&str> = ["auth", "can-i"].iter().chain(arguments).copied().collect();
            let ran = kubectl.run(&all);
            ran.stdout.lines().last().unwrap_or_default().to_owned()
        };
        assert_eq!(can(&["list", "configmaps", "--as=bob"]), "yes");
        assert_eq!(can(&["delete", "configmaps", "--as=bob"]), "no");
        assert_eq!(can(&["get", "/metrics", "--as=bob", "--as-group=team"]), "yes");
        assert_eq!(can(&["list", "configmaps", "--as=bob", "-n", "kube-system"]), "no");
        let list = kubectl.ok(&["auth", "can-i", "--list", "--as=bob", "--as-group=team"]);
        let has = |resource: &str, verbs: &str| {
            list.lines().any(|line| line.split_whitespace().next() == Some(resource) && line.ends_with(verbs))
        };
        assert!(has("configmaps", "[get list]"), "{list}");
        assert!(has("nodes", "[get]"), "{list}");
        assert!(list.contains("[/metrics]"), "{list}");
        // What is missing is added, what is there stays; with --remove-extra-permissions it goes.
        let file = kubectl.server.home().join("roles.yaml");
        std::fs::write(
            &file,
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: reader, namespace: default}\nrules:\n- {verbs: [watch], apiGroups: [''], resources: [configmaps]}\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: reader, namespace: default}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}\nsubjects:\n- {apiGroup: rbac.authorization.k8s.io, kind: User, name: carol}\n",
        )
        .unwrap();
        let file = file.to_str().unwrap();
        kubectl.ok(&["auth", "reconcile", "-f", file]);
        for user in ["bob", "carol"] {
            let user = format!("--as={user}");
            assert_eq!(can(&["watch", "configmaps", &user]), "yes");
            assert_eq!(can(&["list", "configmaps", &user]), "yes");
        }
        kubectl.ok(&[
            "auth",
            "reconcile",
            "-f",
            file,
            "--remove-extra-permissions",
            "--remove-extra-subjects",
        ]);
        assert_eq!(can(&["list", "configmaps", "--as=carol"]), "no");
        assert_eq!(can(&["watch", "configmaps", "--as=carol"]), "yes");
        assert_eq!(can(&["watch", "configmaps", "--as=bob"]), "no");
    });
}
