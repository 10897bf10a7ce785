//! Validation of `spec.conversion`: strategy and webhook.

use std::collections::HashSet;

use pleach_json::{Str, Value};
use pleach_meta::names::check_dns1035_label;
use pleach_meta::{FieldError, Path};

use super::ca_bundle::check_ca_bundle;
use super::client_config::validate_client_config;
use super::ratchets::Ratchets;
use crate::types::CrdSpec;

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
