//! The API approval policy: the annotation `api-approved.kubernetes.io` of CRDs in protected groups.
//!
//! A CRD in `k8s.io`, `kubernetes.io` or below them must have an annotation with the URL of its approval, or with `unapproved`.

use pleach_go::strconv::quote;
use pleach_go::url::Url;
use pleach_meta::{FieldError, Path};

use crate::types::Crd;

/// The annotation.
pub const ANNOTATION: &str = "api-approved.kubernetes.io";
const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";

/// The approval state by the annotation of a protected group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Approval {
    /// Nothing.
    Missing,
    /// `unapproved…`: the policy is bypassed.
    Bypassed,
    /// Where it was approved.
    Approved,
    /// Something else.
    Invalid,
}

/// Whether a group is Kubernetes' own.
pub fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|own| group.strip_suffix(own).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

/// The state of a CRD's annotation.
pub fn approval(crd: &Crd) -> Approval {
    let value = crd.meta().annotation(ANNOTATION).unwrap_or_default();
    if value.is_empty() {
        Approval::Missing
    } else if value.starts_with("unapproved") {
        Approval::Bypassed
    } else if is_absolute_url(value) {
        Approval::Approved
    } else {
        Approval::Invalid
    }
}

/// Whether a text is a URL for a request, with scheme and host.
fn is_absolute_url(text: &str) -> bool {
    Url::parse_request_uri(text).is_ok_and(|url| !url.scheme().is_empty() && !url.host().is_empty())
}

fn missing_message() -> String {
    format!("protected groups must have approval annotation {}, {SEE}", quote(ANNOTATION))
}

fn invalid_message() -> String {
    format!(
        "protected groups must have approval annotation {} with either a URL or a reason starting with \
         \"unapproved\", {SEE}",
        quote(ANNOTATION)
    )
}

/// The validation error of a write that violates the policy. The annotation of an old CRD may stay.
pub(crate) fn validate(new: &Crd, old: Option<&Crd>) -> Option<FieldError> {
    if !is_protected(&new.spec.group) {
        return None;
    }
    let state = approval(new);
    if old.is_some_and(|old| approval(old) == state) {
        return None;
    }
    let annotations = Path::new("metadata.annotations");
    let path = annotations.key(ANNOTATION);
    match state {
        Approval::Missing => Some(FieldError::required(path, missing_message())),
        Approval::Invalid => {
            let value = new.meta().annotation(ANNOTATION).unwrap_or_default();
            Some(FieldError::invalid(path, value, invalid_message()))
        }
        Approval::Bypassed | Approval::Approved => None,
    }
}

/// Status, reason and message of the `KubernetesAPIApprovalPolicyConformant` condition; none for
/// groups that need no approval.
pub fn condition(crd: &Crd) -> Option<(bool, &'static str, String)> {
    if !is_protected(&crd.spec.group) {
        return None;
    }
    let value = crd.meta().annotation(ANNOTATION).unwrap_or_default();
    Some(match approval(crd) {
        Approval::Missing => (false, "MissingAnnotation", missing_message()),
        Approval::Bypassed => (false, "UnapprovedAnnotation", format!("not approved: {}", quote(value))),
        Approval::Approved => (true, "ApprovedAnnotation", format!("approved in {value}")),
        Approval::Invalid => (false, "InvalidAnnotation", invalid_message()),
    })
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;

    fn crd(group: &str, annotation: Option<&str>) -> Crd {
        let mut crd = Crd { metadata: json!({}), ..Crd::default() };
        crd.spec.group = group.into();
        if let Some(text) = annotation {
            crd.metadata = json!({"annotations": {"api-approved.kubernetes.io": text}});
        }
        crd
    }

    #[test]
    fn only_kubernetes_own_groups_are_protected() {
        for (group, want) in [
            ("k8s.io", true),
            ("x.k8s.io", true),
            ("kubernetes.io", true),
            ("a.kubernetes.io", true),
            ("xk8s.io", false),
            ("k8s.io.example.com", false),
        ] {
            assert_eq!(is_protected(group), want, "{group}");
        }
    }

    #[test]
    fn the_annotation_decides() {
        for (text, want) in [
            (None, Some("Required value: protected groups must have approval annotation")),
            (Some(""), Some("Required value: protected groups must have approval annotation")),
            (Some("unapproved, still trying"), None),
            (Some("https://x/y"), None),
            (Some("yes"), Some("Invalid value: \"yes\": protected groups must have approval annotation")),
            (Some("/x"), Some("Invalid value: \"/x\": protected")),
            (Some("http:x"), Some("Invalid value: \"http:x\": protected")),
            (Some("x://"), Some("Invalid value: \"x://\": protected")),
            (Some("https://h /"), Some("Invalid value: \"https://h /\": protected")),
        ] {
            let error = validate(&crd("k8s.io", text), None);
            assert_eq!(error.is_some(), want.is_some(), "{text:?}");
            if let (Some(error), Some(want)) = (error, want) {
                assert!(error.body().starts_with(want), "{error}");
                assert_eq!(error.field, "metadata.annotations[api-approved.kubernetes.io]");
            }
        }
        let bad = crd("k8s.io", Some("yes"));
        assert!(validate(&bad, Some(&bad)).is_none(), "what was there may stay");
        assert!(validate(&crd("example.com", None), None).is_none());
    }

    #[test]
    fn the_condition_says_so_too() {
        assert_eq!(condition(&crd("example.com", None)), None);
        let (status, reason, message) = condition(&crd("k8s.io", Some("unapproved x"))).unwrap();
        assert_eq!(
            (status, reason, message.as_str()),
            (false, "UnapprovedAnnotation", "not approved: \"unapproved x\"")
        );
        let (status, reason, message) = condition(&crd("k8s.io", Some("https://x"))).unwrap();
        assert_eq!((status, reason, message.as_str()), (true, "ApprovedAnnotation", "approved in https://x"));
    }
}
