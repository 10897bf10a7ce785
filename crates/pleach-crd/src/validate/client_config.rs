//! Validation of `WebhookClientConfig`, for CRD conversion and webhook configurations.
//!
//! Odd: for a service the checks of name and namespace are swapped, so a missing name is reported
//! as a missing namespace.

use pleach_go::url::Url;
use pleach_json::Str;
use pleach_meta::names::check_dns1123_subdomain;
use pleach_meta::{FieldError, Path};

use crate::types::{ServiceReference, WebhookClientConfig};

/// Validates where a webhook is; certificates are not checked.
pub fn validate_client_config(config: &WebhookClientConfig, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    match (&config.url, &config.service) {
        (Some(url), None) => validate_url(url, &path.child("url"), errors),
        (None, Some(service)) => validate_service(service, &path.child("service"), errors),
        _ => errors.push(FieldError::required(path, "exactly one of url or service is required")),
    }
}

fn validate_url(text: &str, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    const FORM: &str = "; desired format: https://host[/path]";
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(error) => {
            errors.push(FieldError::required(path, format!("url must be a valid URL: {error}{FORM}")));
            return;
        }
    };
    if url.scheme() != "https" {
        let detail = format!("'https' is the only allowed URL scheme{FORM}");
        errors.push(FieldError::invalid(path, url.scheme(), detail));
    }
    if url.host().is_empty() {
        errors.push(FieldError::invalid(path, url.host(), format!("host must be specified{FORM}")));
    }
    if let Some(user) = url.user() {
        errors.push(FieldError::invalid(path, user, "user information is not permitted in the URL"));
    }
    let fragment = url.fragment();
    if !fragment.is_empty() {
        errors.push(FieldError::invalid(path, fragment, "fragments are not permitted in the URL"));
    }
    if !url.raw_query().is_empty() {
        errors.push(FieldError::invalid(
            path,
            url.raw_query(),
            "query parameters are not permitted in the URL",
        ));
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
