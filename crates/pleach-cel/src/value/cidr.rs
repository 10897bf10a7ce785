//! Addresses and blocks of addresses, read with Go's error texts.

use crate::value::quote;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address with the length of a prefix; bits behind the prefix are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cidr {
    address: IpAddr,
    bits: u8,
}

/// An address as Go reads it: forms that IPv6 allows and Kubernetes does not are marked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Parsed {
    pub(crate) address: IpAddr,
    pub(crate) has_zone: bool,
}

impl Cidr {
    /// Reads `address/bits`; the error is Go's text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let fail = |reason: &str| Err(format!("netip.ParsePrefix({}): {reason}", quote(text)));
        let Some((address, bits_text)) = text.rsplit_once('/') else { return fail("no '/'") };
        let parsed = match parse_address(address) {
            Ok(parsed) => parsed,
            Err(reason) => return fail(&reason),
        };
        if parsed.has_zone {
            return fail("IPv6 zones cannot be present in a prefix");
        }
        let bad_bits = || fail(&format!("bad bits after slash: {}", quote(bits_text)));
        if bits_text.is_empty()
            || !bits_text.bytes().all(|b| b.is_ascii_digit())
            || (bits_text.len() > 1 && bits_text.starts_with('0'))
        {
            return bad_bits();
        }
        let Ok(bits) = bits_text.parse::<i64>() else { return bad_bits() };
        let max = if parsed.address.is_ipv4() { 32 } else { 128 };
        if bits > max {
            return fail("prefix length out of range");
        }
        Ok(Self { address: parsed.address, bits: bits as u8 })
    }

    /// The address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// The length of the prefix.
    pub fn bits(&self) -> u8 {
        self.bits
    }

    /// The block without bits behind the prefix.
    #[must_use]
    pub fn masked(self) -> Self {
        let address = match self.address {
            IpAddr::V4(v4) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V4(Ipv4Addr::from_bits(v4.to_bits() & mask))
            }
            IpAddr::V6(v6) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.bits)).unwrap_or(0);
                IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & mask))
            }
        };
        Self { address, ..self }
    }

    /// Whether the address is in the block.
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4()
            && Self { address, bits: self.bits }.masked().address == self.masked().address
    }

    /// Whether all of the other block is in this one.
    pub fn contains_block(&self, other: &Self) -> bool {
        self.bits <= other.bits && self.contains(other.address)
    }
}

impl std::fmt::Display for Cidr {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

/// Reads an address; the error is Go's text.
pub(crate) fn parse_address(text: &str) -> Result<Parsed, String> {
    let failure = match text.bytes().find(|b| matches!(b, b'.' | b':' | b'%')) {
        Some(b'.') => match parse_v4(text) {
            Ok(v4) => return Ok(Parsed { address: IpAddr::V4(v4), has_zone: false }),
            Err(failure) => failure,
        },
        Some(b':') => match parse_v6(text) {
            Ok(parsed) => return Ok(parsed),
            Err(failure) => failure,
        },
        Some(_) => ("missing IPv6 address", ""),
        None => ("unable to parse IP", ""),
    };
    let (reason, at) = failure;
    let at = if at.is_empty() { String::new() } else { format!(" (at {})", quote(at)) };
    Err(format!("ParseAddr({}): {reason}{at}", quote(text)))
}

/// The reason, and the rest of the text at which it arose.
type Failure<'t> = (&'static str, &'t str);

fn parse_v4(text: &str) -> Result<Ipv4Addr, Failure<'_>> {
    let mut octets = [0u8; 4];
    let (mut value, mut at, mut digits) = (0u32, 0, 0);
    let bytes = text.as_bytes();
    for (i, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(("IPv4 field has octet with leading zero", ""));
                }
                value = value * 10 + u32::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(("IPv4 field has value >255", ""));
                }
            }
            b'.' => {
                if i == 0 || i == bytes.len() - 1 || bytes[i - 1] == b'.' {
                    return Err(("IPv4 field must have at least one digit", &text[i..]));
                }
                if at == 3 {
                    return Err(("IPv4 address too long", ""));
                }
                octets[at] = value as u8;
                (at, value, digits) = (at + 1, 0, 0);
            }
            _ => return Err(("unexpected character", &text[i..])),
        }
    }
    if at < 3 {
        return Err(("IPv4 address too short", ""));
    }
    octets[3] = value as u8;
    Ok(octets.into())
}

fn parse_v6(text: &str) -> Result<Parsed, Failure<'_>> {
    let (mut rest, zone) = match text.split_once('%') {
        Some((_, "")) => return Err(("zone must be a non-empty string", "")),
        Some((rest, zone)) => (rest, Some(zone)),
        None => (text, None),
    };
    let done = |octets: [u8; 16]| Parsed { address: IpAddr::V6(octets.into()), has_zone: zone.is_some() };
    let mut octets = [0u8; 16];
    let mut ellipsis = None;
    if let Some(after) = rest.strip_prefix("::") {
        ellipsis = Some(0);
        rest = after;
        if rest.is_empty() {
            return Ok(done(octets));
        }
    }
    let mut at = 0;
    while at < 16 {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        if digits > 4 {
            return Err(("each group must have 4 or less digits", rest));
        }
        if digits == 0 {
            return Err(("each colon-separated field must have at least one digit", rest));
        }
        let group = u16::from_str_radix(&rest[..digits], 16).expect("at most four hexadecimal digits");
        if rest.as_bytes().get(digits) == Some(&b'.') {
            if ellipsis.is_none() && at != 12 {
                return Err(("embedded IPv4 address must replace the final 2 fields of the address", rest));
            }
            if at + 4 > 16 {
                return Err(("too many hex fields to fit an embedded IPv4 at the end of the address", rest));
            }
            octets[at..at + 4].copy_from_slice(&parse_v4(rest)?.octets());
            rest = "";
            at += 4;
            break;
        }
        octets[at..at + 2].copy_from_slice(&group.to_be_bytes());
        at += 2;
        rest = &rest[digits..];
        if rest.is_empty() {
            break;
        }
        if !rest.starts_with(':') {
            return Err(("unexpected character, want colon", rest));
        }
        if rest.len() == 1 {
            return Err(("colon must be followed by more characters", rest));
        }
        rest = &rest[1..];
        if rest.starts_with(':') {
            if ellipsis.is_some() {
                return Err(("multiple :: in address", rest));
            }
            ellipsis = Some(at);
            rest = &rest[1..];
            if rest.is_empty() {
                break;
            }
        }
    }
    if !rest.is_empty() {
        return Err(("trailing garbage after address", rest));
    }
    match (at < 16, ellipsis) {
        (true, None) => return Err(("address string too short", "")),
        (true, Some(ellipsis)) => {
            octets.copy_within(ellipsis..at, 16 - (at - ellipsis));
            octets[ellipsis..16 - (at - ellipsis)].fill(0);
        }
        (false, Some(_)) => return Err(("the :: must expand to at least one field of zeros", "")),
        (false, None) => {}
    }
    Ok(done(octets))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_go_reads_them() {
        for (text, want) in [
            ("1.2.3.4", Ok("1.2.3.4")),
            ("2001:DB8::1", Ok("2001:db8::1")),
            ("1:0:0:2:0:0:0:3", Ok("1:0:0:2::3")),
            ("::", Ok("::")),
            ("1::", Ok("1::")),
            ("64:ff9b::1.2.3.4", Ok("64:ff9b::102:304")),
            ("01.2.3.4", Err(r#"ParseAddr("01.2.3.4"): IPv4 field has octet with leading zero"#)),
            ("1.2.3.4 ", Err(r#"ParseAddr("1.2.3.4 "): unexpected character (at " ")"#)),
            ("1::2::3", Err(r#"ParseAddr("1::2::3"): multiple :: in address (at ":3")"#)),
            ("abc", Err(r#"ParseAddr("abc"): unable to parse IP"#)),
        ] {
            let got = parse_address(text).map(|parsed| parsed.address.to_string());
            assert_eq!(got.as_deref().map_err(String::as_str), want, "{text}");
        }
    }

    #[test]
    fn blocks_contain_their_addresses() {
        let block = Cidr::parse("10.1.2.3/8").expect("valid");
        assert_eq!(block.masked().to_string(), "10.0.0.0/8");
        assert!(block.contains([10, 5, 5, 5].into()));
        assert!(!block.contains([11, 5, 5, 5].into()));
        assert!(!block.contains(Ipv6Addr::LOCALHOST.into()));
        assert!(Cidr::parse("0.0.0.0/0").expect("valid").contains([1, 2, 3, 4].into()));
        assert_eq!(
            Cidr::parse("10.0.0.0/08").unwrap_err(),
            r#"netip.ParsePrefix("10.0.0.0/08"): bad bits after slash: "08""#
        );
    }
}
