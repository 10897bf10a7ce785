//! Rules of the repository that no compiler checks: which crate may know which, how long a file may
//! be, and what must not stand in a file at all.
//!
//! Manifests are read as text: a dependency is a line that starts with its name in a section of
//! dependencies. Development dependencies do not count, since tests may look down from anywhere.

use std::fs;
use std::path::{Path, PathBuf};

use pleach_pipeline::gates::Gates;

/// Each crate of the product and the crates of the product it may name. Arrows point down only.
const LAYERS: &[(&str, &[&str])] = &[
    ("pleach-work", &[]),
    ("pleach-json", &["work"]),
    ("pleach-go", &["work", "json"]),
    ("pleach-types", &["json", "go"]),
    ("pleach-auth", &["work", "json", "go"]),
    ("pleach-regex", &["work"]),
    ("pleach-yaml", &["work", "json", "go"]),
    ("pleach-jsonpath", &["work", "json", "go"]),
    ("pleach-patch", &["work", "json", "go"]),
    ("pleach-cbor", &["work", "json", "go"]),
    ("pleach-meta", &["work", "json", "go"]),
    ("pleach-cel", &["work", "json", "go", "meta", "regex"]),
    ("pleach-schema", &["work", "json", "go", "meta", "regex", "cel", "jsonpath"]),
    ("pleach-crd", &["work", "json", "go", "types", "meta", "regex", "cel", "jsonpath", "schema"]),
    (
        "pleach-pipeline",
        &[
            "work", "json", "go", "types", "auth", "yaml", "regex", "jsonpath", "patch", "meta", "cel",
            "schema", "crd",
        ],
    ),
    ("pleach-protobuf", &["work", "json", "go", "types", "meta", "pipeline"]),
    ("pleach-apply", &["work", "json", "go", "meta", "schema"]),
    ("pleach-encryption", &["json", "go", "yaml", "meta"]),
    ("pleach-jwt", &["work", "json", "go", "auth", "yaml", "meta", "cel"]),
    ("pleach-policy", &["work", "json", "go", "auth", "patch", "meta", "cel", "pipeline", "apply"]),
    ("pleach-openapi", &["work", "json", "go", "yaml", "meta", "schema", "crd"]),
    ("pleach-sdk", &["json", "yaml", "meta", "schema", "crd", "pipeline"]),
    ("pleach-store", &[]),
    ("pleach-store-mvcc", &["store"]),
    ("pleach-store-memory", &["store"]),
    ("pleach-store-log", &["store", "store-mvcc"]),
    ("pleach-store-etcd", &["store", "store-mvcc"]),
    (
        "pleach-engine",
        &[
            "work", "json", "go", "regex", "yaml", "jsonpath", "patch", "meta", "cel", "schema", "crd",
            "pipeline", "policy", "apply", "openapi", "store", "auth",
        ],
    ),
    (
        "pleach-server",
        &[
            "work", "json", "go", "auth", "jwt", "yaml", "patch", "meta", "schema", "crd", "openapi",
            "protobuf", "cbor", "store", "engine",
        ],
    ),
    (
        "pleach-storage",
        &[
            "cbor",
            "json",
            "schema",
            "crd",
            "pipeline",
            "protobuf",
            "store",
            "store-etcd",
            "store-log",
            "engine",
            "encryption",
        ],
    ),
    ("pleach-hooks", &["work", "json", "go", "meta", "engine"]),
    ("pleach-console", &[]),
    ("pleach-envtest", &["json", "go"]),
    (
        "pleach-world",
        &[
            "json",
            "go",
            "jwt",
            "auth",
            "yaml",
            "store",
            "store-memory",
            "protobuf",
            "engine",
            "server",
            "hooks",
        ],
    ),
    ("pleach-test", &["json", "auth", "server", "world"]),
    ("pleach-chaos", &["json", "yaml", "world"]),
    (
        "pleach-cli",
        &[
            "work", "json", "go", "yaml", "regex", "jsonpath", "patch", "meta", "cel", "schema", "crd",
            "pipeline", "policy", "apply", "openapi", "auth",
        ],
    ),
    ("pleach-wasm", &["cli"]),
    (
        "pleach",
        &[
            "work",
            "auth",
            "chaos",
            "cli",
            "console",
            "encryption",
            "engine",
            "envtest",
            "go",
            "hooks",
            "json",
            "jwt",
            "meta",
            "server",
            "storage",
            "store",
            "store-log",
            "store-etcd",
            "world",
            "yaml",
        ],
    ),
];

/// Files that may be longer than the rest, and why.
const LONG_FILES: &[(&str, &str)] = &[];

const LINES: usize = 800;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("tests/tidy is in the root").to_owned()
}

/// Every file of ours, with its path from the root.
fn files() -> Vec<(String, PathBuf)> {
    fn walk(directory: &Path, root: &Path, out: &mut Vec<(String, PathBuf)>) {
        for entry in fs::read_dir(directory).expect("a directory of ours is readable").flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if path.is_symlink() || ["target", ".git", "node_modules"].iter().any(|skip| name == *skip) {
                continue;
            }
            if path.is_dir() {
                walk(&path, root, out);
            } else {
                let relative = path.strip_prefix(root).expect("it is below the root");
                out.push((relative.to_string_lossy().into_owned(), path));
            }
        }
    }
    let root = root();
    let mut out = Vec::new();
    walk(&root, &root, &mut out);
    out.sort();
    out
}

/// The crates of the product that a manifest names outside of its development dependencies.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut counted = false;
    let mut out = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            counted = line.contains("dependencies") && !line.contains("dev-dependencies");
        } else if counted && line.starts_with("pleach-") {
            out.push(line.split(['.', ' ', '=']).next().expect("a split has a first part").to_owned());
        }
    }
    out
}

#[test]
fn crates_know_only_what_is_below_them() {
    let mut wrong = Vec::new();
    for entry in fs::read_dir(root().join("crates")).expect("there are crates").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).expect("a crate has a manifest");
        let Some((_, allowed)) = LAYERS.iter().find(|(layer, _)| *layer == name) else {
            wrong.push(format!("{name} stands in no layer"));
            continue;
        };
        for dependency in dependencies(&manifest) {
            let short = dependency.trim_start_matches("pleach-");
            if !allowed.contains(&short) {
                wrong.push(format!("{name} must not know {dependency}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn layers_point_one_way() {
    for (position, (name, below)) in LAYERS.iter().enumerate() {
        for short in *below {
            let full = format!("pleach-{short}");
            let there = LAYERS.iter().position(|(layer, _)| *layer == full);
            assert!(there.is_some_and(|there| there < position), "{name} -> {full} does not point down");
        }
    }
}

#[test]
fn source_files_are_short_and_named_well() {
    let mut wrong = Vec::new();
    for (name, path) in files() {
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        if name.ends_with("/mod.rs") {
            wrong.push(format!("{name}: a module is foo.rs beside foo/"));
        }
        let lines = fs::read_to_string(&path).expect("source is text").lines().count();
        let listed = LONG_FILES.iter().any(|(long, _)| *long == name);
        if lines > LINES && !listed {
            wrong.push(format!("{name}: {lines} lines"));
        }
        if lines <= LINES && listed {
            wrong.push(format!("{name} is short now: take it off the list"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Former private names, with the current ones (CONTRIBUTING.md, Words).
const PRIVATE_NAMES: &[(&str, &str)] = &[
    ("Bell", "Notify"),
    ("Beside", "Baseline"),
    ("CAREFREE", "NO_OWNERS_NOT_DELETING"),
    ("Doubt", "NeedsFullParser"),
    ("Hub", "Watchers"),
    ("Keeper", "maintenance"),
    ("Knob", "BoundRef"),
    ("Mailbox", "WatchQueue"),
    ("Pace", "BatchDelay"),
    ("Said", "LastApplied"),
    ("Saying", "AppliedConfiguration"),
    ("Shelf", "Shard"),
    ("Surroundings", "RuleLocation"),
    ("Teller", "Explainer"),
    ("Usual", "FieldSetCache"),
    ("keep_step", "yield_when_crowded"),
    ("rests_for", "idle_for"),
    ("vain", "misses"),
];

/// Whether a line of code, without its comment, has this identifier.
fn has_identifier(line: &str, name: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == name)
}

#[test]
fn names_are_the_usual_ones() {
    let mut wrong = Vec::new();
    for (name, path) in files() {
        if !name.ends_with(".rs") || name.starts_with("tests/tidy/") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("source is text");
        for (number, line) in text.lines().enumerate() {
            for (private, usual) in PRIVATE_NAMES {
                // Texts may use any word.
                if !line.contains('"') && has_identifier(line, private) {
                    wrong.push(format!("{name}:{}: {private} is called {usual}", number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Words that do not begin a comment or the name of a function: a comment begins with the noun or the verb of the thing that it describes.
const NO_BEGINNINGS: [&str; 8] = ["What", "Who", "Whom", "Whose", "Those", "Nobody", "Whoever", "Whatever"];

#[test]
fn comments_and_names_begin_with_their_subject() {
    let mut wrong = Vec::new();
    for (name, path) in files() {
        if !name.ends_with(".rs") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("source is text");
        let mut inside = false;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start();
            let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
            let first =
                comment.map(|comment| comment.trim_start().split([' ', '.', ',']).next().unwrap_or_default());
            // Only the first line of a comment counts: others continue a sentence.
            if !inside && first.is_some_and(|first| NO_BEGINNINGS.contains(&first)) {
                wrong.push(format!("{name}:{}: {line}", number + 1));
            }
            let function =
                line.split_once("fn ").map(|(_, name)| name.split(['_', '(']).next().unwrap_or_default());
            if comment.is_none()
                && function.is_some_and(|first| NO_BEGINNINGS.iter().any(|word| word.to_lowercase() == first))
            {
                wrong.push(format!("{name}:{}: {line}", number + 1));
            }
            inside = comment.is_some_and(|comment| !comment.trim().is_empty());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Files of the core that have no tests beside them, with the place of their tests.
const TESTED_ELSEWHERE: &[(&str, &str)] = &[
    ("crates/pleach-engine/src/admission/mutating_policy.rs", "pleach-policy, docs/policies.md, conformance"),
    ("crates/pleach-engine/src/admission/webhooks.rs", "tests/calls.rs, conformance"),
    ("crates/pleach-engine/src/engine.rs", "a builder"),
    ("crates/pleach-engine/src/managed.rs", "pleach-apply, tests/stored"),
    ("crates/pleach-engine/src/pod_requests.rs", "conformance: workloads"),
    ("crates/pleach-engine/src/scaling.rs", "conformance: scale"),
];

/// A file of more lines than this has tests beside it.
const LINES_WITHOUT_TESTS: usize = 230;

#[test]
fn core_files_have_tests_beside_them() {
    let (mut wrong, all) = (Vec::new(), files());
    let exists = |name: &str| all.iter().any(|(file, _)| file == name);
    for (name, path) in &all {
        let is_core = name.starts_with("crates/pleach-engine/src/") && name.ends_with(".rs");
        if !is_core || name.ends_with("tests.rs") {
            continue;
        }
        let text = fs::read_to_string(path).expect("source is text");
        let directory = name.rsplit_once('/').map_or("", |(directory, _)| directory);
        let tested = text.contains("#[cfg(test)]") || exists(&format!("{directory}/tests.rs"));
        let listed = TESTED_ELSEWHERE.iter().any(|(file, _)| file == name);
        if text.lines().count() > LINES_WITHOUT_TESTS && !tested && !listed {
            wrong.push(format!("{name} has no tests beside it"));
        }
        if tested && listed {
            wrong.push(format!("{name} has tests now: take it off the list"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Files outside of the kinds' folders that name built-in kinds all the same, and why.
const NAMES_KINDS: &[(&str, &str)] = &[
    ("crates/pleach-server/src/request_info.rs", "the grammar of URLs"),
    ("crates/pleach-meta/src/object_meta/validate.rs", "events own nothing"),
    ("crates/pleach-openapi/src/shared.rs", "the shared types of published documents"),
    (
        "crates/pleach-world/src/request_log.rs",
        "requests of leader election and of event recorders are left out",
    ),
];

/// Files and directories that compare with constants that have the name of a built-in kind, and why.
const COMPARES_WITH_CONSTANTS: &[(&str, &str)] = &[
    ("crates/pleach-cli/src/cmd/rbac/unused.rs", "roles are what the command is about"),
    ("crates/pleach-cli/src/document.rs", "CRDs among the documents of a file"),
    (
        "crates/pleach-cli/src/policy/setting.rs",
        "files with policies, roles and bindings fill the registries",
    ),
    (
        "crates/pleach-engine/src/admission/limited_namespaces.rs",
        "an index over LimitRanges and ResourceQuotas",
    ),
    ("crates/pleach-engine/src/controllers/", "a controller observes the keys of its kinds"),
    (
        "crates/pleach-engine/src/flow_control.rs",
        "flow control follows FlowSchemas and PriorityLevelConfigurations",
    ),
    ("crates/pleach-engine/src/rbac.rs", "the authorizer's index over roles and bindings"),
    ("crates/pleach-engine/src/rbac/escalation.rs", "the verb escalate is about roles"),
    ("crates/pleach-engine/src/webhooks/registry.rs", "an index over webhook configurations"),
    ("crates/pleach-policy/src/rules.rs", "the namespace of a request about a Namespace"),
    ("crates/pleach-sdk/src/definition.rs", "CRDs are what the crate takes"),
];

/// The names of the built-in kinds: `kind` and plural.
fn built_in_names() -> Vec<String> {
    let kinds = pleach_pipeline::kinds::all(Gates::default());
    let mut names: Vec<String> =
        kinds.flat_map(|kind| [kind.kind.as_str().to_owned(), kind.plural.as_str().to_owned()]).collect();
    names.sort();
    names.dedup();
    names
}

/// The source of the product without tests and the kinds' own files: path and text.
fn sources_outside_kinds() -> Vec<(String, String)> {
    let sources = files().into_iter().filter(|(name, _)| {
        let counts = name.starts_with("crates/") && name.contains("/src/") && name.ends_with(".rs");
        let is_test = name.ends_with("tests.rs") || name.contains("/tests/");
        counts && !is_test && !name.starts_with("crates/pleach-pipeline/src/kinds")
    });
    sources
        .map(|(name, path)| {
            let text = fs::read_to_string(&path).expect("source is text");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            (name, code.to_owned())
        })
        .collect()
}

/// The names of constants that are a built-in kind's name.
fn constants_of_kinds(names: &[String]) -> Vec<String> {
    let mut constants = Vec::new();
    for (name, path) in files() {
        if !name.starts_with("crates/") || !name.ends_with(".rs") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("source is text");
        for line in text.lines() {
            let Some((_, declared)) = line.split_once("const ") else { continue };
            let Some((constant, value)) = declared.split_once(": &str = \"") else { continue };
            if value.strip_suffix("\";").is_some_and(|value| names.iter().any(|name| name == value)) {
                constants.push(constant.to_owned());
            }
        }
    }
    constants.sort();
    constants.dedup();
    constants
}

#[test]
fn constants_with_names_of_kinds_are_compared_with_in_listed_files() {
    let constants = constants_of_kinds(&built_in_names());
    assert!(["PLURAL", "ROLES", "SECRETS"].iter().all(|one| constants.iter().any(|other| other == one)));
    let compares = |line: &str| {
        let before_arrow = line.split_once("=>").map(|(pattern, _)| pattern);
        let compared = line.contains(" == ") || line.contains(" != ") || line.contains("matches!(");
        before_arrow
            .or(compared.then_some(line))
            .is_some_and(|part| constants.iter().any(|constant| has_identifier(part, constant)))
    };
    let (mut wrong, mut found) = (Vec::new(), Vec::new());
    for (name, code) in sources_outside_kinds() {
        let lines: Vec<_> = code.lines().enumerate().filter(|(_, line)| compares(line)).collect();
        if COMPARES_WITH_CONSTANTS.iter().any(|(listed, _)| name.starts_with(listed)) {
            found.extend((!lines.is_empty()).then_some(name));
        } else {
            wrong
                .extend(lines.iter().map(|(number, line)| format!("{name}:{}: {}", number + 1, line.trim())));
        }
    }
    for (listed, _) in COMPARES_WITH_CONSTANTS {
        if !found.iter().any(|name| name.starts_with(listed)) {
            wrong.push(format!("{listed} compares with no constant now: take it off the list"));
        }
    }
    assert!(wrong.is_empty(), "add a method to Strategy instead:\n{}", wrong.join("\n"));
}

#[test]
fn only_strategies_ask_which_kind_an_object_has() {
    let names = built_in_names();
    assert!(names.iter().any(|name| name == "Lease") && names.len() > 100, "{names:?}");
    let of_kind = |kind: &String| {
        let forms = ["== \"{}\"", "!= \"{}\"", "\"{}\" =>", "\"{}\") =>", "\"{}\" | ", "| \"{}\""];
        forms.map(|form| form.replace("{}", kind))
    };
    let forms: Vec<String> = names.iter().flat_map(of_kind).collect();
    let mut wrong = Vec::new();
    for (name, code) in sources_outside_kinds() {
        if NAMES_KINDS.iter().any(|(listed, _)| *listed == name) {
            continue;
        }
        for (number, line) in code.lines().enumerate() {
            // Few lines compare with a text: this test reads all of the source.
            let may_compare =
                line.contains('"') && ["==", "!=", "=>", " | "].iter().any(|one| line.contains(one));
            let compares = may_compare && forms.iter().any(|form| line.contains(form));
            if compares || line.contains("kind.strategy ==") || line.contains("kind.strategy !=") {
                wrong.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "add a method to Strategy instead:\n{}", wrong.join("\n"));
}

#[test]
fn nothing_unfinished_and_nothing_of_one_machine() {
    // Written in two parts, so that this file does not hold them itself.
    let words = [
        (["to", "do!("].concat(), "unfinished"),
        (["unimple", "mented!("].concat(), "unfinished"),
        (["#[ig", "nore]"].concat(), "a test that does not run"),
        (
            ["Lazy", "Lock"].concat(),
            "pleach_work::Constant survives requests that are ended while they make it",
        ),
        (["/wo", "rk/"].concat(), "a path of one machine"),
        (["/ro", "ot/"].concat(), "a path of one machine"),
        (["/ho", "me/"].concat(), "a path of one machine"),
        (["deb.deb", "ian.org"].concat(), "a registry's host"),
        (["proxy.go", "lang.org"].concat(), "a registry's host"),
        (["registry.npm", "js.org"].concat(), "a registry's host"),
        (["files.python", "hosted.org"].concat(), "a registry's host"),
    ];
    let mut wrong = Vec::new();
    for (name, path) in files() {
        // Lock files and recordings are not written by people.
        let locks = ["lock", "sum"];
        if path.extension().is_some_and(|extension| locks.iter().any(|lock| extension == *lock))
            || name.contains("conformance/cases/")
        {
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for (number, line) in text.lines().enumerate() {
            for (word, why) in &words {
                if line.contains(word.as_str()) {
                    wrong.push(format!("{name}:{}: {why}: {word}", number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where the paths in a document may start.
const PATHS_START: [&str; 3] = ["", "crates/", "docs/"];

/// The paths that a document names, between backquotes or as links: they end as files or directories do.
fn named_paths(text: &str) -> Vec<&str> {
    let mut inside_block = false;
    let mut paths = Vec::new();
    for line in text.lines() {
        inside_block ^= line.starts_with("```");
        if inside_block {
            continue;
        }
        let is_path = |span: &&str| {
            let simple = span.chars().all(|c| c.is_ascii_alphanumeric() || "/_-.".contains(c));
            let ends = ["/", ".rs", ".txt", ".md", ".yaml", ".sh"].iter().any(|end| span.ends_with(end));
            simple && !span.starts_with('/') && ends
        };
        paths.extend(line.split('`').skip(1).step_by(2).filter(is_path));
        let links = line.split("](").skip(1).filter_map(|link| link.split([')', '#']).next());
        paths.extend(links.filter(is_path));
    }
    paths
}

#[test]
fn paths_in_documents_exist() {
    let (root, all) = (root(), files());
    let mut wrong = Vec::new();
    for document in ["ARCHITECTURE.md", "docs/adding-a-built-in-kind.md"] {
        let text = fs::read_to_string(root.join(document)).expect("a document");
        let paths = named_paths(&text);
        assert!(paths.len() > 10, "{document}: {paths:?}");
        for path in paths {
            // Within a sentence about a crate, its files go by their path in `src`, or by their name alone.
            let ending = if path.contains('/') { format!("/src/{path}") } else { format!("/{path}") };
            let exists = PATHS_START.iter().any(|start| root.join(start).join(path).exists());
            if !exists && !all.iter().any(|(name, _)| name.contains(&ending)) {
                wrong.push(format!("{document}: {path} does not exist"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Texts of Go's library are made in one crate each. Tests may quote them.
#[test]
fn texts_of_go_are_made_in_one_place() {
    let texts = [
        (["cannot un", "marshal"].concat(), "crates/pleach-json/", "use pleach_go::json"),
        (["strco", "nv."].concat(), "crates/pleach-go/", "use pleach_go::strconv"),
        (["illegal base", "64 data"].concat(), "crates/pleach-go/", "use pleach_go::base64"),
        (["invalid URL ", "escape"].concat(), "crates/pleach-go/", "use pleach_go::url"),
        (["missing ']' ", "in host"].concat(), "crates/pleach-go/", "use pleach_go::url"),
        (["parsing ", "time "].concat(), "crates/pleach-go/", "use pleach_go::time"),
        (["unable to parse ", "quantity"].concat(), "crates/pleach-go/", "use pleach_go::quantity"),
        (["quantities must ", "match"].concat(), "crates/pleach-go/", "use pleach_go::quantity"),
    ];
    let mut wrong = Vec::new();
    for (name, path) in files() {
        let is_source = name.starts_with("crates/") && name.contains("/src/") && name.ends_with(".rs");
        if !is_source || name.ends_with("tests.rs") || name.contains("/tests/") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("source is text");
        let product = text.split("#[cfg(test)]").next().unwrap_or(&text);
        for (number, line) in product.lines().enumerate() {
            for (word, home, instead) in &texts {
                if line.contains(word.as_str()) && !name.starts_with(home) {
                    wrong.push(format!("{name}:{}: {instead}", number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where status codes are chosen: errors of the API, and responses that are none. Webhooks' answers are read, not
/// chosen, in `pleach-hooks`.
const CODES: &[(&str, &[&str])] = &[
    ("Status::failure(", &["crates/pleach-engine/src/rejection.rs", "crates/pleach-meta/src/status.rs"]),
    // etcd's own endpoints are not the API's, and the codes of fault rules are chosen by tests.
    (
        "StatusCode::",
        &[
            "crates/pleach-server/src/outcome.rs",
            "crates/pleach-envtest/src/etcd.rs",
            "crates/pleach-world/src/script.rs",
        ],
    ),
];

#[test]
fn status_codes_are_chosen_in_one_place() {
    let mut wrong = Vec::new();
    for (name, path) in files() {
        let is_product = name.starts_with("crates/") && name.contains("/src/") && name.ends_with(".rs");
        if !is_product || name.ends_with("tests.rs") || name.starts_with("crates/pleach-hooks/") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("source is text");
        for (number, line) in text.lines().enumerate() {
            for (word, places) in CODES {
                if line.contains(word) && !places.contains(&name.as_str()) {
                    wrong.push(format!("{name}:{}: {}", number + 1, line.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
