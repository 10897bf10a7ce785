//! How objects get from one version to another: strategy and webhook.
//!
//! Odd: for a service the checks of name and namespace are swapped, so a missing name is reported
//! as a missing namespace.

use std::collections::HashSet;

use pleach_json::{Str, Value};
use pleach_meta::names::{check_dns1035_label, check_dns1123_subdomain};
use pleach_meta::{FieldError, Path};

use super::ca_bundle::check_ca_bundle;
use super::ratchets::Ratchets;
use crate::go_url;
use crate::types::{CrdSpec, ServiceReference, WebhookClientConfig};

/// The `ConversionReview` versions that this server sends.
pub(super) const RECOGNIZED: [&str; 2] = ["v1", "v1beta1"];

pub(super) fn validate(spec: &CrdSpec, ratchets: &Ratchets, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    let Some(conversion) = &spec.conversion else { return };
    let strategy = conversion.strategy.as_str();
    let strategy_path = path.child("strategy");
    if spec.preserve_unknown_fields != Some(false) && strategy != "None" {
        let detail = "must be None if spec.preserveUnknownFields is true";
        errors.push(FieldError::invalid(strategy_path, strategy, detail));
    }
    match strategy {
        "None" | "Webhook" => {}
        "" => errors.push(FieldError::required(strategy_path, "")),
        other => errors.push(FieldError::not_supported(strategy_path, other, &["None", "Webhook"])),
    }
    let config_path = path.child("webhookClientConfig");
    let reviews_path = path.child("conversionReviewVersions");
    let reviews = conversion.conversion_review_versions.as_deref().unwrap_or_default();
    if strategy == "Webhook" {
        match &conversion.webhook_client_config {
            None => {
                errors.push(FieldError::required(config_path, "required when strategy is set to Webhook"));
            }
            Some(config) => {
                if ratchets.require_valid_ca_bundle
                    && let Some(bundle) = &config.ca_bundle
                    && let Err(error) = check_ca_bundle(bundle)
                {
                    errors.push(FieldError::invalid(config_path.child("caBundle"), bundle.clone(), error));
                }
                validate_client_config(config, &config_path, errors);
            }
        }
        validate_reviews(reviews, ratchets, &reviews_path, errors);
        return;
    }
    let detail = "should not be set when strategy is not set to Webhook";
    if conversion.webhook_client_config.is_some() {
        errors.push(FieldError::forbidden(config_path, detail));
    }
    if !reviews.is_empty() {
        errors.push(FieldError::forbidden(reviews_path, detail));
    }
}

fn validate_client_config(config: &WebhookClientConfig, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    match (&config.url, &config.service) {
        (Some(url), None) => validate_url(url, &path.child("url"), errors),
        (None, Some(service)) => validate_service(service, &path.child("service"), errors),
        _ => errors.push(FieldError::required(path, "exactly one of url or service is required")),
    }
}

fn validate_url(text: &str, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    const FORM: &str = "; desired format: https://host[/path]";
    let url = match go_url::parse(text) {
        Ok(url) => url,
        Err(error) => {
            errors.push(FieldError::required(path, format!("url must be a valid URL: {error}{FORM}")));
            return;
        }
    };
    if url.scheme != "https" {
        let detail = format!("'https' is the only allowed URL scheme{FORM}");
        errors.push(FieldError::invalid(path, url.scheme, detail));
    }
    if url.host.is_empty() {
        errors.push(FieldError::invalid(path, url.host, format!("host must be specified{FORM}")));
    }
    if let Some(user) = url.user {
        errors.push(FieldError::invalid(path, user, "user information is not permitted in the URL"));
    }
    if !url.fragment.is_empty() {
        errors.push(FieldError::invalid(path, url.fragment, "fragments are not permitted in the URL"));
    }
    if !url.query.is_empty() {
        errors.push(FieldError::invalid(path, url.query, "query parameters are not permitted in the URL"));
    }
}

fn validate_service(service: &ServiceReference, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if service.namespace.is_empty() {
        errors.push(FieldError::required(path.child("name"), ""));
    }
    if service.name.is_empty() {
        errors.push(FieldError::required(path.child("namespace"), ""));
    }
    let port = service.port.unwrap_or(443);
    if !(1..=65535).contains(&port) {
        let detail = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(path.child("port"), port, detail));
    }
    if let Some(text) = &service.path {
        validate_service_path(text, &path.child("path"), errors);
    }
}

fn validate_service_path(text: &Str, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if text.is_empty() || text == "/" {
        return;
    }
    let invalid = |detail: String| FieldError::invalid(path, text.clone(), detail);
    if text == "//" {
        errors.push(invalid("segment[0] may not be empty".to_owned()));
        return;
    }
    if !text.starts_with('/') {
        errors.push(invalid("must start with a '/'".to_owned()));
    }
    // The first character is taken for the slash, whatever it is; one at the end is fine.
    let mut chars = text.chars();
    chars.next();
    let rest = chars.as_str();
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    for (i, segment) in rest.split('/').enumerate() {
        if segment.is_empty() {
            errors.push(invalid(format!("segment[{i}] may not be empty")));
            continue;
        }
        errors.extend(
            check_dns1123_subdomain(segment).into_iter().map(|m| invalid(format!("segment[{i}]: {m}"))),
        );
    }
}

fn validate_reviews(reviews: &[Str], ratchets: &Ratchets, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if reviews.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let mut seen = HashSet::new();
    for (i, version) in reviews.iter().enumerate() {
        if !seen.insert(version) {
            errors.push(FieldError::invalid(path.index(i), version.clone(), "duplicate version"));
            continue;
        }
        let messages = check_dns1035_label(version);
        if !messages.is_empty() {
            errors.push(FieldError::invalid(path.index(i), version.clone(), messages.join(",")));
        }
    }
    let recognized = reviews.iter().any(|v| RECOGNIZED.contains(&v.as_str()));
    if ratchets.require_recognized_review_version && !recognized {
        let list = Value::from(reviews.iter().map(|v| Value::from(v.clone())).collect::<Vec<_>>());
        let detail = format!("must include at least one of {}", RECOGNIZED.join(", "));
        errors.push(FieldError::invalid(path, list, detail));
    }
}
