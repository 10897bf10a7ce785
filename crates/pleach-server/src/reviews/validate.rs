//! Validation of access reviews. Upstream names no kind in these errors.

use pleach_engine::rejection::{Rejection, Subject};
use pleach_json::{Map, Value, json};
use pleach_meta::FieldError;

use super::access::AccessReview;
use super::selectors;

/// Refuses a review that cannot be answered.
pub(super) fn check(review: &AccessReview<'_>, asked: &Value) -> Result<(), Rejection> {
    let errors = errors(review, asked);
    if errors.is_empty() {
        return Ok(());
    }
    let subject = Subject { group: "authorization.k8s.io".into(), ..Subject::default() };
    Err(Rejection::Invalid { subject, errors })
}

fn errors(review: &AccessReview<'_>, asked: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let empty = Value::object();
    let spec = asked.get("spec").unwrap_or(&empty);
    let member = |key: &str| spec.get(key).filter(|value| !value.is_null());
    let (resource, non_resource) = (member("resourceAttributes"), member("nonResourceAttributes"));
    match (resource, non_resource) {
        (Some(_), Some(asked)) => {
            let why = "cannot be specified in combination with resourceAttributes";
            errors.push(FieldError::invalid("spec.nonResourceAttributes", shown(asked), why));
        }
        (None, None) => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            errors.push(FieldError::invalid("spec.resourceAttributes", Value::Null, why));
        }
        _ => {}
    }
    let names_subject = !text(spec, "user").is_empty()
        || spec.get("groups").and_then(Value::as_array).is_some_and(|groups| !groups.is_empty());
    if review.kind != "SelfSubjectAccessReview" && !names_subject {
        let why = "at least one of user or group must be specified";
        errors.push(FieldError::invalid("spec.user", "", why));
    }
    if let Some(attributes) = resource {
        selectors::validate(attributes, &mut errors);
    }
    check_metadata(review, asked, &mut errors);
    if review.kind == "LocalSubjectAccessReview" {
        let namespace = resource.map(|attributes| text(attributes, "namespace"));
        if let Some(other) = namespace.filter(|namespace| *namespace != review.namespace) {
            let why = "must match metadata.namespace";
            errors.push(FieldError::invalid("spec.resourceAttributes.namespace", other, why));
        }
        if let Some(asked) = non_resource {
            let why = "disallowed on this kind of request";
            errors.push(FieldError::invalid("spec.nonResourceAttributes", shown(asked), why));
        }
    }
    errors
}

/// Metadata is empty but for the namespace, which is that of the URL or was dropped before.
fn check_metadata(review: &AccessReview<'_>, asked: &Value, errors: &mut Vec<FieldError>) {
    let is_ignored = |key: &str| matches!(key, "namespace" | "managedFields");
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    };
    let sent = asked.get("metadata").and_then(Value::as_object);
    let has_more = |metadata: &Map| metadata.iter().any(|(key, value)| !is_ignored(key) && !is_empty(value));
    let Some(sent) = sent.filter(|metadata| has_more(metadata)) else { return };
    let mut shown = sent.clone();
    shown.remove("namespace");
    if !review.namespace.is_empty() {
        shown.insert("namespace", review.namespace);
    }
    shown.insert("managedFields", review.managed_fields.clone());
    let why =
        if review.namespace.is_empty() { "must be empty" } else { "must be empty except for namespace" };
    errors.push(FieldError::invalid("metadata", Value::from(shown), why));
}

fn shown(non_resource: &Value) -> Value {
    json!({"Path": (text(non_resource, "path")), "Verb": (text(non_resource, "verb"))})
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
