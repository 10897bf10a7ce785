//! `bsonobjectid` and the four `uuid` formats: runs of hexadecimal digits.

use super::Format;

/// 24 hexadecimal digits.
pub(super) struct BsonObjectId;

impl Format for BsonObjectId {
    fn name(&self) -> &'static str {
        "bsonobjectid"
    }
    fn doc(&self) -> &'static str {
        "24 hexadecimal digits"
    }
    fn accepts(&self, text: &str) -> bool {
        text.len() == 24 && text.bytes().all(|b| b.is_ascii_hexdigit())
    }
}

/// The 32 digits of a UUID, if the text is one; each dash may be left out.
fn uuid_digits(text: &str) -> Option<[u8; 32]> {
    let mut digits = [0; 32];
    let mut n = 0;
    let mut after_dash = false;
    for b in text.bytes() {
        if b == b'-' {
            if after_dash || !matches!(n, 8 | 12 | 16 | 20) {
                return None;
            }
            after_dash = true;
            continue;
        }
        if !b.is_ascii_hexdigit() || n == 32 {
            return None;
        }
        digits[n] = b.to_ascii_lowercase();
        n += 1;
        after_dash = false;
    }
    (n == 32).then_some(digits)
}

/// A UUID of version `version`; versions 4 and 5 also have a variant digit.
fn is_version(text: &str, version: u8) -> bool {
    uuid_digits(text).is_some_and(|digits| {
        digits[12] == version && (version == b'3' || matches!(digits[16], b'8' | b'9' | b'a' | b'b'))
    })
}

/// Any UUID.
pub(super) struct Uuid;

impl Format for Uuid {
    fn name(&self) -> &'static str {
        "uuid"
    }
    fn doc(&self) -> &'static str {
        "a UUID, in upper or lower case, dashes optional"
    }
    fn accepts(&self, text: &str) -> bool {
        uuid_digits(text).is_some()
    }
}

/// A UUID of version 3.
pub(super) struct Uuid3;

impl Format for Uuid3 {
    fn name(&self) -> &'static str {
        "uuid3"
    }
    fn doc(&self) -> &'static str {
        "a UUID of version 3"
    }
    fn accepts(&self, text: &str) -> bool {
        is_version(text, b'3')
    }
}

/// A UUID of version 4.
pub(super) struct Uuid4;

impl Format for Uuid4 {
    fn name(&self) -> &'static str {
        "uuid4"
    }
    fn doc(&self) -> &'static str {
        "a UUID of version 4"
    }
    fn accepts(&self, text: &str) -> bool {
        is_version(text, b'4')
    }
}

/// A UUID of version 5.
pub(super) struct Uuid5;

impl Format for Uuid5 {
    fn name(&self) -> &'static str {
        "uuid5"
    }
    fn doc(&self) -> &'static str {
        "a UUID of version 5"
    }
    fn accepts(&self, text: &str) -> bool {
        is_version(text, b'5')
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;

    #[test]
    fn hexadecimal_identifiers() {
        check(
            &BsonObjectId,
            &["+507f1f77bcf86cd799439011", "-507f1f77bcf86cd79943901", "-zz7f1f77bcf86cd799439011", "-"],
        );
        check(
            &Uuid,
            &[
                "+f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
                "+F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6",
                "+f81d4fae7dec11d0a76500a0c91e6bf6",
                "+f81d4fae-7dec11d0-a76500a0c91e6bf6",
                "-f81d4fae--7dec-11d0-a765-00a0c91e6bf6",
                "-f81d4fae-7dec-11d0-a765",
                "-f81d4fae-7dec-11d0-a765-00a0c91e6bf6-",
                "-x",
                "-",
            ],
        );
        check(&Uuid3, &["+bcd02e22-68f0-3046-a512-327cca9def8f", "-bcd02e22-68f0-4046-a512-327cca9def8f"]);
        check(
            &Uuid4,
            &[
                "+025b0d74-00a2-4048-bf57-227c5111bb34",
                "-025b0d74-00a2-3048-bf57-227c5111bb34",
                "-025b0d74-00a2-4048-7f57-227c5111bb34",
            ],
        );
        check(&Uuid5, &["+886313e1-3b8a-5372-9b90-0c9aee199e5d", "-886313e1-3b8a-4372-9b90-0c9aee199e5d"]);
    }
}
