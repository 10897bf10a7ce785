//! Recordings: the log of requests as a conversation that can be played again, in the format of the recorded
//! conversations that this project is tested with.
//!
//! Resource versions and uids that a client had from an earlier answer are captured there and put in again, so that a
//! recording can be played to any server. Watches are opened where they began, and their events are expected at the end.
//! Protobuf becomes JSON, which has these texts in the open. An admin plays a recording: requests of other users
//! impersonate them.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pleach_auth::user::MASTERS;
use pleach_json::{Map, Value, json};

use crate::normal::normal;
use crate::request_log::{Delivery, LoggedRequest};
use crate::watch_events::WatchEvents;

/// Where a resource version or uid is seen first: the step, and the path in its answer.
type Seen = HashMap<String, (usize, String)>;

/// A conversation of the requests that were carried out, by this name.
pub fn recording(name: &str, requests: &[LoggedRequest]) -> Value {
    let mut steps: Vec<Map> = Vec::new();
    let mut ends: Vec<Map> = Vec::new();
    let (mut versions, mut uids) = (Seen::new(), Seen::new());
    for request in requests.iter().filter(|request| request.delivery != Delivery::NotCarriedOut) {
        let mut captures = Captures { versions: &versions, uids: &uids, steps: &mut steps };
        let path = captures.path(&request.uri);
        if request.verb == "watch" {
            if !request.answer.content_type().contains("cbor") && request.code == 200 {
                let watch = format!("watch{}", request.number);
                steps.push(watch_step(&path, &watch, impersonation(request)));
                ends.push(events_step(&watch, request));
            }
            continue;
        }
        let mut sent = Map::new();
        sent.insert("method", request.method.clone());
        sent.insert("path", path);
        captures.body(request, &mut sent);
        let mut headers = impersonation(request);
        for (name, value) in [("Content-Type", &request.content_type), ("Accept", &request.accept)] {
            if !value.is_empty() {
                headers.insert(name, value.replace(PROTOBUF, "application/json"));
            }
        }
        if !headers.is_empty() {
            sent.insert("headers", headers);
        }
        let mut step = Map::new();
        step.insert("request", sent);
        let answer = request.answer.bytes().and_then(|bytes| match request.answer.content_type() {
            kind if is_json(&kind) => pleach_json::parse(&bytes).ok(),
            kind if is_protobuf(&kind) => pleach_protobuf::answer(&bytes),
            _ => None,
        });
        if request.delivery == Delivery::Lost {
            // The client was answered by a fault rule.
            step.insert("unchecked", true);
        } else {
            let mut expect = Map::new();
            expect.insert("status", i64::from(request.code));
            match &answer {
                Some(body) => expect.insert("body", normal(body)),
                None => {
                    step.insert("only", Vec::<Value>::new());
                    expect.insert("body", Map::new())
                }
            };
            step.insert("expect", expect);
        }
        if let Some(answer) = &answer {
            remember(answer, steps.len(), &mut versions, &mut uids);
        }
        steps.push(step);
    }
    let mut case = Map::new();
    case.insert("name", name);
    case.insert("area", name.split('/').next().unwrap_or_default());
    case.insert("about", "Recorded by a test.");
    case.insert("steps", steps.into_iter().chain(ends).map(Value::from).collect::<Vec<_>>());
    case.into()
}

fn is_json(content_type: &str) -> bool {
    content_type.starts_with("application/json")
}

/// The media type of protobuf.
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

fn is_protobuf(content_type: &str) -> bool {
    content_type.starts_with(PROTOBUF)
}

/// Groups that users have without being given them.
const OF_ALL_USERS: [&str; 2] = ["system:authenticated", "system:unauthenticated"];

/// The headers by which an admin makes the request of another user.
fn impersonation(request: &LoggedRequest) -> Map {
    let mut headers = Map::new();
    let mut add = |name: &str, value: &str| {
        let values = headers.get_or_insert_with(name, || Vec::<Value>::new().into());
        if let Some(values) = values.as_array_mut() {
            values.push(value.into());
        }
    };
    if !request.impersonation.is_empty() {
        request.impersonation.iter().for_each(|(name, value)| add(name, value));
    } else if !request.user.is_empty() && !request.groups.iter().any(|group| group == MASTERS) {
        add("Impersonate-User", &request.user);
        let groups = request.groups.iter().filter(|group| !OF_ALL_USERS.contains(&group.as_str()));
        groups.for_each(|group| add("Impersonate-Group", group));
    }
    headers
}

/// Replaces what was seen in earlier answers, and captures it there.
struct Captures<'a> {
    versions: &'a Seen,
    uids: &'a Seen,
    steps: &'a mut Vec<Map>,
}

impl Captures<'_> {
    fn capture(&mut self, kind: &str, seen: &(usize, String)) -> String {
        let (at, path) = seen;
        let name = format!("{kind}{at}{}", if path.starts_with("items") { path } else { "" });
        let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        if let Some(step) = self.steps.get_mut(*at) {
            let captures = step.get_or_insert_with("capture", || Map::new().into());
            if let Some(captures) = captures.as_object_mut() {
                captures.insert(name.clone(), path.clone());
            }
        }
        format!("${{{name}}}")
    }

    fn version(&mut self, text: &str) -> Option<String> {
        let seen = self.versions.get(text)?;
        Some(self.capture("version", seen))
    }

    /// A path whose resource version is put in.
    fn path(&mut self, uri: &str) -> String {
        let Some((path, query)) = uri.split_once('?') else { return uri.to_owned() };
        let parts = query.split('&').map(|part| match part.split_once('=') {
            Some((name @ "resourceVersion", value)) => match self.version(value) {
                Some(captured) => format!("{name}={captured}"),
                None => part.to_owned(),
            },
            _ => part.to_owned(),
        });
        format!("{path}?{}", parts.collect::<Vec<_>>().join("&"))
    }

    fn body(&mut self, request: &LoggedRequest, sent: &mut Map) {
        if request.body.is_empty() {
            return;
        }
        let decoded = match request.method.as_str() {
            _ if !is_protobuf(&request.content_type) => pleach_json::parse(&request.body).ok(),
            "DELETE" => pleach_protobuf::delete_options(&request.body).ok(),
            _ => pleach_protobuf::any_object(&request.body),
        };
        if let Some(mut value) = decoded {
            self.value(&mut value, "");
            sent.insert("body", value);
        } else if let Ok(text) = std::str::from_utf8(&request.body) {
            sent.insert("rawBody", text);
        } else {
            sent.insert("bodyBase64", STANDARD.encode(&request.body));
        }
    }

    fn value(&mut self, value: &mut Value, key: &str) {
        pleach_json::grow_stack(|| match value {
            Value::Object(map) => {
                for (name, value) in map.iter_mut() {
                    let name = name.clone();
                    self.value(value, &name);
                }
            }
            Value::Array(_) => {
                for item in value.as_array_mut().into_iter().flat_map(|items| items.iter_mut()) {
                    self.value(item, "");
                }
            }
            Value::String(text) => {
                let captured = match key {
                    "resourceVersion" => self.version(text),
                    _ => self.uids.get(text.as_str()).map(|seen| self.capture("uid", seen)),
                };
                if let Some(captured) = captured {
                    *value = captured.into();
                }
            }
            _ => {}
        });
    }
}

/// Takes note of the resource versions and uids of an answer: an object, or a list of objects.
fn remember(answer: &Value, step: usize, versions: &mut Seen, uids: &mut Seen) {
    let mut note = |object: &Value, prefix: &str| {
        let text =
            |name| object.at(&["metadata", name]).and_then(Value::as_str).filter(|text| !text.is_empty());
        if let Some(version) = text("resourceVersion") {
            let path = format!("{prefix}metadata.resourceVersion");
            versions.entry(version.to_owned()).or_insert((step, path));
        }
        if let Some(uid) = text("uid") {
            uids.entry(uid.to_owned()).or_insert((step, format!("{prefix}metadata.uid")));
        }
    };
    note(answer, "");
    let items = answer.get("items").and_then(Value::as_array);
    for (at, item) in items.into_iter().flat_map(|items| items.iter()).enumerate() {
        note(item, &format!("items[{at}]."));
    }
}

fn watch_step(path: &str, name: &str, headers: Map) -> Map {
    let mut watch = Map::new();
    if !headers.is_empty() {
        watch.insert("headers", headers);
    }
    watch.insert("path", path);
    watch.insert("as", name);
    let mut step = Map::new();
    step.insert("watch", watch);
    step
}

fn events_step(name: &str, request: &LoggedRequest) -> Map {
    let kind = request.answer.content_type();
    let mut frames = WatchEvents::new(&kind);
    frames.push(&request.answer.bytes().unwrap_or_default());
    let events = std::iter::from_fn(|| frames.next());
    let events = events.filter_map(|frame| {
        if is_protobuf(&kind) {
            let (event_type, object) = pleach_protobuf::read_event(&frame)?;
            return Some(json!({"type": event_type, "object": object}));
        }
        pleach_json::parse(&frame).ok()
    });
    // Bookmarks come by the server's clock.
    let events = events.filter(|event| event.get("type").and_then(Value::as_str) != Some("BOOKMARK"));
    let events: Vec<Value> = events.map(|event| normal(&event)).collect();
    let mut watch = Map::new();
    watch.insert("as", name);
    watch.insert("count", events.len() as i64);
    let mut expect = Map::new();
    expect.insert("events", events);
    let mut step = Map::new();
    step.insert("expectWatch", watch);
    step.insert("expect", expect);
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, uri: &str, body: &str, answer: &str) -> LoggedRequest {
        let request = LoggedRequest {
            method: method.into(),
            uri: uri.into(),
            body: body.to_owned().into(),
            code: 200,
            ..LoggedRequest::default()
        };
        request.answer.begin("application/json");
        request.answer.push(&answer.to_owned().into());
        request
    }

    #[test]
    fn versions_of_earlier_answers_are_captured() {
        let case = recording(
            "tests/a",
            &[
                request("GET", "/a", "", r#"{"metadata":{"resourceVersion":"7","uid":"u"}}"#),
                request("PUT", "/a", r#"{"metadata":{"resourceVersion":"7","uid":"u"}}"#, "{}"),
                request("GET", "/a?watch=false&resourceVersion=7", "", "{}"),
            ],
        );
        let text = pleach_json::to_string(&case);
        let text = text.replace("\\u003c", "<").replace("\\u003e", ">").replace("\\u0026", "&");
        for part in [
            r#""capture":{"uid0":"metadata.uid","version0":"metadata.resourceVersion"}"#,
            r#""body":{"metadata":{"resourceVersion":"${version0}","uid":"${uid0}"}}"#,
            r#""path":"/a?watch=false&resourceVersion=${version0}""#,
            r#""expect":{"body":{"metadata":{"resourceVersion":"<resourceVersion>","uid":"<uid>"}},"status":200}"#,
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn refused_requests_are_left_out() {
        let mut refused = request("POST", "/a", "{}", "");
        refused.delivery = Delivery::NotCarriedOut;
        let mut lost = request("POST", "/b", "{}", "{}");
        lost.delivery = Delivery::Lost;
        let case = recording("tests/a", &[refused, lost]);
        let steps = case.get("steps").and_then(Value::as_array).unwrap();
        assert_eq!(steps.len(), 1);
        assert_eq!(steps[0].get("unchecked").and_then(Value::as_bool), Some(true));
    }
}
