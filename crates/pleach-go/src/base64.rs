//! Go's `encoding/base64`, standard encoding: line breaks are skipped, padding is required, and an
//! error names the offset.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn sextet(b: u8) -> Option<u32> {
    let value = match b {
        b'A'..=b'Z' => b - b'A',
        b'a'..=b'z' => b - b'a' + 26,
        b'0'..=b'9' => b - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

/// The bytes of a base64 text, or Go's complaint.
pub fn decode(text: &str) -> Result<Vec<u8>, String> {
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
                // The whole last group is at fault, counted back from the end.
                None => return Err(corrupt(bytes.len() - have)),
                Some((at, b'=')) => {
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
                    bits = bits << 6 | sextet(b).ok_or_else(|| corrupt(at))?;
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

/// The base64 text of some bytes.
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, b| bits << 8 | u32::from(*b)) << (8 * (3 - group.len()));
        for i in 0..4 {
            if i <= group.len() {
                out.push(char::from(ALPHABET[(bits >> (18 - 6 * i) & 63) as usize]));
            } else {
                out.push('=');
            }
        }
    }
    out
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
        ] {
            let want = format!("illegal base64 data at input byte {at}");
            assert_eq!(decode(text).unwrap_err(), want, "{text}");
        }
    }
}
