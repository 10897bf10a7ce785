//! An etcd of one node, in a directory of its own.

use std::{
    ffi::OsString,
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// A running etcd; stopped and removed when it is dropped.
pub(super) struct Etcd {
    program: PathBuf,
    arguments: Vec<OsString>,
    process: Child,
    client: String,
    _directory: TempDir,
}

/// Which etcd: `scripts/setup.sh` installs both.
#[derive(Clone, Copy)]
pub(super) enum Program {
    Newest,
    Oldest,
}

impl Program {
    fn path(self) -> PathBuf {
        let tools = std::env::var_os("PLEACH_TOOLS").map(PathBuf::from);
        let tools = tools
            .unwrap_or_else(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools")));
        let name = match self {
            Self::Newest => "etcd",
            Self::Oldest => "etcd-3.4",
        };
        let installed = tools.join("bin").join(name);
        if installed.exists() { installed } else { name.into() }
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Etcd {
    /// Starts an etcd and waits until it answers.
    pub(super) fn start(program: Program) -> Self {
        Self::start_with(program, "http", &[])
    }

    /// The same with further arguments, for clients with or without TLS.
    pub(super) fn start_with(program: Program, scheme: &str, arguments: &[&str]) -> Self {
        // A port may be taken between asking for it and using it.
        for _ in 0..5 {
            if let Some(etcd) = Self::try_start(program, scheme, arguments) {
                return etcd;
            }
        }
        panic!("{} does not start", program.path().display())
    }

    fn try_start(program: Program, scheme: &str, further: &[&str]) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let client = format!("{scheme}://127.0.0.1:{}", free_port());
        let peer = format!("http://127.0.0.1:{}", free_port());
        let cluster = format!("default={peer}");
        let mut arguments: Vec<OsString> = vec!["--data-dir".into(), directory.path().join("data").into()];
        let flags = [
            ["--listen-client-urls", &client],
            ["--advertise-client-urls", &client],
            ["--listen-peer-urls", &peer],
            ["--initial-advertise-peer-urls", &peer],
            ["--initial-cluster", &cluster],
            // Values at the limit and large transactions are part of the contract.
            ["--max-request-bytes", "8388608"],
            ["--max-txn-ops", "10000"],
            ["--log-level", "error"],
        ];
        arguments.extend(flags.as_flattened().iter().map(OsString::from));
        if matches!(program, Program::Newest) {
            arguments.push("--unsafe-no-fsync".into());
        }
        arguments.extend(further.iter().map(OsString::from));
        let program = program.path();
        let process = spawn(&program, &arguments);
        let mut etcd = Self { program, arguments, process, client, _directory: directory };
        etcd.answers().then_some(etcd)
    }

    /// Whether it answers before long.
    fn answers(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(30);
        while Instant::now() < deadline && self.process.try_wait().unwrap().is_none() {
            if std::net::TcpStream::connect(self.address()).is_ok() {
                return true;
            }
            thread::sleep(Duration::from_millis(20));
        }
        false
    }

    /// Kills it, and starts it again on the same directory and port.
    pub(super) fn restart(&mut self) {
        self.kill();
        self.process = spawn(&self.program, &self.arguments);
        assert!(self.answers(), "etcd does not start again");
    }

    /// Kills it.
    pub(super) fn kill(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }

    /// The process.
    pub(super) fn process(&self) -> &Child {
        &self.process
    }

    /// Its client URL.
    pub(super) fn url(&self) -> String {
        self.client.clone()
    }

    /// Its client URL without the scheme.
    pub(super) fn address(&self) -> &str {
        self.client.split("//").last().unwrap()
    }
}

fn spawn(program: &PathBuf, arguments: &[OsString]) -> Child {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap_or_else(|error| panic!("{}: {error}: scripts/setup.sh", program.display()))
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.kill();
    }
}
