//! One recorded conversation, played.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::compare::{difference, normal, normal_text, order_free, pointer, remove};
use crate::http::{ABSENT, Endpoint};
use crate::protobuf;

const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
const RETRY_FOR: Duration = Duration::from_secs(15);
const RETRY_EVERY: Duration = Duration::from_millis(50);

/// A recorded conversation.
pub struct Case {
    /// `area/name`
    pub name: String,
    steps: Vec<Value>,
    /// The body of each step's request, letter for letter as it was sent.
    bodies: Vec<Option<String>>,
}

/// The part of a case in which the spelling counts: numbers, the order of keys.
#[derive(serde::Deserialize)]
struct RawCase<'a> {
    #[serde(borrow)]
    steps: Vec<RawStep<'a>>,
}

#[derive(serde::Deserialize)]
struct RawStep<'a> {
    #[serde(borrow)]
    request: Option<RawRequest<'a>>,
}

#[derive(serde::Deserialize)]
struct RawRequest<'a> {
    #[serde(borrow)]
    body: Option<&'a RawValue>,
}

/// The result of playing a case: the differences, if any.
pub type Outcome = Vec<String>;

/// The events of a watch, as they come in.
#[derive(Default)]
struct Events {
    seen: Mutex<Vec<Value>>,
    more: Condvar,
}

impl Case {
    /// Reads a case.
    pub fn parse(name: &str, text: &str) -> Result<Self, serde_json::Error> {
        let case: Value = serde_json::from_str(text)?;
        let steps = case.get("steps").and_then(Value::as_array).cloned().unwrap_or_default();
        let raw: RawCase<'_> = serde_json::from_str(text)?;
        let body = |step: RawStep<'_>| step.request?.body.map(|body| as_sent(body.get()));
        let bodies = raw.steps.into_iter().map(body).collect();
        Ok(Self { name: name.to_owned(), steps, bodies })
    }

    /// Plays it. Whatever CRDs it made are deleted afterwards.
    pub fn play(&self, endpoint: &Endpoint) -> Outcome {
        let mut player =
            Player { endpoint, variables: BTreeMap::new(), watches: HashMap::new(), crds: Vec::new() };
        let outcome = player.play(&self.steps, &self.bodies);
        player.clean_up();
        outcome
    }
}

struct Player<'a> {
    endpoint: &'a Endpoint,
    variables: BTreeMap<String, String>,
    watches: HashMap<String, Arc<Events>>,
    crds: Vec<String>,
}

struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Value,
}

impl Player<'_> {
    fn play(&mut self, steps: &[Value], bodies: &[Option<String>]) -> Outcome {
        let mut problems = Vec::new();
        for (number, step) in steps.iter().enumerate() {
            if let Some(seconds) = step.get("sleep").and_then(Value::as_f64) {
                std::thread::sleep(Duration::from_secs_f64(seconds));
                continue;
            }
            if let Some(watch) = step.get("watch") {
                self.open_watch(watch);
                continue;
            }
            let result = if step.get("expectWatch").is_some() {
                self.expect_watch(step)
            } else {
                match self.request(step, bodies[number].as_deref()) {
                    Ok(result) => result,
                    Err(error) => {
                        problems.push(format!("step {number}: {error}"));
                        return problems;
                    }
                }
            };
            for (part, expected) in step.get("expect").and_then(Value::as_object).into_iter().flatten() {
                let expected = order_free(expected.clone());
                let got = order_free(result.get(part).cloned().unwrap_or_default());
                if expected != got {
                    let mut lines = Vec::new();
                    difference(&expected, &got, "", &mut lines);
                    lines.truncate(6);
                    problems.push(format!("step {number} {part}:\n      {}", lines.join("\n      ")));
                }
            }
        }
        problems
    }

    fn fill(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for (name, value) in &self.variables {
            out = out.replace(&format!("${{{name}}}"), value);
        }
        out
    }

    /// Sends a request. An answer in protobuf is read as a message, unless the recording has only its text.
    fn call(&mut self, request: &Value, body: Option<&str>, expects_text: bool) -> Result<Answer, String> {
        let text = |key: &str| request.get(key).and_then(Value::as_str);
        let method = text("method").unwrap_or("GET");
        let path = self.fill(text("path").unwrap_or_default());
        let body = match (text("bodyBase64"), request.get("protobuf")) {
            (Some(base64), _) => Some(STANDARD.decode(base64).map_err(|error| error.to_string())?),
            (_, Some(fields)) => Some(protobuf::envelope(fields, &|text| self.fill(text))),
            _ => text("rawBody").or(body).map(|body| self.fill(body).into_bytes()),
        };
        let headers = headers(request, &|text| self.fill(text));
        let answer = self
            .endpoint
            .send_bytes(method, &path, &headers, body.as_deref(), REQUEST_TIMEOUT)
            .map_err(|error| format!("{method} {path}: {error}"))?;
        let (status, headers) = (answer.status, answer.headers.clone());
        let raw = answer.body().map_err(|error| format!("{method} {path}: {error}"))?;
        let media = headers.iter().find(|(key, _)| key == "content-type").map_or("", |(_, value)| value);
        let body = if media.starts_with(protobuf::MEDIA_TYPE) && !expects_text {
            if media.contains("stream=watch") { protobuf::frames(&raw) } else { protobuf::unwrap(&raw) }
        } else if raw.is_empty() {
            Value::Null
        } else {
            let raw = String::from_utf8_lossy(&raw).into_owned();
            serde_json::from_str(&raw).unwrap_or(Value::String(raw))
        };
        if path.contains("/customresourcedefinitions")
            && matches!(status, 200 | 201)
            && matches!(method, "POST" | "PUT" | "PATCH")
            && let Some(name) = pointer(&body, "metadata.name").or_else(|| pointer(&body, "k8s.2.1.1"))
            && let Some(name) = name.as_str()
            && !self.crds.iter().any(|known| known == name)
        {
            self.crds.push(name.to_owned());
        }
        Ok(Answer { status, headers, body })
    }

    fn request(&mut self, step: &Value, body: Option<&str>) -> Result<Value, String> {
        let request = step.get("request").ok_or("a step without a request")?;
        let until = step.get("retryUntil");
        let deadline = Instant::now() + RETRY_FOR;
        let expects_text = pointer(step, "expect.body").is_some_and(Value::is_string);
        let answer = loop {
            let answer = self.call(request, body, expects_text)?;
            let done = until.is_none_or(|until| is_satisfied(until, &answer));
            if done || Instant::now() > deadline {
                break answer;
            }
            std::thread::sleep(RETRY_EVERY);
        };
        for (name, path) in step.get("capture").and_then(Value::as_object).into_iter().flatten() {
            let found = pointer(&answer.body, path.as_str().unwrap_or_default());
            let text = match found {
                Some(Value::String(text)) => text.clone(),
                Some(other) => other.to_string(),
                None => "None".to_owned(),
            };
            self.variables.insert(name.clone(), text);
        }
        let keep = step.get("keepManagedFields").and_then(Value::as_bool).unwrap_or(false);
        let mut body = answer.body;
        texts(step, "jwt").for_each(|path| decode_token(&mut body, path));
        let mut seen = normal(body, keep, None);
        texts(step, "ignore").for_each(|path| remove(&mut seen, path));
        for path in texts(step, "mask") {
            if pointer(&seen, path).is_some_and(|value| !value.is_null()) {
                set(&mut seen, path, json!("<any>"));
            }
        }
        for path in texts(step, "firstLine") {
            if let Some(line) = pointer(&seen, path).and_then(Value::as_str).map(first_line) {
                set(&mut seen, path, json!(line));
            }
        }
        if step.get("only").is_some() {
            let only: Map<String, Value> = texts(step, "only")
                .map(|path| (path.to_owned(), pointer(&seen, path).cloned().unwrap_or_default()))
                .collect();
            seen = Value::Object(only);
        }
        let mut result = json!({"status": answer.status, "body": seen});
        if step.get("headersOfInterest").is_some() {
            let wanted: Vec<String> = texts(step, "headersOfInterest").map(str::to_ascii_lowercase).collect();
            let mut found: Vec<Value> = answer
                .headers
                .iter()
                .filter(|(key, _)| wanted.contains(key))
                .map(|(key, value)| json!([key, normal_text(value)]))
                .collect();
            found.sort_by_key(ToString::to_string);
            result["headers"] = found.into();
        }
        Ok(result)
    }

    fn open_watch(&mut self, watch: &Value) {
        let events = Arc::new(Events::default());
        let name = watch.get("as").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.watches.insert(name, events.clone());
        let path = self.fill(watch.get("path").and_then(Value::as_str).unwrap_or_default());
        let (endpoint, headers) = (self.endpoint.clone(), headers(watch, &|text| self.fill(text)));
        let (opened, wait) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let answer = endpoint.send("GET", &path, &headers, None, Duration::from_secs(20));
            let _ = opened.send(());
            if let Ok(answer) = answer {
                let _ = answer.lines(|line| {
                    if let Ok(event) = serde_json::from_str(line) {
                        events.seen.lock().unwrap_or_else(PoisonError::into_inner).push(event);
                        events.more.notify_all();
                    }
                });
            }
        });
        let _ = wait.recv_timeout(Duration::from_secs(5));
    }

    fn expect_watch(&self, step: &Value) -> Value {
        let spec = &step["expectWatch"];
        let count = spec.get("count").and_then(Value::as_u64).unwrap_or(0) as usize;
        let seconds = spec.get("seconds").and_then(Value::as_f64).unwrap_or(5.0);
        let keep = step.get("keepManagedFields").and_then(Value::as_bool).unwrap_or(false);
        let Some(events) = spec.get("as").and_then(Value::as_str).and_then(|name| self.watches.get(name))
        else {
            return json!({"events": []});
        };
        let seen = events.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let wait = Duration::from_secs_f64(seconds);
        let (seen, _) = events
            .more
            .wait_timeout_while(seen, wait, |seen| seen.len() < count)
            .unwrap_or_else(PoisonError::into_inner);
        let shown: Vec<Value> =
            seen.iter().take(count).map(|event| normal(event.clone(), keep, None)).collect();
        json!({"events": shown})
    }

    fn clean_up(&mut self) {
        for name in std::mem::take(&mut self.crds) {
            let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
            let deadline = Instant::now() + Duration::from_secs(10);
            while Instant::now() < deadline {
                let answer = self.endpoint.send("DELETE", &path, &[], Some("{}"), REQUEST_TIMEOUT);
                if answer.is_ok_and(|answer| answer.status == 404) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    }
}

/// A body as the recording program wrote it: a blank after commas and colons, ASCII only. Messages
/// that quote the beginning of a body show the difference.
fn as_sent(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    let (mut quoted, mut escaped) = (false, false);
    for c in raw.chars() {
        if quoted {
            if c.is_ascii() {
                out.push(c);
            } else {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match c {
            c if c.is_ascii_whitespace() => {}
            ',' | ':' => out.extend([c, ' ']),
            c => {
                quoted = c == '"';
                out.push(c);
            }
        }
    }
    out
}

/// The headers of a request: a list is sent several times, and null keeps the usual header of that name away.
fn headers(request: &Value, fill: &dyn Fn(&str) -> String) -> Vec<(String, String)> {
    let mut out = Vec::new();
    for (key, value) in request.get("headers").and_then(Value::as_object).into_iter().flatten() {
        match value {
            Value::Null => out.push((key.clone(), ABSENT.to_owned())),
            Value::Array(values) => {
                out.extend(values.iter().filter_map(Value::as_str).map(|value| (key.clone(), fill(value))));
            }
            value => out.extend(value.as_str().map(|value| (key.clone(), fill(value)))),
        }
    }
    out
}

/// Shows a token as its header and claims.
fn decode_token(body: &mut Value, path: &str) {
    let Some(Value::String(token)) = pointer(body, path) else { return };
    let part = |at: usize| -> Value {
        let bytes = token.split('.').nth(at).and_then(|part| URL_SAFE_NO_PAD.decode(part).ok());
        bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
    };
    let (header, claims) = (part(0), part(1));
    set(body, path, json!({"header": header, "claims": claims}));
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Replaces the value at a path; indices stand in brackets.
fn set(body: &mut Value, path: &str, value: Value) {
    let mut at = body;
    for step in path.split(['.', '[']) {
        let next = match step.strip_suffix(']').and_then(|index| index.parse::<usize>().ok()) {
            Some(index) => at.get_mut(index),
            None => at.get_mut(step),
        };
        match next {
            Some(next) => at = next,
            None => return,
        }
    }
    *at = value;
}

fn texts<'a>(step: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    step.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

fn is_satisfied(until: &Value, answer: &Answer) -> bool {
    if let Some(status) = until.get("status").and_then(Value::as_u64)
        && status != u64::from(answer.status)
    {
        return false;
    }
    if let Some(condition) = until.get("condition").and_then(Value::as_str) {
        let conditions = pointer(&answer.body, "status.conditions").and_then(Value::as_array);
        return conditions.into_iter().flatten().any(|found| {
            found.get("type").and_then(Value::as_str) == Some(condition)
                && found.get("status").and_then(Value::as_str) == Some("True")
        });
    }
    if let Some(path) = until.get("jsonPath").and_then(Value::as_str) {
        let found = pointer(&answer.body, path).cloned().unwrap_or_default();
        return found == until.get("equals").cloned().unwrap_or_default();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::as_sent;

    #[test]
    fn bodies_keep_their_spelling() {
        let raw = "{\n \"b\": [1.0, -0.0, 1e3],\n \"a\": \"x, \\\"y\\\" é\"\n}";
        assert_eq!(as_sent(raw), "{\"b\": [1.0, -0.0, 1e3], \"a\": \"x, \\\"y\\\" \\u00e9\"}");
    }
}
