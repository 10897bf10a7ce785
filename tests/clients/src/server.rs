//! A test server, with its kubeconfig in a temporary directory.
//!
//! With `PLEACH_ETCD=all` in the environment, servers that would keep their objects in memory keep them in an etcd of
//! their own, so that the tests of clients run on etcd.

use std::path::{Path, PathBuf};
use std::process::Command;

use pleach_conformance::etcd::Etcd;
use pleach_conformance::{Endpoint, TestServer};
use tempfile::TempDir;

use crate::Api;

/// A running server. Dropping it kills it with `SIGKILL`.
pub struct Running {
    server: TestServer,
    home: TempDir,
    /// Ends after the server.
    _etcd: Option<Etcd>,
}

impl Running {
    /// An in-memory server.
    pub fn in_memory() -> Self {
        Self::start(&["--in-memory"])
    }

    /// A server on a data directory.
    pub fn on(data: &Path) -> Self {
        Self::start(&["--data-dir", data.to_str().expect("a path of ours is text")])
    }

    /// A server with arguments.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(&binary(), arguments)
    }

    /// A server with a limit on open files.
    pub fn with_files(files: usize, arguments: &[&str]) -> Self {
        let script = tempfile::tempdir().expect("a temporary directory can be made");
        let path = script.path().join("pleach");
        let text = format!("#!/bin/sh\nulimit -n {files}\nexec {} \"$@\"\n", binary().display());
        std::fs::write(&path, text).expect("a script can be written");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(&path, executable).expect("and be made executable");
        Self::start_with(&path, arguments)
    }

    fn start_with(program: &Path, arguments: &[&str]) -> Self {
        let home = tempfile::tempdir().expect("a temporary directory can be made");
        let kubeconfig = home.path().join("kubeconfig");
        let mut all = vec!["--kubeconfig", kubeconfig.to_str().expect("a path of ours is text")];
        let on_etcd = std::env::var("PLEACH_ETCD").is_ok_and(|tests| tests == "all");
        if on_etcd && arguments.contains(&"--in-memory") {
            all.extend(arguments.iter().filter(|argument| **argument != "--in-memory"));
            let etcd = Etcd::start(1);
            let server = etcd.serve(program, &all).expect("the server starts");
            return Self { server, home, _etcd: Some(etcd) };
        }
        all.extend_from_slice(arguments);
        let server = TestServer::start(program, &all).expect("the server starts");
        Self { server, home, _etcd: None }
    }

    /// The kubeconfig that the server wrote.
    pub fn kubeconfig(&self) -> &Path {
        &self.server.kubeconfig
    }

    /// A directory for caches and files of the test.
    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Raw requests to the server.
    pub fn api(&self) -> Api {
        Api::new(self.server.endpoint.clone())
    }

    /// The server as requests are sent to it, with the admin's token.
    pub fn endpoint(&self) -> &Endpoint {
        &self.server.endpoint
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.server.endpoint.port
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// Resident memory in megabytes.
    pub fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux says it");
        line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number") / 1024
    }

    /// Stops the server with `SIGTERM`; whether it exited with 0.
    pub fn stop(mut self) -> bool {
        self.terminate();
        self.server.wait().expect("the server is a child of this process").success()
    }

    /// Sends `SIGTERM`.
    pub fn terminate(&self) {
        let told = Command::new("kill").args(["-TERM", &self.pid().to_string()]).status();
        assert!(told.expect("kill runs").success(), "the server was there to be told");
    }
}

/// The server binary of the profile that this test was built in.
pub fn binary() -> PathBuf {
    let path = target().join("pleach");
    assert!(path.exists(), "{} is not built: cargo build -p pleach", path.display());
    path
}

/// Where `scripts/setup.sh` puts clients: `tools` beside the profile's directory.
pub fn tools() -> PathBuf {
    std::env::var_os("PLEACH_TOOLS")
        .map_or_else(|| target().parent().expect("a profile is in a directory").join("tools"), PathBuf::from)
}

/// The directory of this test's profile: a test runs from `<target>/<profile>/deps`.
fn target() -> PathBuf {
    let test = std::env::current_exe().expect("a process knows its executable");
    test.ancestors().nth(2).expect("a test runs from <target>/<profile>/deps").to_owned()
}
