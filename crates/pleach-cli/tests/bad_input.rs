//! Files as they come: large, broken, unreadable, mixed. Each is reported with file and line, and
//! the rest is still processed.

use std::fs;
use std::path::Path;

use clap::{CommandFactory as _, Parser};
use pleach_cli::{Command, Terminal};

#[derive(Parser)]
#[command(name = "pleach")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// Runs a command line in process: standard output, standard error, exit code.
fn run(arguments: &[&str]) -> (String, String, u8) {
    let line = std::iter::once("pleach").chain(arguments.iter().copied());
    let cli = Cli::try_parse_from(line).expect("a command line");
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut terminal = Terminal {
        input: &mut std::io::empty(),
        out: &mut out,
        err: &mut err,
        color: false,
        interactive: false,
    };
    let exit = pleach_cli::run(&cli.command, &mut Cli::command(), &mut terminal);
    (String::from_utf8(out).expect("text"), String::from_utf8(err).expect("text"), exit.code())
}

const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer, maximum: 10}
              text: {type: string}
";

fn object(name: &str, spec: &str) -> String {
    format!("apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: {name}\nspec:\n{spec}")
}

/// A directory with a CRD in it and these files; validates all of it.
fn validate(files: &[(&str, &[u8])]) -> (String, String, u8) {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("crd.yaml"), CRD).expect("a file");
    for (name, bytes) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, bytes).expect("a file");
    }
    let (out, err, exit) = run(&["validate", &directory.path().display().to_string()]);
    let here = format!("{}/", directory.path().display());
    (out.replace(&here, ""), err.replace(&here, ""), exit)
}

#[test]
fn each_error_has_its_place_and_the_rest_is_checked() {
    let bad = object("bad", "  size: 11\n");
    let bomb: Vec<String> =
        (1..9).map(|i| format!("a{i}: &a{i} [{}]\n", vec![format!("*a{}", i - 1); 9].join(", "))).collect();
    let bomb = format!("a0: &a0 [x, x, x, x, x, x, x, x, x]\n{}", bomb.concat());
    let rows: Vec<(&str, Vec<u8>, &str, &str)> = vec![
        ("a tab", b"a: 1\nb:\n\tc: 2\n".to_vec(), "x.yaml:3", "found character that cannot start any token"),
        ("no YAML", b"a: 1\n}{\n".to_vec(), "x.yaml:2", "cannot be read"),
        ("an alias bomb", bomb.into_bytes(), "x.yaml:1", "excessive aliasing"),
        ("an alias to nowhere", b"a: 1\nb: *c\n".to_vec(), "x.yaml:2", "unknown anchor"),
        ("CRLF", bad.replace('\n', "\r\n").into_bytes(), "x.yaml:6", "less than or equal to 10"),
        ("a byte order mark", format!("\u{feff}{bad}").into_bytes(), "x.yaml:6", "less than or equal to 10"),
        ("UTF-16", utf16(&bad), "x.yaml:6", "less than or equal to 10"),
        ("no kind", b"# only\nroute: {}\n".to_vec(), "x.yaml:2", "Object 'Kind' is missing"),
        ("another kind", b"apiVersion: v1\nkind: Secret\n".to_vec(), "x.yaml:2", "no matches for kind"),
        ("a scalar", b"just words\n".to_vec(), "x.yaml:1", "Object 'Kind' is missing"),
        ("a key twice", format!("{bad}kind: Widget\n").into_bytes(), "x.yaml:7", "already set in map"),
    ];
    for (why, bytes, place, words) in rows {
        let (out, err, exit) = validate(&[("sub/x.yaml", &bytes), ("z.yaml", bad.as_bytes())]);
        assert!(out.contains(&format!("sub/{place}")), "{why}: {place}\n{out}{err}");
        assert!(out.contains(words), "{why}: {words}\n{out}{err}");
        assert!(out.contains("z.yaml:6"), "{why}: the rest\n{out}{err}");
        assert_eq!((exit, err.as_str()), (1, ""), "{why}");
    }
    let (out, err, exit) = validate(&[("x.yaml", b"a: \xff\n"), ("z.yaml", bad.as_bytes())]);
    assert!(err.contains("x.yaml: line 1: not UTF-8 text"), "{err}");
    assert!(out.contains("z.yaml:6"), "{out}");
    assert_eq!(exit, 2);
}

fn utf16(text: &str) -> Vec<u8> {
    let units = std::iter::once(0xfeff).chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

#[test]
fn a_fault_in_a_stream_leaves_the_other_documents() {
    let stream =
        format!("{}---\na: [\n---\n{}", object("one", "  size: 11\n"), object("two", "  size: 12\n"));
    let (out, _, exit) = validate(&[("x.yaml", stream.as_bytes())]);
    for place in ["x.yaml:6", "x.yaml:15"] {
        assert!(out.contains(place), "{place}: {out}");
    }
    assert!(out.contains("cannot be read"), "{out}");
    assert_eq!(exit, 1);
}

#[cfg(unix)]
#[test]
fn files_that_cannot_be_opened_are_reported_with_exit_code_two() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| directory.path().join(name);
    fs::write(path("crd.yaml"), CRD).expect("a file");
    fs::write(path("z.yaml"), object("z", "  size: 11\n")).expect("a file");
    fs::write(path("notes.txt"), "no manifest").expect("a file");
    symlink(path("nowhere.yaml"), path("broken.yaml")).expect("a link");
    fs::write(path("secret.yaml"), "a: 1\n").expect("a file");
    fs::set_permissions(path("secret.yaml"), fs::Permissions::from_mode(0o0)).expect("a mode");
    // The superuser may read it.
    let readable = fs::read(path("secret.yaml")).is_ok();
    let (out, err, exit) = run(&["validate", &directory.path().display().to_string()]);
    assert!(err.contains("broken.yaml: No such file or directory"), "{err}");
    assert!(readable || err.contains("secret.yaml: Permission denied"), "{err}");
    assert!(out.contains("z.yaml:6"), "{out}");
    assert!(!out.contains("notes.txt") && !err.contains("notes.txt"), "{out}{err}");
    assert_eq!(exit, 2);
}

/// A hundred megabytes of one thing after another; less where the program itself is slow.
fn large(directory: &Path, name: &str, head: &str, part: &str, tail: &str) -> String {
    const SIZE: usize = if cfg!(debug_assertions) { 12 } else { 100 } * 1024 * 1024;
    let path = directory.join(name);
    let text = [head, &part.repeat(SIZE / part.len()), tail].concat();
    fs::write(&path, text).expect("room on the disk");
    path.display().to_string()
}

#[test]
fn a_hundred_megabytes() {
    let directory = tempfile::tempdir().expect("a directory");
    let crd = directory.path().join("crd.yaml");
    fs::write(&crd, CRD).expect("a file");
    let crd = crd.display().to_string();
    let head = object("large", "  text: |\n");
    let json = "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"a\"},\"spec\":{\"text\":\"";
    for (why, name, head, part, tail, words) in [
        (
            "one object",
            "a.yaml",
            head.as_str(),
            "    a line of text, and so on\n",
            "",
            "Request entity too large: limit is 3145728",
        ),
        (
            "one object on one line",
            "b.json",
            json,
            "so on, and so on. ",
            "\"}}",
            "Request entity too large: limit is 3145728",
        ),
        ("no line breaks and no sense", "c.yaml", "", "[[ ", "", "cannot be read"),
        ("only comments", "d.yaml", "", "# nothing to see here\n", "", "0 objects in"),
    ] {
        let file = large(directory.path(), name, head, part, tail);
        let (out, err, _) = run(&["validate", "--crds", &crd, &file]);
        assert!(out.contains(words), "{why}: {err}{}", out.chars().take(2000).collect::<String>());
        assert!(out.len() < 10_000, "{why}: {} bytes of output", out.len());
        fs::remove_file(&file).expect("it was just made");
    }
}
