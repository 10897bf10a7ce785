//! `hostname`, `k8s-short-name` and `k8s-long-name`.

use pleach_meta::names;
use pleach_regex::Regex;
use pleach_work::Constant;

use super::Format;

/// A host name, letters and symbols of any script allowed.
pub(super) struct Hostname;

/// The expression for host names of the API server.
static FORM: Constant<Regex> = Constant::new(|| {
    Regex::new(concat!(
        r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|",
        r"([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}",
        r"([a-zA-Z\p{L}]){2,63})$",
    ))
    .expect("the pattern of host names is right")
});

impl Format for Hostname {
    fn name(&self) -> &'static str {
        "hostname"
    }
    fn doc(&self) -> &'static str {
        "a host name of at most 255 bytes, its labels of at most 63"
    }
    fn accepts(&self, text: &str) -> bool {
        // The cheap limits first: a long text never reaches the pattern.
        text.len() <= 255 && text.split('.').all(|label| label.len() <= 63) && FORM.is_match(text)
    }
}

/// A DNS-1123 label.
pub(super) struct ShortName;

impl Format for ShortName {
    fn name(&self) -> &'static str {
        "k8sshortname"
    }
    fn doc(&self) -> &'static str {
        "a name of lower case letters, digits and dashes, at most 63 long"
    }
    fn since(&self) -> u32 {
        34
    }
    fn accepts(&self, text: &str) -> bool {
        names::is_dns1123_label(text)
    }
}

/// A DNS-1123 subdomain.
pub(super) struct LongName;

impl Format for LongName {
    fn name(&self) -> &'static str {
        "k8slongname"
    }
    fn doc(&self) -> &'static str {
        "short names joined by dots, at most 253 long"
    }
    fn since(&self) -> u32 {
        34
    }
    fn accepts(&self, text: &str) -> bool {
        names::is_dns1123_subdomain(text)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn host_names() {
        let long = format!("-{}", "x".repeat(300));
        check(
            &Hostname,
            &[
                "+example.com",
                "+a",
                "+a-b.cd",
                "+xn--bcher-kva.example",
                "+b\u{fc}cher.example",
                "-a-b.c",
                "-1.2.3.4",
                "-a.com ",
                "--a.com",
                "-a..b",
                "-a_b.com",
                "-",
                "-a b",
                &long,
            ],
        );
    }

    #[test]
    fn names_of_objects() {
        let (fits, long) = (format!("+{}", "x".repeat(63)), format!("-{}", "x".repeat(64)));
        check(&ShortName, &["+a", "+abc-1", "+1a", "-Abc", "-a.b", "-a-", "-", "-a_b", &fits, &long]);
        check(&LongName, &["+a", "+abc.def-1", "+1.2", "-Abc", "-a..b", "--a", "-a.", "-"]);
    }
}
