//! The examples of admission policies: each object of `accepted.yaml` is accepted, each of
//! `refused.yaml` is refused. `arguments` has further arguments, `old.yaml` what was stored before.

use std::fs;
use std::path::Path;

use clap::{CommandFactory as _, Parser};
use pleach_cli::{Command, Terminal};
use serde_json::Value;

#[derive(Parser)]
#[command(name = "pleach")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// The output of a command as JSON, and its standard error.
fn run(arguments: &[String]) -> (Value, String) {
    let cli = Cli::try_parse_from(arguments).expect("a command line");
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut input: &[u8] = b"";
    let mut terminal =
        Terminal { input: &mut input, out: &mut out, err: &mut err, color: false, interactive: false };
    pleach_cli::run(&cli.command, &mut Cli::command(), &mut terminal);
    (serde_json::from_slice(&out).unwrap_or_default(), String::from_utf8(err).expect("text"))
}

#[test]
fn examples_accept_and_refuse_what_they_say() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/policies");
    let mut count = 0;
    for example in fs::read_dir(examples).expect("there are examples") {
        let directory = example.expect("a directory").path();
        let path = |name: &str| directory.join(name).to_str().expect("text").to_owned();
        for (file, accepted) in [("accepted.yaml", true), ("refused.yaml", false)] {
            let mut arguments: Vec<String> =
                ["pleach", "policy", "test", "--output", "json"].map(str::to_owned).into();
            arguments.extend(["--policies".to_owned(), path("policies.yaml")]);
            arguments.extend(["--objects".to_owned(), path(file)]);
            if Path::new(&path("old.yaml")).exists() {
                arguments.extend(["--old".to_owned(), path("old.yaml")]);
            }
            let further = fs::read_to_string(path("arguments")).unwrap_or_default();
            arguments.extend(further.split_whitespace().map(str::to_owned));
            let (result, err) = run(&arguments);
            assert_eq!(err, "", "{}", directory.display());
            let objects = result["objects"].as_array().unwrap_or_else(|| panic!("{arguments:?}"));
            assert!(!objects.is_empty());
            for object in objects {
                assert_eq!(object["accepted"], accepted, "{}: {object:#}", directory.display());
                count += 1;
            }
            // No expression is wrong about what it is for.
            let (explained, _) =
                run(&["pleach", "policy", "explain", "--output", "json", &path("policies.yaml")]
                    .map(str::to_owned));
            let policies = explained["policies"].as_array().expect("policies");
            for expression in policies.iter().flat_map(|p| p["expressions"].as_array().expect("a list")) {
                assert!(expression.get("error").is_none(), "{expression:#}");
            }
        }
    }
    assert!(count > 30, "{count}");
}
