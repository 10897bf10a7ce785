//! Real CRDs: read, checked as new ones, written in both versions and read again.
//!
//! The corpus is not part of the project; it is looked for in `$PLEACH_SHARED` or beside the
//! workspace. `expected.json` there says what kube-apiserver answered to each.
#![allow(clippy::unwrap_used, reason = "a corpus that is not as expected shall stop the test")]

use std::path::{Path, PathBuf};

use pleach_crd::decode::Options;
use pleach_crd::{ApiVersion, decode, strategy, validate_create, warnings};
use pleach_json::{Value, parse};
use pleach_meta::field_error::aggregate;
use pleach_schema::formats::Compat;

fn corpus() -> Option<PathBuf> {
    let shared = std::env::var_os("PLEACH_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let corpus = shared.join("corpus");
    corpus.is_dir().then_some(corpus)
}

#[test]
fn real_crds_are_accepted_and_come_back_as_they_were() {
    let Some(corpus) = corpus() else {
        eprintln!("NOT RUN: no corpus; set PLEACH_SHARED to where it is");
        return;
    };
    let expected = parse(&std::fs::read(corpus.join("expected.json")).unwrap()).unwrap();
    let mut wrong = Vec::new();
    let crds = expected.get("crds").unwrap().as_object().unwrap();
    for (place, answer) in crds.iter() {
        let (file, index) = place.split_once('#').unwrap();
        let text = std::fs::read_to_string(corpus.join(file)).unwrap();
        let document = pleach_yaml::documents(&text).nth(index.parse().unwrap()).unwrap().unwrap().value;
        let read = |document: &Value, version| decode(document, version, Options::default()).unwrap();

        let mut decoded = read(&document, ApiVersion::V1);
        assert_eq!(Some(decoded.crd.meta().name()), answer.get("name").and_then(Value::as_str));
        strategy::prepare_for_create(&mut decoded.crd);
        let errors = validate_create(&decoded.crd, ApiVersion::V1);
        if errors.is_empty() != (answer.get("status") == Some(&Value::Int(201))) {
            wrong.push(format!("{place}: {}", aggregate(&errors)));
        }
        let warned = decoded.unknown.len() + warnings(&decoded.crd, None, Compat::DEFAULT).len();
        let told = answer.get("warnings").and_then(Value::as_array).unwrap().len();
        if warned != told {
            wrong.push(format!("{place}: {warned} warnings, {told} expected"));
        }
        for version in [ApiVersion::V1, ApiVersion::V1beta1] {
            let written = decoded.crd.encode(version);
            let again = read(&written, version);
            assert!(again.crd == decoded.crd, "{place} is another one after {version:?}");
            assert_eq!(again.unknown, [""; 0], "{place}: only known fields are written");
            assert!(again.crd.encode(version) == written, "{place}: written twice, different");
        }
    }
    assert!(crds.len() > 50, "only {} CRDs were there", crds.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
