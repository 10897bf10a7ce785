//! Validation of names (`IsDNS1123Label` and its like), with upstream's messages.
//!
//! Every `check_*` function returns the messages for a value, none when it is fine; a caller turns
//! each, or all of them joined, into a field error. A fine value costs one pass and no allocation.
//! Lengths are bytes although some messages say characters, as upstream has it.

use std::borrow::Cow;

/// Longest DNS-1123 or DNS-1035 label.
pub(crate) const DNS_LABEL_MAX_LENGTH: usize = 63;
/// Longest DNS-1123 subdomain.
pub(crate) const DNS1123_SUBDOMAIN_MAX_LENGTH: usize = 253;
/// Longest name part of a qualified name.
pub(crate) const QUALIFIED_NAME_MAX_LENGTH: usize = 63;
/// Longest label value.
pub(crate) const LABEL_VALUE_MAX_LENGTH: usize = 63;

/// A list of messages; empty when the value is fine.
pub type Messages = Vec<String>;

const DNS1123_LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
    and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for \
    validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const DNS1123_SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, \
    '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for \
    validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const DNS1035_LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with \
    an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used \
    for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED_NAME: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with \
    an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or \
    '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', \
    regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const C_IDENTIFIER: &str = "a valid C identifier must start with alphabetic character or '_', followed by a string of \
    alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is \
    '[A-Za-z_][A-Za-z0-9_]*')";

fn is_lower_alphanumeric(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit()
}

/// `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
fn has_label_form(value: &[u8]) -> bool {
    match value {
        [] => false,
        [only] => is_lower_alphanumeric(*only),
        [first, middle @ .., last] => {
            is_lower_alphanumeric(*first)
                && is_lower_alphanumeric(*last)
                && middle.iter().all(|&b| b == b'-' || is_lower_alphanumeric(b))
        }
    }
}

fn has_subdomain_form(value: &str) -> bool {
    value.as_bytes().split(|&b| b == b'.').all(has_label_form)
}

/// `([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]`
fn has_qualified_form(value: &[u8]) -> bool {
    match value {
        [] => false,
        [only] => only.is_ascii_alphanumeric(),
        [first, middle @ .., last] => {
            first.is_ascii_alphanumeric()
                && last.is_ascii_alphanumeric()
                && middle.iter().all(|&b| matches!(b, b'-' | b'_' | b'.') || b.is_ascii_alphanumeric())
        }
    }
}

/// Whether `value` is a DNS-1123 label.
pub fn is_dns1123_label(value: &str) -> bool {
    value.len() <= DNS_LABEL_MAX_LENGTH && has_label_form(value.as_bytes())
}

/// Whether `value` is a DNS-1123 subdomain.
pub fn is_dns1123_subdomain(value: &str) -> bool {
    value.len() <= DNS1123_SUBDOMAIN_MAX_LENGTH && has_subdomain_form(value)
}

/// Whether `value` is a DNS-1035 label.
pub fn is_dns1035_label(value: &str) -> bool {
    value.len() <= DNS_LABEL_MAX_LENGTH && has_dns1035_form(value)
}

fn has_dns1035_form(value: &str) -> bool {
    value.as_bytes().first().is_some_and(u8::is_ascii_lowercase) && has_label_form(value.as_bytes())
}

fn too_many_characters(max: usize) -> String {
    format!("must be no more than {max} characters")
}

fn too_many_bytes(max: usize) -> String {
    format!("must be no more than {max} bytes")
}

/// A namespace's name, a label of a host name.
pub fn check_dns1123_label(value: &str) -> Messages {
    let mut messages = Messages::new();
    if value.len() > DNS_LABEL_MAX_LENGTH {
        messages.push(too_many_characters(DNS_LABEL_MAX_LENGTH));
    }
    if !has_label_form(value.as_bytes()) {
        let text = if has_subdomain_form(value) { "must not contain dots" } else { DNS1123_LABEL };
        messages.push(text.to_owned());
    }
    messages
}

/// An object's name, an API group.
pub fn check_dns1123_subdomain(value: &str) -> Messages {
    let mut messages = Messages::new();
    if value.len() > DNS1123_SUBDOMAIN_MAX_LENGTH {
        messages.push(too_many_characters(DNS1123_SUBDOMAIN_MAX_LENGTH));
    }
    if !has_subdomain_form(value) {
        messages.push(DNS1123_SUBDOMAIN.to_owned());
    }
    messages
}

/// A resource's or a version's name.
pub fn check_dns1035_label(value: &str) -> Messages {
    let mut messages = Messages::new();
    if value.len() > DNS_LABEL_MAX_LENGTH {
        messages.push(too_many_characters(DNS_LABEL_MAX_LENGTH));
    }
    if !has_dns1035_form(value) {
        messages.push(DNS1035_LABEL.to_owned());
    }
    messages
}

/// Whether there is nothing to say about a qualified name.
fn is_qualified_name(value: &[u8]) -> bool {
    let (prefix, name) = match value.iter().position(|&b| b == b'/') {
        Some(slash) => (Some(&value[..slash]), &value[slash + 1..]),
        None => (None, value),
    };
    // A second slash is no part of a name.
    name.len() <= QUALIFIED_NAME_MAX_LENGTH
        && has_qualified_form(name)
        && prefix.is_none_or(|prefix| {
            prefix.len() <= DNS1123_SUBDOMAIN_MAX_LENGTH && prefix.split(|&b| b == b'.').all(has_label_form)
        })
}

/// The key of a label, a finalizer: a name with an optional domain before a slash.
pub fn check_qualified_name(value: &str) -> Messages {
    if is_qualified_name(value.as_bytes()) {
        return Messages::new();
    }
    let mut messages = Messages::new();
    let mut parts = value.split('/');
    let (prefix, name) = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, _) => (None, name),
        (Some(prefix), Some(name), None) => (Some(prefix), name),
        _ => {
            messages.push(format!(
                "a valid label key {QUALIFIED_NAME} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            ));
            return messages;
        }
    };
    match prefix {
        Some("") => messages.push("prefix part must be non-empty".to_owned()),
        Some(prefix) if !is_dns1123_subdomain(prefix) => {
            if prefix.len() > DNS1123_SUBDOMAIN_MAX_LENGTH {
                messages.push(format!("prefix part {}", too_many_bytes(DNS1123_SUBDOMAIN_MAX_LENGTH)));
            }
            if !has_subdomain_form(prefix) {
                messages.push(format!("prefix part {DNS1123_SUBDOMAIN}"));
            }
        }
        _ => {}
    }
    if name.is_empty() {
        messages.push("name part must be non-empty".to_owned());
    } else if name.len() > QUALIFIED_NAME_MAX_LENGTH {
        messages.push(format!("name part {}", too_many_bytes(QUALIFIED_NAME_MAX_LENGTH)));
    }
    if !has_qualified_form(name.as_bytes()) {
        messages.push(format!("name part {QUALIFIED_NAME}"));
    }
    messages
}

/// The key of an annotation: a qualified name in any case.
pub(crate) fn check_annotation_key(value: &str) -> Messages {
    if value.bytes().any(|b| b.is_ascii_uppercase() || !b.is_ascii()) {
        check_qualified_name(&value.to_lowercase())
    } else {
        check_qualified_name(value)
    }
}

/// The value of a label.
pub fn check_label_value(value: &str) -> Messages {
    let mut messages = Messages::new();
    if value.len() > LABEL_VALUE_MAX_LENGTH {
        messages.push(too_many_bytes(LABEL_VALUE_MAX_LENGTH));
    }
    if !value.is_empty() && !has_qualified_form(value.as_bytes()) {
        messages.push(LABEL_VALUE.to_owned());
    }
    messages
}

/// The rule for segments of a URL path.
pub fn check_path_segment_name(value: &str) -> Messages {
    if value == "." || value == ".." {
        return vec![format!("may not be '{value}'")];
    }
    check_path_segment_prefix(value)
}

/// The start of what may stand between two slashes: dots alone are fine, more will follow.
pub(crate) fn check_path_segment_prefix(value: &str) -> Messages {
    if !value.bytes().any(|b| matches!(b, b'/' | b'%')) {
        return Messages::new();
    }
    ["/", "%"].iter().filter(|c| value.contains(**c)).map(|c| format!("may not contain '{c}'")).collect()
}

/// A name in the C language.
pub fn check_c_identifier(value: &str) -> Messages {
    let fine = value.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric())
        && value.bytes().next().is_some_and(|b| !b.is_ascii_digit());
    if fine { Messages::new() } else { vec![C_IDENTIFIER.to_owned()] }
}

/// Turns a name check into one for the start of a name, as `generateName` needs it: a trailing
/// dash, and what is before it, is taken for the characters that will follow.
pub fn mask_trailing_dash(value: &str) -> Cow<'_, str> {
    match value.strip_suffix('-') {
        Some(stem) if stem.bytes().next_back().is_some_and(|b| b.is_ascii()) => {
            format!("{}a", &stem[..stem.len() - 1]).into()
        }
        _ => value.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Check = fn(&str) -> Messages;

    fn a(n: usize) -> String {
        "a".repeat(n)
    }

    #[test]
    fn each_form_says_what_is_wrong() {
        let long_label = "must be no more than 63 characters";
        let rows: &[(Check, &str, &[&str], &str)] = &[
            (check_dns1123_label, "a", &[], "one letter"),
            (check_dns1123_label, "1-a", &[], "may start with a digit"),
            (check_dns1123_label, "", &[DNS1123_LABEL], "empty"),
            (check_dns1123_label, "a.b", &["must not contain dots"], "a subdomain"),
            (check_dns1123_label, "a-", &[DNS1123_LABEL], "ends with a dash"),
            (check_dns1123_label, &a(64), &[long_label], "too long but of the right form"),
            (check_dns1123_label, &(a(64) + "_"), &[long_label, DNS1123_LABEL], "both"),
            (check_dns1123_subdomain, "a.b-c.1", &[], "three labels"),
            (check_dns1123_subdomain, "a..b", &[DNS1123_SUBDOMAIN], "empty label"),
            (check_dns1123_subdomain, "A", &[DNS1123_SUBDOMAIN], "upper case"),
            (check_dns1123_subdomain, &a(254), &["must be no more than 253 characters"], "too long"),
            (check_dns1035_label, "a1", &[], "digit later"),
            (check_dns1035_label, "1a", &[DNS1035_LABEL], "digit first"),
            (check_dns1035_label, "é", &[DNS1035_LABEL], "not ASCII"),
            (check_label_value, "", &[], "empty is a value"),
            (check_label_value, "a..b", &[], "dots may repeat"),
            (check_label_value, "x/y", &[LABEL_VALUE], "slash"),
            (check_label_value, &a(64), &["must be no more than 63 bytes"], "too long"),
            (check_path_segment_name, "a", &[], "plain"),
            (check_path_segment_name, "..", &["may not be '..'"], "parent"),
            (check_path_segment_name, "./%", &["may not contain '/'", "may not contain '%'"], "two"),
            (check_path_segment_prefix, "..", &[], "more will follow"),
            (check_c_identifier, "_a1", &[], "underscore first"),
            (check_c_identifier, "1a", &[C_IDENTIFIER], "digit first"),
            (check_c_identifier, "", &[C_IDENTIFIER], "empty"),
        ];
        for (check, value, want, why) in rows {
            assert_eq!(check(value), *want, "{why}: {value:?}");
        }
    }

    #[test]
    fn qualified_names_have_two_parts() {
        let form = format!("name part {QUALIFIED_NAME}");
        let prefix = format!("prefix part {DNS1123_SUBDOMAIN}");
        let many = format!(
            "a valid label key {QUALIFIED_NAME} with an optional DNS subdomain prefix and '/' (e.g. \
             'example.com/MyName')"
        );
        let rows: &[(&str, &[&str], &str)] = &[
            ("a", &[], "no prefix"),
            ("x/Y", &[], "a prefix"),
            ("", &["name part must be non-empty", &form], "empty"),
            ("x/", &["name part must be non-empty", &form], "nothing after the slash"),
            ("/y", &["prefix part must be non-empty"], "nothing before it"),
            ("x/y/z", &[&many], "two slashes"),
            ("Ex.com/a", &[&prefix], "prefixes are lower case"),
            (&(a(254) + "/b"), &["prefix part must be no more than 253 bytes"], "long prefix"),
            (&a(64), &["name part must be no more than 63 bytes"], "long name"),
        ];
        for (value, want, why) in rows {
            assert_eq!(check_qualified_name(value), *want, "{why}: {value:?}");
        }
        assert!(check_annotation_key("Ex.com/A").is_empty(), "annotation keys are checked in lower case");
    }

    #[test]
    fn the_start_of_a_name_may_end_with_a_dash() {
        assert_eq!(mask_trailing_dash("a-b-"), "a-a");
        assert_eq!(mask_trailing_dash("A-"), "a", "even an upper case letter goes by");
        assert_eq!(mask_trailing_dash("é-"), "é-", "nothing is cut in half");
        assert_eq!(mask_trailing_dash("-"), "-");
        assert_eq!(mask_trailing_dash("a"), "a");
    }
}
