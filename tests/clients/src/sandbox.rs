//! A directory in which command blocks of the documentation are run, as they are printed.
//!
//! A `sh` block is run by bash; a `console` block has commands after `$ ` and what they print. Replaced are:
//!
//! - `pleach` by the binary under test, which `cargo run --release --` runs too;
//! - the ports of servers (`--port`) and of webhooks (9443) by free ones;
//! - `export KUBECONFIG=…` by the line that the server printed; it holds for the rest of the page;
//! - `scripts/test.sh` by nothing, since it runs these tests.
//!
//! A line of a `sh` block whose comment begins with `refused` has to fail, all others have to succeed. In the output
//! of a `console` block `…` stands for any text, or on a line of its own for any lines.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

use crate::{binary, eventually};

/// The port of webhooks in the documentation.
const WEBHOOK_PORT: &str = "9443";

/// A fenced block of a page.
#[derive(Debug)]
pub struct Block {
    /// The word after the fence.
    pub language: String,
    /// The lines between the fences.
    pub text: String,
}

/// The fenced blocks of a page. Indented blocks are refused, because nothing says whether they are commands.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    let mut blank = true;
    while let Some(line) = lines.next() {
        assert!(!(blank && line.starts_with("    ")), "an indented block is not run: {line}");
        blank = line.is_empty();
        let Some(language) = line.strip_prefix("```") else { continue };
        let text = lines.by_ref().take_while(|line| *line != "```").flat_map(|line| [line, "\n"]).collect();
        found.push(Block { language: language.to_owned(), text });
    }
    found
}

/// A process that runs until the page ends, or another server is started.
struct Background(Child);

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A directory with programs, and what the blocks before have started and exported.
pub struct Sandbox {
    directory: TempDir,
    server: Option<Background>,
    webhooks: Vec<Background>,
    webhook_port: u16,
    /// The output of the running server: `export KUBECONFIG=` and a path.
    printed: Option<String>,
    /// The variables that a block exported.
    exported: Option<String>,
}

impl Sandbox {
    /// An empty directory with this kubectl.
    pub fn new(kubectl: &Path) -> Self {
        let unused = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
        let sandbox = Self {
            directory: tempfile::tempdir().expect("a temporary directory can be made"),
            server: None,
            webhooks: Vec::new(),
            webhook_port: unused.expect("a free port").port(),
            printed: None,
            exported: None,
        };
        let pleach = binary();
        let pleach = pleach.display();
        sandbox.program(
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
        sandbox.program(
            "bin/cargo",
            r#"[ "$1 $2 $3" = "run --release --" ] || exit 1
               shift 3
               exec pleach "$@""#,
        );
        sandbox.program("bin/kubectl", &format!(r#"exec {} "$@""#, kubectl.display()));
        sandbox.program("scripts/test.sh", "exit 0");
        sandbox
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file, with the port of webhooks replaced.
    pub fn file(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in the directory")).expect("a directory can be made");
        fs::write(path, self.with_port(text)).expect("a file can be written");
    }

    /// Copies the files below a directory.
    pub fn copy(&self, from: &Path) {
        let status = Command::new("cp").arg("-r").arg(from.join(".")).arg(self.path()).status();
        assert!(status.expect("cp runs").success(), "{}", from.display());
    }

    fn program(&self, name: &str, text: &str) {
        self.file(name, &format!("#!/usr/bin/env bash\n{text}\n"));
        let executable = fs::Permissions::from_mode(0o755);
        fs::set_permissions(self.path().join(name), executable).expect("and be made executable");
    }

    fn with_port(&self, text: &str) -> String {
        text.replace(WEBHOOK_PORT, &self.webhook_port.to_string())
    }

    fn bash(&self, script: &str) -> Command {
        let home = self.path();
        let path = std::env::var("PATH").unwrap_or_default();
        let exported = self.exported.as_deref().unwrap_or_default();
        let mut bash = Command::new("bash");
        bash.args(["-euc", &format!("{exported}\n{}", self.with_port(script))])
            .current_dir(home)
            .env("HOME", home)
            .env("PATH", format!("{}:{path}", home.join("bin").display()))
            .env_remove("KUBECONFIG")
            .env_remove("XDG_DATA_HOME")
            .stdin(Stdio::null());
        bash
    }

    /// Runs a script, which has to succeed; what it printed and complained about.
    #[track_caller]
    pub fn run(&self, script: &str) -> String {
        let output = self.bash(script).output().expect("bash runs");
        assert!(output.status.success(), "{script}\n{}", text(&output));
        text(&output)
    }

    /// Starts a server in place of the one that runs, and waits until it listens.
    pub fn serve(&mut self, line: &str) {
        self.stop();
        let mut child = self.bash(&format!("exec {line}")).stdout(Stdio::piped()).spawn().expect("bash runs");
        let printed = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let export = printed.map_while(Result::ok).find(|line| line.starts_with("export KUBECONFIG="));
        self.server = Some(Background(child));
        assert!(export.is_some(), "{line}: the server ended before it listened");
        self.printed = export;
    }

    /// Stops the server.
    pub fn stop(&mut self) {
        self.server = None;
    }

    fn start_webhook(&mut self, line: &str) {
        let child = self.bash(&format!("exec {line}")).spawn().expect("bash runs");
        self.webhooks.push(Background(child));
        eventually(line, || TcpStream::connect(("127.0.0.1", self.webhook_port)).ok());
    }

    /// Runs a `sh` block; what it printed and complained about.
    #[track_caller]
    pub fn shell(&mut self, block: &str) -> String {
        let mut script = String::new();
        for line in block.lines() {
            if line.starts_with("cargo run --release -- serve") || line.starts_with("pleach serve") {
                self.serve(line);
            } else if line.starts_with("python3 ") {
                self.start_webhook(line);
            } else if line.starts_with("export KUBECONFIG=…") {
                self.exported = Some(self.printed.clone().expect("a server was started before"));
                script.push_str(self.exported.as_deref().unwrap_or_default());
            } else if let Some((command, _)) = line.split_once("# refused") {
                script.push_str(&format!("if {command}; then echo 'was not refused'; exit 1; fi"));
            } else {
                script.push_str(line);
            }
            script.push('\n');
        }
        self.run(&script)
    }

    /// Runs a `console` block and compares what its commands print. A command without output has to succeed.
    #[track_caller]
    pub fn console(&self, block: &str) {
        let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
        for line in block.lines() {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push((command, Vec::new())),
                (None, Some((_, output))) => output.push(line),
                (None, None) => panic!("a console block begins with a command: {line}"),
            }
        }
        for (command, expected) in commands {
            if expected.is_empty() {
                self.run(command);
                continue;
            }
            let output = self.bash(&format!("exec 2>&1\n{command}")).output().expect("bash runs");
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            let lines: Vec<&str> = printed.trim_end().lines().collect();
            let expected_text = expected.join("\n");
            assert!(
                lines_match(&expected, &lines),
                "$ {command}\nis documented to print\n{expected_text}\nand prints\n{printed}"
            );
        }
    }
}

fn text(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Whether lines are as expected, `…` on a line of its own standing for any number of them.
fn lines_match(expected: &[&str], lines: &[&str]) -> bool {
    match expected {
        [] => lines.is_empty(),
        ["…", rest @ ..] => (0..=lines.len()).any(|skipped| lines_match(rest, &lines[skipped..])),
        [first, rest @ ..] => lines
            .split_first()
            .is_some_and(|(line, others)| line_matches(first, line) && lines_match(rest, others)),
    }
}

/// Whether a line is as expected, `…` standing for any text.
fn line_matches(expected: &str, line: &str) -> bool {
    match expected.split_once('…') {
        None => expected == line,
        Some((head, tail)) => line.strip_prefix(head).is_some_and(|rest| {
            rest.char_indices()
                .map(|(at, _)| at)
                .chain([rest.len()])
                .any(|at| line_matches(tail, &rest[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_stand_for_any_text() {
        for (expected, line, matches) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("lost: … to …;", "lost: 3 to 4;", true),
            ("lost: … to …;", "lost: 3 and 4;", false),
            ("…", "", true),
        ] {
            assert_eq!(line_matches(expected, line), matches, "{expected} {line}");
        }
        assert!(lines_match(&["a", "…", "d"], &["a", "b", "c", "d"]));
        assert!(!lines_match(&["a", "…", "d"], &["a", "b"]));
    }

    #[test]
    fn blocks_have_a_language() {
        let found = blocks("text\n\n```sh\npleach serve\n```\n- item\n    continued\n");
        assert_eq!((found[0].language.as_str(), found[0].text.as_str()), ("sh", "pleach serve\n"));
    }
}
