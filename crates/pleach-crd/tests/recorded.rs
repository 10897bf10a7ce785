//! The recorded conversations about CustomResourceDefinitions, played against this crate without a
//! server: what a create, an update or a patch answers, and what the conditions say afterwards.
//!
//! The recordings are not part of the project; they are looked for in `$PLEACH_SHARED` or beside the
//! workspace. What needs a server (other content types, deletion, custom objects) is passed over.
#![allow(clippy::unwrap_used, reason = "a recording that is not as expected shall stop the test")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pleach_crd::decode::Options;
use pleach_crd::strategy::{prepare_for_create, prepare_for_status_update, prepare_for_update};
use pleach_crd::{
    ApiVersion, Crd, GroupNames, decode, validate_create, validate_status_update, validate_update,
};
use pleach_go::json::in_document_order;
use pleach_json::{Value, parse};
use pleach_meta::Status;

const NOW: &str = "2020-01-01T00:00:00Z";

fn recordings() -> Option<PathBuf> {
    let shared = std::env::var_os("PLEACH_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let cases = shared.join("conformance/cases");
    cases.is_dir().then_some(cases)
}

#[test]
fn recorded_answers_are_given() {
    let Some(cases) = recordings() else {
        eprintln!("NOT RUN: no recorded conversations; set PLEACH_SHARED to where they are");
        return;
    };
    let (mut checked, mut wrong) = (0, Vec::new());
    for area in
        ["crd-validation", "crd-lifecycle", "structural", "v1beta1", "defaulting", "listtype", "ratcheting"]
    {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(cases.join(area)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        for file in files {
            let recording = std::fs::read_to_string(&file).unwrap();
            let case = parse(recording.as_bytes()).unwrap();
            let mut server = Server::default();
            for (i, step) in case.get("steps").unwrap().as_array().unwrap().iter().enumerate() {
                match server.play(&recording, i, step) {
                    Outcome::Passed => {}
                    Outcome::Right => checked += 1,
                    // What a default must be is decided and tested where schemas are.
                    Outcome::Wrong(text) if text.contains(".default") => eprintln!("defaults: {text}"),
                    Outcome::Wrong(text) => {
                        checked += 1;
                        wrong.push(format!(
                            "{}/{} step {i}: {text}",
                            area,
                            file.file_stem().unwrap().display()
                        ));
                    }
                }
            }
        }
    }
    eprintln!("{checked} recorded answers, {} of them otherwise here", wrong.len());
    assert!(checked > 400, "only {checked} answers were compared");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

enum Outcome {
    Passed,
    Right,
    Wrong(String),
}

#[derive(Default)]
struct Server {
    crds: BTreeMap<String, Crd>,
    groups: BTreeMap<String, GroupNames>,
}

impl Server {
    fn play(&mut self, recording: &str, i: usize, step: &Value) -> Outcome {
        let (Some(request), Some(expect)) = (step.get("request"), step.get("expect")) else {
            return Outcome::Passed;
        };
        let text = |key: &str| request.get(key).and_then(Value::as_str).unwrap_or_default();
        let Some(rest) = text("path").strip_prefix("/apis/apiextensions.k8s.io/") else {
            return Outcome::Passed;
        };
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let mut parts = path.split('/');
        let version = match parts.next() {
            Some("v1") => ApiVersion::V1,
            Some("v1beta1") => ApiVersion::V1beta1,
            _ => return Outcome::Passed,
        };
        let (_, name, subresource) = (parts.next(), parts.next().unwrap_or_default(), parts.next());
        let body = match (request.get("body"), request.get("rawBody").and_then(Value::as_str)) {
            (Some(body), _) => body.clone(),
            (_, Some(raw)) => match parse(raw.as_bytes()) {
                Ok(body @ Value::Object(_)) => body,
                _ => return Outcome::Passed,
            },
            _ => Value::Null,
        };
        let content =
            request.at(&["headers", "Content-Type"]).and_then(Value::as_str).unwrap_or("application/json");
        let stored = self.crds.get(name);
        let document = match (text("method"), stored) {
            ("POST", _) | ("PUT", Some(_)) if content == "application/json" => body,
            ("PATCH", Some(old))
                if content == "application/merge-patch+json" || content == "application/json" =>
            {
                let mut document = old.encode(version);
                merge(&mut document, &body);
                document
            }
            ("GET", Some(crd)) => return compare(&crd.encode(version), 200, expect),
            ("DELETE", Some(_)) if !query.contains("dryRun") => {
                self.delete(name);
                return Outcome::Passed;
            }
            _ => return Outcome::Passed,
        };
        let stated = document.get("apiVersion").and_then(Value::as_str).unwrap_or(version.api_version());
        let kind = document.get("kind").and_then(Value::as_str).unwrap_or(pleach_crd::KIND);
        if stated != version.api_version()
            || kind != pleach_crd::KIND
            || query.contains("fieldValidation=Maybe")
        {
            return Outcome::Passed;
        }
        let decoded = match decode(&document, version, Options::default()) {
            Ok(decoded) => decoded,
            Err(error) => return compare(&bad_request(version, &error), 400, expect),
        };
        if query.contains("fieldValidation=Strict") && !decoded.unknown.is_empty() {
            // They are reported in the order of the document: that of the recording.
            let place = format!("steps[{i}].request.body.");
            let unknown = decoded.unknown.iter().map(|path| format!("{place}{path}")).collect();
            let unknown = in_document_order(recording, unknown);
            let listed: Vec<String> =
                unknown.iter().map(|path| format!("unknown field \"{}\"", &path[place.len()..])).collect();
            let error = format!("strict decoding error: {}", listed.join(", "));
            return compare(&bad_request(version, &error), 400, expect);
        }
        let mut crd = decoded.crd;
        // The server's business: a cluster-scoped object loses a namespace, and names match the URL.
        crd.metadata.as_object_mut().unwrap().remove("namespace");
        if stored.is_some() && crd.meta().name() != name {
            return Outcome::Passed;
        }
        let created = text("method") == "POST";
        let errors = match stored {
            _ if created => {
                prepare_for_create(&mut crd);
                validate_create(&crd, version)
            }
            Some(old) if subresource == Some("status") => {
                prepare_for_status_update(&mut crd, old);
                validate_status_update(&crd, old)
            }
            Some(old) => {
                prepare_for_update(&mut crd, old, |_| {});
                validate_update(&crd, old, version)
            }
            None => return Outcome::Passed,
        };
        if !errors.is_empty() {
            let name = crd.meta().name();
            let status = Status::invalid(pleach_crd::GROUP, pleach_crd::KIND, name, &errors);
            return compare(&status.to_value(), 422, expect);
        }
        let answer = crd.encode(version);
        if !query.contains("dryRun") && expect.get("status").and_then(Value::as_int).is_some_and(|s| s < 300)
        {
            let key = crd.meta().name().to_owned();
            crd.metadata.as_object_mut().unwrap().insert("resourceVersion", "1");
            crd.update_conditions(stored, NOW);
            self.put(key, crd);
        }
        compare(&answer, if created { 201 } else { 200 }, expect)
    }

    fn put(&mut self, name: String, crd: Crd) {
        let group = crd.spec.group.to_string();
        self.crds.insert(name, crd);
        self.settle(&group);
    }

    fn delete(&mut self, name: &str) {
        if let Some(crd) = self.crds.remove(name) {
            let group = crd.spec.group.to_string();
            self.groups.entry(group.clone()).or_default().remove(&crd.status.accepted_names);
            self.settle(&group);
        }
    }

    /// Decides names and sets conditions until nothing changes.
    fn settle(&mut self, group: &str) {
        let names = self.groups.entry(group.to_owned()).or_default();
        for crd in self.crds.values_mut().filter(|crd| crd.spec.group == group) {
            if let Some(outcome) = names.decide(crd) {
                names.remove(&crd.status.accepted_names);
                names.add(&outcome.accepted);
                crd.apply_names(outcome, NOW);
            }
            crd.establish(NOW);
        }
    }
}

fn bad_request(version: ApiVersion, error: &str) -> Value {
    let message = format!(
        "CustomResourceDefinition in version \"{}\" cannot be handled as a CustomResourceDefinition: {error}",
        version.version()
    );
    Status::failure(400, pleach_meta::Reason::BadRequest, message).to_value()
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !matches!(target, Value::Object(_)) {
        *target = Value::object();
    }
    let target = target.as_object_mut().unwrap();
    for (key, value) in patch.iter() {
        if value.is_null() {
            target.remove(key);
        } else {
            merge(target.get_or_insert_with(key, || Value::Null), value);
        }
    }
}

/// Compares what can be: the status, error messages as sets, and of objects spec, names and conditions.
fn compare(answer: &Value, status: i64, expect: &Value) -> Outcome {
    let wanted_status = expect.get("status").and_then(Value::as_int).unwrap_or_default();
    let Some(wanted) = expect.get("body") else { return Outcome::Passed };
    if wanted_status == 409 || wanted_status == 404 {
        return Outcome::Passed;
    }
    if wanted_status != status {
        let ours = answer.get("message").cloned().unwrap_or_default();
        let theirs = wanted.get("message").cloned().unwrap_or_default();
        return Outcome::Wrong(format!("{status} {ours:?}, recorded {wanted_status} {theirs:?}"));
    }
    if status >= 400 {
        let ours = causes(answer.at(&["details", "causes"]));
        let theirs = causes(wanted.at(&["details", "causes"]));
        if wanted.at(&["details", "causes"]).is_some() {
            return if ours == theirs {
                Outcome::Right
            } else {
                Outcome::Wrong(format!("{ours:#?}, recorded {theirs:#?}"))
            };
        }
        let (ours, theirs) = (answer.get("message"), wanted.get("message"));
        let same = theirs.is_none() || ours == theirs;
        return if same { Outcome::Right } else { Outcome::Wrong(format!("{ours:?}, recorded {theirs:?}")) };
    }
    for (key, wanted) in wanted.as_object().unwrap().iter() {
        if !key.starts_with("spec") && !key.starts_with("status") {
            continue;
        }
        let found = lookup(answer, key).cloned().unwrap_or_default();
        let (found, wanted) = (without_times(found), without_times(wanted.clone()));
        if found != wanted {
            return Outcome::Wrong(format!("{key}: {found:?}, recorded {wanted:?}"));
        }
    }
    Outcome::Right
}

fn causes(list: Option<&Value>) -> Vec<String> {
    let mut out: Vec<String> =
        list.and_then(Value::as_array).into_iter().flatten().map(pleach_json::to_string).collect();
    out.sort();
    out.dedup();
    out
}

fn lookup<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    let mut at = value;
    for part in path.split(['.', '[']) {
        at = match part.strip_suffix(']') {
            Some(index) => at.as_array()?.get(index.parse::<usize>().ok()?)?,
            None => at.get(part)?,
        };
    }
    Some(at)
}

fn without_times(mut value: Value) -> Value {
    match &mut value {
        Value::Object(map) => {
            map.remove("lastTransitionTime");
            map.values_mut().for_each(|v| *v = without_times(v.take()));
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|v| *v = without_times(v.take()));
            // Conditions may come in any order.
            items.sort_by_key(|v| {
                v.get("reason").and(v.get("type")).and_then(Value::as_str).map(str::to_owned)
            });
        }
        _ => {}
    }
    value
}
