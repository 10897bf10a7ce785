//! An etcd of one node, in a directory of its own.

use std::{
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// A running etcd; stopped and removed when it is dropped.
pub(super) struct Etcd {
    process: Child,
    client: String,
    _directory: TempDir,
}

/// The etcd program: of the tools that `scripts/setup.sh` installs, or of the system.
fn program() -> PathBuf {
    let tools = std::env::var_os("PLEACH_TOOLS").map(PathBuf::from);
    let tools =
        tools.unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools")));
    let installed = tools.join("bin/etcd");
    if installed.exists() { installed } else { "etcd".into() }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Etcd {
    /// Starts an etcd and waits until it answers.
    pub(super) fn start() -> Self {
        // A port may be taken between asking for it and using it.
        for _ in 0..5 {
            if let Some(etcd) = Self::try_start(free_port(), free_port()) {
                return etcd;
            }
        }
        panic!("etcd does not start")
    }

    fn try_start(client: u16, peer: u16) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let (client, peer) = (format!("http://127.0.0.1:{client}"), format!("http://127.0.0.1:{peer}"));
        let process = Command::new(program())
            .arg("--data-dir")
            .arg(directory.path().join("data"))
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("default={peer}")])
            // Values at the limit and large transactions are part of the contract.
            .args(["--max-request-bytes", "8388608", "--max-txn-ops", "10000"])
            .args(["--unsafe-no-fsync", "--log-level", "error"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("etcd is installed: scripts/setup.sh");
        let mut etcd = Self { process, client, _directory: directory };
        let deadline = Instant::now() + Duration::from_secs(30);
        while Instant::now() < deadline {
            if etcd.process.try_wait().unwrap().is_some() {
                return None;
            }
            if etcd.answers() {
                return Some(etcd);
            }
            thread::sleep(Duration::from_millis(20));
        }
        None
    }

    fn answers(&self) -> bool {
        std::net::TcpStream::connect(self.client.trim_start_matches("http://")).is_ok()
    }

    /// Its client URL.
    pub(super) fn url(&self) -> String {
        self.client.clone()
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
