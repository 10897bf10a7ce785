//! Validation of webhook configurations, in upstream's order.

mod rules;

pub(crate) use rules::check as check_rule;

use std::collections::HashSet;

use pleach_crd::{ServiceReference, WebhookClientConfig, validate_client_config};
use pleach_json::{Str, Value};
use pleach_meta::names::{check_dns1035_label, check_dns1123_subdomain, check_qualified_name};
use pleach_meta::selector::validate_label_selector;
use pleach_meta::{FieldError, Path};

use super::match_conditions;

/// The `AdmissionReview` versions that this server sends.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];
/// How many conditions a webhook may have.
const MOST_CONDITIONS: usize = 64;

/// The errors of a configuration, which replaces `old` if there is one. Conditions that were stored before are
/// not validated again: an older server may know less than the one that accepted them.
pub(super) fn validate(configuration: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let stored: HashSet<&str> = old.into_iter().flat_map(webhooks).flat_map(expressions).collect();
    let mut errors = Vec::new();
    let mut names = HashSet::new();
    let all = Path::new("webhooks");
    for (i, webhook) in webhooks(configuration).enumerate() {
        let path = all.index(i);
        check_webhook(webhook, &stored, &path, &mut errors);
        let name = text(webhook, "name");
        if !name.is_empty() && !names.insert(name) {
            errors.push(FieldError::duplicate(path.child("name"), name));
        }
    }
    errors
}

fn check_webhook(webhook: &Value, stored: &HashSet<&str>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    check_name(text(webhook, "name"), &path.child("name"), errors);
    for (i, rule) in items(webhook, "rules").enumerate() {
        rules::check(rule, &path.child("rules").index(i), errors);
    }
    check_choice(webhook, "failurePolicy", &["Fail", "Ignore"], path, errors);
    check_choice(webhook, "matchPolicy", &["Equivalent", "Exact"], path, errors);
    if webhook.get("sideEffects").is_none_or(Value::is_null) {
        let detail = "must specify one of None, NoneOnDryRun";
        errors.push(FieldError::required(path.child("sideEffects"), detail));
    }
    check_choice(webhook, "sideEffects", &["None", "NoneOnDryRun"], path, errors);
    if let Some(seconds) = webhook.get("timeoutSeconds").and_then(Value::as_int)
        && !(1..=30).contains(&seconds)
    {
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.push(FieldError::invalid(path.child("timeoutSeconds"), seconds, detail));
    }
    for selector in ["namespaceSelector", "objectSelector"] {
        if let Some(value) = webhook.get(selector) {
            validate_label_selector(value, &path.child(selector), errors);
        }
    }
    check_choice(webhook, "reinvocationPolicy", &["IfNeeded", "Never"], path, errors);
    validate_client_config(&client_config(webhook), &path.child("clientConfig"), errors);
    check_conditions(webhook, stored, &path.child("matchConditions"), errors);
    check_reviews(webhook, &path.child("admissionReviewVersions"), errors);
}

/// A domain name, so that names of different authors do not collide.
fn check_name(name: &str, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let messages = check_dns1123_subdomain(name);
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !messages.is_empty() {
        errors.push(FieldError::invalid(path, name, messages.join(",")));
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        errors.push(FieldError::invalid(path, name, detail));
    }
}

/// An optional value out of a set.
pub(crate) fn check_choice(
    object: &Value,
    key: &str,
    known: &[&str],
    path: &Path<'_>,
    errors: &mut Vec<FieldError>,
) {
    if let Some(said) = object.get(key).and_then(Value::as_str)
        && !known.contains(&said)
    {
        errors.push(FieldError::not_supported(path.child(key), said, known));
    }
}

fn client_config(webhook: &Value) -> WebhookClientConfig {
    let config = webhook.get("clientConfig");
    let text_of = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(Str::from);
    let service = config.and_then(|config| config.get("service")).map(|service| ServiceReference {
        namespace: text_of(service, "namespace").unwrap_or_default(),
        name: text_of(service, "name").unwrap_or_default(),
        path: text_of(service, "path"),
        port: service.get("port").and_then(Value::as_int).and_then(|port| i32::try_from(port).ok()),
    });
    WebhookClientConfig { url: config.and_then(|config| text_of(config, "url")), service, ca_bundle: None }
}

fn check_conditions(webhook: &Value, stored: &HashSet<&str>, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let count = items(webhook, "matchConditions").count();
    if count > MOST_CONDITIONS {
        errors.push(FieldError::too_many(path, count as i64, MOST_CONDITIONS as i64));
    }
    let mut names = HashSet::new();
    for (i, condition) in items(webhook, "matchConditions").enumerate() {
        let path = path.index(i);
        let expression = text(condition, "expression");
        if expression.trim().is_empty() {
            errors.push(FieldError::required(path.child("expression"), ""));
        } else if !stored.contains(expression)
            && let Err(error) = match_conditions::check(expression)
        {
            errors.push(FieldError::invalid(path.child("expression"), expression, error));
        }
        let (name, path) = (text(condition, "name"), path.child("name"));
        if name.is_empty() {
            errors.push(FieldError::required(path, ""));
            continue;
        }
        errors.extend(check_qualified_name(name).into_iter().map(|m| FieldError::invalid(path, name, m)));
        if !names.insert(name) {
            errors.push(FieldError::duplicate(path, name));
        }
    }
}

fn check_reviews(webhook: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let versions: Vec<&str> = texts(webhook, "admissionReviewVersions").collect();
    if versions.is_empty() {
        errors.push(FieldError::required(path, format!("must specify one of {}", REVIEWS.join(", "))));
        return;
    }
    let mut seen = HashSet::new();
    for (i, version) in versions.iter().copied().enumerate() {
        let path = path.index(i);
        if !seen.insert(version) {
            errors.push(FieldError::invalid(path, version, "duplicate version"));
            continue;
        }
        errors
            .extend(check_dns1035_label(version).into_iter().map(|m| FieldError::invalid(path, version, m)));
    }
    if !versions.iter().any(|version| REVIEWS.contains(version)) {
        let detail = format!("must include at least one of {}", REVIEWS.join(", "));
        errors.push(FieldError::invalid(path, list(&versions), detail));
    }
}

fn webhooks(configuration: &Value) -> impl Iterator<Item = &Value> {
    items(configuration, "webhooks")
}

fn expressions(webhook: &Value) -> impl Iterator<Item = &str> {
    items(webhook, "matchConditions").map(|condition| text(condition, "expression"))
}

fn items<'a>(object: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    object.get(key).and_then(Value::as_array).into_iter().flatten()
}

/// The strings in a list.
fn texts<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a str> {
    items(value, key).filter_map(Value::as_str)
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A list as errors show it.
fn list(texts: &[&str]) -> Value {
    texts.iter().map(|text| Value::from(*text)).collect::<Vec<_>>().into()
}

#[cfg(test)]
mod tests;
