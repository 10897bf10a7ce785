//! Validation of roles and bindings, in upstream's order.

use pleach_json::{Value, json};
use pleach_meta::field_error::BadValue;
use pleach_meta::names::{check_dns1123_subdomain, check_path_segment_name};
use pleach_meta::selector::validate_label_selector;
use pleach_meta::{FieldError, Path};

use super::GROUP;

/// The errors of a Role or ClusterRole.
pub(super) fn role(object: &Value, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let all = Path::new("rules");
    for (i, rule) in items(object, "rules").enumerate() {
        check_rule(rule, namespaced, &all.index(i), &mut errors);
    }
    if let Some(aggregation) = object.get("aggregationRule").filter(|value| !value.is_null() && !namespaced) {
        check_aggregation(aggregation, &mut errors);
    }
    errors
}

fn check_rule(rule: &Value, namespaced: bool, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let is_empty = |key: &str| items(rule, key).next().is_none();
    if is_empty("verbs") {
        errors.push(FieldError::required(path.child("verbs"), "verbs must contain at least one value"));
    }
    if !is_empty("nonResourceURLs") {
        let urls = rule.get("nonResourceURLs").cloned().unwrap_or_default();
        let path = path.child("nonResourceURLs");
        if namespaced {
            let why = "namespaced rules cannot apply to non-resource URLs";
            errors.push(FieldError::invalid(path, urls.clone(), why));
        }
        if !is_empty("apiGroups") || !is_empty("resources") || !is_empty("resourceNames") {
            let why = "rules cannot apply to both regular resources and non-resource URLs";
            errors.push(FieldError::invalid(path, urls, why));
        }
        return;
    }
    if is_empty("apiGroups") {
        let why = "resource rules must supply at least one api group";
        errors.push(FieldError::required(path.child("apiGroups"), why));
    }
    if is_empty("resources") {
        let why = "resource rules must supply at least one resource";
        errors.push(FieldError::required(path.child("resources"), why));
    }
}

fn check_aggregation(aggregation: &Value, errors: &mut Vec<FieldError>) {
    let aggregation_path = Path::new("aggregationRule");
    let path = aggregation_path.child("clusterRoleSelectors");
    if items(aggregation, "clusterRoleSelectors").next().is_none() {
        let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required(path, why));
    }
    for (i, selector) in items(aggregation, "clusterRoleSelectors").enumerate() {
        let path = path.index(i);
        let before = errors.len();
        validate_label_selector(selector, &path, errors);
        if errors.len() > before {
            errors.push(FieldError::invalid(path, Value::Null, "invalid label selector."));
        }
    }
}

/// The errors of a binding, which replaces `old` if there is one.
pub(super) fn binding(object: &Value, old: Option<&Value>, namespaced: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let role = object.get("roleRef").cloned().unwrap_or_default();
    if text(&role, "apiGroup") != GROUP {
        errors.push(FieldError::not_supported("roleRef.apiGroup", text(&role, "apiGroup"), &[GROUP]));
    }
    let kinds: &[&str] = if namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    if !kinds.contains(&text(&role, "kind")) {
        errors.push(FieldError::not_supported("roleRef.kind", text(&role, "kind"), kinds));
    }
    let name = text(&role, "name");
    if name.is_empty() {
        errors.push(FieldError::required("roleRef.name", ""));
    } else {
        let messages = check_path_segment_name(name);
        errors.extend(messages.into_iter().map(|message| FieldError::invalid("roleRef.name", name, message)));
    }
    let all = Path::new("subjects");
    for (i, subject) in items(object, "subjects").enumerate() {
        check_subject(subject, namespaced, &all.index(i), &mut errors);
    }
    if let Some(old) = old.and_then(|old| old.get("roleRef"))
        && ["apiGroup", "kind", "name"].iter().any(|key| text(old, key) != text(&role, key))
    {
        let shown = json!({
            "APIGroup": (text(&role, "apiGroup")), "Kind": (text(&role, "kind")), "Name": (text(&role, "name"))
        });
        errors.push(FieldError::invalid("roleRef", BadValue::Value(shown), "cannot change roleRef"));
    }
    errors
}

fn check_subject(subject: &Value, namespaced: bool, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let (name, group) = (text(subject, "name"), text(subject, "apiGroup"));
    if name.is_empty() {
        errors.push(FieldError::required(path.child("name"), ""));
    }
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                let messages = check_dns1123_subdomain(name);
                let path = path.child("name");
                errors.extend(messages.into_iter().map(|message| FieldError::invalid(path, name, message)));
            }
            if !group.is_empty() {
                errors.push(FieldError::not_supported(path.child("apiGroup"), group, &[""]));
            }
            if !namespaced && text(subject, "namespace").is_empty() {
                errors.push(FieldError::required(path.child("namespace"), ""));
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                errors.push(FieldError::not_supported(path.child("apiGroup"), group, &[GROUP]));
            }
        }
        other => {
            let kinds = ["ServiceAccount", "User", "Group"];
            errors.push(FieldError::not_supported(path.child("kind"), other, &kinds));
        }
    }
}

fn items<'a>(object: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    object.get(key).and_then(Value::as_array).into_iter().flatten()
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}
