//! etcd on loopback for the time of a test: one node, or several.

use std::ffi::OsString;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::server::TestServer;

/// How long a cluster may take to answer after it was started.
const START: Duration = Duration::from_mins(1);

/// A directory that is removed with the test.
#[derive(Debug)]
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("pleach-{name}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary directory can be made");
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A member of a cluster.
#[derive(Debug)]
pub struct Member {
    arguments: Vec<OsString>,
    process: Option<Child>,
    /// Its client URL.
    pub url: String,
}

/// A running etcd cluster; killed and removed when it is dropped.
#[derive(Debug)]
pub struct Etcd {
    /// The members.
    pub members: Vec<Member>,
    directory: Directory,
}

fn program() -> PathBuf {
    let tools = std::env::var_os("PLEACH_TOOLS").map(PathBuf::from);
    let tools = tools.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools"));
    let installed = tools.join("bin/etcd");
    if installed.exists() { installed } else { "etcd".into() }
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has ports");
    listener.local_addr().expect("a listener has an address").port()
}

impl Etcd {
    /// Starts a cluster of so many nodes and waits until each of them answers.
    pub fn start(nodes: usize) -> Self {
        Self::start_with(nodes, &[])
    }

    /// The same with further arguments of etcd.
    pub fn start_with(nodes: usize, arguments: &[&str]) -> Self {
        Self::start_at("http", nodes, arguments)
    }

    /// One node that speaks TLS to its clients, with these arguments about certificates.
    pub fn start_with_tls(arguments: &[&str]) -> Self {
        Self::start_at("https", 1, arguments)
    }

    fn start_at(scheme: &str, nodes: usize, arguments: &[&str]) -> Self {
        for _ in 0..5 {
            if let Some(etcd) = Self::try_start(scheme, nodes, arguments) {
                return etcd;
            }
        }
        panic!("etcd does not start: scripts/setup.sh installs it")
    }

    fn try_start(scheme: &str, nodes: usize, further: &[&str]) -> Option<Self> {
        let directory = Directory::new("etcd");
        let urls = |scheme: &str| {
            (0..nodes).map(|_| format!("{scheme}://127.0.0.1:{}", free_port())).collect::<Vec<_>>()
        };
        let (clients, peers) = (urls(scheme), urls("http"));
        let cluster: Vec<String> = peers.iter().enumerate().map(|(n, peer)| format!("n{n}={peer}")).collect();
        let mut members = Vec::new();
        for (number, (client, peer)) in clients.iter().zip(&peers).enumerate() {
            let mut arguments: Vec<OsString> =
                vec!["--data-dir".into(), directory.0.join(number.to_string()).into()];
            let name = format!("n{number}");
            for text in [
                "--name",
                &name,
                "--listen-client-urls",
                client,
                "--advertise-client-urls",
                client,
                "--listen-peer-urls",
                peer,
                "--initial-advertise-peer-urls",
                peer,
                "--initial-cluster",
                &cluster.join(","),
                "--heartbeat-interval",
                "100",
                "--election-timeout",
                "1000",
                "--max-request-bytes",
                "8388608",
                "--unsafe-no-fsync",
                "--log-level",
                "error",
            ] {
                arguments.push(text.into());
            }
            arguments.extend(further.iter().map(OsString::from));
            let mut member = Member { arguments, process: None, url: client.clone() };
            member.start();
            members.push(member);
        }
        let mut etcd = Self { members, directory };
        let deadline = Instant::now() + START;
        while Instant::now() < deadline {
            if etcd.members.iter_mut().any(Member::has_ended) {
                return None;
            }
            if etcd.members.iter().all(Member::answers) {
                return Some(etcd);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        None
    }

    /// The client URLs, as the flag takes them.
    pub fn servers(&self) -> String {
        self.members.iter().map(|member| member.url.as_str()).collect::<Vec<_>>().join(",")
    }

    /// Starts a server on this cluster, with further arguments. Servers of one cluster share their credentials.
    pub fn serve(&self, binary: &Path, arguments: &[&str]) -> std::io::Result<TestServer> {
        self.serve_at(binary, &self.servers(), arguments)
    }

    /// The directory with the credentials that servers on this cluster share.
    pub fn credentials(&self, binary: &Path) -> std::io::Result<PathBuf> {
        let shared = self.directory.0.join("credentials");
        if !shared.exists() {
            let made = Command::new(binary).arg("credentials").arg(&shared).stdout(Stdio::null()).status()?;
            assert!(made.success(), "credentials are made");
        }
        Ok(shared)
    }

    /// The same with other URLs of the members.
    pub fn serve_at(&self, binary: &Path, servers: &str, arguments: &[&str]) -> std::io::Result<TestServer> {
        let shared = self.credentials(binary)?;
        let kubeconfig = self.directory.0.join(format!("kubeconfig-{}", free_port()));
        let (shared, kubeconfig) = (shared.to_string_lossy(), kubeconfig.to_string_lossy());
        let mut all = vec!["--etcd-servers", servers, "--data-dir", &shared];
        if !arguments.contains(&"--kubeconfig") {
            all.extend(["--kubeconfig", &kubeconfig]);
        }
        all.extend(arguments);
        TestServer::start(binary, &all)
    }
}

impl Member {
    /// Starts the member, with what it had on disk.
    pub fn start(&mut self) {
        let mut command = Command::new(program());
        command.args(&self.arguments).stdout(Stdio::null()).stderr(Stdio::null());
        self.process = Some(command.spawn().expect("etcd is installed: scripts/setup.sh"));
    }

    /// The host and port of its client URL.
    pub fn address(&self) -> &str {
        self.url.split("//").last().unwrap_or_default()
    }

    /// Kills the member.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// The process, if it runs.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Child::id)
    }

    fn has_ended(&mut self) -> bool {
        self.process.as_mut().is_some_and(|process| process.try_wait().is_ok_and(|status| status.is_some()))
    }

    fn answers(&self) -> bool {
        TcpStream::connect(self.address()).is_ok()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.kill();
    }
}
