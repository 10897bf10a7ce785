//! The verdicts of `validate --old` are those a server gave to updates in recorded conversations:
//! ratcheting, transition rules, and what cannot be changed.
//!
//! The last response of the server is the old object, as a user has it from `kubectl get`; what was
//! put, or what comes of merging a patch into the old object, is the new one. Left out are updates
//! that were refused for reasons that a file does not have: conflicts, names in paths, preconditions.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use pleach_cli::catalog::{Catalog, Definition, Lookup};
use pleach_cli::document::{self, Document};
use pleach_cli::input::Source;
use pleach_cli::object;
use pleach_schema::Record;
use serde_json::Value;

fn document(value: &Value) -> Document {
    let source = Source::new("body", None, value.to_string());
    let (_, mut documents, _) = document::read(source);
    assert_eq!(documents.len(), 1, "{value}");
    documents.remove(0)
}

/// Without what a recording has placeholders for.
fn settled(mut value: Value) -> Value {
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|_, member| !member.as_str().is_some_and(|text| text.starts_with(['<', '$'])));
        metadata.remove("managedFields");
    }
    value
}

/// RFC 7386.
fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let members = target.as_object_mut().expect("just made one");
    for (key, value) in patch {
        if value.is_null() {
            members.remove(key);
        } else {
            merge(members.entry(key).or_insert(Value::Null), value);
        }
    }
}

/// The state of a server at a step of a conversation.
#[derive(Default)]
struct Known {
    crds: BTreeMap<String, Value>,
    objects: BTreeMap<String, Value>,
    catalog: Catalog,
}

impl Known {
    fn define(&mut self, name: &str, crd: Option<&Value>) {
        match crd {
            Some(crd) => self.crds.insert(name.to_owned(), crd.clone()),
            None => self.crds.remove(name),
        };
        self.catalog = Catalog::default();
        for crd in self.crds.values() {
            if let Ok(definition) = Definition::read(&document(crd).value) {
                self.catalog.add(definition);
            }
        }
    }

    fn errors(&self, old: &Value, new: &Value) -> Option<Vec<String>> {
        let (old, new) = (document(old), document(new));
        let Lookup::Found(_, version) = self.catalog.lookup(&new) else { return None };
        if old.api_version() != new.api_version() {
            return None;
        }
        let decode = |document: Document| object::decode(version, document.value, Record::Nothing);
        let (mut old, mut new) = match (decode(old), decode(new)) {
            (Ok(old), Ok(new)) => (old.value, new.value),
            (_, Err(error)) | (Err(error), _) => return Some(vec![error]),
        };
        let verdict = object::update(version, &mut new, &mut old);
        Some(verdict.errors.iter().map(|error| without_uids(&error.to_string())).collect())
    }

    /// Takes note of a step. The object at the end of a path is what was answered last.
    fn note(&mut self, method: &str, path: &str, body: &Value, answer: &Value) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        if query.contains("dryRun") {
            return;
        }
        let name =
            answer["metadata"]["name"].as_str().or(body["metadata"]["name"].as_str()).unwrap_or_default();
        let at = if method == "POST" { format!("{path}/{name}") } else { path.to_owned() };
        if path.contains("/customresourcedefinitions") {
            let name = at.rsplit('/').next().unwrap_or_default();
            self.define(name, (method != "DELETE" && method != "PATCH").then_some(body));
        } else if ["/status", "/scale"].iter().any(|end| path.ends_with(end)) || method == "DELETE" {
            self.objects.retain(|known, _| !at.starts_with(known.as_str()));
        } else {
            // An answer that is only partly recorded says less than what was sent.
            let whole = answer["metadata"]["name"].is_string() && answer["apiVersion"].is_string();
            match (whole, method) {
                (true, _) => _ = self.objects.insert(at, answer.clone()),
                (false, "POST" | "PUT") => _ = self.objects.insert(at, body.clone()),
                (false, _) => _ = self.objects.remove(&at),
            }
        }
    }
}

/// Uids are not recorded.
fn without_uids(text: &str) -> String {
    let is_uid = |word: &str| word.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    let words: Vec<&str> = text.split('"').map(|word| if is_uid(word) { "<uid>" } else { word }).collect();
    words.join("\"")
}

/// Every message, sorted; the fields of causes first.
fn wanted(status: &Value) -> Vec<String> {
    let mut out = match status["details"]["causes"].as_array() {
        Some(causes) => causes
            .iter()
            .map(|cause| {
                let text = |key: &str| cause[key].as_str().unwrap_or_default().to_owned();
                format!("{}: {}", text("field"), text("message"))
            })
            .collect(),
        None => vec![status["message"].as_str().unwrap_or_default().to_owned()],
    };
    out.sort();
    out
}

/// Refusals that are about the request and not about the object.
fn about_request(message: &str) -> bool {
    [
        "dryRun: ",
        "metadata.uid: ",
        "the name of the object",
        "the API version in the data",
        "the namespace of the",
        "metadata.resourceVersion:",
    ]
    .iter()
    .any(|words| message.contains(words))
}

#[test]
fn verdicts_on_updates_are_the_servers() {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/cases");
    let (mut compared, mut refused, mut wrong) = (0, 0, Vec::new());
    for area in ["ratcheting", "cel", "crud", "objectmeta", "validation", "defaulting", "pruning", "listtype"]
    {
        let mut files: Vec<PathBuf> =
            fs::read_dir(cases.join(area)).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        for file in files {
            let case: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
            let mut known = Known::default();
            for step in case["steps"].as_array().unwrap() {
                let (request, expect) = (&step["request"], &step["expect"]);
                let (Some(method), Some(path)) = (request["method"].as_str(), request["path"].as_str())
                else {
                    continue;
                };
                let status = expect["status"].as_i64().unwrap_or_default();
                let answer = settled(expect["body"].clone());
                let body = settled(request["body"].clone());
                let plain = path.split('?').next().unwrap_or_default();
                if let Some(old) = known.objects.get(plain) {
                    let merged = request["headers"]["Content-Type"] == "application/merge-patch+json";
                    let new = match method {
                        "PUT" => Some(body.clone()),
                        "PATCH" if merged && body.is_object() => {
                            let mut new = old.clone();
                            merge(&mut new, &body);
                            Some(settled(new))
                        }
                        _ => None,
                    };
                    let strict = path.contains("fieldValidation=Strict");
                    let messages = wanted(&answer);
                    let told = status == 200 || !messages[0].is_empty() && !about_request(&messages[0]);
                    if let Some(new) = new.filter(|new| new.is_object() && !strict && told)
                        && matches!(status, 200 | 400 | 422)
                        && let Some(mut found) = known.errors(old, &new)
                    {
                        let want = if status == 200 { Vec::new() } else { messages };
                        found.sort();
                        compared += 1;
                        refused += usize::from(status != 200);
                        if found != want {
                            let place = file.display();
                            wrong.push(format!("{place} {method} {path}\n  old {old}\n  new {new}\n  wanted {want:#?}\n  found {found:#?}"));
                        }
                    }
                }
                if matches!(status, 200 | 201) && method != "GET" {
                    known.note(method, path, &body, &answer);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared > 100 && refused > 40, "only {compared} updates were compared, {refused} refusals");
}
