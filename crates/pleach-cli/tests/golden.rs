//! The output of each command, word for word. `UPDATE_EXPECT=1` rewrites the expected files.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{CommandFactory as _, Parser};
use pleach_cli::{Command, Terminal};

#[derive(Parser)]
#[command(name = "pleach")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Runs a command line in process; what it printed and how it ended.
fn run(line: &str, input: &str) -> String {
    let arguments = line.split_whitespace().map(|a| a.replace('@', "tests/golden/inputs/"));
    let cli = Cli::try_parse_from(["pleach".to_owned()].into_iter().chain(arguments)).expect(line);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut input = input.as_bytes();
    let mut terminal =
        Terminal { input: &mut input, out: &mut out, err: &mut err, color: false, interactive: false };
    let exit = pleach_cli::run(&cli.command, &mut Cli::command(), &mut terminal);
    let (out, err) = (String::from_utf8(out).expect("text"), String::from_utf8(err).expect("text"));
    let err = if err.is_empty() { String::new() } else { format!("--- stderr ---\n{err}") };
    format!("$ pleach {}\n{out}{err}--- exit {} ---\n", line.replace('@', ""), exit.code())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn check(cases: &[(&str, &str)]) {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    let mut wrong = Vec::new();
    for (name, line) in cases {
        let found = run(line, "");
        let path = root().join(format!("{name}.txt"));
        let wanted = fs::read_to_string(&path).unwrap_or_default();
        if found == wanted {
            continue;
        }
        if update {
            fs::write(&path, &found).expect("expected files can be written");
        } else {
            wrong.push(format!("{name}: wanted\n{wanted}\nfound\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn lint() {
    check(&[
        ("lint-good", "lint @widgets.yaml"),
        ("lint-bad", "lint @bad-crd.yaml"),
        ("lint-bad-json", "lint --output json @bad-crd.yaml"),
        ("lint-surprising", "lint @surprising-crd.yaml"),
        ("lint-denied", "lint --deny-warnings --output json @surprising-crd.yaml"),
        ("lint-cel", "lint @cel-crd.yaml"),
        ("lint-costs", "lint --costs @widgets.yaml"),
        ("lint-hostile", "lint @hostile"),
        ("lint-sarif", "lint --output sarif @cel-crd.yaml"),
        ("lint-none", "lint @good.yaml"),
        ("lint-missing", "lint @good.yaml @missing.yaml"),
    ]);
}

#[test]
fn validate() {
    check(&[
        ("validate-good", "validate --crds @widgets.yaml @good.yaml"),
        ("validate-bad", "validate --crds @widgets.yaml @bad.yaml"),
        ("validate-bad-json", "validate --crds @widgets.yaml --output json @bad.yaml"),
        ("validate-warn", "validate --crds @widgets.yaml --field-validation warn @bad.yaml --require-crds"),
        ("validate-junit", "validate --crds @widgets.yaml --output junit @bad.yaml @good.yaml"),
        ("validate-update", "validate --crds @widgets.yaml --old @old.yaml @new.yaml"),
        ("validate-deprecated", "validate --crds @versions-crd.yaml @versions.yaml"),
        ("validate-bad-crd", "validate --crds @bad-crd.yaml @good.yaml"),
    ]);
}

#[test]
fn render() {
    check(&[
        ("render", "render --crds @widgets.yaml @messy.yaml"),
        ("render-diff", "render --diff --crds @widgets.yaml @messy.yaml"),
        ("render-json", "render --crds @widgets.yaml --output json @messy.yaml"),
        ("render-unknown", "render --crds @widgets.yaml @bad.yaml"),
    ]);
}

#[test]
fn explain() {
    check(&[
        ("explain", "explain @widgets.yaml"),
        ("explain-field", "explain @widgets.yaml spec.parts"),
        ("explain-json", "explain @widgets.yaml widgets.spec.size --output json"),
        ("explain-recursive", "explain @widgets.yaml --recursive"),
        ("explain-missing", "explain @widgets.yaml spec.nothing"),
    ]);
}

#[test]
fn sample() {
    check(&[
        ("sample", "sample @widgets.yaml"),
        ("sample-json", "sample --minimal --output json @widgets.yaml"),
        ("sample-junctors", "sample @junctors-crd.yaml"),
        ("sample-impossible", "sample --minimal @surprising-crd.yaml"),
    ]);
}

#[test]
fn diff() {
    check(&[
        ("diff", "diff @widgets.yaml @widgets-next.yaml"),
        ("diff-json", "diff --breaking --output json @widgets.yaml @widgets-next.yaml"),
        ("diff-back", "diff @widgets-next.yaml @widgets.yaml"),
        ("diff-same", "diff @widgets.yaml @widgets.yaml"),
    ]);
}

#[test]
fn policy() {
    let examples = "../../docs/examples/policies";
    let test = |name: &str, file: &str, more: &str| {
        format!(
            "policy test --policies {examples}/{name}/policies.yaml --objects {examples}/{name}/{file}.yaml{more}"
        )
    };
    let explain = format!("policy explain --depth 3 {examples}/owner-label/policies.yaml");
    let lines = [
        ("policy-test", test("settings-within-bounds", "refused", "")),
        ("policy-test-warn", test("settings-within-bounds", "accepted", "")),
        ("policy-test-junit", test("sidecar", "refused", " --output junit")),
        ("policy-test-json", test("sidecar", "accepted", " --output json")),
        ("policy-test-none", test("sidecar", "accepted", " --policies @widgets.yaml --old @missing.yaml")),
        (
            "policy-test-bad",
            format!("policy test --policies @bad-policy.yaml --objects {examples}/sidecar/accepted.yaml"),
        ),
        ("policy-explain", explain.clone()),
        ("policy-explain-json", format!("{explain} --output json")),
        ("policy-explain-bad", "policy explain @bad-policy.yaml".to_owned()),
    ];
    check(&lines.each_ref().map(|(name, line)| (*name, line.as_str())));
}

#[test]
fn rewriting() {
    check(&[
        ("convert-crd", "convert-crd @beta-crd.yaml"),
        ("convert-crd-back", "convert-crd --to v1beta1 --output json @junctors-crd.yaml"),
        ("skeleton", "skeleton @bad-crd.yaml"),
        ("skeleton-json", "skeleton --output json @bad-crd.yaml"),
        ("structuralize", "structuralize @bad-crd.yaml"),
        ("structuralize-patch", "structuralize --patch @bad-crd.yaml"),
        ("structuralize-many", "structuralize --patch @bad-crd.yaml @widgets.yaml"),
        ("structuralize-json", "structuralize --output json @bad-crd.yaml"),
        ("expand", "expand @union-crd.yaml"),
        ("expand-json", "expand --output json @union-crd.yaml"),
    ]);
}

#[test]
fn openapi() {
    for (line, schemas, name) in [
        ("openapi @widgets.yaml", &["components", "schemas"][..], "com.example.v1.Widget"),
        ("openapi --v2 @widgets.yaml @junctors-crd.yaml", &["definitions"][..], "com.example.v1.Gadget"),
    ] {
        let text = run(line, "");
        let (_, text) = text.split_once('\n').unwrap();
        let (document, rest) = text.split_once('\n').unwrap();
        assert_eq!(rest, "--- exit 0 ---\n", "{line}");
        let document: serde_json::Value = serde_json::from_str(document).unwrap();
        let at = schemas.iter().fold(&document, |value, key| &value[*key]);
        assert_eq!(at[name]["type"], "object", "{line}");
        assert!(document["paths"]["/apis/example.com/v1/widgets"]["get"].is_object(), "{line}");
    }
    check(&[("openapi-unserved", "openapi --api-version example.com/v9 @widgets.yaml")]);
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let directory = tempfile::tempdir().unwrap();
    let texts = [
        run("completions bash", ""),
        run("completions zsh", ""),
        run("completions fish", ""),
        run("man", ""),
    ];
    run(&format!("man --directory {}", directory.path().display()), "");
    for command in Cli::command().get_subcommands().map(clap::Command::get_name) {
        for text in &texts {
            assert!(text.replace("\\-", "-").contains(command), "{command}");
        }
        let page = directory.path().join(format!("pleach-{command}.1"));
        assert!(fs::read_to_string(page).unwrap().contains("Examples:"), "{command}");
    }
}

#[test]
fn every_command_has_help_with_examples() {
    for command in Cli::command().get_subcommands_mut() {
        let help = command.render_long_help().to_string();
        assert!(help.contains("Examples:"), "{help}");
    }
}

#[test]
fn standard_input_is_a_file_like_any_other() {
    let text = run(
        "validate --crds @widgets.yaml -",
        "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: tiny}\n",
    );
    assert!(text.contains("<stdin>:4:14"), "{text}");
    assert!(text.ends_with("--- exit 1 ---\n"), "{text}");
}

#[test]
fn fixes_are_written_into_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("crd.yaml");
    let broken = fs::read_to_string(root().join("inputs/bad-crd.yaml")).unwrap();
    // Hides all else until it is repaired.
    let hiding = "          keep:\n            type: object\n            x-kubernetes-preserve-unknown-fields: false\n";
    fs::write(&path, broken + hiding).unwrap();
    let text = run(&format!("lint --fix {}", path.display()), "");
    let fixed = fs::read_to_string(&path).unwrap();
    let expected = root().join("fixed-crd.yaml");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&expected, &fixed).unwrap();
    }
    assert_eq!(fixed, fs::read_to_string(&expected).unwrap_or_default());
    assert!(text.contains("repaired"), "{text}");
}
