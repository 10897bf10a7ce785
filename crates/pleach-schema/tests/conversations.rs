//! Recorded conversations with a real server, as far as they are about objects and schemas.
//!
//! The product's conformance suite plays the recordings against the whole server. Here the parts
//! that a schema decides are played in process: what is pruned and defaulted, which causes an
//! invalid object is refused with, what an update may leave as it was. Reads, server-side apply,
//! JSON patches and whatever else needs a server are passed over.

// What is wrong with a test should end it.
#![allow(clippy::unwrap_used)]

#[path = "support/shared.rs"]
mod shared;

use std::collections::HashMap;

use pleach_go::json::Decoder;
use pleach_json::{Map, Value};
use pleach_meta::object_meta::{self, NameRule, ObjectMeta, validate_object_meta};
use pleach_meta::{FieldError, Path};
use pleach_schema::{Record, Schema, SchemaOptions, SettleOptions, Write};

#[test]
fn pruning() {
    play("pruning", 80);
}

#[test]
fn defaulting() {
    play("defaulting", 80);
}

#[test]
fn validation() {
    play("validation", 600);
}

#[test]
fn listtype() {
    play("listtype", 40);
}

#[test]
fn objectmeta() {
    play("objectmeta", 60);
}

#[test]
fn cel() {
    play("cel", 200);
}

#[test]
fn ratcheting() {
    play("ratcheting", 40);
}

/// Plays an area; at least `expected` answers must have been compared, so that nothing passes by being skipped.
fn play(area: &str, expected: usize) {
    let Some(files) = shared::files(&format!("conformance/cases/{area}"), "json") else { return };
    let mut compared = 0;
    let mut failures = Vec::new();
    for file in files {
        // The metadata of whole objects is no business of schemas.
        if file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("root-")) {
            continue;
        }
        let case = pleach_json::parse(&std::fs::read(&file).unwrap()).unwrap();
        let mut player = Player::default();
        for (i, step) in case.get("steps").and_then(Value::as_array).unwrap().iter().enumerate() {
            match player.step(step) {
                Ok(true) => compared += 1,
                Ok(false) => {}
                Err(difference) => {
                    compared += 1;
                    failures.push(format!("{} step {i}: {difference}", file.display()));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {compared} differ:\n{}", failures.len(), failures.join("\n"));
    assert!(compared >= expected, "only {compared} answers compared");
    eprintln!("{area}: {compared} recorded answers compared");
}

struct Version {
    schema: Schema,
    status_subresource: bool,
}

#[derive(Default)]
struct Player {
    /// By group and version.
    versions: HashMap<String, Version>,
    objects: HashMap<String, Value>,
    kind: String,
    namespaced: bool,
}

/// The server's response to a write.
struct Outcome {
    object: Value,
    errors: Vec<FieldError>,
    unknown: Vec<String>,
    warnings: Vec<String>,
}

fn text<'a>(value: &'a Value, keys: &[&str]) -> &'a str {
    value.at(keys).and_then(Value::as_str).unwrap_or_default()
}

impl Player {
    /// Plays a step; `Ok(false)` when it is not about schemas.
    fn step(&mut self, step: &Value) -> Result<bool, String> {
        let (Some(request), Some(expect)) = (step.get("request"), step.get("expect")) else {
            return Ok(false);
        };
        let (method, path) = (text(request, &["method"]), text(request, &["path"]));
        let content_type = text(request, &["headers", "Content-Type"]);
        let status = expect.get("status").and_then(Value::as_int).unwrap();
        let body = match (request.get("body"), request.get("rawBody").and_then(Value::as_str)) {
            (Some(body), _) => body.clone(),
            (None, Some(raw)) => match pleach_json::parse(raw.as_bytes()) {
                Ok(body) => body,
                Err(_) => return Ok(false),
            },
            (None, None) => return Ok(false),
        };
        if !matches!(method, "POST" | "PUT" | "PATCH")
            || content_type.contains("yaml")
            || body.as_object().is_none()
        {
            return Ok(false);
        }
        if path.contains("/customresourcedefinitions") {
            if status < 300 && method != "PATCH" {
                self.define(&body);
            }
            return Ok(false);
        }
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let ["apis", group, version, rest @ ..] = parts.as_slice() else { return Ok(false) };
        let version_key = format!("{group}/{version}");
        let Some(version) = self.versions.get(&version_key) else { return Ok(false) };
        let on_status = rest.last() == Some(&"status") && rest.len() > 2 && version.status_subresource;
        let body = match method {
            "PATCH" if content_type.contains("merge-patch") && !query.contains("fieldManager") => {
                let name = if on_status { rest[rest.len() - 2] } else { rest[rest.len() - 1] };
                let Some(old) = self.objects.get(name) else { return Ok(false) };
                // A patch is applied to what a client would read.
                let mut patched = old.clone();
                version.schema.settle(&mut patched, SettleOptions::STORED).unwrap();
                merge(&mut patched, &body);
                patched
            }
            "PATCH" => return Ok(false),
            _ => body,
        };
        // Wrong directives, duplicate keys and strict patches are the server's; so is conversion.
        if query.contains("fieldValidation=strict")
            || query.contains("fieldValidation=Other")
            || text(expect, &["body", "message"]).contains("duplicate field")
            || (query.contains("fieldValidation=Strict") && method == "PATCH")
            || self.versions.len() > 1
        {
            return Ok(false);
        }
        // Bodies that another version's decoder, or none, would take.
        if text(&body, &["apiVersion"]) != version_key || text(&body, &["kind"]).is_empty() {
            return Ok(false);
        }
        let name = text(&body, &["metadata", "name"]).to_owned();
        let old = self.objects.get(&name).filter(|_| method != "POST").cloned();
        if method != "POST" && old.is_none() {
            return Ok(false);
        }
        match self.write(&version_key, body, old.as_ref(), on_status) {
            Err(error) => compare_refusal(status, expect, &error),
            Ok(outcome) => {
                let strict = query.contains("fieldValidation=Strict");
                if strict && !outcome.unknown.is_empty() && method != "PATCH" {
                    return outcome
                        .unknown
                        .iter()
                        .try_for_each(|path| {
                            compare_refusal(status, expect, &format!("unknown field \"{path}\"")).map(|_| ())
                        })
                        .map(|()| true);
                }
                compare(step, status, expect, &outcome, query.contains("fieldValidation=Ignore"))?;
                if status < 300 && !query.contains("dryRun") {
                    self.objects.insert(name, outcome.object);
                }
                Ok(true)
            }
        }
    }

    fn define(&mut self, crd: &Value) {
        let group = text(crd, &["spec", "group"]);
        text(crd, &["spec", "names", "kind"]).clone_into(&mut self.kind);
        self.namespaced = text(crd, &["spec", "scope"]) == "Namespaced";
        for version in crd.at(&["spec", "versions"]).and_then(Value::as_array).unwrap() {
            let Some(schema) = version.at(&["schema", "openAPIV3Schema"]) else { continue };
            let schema = Schema::from_value(schema, SchemaOptions::default());
            let status_subresource = version.at(&["subresources", "status"]).is_some();
            let key = format!("{group}/{}", text(version, &["name"]));
            self.versions.insert(key, Version { schema, status_subresource });
        }
    }

    /// A write as the server does it; `Err` is a refusal before validation.
    fn write(
        &self,
        version: &str,
        mut object: Value,
        old: Option<&Value>,
        on_status: bool,
    ) -> Result<Outcome, String> {
        let Version { schema, status_subresource } = &self.versions[version];
        let mut unknown = Vec::new();
        if let Some(metadata) = object.get_mut("metadata") {
            let mut decoder = Decoder::noting_unknown("metadata");
            object_meta::decode(metadata, &mut decoder)?;
            unknown = decoder.into_unknown();
        }
        let settled = schema
            .settle(&mut object, SettleOptions::request(Record::Everything))
            .map_err(|error| error.to_string())?;
        unknown.extend(settled.pruned);
        unknown.extend(settled.unknown_metadata);
        let old = old.map(|old| {
            let mut old = old.clone();
            schema.settle(&mut old, SettleOptions::STORED).unwrap();
            old
        });
        if let Some(members) = object.as_object_mut().filter(|_| *status_subresource) {
            match (&old, on_status) {
                (None, _) => drop(members.remove("status")),
                (Some(old), false) => put(members, "status", old.get("status")),
                (Some(old), true) => {
                    let status = members.get("status").cloned();
                    let metadata = members.get("metadata").cloned();
                    *members = old.as_object().unwrap().clone();
                    put(members, "metadata", metadata.as_ref());
                    put(members, "status", status.as_ref());
                }
            }
        }
        let mut errors = Vec::new();
        if text(&object, &["kind"]) != self.kind {
            let detail = format!("must be {}", self.kind);
            errors.push(FieldError::invalid("kind", text(&object, &["kind"]), detail));
            return Ok(Outcome { object, errors, unknown, warnings: Vec::new() });
        }
        let mut warnings = Vec::new();
        if old.is_none() {
            // What a client may not decide is not looked at.
            let mut meta = object.get("metadata").cloned().unwrap_or_else(Value::object);
            let members = meta.as_object_mut().unwrap();
            members.remove("generation");
            if self.namespaced {
                members.insert("namespace", "default");
            } else {
                members.remove("namespace");
            }
            let meta = ObjectMeta::new(&meta);
            errors.extend(validate_object_meta(
                meta,
                self.namespaced,
                NameRule::Dns1123Subdomain,
                &Path::new("metadata"),
            ));
        }
        let write = match &old {
            None => Write::Create,
            Some(old) if on_status => Write::Status(old),
            Some(old) => Write::Update(old),
        };
        let outcome = schema.validate(&object, write, errors, |_| {});
        warnings.extend(outcome.warnings);
        // A client sees what would be read back.
        schema.settle(&mut object, SettleOptions::STORED).unwrap();
        Ok(Outcome { object, errors: outcome.errors, unknown, warnings })
    }
}

fn put(members: &mut Map, key: &str, value: Option<&Value>) {
    match value {
        Some(value) => drop(members.insert(key, value.clone())),
        None => drop(members.remove(key)),
    }
}

fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if target.as_object().is_none() {
        *target = Value::object();
    }
    let members = target.as_object_mut().unwrap();
    for (key, value) in patch {
        if value.is_null() {
            members.remove(key);
        } else {
            merge(members.get_or_insert_with(key, || Value::Null), value);
        }
    }
}

fn compare_refusal(status: i64, expect: &Value, error: &str) -> Result<bool, String> {
    let message = text(expect, &["body", "message"]);
    // Times are masked in the recordings.
    if status == 400
        && (message.contains(error) || message.contains("<creationTimestamp>") || message.is_empty())
    {
        return Ok(true);
    }
    Err(format!("refused with {error:?}, recorded {status} {message:?}"))
}

fn compare(step: &Value, status: i64, expect: &Value, outcome: &Outcome, ignore: bool) -> Result<(), String> {
    let mut found: Vec<String> = outcome.errors.iter().map(|e| mask(&e.to_string(), &TIMES)).collect();
    found.sort();
    if status == 422 {
        if step.get("only").is_some() {
            return if found.is_empty() { Err("accepted, recorded 422".into()) } else { Ok(()) };
        }
        let causes = expect.at(&["body", "details", "causes"]).and_then(Value::as_array);
        let mut recorded: Vec<String> = causes
            .into_iter()
            .flatten()
            .map(|cause| format!("{}: {}", text(cause, &["field"]), text(cause, &["message"])))
            .map(|text| mask(&text, &[]))
            .collect();
        recorded.sort();
        if found != recorded {
            return Err(format!("causes\n   found    {found:#?}\n   recorded {recorded:#?}"));
        }
    } else if status >= 300 {
        return Err(format!("accepted, recorded {status}: {}", text(expect, &["body", "message"])));
    } else if !found.is_empty() {
        return Err(format!("refused, recorded {status}: {found:#?}"));
    } else if step.get("only").is_none() {
        let body = expect.get("body").and_then(Value::as_object).unwrap();
        for (key, recorded) in body.iter().filter(|(key, _)| *key != "metadata") {
            let found = outcome.object.get(key).cloned().unwrap_or_default();
            // Through JSON: a recording does not tell 1 from 1.0.
            if mask(&pleach_json::to_string(&found), &FIELDS)
                != mask(&pleach_json::to_string(recorded), &FIELDS)
            {
                return Err(format!("{key}\n   found    {found:?}\n   recorded {recorded:?}"));
            }
        }
    }
    compare_warnings(expect, outcome, ignore)
}

fn compare_warnings(expect: &Value, outcome: &Outcome, ignore: bool) -> Result<(), String> {
    let Some(headers) = expect.get("headers").and_then(Value::as_array) else { return Ok(()) };
    let mut recorded: Vec<&str> = headers
        .iter()
        .filter_map(|header| header.as_array()?.last()?.as_str())
        .filter(|warning| !warning.contains("metadata.finalizers") && !warning.contains("duplicate field"))
        .collect();
    let told = outcome.unknown.iter().filter(|_| !ignore).map(|path| format!("unknown field \"{path}\""));
    let mut found: Vec<String> = told
        .chain(outcome.warnings.clone())
        .map(|text| format!("299 - \"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
        .collect();
    recorded.sort_unstable();
    found.sort();
    // Long lists of warnings are cut by the header layer, which is not here.
    if found.iter().map(String::len).sum::<usize>() > 4096 || found == recorded {
        return Ok(());
    }
    Err(format!("warnings\n   found    {found:#?}\n   recorded {recorded:#?}"))
}

/// The texts that recordings mask inside messages.
const TIMES: [&str; 3] = ["resourceVersion", "creationTimestamp", "deletionTimestamp"];
/// The fields that recordings mask in objects.
const FIELDS: [&str; 4] = ["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp"];

/// Replaces what recordings mask: UUIDs, and the values of these fields.
fn mask(text: &str, fields: &[&str]) -> String {
    let text = text.replace("\\u003c", "<").replace("\\u003e", ">");
    // A recording has lost the sign of a zero.
    let text = text.replace(":-0}", ":0}").replace(":-0,", ":0,");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(c) = rest.chars().next() {
        if let Some(length) = uuid_length(rest) {
            out.push_str("<uid>");
            rest = &rest[length..];
            continue;
        }
        out.push(c);
        rest = &rest[c.len_utf8()..];
    }
    for key in fields {
        let start = format!("\"{key}\":\"");
        let mut masked = String::with_capacity(out.len());
        let mut rest = out.as_str();
        while let Some(at) = rest.find(&start) {
            let value = at + start.len();
            let end = rest[value..].find('"').map_or(rest.len(), |end| value + end);
            masked.push_str(&rest[..value]);
            if end > value {
                masked.extend(["<", key, ">"]);
            }
            rest = &rest[end..];
        }
        masked.push_str(rest);
        out = masked;
    }
    out
}

fn uuid_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes().get(..36)?;
    let right = bytes.iter().enumerate().all(|(i, b)| match i {
        8 | 13 | 18 | 23 => *b == b'-',
        _ => matches!(b, b'0'..=b'9' | b'a'..=b'f'),
    });
    right.then_some(36)
}
