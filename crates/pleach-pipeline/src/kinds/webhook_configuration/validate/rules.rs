//! Validation of a webhook's rules.

use std::collections::HashSet;

use pleach_json::Value;
use pleach_meta::{FieldError, Path};

use super::{check_choice, list, texts};

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

pub(crate) fn check(rule: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let operations = check_list(rule, "operations", "operations", path, errors);
    for (i, operation) in operations.iter().copied().enumerate() {
        if !OPERATIONS.contains(&operation) {
            let path = path.child("operations");
            errors.push(FieldError::not_supported(path.index(i), operation, &OPERATIONS));
        }
    }
    // A group may be empty: it is the core group then.
    check_list(rule, "apiGroups", "API groups", path, errors);
    let versions = check_list(rule, "apiVersions", "API versions", path, errors);
    for (i, _) in versions.iter().enumerate().filter(|(_, version)| version.is_empty()) {
        errors.push(FieldError::required(path.child("apiVersions").index(i), ""));
    }
    let resources: Vec<&str> = texts(rule, "resources").collect();
    check_resources(&resources, &path.child("resources"), errors);
    check_choice(rule, "scope", &["*", "Cluster", "Namespaced"], path, errors);
}

/// A list must have something in it, and nothing beside a star.
fn check_list<'a>(
    rule: &'a Value,
    key: &str,
    what: &str,
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) -> Vec<&'a str> {
    let found: Vec<&str> = texts(rule, key).collect();
    if found.is_empty() {
        errors.push(FieldError::required(path.child(key), ""));
    }
    if found.len() > 1 && found.contains(&"*") {
        let detail = format!("if '*' is present, must not specify other {what}");
        errors.push(FieldError::invalid(path.child(key), list(&found), detail));
    }
    found
}

/// Odd: resources that a wildcard covers are only found after it, and whether there is a resource besides `*`
/// is decided by the last that has no subresource.
fn check_resources(resources: &[&str], path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if resources.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    let (mut whole, mut everywhere) = (HashSet::new(), HashSet::new());
    let mut ends_with_another = false;
    for (i, text) in resources.iter().copied().enumerate() {
        let path = path.index(i);
        if text.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        let Some((resource, subresource)) = text.split_once('/') else {
            ends_with_another = text != "*";
            continue;
        };
        let mut covered = |by: String| {
            let detail = format!("if '{by}' is present, must not specify {text}");
            errors.push(FieldError::invalid(path, text, detail));
        };
        if whole.contains(resource) {
            covered(format!("{resource}/*"));
        }
        if everywhere.contains(subresource) {
            covered(format!("*/{subresource}"));
        }
        if subresource == "*" {
            whole.insert(resource);
        }
        if resource == "*" {
            everywhere.insert(subresource);
        }
    }
    let invalid = |detail: &str| FieldError::invalid(path, list(resources), detail);
    if resources.len() > 1 && resources.contains(&"*/*") {
        errors.push(invalid("if '*/*' is present, must not specify other resources"));
    }
    if resources.contains(&"*") && ends_with_another {
        errors.push(invalid("if '*' is present, must not specify other resources without subresources"));
    }
}
