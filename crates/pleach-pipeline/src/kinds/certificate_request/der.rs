//! The outer structure of certificates and of requests for them in DER, with the errors of Go's `encoding/asn1`.
//!
//! Signatures are not verified, and neither names nor keys are read.

/// The header of an element, and where its content is.
struct Header {
    class: u8,
    tag: u32,
    constructed: bool,
    start: usize,
    end: usize,
}

const SEQUENCE: u32 = 16;
const INTEGER: u32 = 2;
const BIT_STRING: u32 = 3;
const TRUNCATED: &str = "asn1: syntax error: data truncated";
const HEADER_TRUNCATED: &str = "asn1: syntax error: truncated tag or length";

/// Reads the header of the element at a place; its content ends before `end`.
fn header(data: &[u8], at: usize, end: usize) -> Result<Header, String> {
    let mut place = at;
    let mut next = || {
        let byte = data[..end].get(place).copied().ok_or_else(|| HEADER_TRUNCATED.to_owned())?;
        place += 1;
        Ok::<u8, String>(byte)
    };
    let first = next()?;
    let mut tag = u32::from(first & 31);
    if tag == 31 {
        tag = 0;
        for digits in 0.. {
            let byte = next()?;
            // Five groups of seven bits are read, and of those 31 bits count.
            if digits == 4 || digits == 0 && byte == 0x80 || tag > u32::MAX >> 8 {
                return Err(match byte {
                    0x80 if digits == 0 => "asn1: syntax error: integer is not minimally encoded".to_owned(),
                    _ => "asn1: structure error: base 128 integer too large".to_owned(),
                });
            }
            tag = tag << 7 | u32::from(byte & 127);
            if byte < 128 {
                break;
            }
        }
        if tag < 31 {
            return Err("asn1: syntax error: non-minimal tag".into());
        }
    }
    let mut length = usize::from(next()?);
    if length == 128 {
        return Err("asn1: syntax error: indefinite length found (not DER)".into());
    }
    if length > 128 {
        let bytes = length & 127;
        length = 0;
        for _ in 0..bytes {
            let byte = next()?;
            if length >= 1 << 23 {
                return Err("asn1: structure error: length too large".into());
            }
            length = length << 8 | usize::from(byte);
            if length == 0 {
                return Err("asn1: structure error: superfluous leading zeros in length".into());
            }
        }
        if length < 128 {
            return Err("asn1: structure error: non-minimal length".into());
        }
    }
    let (class, constructed) = (first >> 6, first & 32 != 0);
    Ok(Header { class, tag, constructed, start: place, end: place.saturating_add(length) })
}

/// The field at a place of a struct: its Go type's name, and the tag it has.
fn field(data: &[u8], at: usize, end: usize, name: &str, tag: u32) -> Result<Header, String> {
    field_of(data, (0, at, end), name, tag)
}

/// The same of a struct whose content begins at a place, from which Go counts.
fn field_of(
    data: &[u8],
    (begin, at, end): (usize, usize, usize),
    name: &str,
    tag: u32,
) -> Result<Header, String> {
    if at == end {
        return Err("asn1: syntax error: sequence truncated".into());
    }
    let found = header(data, at, end)?;
    if found.class != 0 || found.tag != tag || found.constructed != (tag == SEQUENCE) {
        return Err(format!(
            "asn1: structure error: tags don't match ({tag} vs {{class:{} tag:{} length:{} isCompound:{}}}) \
             {{optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> \
             stringType:0 timeType:0 set:false omitEmpty:false}} {name} @{}",
            found.class,
            found.tag,
            found.end - found.start,
            found.constructed,
            found.start - begin
        ));
    }
    if found.end > end {
        return Err(TRUNCATED.into());
    }
    Ok(found)
}

/// Checks that bytes are a certificate request.
pub(super) fn request(data: &[u8]) -> Result<(), String> {
    let whole = field(data, 0, data.len(), "certificateRequest", SEQUENCE)?;
    if whole.end < data.len() {
        return Err("asn1: syntax error: trailing data".into());
    }
    let signed = field_of(data, (whole.start, whole.start, whole.end), "tbsCertificateRequest", SEQUENCE)?;
    let mut at = signed.start;
    for (name, tag) in [("int", INTEGER), ("RawValue", SEQUENCE), ("publicKeyInfo", SEQUENCE)] {
        at = field_of(data, (signed.start, at, signed.end), name, tag)?.end;
    }
    if at < signed.end {
        // Attributes.
        let attributes = header(data, at, signed.end)?;
        if attributes.end > signed.end {
            return Err(TRUNCATED.into());
        }
    }
    let algorithm = field_of(data, (whole.start, signed.end, whole.end), "AlgorithmIdentifier", SEQUENCE)?;
    field_of(data, (whole.start, algorithm.end, whole.end), "BitString", BIT_STRING).map(drop)
}

/// The number of certificates that follow one another.
pub(super) fn certificates(data: &[u8]) -> Result<usize, String> {
    let malformed = |_| "x509: malformed certificate".to_owned();
    let (mut at, mut count) = (0, 0);
    while at < data.len() {
        let whole = field(data, at, data.len(), "", SEQUENCE).map_err(malformed)?;
        let mut inner = whole.start;
        for tag in [SEQUENCE, SEQUENCE, BIT_STRING] {
            inner = field(data, inner, whole.end, "", tag).map_err(malformed)?.end;
        }
        (at, count) = (whole.end, count + 1);
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_those_of_go() {
        let mismatch = |found: &str, name: &str| {
            Err(format!(
                "asn1: structure error: tags don't match (16 vs {found}) {{optional:false explicit:false \
                 application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false \
                 omitEmpty:false}} {name}"
            ))
        };
        for (bytes, want) in [
            (&b""[..], Err("asn1: syntax error: sequence truncated".to_owned())),
            (b"abc", mismatch("{class:1 tag:1 length:98 isCompound:true}", "certificateRequest @2")),
            (b"\x30\x00", Err("asn1: syntax error: sequence truncated".to_owned())),
            (
                b"\x30\x03\x02\x01\x00",
                mismatch("{class:0 tag:2 length:1 isCompound:false}", "tbsCertificateRequest @2"),
            ),
            (b"\x30\x82", Err(HEADER_TRUNCATED.to_owned())),
            (b"\x30\x05\x02", Err(TRUNCATED.to_owned())),
            (
                b"\x30\x81\x05\x02\x01\x00\x02\x00",
                Err("asn1: structure error: non-minimal length".to_owned()),
            ),
            (&[0xff; 40], Err("asn1: structure error: base 128 integer too large".to_owned())),
            (b"\x30\x0e\x30\x07\x02\x01\x00\x30\x00\x30\x00\x30\x00\x03\x01\x00", Ok(())),
        ] {
            assert_eq!(request(bytes), want, "{bytes:?}");
        }
    }

    #[test]
    fn certificates_follow_one_another() {
        let one = b"\x30\x07\x30\x00\x30\x00\x03\x01\x00";
        assert_eq!(certificates(one), Ok(1));
        assert_eq!(certificates(&[&one[..], one].concat()), Ok(2));
        assert_eq!(certificates(b""), Ok(0));
        assert_eq!(certificates(&[one, &b"\0"[..]].concat()), Err("x509: malformed certificate".to_owned()));
    }
}
