//! Conversion webhooks of custom resources.
//!
//! It is called with one object at a time, also in lists: that is how upstream reads from its store, and
//! one object that cannot be converted does not depend on its neighbours.

use bytes::Bytes;
use pleach_go::base64;
use std::time::Duration;

use pleach_json::{Map, Str, Value};
use pleach_meta::object_meta::{ObjectMeta, validate_annotations, validate_labels};
use pleach_meta::{FieldErrors, Path, field_error};

use super::caller::{Address, CallError, Caller, Place};
use super::excerpt::{EXCERPT, MESSAGE, excerpt, excerpt_of};
use super::review;

/// How long a conversion may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The group of conversion reviews.
const GROUP: &str = "apiextensions.k8s.io";

/// A webhook that converts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Converter {
    address: Address,
    /// `v1` or `v1beta1`: the first form of review that both sides know.
    review: &'static str,
}

impl Converter {
    /// The webhook that a CRD names.
    pub(crate) fn of(conversion: &pleach_crd::Conversion) -> Self {
        let client = conversion.webhook_client_config.clone().unwrap_or_default();
        let place = match (client.url, client.service) {
            (Some(url), _) => Place::Url(url),
            (None, service) => {
                let service = service.unwrap_or_default();
                Place::Service {
                    namespace: service.namespace,
                    name: service.name,
                    path: service.path.unwrap_or_default(),
                    port: service.port.and_then(|port| u16::try_from(port).ok()).unwrap_or(443),
                }
            }
        };
        let bundle = base64::decode(client.ca_bundle.unwrap_or_default().as_str());
        // White space stands for nothing.
        let bundle = bundle.unwrap_or_default();
        let bundle = if bundle.trim_ascii().is_empty() { Vec::new() } else { bundle };
        let mut reviews = conversion.conversion_review_versions.iter().flatten();
        let review = reviews.find_map(|version| review::known_version(version)).unwrap_or("v1");
        Self { address: Address { place, ca_bundle: bundle.into() }, review }
    }

    /// Has an object converted. The texts of errors are whole messages.
    pub(crate) async fn convert(
        &self,
        caller: &dyn Caller,
        uid: Str,
        object: &Value,
        to: &str,
    ) -> Result<Value, CallError> {
        let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
        if is_empty(object) {
            let mut converted = object.clone();
            converted.as_object_mut().map(|members| members.insert("apiVersion", to));
            return Ok(converted);
        }
        let webhook = format!("conversion webhook for {}, Kind={}", text("apiVersion"), text("kind"));
        let request = self.request(&uid, object, to);
        let answer = match caller.call(&self.address, request, PATIENCE).await {
            Ok(answer) => self.read(&answer, &uid),
            Err(CallError::Failed(problem)) => Err(problem),
            Err(CallError::Overloaded) => return Err(CallError::Overloaded),
        };
        let returned = answer.map_err(|problem| format!("{webhook} failed: {problem}"))?;
        if returned.len() != 1 {
            return Err(format!("{webhook} returned {} objects, expected 1", returned.len()).into());
        }
        Ok(accept(&webhook, object, returned.into_iter().next().unwrap_or_default(), to)?)
    }

    fn request(&self, uid: &str, object: &Value, to: &str) -> Bytes {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            // The store's, not the object's.
            metadata.remove("resourceVersion");
        }
        let mut request = Map::new();
        request.insert("desiredAPIVersion", to);
        request.insert("objects", vec![object]);
        request.insert("uid", uid);
        let mut out = review::envelope(GROUP, self.review, "ConversionReview");
        out.insert("request", request);
        pleach_json::to_vec(&out.into()).into()
    }

    /// The objects of an answer.
    fn read(&self, answer: &[u8], uid: &str) -> Result<Vec<Value>, String> {
        let review = review::read(answer, GROUP, self.review, "ConversionReview")?;
        let Some(response) = review.get("response").filter(|response| !response.is_null()) else {
            return Err("no response provided".into());
        };
        if self.review == "v1" {
            review::check_uid(response, uid)?;
        }
        let result = |key: &str| response.at(&["result", key]).and_then(Value::as_str).unwrap_or_default();
        if result("status") != "Success" {
            return Err(match result("message") {
                "" => format!("response.result.status was '{}', not 'Success'", excerpt(result("status"))),
                message => excerpt_of(message, MESSAGE).into(),
            });
        }
        let objects = response.get("convertedObjects").and_then(Value::as_array);
        Ok(objects.map(|objects| objects.iter().cloned().collect()).unwrap_or_default())
    }
}

/// Whether an object has no fields beside `apiVersion`, `kind` and `metadata`.
fn is_empty(object: &Value) -> bool {
    object.as_object().is_some_and(|members| members.keys().all(|key| key == "apiVersion" || key == "kind"))
}

/// The converted object, if it is still the same one, with the metadata it had. Only labels and
/// annotations are the webhook's.
fn accept(webhook: &str, from: &Value, mut converted: Value, to: &str) -> Result<Value, String> {
    if converted.is_null() {
        return Err("unexpected end of JSON input".into());
    }
    let text = |object: &Value, key: &str| -> Str {
        object.get(key).and_then(Value::as_str).unwrap_or_default().into()
    };
    let (kind, received) = (text(from, "kind"), text(&converted, "kind"));
    if received.is_empty() {
        let shown = pleach_json::to_string(&converted);
        return Err(format!("Object 'Kind' is missing in '{}'", excerpt(&shown)));
    }
    let invalid = |what: &str, expected: &str, received: &str| {
        format!(
            "{webhook} returned invalid object at index 0: invalid {what} (expected {expected}, received {})",
            excerpt(received)
        )
    };
    if text(&converted, "apiVersion") != to {
        return Err(invalid("groupVersion", to, &text(&converted, "apiVersion")));
    }
    if received != kind {
        return Err(invalid("kind", &kind, &received));
    }
    let (was, is) = (ObjectMeta::of(from), ObjectMeta::of(&converted));
    for (what, was, is) in [
        ("name", was.name(), is.name()),
        ("namespace", was.namespace(), is.namespace()),
        ("UID", was.uid(), is.uid()),
    ] {
        if was != is {
            let is = excerpt(is);
            return Err(format!(
                "{webhook} returned invalid object: must have the same {what}: {was} != {is}"
            ));
        }
    }
    let metadata = restored(from, &converted)
        .map_err(|problem| format!("{webhook} returned invalid metadata: {problem}"))?;
    if let Some(members) = converted.as_object_mut() {
        members.insert("metadata", metadata);
    }
    Ok(converted)
}

/// The metadata of an object with the labels and annotations of another.
fn restored(from: &Value, converted: &Value) -> Result<Value, String> {
    // The object may be a part of one, made to find the owners of its fields; upstream asks for metadata then too.
    let original = from.get("metadata").filter(|metadata| metadata.as_object().is_some());
    let original = original.cloned().unwrap_or_else(Value::object);
    let given = match converted.get("metadata") {
        None => return Err("missing metadata in converted object".into()),
        Some(Value::Object(given)) => given,
        Some(other) => {
            let found = pleach_go::fmt::go_type(other);
            return Err(format!("invalid metadata of type {found} in converted object"));
        }
    };
    let mut metadata = original.clone();
    let Some(members) = metadata.as_object_mut() else { return Ok(metadata) };
    let mut errors = FieldErrors::new();
    for (key, shown) in [("labels", "labels"), ("annotations", "annotation")] {
        let new = given.get(key).filter(|value| !value.is_null());
        if let Some(new) = new {
            check_texts(key, new)?;
        }
        if new == original.get(key) {
            continue;
        }
        let path = Path::new("metadata");
        if key == "labels" {
            validate_labels(new, &path.child(shown), &mut errors);
        } else {
            validate_annotations(new, &path.child(shown), &mut errors);
        }
        match new.filter(|new| new.as_object().is_some_and(|members| !members.is_empty())) {
            Some(new) => members.insert(key, new.clone()),
            None => members.remove(key),
        };
    }
    if errors.is_empty() {
        Ok(metadata)
    } else {
        Err(excerpt_of(&field_error::aggregate(&errors), 4 * EXCERPT).into())
    }
}

/// Labels and annotations are texts by key.
fn check_texts(key: &str, value: &Value) -> Result<(), String> {
    let go_type = pleach_go::fmt::go_type;
    let Some(members) = value.as_object() else {
        return Err(format!("invalid metadata.{key} of type {} in converted object", go_type(value)));
    };
    match members.iter().find(|(_, value)| value.as_str().is_none()) {
        Some((name, value)) => Err(format!(
            "metadata.{key}[{}] must be a string, but is {} in converted object",
            excerpt(name),
            go_type(value)
        )),
        None => Ok(()),
    }
}
