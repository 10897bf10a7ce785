//! Validation of probes and of what runs at a container's start and end.

use pleach_json::Value;
use pleach_meta::FieldError;

use super::container::Context;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{int_at, items, text};

/// The probes of a container that may have them.
pub(super) fn probes(container: &Value, path: &str, context: &Context<'_>, errors: &mut Errors) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = container.get(name) else { continue };
        let path = format!("{path}.{name}");
        handler(probe, &path, context, errors);
        for field in
            ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
        {
            checks::non_negative(probe.get(field), &format!("{path}.{field}"), errors);
        }
        let grace = probe.get("terminationGracePeriodSeconds").and_then(Value::as_int);
        let at = format!("{path}.terminationGracePeriodSeconds");
        if let Some(seconds) = grace.filter(|seconds| *seconds <= 0) {
            errors.push(FieldError::invalid(at.as_str(), seconds, "must be greater than 0"));
        }
        let threshold = int_at(probe, &["successThreshold"]);
        match (name, grace) {
            ("readinessProbe", None) => {}
            ("readinessProbe", Some(seconds)) => {
                errors.push(FieldError::invalid(at, seconds, "must not be set for readinessProbes"));
            }
            _ if threshold != 1 => {
                errors.push(FieldError::invalid(format!("{path}.successThreshold"), threshold, "must be 1"));
            }
            _ => {}
        }
    }
}

/// `lifecycle` of a container that may have it.
pub(super) fn lifecycle(container: &Value, path: &str, context: &Context<'_>, errors: &mut Errors) {
    let Some(lifecycle) = container.get("lifecycle") else { return };
    for name in ["postStart", "preStop"] {
        if let Some(found) = lifecycle.get(name) {
            handler(found, &format!("{path}.lifecycle.{name}"), context, errors);
        }
    }
}

fn handler(handler: &Value, path: &str, context: &Context<'_>, errors: &mut Errors) {
    let mut count = 0;
    for kind in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let Some(action) = handler.get(kind) else { continue };
        count += 1;
        let path = format!("{path}.{kind}");
        if count > 1 {
            errors.push(FieldError::forbidden(path, "may not specify more than 1 handler type"));
            continue;
        }
        match kind {
            "exec" if items(action, "command").is_empty() => {
                errors.push(FieldError::required(format!("{path}.command"), ""));
            }
            "httpGet" => http_get(action, &path, errors),
            "tcpSocket" | "grpc" => checks::port(action.get("port"), &format!("{path}.port"), errors),
            "sleep" => {
                let seconds = int_at(action, &["seconds"]);
                if let Some(grace) = context.grace.filter(|grace| !(0..=*grace).contains(&seconds)) {
                    let why =
                        format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
                    errors.push(FieldError::invalid(path, seconds, why));
                }
            }
            _ => {}
        }
    }
    if count == 0 {
        errors.push(FieldError::required(path, "must specify a handler type"));
    }
}

fn http_get(action: &Value, path: &str, errors: &mut Errors) {
    if text(action, "path").is_empty() {
        errors.push(FieldError::required(format!("{path}.path"), ""));
    }
    checks::port(action.get("port"), &format!("{path}.port"), errors);
    checks::one_of(text(action, "scheme"), &format!("{path}.scheme"), &["HTTP", "HTTPS"], errors);
    for header in items(action, "httpHeaders") {
        let name = text(header, "name");
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            let why = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
            errors.push(FieldError::invalid(format!("{path}.httpHeaders"), name, why));
        }
    }
}
