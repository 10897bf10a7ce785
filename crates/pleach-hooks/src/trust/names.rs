//! Host name verification. Only subject alternative names count, never the common name.

use std::net::IpAddr;

use rustls::pki_types::ServerName;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::X509Certificate;

/// Beyond this many, names are counted and not listed.
const LISTED: usize = 100;

pub(super) fn check(leaf: &X509Certificate<'_>, wanted: &ServerName<'_>) -> Result<(), String> {
    let alternative = leaf.subject_alternative_name().ok().flatten();
    let general = alternative.as_ref().map_or(&[][..], |names| &names.value.general_names);
    match wanted {
        ServerName::IpAddress(address) => for_address(general, IpAddr::from(*address)),
        ServerName::DnsName(name) => {
            for_name(general, name.as_ref()).map_err(|error| match common_name(leaf) {
                Some(name) if alternative.is_none() && is_host(name) => {
                    "x509: certificate relies on legacy Common Name field, use SANs instead".to_owned()
                }
                _ => error,
            })
        }
        _ => Err("x509: certificate is not valid for any names".to_owned()),
    }
}

fn for_address(general: &[GeneralName<'_>], wanted: IpAddr) -> Result<(), String> {
    let addresses: Vec<IpAddr> = general
        .iter()
        .filter_map(|name| match name {
            GeneralName::IPAddress(bytes) => address(bytes),
            _ => None,
        })
        .collect();
    if addresses.iter().any(|address| address.to_canonical() == wanted.to_canonical()) {
        return Ok(());
    }
    if addresses.is_empty() {
        return Err(format!(
            "x509: cannot validate certificate for {wanted} because it doesn't contain any IP SANs"
        ));
    }
    Err(mismatch(addresses.iter().map(IpAddr::to_string).collect(), &wanted.to_string()))
}

fn for_name(general: &[GeneralName<'_>], wanted: &str) -> Result<(), String> {
    let names: Vec<String> = general
        .iter()
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some((*name).to_owned()),
            _ => None,
        })
        .collect();
    if names.iter().any(|name| matches(name, wanted)) {
        return Ok(());
    }
    if names.is_empty() {
        return Err(format!("x509: certificate is not valid for any names, but wanted to match {wanted}"));
    }
    Err(mismatch(names, wanted))
}

fn mismatch(names: Vec<String>, wanted: &str) -> String {
    if names.len() >= LISTED {
        return format!("x509: certificate is valid for {} names, but none matched {wanted}", names.len());
    }
    format!("x509: certificate is valid for {}, not {wanted}", names.join(", "))
}

/// A star matches the first label, and nothing else.
fn matches(pattern: &str, name: &str) -> bool {
    let pattern = pattern.strip_suffix('.').unwrap_or(pattern);
    if pattern.is_empty() || name.is_empty() {
        return false;
    }
    match pattern.strip_prefix("*.") {
        Some(rest) => name.split_once('.').is_some_and(|(label, parent)| {
            !label.is_empty() && !rest.contains('*') && parent.eq_ignore_ascii_case(rest)
        }),
        None => !pattern.contains('*') && pattern.eq_ignore_ascii_case(name),
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(IpAddr::from),
        16 => <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from),
        _ => None,
    }
}

fn common_name<'a>(leaf: &'a X509Certificate<'_>) -> Option<&'a str> {
    leaf.subject().iter_common_name().next()?.as_str().ok()
}

fn is_host(name: &str) -> bool {
    let name = name.strip_prefix("*.").unwrap_or(name);
    !name.is_empty()
        && name.split('.').all(|label| {
            !label.is_empty()
                && !label.starts_with('-')
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars() {
        for (pattern, name, wanted) in [
            ("localhost", "LOCALHOST", true),
            ("*.example", "a.example", true),
            ("*.example", "a.b.example", false),
            ("*.example", "example", false),
            ("*.example", ".example", false),
            ("a.*.example", "a.b.example", false),
            ("*", "localhost", false),
        ] {
            assert_eq!(matches(pattern, name), wanted, "{pattern} {name}");
        }
    }
}
