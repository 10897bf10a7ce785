//! The command blocks of README.md and docs/*.md, run as they are printed, with the oldest and the newest kubectl.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use pleach_clients::sandbox::{Sandbox, blocks};
use pleach_clients::{binary, oldest_and_newest_kubectl, tools};
use pleach_conformance::etcd::free_port;
use pleach_store::{Commit, Expect, Store as _, contract::block_on};
use pleach_store_log::LogStore;

/// Languages of blocks that are not commands.
const NOT_RUN: [&str; 6] = ["json", "python", "rust", "text", "toml", "yaml"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// README.md and docs/*.md.
fn pages() -> Vec<String> {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().file_name());
    let names =
        docs.map(|name| format!("docs/{}", name.to_str().unwrap())).filter(|name| name.ends_with(".md"));
    let mut pages: Vec<String> = names.chain(["README.md".to_owned()]).collect();
    pages.sort();
    pages
}

/// Runs the command blocks of a page in a new directory, with each kubectl. `prepare` is called before each block
/// of commands, with its text, and `check` with what it printed.
fn run(page: &str, prepare: impl Fn(&mut Sandbox, &str), check: impl Fn(&str, &str)) {
    for (kubectl, minor) in oldest_and_newest_kubectl() {
        eprintln!("kubectl 1.{minor}: {}", kubectl.display());
        let mut sandbox = Sandbox::new(&kubectl);
        for block in blocks(page) {
            let language = block.language.as_str();
            if matches!(language, "sh" | "console") {
                prepare(&mut sandbox, &block.text);
            }
            match language {
                "sh" => check(&block.text, &sandbox.shell(&block.text)),
                "console" => sandbox.console(&block.text),
                "python" => sandbox.file("hook.py", &block.text),
                _ => {}
            }
        }
    }
}

/// The documents between `<<'YAML'` and `YAML`.
fn documents(block: &str) -> Vec<&str> {
    block.split("<<'YAML'\n").skip(1).filter_map(|rest| rest.split("\nYAML\n").next()).collect()
}

#[test]
fn readme() {
    let readme = page("README.md");
    let first = blocks(&readme).into_iter().find(|block| block.text.contains("kubectl apply")).unwrap().text;
    let [definition, object] = documents(&first)[..] else { panic!("a CRD and an object in {first}") };
    let prepare = |sandbox: &mut Sandbox, _: &str| {
        sandbox.file("config/crd/crontab.yaml", definition);
        sandbox.file("old.yaml", definition);
        sandbox.file("new.yaml", &definition.replace("maximum: 10", "maximum: 20"));
        sandbox.file("examples/nightly.yaml", object);
        sandbox.file("obj.yaml", object);
    };
    run(&readme, prepare, |block, printed| {
        if block == first {
            for expected in [
                r#"Warning: unknown field "spec.color""#,
                "replicas: 1\n",
                "spec.replicas in body should be less than or equal to 10",
            ] {
                assert!(printed.contains(expected), "{expected:?} in {printed}");
            }
            assert!(!printed.contains("color: red"), "{printed}");
        }
    });
}

#[test]
fn command_line_on_files() {
    let prepare = |sandbox: &mut Sandbox, _: &str| sandbox.copy(&root().join("docs/examples"));
    run(&page("docs/cli.md"), prepare, |_, _| {});
}

/// A byte in the middle of the newest segment of the log of `./data`.
fn damage(sandbox: &Sandbox) {
    let files = fs::read_dir(sandbox.path().join("data/store")).unwrap().map(|entry| entry.unwrap().path());
    let log =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "log")).max().unwrap();
    let mut bytes = fs::read(&log).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(log, bytes).unwrap();
}

/// Something that is not JSON, under a key of `./data`.
fn store_undecodable(sandbox: &Sandbox, key: &str) {
    let store = LogStore::open(sandbox.path().join("data/store")).unwrap();
    let value = b"\x01\0\0\0\0\0\0\0\0\0\0\0\0{\"cut short".to_vec();
    block_on(store.commit(Commit::put(key, Expect::Anything, value))).unwrap();
}

#[test]
fn server() {
    let serving = Cell::new(false);
    let prepare = |sandbox: &mut Sandbox, block: &str| {
        let needs_server =
            ["kubectl create role ", "kubectl get flowschemas", "kubectl create serviceaccount"];
        if needs_server.iter().any(|command| block.contains(command)) {
            sandbox.serve("pleach serve --in-memory");
            serving.set(true);
            return;
        }
        if serving.get() {
            sandbox.stop();
            serving.set(false);
        }
        if block.contains("damaged: ") {
            damage(sandbox);
        } else if block.contains("cannot be decoded: ") {
            store_undecodable(sandbox, "/registry/example.com/crontabs/default/broken");
        } else if block.contains("AllowUnsafeMalformedObjectDeletion=true") {
            sandbox.serve("pleach serve --data-dir ./data");
            let readme = page("README.md");
            let first =
                blocks(&readme).into_iter().find(|block| block.text.contains("kubectl apply")).unwrap();
            sandbox.file("crd.yaml", documents(&first.text)[0]);
            sandbox.shell("export KUBECONFIG=…\nkubectl apply -f crd.yaml\n");
            sandbox.stop();
            store_undecodable(sandbox, "/registry/stable.example.com/crontabs/default/broken");
        }
    };
    let check = |block: &str, printed: &str| {
        if block.contains("kubectl create role ") {
            for expected in ["yes", "User \"bob\" cannot list resource \"secrets\""] {
                assert!(printed.contains(expected), "{expected:?} in {printed}");
            }
        } else if block.contains("kubectl create serviceaccount") {
            assert!(printed.contains("expirationTimestamp"), "{printed}");
        }
    };
    run(&page("docs/server.md"), prepare, check);
}

#[test]
fn policies() {
    run(
        &page("docs/policies.md"),
        |sandbox, _| sandbox.copy(&root().join("docs/examples/policies")),
        |block, printed| {
            if block.contains("kubectl create configmap large") {
                for expected in ["written-by=", "at most 2 entries, please"] {
                    assert!(printed.contains(expected), "{expected:?} in {printed}");
                }
            }
        },
    );
}

#[test]
fn webhooks() {
    run(
        &page("docs/webhooks.md"),
        |_, _| {},
        |block, printed| {
            if block.contains("kubectl get box") {
                for expected in
                    ["green", "admission webhook \"paint.example.com\" denied the request: not pink, please"]
                {
                    assert!(printed.contains(expected), "{expected:?} in {printed}");
                }
            }
        },
    );
}

#[test]
fn envtest() {
    run(
        &page("docs/envtest.md"),
        |_, _| {},
        |block, printed| {
            if block.contains("ls ./envtest") {
                assert!(printed.contains("etcd\nkube-apiserver\nkubectl\n"), "{printed}");
            }
        },
    );
}

#[test]
fn scaling() {
    // Ports of the page, and ones that are free.
    let mut text = page("docs/scaling.md");
    for port in [64400, 64430, 64440, 23710, 23720, 23730, 23810, 23820, 23830] {
        text = text.replace(&port.to_string(), &free_port().to_string());
    }
    let etcd = tools().join("bin/etcd");
    let balancer = blocks(&text).into_iter().find(|block| block.language == "python").unwrap().text;
    let prepare = |sandbox: &mut Sandbox, block: &str| {
        if block.contains("pleach credentials") {
            sandbox.run("kill -9 $(cat scaling/pids 2> /dev/null) 2> /dev/null || true");
            let pleach = binary();
            sandbox.run(&format!(
                "ln -sf {} bin/pleach; ln -sf {} bin/etcd",
                pleach.display(),
                etcd.display()
            ));
            sandbox.file("balancer.py", &balancer);
        }
    };
    run(&text, prepare, |block, printed| {
        if block.contains("kubectl create configmap") {
            assert!(printed.contains("configmap/kept created\n"), "{printed}");
            assert!(printed.contains("etcdconfigmap/also created\nok"), "{printed}");
        }
    });
}

#[test]
fn console() {
    let prepare = |sandbox: &mut Sandbox, block: &str| {
        if block.contains("/console/links") {
            sandbox.serve("pleach serve --in-memory");
        }
    };
    run(&page("docs/console.md"), prepare, |block, printed| {
        if block.contains("/console/links") {
            assert!(printed.contains("/console/#/sign-in/"), "{printed}");
        }
    });
}

#[test]
fn testing() {
    run(
        &page("docs/testing.md"),
        |_, _| {},
        |block, printed| {
            if block.contains("refused.json") {
                assert!(printed.contains("injected by a fault rule: ServiceUnavailable"), "{printed}");
                assert!(printed.contains("error 503 before the commit"), "{printed}");
            }
        },
    );
}

#[test]
fn every_command_block_is_run() {
    for name in pages() {
        for block in blocks(&page(&name)) {
            let language = block.language.as_str();
            match name.as_str() {
                "README.md" | "docs/cli.md" | "docs/console.md" | "docs/envtest.md" | "docs/policies.md"
                | "docs/scaling.md" | "docs/server.md" | "docs/testing.md" | "docs/webhooks.md" => {
                    let known = ["console", "sh"].contains(&language) || NOT_RUN.contains(&language);
                    assert!(known, "{name}: a block of {language:?}");
                }
                _ => {
                    assert!(NOT_RUN.contains(&language), "{name}: no test here runs its {language:?} blocks");
                }
            }
            if language == "text" {
                let command = block.text.lines().find(|line| line.starts_with("$ "));
                assert!(command.is_none(), "{name}: {command:?} is a command in a block of text");
            }
        }
    }
}

#[test]
fn links_lead_somewhere() {
    let script = root().join("scripts/test.sh");
    assert!(fs::metadata(&script).unwrap().permissions().mode() & 0o111 != 0, "scripts/test.sh can be run");
    for name in pages() {
        let directory = root().join(&name).parent().unwrap().to_owned();
        for link in page(&name).split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap();
            let external = link.starts_with("https://") || file.is_empty();
            assert!(external || directory.join(file).exists(), "{name}: {link}");
        }
    }
}
