//! CertificateSigningRequests.

use pleach_json::Value;
use pleach_meta::FieldError;

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{int_at, items, member, text, text_at};
use crate::kinds::pod::cells::or_none;
use crate::prepare::copy_member;
use crate::resource::Subresource;

/// The rules of CertificateSigningRequests.
#[derive(Debug)]
pub struct CertificateRequest;

const DECISIONS: [&str; 2] = ["Approved", "Denied"];

fn conditions(object: &Value) -> &[Value] {
    object.get("status").map(|status| items(status, "conditions")).unwrap_or_default()
}

fn has(object: &Value, kind: &str) -> bool {
    conditions(object).iter().any(|condition| text(condition, "type") == kind)
}

impl Rules for CertificateRequest {
    fn prepare_for_update(&self, object: &mut Value, old: &Value) {
        copy_member(object, old, "spec");
    }

    fn prepare_for_subresource(&self, object: &mut Value, old: &Value, subresource: Subresource) {
        copy_member(object, old, "spec");
        if subresource == Subresource::Approval {
            let new = object.at(&["status", "conditions"]).cloned();
            copy_member(object, old, "status");
            if let Some(new) = new {
                member(object, "status").insert("conditions", new);
            }
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        if old.is_some() {
            return errors;
        }
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let request = pleach_go::base64::decode(text(spec, "request")).unwrap_or_default();
        if !String::from_utf8_lossy(&request).contains("-----BEGIN CERTIFICATE REQUEST-----") {
            errors.push(FieldError::invalid(
                "spec.request",
                spec.get("request")
                    .filter(|request| request.as_str() != Some(""))
                    .cloned()
                    .unwrap_or_default(),
                "PEM block type must be CERTIFICATE REQUEST",
            ));
        }
        if items(spec, "usages").is_empty() {
            errors.push(FieldError::required("spec.usages", ""));
        }
        let signer = text(spec, "signerName");
        let whole =
            signer.split_once('/').is_some_and(|(domain, path)| domain.contains('.') && !path.is_empty());
        if signer.is_empty() {
            errors.push(FieldError::required("spec.signerName", ""));
        } else if !whole {
            errors.push(FieldError::invalid(
                "spec.signerName",
                signer,
                "must be a fully qualified domain and path of the form 'example.com/signer-name'",
            ));
        }
        if let Some(seconds) = spec.get("expirationSeconds").and_then(Value::as_int).filter(|s| *s < 600) {
            errors.push(FieldError::invalid(
                "spec.expirationSeconds",
                seconds,
                "may not specify a duration less than 600 seconds (10 minutes)",
            ));
        }
        errors
    }

    fn validate_subresource(&self, object: &Value, old: &Value, subresource: Subresource) -> Vec<FieldError> {
        let mut errors = Errors::new();
        for kind in DECISIONS {
            if subresource == Subresource::Status && has(object, kind) && !has(old, kind) {
                errors.push(FieldError::forbidden(
                    "status.conditions",
                    format!("updates may not add a condition of type \"{kind}\""),
                ));
            }
            if has(old, kind) && !has(object, kind) {
                errors.push(FieldError::forbidden(
                    "status.conditions",
                    format!("updates may not remove a condition of type \"{kind}\""),
                ));
            }
        }
        for (i, condition) in conditions(object).iter().enumerate() {
            let path = format!("status.conditions[{i}]");
            let kind = text(condition, "type");
            if kind.is_empty() {
                errors.push(FieldError::required(format!("{path}.type"), ""));
            }
            let status = text(condition, "status");
            if status.is_empty() {
                errors.push(FieldError::required(format!("{path}.status"), ""));
                continue;
            }
            if DECISIONS.contains(&kind) {
                checks::one_of(status, &format!("{path}.status"), &["True"], &mut errors);
            } else {
                checks::one_of(status, &format!("{path}.status"), &["True", "False", "Unknown"], &mut errors);
            }
        }
        if DECISIONS.iter().all(|kind| has(object, kind)) {
            errors.push(FieldError::invalid(
                "status.conditions",
                "Denied",
                "Approved and Denied conditions are mutually exclusive",
            ));
        }
        errors
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            age_text(),
            computed("SignerName", "string", |o, _| or_none(text_at(o, &["spec", "signerName"]))),
            computed("Requestor", "string", |o, _| text_at(o, &["spec", "username"]).into()),
            computed("RequestedDuration", "string", |o, _| match int_at(o, &["spec", "expirationSeconds"]) {
                0 => "<none>".into(),
                seconds => pleach_meta::time::human_duration(seconds).into(),
            }),
            computed("Condition", "string", |o, _| {
                let mut shown = if has(o, "Denied") {
                    "Denied"
                } else if has(o, "Approved") {
                    "Approved"
                } else {
                    "Pending"
                }
                .to_owned();
                if has(o, "Failed") {
                    shown.push_str(",Failed");
                }
                if !text_at(o, &["status", "certificate"]).is_empty() {
                    shown.push_str(",Issued");
                }
                shown.into()
            }),
        ]
    }
}
