//! Real CRDs and objects: what is settled, accepted and refused equals what a real server answered.

// What is wrong with a test should end it.
#![allow(clippy::unwrap_used)]

#[path = "support/shared.rs"]
mod shared;

use std::collections::HashMap;
use std::path::Path;

use pleach_go::json::Decoder;
use pleach_json::Value;
use pleach_meta::object_meta::{self, NameRule, ObjectMeta, validate_object_meta};
use pleach_schema::{Record, Schema, SchemaOptions, SettleOptions, Write};

fn text<'a>(value: &'a Value, keys: &[&str]) -> &'a str {
    value.at(keys).and_then(Value::as_str).unwrap_or_default()
}

/// The documents of a YAML file that have something in them.
fn documents(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    pleach_yaml::documents(&text).map(|document| document.unwrap().value).collect()
}

/// Every version of every CRD, by `apiVersion` and kind.
fn schemas() -> Option<HashMap<(String, String), Schema>> {
    let mut schemas = HashMap::new();
    for crd in shared::files("corpus/crds", "yaml")?.iter().flat_map(|file| documents(file)) {
        let (group, kind) = (text(&crd, &["spec", "group"]), text(&crd, &["spec", "names", "kind"]));
        for version in crd.at(&["spec", "versions"]).and_then(Value::as_array).unwrap() {
            let Some(schema) = version.at(&["schema", "openAPIV3Schema"]) else { continue };
            let key = (format!("{group}/{}", text(version, &["name"])), kind.to_owned());
            schemas.insert(key, Schema::from_value(schema, SchemaOptions::default()));
        }
    }
    Some(schemas)
}

#[test]
fn objects_are_answered_as_recorded() {
    let (Some(schemas), Some(folder)) = (schemas(), shared::folder("corpus")) else { return };
    let expected = pleach_json::parse(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
    let mut files: HashMap<String, Vec<Value>> = HashMap::new();
    let mut failures = Vec::new();
    let objects = expected.get("objects").and_then(Value::as_object).unwrap();
    for (place, want) in objects {
        let (file, index) = place.split_once('#').unwrap();
        let documents = files.entry(file.to_owned()).or_insert_with(|| documents(&folder.join(file)));
        let object = documents[index.parse::<usize>().unwrap()].clone();
        if let Err(difference) = answer(&schemas, object, want) {
            failures.push(format!("{place}: {difference}"));
        }
    }
    assert!(objects.len() > 100);
    assert!(failures.is_empty(), "{} of {} differ:\n{}", failures.len(), objects.len(), failures.join("\n"));
    eprintln!("corpus: {} schemas, {} objects answered as recorded", schemas.len(), objects.len());
}

fn answer(
    schemas: &HashMap<(String, String), Schema>,
    mut object: Value,
    want: &Value,
) -> Result<(), String> {
    let key = (text(&object, &["apiVersion"]).to_owned(), text(&object, &["kind"]).to_owned());
    let schema = schemas.get(&key).ok_or("no such kind")?;
    if let Some(metadata) = object.get_mut("metadata") {
        object_meta::decode(metadata, &mut Decoder::lenient())?;
    }
    let settled =
        schema.settle(&mut object, SettleOptions::request(Record::Unknown)).map_err(|e| e.to_string())?;
    let namespaced = text(want, &["path"]).contains("/namespaces/");
    let mut meta = object.get("metadata").cloned().unwrap_or_else(Value::object);
    if namespaced {
        meta.as_object_mut().unwrap().insert("namespace", "default");
    }
    let path = pleach_meta::Path::new("metadata");
    let before = validate_object_meta(ObjectMeta::new(&meta), namespaced, NameRule::Dns1123Subdomain, &path);
    let verdict = schema.validate(&object, Write::Create, before, |_| {});
    let mut found: Vec<String> = verdict.errors.iter().map(ToString::to_string).collect();
    found.sort();
    let causes = want.at(&["body", "details", "causes"]).and_then(Value::as_array);
    let mut recorded: Vec<String> = causes
        .into_iter()
        .flatten()
        .map(|cause| format!("{}: {}", text(cause, &["field"]), text(cause, &["message"])))
        .collect();
    recorded.sort();
    if found != recorded {
        return Err(format!("causes\n  found    {found:#?}\n  recorded {recorded:#?}"));
    }
    if !settled.pruned.is_empty() {
        return Err(format!("pruned {:?}, recorded {:?}", settled.pruned, want.get("warnings")));
    }
    if found.is_empty() {
        for (key, recorded) in want.get("body").and_then(Value::as_object).unwrap() {
            if key != "metadata" && object.get(key) != Some(recorded) {
                return Err(format!("{key}\n  found    {:?}\n  recorded {recorded:?}", object.get(key)));
            }
        }
    }
    Ok(())
}

#[test]
fn valid_objects_stay_valid_when_settled() {
    let (Some(schemas), Some(files)) = (schemas(), shared::files("corpus/objects", "yaml")) else { return };
    let mut seen = 0;
    for object in files.iter().flat_map(|file| documents(file)) {
        let key = (text(&object, &["apiVersion"]).to_owned(), text(&object, &["kind"]).to_owned());
        let Some(schema) = schemas.get(&key) else { continue };
        let mut once = object;
        schema.settle(&mut once, SettleOptions::STORED).unwrap();
        let mut twice = once.clone();
        schema.settle(&mut twice, SettleOptions::STORED).unwrap();
        assert!(once == twice, "{key:?}");
        seen += 1;
    }
    assert!(seen > 100, "{seen}");
}
