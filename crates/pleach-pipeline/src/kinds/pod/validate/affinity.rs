//! Validation of affinities and topology spread.

use std::collections::{HashMap, HashSet};

use pleach_json::{Map, Str, Value};
use pleach_meta::FieldError;
use pleach_meta::field_error::BadValue;
use pleach_meta::names::{check_label_value, check_qualified_name};

use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{items, search, text};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// The affinity of a Pod.
pub(super) fn affinity(affinity: &Value, path: &str, errors: &mut Errors) {
    if let Some(node) = affinity.get("nodeAffinity") {
        let path = format!("{path}.nodeAffinity");
        if let Some(required) = node.get(REQUIRED) {
            node_selector(required, &format!("{path}.{REQUIRED}"), errors);
        }
        for (i, term) in items(node, PREFERRED).iter().enumerate() {
            let path = format!("{path}.{PREFERRED}[{i}]");
            weight(term, &path, errors);
            if let Some(preference) = term.get("preference") {
                // Values of preferred terms are not validated.
                node_selector_term(preference, &format!("{path}.preference"), false, errors);
            }
        }
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(pods) = affinity.get(kind) else { continue };
        let path = format!("{path}.{kind}");
        for (i, term) in items(pods, REQUIRED).iter().enumerate() {
            pod_term(term, &format!("{path}.{REQUIRED}[{i}]"), errors);
        }
        for (i, weighted) in items(pods, PREFERRED).iter().enumerate() {
            let path = format!("{path}.{PREFERRED}[{i}]");
            weight(weighted, &path, errors);
            if let Some(term) = weighted.get("podAffinityTerm") {
                pod_term(term, &format!("{path}.podAffinityTerm"), errors);
            }
        }
    }
}

fn weight(term: &Value, path: &str, errors: &mut Errors) {
    let weight = term.get("weight").and_then(Value::as_int).unwrap_or_default();
    if !(1..=100).contains(&weight) {
        errors.push(FieldError::invalid(format!("{path}.weight"), weight, "must be in the range 1-100"));
    }
}

/// A node selector.
pub(crate) fn node_selector(selector: &Value, path: &str, errors: &mut Errors) {
    let terms = items(selector, "nodeSelectorTerms");
    if terms.is_empty() {
        let why = "must have at least one node selector term";
        errors.push(FieldError::required(format!("{path}.nodeSelectorTerms"), why));
    }
    for (i, term) in terms.iter().enumerate() {
        node_selector_term(term, &format!("{path}.nodeSelectorTerms[{i}]"), true, errors);
    }
}

fn node_selector_term(term: &Value, path: &str, checks_values: bool, errors: &mut Errors) {
    for (i, requirement) in items(term, "matchExpressions").iter().enumerate() {
        let path = format!("{path}.matchExpressions[{i}]");
        let values = items(requirement, "values");
        let at = format!("{path}.values");
        match text(requirement, "operator") {
            "In" | "NotIn" if values.is_empty() => {
                errors.push(FieldError::required(at, "must be specified when `operator` is 'In' or 'NotIn'"));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => errors.push(FieldError::forbidden(
                at,
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )),
            "Gt" | "Lt" if values.len() != 1 => errors.push(FieldError::required(
                at,
                "must be specified single value when `operator` is 'Lt' or 'Gt'",
            )),
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            other => errors.push(FieldError::invalid(
                format!("{path}.operator"),
                other,
                "not a valid selector operator",
            )),
        }
        label_name(text(requirement, "key"), &format!("{path}.key"), errors);
        for (j, value) in values.iter().enumerate().filter(|_| checks_values) {
            let value = value.as_str().unwrap_or_default();
            let wrong = check_label_value(value).into_iter();
            errors.extend(wrong.map(|why| FieldError::invalid(format!("{path}.values[{j}]"), value, why)));
        }
    }
    for (i, requirement) in items(term, "matchFields").iter().enumerate() {
        let path = format!("{path}.matchFields[{i}]");
        match text(requirement, "operator") {
            "In" | "NotIn" => {
                if items(requirement, "values").len() != 1 {
                    errors.push(FieldError::required(
                        format!("{path}.values"),
                        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
                    ));
                }
            }
            other => errors.push(FieldError::invalid(
                format!("{path}.operator"),
                other,
                "not a valid selector operator",
            )),
        }
        let key = text(requirement, "key");
        if key == "metadata.name" {
            for (j, value) in items(requirement, "values").iter().enumerate() {
                let value = value.as_str().unwrap_or_default();
                checks::dns_subdomain(value, &format!("{path}.values[{j}]"), errors);
            }
        } else {
            let why = "not a valid field selector key";
            errors.push(FieldError::invalid(format!("{path}.key"), key, why));
        }
    }
}

fn pod_term(term: &Value, path: &str, errors: &mut Errors) {
    for key in ["labelSelector", "namespaceSelector"] {
        if let Some(selector) = term.get(key) {
            checks::selector(selector, &format!("{path}.{key}"), errors);
        }
    }
    for namespace in items(term, "namespaces") {
        checks::dns_label(namespace.as_str().unwrap_or_default(), &format!("{path}.namespace"), errors);
    }
    label_keys(term, path, errors);
    let key = text(term, "topologyKey");
    if key.is_empty() {
        errors.push(FieldError::required(format!("{path}.topologyKey"), "can not be empty"));
    }
    label_name(key, &format!("{path}.topologyKey"), errors);
}

/// `matchLabelKeys` and `mismatchLabelKeys` need a selector, and exclude each other; those that match are in the selector
/// once, where they were put when the Pod was made.
fn label_keys(term: &Value, path: &str, errors: &mut Errors) {
    for field in ["matchLabelKeys", "mismatchLabelKeys"] {
        for (i, key) in items(term, field).iter().enumerate() {
            let (key, path) = (key.as_str().unwrap_or_default(), format!("{path}.{field}[{i}]"));
            if term.get("labelSelector").is_none() {
                let why = "must not be specified when labelSelector is not set";
                errors.push(FieldError::forbidden(path.trim_end_matches(&format!("[{i}]")), why));
                break;
            }
            label_name(key, &path, errors);
        }
    }
    let matching: Vec<&str> = items(term, "matchLabelKeys").iter().filter_map(Value::as_str).collect();
    if matching.is_empty() {
        return;
    }
    if let Some(selector) = term.get("labelSelector") {
        let labels = selector.get("matchLabels").and_then(Value::as_object);
        let mut seen: HashSet<&str> = labels.into_iter().flat_map(Map::keys).map(Str::as_str).collect();
        // The last of those that are alike.
        let places: HashMap<&str, usize> = matching.iter().enumerate().map(|(i, key)| (*key, i)).collect();
        for key in items(selector, "matchExpressions").iter().map(|expression| text(expression, "key")) {
            if let Some(i) = places.get(key)
                && seen.contains(key)
            {
                let why = "exists in both matchLabelKeys and labelSelector";
                errors.push(FieldError::invalid(format!("{path}[{i}]"), key, why));
            }
            seen.insert(key);
        }
    }
    let others: HashSet<&str> = items(term, "mismatchLabelKeys").iter().filter_map(Value::as_str).collect();
    for (i, key) in matching.iter().enumerate() {
        if others.contains(key) {
            let why = "exists in both matchLabelKeys and mismatchLabelKeys";
            errors.push(FieldError::invalid(format!("{path}.matchLabelKeys[{i}]"), *key, why));
        }
    }
}

/// A change of the required node affinity of a Pod that is not scheduled yet: terms may only get more requirements.
pub(super) fn narrowed(spec: &Value, was: &Value, errors: &mut Errors) {
    let path = ["affinity", "nodeAffinity", REQUIRED];
    let terms = |spec: &'_ Value| {
        spec.at(&path).map(|all| items(all, "nodeSelectorTerms").to_vec()).unwrap_or_default()
    };
    let (new, old) = (terms(spec), terms(was));
    let at = format!("spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms");
    if old.is_empty() || spec.at(&path[..2]) == was.at(&path[..2]) {
        return;
    }
    if old.len() != new.len() {
        let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        errors.push(FieldError::invalid(at, dump_terms(&new), why));
        return;
    }
    let begins = |new: &Value, old: &Value, list: &str| items(new, list).starts_with(items(old, list));
    let is_empty =
        |term: &Value| items(term, "matchExpressions").is_empty() && items(term, "matchFields").is_empty();
    for (i, (new, old)) in new.iter().zip(&old).enumerate() {
        let grows = begins(new, old, "matchExpressions") && begins(new, old, "matchFields");
        if !grows || is_empty(old) && !is_empty(new) {
            let why = "only additions are allowed (no mutations or deletions)";
            errors.push(FieldError::invalid(format!("{at}[{i}]"), dump_term(new), why));
        }
    }
}

/// Terms as Go writes the internal type as JSON.
fn dump_terms(terms: &[Value]) -> BadValue {
    let shown: Vec<String> = terms.iter().map(term_text).collect();
    BadValue::Raw(if terms.is_empty() { "null".into() } else { format!("[{}]", shown.join(",")) })
}

fn dump_term(term: &Value) -> BadValue {
    BadValue::Raw(term_text(term))
}

/// A term of a node selector as Go writes the internal type as JSON.
pub(crate) fn term_text(term: &Value) -> String {
    let show = |value: Option<&Value>| pleach_json::to_string(value.unwrap_or(&Value::Null));
    let list = |key: &str| {
        let Some(all) = term.get(key).and_then(Value::as_array) else { return "null".to_owned() };
        let one = |one: &Value| {
            format!(
                "{{\"Key\":{},\"Operator\":{},\"Values\":{}}}",
                show(one.get("key")),
                show(one.get("operator")),
                show(one.get("values"))
            )
        };
        format!("[{}]", all.iter().map(one).collect::<Vec<_>>().join(","))
    };
    format!("{{\"MatchExpressions\":{},\"MatchFields\":{}}}", list("matchExpressions"), list("matchFields"))
}

fn label_name(name: &str, path: &str, errors: &mut Errors) {
    let wrong = check_qualified_name(name).into_iter();
    errors.extend(wrong.map(|why| FieldError::invalid(path, name, why)));
}

/// Topology spread constraints.
pub(super) fn spread(constraints: &[Value], path: &str, errors: &mut Errors) {
    for (i, constraint) in constraints.iter().enumerate() {
        let path = format!("{path}[{i}]");
        let skew = constraint.get("maxSkew").and_then(Value::as_int).unwrap_or_default();
        if skew <= 0 {
            errors.push(FieldError::invalid(format!("{path}.maxSkew"), skew, "must be greater than zero"));
        }
        let key = text(constraint, "topologyKey");
        if key.is_empty() {
            errors.push(FieldError::required(format!("{path}.topologyKey"), "can not be empty"));
        }
        let action = text(constraint, "whenUnsatisfiable");
        let supported = ["DoNotSchedule", "ScheduleAnyway"];
        checks::one_of(action, &format!("{path}.whenUnsatisfiable"), &supported, errors);
        let same =
            |other: &Value| text(other, "topologyKey") == key && text(other, "whenUnsatisfiable") == action;
        if search(&constraints[i + 1..], same).is_some() {
            let shown = BadValue::Value(format!("{{{key}, {action}}}").into());
            errors.push(FieldError::new(
                pleach_meta::field_error::ErrorType::Duplicate,
                format!("{path}.{{topologyKey, whenUnsatisfiable}}"),
                shown,
                "",
            ));
        }
        if let Some(domains) = constraint.get("minDomains").and_then(Value::as_int) {
            let at = format!("{path}.minDomains");
            if domains <= 0 {
                errors.push(FieldError::invalid(at.as_str(), domains, "must be greater than zero"));
            }
            if action != "DoNotSchedule" {
                let why = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
                errors.push(FieldError::invalid(at, domains, why));
            }
        }
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            checks::one_of_if_set(
                constraint.get(field),
                &format!("{path}.{field}"),
                &["Honor", "Ignore"],
                errors,
            );
        }
        label_keys(constraint, &path, errors);
        if let Some(selector) = constraint.get("labelSelector") {
            checks::selector(selector, &format!("{path}.labelSelector"), errors);
        }
    }
}
