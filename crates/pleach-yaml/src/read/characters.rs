//! Decoding: from bytes to characters that YAML allows.
//!
//! UTF-8, or UTF-16 with a byte order mark. Errors here come before any other.

use std::borrow::Cow;

use crate::error::{Stage, YamlError};

/// The text of a stream, without its byte order mark, and its traits.
pub(super) fn decode(bytes: &[u8]) -> Result<(Cow<'_, str>, u8), YamlError> {
    let text = match bytes {
        [0xFE, 0xFF, rest @ ..] => Cow::Owned(utf16(rest, u16::from_be_bytes)?),
        [0xFF, 0xFE, rest @ ..] => Cow::Owned(utf16(rest, u16::from_le_bytes)?),
        [0xEF, 0xBB, 0xBF, rest @ ..] => Cow::Borrowed(utf8(rest)?),
        all => Cow::Borrowed(utf8(all)?),
    };
    let traits = traits(text.as_bytes());
    if traits & (BEYOND_ASCII | CONTROL) != 0 && !text.chars().all(is_allowed) {
        return Err(fault("control characters are not allowed"));
    }
    Ok((text, traits))
}

/// Bytes that are control characters and no blanks or line breaks.
pub(super) const CONTROL: u8 = 1;
/// Bytes of characters beyond ASCII.
pub(super) const BEYOND_ASCII: u8 = 2;
/// Carriage returns and line feeds.
pub(super) const BREAK: u8 = 4;
/// Carriage returns.
pub(super) const RETURN: u8 = 16;
/// Backslashes.
pub(super) const BACKSLASH: u8 = 8;

const TRAITS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'\n' => BREAK,
            b'\r' => BREAK | RETURN,
            b'\\' => BACKSLASH,
            0x80.. => BEYOND_ASCII,
            b'\t' | b' '..=b'~' => 0,
            _ => CONTROL,
        };
        byte += 1;
    }
    table
};

/// How many bytes are classified together.
const STRIDE: usize = 32;

/// The union of the traits of all bytes of a text.
pub(super) fn traits(bytes: &[u8]) -> u8 {
    let each = |bytes: &[u8]| bytes.iter().fold(0, |all, &byte| all | TRAITS[byte as usize]);
    let (strides, rest) = bytes.as_chunks::<STRIDE>();
    // Most have none, which needs no table.
    let has_some = |stride: &&[u8; STRIDE]| {
        let odd = |byte: u8| u8::from(byte.wrapping_sub(b' ') > b'~' - b' ') | u8::from(byte == b'\\');
        stride.iter().fold(0, |some, &byte| some | odd(byte)) != 0
    };
    strides.iter().filter(has_some).fold(each(rest), |all, stride| all | each(stride))
}

fn is_allowed(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}'
        | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

fn fault(message: &str) -> YamlError {
    YamlError::new(Stage::Reader, message, None)
}

fn utf8(bytes: &[u8]) -> Result<&str, YamlError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let rest = &bytes[error.valid_up_to()..];
        let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
        if !valid.chars().all(is_allowed) {
            return fault("control characters are not allowed");
        }
        let width = match rest[0] {
            0xC0..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF7 => 4,
            _ => return fault("invalid leading UTF-8 octet"),
        };
        if rest.len() < width {
            return fault("incomplete UTF-8 octet sequence");
        }
        if rest[1..width].iter().any(|byte| byte & 0xC0 != 0x80) {
            return fault("invalid trailing UTF-8 octet");
        }
        let mut code = u32::from(rest[0]) & (0x7F >> width);
        for byte in &rest[1..width] {
            code = code << 6 | u32::from(byte & 0x3F);
        }
        let least = [0x80, 0x800, 0x10000][width - 2];
        if code < least {
            return fault("invalid length of a UTF-8 sequence");
        }
        fault("invalid Unicode character")
    })
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, YamlError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(fault("incomplete UTF-16 character"));
    }
    char::decode_utf16(pairs.iter().map(|pair| unit(*pair)))
        .collect::<Result<_, _>>()
        .map_err(|_| fault("unexpected low surrogate area"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traits_are_seen_wherever_they_are() {
        for byte in 0..=u8::MAX {
            for (length, at) in [(1, 0), (31, 30), (32, 0), (32, 31), (100, 17), (100, 64), (100, 99)] {
                let mut text = vec![b'x'; length];
                text[at] = byte;
                assert_eq!(traits(&text), TRAITS[byte as usize], "{byte} at {at} of {length}");
            }
        }
        assert_eq!(traits(b"\\ and\n and \xc3\xa4, thirty-two and more"), BACKSLASH | BREAK | BEYOND_ASCII);
    }
}
