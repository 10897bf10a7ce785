//! The real server binary, on a free port, for the time of a test.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::http::Endpoint;

const TOKEN: &str = "conformance";

/// A running server; it is killed when this is dropped.
pub struct TestServer {
    child: Child,
    /// Where it listens.
    pub endpoint: Endpoint,
    /// Where its kubeconfig is.
    pub kubeconfig: PathBuf,
}

/// Arguments of a server that recordings are played against: they were made without a kube-controller-manager, which
/// would have made objects in each namespace, and written the status of admission policies.
pub const AS_RECORDED: [&str; 2] = [
    "--in-memory",
    "--controllers=*,-serviceaccount-controller,-serviceaccount-token-controller,-root-ca-certificate-publisher-controller,-validatingadmissionpolicy-status-controller",
];

impl TestServer {
    /// Starts `pleach serve` with further arguments and waits until it says where it listens.
    pub fn start(binary: &std::path::Path, arguments: &[&str]) -> std::io::Result<Self> {
        let mut command = Command::new(binary);
        command.args(["serve", "--port", "0", "--token", TOKEN, "--log-level", "warn"]).args(arguments);
        Self::run(&mut command, TOKEN)
    }

    /// Runs a command that serves and waits until it says where it listens. Requests are sent with this token.
    pub fn run(command: &mut Command, token: &str) -> std::io::Result<Self> {
        let mut child = command.stdout(Stdio::piped()).spawn()?;
        let stdout = child.stdout.take().ok_or_else(|| std::io::Error::other("no standard output"))?;
        let mut lines = BufReader::new(stdout).lines();
        let mut next = || {
            lines
                .next()
                .transpose()?
                .ok_or_else(|| std::io::Error::other("the server ended before it listened"))
        };
        let serves = next()?;
        let exports = next()?;
        let port = serves.rsplit(':').next().and_then(|port| port.trim().parse().ok());
        let port = port.ok_or_else(|| std::io::Error::other(format!("no port in {serves:?}")))?;
        let kubeconfig = exports.trim_start_matches("export KUBECONFIG=").into();
        Ok(Self { child, endpoint: Endpoint::new(port, token), kubeconfig })
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the process ends by itself and says how.
    pub fn wait(&mut self) -> std::io::Result<std::process::ExitStatus> {
        self.child.wait()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
