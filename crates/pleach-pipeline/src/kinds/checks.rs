//! Checks that many kinds share, in upstream's words.

use std::collections::HashSet;
use std::net::IpAddr;

use pleach_go::quantity::Quantity;
use pleach_json::{Map, Value};
use pleach_meta::FieldError;
use pleach_meta::check_domain_prefixed_path;
use pleach_meta::names::{
    check_dns1123_label, check_dns1123_subdomain, check_label_value, check_qualified_name,
};

/// Found errors.
pub(crate) type Errors = Vec<FieldError>;

/// A number that may not be negative.
pub(crate) fn non_negative(value: Option<&Value>, path: &str, errors: &mut Errors) {
    if let Some(number) = value.and_then(Value::as_int).filter(|number| *number < 0) {
        errors.push(FieldError::invalid(path, number, "must be greater than or equal to 0"));
    }
}

/// A value from a list of them; an absent one is `absent`.
pub(crate) fn one_of(text: &str, path: &str, supported: &[&str], errors: &mut Errors) {
    if !supported.contains(&text) {
        errors.push(FieldError::not_supported(path, text, supported));
    }
}

/// The same for a field that must not be empty.
pub(crate) fn required_one_of(text: &str, path: &str, supported: &[&str], errors: &mut Errors) {
    match text {
        "" => errors.push(FieldError::required(path, "")),
        _ => one_of(text, path, supported, errors),
    }
}

/// The same where nothing is said if the field is missing.
pub(crate) fn one_of_if_set(value: Option<&Value>, path: &str, supported: &[&str], errors: &mut Errors) {
    if let Some(text) = value.and_then(Value::as_str) {
        one_of(text, path, supported, errors);
    }
}

/// A DNS label.
pub(crate) fn dns_label(text: &str, path: &str, errors: &mut Errors) {
    errors.extend(check_dns1123_label(text).into_iter().map(|why| FieldError::invalid(path, text, why)));
}

/// A DNS subdomain.
pub(crate) fn dns_subdomain(text: &str, path: &str, errors: &mut Errors) {
    errors.extend(check_dns1123_subdomain(text).into_iter().map(|why| FieldError::invalid(path, text, why)));
}

/// A port number.
pub(crate) fn port_number(number: i64, path: &str, errors: &mut Errors) {
    if !(1..=65535).contains(&number) {
        errors.push(FieldError::invalid(path, number, "must be between 1 and 65535, inclusive"));
    }
}

/// A port by name.
pub(crate) fn port_name(name: &str, path: &str, errors: &mut Errors) {
    if name.len() > 15 {
        errors.push(FieldError::invalid(path, name, "must be no more than 15 characters"));
    }
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-') {
        let why = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
        errors.push(FieldError::invalid(path, name, why));
    }
    if !name.bytes().any(|b| b.is_ascii_lowercase()) {
        errors.push(FieldError::invalid(path, name, "must contain at least one letter (a-z)"));
    }
    if name.contains("--") {
        errors.push(FieldError::invalid(path, name, "must not contain consecutive hyphens"));
    }
    if name.starts_with('-') || name.ends_with('-') {
        errors.push(FieldError::invalid(path, name, "must not begin or end with a hyphen"));
    }
}

/// A port by number or name.
pub(crate) fn port(value: Option<&Value>, path: &str, errors: &mut Errors) {
    match value {
        Some(Value::Int(number)) => port_number(*number, path, errors),
        Some(Value::String(name)) => port_name(name, path, errors),
        _ => {}
    }
}

/// The value of a label, with all that is wrong with it in one error.
pub(crate) fn label_value(value: &str, path: &str, errors: &mut Errors) {
    let wrong: Vec<_> = check_label_value(value).into_iter().collect();
    if !wrong.is_empty() {
        errors.push(FieldError::invalid(path, value, wrong.join(";")));
    }
}

/// Labels of a map.
pub(crate) fn labels(labels: Option<&Value>, path: &str, errors: &mut Errors) {
    for (key, value) in labels.and_then(Value::as_object).into_iter().flat_map(Map::iter) {
        let name = check_qualified_name(key);
        errors.extend(name.into_iter().map(|why| FieldError::invalid(path, key.as_str(), why)));
        let text = value.as_str().unwrap_or_default();
        errors.extend(check_label_value(text).into_iter().map(|why| FieldError::invalid(path, text, why)));
    }
}

/// Whether a set of labels has those of another.
pub(crate) fn has_labels(labels: Option<&Value>, wanted: Option<&Value>) -> bool {
    let labels = labels.and_then(Value::as_object);
    let mut wanted = wanted.and_then(Value::as_object).into_iter().flat_map(Map::iter);
    wanted.all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
}

/// A label selector.
pub(crate) fn selector(selector: &Value, path: &str, errors: &mut Errors) {
    labels(selector.get("matchLabels"), &format!("{path}.matchLabels"), errors);
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    for (i, expression) in expressions.into_iter().flat_map(|list| list.iter()).enumerate() {
        let path = format!("{path}.matchExpressions[{i}]");
        let values = expression.get("values").and_then(Value::as_array).map_or(0, |values| values.len());
        match expression.get("operator").and_then(Value::as_str).unwrap_or_default() {
            "In" | "NotIn" if values == 0 => errors.push(FieldError::required(
                format!("{path}.values"),
                "must be specified when `operator` is 'In' or 'NotIn'",
            )),
            "Exists" | "DoesNotExist" if values > 0 => errors.push(FieldError::forbidden(
                format!("{path}.values"),
                "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            )),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => errors.push(FieldError::invalid(
                format!("{path}.operator"),
                other,
                "not a valid selector operator",
            )),
        }
        let key = expression.get("key").and_then(Value::as_str).unwrap_or_default();
        let name = check_qualified_name(key).into_iter();
        errors.extend(name.map(|why| FieldError::invalid(format!("{path}.key"), key, why)));
    }
}

/// A field that may not change.
pub(crate) fn immutable(new: Option<&Value>, old: Option<&Value>, path: &str, errors: &mut Errors) {
    if new != old {
        let value = new.cloned().unwrap_or_default();
        errors.push(FieldError::invalid(path, value, "field is immutable"));
    }
}

/// A quantity that may not be negative.
pub(crate) fn non_negative_quantity(value: &Value, path: &str, errors: &mut Errors) {
    if quantity(value).is_some_and(|quantity| quantity.sign() < 0) {
        errors.push(FieldError::invalid(path, value.clone(), "must be greater than or equal to 0"));
    }
}

/// The quantity that a value is.
pub(crate) fn quantity(value: &Value) -> Option<Quantity> {
    Quantity::parse(value.as_str()?).ok()
}

/// A number or a percentage that is not negative.
pub(crate) fn int_or_percent(value: Option<&Value>, path: &str, errors: &mut Errors) {
    match value {
        Some(Value::Int(number)) if *number < 0 => {
            errors.push(FieldError::invalid(path, *number, "must be greater than or equal to 0"));
        }
        Some(Value::String(text)) if percent(text).is_none() => errors.push(FieldError::invalid(
            path,
            text.as_str(),
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
        )),
        _ => {}
    }
}

/// A percentage that is not above a hundred.
pub(crate) fn at_most_hundred_percent(value: Option<&Value>, path: &str, errors: &mut Errors) {
    if let Some(Value::String(text)) = value
        && percent(text).is_some_and(|number| number > 100)
    {
        errors.push(FieldError::invalid(path, text.as_str(), "must not be greater than 100%"));
    }
}

/// The number of a percentage.
pub(crate) fn percent(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('%')?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// Whether a number or percentage is zero, or none that can be read.
pub(crate) fn is_zero(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Int(number)) => *number == 0,
        // A number as text is refused, but counts.
        Some(Value::String(text)) => percent(text).or_else(|| text.parse().ok()).is_none_or(|n| n == 0),
        _ => false,
    }
}

/// A part of an address, which Go's older parser takes with leading zeros.
fn without_leading_zeros(text: &str) -> Option<String> {
    let parts: Vec<&str> = text.split('.').collect();
    let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if parts.len() != 4 || !parts.iter().all(is_number) {
        return None;
    }
    let numbers: Option<Vec<String>> =
        parts.iter().map(|part| part.parse::<u8>().ok().map(|number| number.to_string())).collect();
    numbers.map(|numbers| numbers.join("."))
}

fn is_mapped(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.to_ipv4_mapped().is_some())
}

/// An address.
pub(crate) fn ip(text: &str, path: &str, errors: &mut Errors) {
    let why = match text.parse::<IpAddr>() {
        Ok(ip) if is_mapped(ip) => "must not be an IPv4-mapped IPv6 address",
        Ok(_) => return,
        Err(_) if without_leading_zeros(text).is_some() => "must not have leading 0s",
        Err(_) => "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
    };
    errors.push(FieldError::invalid(path, text, why));
}

/// The warning about an address that is valid, but not written as usual.
pub(crate) fn ip_warning(text: &str, path: &str) -> Option<String> {
    let ip = text.parse::<IpAddr>().ok().filter(IpAddr::is_ipv6)?;
    let usual = ip.to_string();
    (usual != text).then(|| {
        format!("{path}: IPv6 address \"{text}\" should be in RFC 5952 canonical format (\"{usual}\")")
    })
}

/// The name of a host of a load balancer, if there is one.
pub(crate) fn host_of_balancer(host: &str, path: &str, errors: &mut Errors) {
    if host.is_empty() {
        return;
    }
    dns_subdomain(host, path, errors);
    if host.parse::<IpAddr>().is_ok() {
        errors.push(FieldError::invalid(path, host, "must be a DNS name, not an IP address"));
    }
}

/// `ValidateNonSpecialIP`: an address that others than the Node itself can reach.
pub(crate) fn non_special_ip(text: &str, path: &str, errors: &mut Errors) {
    let plain = without_leading_zeros(text);
    let ip = match plain.as_deref().unwrap_or(text).parse::<IpAddr>() {
        Ok(ip) => ip.to_canonical(),
        Err(_) => {
            errors.push(FieldError::invalid(path, text, "must be a valid IP address"));
            return;
        }
    };
    let (link_local, multicast) = match ip {
        IpAddr::V4(ip) => (ip.is_link_local(), ip.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(ip) => (ip.is_unicast_link_local(), ip.segments()[0] & 0xff0f == 0xff02),
    };
    let mut refuse = |applies: bool, why: String| {
        if applies {
            errors.push(FieldError::invalid(path, text, why));
        }
    };
    refuse(ip.is_unspecified(), format!("may not be unspecified ({text})"));
    refuse(ip.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)".into());
    refuse(link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)".into());
    refuse(multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".into());
}

/// An address range: none of the bits beyond its prefix are set.
pub(crate) fn cidr(text: &str, path: &str, errors: &mut Errors) {
    let parsed = text.split_once('/').and_then(|(address, bits)| {
        let plain = without_leading_zeros(address).filter(|plain| plain != address);
        let ip: IpAddr = plain.as_deref().unwrap_or(address).parse().ok()?;
        let digits = !bits.is_empty() && bits.bytes().all(|byte| byte.is_ascii_digit());
        let length: u32 = bits.parse().ok().filter(|_| digits)?;
        let most = if ip.is_ipv4() { 32 } else { 128 };
        (length <= most).then_some((ip, length, plain.is_some() || bits.len() > 1 && bits.starts_with('0')))
    });
    let has_more = |ip: IpAddr, length: u32| match ip {
        IpAddr::V4(ip) => u32::from(ip).checked_shl(length).unwrap_or(0) != 0,
        IpAddr::V6(ip) => u128::from(ip).checked_shl(length).unwrap_or(0) != 0,
    };
    let why = match parsed {
        None => "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",
        Some((_, _, true)) => "must not have leading 0s in IP or prefix length",
        Some((ip, _, _)) if is_mapped(ip) => "must not have an IPv4-mapped IPv6 address",
        Some((ip, length, _)) if has_more(ip, length) => "must not have bits set beyond the prefix length",
        Some(_) => return,
    };
    errors.push(FieldError::invalid(path, text, why));
}

/// `ValidateConditions`: conditions of the common type.
pub(crate) fn conditions(conditions: &[Value], path: &str, errors: &mut Errors) {
    let text = |condition: &Value, key: &str| {
        condition.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let mut seen: HashSet<String> = HashSet::new();
    for (i, condition) in conditions.iter().enumerate() {
        let path = format!("{path}[{i}]");
        let kind = text(condition, "type");
        if !seen.insert(kind.clone()) {
            errors.push(FieldError::duplicate(format!("{path}.type"), kind.as_str()));
        }
        let at = format!("{path}.type");
        if kind.is_empty() {
            errors.push(FieldError::required(at, ""));
        } else {
            let wrong = check_qualified_name(&kind).into_iter();
            errors.extend(wrong.map(|why| FieldError::invalid(&at, kind.as_str(), why)));
        }
        one_of(&text(condition, "status"), &format!("{path}.status"), &["False", "True", "Unknown"], errors);
        let generation = condition.get("observedGeneration").and_then(Value::as_int).unwrap_or_default();
        if generation < 0 {
            let why = "must be greater than or equal to zero";
            errors.push(FieldError::invalid(format!("{path}.observedGeneration"), generation, why));
        }
        if text(condition, "lastTransitionTime").is_empty() {
            errors.push(FieldError::required(format!("{path}.lastTransitionTime"), ""));
        }
        let reason = text(condition, "reason");
        let at = format!("{path}.reason");
        if reason.is_empty() {
            errors.push(FieldError::required(at, ""));
        } else if !is_reason(&reason) {
            errors.push(FieldError::invalid(
                &at,
                reason.as_str(),
                "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')",
            ));
        }
    }
}

fn is_reason(text: &str) -> bool {
    let bytes = text.as_bytes();
    let inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b',' | b':');
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.iter().all(inner)
        && bytes.last().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// A host name with a wildcard.
pub(crate) fn wildcard_subdomain(text: &str, path: &str, errors: &mut Errors) {
    let valid = text.strip_prefix("*.").is_some_and(|rest| check_dns1123_subdomain(rest).is_empty());
    if !valid {
        errors.push(FieldError::invalid(
            path,
            text,
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
        ));
    }
}

/// `IsDomainPrefixedPath`
pub(crate) fn domain_prefixed_path(text: &str, path: &str, errors: &mut Errors) {
    errors.extend(check_domain_prefixed_path(text, path));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_in_one_way() {
        let error = |check: fn(&str, &str, &mut Errors), text: &str| {
            let mut errors = Errors::new();
            check(text, "p", &mut errors);
            errors.into_iter().map(|error| error.detail).collect::<Vec<_>>().join("; ")
        };
        for (text, want) in [
            ("10.1.2.3", ""),
            ("2001:DB8::1", ""),
            ("010.1.2.3", "must not have leading 0s"),
            ("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
            ("300.1.2.3", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
        ] {
            assert_eq!(error(ip, text), want, "{text}");
        }
        for (text, want) in [
            ("10.0.0.0/8", ""),
            ("0.0.0.0/0", ""),
            ("2001:db8::/64", ""),
            ("10.0.0.1/8", "must not have bits set beyond the prefix length"),
            ("2001:db8::1/64", "must not have bits set beyond the prefix length"),
            ("10.0.0.0/08", "must not have leading 0s in IP or prefix length"),
            ("010.0.0.0/8", "must not have leading 0s in IP or prefix length"),
            ("::ffff:10.0.0.0/104", "must not have an IPv4-mapped IPv6 address"),
            ("10.0.0.0/33", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
            ("10.0.0.0/+8", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        ] {
            assert_eq!(error(cidr, text), want, "{text}");
        }
        assert_eq!(
            ip_warning("2001:DB8::1", "p").as_deref(),
            Some("p: IPv6 address \"2001:DB8::1\" should be in RFC 5952 canonical format (\"2001:db8::1\")")
        );
    }
}
