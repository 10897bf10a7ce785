//! Go's `strconv`: quoting, and parsing booleans and integers with Go's error messages.

mod printable;
mod unquote;

use std::fmt::Write as _;
use std::num::{IntErrorKind, ParseIntError};

use printable::PRINTABLE;
pub use unquote::unquote;

/// The escape of a character that Go writes with a letter or as itself after a backslash.
pub fn short_escape(c: char) -> Option<&'static str> {
    Some(match c {
        '"' => "\\\"",
        '\\' => "\\\\",
        '\u{7}' => "\\a",
        '\u{8}' => "\\b",
        '\u{c}' => "\\f",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\u{b}' => "\\v",
        _ => return None,
    })
}

/// A string as Go's `%q` prints it.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            c if let Some(escape) = short_escape(c) => out.push_str(escape),
            c if is_print(c) => out.push(c),
            c if (c as u32) < 0x80 => {
                let _ = write!(out, "\\x{:02x}", c as u32);
            }
            c if (c as u32) < 0x1_0000 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => {
                let _ = write!(out, "\\U{:08x}", c as u32);
            }
        }
    }
    out.push('"');
    out
}

/// Bytes as Go's `%q` prints them: those that are not UTF-8 as `\xff`.
pub fn quote_bytes(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        let quoted = quote(chunk.valid());
        out.push_str(&quoted[1..quoted.len() - 1]);
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('"');
    out
}

/// Whether Go's `strconv.IsPrint` holds: letters, marks, numbers, punctuation, symbols and the
/// ASCII space.
pub fn is_print(c: char) -> bool {
    let code = c as u32;
    if code < 0x7f {
        return code >= 0x20;
    }
    let after = PRINTABLE.partition_point(|&(first, _)| first <= code);
    after > 0 && code <= PRINTABLE[after - 1].1
}

/// `strconv.ParseInt(text, 10, 64)`.
pub fn parse_int(text: &str) -> Result<i64, String> {
    text.parse().map_err(|error| number_error("ParseInt", text, &error))
}

/// `strconv.ParseInt(text, 10, 32)`.
pub fn parse_int32(text: &str) -> Result<i32, String> {
    text.parse().map_err(|error| number_error("ParseInt", text, &error))
}

/// `strconv.ParseUint(text, 10, 64)`, which takes no sign.
pub fn parse_uint(text: &str) -> Result<u64, String> {
    if text.starts_with('+') {
        return Err(syntax_error("ParseUint", text));
    }
    text.parse().map_err(|error| number_error("ParseUint", text, &error))
}

/// `strconv.Atoi`.
pub fn atoi(text: &str) -> Result<i64, String> {
    text.parse().map_err(|error| number_error("Atoi", text, &error))
}

/// The error of `strconv.ParseBool`.
pub fn bool_error(text: &str) -> String {
    format!("strconv.ParseBool: parsing {}: invalid syntax", quote(text))
}

/// `strconv.ParseBool`; `None` for what it refuses.
pub fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

fn number_error(function: &str, text: &str, error: &ParseIntError) -> String {
    match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => {
            format!("strconv.{function}: parsing {}: value out of range", quote(text))
        }
        _ => syntax_error(function, text),
    }
}

fn syntax_error(function: &str, text: &str) -> String {
    format!("strconv.{function}: parsing {}: invalid syntax", quote(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_the_size_that_is_asked_for() {
        let out_of_range = |text| format!("strconv.ParseInt: parsing \"{text}\": value out of range");
        assert_eq!(parse_int32("2147483647"), Ok(i32::MAX));
        assert_eq!(parse_int32("2147483648"), Err(out_of_range("2147483648")));
        assert_eq!(parse_int("2147483648"), Ok(2_147_483_648));
        assert_eq!(parse_int("9223372036854775808"), Err(out_of_range("9223372036854775808")));
        assert_eq!(parse_int("8o"), Err("strconv.ParseInt: parsing \"8o\": invalid syntax".to_owned()));
    }

    #[test]
    fn booleans_are_those_of_go() {
        for (text, want) in [
            ("1", Some(true)),
            ("T", Some(true)),
            ("True", Some(true)),
            ("0", Some(false)),
            ("FALSE", Some(false)),
            ("tRUE", None),
            ("yes", None),
            ("", None),
            (" true", None),
        ] {
            assert_eq!(parse_bool(text), want, "{text:?}");
        }
    }

    #[test]
    fn printable_is_what_go_prints() {
        for (c, want, why) in [
            (' ', true, "the one space that is printed"),
            ('\u{7f}', false, "delete"),
            ('\u{a0}', false, "no-break space"),
            ('\u{ad}', false, "soft hyphen is a format character"),
            ('\u{301}', true, "a combining mark stands for itself"),
            ('\u{378}', false, "unassigned"),
            ('\u{200b}', false, "zero width space"),
            ('\u{e000}', false, "private use"),
            ('\u{fffd}', true, "the replacement character is a symbol"),
            ('\u{1F600}', true, "emoji"),
            ('\u{1FAE8}', true, "new in Unicode 15.0"),
            ('\u{1FAE9}', false, "new in Unicode 16.0, which Go does not know yet"),
            ('\u{E01EF}', true, "the last printable one"),
            ('\u{10FFFF}', false, "no character"),
        ] {
            assert_eq!(is_print(c), want, "{:04x}: {why}", c as u32);
        }
    }

    #[test]
    fn strings_quote_as_percent_q() {
        assert_eq!(quote("a\"b\\\n\u{1}é\u{200b}\u{1F600}"), "\"a\\\"b\\\\\\n\\x01é\\u200b😀\"");
    }

    #[test]
    fn bytes_that_are_not_utf8_are_escaped() {
        assert_eq!(quote_bytes(b"a\xff\"\xc3\xa9"), "\"a\\xff\\\"\u{e9}\"");
    }

    #[test]
    fn integers_are_parsed_with_go_errors() {
        assert_eq!(parse_int("+5"), Ok(5));
        assert_eq!(parse_uint("18446744073709551615"), Ok(u64::MAX));
        assert_eq!(atoi("-007"), Ok(-7));
        for (result, want) in [
            (parse_int("x\n").map(drop), "strconv.ParseInt: parsing \"x\\n\": invalid syntax"),
            (parse_int("").map(drop), "strconv.ParseInt: parsing \"\": invalid syntax"),
            (
                parse_int("-9223372036854775809").map(drop),
                "strconv.ParseInt: parsing \"-9223372036854775809\": value out of range",
            ),
            (parse_uint("+1").map(drop), "strconv.ParseUint: parsing \"+1\": invalid syntax"),
            (parse_uint("-1").map(drop), "strconv.ParseUint: parsing \"-1\": invalid syntax"),
            (
                parse_uint("18446744073709551616").map(drop),
                "strconv.ParseUint: parsing \"18446744073709551616\": value out of range",
            ),
            (atoi("-").map(drop), "strconv.Atoi: parsing \"-\": invalid syntax"),
        ] {
            assert_eq!(result, Err(want.to_owned()));
        }
    }
}
