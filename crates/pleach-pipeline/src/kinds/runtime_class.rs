//! RuntimeClasses.

use pleach_json::{Map, Value};
use pleach_meta::FieldError;
use pleach_meta::field_error::{BadValue, ErrorType};

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks;
use crate::kinds::fields::{items, member, search, submember, text};
use crate::kinds::pod::validate::{self, resources::container_resource_name};

/// The group.
pub const GROUP: &str = "node.k8s.io";
/// The resource.
pub const PLURAL: &str = "runtimeclasses";

const MISMATCH: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

const OVERHEAD_WITHOUT_CLASS: &str =
    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";

fn filled<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Map> {
    object.at(path).and_then(Value::as_object).filter(|map| !map.is_empty())
}

/// Gives a Pod the overhead, node selector and tolerations of its class; the error says why it cannot have them.
pub fn apply(class: &Value, pod: &mut Value) -> Result<(), String> {
    let spec = member(pod, "spec");
    if let Some(overhead) = filled(class, &["overhead", "podFixed"]) {
        let own = spec.get("overhead").and_then(Value::as_object);
        if own.is_some_and(|own| own != overhead) {
            return Err(MISMATCH.into());
        }
        spec.insert("overhead", overhead.clone());
    }
    if let Some(selector) = filled(class, &["scheduling", "nodeSelector"]) {
        let own = submember(spec, "nodeSelector");
        for (key, value) in selector {
            if let Some(other) = own.get(key).filter(|other| *other != value) {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                return Err(format!(
                    "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {}; pod.spec.nodeSelector[{key}] = {}",
                    text(value),
                    text(other)
                ));
            }
            own.insert(key.clone(), value.clone());
        }
    }
    let added =
        class.get("scheduling").map(|scheduling| items(scheduling, "tolerations")).unwrap_or_default();
    if !added.is_empty() {
        let own = spec.get("tolerations").and_then(Value::as_array).map_or(&[][..], |own| &own[..]);
        let all: Vec<Value> = own.iter().chain(added).cloned().collect();
        let merged = merge_tolerations(&all);
        spec.insert("tolerations", merged);
    }
    Ok(())
}

/// `MergeTolerations`: tolerations that another one includes are left out.
fn merge_tolerations(all: &[Value]) -> Vec<Value> {
    let mut merged: Vec<Value> = Vec::new();
    for (i, one) in all.iter().enumerate() {
        let covered = search(&merged, |other| includes(other, one)).is_some()
            || search(&all[i + 1..], |other| other != one && includes(other, one)).is_some();
        if !covered {
            merged.push(one.clone());
        }
    }
    merged
}

fn includes(wide: &Value, narrow: &Value) -> bool {
    if wide == narrow {
        return true;
    }
    let is = |key: &str| text(wide, key) == text(narrow, key);
    let any_key = text(wide, "key").is_empty() && text(wide, "operator") == "Exists";
    if !is("key") && !any_key || !is("effect") && !text(wide, "effect").is_empty() {
        return false;
    }
    if text(wide, "effect") == "NoExecute"
        && let Some(most) = wide.get("tolerationSeconds").and_then(Value::as_int)
        && narrow.get("tolerationSeconds").and_then(Value::as_int).is_none_or(|seconds| seconds > most)
    {
        return false;
    }
    match text(wide, "operator") {
        "Equal" | "" => matches!(text(narrow, "operator"), "Equal" | "") && is("value"),
        "Exists" => true,
        _ => false,
    }
}

/// The error of an overhead that is given and empty, which is gone when a Pod is validated.
pub fn empty_overhead_error(class: Option<&Value>, pod: &Value) -> Option<&'static str> {
    let is_empty = pod.at(&["spec", "overhead"]).and_then(Value::as_object).is_some_and(Map::is_empty);
    let has_class = class.is_some_and(|class| class.get("overhead").is_some());
    (is_empty && !has_class).then_some(OVERHEAD_WITHOUT_CLASS)
}

/// The errors of the overhead of a Pod, given its class.
pub fn overhead_error(class: Option<&Value>, pod: &Value) -> Option<&'static str> {
    let own = filled(pod, &["spec", "overhead"]);
    match class.and_then(|class| filled(class, &["overhead", "podFixed"])) {
        Some(overhead) => (own != Some(overhead)).then_some(MISMATCH),
        None => own.map(|_| OVERHEAD_WITHOUT_CLASS),
    }
}

/// The rules of RuntimeClasses.
#[derive(Debug)]
pub struct RuntimeClass;

/// A toleration as Go's struct in JSON.
fn toleration_dump(toleration: &Value) -> String {
    let show = |key: &str| pleach_json::to_string(&text(toleration, key).into());
    let seconds = toleration.get("tolerationSeconds").unwrap_or(&Value::Null);
    format!(
        "{{\"Key\":{},\"Operator\":{},\"Value\":{},\"Effect\":{},\"TolerationSeconds\":{}}}",
        show("key"),
        show("operator"),
        show("value"),
        show("effect"),
        pleach_json::to_string(seconds)
    )
}

impl Rules for RuntimeClass {
    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Vec::new();
        match old {
            Some(old) => checks::immutable(object.get("handler"), old.get("handler"), "handler", &mut errors),
            None if text(object, "handler").is_empty() => errors.push(FieldError::required("handler", "")),
            None => checks::dns_label(text(object, "handler"), "handler", &mut errors),
        }
        for (name, value) in filled(object, &["overhead", "podFixed"]).into_iter().flat_map(Map::iter) {
            let path = format!("overhead.limits[{name}]");
            container_resource_name(name, &path, &mut errors);
            checks::non_negative_quantity(value, &path, &mut errors);
        }
        if let Some(scheduling) = object.get("scheduling") {
            checks::labels(scheduling.get("nodeSelector"), "scheduling.nodeSelector", &mut errors);
            let tolerations = items(scheduling, "tolerations");
            for (i, toleration) in tolerations.iter().enumerate() {
                validate::toleration(toleration, &format!("scheduling.tolerations[{i}]"), &mut errors);
            }
            for (i, toleration) in tolerations.iter().enumerate() {
                let keys = ["key", "operator", "value", "effect"];
                let same = |other: &Value| keys.iter().all(|key| text(other, key) == text(toleration, key));
                if search(&tolerations[..i], same).is_some() {
                    let shown = BadValue::Raw(toleration_dump(toleration));
                    let path = format!("scheduling.tolerations[{i}]");
                    errors.push(FieldError::new(ErrorType::Duplicate, path, shown, ""));
                }
            }
        }
        errors
    }

    fn warnings(&self, object: &Value, _: Option<&Value>) -> Vec<String> {
        let selector = filled(object, &["scheduling", "nodeSelector"]);
        let deprecated = selector.into_iter().flat_map(Map::keys);
        let deprecated = deprecated.filter_map(|key| validate::warnings::deprecated_label(key));
        deprecated.map(|why| format!("scheduling.nodeSelector: {why}")).collect()
    }

    fn columns(&self) -> Vec<Column> {
        vec![computed("Handler", "string", |o, _| text(o, "handler").into()), age_text()]
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    #[test]
    fn tolerations_are_unique_but_for_their_time() {
        let class = json!({"handler": "h", "scheduling": {"tolerations": [
            {"key": "k", "operator": "Exists"},
            {"key": "k", "operator": "Exists", "effect": "NoExecute"},
            {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
        ]}});
        let texts: Vec<String> =
            RuntimeClass.validate(&class, None).iter().map(ToString::to_string).collect();
        let dump = r#"{"Key":"k","Operator":"Exists","Value":"","Effect":"NoExecute","TolerationSeconds":5}"#;
        assert_eq!(texts, [format!("scheduling.tolerations[2]: Duplicate value: {dump}")]);
    }
}
