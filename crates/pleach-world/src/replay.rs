//! Plays recordings to a world, and says where its answers differ.
//!
//! Of the format of recorded conversations this knows what [`crate::recording()`] writes: requests with captures,
//! expected answers, watches and their events.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http::header::{HeaderName, HeaderValue};
use http_body_util::BodyExt as _;
use pleach_auth::UserInfo;
use pleach_json::{Map, Value};

use crate::normal::normal;
use crate::request_log::Answer;
use crate::world::World;

/// How long events of a watch are waited for.
const EVENTS: Duration = Duration::from_secs(5);

/// How often it looks.
const POLL: Duration = Duration::from_millis(2);

struct Player<'a> {
    world: &'a World,
    user: Arc<UserInfo>,
    captured: BTreeMap<String, String>,
    watches: HashMap<String, (Answer, tokio::task::AbortHandle)>,
}

/// Plays a recording as the admin; returns a line for each difference.
pub async fn replay(world: &World, recording: &Value) -> Result<Vec<String>, String> {
    let steps = recording.get("steps").and_then(Value::as_array).ok_or("a recording has steps")?;
    let (captured, watches) = (BTreeMap::new(), HashMap::new());
    let mut player = Player { world, user: World::admin(), captured, watches };
    let mut differences = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let played = player.play(step).await.map_err(|error| format!("step {number}: {error}"))?;
        differences.extend(played.map(|difference| format!("step {number}: {difference}")));
    }
    for (_, task) in player.watches.into_values() {
        task.abort();
    }
    Ok(differences)
}

impl Player<'_> {
    async fn play(&mut self, step: &Value) -> Result<Option<String>, String> {
        if let Some(watch) = step.get("watch") {
            self.watch(watch).await?;
            return Ok(None);
        }
        if let Some(watch) = step.get("expectWatch") {
            let expected = step.at(&["expect", "events"]).cloned().unwrap_or_default();
            let events = self.events(watch, &expected).await?;
            return Ok(difference(&expected, &events));
        }
        let request = step.get("request").ok_or("neither a request nor a watch")?;
        let (status, body) = self.request(request).await?;
        if let Some(captures) = step.get("capture").and_then(Value::as_object) {
            for (name, path) in captures.iter() {
                let found = path.as_str().and_then(|path| at_path(&body, path)).and_then(Value::as_str);
                self.captured.insert(name.to_string(), found.unwrap_or("None").to_owned());
            }
        }
        let Some(expect) = step.get("expect").filter(|_| step.get("unchecked").is_none()) else {
            return Ok(None);
        };
        let wanted = expect.get("status").and_then(Value::as_int);
        if wanted != Some(i64::from(status)) {
            return Ok(Some(format!("status {status}, not {wanted:?}: {}", pleach_json::to_string(&body))));
        }
        if step.get("only").is_some() {
            return Ok(None);
        }
        Ok(difference(expect.get("body").unwrap_or(&Value::Null), &normal(&body)))
    }

    fn fill(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for (name, value) in &self.captured {
            out = out.replace(&format!("${{{name}}}"), value);
        }
        out
    }

    fn message(&self, request: &Value) -> Result<Request<Bytes>, String> {
        let text = |name| request.get(name).and_then(Value::as_str);
        let mut message = Request::new(match (request.get("body"), text("rawBody")) {
            (Some(body), _) => self.fill(&pleach_json::to_string(body)).into(),
            (None, Some(raw)) => self.fill(raw).into(),
            (None, None) => match text("bodyBase64") {
                Some(encoded) => {
                    use base64::Engine as _;
                    let decoded = base64::engine::general_purpose::STANDARD.decode(encoded);
                    decoded.map_err(|error| error.to_string())?.into()
                }
                None => Bytes::new(),
            },
        });
        let path = self.fill(text("path").ok_or("a request has a path")?);
        *message.uri_mut() = path.parse().map_err(|error| format!("{path}: {error}"))?;
        let method = text("method").unwrap_or("GET");
        *message.method_mut() = method.parse().map_err(|error| format!("{method}: {error}"))?;
        let headers = request.get("headers").and_then(Value::as_object);
        for (name, value) in headers.into_iter().flat_map(Map::iter) {
            // A list is sent several times.
            let values = value.as_array().map_or_else(|| vec![value], |values| values.iter().collect());
            for value in values {
                let value = value.as_str().map(|value| self.fill(value)).unwrap_or_default();
                let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::try_from(value)) else {
                    return Err(format!("{name} is no header"));
                };
                message.headers_mut().append(name, value);
            }
        }
        Ok(message)
    }

    async fn request(&self, request: &Value) -> Result<(u16, Value), String> {
        let message = self.message(request)?;
        let answer = self.world.handle(message, Some(&self.user)).await.map_err(|error| error.to_string())?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
        let text = || Value::from(String::from_utf8_lossy(&body).into_owned());
        Ok((
            status,
            if body.is_empty() { Value::Null } else { pleach_json::parse(&body).unwrap_or_else(|_| text()) },
        ))
    }

    async fn watch(&mut self, watch: &Value) -> Result<(), String> {
        let name = watch.get("as").and_then(Value::as_str).unwrap_or_default().to_owned();
        let message = self.message(watch)?;
        let answer = self.world.handle(message, Some(&self.user)).await.map_err(|error| error.to_string())?;
        let (seen, mut body) = (Answer::default(), answer.into_body());
        let taken = seen.clone();
        let task = tokio::spawn(async move {
            while let Some(Ok(frame)) = body.frame().await {
                if let Some(data) = frame.data_ref() {
                    taken.push(data);
                }
            }
        });
        self.watches.insert(name, (seen, task.abort_handle()));
        Ok(())
    }

    /// As many events of a watch as are expected.
    async fn events(&self, watch: &Value, expected: &Value) -> Result<Value, String> {
        let name = watch.get("as").and_then(Value::as_str).unwrap_or_default();
        let count = expected.as_array().map_or(0, |events| events.len());
        let (seen, _) = self.watches.get(name).ok_or_else(|| format!("there is no watch {name:?}"))?;
        let deadline = tokio::time::Instant::now() + EVENTS;
        loop {
            let bytes = seen.bytes().unwrap_or_default();
            let events = bytes.split(|byte| *byte == b'\n').filter_map(|line| pleach_json::parse(line).ok());
            let events = events.filter(|event| event.get("type").and_then(Value::as_str) != Some("BOOKMARK"));
            let events: Vec<Value> = events.take(count).map(|event| normal(&event)).collect();
            if events.len() == count || tokio::time::Instant::now() > deadline {
                return Ok(events.into());
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

/// The value at a path such as `items[0].metadata.uid`.
fn at_path<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split(['.', '[', ']']).filter(|part| !part.is_empty()).try_fold(value, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        value => value.get(part),
    })
}

/// The first place at which two values differ.
fn difference(expected: &Value, found: &Value) -> Option<String> {
    fn walk(expected: &Value, found: &Value, path: &str) -> Option<String> {
        pleach_json::grow_stack(|| match (expected, found) {
            (Value::Object(a), Value::Object(b)) => {
                let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(name)));
                names.into_iter().find_map(|name| {
                    let null = Value::Null;
                    let (a, b) = (a.get(name).unwrap_or(&null), b.get(name).unwrap_or(&null));
                    walk(a, b, &format!("{path}.{name}"))
                })
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                let pairs = a.iter().zip(b.iter()).enumerate();
                pairs.into_iter().find_map(|(at, (a, b))| walk(a, b, &format!("{path}[{at}]")))
            }
            (a, b) if a == b => None,
            (a, b) => Some(format!(
                "{path}: {} instead of {}",
                pleach_json::to_string(b),
                pleach_json::to_string(a)
            )),
        })
    }
    walk(expected, found, "")
}
