//! The annotation of client-side apply, which a server-side apply by kubectl keeps in step.

use pleach_json::{Map, Value};

use crate::compare::compare;
use crate::fields::fields_of;
use crate::set::Set;
use crate::shape::Type;
use crate::validate::validate;

/// The one manager whose applies know of the annotation.
pub(super) const KUBECTL: &str = "kubectl";
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The size limit of all annotations of an object.
const MOST_BYTES: usize = 256 * 1024;

fn last_applied(object: &Value) -> Option<&str> {
    let text = object.at(&["metadata", "annotations", ANNOTATION])?.as_str()?;
    (!text.is_empty()).then_some(text)
}

/// The fields that client-side apply set and that have not changed since.
pub(super) fn unchanged_since(live: &Value, of: Type<'_>, api_version: &str) -> Option<Set> {
    let applied = pleach_json::parse(last_applied(live)?.as_bytes()).ok()?;
    if applied.get("apiVersion").and_then(Value::as_str) != Some(api_version) {
        return None;
    }
    validate(&applied, of, true).ok()?;
    validate(live, of, true).ok()?;
    let differs = compare(&applied, live, of);
    let fields = fields_of(&applied, of);
    Some(fields.difference(&differs.modified).difference(&differs.added).difference(&differs.removed))
}

/// Writes the configuration into the annotation, if the object has one.
pub(super) fn rewrite(object: &mut Value, config: &Value) {
    if last_applied(object).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(metadata) = config.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
        if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
            annotations.remove(ANNOTATION);
        }
    }
    let text = pleach_json::to_string(&config) + "\n";
    let Some(annotations) =
        object.get_mut("metadata").and_then(|m| m.get_mut("annotations")).and_then(Value::as_object_mut)
    else {
        return;
    };
    annotations.insert(ANNOTATION, text);
    if size(annotations) > MOST_BYTES {
        annotations.remove(ANNOTATION);
    }
}

fn size(annotations: &Map) -> usize {
    annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum()
}
