//! `strconv.Unquote` of texts in double or single quotes.

/// The text between the quotes, or `None` when an escape is wrong. Unlike Go's own, as client-go's JSONPath has it,
/// single quotes may be around a text of any length.
///
/// Escaped bytes that are not UTF-8 become U+FFFD.
pub fn unquote(quoted: &str) -> Option<String> {
    let quote = quoted.chars().next()?;
    let inside = quoted.get(1..quoted.len() - 1)?;
    let mut bytes = Vec::with_capacity(inside.len());
    let mut rest = inside.chars();
    while let Some(c) = rest.next() {
        if c == quote || c == '\n' {
            return None;
        }
        if c != '\\' {
            push(&mut bytes, c);
            continue;
        }
        match rest.next()? {
            'a' => bytes.push(0x07),
            'b' => bytes.push(0x08),
            'f' => bytes.push(0x0c),
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            'v' => bytes.push(0x0b),
            '\\' => bytes.push(b'\\'),
            c @ ('\'' | '"') if c == quote => push(&mut bytes, c),
            'x' => bytes.push(number(&mut rest, 2, 16)?.try_into().ok()?),
            'u' => push(&mut bytes, char::from_u32(number(&mut rest, 4, 16)?)?),
            'U' => push(&mut bytes, char::from_u32(number(&mut rest, 8, 16)?)?),
            c @ '0'..='7' => {
                let high = c.to_digit(8)? * 64;
                bytes.push((high + number(&mut rest, 2, 8)?).try_into().ok()?);
            }
            _ => return None,
        }
    }
    Some(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
}

fn push(bytes: &mut Vec<u8>, c: char) {
    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
}

fn number(rest: &mut std::str::Chars<'_>, digits: usize, radix: u32) -> Option<u32> {
    let mut number: u32 = 0;
    for _ in 0..digits {
        number = number.checked_mul(radix)?.checked_add(rest.next()?.to_digit(radix)?)?;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::unquote;

    #[test]
    fn escapes() {
        for (why, quoted, want) in [
            ("none", r#""a'b""#, Some("a'b")),
            ("its own quote", r"'a\'b'", Some("a'b")),
            ("the other quote cannot be escaped", r#"'a\"b'"#, None),
            ("every number", r#""\x41\101\u0041\U00000041""#, Some("AAAA")),
            ("bytes that make a character", r#""\xc3\xa9""#, Some("é")),
            ("bytes that make none", r#""\xff""#, Some("\u{fffd}")),
            ("octal beyond a byte", r#""\400""#, None),
            ("a surrogate", r#""\ud800""#, None),
            ("unknown", r#""\q""#, None),
        ] {
            assert_eq!(unquote(quoted).as_deref(), want, "{why}");
        }
    }
}
