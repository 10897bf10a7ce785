//! Domain-prefixed paths as `acme.io/foo`: keys of extra attributes and names that belong to somebody's domain.

use crate::field_error::FieldError;
use crate::names::check_dns1123_subdomain;

/// `IsDomainPrefixedPath`: the errors of a text in a field.
pub fn check_domain_prefixed_path(text: &str, field: &str) -> Vec<FieldError> {
    if text.is_empty() {
        return vec![FieldError::required(field, "")];
    }
    let parts = text.split_once('/').filter(|(domain, path)| !domain.is_empty() && !path.is_empty());
    let Some((domain, path)) = parts else {
        let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        return vec![FieldError::invalid(field, text, why)];
    };
    let mut errors: Vec<FieldError> =
        check_dns1123_subdomain(domain).iter().map(|why| FieldError::invalid(field, domain, why)).collect();
    let is_of_path = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~%!$&'()*+,;=:".contains(&byte);
    if !path.bytes().all(is_of_path) {
        let why = r"Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')";
        errors.push(FieldError::invalid(field, path, why));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field_error::aggregate;

    #[test]
    fn domain_and_path_have_errors_of_their_own() {
        const FORM: &str = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        for (text, want) in [
            ("acme.io/foo", ""),
            ("acme.io/foo/bar", ""),
            ("", "f: Required value"),
            ("foo", &format!("f: Invalid value: \"foo\": {FORM}")),
            ("/foo", &format!("f: Invalid value: \"/foo\": {FORM}")),
            ("a/", &format!("f: Invalid value: \"a/\": {FORM}")),
            (
                "a/b c",
                r#"f: Invalid value: "b c": Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')"#,
            ),
        ] {
            let errors = check_domain_prefixed_path(text, "f");
            assert_eq!(if errors.is_empty() { String::new() } else { aggregate(&errors) }, want, "{text}");
        }
        let errors = check_domain_prefixed_path("A_/b c", "f");
        let values: Vec<_> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(values.len(), 2, "{values:?}");
        assert!(
            values[0].starts_with("f: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must"),
            "{values:?}"
        );
    }
}
