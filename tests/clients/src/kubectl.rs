//! The kubectls of this machine: on the path, of other versions beside it, and those that
//! `scripts/setup.sh` fetched.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{Running, tools};

/// A kubectl with its own server.
pub struct Kubectl {
    path: PathBuf,
    /// The client's minor version: 20 for 1.20.
    pub minor: u32,
    /// The server.
    pub server: Running,
}

/// The result of a run of kubectl.
#[derive(Debug)]
pub struct Ran {
    /// Whether it exited with 0.
    pub success: bool,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Runs a scenario with every kubectl, each with a new server.
pub fn every_kubectl(scenario: impl Fn(&Kubectl)) {
    let found = installed();
    assert!(!found.is_empty(), "there is no kubectl on this machine: run scripts/setup.sh");
    for (path, minor) in found {
        eprintln!("kubectl 1.{minor}: {}", path.display());
        scenario(&Kubectl { path, minor, server: Running::in_memory() });
    }
}

/// The oldest and the newest kubectl, with their minor versions; one if there is only one.
pub fn oldest_and_newest_kubectl() -> Vec<(PathBuf, u32)> {
    let mut found = installed();
    assert!(!found.is_empty(), "there is no kubectl on this machine: run scripts/setup.sh");
    found.sort_by_key(|(_, minor)| *minor);
    let newest = found.split_off(found.len() - 1);
    found.truncate(1);
    found.extend(newest);
    found
}

/// Every kubectl with its minor version; the same file under two names counts once.
fn installed() -> Vec<(PathBuf, u32)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    directories.push(tools().join("bin"));
    let mut files = BTreeMap::new();
    for directory in directories {
        let on_path = directory.join("kubectl");
        let siblings = on_path.canonicalize().ok().and_then(|real| Some(real.parent()?.to_owned()));
        for directory in siblings.into_iter().chain([directory]) {
            for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let name = name.to_string_lossy();
                let is_kubectl =
                    name == "kubectl" || name.starts_with("kubectl.") || name.starts_with("kubectl-1.");
                if is_kubectl && let Ok(real) = entry.path().canonicalize() {
                    files.insert(real, entry.path());
                }
            }
        }
    }
    files.into_keys().filter_map(|path| Some((path.clone(), minor_version(&path)?))).collect()
}

fn minor_version(path: &Path) -> Option<u32> {
    let output = Command::new(path).args(["version", "--client", "-o", "json"]).output().ok()?;
    let version: Value = serde_json::from_slice(&output.stdout).ok()?;
    version["clientVersion"]["minor"].as_str()?.trim_end_matches('+').parse().ok()
}

impl Kubectl {
    /// Runs kubectl with standard input.
    pub fn run_with(&self, arguments: &[&str], input: &str, editor: &str) -> Ran {
        use std::io::Write as _;
        let mut child = Command::new(&self.path)
            .args(arguments)
            .env("KUBECONFIG", self.server.kubeconfig())
            .env("HOME", self.server.home())
            .env("EDITOR", editor)
            .env_remove("KUBE_EDITOR")
            .env_remove("VISUAL")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("kubectl starts");
        // A client that does not read its input may have ended.
        let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
        let output = child.wait_with_output().expect("kubectl ends");
        Ran {
            success: output.status.success(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Runs kubectl.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, "", "false")
    }

    /// Runs kubectl, which must succeed; returns its output.
    #[track_caller]
    pub fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert!(ran.success, "1.{} {arguments:?}: {ran:?}", self.minor);
        ran.stdout
    }

    /// Runs kubectl with an object on its standard input, which must succeed.
    #[track_caller]
    pub fn feed(&self, arguments: &[&str], object: &str) -> String {
        let ran = self.run_with(arguments, object, "false");
        assert!(ran.success, "1.{} {arguments:?}: {ran:?}", self.minor);
        ran.stdout
    }

    /// Runs kubectl, which must fail; returns its standard error.
    #[track_caller]
    pub fn fails(&self, arguments: &[&str], object: &str) -> String {
        let ran = self.run_with(arguments, object, "false");
        assert!(!ran.success, "1.{} {arguments:?} succeeded: {ran:?}", self.minor);
        ran.stderr
    }

    /// Runs kubectl, which must print exactly these lines; runs of spaces are one space.
    #[track_caller]
    pub fn prints(&self, arguments: &[&str], lines: &[&str]) {
        let printed = self.ok(arguments);
        let squeezed: Vec<String> = printed
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .filter(|line| !line.is_empty())
            .collect();
        assert_eq!(squeezed, lines, "1.{} {arguments:?}", self.minor);
    }

    /// The object that `get -o json` prints.
    #[track_caller]
    pub fn get(&self, arguments: &[&str]) -> Value {
        let mut all = vec!["get", "-o", "json"];
        all.extend_from_slice(arguments);
        serde_json::from_str(&self.ok(&all)).expect("kubectl prints JSON")
    }
}
