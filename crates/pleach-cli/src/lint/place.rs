//! From the paths in the server's errors to paths in the document.
//!
//! Errors name fields of the internal form of a CRD, in which the common parts of all versions are at the top of
//! the spec. A document of `v1` has it in each version; the first stands for all.

use pleach_crd::ApiVersion;

/// Fields at the top of the spec in the internal form and in each version in `v1`.
const SHARED: [(&str, &str); 4] = [
    ("spec.validation", "spec.versions[0].schema"),
    ("spec.subresources", "spec.versions[0].subresources"),
    ("spec.additionalPrinterColumns", "spec.versions[0].additionalPrinterColumns"),
    ("spec.selectableFields", "spec.versions[0].selectableFields"),
];

/// Fields with another name in `v1`.
const RENAMED: [(&str, &str); 3] = [
    ("spec.conversion.webhookClientConfig", "spec.conversion.webhook.clientConfig"),
    ("spec.conversion.conversionReviewVersions", "spec.conversion.webhook.conversionReviewVersions"),
    ("spec.version", "spec.versions[0].name"),
];

/// The path in a document of `version` of a field in the internal form.
pub(crate) fn place(field: &str, version: ApiVersion) -> String {
    if version == ApiVersion::V1 {
        for (from, to) in SHARED.iter().chain(&RENAMED) {
            if let Some(rest) = field.strip_prefix(from)
                && (rest.is_empty() || rest.starts_with(['.', '[']))
            {
                return format!("{to}{rest}");
            }
        }
    }
    field.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_parts_are_found_in_the_first_version() {
        for (field, want) in [
            ("spec.validation.openAPIV3Schema.type", "spec.versions[0].schema.openAPIV3Schema.type"),
            ("spec.versions[1].schema", "spec.versions[1].schema"),
            ("spec.version", "spec.versions[0].name"),
            ("spec.conversion.webhookClientConfig.url", "spec.conversion.webhook.clientConfig.url"),
        ] {
            assert_eq!(place(field, ApiVersion::V1), want);
            assert_eq!(place(field, ApiVersion::V1beta1), field);
        }
    }
}
