//! Every CRD of the corpus has a minimal and a full sample in every version, and the server takes them.
//!
//! The corpus is not part of the project; it is looked for in `$PLEACH_SHARED` or beside the
//! workspace, and the test says so when it is not there.

use std::fs;
use std::path::{Path, PathBuf};

use pleach_cli::catalog::Definition;
use pleach_cli::document::{self, Document};
use pleach_cli::input::{Found, Source, find};
use pleach_cli::sample::{Extent, judge, sample};
use pleach_json::Value;

fn definitions(directory: &Path) -> Vec<Definition> {
    let (found, _) = find(&[directory.display().to_string()]);
    let mut out = Vec::new();
    for found in found {
        let Found::File(path) = found else { continue };
        let text = fs::read_to_string(&path).expect("a file of the corpus");
        let (_, documents, _) = document::read(Source::new("crd", None, text));
        out.extend(
            documents.iter().filter(|d| Document::is_crd(d)).filter_map(|d| Definition::read(&d.value).ok()),
        );
    }
    out
}

/// How many fields an object has.
fn count(value: &Value) -> usize {
    match value {
        Value::Object(members) => members.len() + members.values().map(count).sum::<usize>(),
        Value::Array(items) => items.iter().map(count).sum(),
        _ => 0,
    }
}

#[test]
fn samples_of_the_corpus_are_valid() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared =
        std::env::var_os("PLEACH_SHARED").map_or_else(|| here.join("../../../shared"), PathBuf::from);
    if !shared.join("corpus/crds").is_dir() {
        eprintln!("NOT RUN: no corpus; set PLEACH_SHARED to where it is");
        return;
    }
    let definitions = definitions(&shared.join("corpus/crds"));
    let (mut made, mut fields, mut left_out, mut wrong) = (0, 0, 0, Vec::new());
    for definition in &definitions {
        for version in &definition.versions {
            for extent in [Extent::Minimal, Extent::Full] {
                let sample = sample(definition, version, extent);
                fields += usize::from(extent == Extent::Full) * count(&sample.object);
                left_out += sample.left_out.len();
                let errors = judge(version, &sample.object);
                made += 1;
                if !errors.is_empty() {
                    let texts: Vec<String> =
                        errors.iter().take(4).map(|e| e.to_string().chars().take(300).collect()).collect();
                    wrong.push(format!(
                        "{extent:?} {} {}: {texts:#?}",
                        version.api_version,
                        definition.kind()
                    ));
                }
            }
        }
    }
    assert!(made > 150, "only {made} samples");
    // Most of what is left out is one of several fields of which there may be one only.
    assert!(left_out * 50 < fields, "full samples leave out {left_out} fields and have {fields}");
    assert!(wrong.is_empty(), "{} of {made}:\n{}", wrong.len(), wrong.join("\n"));
}
