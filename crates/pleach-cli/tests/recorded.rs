//! The verdicts of `lint` and `validate` are those a server gave, on recorded conversations and on
//! the corpus of real CRDs.
//!
//! The corpus is not part of the project; it is looked for in `$PLEACH_SHARED` or beside the
//! workspace, and the test says so when it is not there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pleach_cli::catalog::{Catalog, Definition, Lookup};
use pleach_cli::document::{self, Document};
use pleach_cli::finding::Level;
use pleach_cli::input::Source;
use pleach_cli::lint::{Depth, lint};
use pleach_cli::object;
use pleach_schema::Record;
use serde_json::Value;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn documents(text: &str) -> Vec<Document> {
    let source = Source::new("body", None, text);
    document::read(source).1
}

/// `field: message` of all causes, or the whole message where there are none.
fn causes(status: &Value) -> Vec<String> {
    match status["details"]["causes"].as_array() {
        Some(causes) => causes
            .iter()
            .map(|cause| {
                format!(
                    "{}: {}",
                    cause["field"].as_str().unwrap_or(""),
                    cause["message"].as_str().unwrap_or("")
                )
            })
            .collect(),
        None => vec![status["message"].as_str().unwrap_or_default().to_owned()],
    }
}

/// The errors of the commands about a body; none if it is accepted.
fn verdict(document: &Document, catalog: &mut Catalog) -> Option<Vec<String>> {
    if document.is_crd() {
        let findings = lint(document, Depth { advice: false, costs: false });
        let errors: Vec<String> =
            findings.iter().filter(|f| f.level == Level::Error).map(|f| f.message.clone()).collect();
        if errors.is_empty() {
            catalog.add(Definition::read(&document.value).expect("it was read before"));
        }
        return Some(errors);
    }
    let Lookup::Found(_, version) = catalog.lookup(document) else { return None };
    Some(match object::decode(version, document.value.clone(), Record::Nothing) {
        Ok(mut decoded) => {
            let errors = object::create(version, &mut decoded.value).errors;
            errors.iter().map(ToString::to_string).collect()
        }
        Err(error) => vec![error],
    })
}

/// Sorted, and without anything that looks like a uid.
fn comparable(mut texts: Vec<String>) -> Vec<String> {
    for text in &mut texts {
        let words: Vec<String> = text
            .split('"')
            .map(|word| if is_uid(word) { "<uid>".to_owned() } else { word.to_owned() })
            .collect();
        // Types are numbered in recordings, and one cause stands for the message it is in.
        *text = words.join("\"").replace("selfType1", "selfType<n>");
        if let Some((_, only)) = text.split_once("\" is invalid: ") {
            *text = only.to_owned();
        }
    }
    texts.sort();
    texts
}

fn is_uid(word: &str) -> bool {
    let lengths: Vec<usize> = word.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && word.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
}

#[test]
fn verdicts_are_the_servers() {
    let cases = workspace().join("tests/conformance/cases");
    let (mut compared, mut wrong) = (0, Vec::new());
    for area in [
        "structural",
        "crd-validation",
        "validation",
        "defaulting",
        "pruning",
        "cel",
        "listtype",
        "objectmeta",
    ] {
        let mut files: Vec<PathBuf> =
            fs::read_dir(cases.join(area)).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        for file in files {
            let case: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
            let mut catalog = Catalog::default();
            for step in case["steps"].as_array().unwrap() {
                let request = &step["request"];
                let path = request["path"].as_str().unwrap_or_default();
                let status = step["expect"]["status"].as_i64().unwrap_or_default();
                if path.contains("/customresourcedefinitions/") {
                    // The CRD is changed or deleted: what was known of its kind no longer counts.
                    catalog = Catalog::default();
                }
                let validation = path.split_once("fieldValidation=").map_or("Warn", |(_, level)| level);
                let known = status == 201 || !causes(&step["expect"]["body"])[0].is_empty();
                let about_body =
                    matches!(status, 201 | 400 | 422) && known && validation.starts_with(['W', 'I']);
                if request["method"] != "POST" || !request["body"].is_object() || !about_body {
                    continue;
                }
                let text = request["body"].to_string();
                let [document] = documents(&text).try_into().unwrap_or_else(|_| panic!("{}", file.display()));
                let Some(found) = verdict(&document, &mut catalog) else { continue };
                let wanted = if status == 201 { Vec::new() } else { causes(&step["expect"]["body"]) };
                compared += 1;
                // A server visits maps in no order, and recordings have no uids.
                let (found, wanted) = (comparable(found), comparable(wanted));
                if found != wanted {
                    wrong.push(format!(
                        "{} POST {path}\n  wanted {wanted:#?}\n  found {found:#?}",
                        file.display()
                    ));
                }
            }
        }
    }
    assert!(compared > 200, "only {compared} verdicts were compared");
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_corpus_is_accepted_as_it_was() {
    let shared =
        std::env::var_os("PLEACH_SHARED").map_or_else(|| workspace().join("../shared"), PathBuf::from);
    let corpus = shared.join("corpus");
    let Ok(expected) = fs::read_to_string(corpus.join("expected.json")) else {
        eprintln!("NOT RUN: no corpus; set PLEACH_SHARED to where it is");
        return;
    };
    let expected: Value = serde_json::from_str(&expected).unwrap();
    let mut texts: BTreeMap<String, Vec<Document>> = BTreeMap::new();
    let mut read = |key: &str| {
        let (file, index) = key.rsplit_once('#').unwrap();
        let all = texts
            .entry(file.to_owned())
            .or_insert_with(|| documents(&fs::read_to_string(corpus.join(file)).unwrap()));
        (file.to_owned(), index.parse::<usize>().unwrap(), all.len())
    };
    let mut catalog = Catalog::default();
    let keys = |part: &str| expected[part].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let places: Vec<_> =
        keys("crds").iter().chain(&keys("objects")).map(|key| (key.clone(), read(key))).collect();
    for (key, (file, index, _)) in &places {
        let Some(document) = texts[file].get(*index) else { panic!("{key}: no such document") };
        let part = if document.is_crd() { "crds" } else { "objects" };
        let wanted = expected[part][key]["status"].as_i64().unwrap();
        let Some(found) = verdict(document, &mut catalog) else { continue };
        let wanted = if wanted == 201 { Vec::new() } else { causes(&expected[part][key]["body"]) };
        assert_eq!(comparable(found), comparable(wanted), "{key}");
    }
}
