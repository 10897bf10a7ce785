//! Histories of objects under upstream's field manager, and what it made of them.
//!
//! The first line of `tests/upstream.jsonl` has schemas by name; every other is a kind, a sequence of
//! writes and, for each, the object or the error that came out. Times are all `T`, or absent.
//! `PLEACH_APPLY_HISTORIES` names a further file to go through.

#![allow(clippy::unwrap_used, reason = "a history that is not as described shall fail the test")]

use pleach_apply::{ApplyError, Request, Set, Tracker, Type, Versions};
use pleach_json::{Map, Str, Value, json};
use pleach_schema::{Schema, SchemaOptions};

const GROUP: &str = "g.example.com";

struct Kind {
    versions: Vec<(Str, Schema)>,
    reset: Vec<(Str, Set)>,
}

impl Versions for Kind {
    fn type_of(&self, api_version: &str) -> Option<Type<'_>> {
        self.versions.iter().find(|(name, _)| name == api_version).map(|(_, schema)| Type::of(schema))
    }

    fn reset(&self, api_version: &str) -> Option<&Set> {
        self.reset.iter().find(|(version, _)| version == api_version).map(|(_, fields)| fields)
    }

    fn missing(&self, api_version: &str) -> Option<String> {
        Some(format!("request to convert CR to an invalid group/version: {api_version}"))
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or_default()
}

/// The owners that a request brings.
fn given(what: &str, live: Option<&Value>) -> Option<Value> {
    let entry = |operation: &str, version: &str, fields: Value| {
        json!([{"manager": "z", "operation": (operation), "apiVersion": (format!("{GROUP}/{version}")),
            "fieldsType": "FieldsV1", "fieldsV1": (fields)}])
    };
    match what {
        "keep" => live.and_then(|live| live.at(&["metadata", "managedFields"])).cloned(),
        "reset" => Some(json!([{}])),
        "empty" => Some(json!([])),
        "bad" => Some(entry("Update", "v1", json!({"bad": {}}))),
        "other" => Some(entry("Apply", "v1", json!({"f:spec": {".": {}, "f:a": {}, "f:m": {"f:a": {}}}}))),
        "gone" => Some(entry("Apply", "v9", json!({"f:spec": {"f:a": {}}}))),
        _ => None,
    }
}

/// Runs a history; the first difference comes back.
fn run(history: &Value, schemas: &Value) -> Result<(), String> {
    let compiled = |key: &str| -> Vec<(Str, Schema)> {
        let versions = history.get(key).and_then(Value::as_object);
        let schema = |name: &Str, schema: &Value| {
            let schema = schema.as_str().and_then(|name| schemas.get(name)).unwrap_or(schema);
            (format!("{GROUP}/{name}").into(), Schema::from_value(schema, SchemaOptions::default()))
        };
        versions.into_iter().flat_map(Map::iter).map(|(name, value)| schema(name, value)).collect()
    };
    let (first, changed) = (compiled("versions"), compiled("changed"));
    let has_status = flag(history, "status");
    let mut live: Option<Value> = None;
    let steps = history.get("steps").and_then(Value::as_array).unwrap();
    let outs = history.get("out").and_then(Value::as_array).unwrap();
    for (i, (step, out)) in steps.iter().zip(outs).enumerate() {
        let versions = if flag(step, "changed") { &changed } else { &first };
        let api_version = format!("{GROUP}/{}", text(step, "version"));
        let subresource = text(step, "subresource");
        let request = Request {
            manager: text(step, "manager"),
            api_version: &api_version,
            kind: "Foo",
            subresource,
            time: "T",
        };
        let reset = if subresource == "status" {
            let fields = Set::of_fields(&[&["metadata"], &["spec"]]);
            versions.iter().map(|(version, _)| (version.clone(), fields.clone())).collect()
        } else if has_status {
            vec![(api_version.as_str().into(), Set::of_fields(&[&["status"]]))]
        } else {
            Vec::new()
        };
        let kind = Kind { versions: versions.clone(), reset };
        let tracker = Tracker::new(&kind, request);
        if let Some(live) = live.as_mut().and_then(Value::as_object_mut) {
            live.insert("apiVersion", api_version.clone());
        }
        let mut object = step.get("object").unwrap().clone();
        let before = live.clone();
        if let Some(given) = given(text(step, "managed"), before.as_ref()) {
            object.get_mut("metadata").and_then(Value::as_object_mut).unwrap().insert("managedFields", given);
        }
        let object = &object;
        let got = match text(step, "op") {
            "set" => Ok(object.clone()),
            "update" => {
                let mut new = object.clone();
                tracker.update(before.as_ref(), &mut new);
                Ok(new)
            }
            _ => tracker
                .apply(before.as_ref(), object, flag(step, "force"), &|_| {})
                .map(|applied| applied.object),
        };
        let wanted = out.get("error").and_then(Value::as_str);
        let complain = |what: &str, want: &str, got: &str| {
            Err(format!(
                "{} step {i}: {what}\nlive {}\nstep {step}\nwant {want}\ngot  {got}",
                text(history, "name"),
                before.clone().unwrap_or_default()
            ))
        };
        match got {
            Ok(mut object) => {
                if let (Some(wanted), true) = (wanted, text(step, "op") == "apply") {
                    return complain("should fail", wanted, &object.to_string());
                }
                let metadata = object.as_object_mut().unwrap().get_or_insert_with("metadata", Value::object);
                metadata.as_object_mut().unwrap().insert("uid", "u");
                let want = out.get("object").unwrap();
                if object != *want {
                    return complain("differs", &want.to_string(), &object.to_string());
                }
                live = Some(object);
            }
            Err(error) => {
                let message = match &error {
                    ApplyError::Conflicts(conflicts) => conflicts.message(),
                    ApplyError::BadRequest(text) | ApplyError::Failed(text) => text.clone(),
                    _ => String::new(),
                };
                if wanted.map(in_order) != Some(in_order(&message)) {
                    return complain("fails otherwise", wanted.unwrap_or("success"), &message);
                }
                if let ApplyError::Conflicts(conflicts) = &error {
                    let mut fields: Vec<_> =
                        conflicts.causes().into_iter().map(|c| (c.message, c.field)).collect();
                    let mut want: Vec<_> = out
                        .get("causes")
                        .and_then(Value::as_array)
                        .into_iter()
                        .flatten()
                        .map(|c| (text(c, "message").to_owned(), text(c, "field").to_owned()))
                        .collect();
                    fields.sort();
                    want.sort();
                    if fields != want {
                        return complain("causes", &format!("{want:?}"), &format!("{fields:?}"));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Upstream tells errors in no order, and not all of them once a field is unknown.
fn in_order(message: &str) -> Vec<&str> {
    if message.contains("field not declared") {
        return message.split(": errors:").flat_map(|part| part.split(": .")).take(1).collect();
    }
    let mut lines: Vec<_> = message.split("errors:").flat_map(str::lines).collect();
    lines.sort_unstable();
    lines
}

fn run_all(lines: &str) {
    let mut failed = Vec::new();
    let mut count = 0;
    let mut schemas = Value::Null;
    for line in lines.lines().filter(|line| !line.is_empty()) {
        let mut history = pleach_json::parse(line.as_bytes()).unwrap();
        if let Some(named) = history.as_object_mut().and_then(|line| line.remove("schemas")) {
            schemas = named;
            continue;
        }
        count += 1;
        failed.extend(run(&history, &schemas).err());
    }
    for failure in failed.iter().take(12) {
        eprintln!("{failure}\n");
    }
    assert!(failed.is_empty(), "{} of {count} histories differ", failed.len());
    assert!(count > 0, "there are no histories");
}

#[test]
fn upstream_would_do_the_same() {
    run_all(include_str!("upstream.jsonl"));
}

#[test]
fn further_histories() {
    if let Ok(path) = std::env::var("PLEACH_APPLY_HISTORIES") {
        run_all(&std::fs::read_to_string(path).unwrap());
    }
}
