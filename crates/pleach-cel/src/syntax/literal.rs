//! Literals: the values of number, string and bytes tokens.
//!
//! The lexer has checked the syntax; only the range can be wrong.

use crate::ast::Literal;
use crate::syntax::lexer::TokenKind;

/// The constant of a token of `kind`, negated if `negative`.
pub(crate) fn literal(kind: TokenKind, text: &str, negative: bool) -> Result<Literal, &'static str> {
    match kind {
        TokenKind::True => Ok(Literal::Bool(true)),
        TokenKind::False => Ok(Literal::Bool(false)),
        TokenKind::Null => Ok(Literal::Null),
        TokenKind::Int => int(text, negative).map(Literal::Int).ok_or("invalid int literal"),
        TokenKind::Uint => {
            let digits = text.trim_end_matches(['u', 'U']);
            unsigned(digits)
                .and_then(|v| u64::try_from(v).ok())
                .map(Literal::Uint)
                .ok_or("invalid uint literal")
        }
        TokenKind::Float => {
            let value: f64 = text.parse().map_err(|_| "invalid double literal")?;
            if value.is_infinite() {
                return Err("invalid double literal");
            }
            Ok(Literal::Double(if negative { -value } else { value }))
        }
        TokenKind::String => {
            let bytes = unquote(text, false)?;
            String::from_utf8(bytes).map(|s| Literal::String(s.into())).map_err(|_| "invalid UTF-8 string")
        }
        TokenKind::Bytes => Ok(Literal::Bytes(unquote(&text[1..], true)?.into())),
        _ => Err("invalid literal"),
    }
}

fn unsigned(text: &str) -> Option<u128> {
    match text.strip_prefix("0x") {
        Some(hex) => u128::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

fn int(text: &str, negative: bool) -> Option<i64> {
    let magnitude = i128::try_from(unsigned(text)?).ok()?;
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

/// The bytes between the quotes, with escapes resolved. In strings an escaped number is a code
/// point; in bytes it is a byte, and code points cannot be escaped.
fn unquote(text: &str, bytes: bool) -> Result<Vec<u8>, &'static str> {
    let (raw, text) = match text.strip_prefix(['r', 'R']) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let triple = text.len() >= 6 && (text.starts_with("'''") || text.starts_with("\"\"\""));
    let quotes = if triple { 3 } else { 1 };
    let inner = &text[quotes..text.len() - quotes];
    // Line ends inside triple quotes are normalized.
    let inner =
        if inner.contains('\r') { inner.replace("\r\n", "\n").replace('\r', "\n") } else { inner.into() };
    if raw || !inner.contains('\\') {
        return Ok(inner.into_bytes());
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner.as_str();
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let kind = *rest.as_bytes().get(at + 1).ok_or("unable to unescape string")?;
        let (code, length) = match kind {
            b'a' => (7, 2),
            b'b' => (8, 2),
            b'f' => (12, 2),
            b'n' => (10, 2),
            b'r' => (13, 2),
            b't' => (9, 2),
            b'v' => (11, 2),
            b'x' | b'X' => (number(rest, at + 2, 2, 16)?, 4),
            b'u' | b'U' if bytes => return Err("unable to unescape string"),
            b'u' => (number(rest, at + 2, 4, 16)?, 6),
            b'U' => (number(rest, at + 2, 8, 16)?, 10),
            b'0'..=b'3' => (number(rest, at + 1, 3, 8)?, 4),
            other => (u32::from(other), 2),
        };
        if bytes {
            out.push(code as u8);
        } else {
            let c = char::from_u32(code).ok_or("invalid unicode code point")?;
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        rest = &rest[at + length..];
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

fn number(text: &str, at: usize, count: usize, radix: u32) -> Result<u32, &'static str> {
    let digits = text.get(at..at + count).ok_or("unable to unescape string")?;
    u32::from_str_radix(digits, radix).map_err(|_| "unable to unescape string")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_values() {
        let s = |text: &str| Ok(Literal::String(text.into()));
        for (why, kind, text, negative, want) in [
            ("the smallest int", TokenKind::Int, "9223372036854775808", true, Ok(Literal::Int(i64::MIN))),
            ("no such positive", TokenKind::Int, "9223372036854775808", false, Err("invalid int literal")),
            ("hexadecimal", TokenKind::Int, "0x10", true, Ok(Literal::Int(-16))),
            ("unsigned", TokenKind::Uint, "18446744073709551615U", false, Ok(Literal::Uint(u64::MAX))),
            ("too large", TokenKind::Uint, "18446744073709551616u", false, Err("invalid uint literal")),
            ("infinite", TokenKind::Float, "1e999", false, Err("invalid double literal")),
            ("a byte in a string is a code point", TokenKind::String, r"'\xff'", false, s("ÿ")),
            ("octal", TokenKind::String, r"'\101'", false, s("A")),
            ("raw", TokenKind::String, r"r'\x41'", false, s(r"\x41")),
            ("triple", TokenKind::String, "'''a\r\nb'''", false, s("a\nb")),
            ("surrogates", TokenKind::String, r"'\ud800'", false, Err("invalid unicode code point")),
            (
                "no code points in bytes",
                TokenKind::Bytes,
                r"b'\u0041'",
                false,
                Err("unable to unescape string"),
            ),
            (
                "bytes",
                TokenKind::Bytes,
                r"b'\xffé'",
                false,
                Ok(Literal::Bytes([255, 195, 169].as_slice().into())),
            ),
        ] {
            assert_eq!(literal(kind, text, negative), want, "{why}");
        }
    }
}
