//! Client generators and a validator accept the published OpenAPI documents.
//!
//! The CRDs are a dozen of the corpus; `PLEACH_ALL_CRDS` takes all. The validator's known complaints
//! also apply to the API server's documents:
//!
//! - references have the default `{}`, even to a type with required fields: items of
//!   `metadata.ownerReferences`, the status of a scale, and much of a CRD (v3 only: v2 has no defaults
//!   beside references);
//! - patterns are Go's, and `(?i)` within a pattern is not portable.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use pleach_clients::{Running, tools};
use serde_json::Value;

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?fieldValidation=Ignore";

/// Files of the corpus that cover several versions, int-or-string, preserved unknown fields, lists as
/// maps, defaults, odd patterns.
const CHOSEN: [&str; 12] = [
    "argo-cd/appproject-crd.yaml",
    "cert-manager/acme.cert-manager.io_orders.yaml",
    "cert-manager/cert-manager.io_certificates.yaml",
    "gatekeeper/constrainttemplate-customresourcedefinition.yaml",
    "gatekeeper/expansion.gatekeeper.sh_expansiontemplate.yaml",
    "gatekeeper/status.gatekeeper.sh_configpodstatuses.yaml",
    "gateway-api/gateway.networking.k8s.io_gatewayclasses.yaml",
    "gateway-api/gateway.networking.k8s.io_referencegrants.yaml",
    "keda/keda.sh_scaledobjects.yaml",
    "knative/route.yaml",
    "knative/podautoscaler.yaml",
    "prometheus-operator/monitoring.coreos.com_prometheusrules.yaml",
];

/// The manifests of CRDs.
fn manifests() -> Vec<String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shared =
        std::env::var_os("PLEACH_SHARED").map_or_else(|| here.join("../../../shared"), PathBuf::from);
    let corpus = shared.join("corpus/crds");
    let mut files: Vec<PathBuf> = CHOSEN.iter().map(|file| corpus.join(file)).collect();
    if std::env::var_os("PLEACH_ALL_CRDS").is_some() {
        let projects = std::fs::read_dir(&corpus).into_iter().flatten().flatten();
        let all =
            projects.flat_map(|project| std::fs::read_dir(project.path()).into_iter().flatten().flatten());
        files = all.map(|file| file.path()).collect();
    }
    let mut out = Vec::new();
    for file in files.iter().filter(|file| file.exists()) {
        let text = std::fs::read_to_string(file).unwrap();
        let documents = text.split("\n---");
        out.extend(
            documents.filter(|text| text.contains("kind: CustomResourceDefinition")).map(str::to_owned),
        );
    }
    out
}

/// Writes all documents into a directory; returns how many.
fn download(server: &Running, directory: &Path) -> usize {
    let api = server.api();
    let save = |name: &str, document: &Value| {
        std::fs::write(directory.join(format!("{name}.json")), document.to_string()).unwrap();
    };
    save("v2", &api.get("/openapi/v2").ok());
    let index = api.get("/openapi/v3").ok();
    let paths = index["paths"].as_object().unwrap();
    for (path, place) in paths {
        let document = api.get(place["serverRelativeURL"].as_str().unwrap()).ok();
        save(&format!("v3_{}", path.replace('/', "_")), &document);
    }
    paths.len() + 1
}

fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path());
    all.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
}

/// Runs a program, which must succeed; returns its output.
fn run(command: &mut Command) -> String {
    let output =
        command.output().unwrap_or_else(|error| panic!("{command:?}: {error}: run scripts/setup.sh"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn documents_of_real_crds_are_valid_and_make_clients() {
    let server = Running::in_memory();
    let manifests = manifests();
    if manifests.is_empty() {
        eprintln!("NOT RUN: no corpus; set PLEACH_SHARED to where it is");
        return;
    }
    let api = server.api();
    for manifest in &manifests {
        let answer = api.raw_with("POST", CRDS, &[("Content-Type", "application/yaml")], Some(manifest));
        answer.unwrap().ok();
    }
    let directory = server.home().join("documents");
    std::fs::create_dir(&directory).unwrap();
    let count = download(&server, &directory);
    assert!(count > 8, "{} CRDs in {count} documents", manifests.len());
    let scripts = env!("CARGO_MANIFEST_DIR");

    // Classes in Python, and the validator's complaints.
    let python = tools().join("venv/bin/python");
    let said = run(Command::new(python).arg(format!("{scripts}/python/documents.py")).arg(&directory));
    let mut complaints: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in said.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| line[key].as_str().unwrap().to_owned();
        complaints.entry(text("document")).or_default().insert(text("message"));
    }
    let lacking = |names: &[&str]| -> BTreeSet<String> {
        names.iter().map(|name| format!("empty default: '{name}' is a required property")).collect()
    };
    let owners = ["apiVersion", "kind", "name", "uid"];
    // The types of CRDs in both versions; the spec has that type in v1 only.
    let parts = ["jsonPath", "plural", "rule", "served", "status", "storage", "type"];
    let spec = ["group", "names", "scope", "versions"];
    let text_of =
        |document: &str| std::fs::read_to_string(directory.join(format!("{document}.json"))).unwrap();
    let has_scale = |document: &str| text_of(document).contains("\"io.k8s.api.autoscaling.v1.ScaleStatus\"");
    // Go structs have empty defaults, whatever they require: upstream's documents say so too.
    let is_built_in = |document: &str| {
        let text = text_of(document);
        let mut types = text.split("\"io.k8s.api.").skip(1);
        types.any(|rest| !rest.starts_with("autoscaling.v1.Scale"))
            || text.contains("\"io.k8s.kube-aggregator.")
    };
    let is_of_go = |message: &String| message.ends_with("is not a 'regex'") && message.contains("(?i)");
    for (document, mut messages) in complaints {
        messages.retain(|message| !is_of_go(message));
        let known = match document.as_str() {
            "v2" => BTreeSet::new(),
            "v3_apis_apiextensions.k8s.io_v1" => lacking(&[&owners[..], &parts, &spec].concat()),
            "v3_apis_apiextensions.k8s.io_v1beta1" => lacking(&[&owners[..], &parts].concat()),
            document if is_built_in(document) => {
                messages.iter().filter(|message| message.starts_with("empty default: '")).cloned().collect()
            }
            _ if has_scale(&document) => lacking(&[&owners[..], &["replicas"]].concat()),
            _ => lacking(&owners),
        };
        assert_eq!(messages, known, "{document}");
    }

    // Types in TypeScript, which must compile.
    let node = tools().join("node");
    run(Command::new("node").arg(format!("{scripts}/node/documents.mjs")).arg(&node).arg(&directory));
    let types = files(&directory, "ts");
    assert_eq!(types.len(), count, "{types:?}");
    let compiler = node.join("node_modules/typescript/bin/tsc");
    run(Command::new("node").arg(compiler).args(["--noEmit", "--strict"]).args(&types));
    let certificates = std::fs::read_to_string(directory.join("v3_apis_cert-manager.io_v1.ts")).unwrap();
    assert!(certificates.contains("\"io.cert-manager.v1.Certificate\""), "a type for the kind");
}
