//! The fast path and the full parser agree on values, duplicate keys, spans and errors.
//!
//! On the texts of the go-yaml tables, on all manifests of the corpus and of the recorded
//! conversations, on mutations of those, and on random lines.

use std::fs;
use std::path::{Path, PathBuf};

use pleach_json::{Hints, Value};
use proptest::prelude::*;

use crate::error::{DuplicateKeys, YamlError};
use crate::read::nodes::Stream;
use crate::read::{Document, Reader, documents, next_document, read, read_manifest, read_yaml};
use crate::spans::SpanTree;

type Seen = Result<(Value, DuplicateKeys, SpanTree), YamlError>;

fn seen(text: &str, document: Result<Document, YamlError>) -> Seen {
    document.map(|document| {
        let tree = SpanTree::clone(&document.places.tree(text));
        (document.value, document.duplicates, tree)
    })
}

/// Compares both; whether the fast path was taken to the end.
fn compare(text: &str) -> bool {
    // Characters are checked before the full parser reads a stream.
    let Ok((decoded, _)) = crate::read::characters::decode(text.as_bytes()) else { return false };
    let mut stream = Stream::new(text, false);
    let long: Vec<Seen> = std::iter::from_fn(|| next_document(text, &mut stream))
        .take(500)
        .map(|document| seen(text, document))
        .collect();
    let short: Vec<Seen> = documents(text).take(500).map(|document| seen(text, document)).collect();
    assert_eq!(short, long, "as a stream: {text:?}");
    let one = read_yaml(decoded, true);
    assert_eq!(read(text.as_bytes(), true, Hints::default(), false), one, "as one document: {text:?}");
    read_manifest(text).is_some()
}

/// Whether the fast path reads a stream to its end.
fn is_short(text: &str) -> bool {
    let mut documents = documents(text);
    documents.by_ref().for_each(drop);
    matches!(documents.reader, Reader::Manifests { .. })
}

/// A seeded random number generator.
struct TestRng(u64);

impl TestRng {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }
}

const PIECES: &[&str] = &[
    " ", "  ", "\n", "- ", "-", ": ", ":", "#", " # c", "\"", "'", "[", "]", "{", "}", ",", ", ", "|", "|-",
    "|+", ">", "&a ", "*a", "!!str ", "? ", "\t", "\r\n", "---\n", "...\n", "\n---\n", "%", "\\", "\\n", "~",
    "null", "yes", "0x1F", "1_0", "1e3", "<<: ", "é", "\u{85}", "\u{feff}", "a: b", "- a: b\n", "\n\n", "a",
    "\n  x", "0", ".", "@", "`",
];

/// A few mutations: insertions, deletions, indentation, repeated or dropped lines.
fn change(text: &str, rng: &mut TestRng) -> String {
    let mut text = text.to_owned();
    for _ in 0..=rng.roll(2) {
        let mut at = rng.roll(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let line = text[..at].rfind('\n').map_or(0, |i| i + 1);
        let end = text[at..].find('\n').map_or(text.len(), |i| at + i + 1);
        match rng.roll(6) {
            0 | 1 => text.insert_str(at, PIECES[rng.roll(PIECES.len())]),
            2 if at < text.len() => drop(text.remove(at)),
            3 => text.insert_str(line, &" ".repeat(rng.roll(4))),
            4 if text[line..].starts_with(' ') => drop(text.remove(line)),
            5 if rng.roll(2) == 0 => text.replace_range(line..end, ""),
            5 => {
                let copy = text[line..end].to_owned();
                text.insert_str(line, &copy);
            }
            _ => text.truncate(at),
        }
    }
    text
}

fn shared() -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = std::env::var_os("PLEACH_SHARED").map_or_else(|| here.join("../../../shared"), PathBuf::from);
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("NOT COMPARED on the corpus: it is neither beside the workspace nor at $PLEACH_SHARED");
    None
}

fn files(directory: &Path, ending: &str, out: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, ending, out);
        } else if path.extension().is_some_and(|e| e == ending) {
            out.push(path);
        }
    }
}

/// All strings in a conversation that may be YAML.
fn bodies(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains(": ") && text.contains('\n') => out.push(text.to_string()),
        Value::Array(items) => items.iter().for_each(|item| bodies(item, out)),
        Value::Object(map) => map.values().for_each(|member| bodies(member, out)),
        _ => {}
    }
}

#[test]
fn on_the_go_yaml_tables() {
    let rows = pleach_json::parse(include_bytes!("../../../tests/go-reads.json")).expect("the table is JSON");
    let mut rng = TestRng(7);
    for row in rows.as_array().expect("a list") {
        let text = row.get("in").and_then(Value::as_str).expect("a text");
        let bytes: Vec<u8> = text.chars().map(|c| c as u8).collect();
        let Ok(text) = String::from_utf8(bytes) else { continue };
        compare(&text);
        for _ in 0..10 {
            compare(&change(&text, &mut rng));
        }
    }
}

#[test]
fn on_manifests_and_mutated_manifests() {
    let Some(shared) = shared() else { return };
    let (mut yaml, mut recorded) = (Vec::new(), Vec::new());
    files(&shared.join("corpus"), "yaml", &mut yaml);
    files(&shared.join("conformance/cases"), "json", &mut recorded);
    let mut rng = TestRng(99);
    let (mut objects, mut short) = (0, 0);
    for path in &yaml {
        let text = fs::read_to_string(path).expect("text");
        compare(&text);
        if text.len() > 4096 {
            // A large file once, and parts of it with changes.
            for _ in 0..4 {
                let start = text[..rng.roll(text.len() / 2)].rfind('\n').map_or(0, |i| i + 1);
                let part: String = text[start..].lines().take(40).flat_map(|line| [line, "\n"]).collect();
                compare(&change(&part, &mut rng));
            }
            continue;
        }
        objects += 1;
        short += usize::from(is_short(&text));
        for _ in 0..12 {
            compare(&change(&text, &mut rng));
        }
    }
    assert!(short * 100 >= objects * 90, "{short} of {objects} files take the fast path");
    let mut texts = Vec::new();
    for path in &recorded {
        let case = pleach_json::parse(&fs::read(path).expect("text")).expect("JSON");
        bodies(&case, &mut texts);
    }
    for text in &texts {
        compare(text);
        for _ in 0..3 {
            compare(&change(text, &mut rng));
        }
    }
    eprintln!("{} files and {} recorded texts compared, with changes", yaml.len(), texts.len());
}

#[test]
fn plain_manifests_take_the_fast_path() {
    for (text, short, why) in [
        ("a: 1\nb:\n  c: [x, \"y\", {d: 1}]\n  e:\n  - f: g\n    h: 'i''j'\n  - k\n", true, "the usual"),
        ("# c\n---\na: |\n  x\n   y\n\n  z\nb: |-\n  x\nc: |+\n  x\n\n", true, "literal blocks"),
        ("a: \"x\\n\\\"y\\\"\"  # c\nb: # c\n  c: d # e\n", true, "comments"),
        ("- a\n-\n- - b\n  - c: d\n    e:\n", true, "sequences"),
        ("a: &x 1\n", false, "an anchor"),
        ("a: !!str 1\n", false, "a tag"),
        ("!!str |\n\n- ", false, "a tag, and a block that begins lines later"),
        ("a: b\n  c\n", false, "a plain scalar of two lines"),
        ("a: >\n  b\n", false, "a folded block"),
        ("a:\t1\n", false, "a tab"),
        ("a: 1\r\n", false, "a carriage return"),
        ("a: 1\na: 2\n", false, "a key set twice"),
        ("a: 1\n b: 2\n", false, "indentation that does not add up"),
        ("a: .inf\n", false, "no number of JSON's"),
        ("? a\n: b\n", false, "a complex key"),
        ("a: 1\n---\nb: 2\n", false, "two documents, of which one is wanted"),
    ] {
        assert_eq!(compare(text), short, "{why}: {text:?}");
    }
}

/// At least this many; more where the environment asks for more.
fn more_cases() -> ProptestConfig {
    let mut config = ProptestConfig::default();
    config.cases = config.cases.max(2000);
    config.failure_persistence = None;
    config
}

proptest! {
    #![proptest_config(more_cases())]

    #[test]
    fn on_random_pieces(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..14)) {
        compare(&pieces.concat());
    }

    #[test]
    fn on_random_lines(lines in prop::collection::vec((0_usize..5, prop::sample::select(LINES)), 1..12)) {
        let lines: Vec<String> = lines.iter().map(|(indent, line)| format!("{:indent$}{line}\n", "")).collect();
        compare(&lines.concat());
    }
}

/// Lines whose meaning depends on those around them.
const LINES: &[&str] = &[
    "a: 1",
    "b:",
    "c: x y",
    "- d",
    "-",
    "- e: f",
    "- - g",
    "# c",
    "",
    "h: |",
    "i: |-",
    "- |+",
    "j: [k, l]",
    "m: {n: o, \"p\":q}",
    "---",
    "...",
    "'r': \"s\"",
    "t",
    "\"u\"",
    "-1",
    "v: - w",
    "x: y: z",
    "1: 2",
    "true: no",
    "[a, b]",
    "{a: b}",
    "a:b",
    "a :b",
    "-a",
    "- # c",
    "a: # c",
    "a: 'b' # c",
    "a: \"b\"# c",
    "a: b#c",
    "---  # c",
    "~: 1",
    "a: ~",
    "\"a\": [",
    "]",
    "? a",
    "a: *b",
    "a: http://b:8080/c",
    "- a: b # c",
    "- 'a': b",
    "  - z: |",
];
