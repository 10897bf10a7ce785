//! The behaviours of the webhook that the recorded cases call: one fixed behaviour per path.
//!
//! Objects are converted between two forms of one kind: v1 has `spec.hostPort`, `h:80`; the others have
//! `spec.host` and `spec.port`.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::hooks::Reply;

/// The port that the recorded cases name.
pub const RECORDED_PORT: u16 = 19443;
/// No question has this uid.
const OTHER_UID: &str = "11111111-2222-3333-4444-555555555555";

/// The answer of the webhook under a path.
pub fn answer(path: &str, review: &Value) -> Reply {
    match path.trim_start_matches('/').split_once('/') {
        Some(("convert", behaviour)) => conversion(behaviour, review),
        Some(("admit", behaviour)) => admission(behaviour, review),
        _ => (404, "no such webhook\n".into()),
    }
}

fn conversion(behaviour: &str, review: &Value) -> Reply {
    match behaviour {
        "status500" => return (500, "boom\n".into()),
        "status404" => return (404, "nothing here\n".into()),
        "not-json" => return (200, "this is not JSON".into()),
        "empty" => return (200, String::new()),
        _ => {}
    }
    let request = &review["request"];
    let wanted = request["desiredAPIVersion"].as_str().unwrap_or_default();
    let objects = request["objects"].as_array().cloned().unwrap_or_default();
    let mut response = json!({"uid": request["uid"], "result": {"status": "Success"}});
    match converted(behaviour, &objects, wanted) {
        Ok(objects) => response["convertedObjects"] = objects.into(),
        Err(refusal) => response["result"] = json!({"status": "Failure", "message": refusal}),
    }
    let mut answer =
        json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response});
    match behaviour {
        "wrong-uid" => answer["response"]["uid"] = OTHER_UID.into(),
        "wrong-review" => {
            answer["apiVersion"] = "example.com/v7".into();
            answer["kind"] = "SomethingElse".into();
        }
        "no-result" => remove(&mut answer["response"], "result"),
        "no-response" => remove(&mut answer, "response"),
        _ => {}
    }
    (200, answer.to_string())
}

/// The converted objects, spoiled as the behaviour says, or why there are none.
fn converted(behaviour: &str, objects: &[Value], wanted: &str) -> Result<Vec<Value>, String> {
    match behaviour {
        "refuse" => return Err("I refuse".into()),
        "refuse-bad" if objects.iter().any(|object| object["metadata"]["name"] == "bad") => {
            return Err("I do not convert bad objects".into());
        }
        "missing" => return Ok(Vec::new()),
        "wrong-version" => return Ok(objects.to_vec()),
        "null-object" => return Ok(vec![Value::Null; objects.len()]),
        _ => {}
    }
    let mut converted: Vec<Value> = objects.iter().map(|object| convert(object, wanted)).collect();
    match behaviour {
        "extra" => converted.extend(converted.first().cloned()),
        "reverse" => converted.reverse(),
        _ => converted.iter_mut().for_each(|object| spoil(behaviour, object)),
    }
    Ok(converted)
}

fn convert(object: &Value, wanted: &str) -> Value {
    let is_old = |api_version: &str| api_version.rsplit('/').next() == Some("v1");
    let (from, to) = (is_old(object["apiVersion"].as_str().unwrap_or_default()), is_old(wanted));
    let mut out = object.clone();
    out["apiVersion"] = wanted.into();
    let Some(spec) = out.get_mut("spec").and_then(Value::as_object_mut) else { return out };
    let text = |value: Option<Value>| value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
    if from && !to && spec.contains_key("hostPort") {
        let joined = text(spec.remove("hostPort"));
        let (host, port) = joined.split_once(':').unwrap_or((&joined, ""));
        spec.insert("host".into(), host.into());
        spec.insert("port".into(), port.into());
    } else if !from && to && (spec.contains_key("host") || spec.contains_key("port")) {
        let (host, port) = (text(spec.remove("host")), text(spec.remove("port")));
        spec.insert("hostPort".into(), format!("{host}:{port}").into());
    }
    out
}

fn spoil(behaviour: &str, object: &mut Value) {
    let metadata = &mut object["metadata"];
    match behaviour {
        "wrong-kind" => object["kind"] = "Bar".into(),
        "wrong-group" => object["apiVersion"] = "other.example.com/v1".into(),
        "no-kind" => remove(object, "kind"),
        "no-metadata" => remove(object, "metadata"),
        "no-spec" => remove(object, "spec"),
        "rename" => metadata["name"] = "renamed".into(),
        "move" => metadata["namespace"] = "kube-system".into(),
        "new-uid" => metadata["uid"] = "00000000-1111-2222-3333-444444444444".into(),
        "labels" => {
            metadata["labels"] = json!({"converted": "yes"});
            metadata["annotations"] = json!({"converted": "yes"});
        }
        "metadata" => {
            metadata["generation"] = 99.into();
            metadata["finalizers"] = json!(["example.com/sneaky"]);
            metadata["resourceVersion"] = "1".into();
            metadata["creationTimestamp"] = "2001-01-01T00:00:00Z".into();
        }
        "bad-labels" => metadata["labels"] = json!({"b@d": "!"}),
        "unknown-fields" => object["spec"]["surprise"] = json!({"a": 1}),
        "wrong-types" => {
            object["spec"]["host"] = 5.into();
            object["spec"]["port"] = json!({"not": "text"});
        }
        _ => {}
    }
}

fn admission(behaviour: &str, review: &Value) -> Reply {
    let request = &review["request"];
    let text = |key: &str| request[key].as_str().unwrap_or_default();
    let mut response = json!({"uid": request["uid"], "allowed": true});
    let deny = |status: Value| json!({"uid": request["uid"], "allowed": false, "status": status});
    let patch = match behaviour {
        "status500" => return (500, "boom\n".into()),
        "not-json" => return (200, "this is not JSON".into()),
        "allow" => None,
        "deny" => {
            let name = if text("name").is_empty() { "?" } else { text("name") };
            let message = format!("{} of {name} is not to my taste", text("operation"));
            response = deny(json!({"message": message}));
            None
        }
        "deny-code" => {
            response = deny(json!({"message": "teapot", "reason": "Teapot", "code": 418}));
            None
        }
        "deny-bare" => {
            response["allowed"] = false.into();
            None
        }
        "deny-bad" => {
            let subject = if request["object"].is_object() { "object" } else { "oldObject" };
            if request[subject]["spec"]["a"] == "bad" {
                response = deny(json!({"message": "spec.a is bad"}));
            }
            None
        }
        "warn" => {
            response["warnings"] =
                json!(["first warning", "second warning with \"quotes\"", "x".repeat(300)]);
            None
        }
        "wrong-uid" => {
            response["uid"] = OTHER_UID.into();
            None
        }
        "mutate" => Some(json!([
            {"op": "add", "path": "/metadata/labels", "value": {"mutated": "yes"}},
            {"op": "add", "path": "/spec/n", "value": 42},
        ])),
        "mutate-unknown" => Some(json!([{"op": "add", "path": "/spec/unknown", "value": 1}])),
        "mutate-invalid" => Some(json!([{"op": "add", "path": "/spec/n", "value": "text"}])),
        "mutate-name" => Some(json!([{"op": "replace", "path": "/metadata/name", "value": "other"}])),
        "mutate-status" => Some(json!([{"op": "add", "path": "/status", "value": {"phase": "mutated"}}])),
        "bad-patch" => Some(json!([{"op": "remove", "path": "/spec/not/there"}])),
        "describe" => Some(json!([
            {"op": "add", "path": "/metadata/annotations", "value": {"seen": described(request)}},
        ])),
        _ => return (404, "no such behaviour\n".into()),
    };
    if let Some(patch) = patch {
        response["patchType"] = "JSONPatch".into();
        response["patch"] = BASE64_STANDARD.encode(patch.to_string()).into();
    }
    let answer = json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response});
    (200, answer.to_string())
}

/// A request in one line, as the recorded cases quote it.
fn described(request: &Value) -> String {
    let fields = ["dryRun", "name", "namespace", "operation", "subResource"];
    let fields: Vec<String> = fields.iter().map(|key| format!("\"{key}\": {}", request[*key])).collect();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!(
        "{{{}}} {} {} {} {}",
        fields.join(", "),
        text(&request["kind"]["version"]),
        text(&request["resource"]["resource"]),
        text(&request["requestKind"]["version"]),
        text(&request["options"]["kind"])
    )
}

fn remove(object: &mut Value, key: &str) {
    if let Some(members) = object.as_object_mut() {
        members.remove(key);
    }
}
