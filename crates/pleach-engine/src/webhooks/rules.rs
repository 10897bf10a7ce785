//! Kinds whose writes no webhook is called for.

/// Kinds that no webhook is called for, so that a bad one can be repaired: the configurations of admission.
const EXEMPT: (&str, [&str; 6]) = (
    "admissionregistration.k8s.io",
    [
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    ],
);

/// Whether no webhook is called for writes of a kind.
pub(crate) fn is_exempt(group: &str, kind: &str) -> bool {
    group == EXEMPT.0 && EXEMPT.1.contains(&kind)
}
