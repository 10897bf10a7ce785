//! All CRDs of the corpus: bytes per CRD, once and twenty times over, and the time to compile.

use std::hint::black_box;
use std::path::{Path, PathBuf};

use pleach_json::Value;
use pleach_schema::{JSONSchemaProps, Schema, SchemaOptions, compile};
use stats_alloc::Region;

use crate::{ALLOCATOR, least, ratio, repeated};

/// How often the corpus is compiled, under other names each time.
const TIMES: usize = 20;

pub(crate) fn sizes() {
    let root = std::env::var_os("PLEACH_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let crds = read_all(&root.join("corpus/crds"));
    if crds.is_empty() {
        eprintln!("SKIPPED: no corpus at {}; set PLEACH_SHARED", root.display());
        return;
    }
    memory(&crds);
    time(&crds);
}

/// The schemas of every version of every CRD.
fn read_all(folder: &Path) -> Vec<Vec<JSONSchemaProps>> {
    let mut folders = vec![folder.to_owned()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    let mut crds = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a file that was listed can be read");
        for crd in pleach_yaml::documents(&text).flatten() {
            let versions = crd.value.at(&["spec", "versions"]).and_then(Value::as_array);
            let schemas = versions.into_iter().flatten().filter_map(|v| v.at(&["schema", "openAPIV3Schema"]));
            crds.push(
                schemas.map(|s| JSONSchemaProps::from_value(s).expect("the corpus is valid")).collect(),
            );
        }
    }
    crds
}

/// The bytes that live on the heap after `make` has run, and what it made.
fn bytes<T>(make: impl FnOnce() -> T) -> (usize, T) {
    let region = Region::new(ALLOCATOR);
    let made = make();
    let change = region.change();
    (change.bytes_allocated.saturating_sub(change.bytes_deallocated), made)
}

fn memory(crds: &[Vec<JSONSchemaProps>]) {
    let compile_all = || -> Vec<Schema> {
        crds.iter().flatten().map(|schema| Schema::compile(schema, SchemaOptions::default())).collect()
    };
    let (once, first) = bytes(compile_all);
    let nodes = compile::distinct_nodes();
    let (more, rest) = bytes(|| (1..TIMES).map(|_| compile_all()).collect::<Vec<_>>());
    let schemas = first.len();
    println!("\n{} CRDs, {schemas} schemas, {nodes} different nodes", crds.len());
    println!("{:<42} {:>10} bytes per CRD", "compiled once", once / crds.len());
    println!(
        "{:<42} {:>10} bytes per CRD, {:.3} x once",
        format!("compiled {TIMES} times"),
        (once + more) / (TIMES * crds.len()),
        (once + more) as f64 / once as f64
    );
    drop((first, rest));
    println!("{:<42} {:>10} different nodes", "all dropped", compile::distinct_nodes());
}

fn time(crds: &[Vec<JSONSchemaProps>]) {
    let text = |schema: &JSONSchemaProps| pleach_json::to_vec(&schema.to_value());
    let largest = crds.iter().flatten().max_by_key(|schema| text(schema).len()).expect("there are schemas");
    let json = text(largest);
    let parse =
        repeated(2, || drop(black_box(serde_json::from_slice::<serde_json::Value>(black_box(&json)))));
    let compile = || drop(black_box(Schema::compile(black_box(largest), SchemaOptions::default())));
    let from_text = repeated(2, || {
        let value = pleach_json::parse(black_box(&json)).expect("what was written is JSON");
        let schema = JSONSchemaProps::from_value(&value).expect("what was written is a schema");
        black_box(Schema::compile(&schema, SchemaOptions::default()));
    });
    let [parse, compiled, from_text] = least(20, [parse, repeated(2, compile), from_text]);
    let kept = Schema::compile(largest, SchemaOptions::default());
    let [again] = least(20, [repeated(2, compile)]);
    drop(kept);
    println!("\nthe largest schema, {} bytes of JSON", json.len());
    ratio("compile", compiled, "serde_json parse", parse);
    ratio("compile what is known", again, "serde_json parse", parse);
    ratio("parse, decode and compile", from_text, "serde_json parse", parse);
}
