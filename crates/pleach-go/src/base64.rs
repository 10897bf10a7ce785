//! Go's `encoding/base64`: line breaks are skipped, and an error names the offset.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

/// As in Go, the bits that a last digit has too many may be anything.
const PADDED: GeneralPurposeConfig = GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true);
const UNPADDED: GeneralPurposeConfig =
    PADDED.with_encode_padding(false).with_decode_padding_mode(DecodePaddingMode::RequireNone);
const STD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, PADDED);
const RAW_URL: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, UNPADDED);

fn sextet(b: u8, plus: u8, slash: u8) -> Option<u32> {
    let value = match b {
        b'A'..=b'Z' => b - b'A',
        b'a'..=b'z' => b - b'a' + 26,
        b'0'..=b'9' => b - b'0' + 52,
        b if b == plus => 62,
        b if b == slash => 63,
        _ => return None,
    };
    Some(value.into())
}

/// `base64.StdEncoding.DecodeString`.
pub fn decode(text: &str) -> Result<Vec<u8>, String> {
    STD.decode(text).or_else(|_| decode_with(text, b'+', b'/', true))
}

/// `base64.URLEncoding.DecodeString`.
pub fn decode_url(text: &str) -> Result<Vec<u8>, String> {
    decode_with(text, b'-', b'_', true)
}

/// `base64.RawURLEncoding.DecodeString`.
pub fn decode_raw_url(text: &str) -> Result<Vec<u8>, String> {
    RAW_URL.decode(text).or_else(|_| decode_with(text, b'-', b'_', false))
}

/// With line breaks, and the offset of an error.
fn decode_with(text: &str, plus: u8, slash: u8, padded: bool) -> Result<Vec<u8>, String> {
    let corrupt = |at: usize| format!("illegal base64 data at input byte {at}");
    let bytes = text.as_bytes();
    let mut rest = bytes.iter().copied().enumerate().filter(|(_, b)| !matches!(b, b'\r' | b'\n'));
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3);
    loop {
        let mut bits = 0_u32;
        let mut have = 0;
        let padded = loop {
            match rest.next() {
                None if have == 0 => return Ok(out),
                None if !padded && have > 1 => break true,
                // The whole last group is at fault, counted back from the end.
                None => return Err(corrupt(bytes.len() - have)),
                Some((at, b'=')) if padded => {
                    if have < 2 {
                        return Err(corrupt(at));
                    }
                    if have == 2 {
                        match rest.next() {
                            Some((_, b'=')) => {}
                            Some((second, _)) => return Err(corrupt(second - 1)),
                            None => return Err(corrupt(bytes.len())),
                        }
                    }
                    break true;
                }
                Some((at, b)) => {
                    bits = bits << 6 | sextet(b, plus, slash).ok_or_else(|| corrupt(at))?;
                    have += 1;
                    if have == 4 {
                        break false;
                    }
                }
            }
        };
        bits <<= 6 * (4 - have);
        out.extend_from_slice(&bits.to_be_bytes()[1..have]);
        if padded {
            return rest.next().map_or(Ok(out), |(at, _)| Err(corrupt(at)));
        }
    }
}

/// `base64.StdEncoding.EncodeToString`.
pub fn encode(bytes: impl AsRef<[u8]>) -> String {
    STD.encode(bytes)
}

/// `base64.RawURLEncoding.EncodeToString`.
pub fn encode_raw_url(bytes: impl AsRef<[u8]>) -> String {
    RAW_URL.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_go_both_ways() {
        for text in ["", "a", "ab", "abc", "abcd", "not a cert", "\u{0}\u{ff}\u{10ffff}"] {
            let encoded = encode(text.as_bytes());
            assert_eq!(decode(&encoded).unwrap(), text.as_bytes(), "{encoded}");
        }
        assert_eq!(encode(b"not a cert"), "bm90IGEgY2VydA==");
        assert_eq!(decode("YW\nJj\r\n").unwrap(), b"abc", "line breaks are skipped");
    }

    #[test]
    fn url_encoding_has_its_own_digits() {
        assert_eq!(decode_raw_url("-_8").unwrap(), [0xfb, 0xff]);
        assert_eq!(decode_raw_url("-_\n8").unwrap(), [0xfb, 0xff]);
        assert_eq!(encode_raw_url([0xfb, 0xff]), "-_8");
        assert_eq!(decode_raw_url("-_8=").unwrap_err(), "illegal base64 data at input byte 3");
        assert_eq!(decode_raw_url("abcde").unwrap_err(), "illegal base64 data at input byte 4");
        assert_eq!(decode_url("-_8=").unwrap(), [0xfb, 0xff]);
        assert_eq!(decode_url("+/8=").unwrap_err(), "illegal base64 data at input byte 0");
        assert_eq!(decode("-_8=").unwrap_err(), "illegal base64 data at input byte 0");
    }

    #[test]
    fn errors_name_the_byte() {
        for (text, at) in [
            ("!", 0),
            ("YWJj!", 4),
            ("abc", 0),
            ("YWJjab", 4),
            ("=", 0),
            ("a=", 1),
            ("YQ=", 3),
            ("YQ=a", 2),
            ("YQ==a", 4),
            ("YWI=a", 4),
            ("YW=J", 2),
            ("YWJ\nj!", 5),
            ("YWJjZ", 4),
            ("YQ\n=!", 3),
        ] {
            let want = format!("illegal base64 data at input byte {at}");
            assert_eq!(decode(text).unwrap_err(), want, "{text}");
        }
    }
}
