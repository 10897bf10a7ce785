//! CertificateSigningRequests.

mod der;
mod pem;

use pleach_json::{Str, Value};
use pleach_meta::object_meta::NameRule;
use pleach_meta::{FieldError, names};

use crate::columns::{age_text, computed};
use crate::kind::Column;
use crate::kinds::api_kind::Rules;
use crate::kinds::checks::{self, Errors};
use crate::kinds::fields::{default_to, int_at, items, member, search, submember, text, text_at};
use crate::kinds::pod::cells::or_none;
use crate::prepare::copy_member;
use crate::resource::Subresource;
use crate::strategy::{Role, Stamp};

/// The rules of CertificateSigningRequests.
#[derive(Debug)]
pub struct CertificateRequest;

/// The group.
pub const GROUP: &str = "certificates.k8s.io";

/// The domain of a signer, and its whole name: that with a label, a subdomain and the characters between them.
const MOST_BYTES_OF_DOMAIN: usize = 253;
const MOST_BYTES_OF_SIGNER: usize = MOST_BYTES_OF_DOMAIN + 1 + 253 + 63 + 1;

const DECISIONS: [&str; 2] = ["Approved", "Denied"];
/// Conditions that are only ever true.
const TRUE_ONLY: [&str; 3] = ["Approved", "Denied", "Failed"];
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

/// The organizations in the subject of a request: values of attributes of the type 2.5.4.10.
pub fn organizations(object: &Value) -> Vec<String> {
    const ORGANIZATION: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x0a];
    let request = pleach_go::base64::decode(text_at(object, &["spec", "request"])).unwrap_or_default();
    let Some(block) = pem::blocks(&request).into_iter().next() else { return Vec::new() };
    let der = block.content;
    let found = der.windows(ORGANIZATION.len()).enumerate().filter(|(_, bytes)| *bytes == ORGANIZATION);
    let values = found.filter_map(|(at, _)| {
        let value = der.get(at + ORGANIZATION.len()..)?;
        let length = usize::from(*value.get(1)?);
        (length < 128).then(|| value.get(2..2 + length)).flatten()
    });
    values.map(|value| String::from_utf8_lossy(value).into_owned()).collect()
}

/// The error of a request.
fn request_error(request: &[u8]) -> Option<String> {
    match pem::blocks(request).first() {
        Some(block) if block.kind == "CERTIFICATE REQUEST" => der::request(&block.content).err(),
        _ => Some("PEM block type must be CERTIFICATE REQUEST".to_owned()),
    }
}

/// The error of an issued certificate.
fn certificate_error(certificate: &[u8]) -> Option<String> {
    let blocks = pem::blocks(certificate);
    for block in &blocks {
        if block.kind != "CERTIFICATE" {
            let found = pleach_go::strconv::quote(&block.kind);
            return Some(format!("only CERTIFICATE PEM blocks are allowed, found {found}"));
        }
        if block.has_headers {
            return Some("no PEM block headers are permitted".to_owned());
        }
        match der::certificates(&block.content) {
            Err(why) => return Some(why),
            Ok(0) => return Some("found CERTIFICATE PEM block containing 0 certificates".to_owned()),
            Ok(_) => {}
        }
    }
    blocks.is_empty().then(|| "must contain at least one CERTIFICATE PEM block".to_owned())
}

fn conditions(object: &Value) -> &[Value] {
    object.get("status").map(|status| items(status, "conditions")).unwrap_or_default()
}

fn has(object: &Value, kind: &str) -> bool {
    conditions(object).iter().any(|condition| text(condition, "type") == kind)
}

/// `ValidateSignerName`
fn signer_name(signer: &str, path: &str, errors: &mut Errors) {
    if signer.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let Some((domain, rest)) = signer.split_once('/').filter(|(_, rest)| !rest.contains('/')) else {
        let why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.push(FieldError::invalid(path, signer, why));
        return;
    };
    if domain.len() > MOST_BYTES_OF_DOMAIN {
        errors.push(FieldError::too_long(path, MOST_BYTES_OF_DOMAIN as i64));
    }
    labels(domain, names::check_dns1123_label, path, errors);
    if !domain.contains('.') {
        let why = "should be a domain with at least two segments separated by dots";
        errors.push(FieldError::invalid(path, domain, why));
    }
    labels(rest, names::check_dns1123_subdomain, path, errors);
    if signer.len() > MOST_BYTES_OF_SIGNER {
        errors.push(FieldError::too_long(path, MOST_BYTES_OF_SIGNER as i64));
    }
}

/// The errors of the first label of a text that has any.
fn labels(text: &str, check: fn(&str) -> Vec<String>, path: &str, errors: &mut Errors) {
    let found = text.split('.').map(|label| (label, check(label))).find(|(_, problems)| !problems.is_empty());
    let Some((label, problems)) = found else { return };
    for problem in problems {
        let why = format!("validating label {}: {problem}", pleach_go::strconv::quote(label));
        errors.push(FieldError::invalid(path, text, why));
    }
}

impl Rules for CertificateRequest {
    fn role(&self) -> Role {
        Role::CertificateRequest
    }

    fn stamp(&self, object: &mut Value, old: Option<&Value>, subresource: Subresource, by: &Stamp<'_>) {
        let Some(old) = old else {
            let spec = member(object, "spec");
            for key in ["username", "uid", "groups", "extra"] {
                spec.remove(key);
            }
            let texts = |texts: &[Str]| texts.iter().cloned().map(Value::from).collect::<Vec<_>>();
            if !by.user.name.is_empty() {
                spec.insert("username", by.user.name.clone());
            }
            if !by.user.uid.is_empty() {
                spec.insert("uid", by.user.uid.clone());
            }
            if !by.user.groups.is_empty() {
                spec.insert("groups", texts(&by.user.groups));
            }
            if !by.user.extra.is_empty() {
                let extra = submember(spec, "extra");
                by.user.extra.iter().for_each(|(key, values)| drop(extra.insert(key.clone(), texts(values))));
            }
            return;
        };
        if !matches!(subresource, Subresource::Approval | Subresource::Status) {
            return;
        }
        let before = conditions(old).to_vec();
        let Some(Value::Array(list)) = member(object, "status").get_mut("conditions") else { return };
        for condition in list.iter_mut() {
            let same = search(&before, |one| {
                text(one, "type") == text(condition, "type")
                    && text(one, "status") == text(condition, "status")
            });
            let since = same.map(|one| text(one, "lastTransitionTime")).filter(|time| !time.is_empty());
            let since = since.unwrap_or(by.now).to_owned();
            let Some(members) = condition.as_object_mut() else { continue };
            default_to(members, "lastUpdateTime", by.now);
            default_to(members, "lastTransitionTime", since);
        }
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn prepare_for_update(&self, object: &mut Value, old: &Value) {
        copy_member(object, old, "spec");
    }

    fn prepare_for_subresource(&self, object: &mut Value, old: &Value, subresource: Subresource) {
        copy_member(object, old, "spec");
        if subresource == Subresource::Approval {
            let new = object.at(&["status", "conditions"]).cloned();
            copy_member(object, old, "status");
            match new {
                Some(new) => member(object, "status").insert("conditions", new),
                None => member(object, "status").remove("conditions"),
            };
        }
    }

    fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = Errors::new();
        if old.is_some() {
            return errors;
        }
        let spec = object.get("spec").unwrap_or(&Value::Null);
        let request = pleach_go::base64::decode(text(spec, "request")).unwrap_or_default();
        if let Some(why) = request_error(&request) {
            errors.push(FieldError::invalid(
                "spec.request",
                spec.get("request").cloned().unwrap_or_default(),
                why,
            ));
        }
        if items(spec, "usages").is_empty() {
            errors.push(FieldError::required("spec.usages", ""));
        }
        for (i, usage) in items(spec, "usages").iter().enumerate() {
            let usage = usage.as_str().unwrap_or_default();
            checks::one_of(usage, &format!("spec.usages[{i}]"), &USAGES, &mut errors);
        }
        for (i, usage) in items(spec, "usages").iter().enumerate() {
            if search(&items(spec, "usages")[..i], |other| other == usage).is_some() {
                errors.push(FieldError::duplicate(format!("spec.usages[{i}]"), usage.clone()));
            }
        }
        let signer = text(spec, "signerName");
        if signer == "kubernetes.io/legacy-unknown" {
            let why = "the legacy signerName is not allowed via this API version";
            errors.push(FieldError::invalid("spec.signerName", signer, why));
        } else {
            signer_name(signer, "spec.signerName", &mut errors);
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
            if TRUE_ONLY.contains(&kind) {
                checks::one_of(status, &format!("{path}.status"), &["True"], &mut errors);
            } else {
                checks::one_of(status, &format!("{path}.status"), &["False", "True", "Unknown"], &mut errors);
            }
            if search(&conditions(object)[..i], |other| text(other, "type") == kind).is_some() {
                errors.push(FieldError::duplicate(format!("{path}.type"), kind));
            }
        }
        let (certificate, before) =
            (text_at(object, &["status", "certificate"]), text_at(old, &["status", "certificate"]));
        if certificate != before {
            let issued = pleach_go::base64::decode(certificate).unwrap_or_default();
            if !before.is_empty() {
                let why = "updates may not modify existing certificate content";
                errors.push(FieldError::forbidden("status.certificate", why));
            } else if let Some(why) = certificate_error(&issued) {
                errors.push(FieldError::invalid("status.certificate", "<certificate data>", why));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signers_have_a_domain_and_a_path() {
        let of = |signer: &str| {
            let mut errors = Errors::new();
            signer_name(signer, "spec.signerName", &mut errors);
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(of("a.b/c.d"), [""; 0]);
        let whole = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        assert_eq!(of("a.b"), [format!("spec.signerName: Invalid value: \"a.b\": {whole}")]);
        assert_eq!(of("a.b/c/d"), [format!("spec.signerName: Invalid value: \"a.b/c/d\": {whole}")]);
        let two = "should be a domain with at least two segments separated by dots";
        assert_eq!(of("a/b"), [format!("spec.signerName: Invalid value: \"a\": {two}")]);
        let errors = of("a_.b/c d");
        assert_eq!(errors.len(), 2);
        assert!(errors[0].starts_with(
            "spec.signerName: Invalid value: \"a_.b\": validating label \"a_\": a lowercase RFC 1123 label"
        ));
        assert!(errors[1].starts_with("spec.signerName: Invalid value: \"c d\": validating label \"c d\": a lowercase RFC 1123 subdomain"));
        assert_eq!(
            of(&format!("a.b/{}", "c".repeat(254)))[0].matches("must be no more than 253 characters").count(),
            1
        );
    }
}
