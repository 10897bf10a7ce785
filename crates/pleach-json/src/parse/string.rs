//! Strings: scanning, escapes, and the repair of text that is not UTF-8.
//!
//! Like Go's decoder this never refuses a string for its encoding: each byte that is no part of a
//! UTF-8 sequence and each surrogate without its partner becomes U+FFFD.

use super::{Key, Parser};
use crate::Str;
use crate::error::{Context, ParseError};

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const QUOTES: u64 = u64::from_le_bytes([b'"'; 8]);
const BACKSLASHES: u64 = u64::from_le_bytes([b'\\'; 8]);
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The high bit of every byte that is zero; bytes above a zero byte may be marked falsely.
const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(LOW_BITS) & !word & HIGH_BITS
}

/// Marks of the bytes that are a quote, a backslash or a control character. The lowest mark is always
/// true: only bytes above a true one can be marked falsely.
#[inline]
const fn stops(word: u64) -> u64 {
    let quote = zero_bytes(word ^ QUOTES);
    let backslash = zero_bytes(word ^ BACKSLASHES);
    let control = word.wrapping_sub(LOW_BITS * 0x20) & !word & HIGH_BITS;
    quote | backslash | control
}

/// How many bytes from `from` on are neither a quote, a backslash nor a control character.
#[inline]
pub(crate) fn plain_run(bytes: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(chunk) = bytes.get(at..at + 8) {
        let word = u64::from_le_bytes(chunk.try_into().expect("a slice of eight bytes"));
        let stop = stops(word);
        if stop != 0 {
            return at + stop.trailing_zeros() as usize / 8 - from;
        }
        at += 8;
    }
    while let Some(&byte) = bytes.get(at)
        && byte != b'"'
        && byte != b'\\'
        && byte >= 0x20
    {
        at += 1;
    }
    at - from
}

/// Reads a string without escapes, standing at its opening quote. Returns nothing and stays where it
/// is if the string has an escape or a fault.
#[inline(always)]
#[expect(clippy::inline_always, reason = "called three times in the innermost loop; measured")]
pub(super) fn plain_string<'a>(text: &'a str, at: &mut usize) -> Option<&'a str> {
    let start = *at + 1;
    let end = start + plain_run(text.as_bytes(), start);
    if text.as_bytes().get(end) != Some(&b'"') {
        return None;
    }
    *at = end + 1;
    Some(&text[start..end])
}

impl<'a> Parser<'a, '_> {
    /// Reads any string from its opening quote, and appends its text to `unescaped`.
    fn escaped_string(&mut self) -> Result<(), ParseError> {
        // The beginning of the text without escapes.
        let mut start = self.at + 1;
        let mut end = start;
        loop {
            end += plain_run(self.bytes, end);
            self.at = end;
            match (self.peek(), self.bytes.get(end + 1)) {
                (Some(b'"'), _) => {
                    self.unescaped.push_str(&self.text[start..end]);
                    self.at += 1;
                    return Ok(());
                }
                (Some(b'\\'), Some(b'"' | b'\\' | b'/')) => {
                    self.unescaped.push_str(&self.text[start..end]);
                    // The character stands for itself: it is copied with the text that follows.
                    start = end + 1;
                    end += 2;
                }
                (Some(b'\\'), _) => {
                    self.unescaped.push_str(&self.text[start..end]);
                    let escaped = self.escape()?;
                    self.unescaped.push(escaped);
                    start = self.at;
                    end = start;
                }
                _ => return Err(self.unexpected(Context::String)),
            }
        }
    }

    /// Reads any string that is a key, standing at its opening quote.
    #[cold]
    pub(super) fn escaped_key(&mut self) -> Result<Key<'a>, ParseError> {
        let start = self.unescaped.len();
        self.escaped_string()?;
        Ok(Key::Unescaped(start, self.unescaped.len()))
    }

    /// Reads any string that is a value, standing at its opening quote.
    #[cold]
    pub(super) fn escaped_value(&mut self) -> Result<Str, ParseError> {
        let start = self.unescaped.len();
        self.escaped_string()?;
        let value = Str::new(&self.unescaped[start..]);
        self.unescaped.truncate(start);
        Ok(value)
    }

    /// Reads an escape, standing at its backslash.
    fn escape(&mut self) -> Result<char, ParseError> {
        let start = self.at;
        self.at += 1;
        let plain = match self.peek() {
            Some(c @ (b'"' | b'\\' | b'/')) => c as char,
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(start),
            _ => return Err(self.bad_escape(start)),
        };
        self.at += 1;
        Ok(plain)
    }

    /// Reads `\uXXXX`, and the second half of a surrogate pair where there is one.
    fn unicode_escape(&mut self, start: usize) -> Result<char, ParseError> {
        self.at += 1;
        let unit = self.hex4(start)?;
        if !(0xD800..0xE000).contains(&unit) {
            return Ok(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let after = self.at;
        if unit < 0xDC00 && self.bytes[after..].starts_with(b"\\u") {
            self.at += 2;
            let low = self.hex4(after)?;
            if (0xDC00..0xE000).contains(&low) {
                let code = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            // No pair after all: the second escape is read again on its own.
            self.at = after;
        }
        Ok(char::REPLACEMENT_CHARACTER)
    }

    fn hex4(&mut self, start: usize) -> Result<u32, ParseError> {
        let mut unit = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| (byte as char).to_digit(16)) else {
                return Err(self.bad_escape(start));
            };
            unit = unit * 16 + digit;
            self.at += 1;
        }
        Ok(unit)
    }

    /// The error for an escape that starts at `start` and goes wrong here.
    fn bad_escape(&self, start: usize) -> ParseError {
        ParseError::escape(self.bytes, self.at, self.at - start)
    }
}

/// The text with U+FFFD for every byte that is no part of a UTF-8 sequence.
pub(super) fn repair(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + bytes.len() / 8);
    let mut rest = bytes;
    while !rest.is_empty() {
        match std::str::from_utf8(rest) {
            Ok(valid) => {
                out.push_str(valid);
                break;
            }
            Err(error) => {
                let (valid, after) = rest.split_at(error.valid_up_to());
                out.push_str(std::str::from_utf8(valid).unwrap_or_default());
                // Go moves on by a single byte, whatever the sequence looked like.
                out.push(char::REPLACEMENT_CHARACTER);
                rest = &after[1..];
            }
        }
    }
    out
}
