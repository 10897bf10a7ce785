//! `ipv4`, `ipv6`, `cidr` and `mac`: addresses as Go's `net` reads them.
//!
//! `ipv4` and `cidr` are read the way Go did before 1.17, with leading zeros in the octets;
//! `ipv6` is read the strict way. A dotted text with colons (`::ffff:1.2.3.4`) counts as either.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::Format;

/// Four decimal numbers up to 255, leading zeros allowed.
fn sloppy_v4(text: &str) -> Option<Ipv4Addr> {
    let mut octets = [0u8; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        let part = parts.next()?;
        if part.is_empty() || !part.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let digits = part.trim_start_matches('0');
        *octet = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    }
    parts.next().is_none().then(|| Ipv4Addr::from(octets))
}

/// An IPv6 address whose dotted end, if it has one, may have leading zeros.
fn sloppy_v6(text: &str) -> Option<Ipv6Addr> {
    if !text.contains('.') {
        return text.parse().ok();
    }
    let (head, tail) = text.split_at(text.rfind(':')? + 1);
    // What is longer than any address is none; this also bounds the copy.
    if head.len() > 45 {
        return None;
    }
    format!("{head}{}", sloppy_v4(tail)?).parse().ok()
}

/// An IPv4 address.
pub(super) struct Ipv4;

impl Format for Ipv4 {
    fn name(&self) -> &'static str {
        "ipv4"
    }
    fn doc(&self) -> &'static str {
        "an IPv4 address; leading zeros are allowed"
    }
    fn accepts(&self, text: &str) -> bool {
        text.contains('.') && (sloppy_v4(text).is_some() || sloppy_v6(text).is_some())
    }
}

/// An IPv6 address.
pub(super) struct Ipv6;

impl Format for Ipv6 {
    fn name(&self) -> &'static str {
        "ipv6"
    }
    fn doc(&self) -> &'static str {
        "an IPv6 address without a zone"
    }
    fn accepts(&self, text: &str) -> bool {
        text.contains(':') && text.parse::<Ipv6Addr>().is_ok()
    }
}

/// A network in CIDR notation.
pub(super) struct Cidr;

impl Format for Cidr {
    fn name(&self) -> &'static str {
        "cidr"
    }
    fn doc(&self) -> &'static str {
        "a network as address and prefix length, IPv4 or IPv6"
    }
    fn accepts(&self, text: &str) -> bool {
        let Some((address, length)) = text.split_once('/') else { return false };
        if length.is_empty() || !length.bytes().all(|b| b.is_ascii_digit()) {
            return false;
        }
        let digits = length.trim_start_matches('0');
        let Ok(length) = (if digits.is_empty() { Ok(0) } else { digits.parse::<u16>() }) else {
            return false;
        };
        if sloppy_v4(address).is_some() {
            length <= 32
        } else {
            length <= 128 && sloppy_v6(address).is_some()
        }
    }
}

/// A hardware address.
pub(super) struct Mac;

impl Format for Mac {
    fn name(&self) -> &'static str {
        "mac"
    }
    fn doc(&self) -> &'static str {
        "a hardware address of 6, 8 or 20 bytes, with colons, dashes or dots"
    }
    fn accepts(&self, text: &str) -> bool {
        let bytes = text.as_bytes();
        let (separator, width) = match (bytes.get(2), bytes.get(4)) {
            (Some(b':' | b'-'), _) => (bytes[2], 2),
            (_, Some(b'.')) => (b'.', 4),
            _ => return false,
        };
        let groups: &[usize] = if width == 2 { &[6, 8, 20] } else { &[3, 4, 10] };
        (bytes.len() + 1).is_multiple_of(width + 1)
            && groups.contains(&((bytes.len() + 1) / (width + 1)))
            && bytes
                .split(|&b| b == separator)
                .all(|group| group.len() == width && group.iter().all(u8::is_ascii_hexdigit))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn addresses() {
        check(
            &Ipv4,
            &[
                "+1.2.3.4",
                "+0.0.0.0",
                "+255.255.255.255",
                "+01.2.3.4",
                "+::ffff:1.2.3.4",
                "+::ffff:01.2.3.4",
                "-1.2.3",
                "-256.1.1.1",
                "-::1",
                "-1.2.3.4/8",
                "-",
                "-1..2.3",
                "-1.2.3.4.5",
            ],
        );
        check(
            &Ipv6,
            &[
                "+::1",
                "+fe80::1",
                "+2001:db8::8a2e:370:7334",
                "+::ffff:1.2.3.4",
                "-::ffff:01.2.3.4",
                "-1.2.3.4",
                "-:::",
                "-g::1",
                "-",
                "-fe80::1%eth0",
            ],
        );
        check(
            &Cidr,
            &[
                "+10.0.0.0/8",
                "+192.168.1.7/24",
                "+010.0.0.0/08",
                "+fd00::/8",
                "+::/128",
                "-::/129",
                "-10.0.0.0",
                "-10.0.0.0/33",
                "-x/8",
                "-/8",
                "-1.2.3.4/",
                "-",
            ],
        );
        check(
            &Mac,
            &[
                "+00:00:5e:00:53:01",
                "+00-00-5e-00-53-01",
                "+0000.5e00.5301",
                "+02:00:5e:10:00:00:00:01",
                "-00:00:5e:00:53",
                "-zz:00:5e:00:53:01",
                "-00:00-5e:00:53:01",
                "-",
            ],
        );
    }
}
