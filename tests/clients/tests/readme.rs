//! The commands of README.md, run as they are printed, with the oldest and the newest kubectl of this machine.
//!
//! Every `sh` block is run by bash, in order, in a new directory. What is put in place of what is printed:
//!
//! - `pleach` is the binary that was built for the tests, and `cargo run --release --` runs it too;
//! - servers listen on a free port, whatever `--port` says;
//! - `export KUBECONFIG=…` is the line that the server printed;
//! - a line whose comment begins with `refused` has to fail, all others have to succeed;
//! - `scripts/test.sh` is not run, since it runs this test;
//! - the files that the commands on files name are made of the CRD and the object in the README itself.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use pleach_clients::{binary, oldest_and_newest_kubectl};
use tempfile::TempDir;

const README: &str = include_str!("../../../README.md");

/// The blocks between "```sh" and "```".
fn blocks(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        assert!(!line.starts_with("    "), "an indented block is not run: {line}");
        let Some(language) = line.strip_prefix("```") else { continue };
        let block: String =
            lines.by_ref().take_while(|line| *line != "```").flat_map(|line| [line, "\n"]).collect();
        match language {
            "sh" => found.push(block),
            // A test of the documentation of pleach-schema.
            "rust" => {}
            other => panic!("blocks of {other:?} are not run"),
        }
    }
    found
}

/// The documents between `<<'YAML'` and `YAML`.
fn documents(block: &str) -> Vec<&str> {
    block.split("<<'YAML'\n").skip(1).filter_map(|rest| rest.split("\nYAML\n").next()).collect()
}

/// A server that a block started.
struct Server {
    child: Child,
    /// `export KUBECONFIG=` and a path.
    export: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A directory in which blocks are run.
struct Desk {
    directory: TempDir,
}

impl Desk {
    fn new(kubectl: &Path) -> Self {
        let desk = Self { directory: tempfile::tempdir().unwrap() };
        let pleach = binary();
        let pleach = pleach.display();
        // Every server gets a port of its own.
        desk.program(
            "bin/pleach",
            &format!(
                r#"case "$1" in
                     serve)
                       arguments=()
                       while [ $# -gt 0 ]; do
                         if [ "$1" = --port ]; then shift; else arguments+=("$1"); fi
                         shift
                       done
                       exec {pleach} "${{arguments[@]}}" --port 0;;
                   esac
                   exec {pleach} "$@""#
            ),
        );
        desk.program(
            "bin/cargo",
            r#"[ "$1 $2 $3" = "run --release --" ] || exit 1
               shift 3
               exec pleach "$@""#,
        );
        desk.program("bin/kubectl", &format!(r#"exec {} "$@""#, kubectl.display()));
        desk.program("scripts/test.sh", "exit 0");
        desk
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn program(&self, name: &str, text: &str) {
        self.file(name, &format!("#!/usr/bin/env bash\n{text}\n"));
        let path = self.directory.path().join(name);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// bash, with the programs of this directory.
    fn bash(&self, script: &str) -> Command {
        let home = self.directory.path();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut bash = Command::new("bash");
        bash.args(["-euc", script])
            .current_dir(home)
            .env("HOME", home)
            .env("PATH", format!("{}:{path}", home.join("bin").display()))
            .env_remove("KUBECONFIG")
            .env_remove("XDG_DATA_HOME")
            .stdin(Stdio::null());
        bash
    }

    #[track_caller]
    fn run(&self, script: &str) -> Output {
        let output = self.bash(script).output().unwrap();
        assert!(output.status.success(), "{script}\n{}", text(&output));
        output
    }

    /// Starts a server and waits until it listens.
    fn serve(&self, line: &str) -> Server {
        let mut child = self.bash(&format!("exec {line}")).stdout(Stdio::piped()).spawn().unwrap();
        let printed = BufReader::new(child.stdout.take().unwrap()).lines();
        let export = printed.map_while(Result::ok).find(|line| line.starts_with("export KUBECONFIG="));
        let export = export.unwrap_or_else(|| panic!("{line}: the server ended before it listened"));
        Server { child, export }
    }

    /// Runs a block: what it printed, and the last server that it started.
    fn block(&self, block: &str, running: Option<&Server>) -> (String, Option<Server>) {
        let mut server = None;
        let mut script = String::new();
        for line in block.lines() {
            if line.starts_with("cargo run --release -- serve") || line.starts_with("pleach serve") {
                // One server at a time: they would share a data directory.
                drop(server.take());
                server = Some(self.serve(line));
            } else if line.starts_with("export KUBECONFIG=…") {
                script.push_str(&running.expect("a server was started before").export);
            } else if let Some((command, _)) = line.split_once("# refused") {
                script.push_str(&format!("if {command}; then echo 'was not refused'; exit 1; fi"));
            } else {
                script.push_str(line);
            }
            script.push('\n');
        }
        (text(&self.run(&script)), server)
    }
}

/// What was printed, then what was complained about.
fn text(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn every_command_works_as_it_is_printed() {
    let blocks = blocks(README);
    let first = blocks.iter().find(|block| block.contains("kubectl apply")).unwrap();
    let [definition, object] = documents(first)[..] else { panic!("a CRD and an object in {first}") };
    for (kubectl, minor) in oldest_and_newest_kubectl() {
        eprintln!("kubectl 1.{minor}: {}", kubectl.display());
        let desk = Desk::new(&kubectl);
        desk.file("config/crd/crontab.yaml", definition);
        desk.file("old.yaml", definition);
        desk.file("new.yaml", &definition.replace("maximum: 10", "maximum: 20"));
        desk.file("examples/nightly.yaml", object);
        desk.file("obj.yaml", object);
        let mut running = None;
        for block in &blocks {
            let (printed, started) = desk.block(block, running.as_ref());
            if block == first {
                for expected in [
                    r#"Warning: unknown field "spec.color""#,
                    "replicas: 1\n",
                    "spec.replicas in body should be less than or equal to 10",
                ] {
                    assert!(printed.contains(expected), "1.{minor}: {expected:?} in {printed}");
                }
                assert!(!printed.contains("color: red"), "1.{minor}: {printed}");
            }
            running = started.or(running);
        }
    }
}

#[test]
fn what_the_commands_name_is_there() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let script = root.join("scripts/test.sh");
    assert!(fs::metadata(&script).unwrap().permissions().mode() & 0o111 != 0, "scripts/test.sh can be run");
    // Links to files of the repository.
    for link in README.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
        assert!(link.starts_with("https://") || root.join(link).exists(), "{link}");
    }
}
