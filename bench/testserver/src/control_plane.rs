//! Processes: `pleach serve`, and a control plane as envtest starts it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use pleach_conformance::Endpoint;
use tempfile::TempDir;

use crate::quiet;

/// A control plane that is slower is taken for broken.
const PATIENCE: Duration = Duration::from_mins(1);

/// How often is asked whether a process is ready. envtest asks every 100 ms, which would hide the difference.
const POLL: Duration = Duration::from_millis(2);

/// A process that ends with this.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn spawn(command: &mut Command) -> Process {
    Process(quiet(command).spawn().unwrap_or_else(|error| panic!("{command:?}: {error}")))
}

/// From the start of `pleach serve --in-memory` to the first answer.
pub(crate) fn serve_in_memory(binary: &Path) -> Duration {
    let (room, port) = (tempfile::tempdir().expect("a temporary directory"), free_port());
    let began = Instant::now();
    let _process = spawn(
        Command::new(binary)
            .args(["serve", "--in-memory", "--console=false", "--token=bench", "--port", &port.to_string()])
            .arg("--kubeconfig")
            .arg(room.path().join("kubeconfig")),
    );
    until_answered(&Endpoint::new(port, "bench"), "/api/v1/namespaces/default");
    began.elapsed()
}

/// The programs of a control plane.
pub(crate) struct Assets {
    kube_apiserver: PathBuf,
    etcd: PathBuf,
    _directory: Option<TempDir>,
}

impl Assets {
    /// The programs that `pleach envtest install` writes.
    pub(crate) fn of_pleach(binary: &Path) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let installed =
            quiet(Command::new(binary).args(["envtest", "install"]).arg(directory.path())).status();
        assert!(installed.is_ok_and(|status| status.success()), "pleach envtest install works");
        let program = |name: &str| directory.path().join(name);
        let (kube_apiserver, etcd) = (program("kube-apiserver"), program("etcd"));
        Self { kube_apiserver, etcd, _directory: Some(directory) }
    }

    /// The programs at these paths.
    pub(crate) fn of_paths(kube_apiserver: PathBuf, etcd: PathBuf) -> Self {
        Self { kube_apiserver, etcd, _directory: None }
    }

    /// From the start of etcd to the namespace `default`, with the flags and the order of envtest.
    pub(crate) fn start(&self) -> Duration {
        let room = tempfile::tempdir().expect("a temporary directory");
        let path = |name: &str| room.path().join(name).to_str().expect("a path of ours is text").to_owned();
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=sa"]);
        openssl.args(["-keyout", &path("sa.key"), "-out", &path("sa.crt")]);
        assert!(quiet(&mut openssl).status().is_ok_and(|status| status.success()), "openssl makes a key");
        std::fs::write(path("tokens.csv"), "bench,admin,1,system:masters\n").expect("a file can be written");
        let (client, peer, port) = (free_port(), free_port(), free_port());
        let began = Instant::now();
        let _etcd = spawn(Command::new(&self.etcd).args([
            format!("--advertise-client-urls=http://127.0.0.1:{client}"),
            format!("--data-dir={}", path("etcd")),
            format!("--listen-client-urls=http://127.0.0.1:{client}"),
            format!("--listen-peer-urls=http://127.0.0.1:{peer}"),
            "--unsafe-no-fsync=true".to_owned(),
        ]));
        until(|| plain_get(client, "/health"), "etcd");
        let _server = spawn(Command::new(&self.kube_apiserver).args([
            "--allow-privileged=true".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--cert-dir={}", path("certs")),
            "--disable-admission-plugins=ServiceAccount".to_owned(),
            format!("--etcd-servers=http://127.0.0.1:{client}"),
            format!("--secure-port={port}"),
            format!("--service-account-issuer=https://127.0.0.1:{port}/"),
            format!("--service-account-key-file={}", path("sa.crt")),
            format!("--service-account-signing-key-file={}", path("sa.key")),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
            format!("--token-auth-file={}", path("tokens.csv")),
        ]));
        let endpoint = Endpoint::new(port, "bench");
        until_answered(&endpoint, "/healthz");
        until_answered(&endpoint, "/api/v1/namespaces/default");
        began.elapsed()
    }
}

/// Waits until a path is answered with 200.
fn until_answered(endpoint: &Endpoint, path: &str) {
    until(|| endpoint.send("GET", path, &[], None, PATIENCE).is_ok_and(|answer| answer.status == 200), path);
}

fn until(is_ready: impl Fn() -> bool, what: &str) {
    let began = Instant::now();
    while !is_ready() {
        assert!(began.elapsed() < PATIENCE, "{what} is not ready");
        std::thread::sleep(POLL);
    }
}

/// Whether a path is answered with 200 over plain HTTP.
fn plain_get(port: u16, path: &str) -> bool {
    use std::io::{Read as _, Write as _};
    let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", port)) else { return false };
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let mut answer = String::new();
    stream.write_all(request.as_bytes()).is_ok()
        && stream.read_to_string(&mut answer).is_ok()
        && answer.starts_with("HTTP/1.1 200")
}

fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
