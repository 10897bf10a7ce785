//! Source text to tokens: the longest token that fits, as a generated lexer would.
//!
//! Text that is not a token is skipped, including the character that made it impossible, and reported;
//! the tokens around it are returned, because the parser reports on them too.

use std::ops::Range;

/// Token kinds, in the order in which syntax errors list them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum TokenKind {
    EqualsEquals,
    NotEquals,
    In,
    Less,
    LessEquals,
    GreaterEquals,
    Greater,
    And,
    Or,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    LeftParen,
    RightParen,
    Dot,
    Comma,
    Minus,
    Not,
    QuestionMark,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    True,
    False,
    Null,
    Float,
    Int,
    Uint,
    String,
    Bytes,
    Identifier,
    EscapedIdentifier,
    Eof,
}

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    /// Where it is in the source, in bytes.
    pub(crate) bytes: Range<usize>,
    /// Where it begins, in code points.
    pub(crate) offset: u32,
}

/// Text that is not a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unrecognized {
    pub(crate) bytes: Range<usize>,
    pub(crate) offset: u32,
}

/// All tokens, the last of which is [`TokenKind::Eof`], and the text that was skipped.
pub(crate) fn lex(source: &str) -> (Vec<Token>, Vec<Unrecognized>) {
    let (mut tokens, mut skipped) = (Vec::with_capacity(source.len() / 3 + 1), Vec::new());
    let (mut at, mut offset) = (0, 0u32);
    let mut unended = UnterminatedStrings::default();
    pleach_work::charge(1 + source.len() as u64 / 8);
    while at < source.len() {
        let rest = &source[at..];
        let (length, kind) = match longest(rest, &mut unended) {
            Munch::Token(kind, length) => (length, Some(kind)),
            Munch::Blank(length) => (length, None),
            Munch::Nothing(length) => {
                skipped.push(Unrecognized { bytes: at..at + length, offset });
                (length, None)
            }
        };
        if let Some(kind) = kind {
            tokens.push(Token { kind, bytes: at..at + length, offset });
        }
        offset += rest[..length].chars().count() as u32;
        at += length;
    }
    tokens.push(Token { kind: TokenKind::Eof, bytes: at..at, offset });
    (tokens, skipped)
}

enum Munch {
    Token(TokenKind, usize),
    /// White space or a comment.
    Blank(usize),
    /// Not a token; the length includes the character that made it impossible.
    Nothing(usize),
}

/// Offsets at which an unterminated triple-quoted string was scanned: another string that reaches such
/// an offset is unterminated too, and need not be scanned to the end again.
#[derive(Default)]
struct UnterminatedStrings {
    /// By quote and whether the string is raw; the bytes of the text from its end.
    places: [Vec<bool>; 4],
}

impl UnterminatedStrings {
    fn of(&mut self, quote: u8, raw: bool) -> &mut Vec<bool> {
        &mut self.places[usize::from(quote == b'"') * 2 + usize::from(raw)]
    }

    /// The end of a string in three quotes whose body begins at `from`.
    fn triple(&mut self, b: &[u8], from: usize, raw: bool, quote: u8) -> Option<usize> {
        let places = self.of(quote, raw);
        let end = [quote; 3];
        let mut at = from;
        let found = loop {
            let from_end = b.len() - at;
            if places.get(from_end).copied().unwrap_or_default() {
                break None;
            }
            match step(b, at, raw, &end) {
                Ok(Step::On(next)) => at = next,
                Ok(Step::End(end)) => break Some(end),
                Err(stuck) if stuck < b.len() => break None,
                Err(_) => {
                    // Once more, to record the offsets.
                    self.remember(b, from, raw, quote);
                    break None;
                }
            }
        };
        pleach_work::charge((at - from) as u64 / 32);
        found
    }

    fn remember(&mut self, b: &[u8], from: usize, raw: bool, quote: u8) {
        let places = self.of(quote, raw);
        places.resize(places.len().max(b.len() + 1), false);
        let mut at = from;
        loop {
            places[b.len() - at] = true;
            match step(b, at, raw, &[quote; 3]) {
                Ok(Step::On(next)) => at = next,
                _ => return,
            }
        }
    }
}

fn longest(rest: &str, unended: &mut UnterminatedStrings) -> Munch {
    use TokenKind as K;
    let b = rest.as_bytes();
    let at = |i: usize| b.get(i).copied().unwrap_or(0);
    let one = |kind| Munch::Token(kind, 1);
    let pair = |second: u8, two: K, single: Option<K>| match (at(1) == second, single) {
        (true, _) => Munch::Token(two, 2),
        (false, Some(single)) => Munch::Token(single, 1),
        (false, None) => unrecognized(rest, 1),
    };
    match b[0] {
        b'[' => one(K::LeftBracket),
        b']' => one(K::RightBracket),
        b'{' => one(K::LeftBrace),
        b'}' => one(K::RightBrace),
        b'(' => one(K::LeftParen),
        b')' => one(K::RightParen),
        b',' => one(K::Comma),
        b'-' => one(K::Minus),
        b'?' => one(K::QuestionMark),
        b':' => one(K::Colon),
        b'+' => one(K::Plus),
        b'*' => one(K::Star),
        b'%' => one(K::Percent),
        b'=' => pair(b'=', K::EqualsEquals, None),
        b'!' => pair(b'=', K::NotEquals, Some(K::Not)),
        b'<' => pair(b'=', K::LessEquals, Some(K::Less)),
        b'>' => pair(b'=', K::GreaterEquals, Some(K::Greater)),
        b'&' => pair(b'&', K::And, None),
        b'|' => pair(b'|', K::Or, None),
        b'/' if at(1) == b'/' => Munch::Blank(rest.find('\n').unwrap_or(rest.len())),
        b'/' => one(K::Slash),
        b'\t' | b'\r' | b'\n' | b'\x0c' | b' ' => {
            Munch::Blank(b.iter().take_while(|c| matches!(c, b'\t' | b'\r' | b'\n' | b'\x0c' | b' ')).count())
        }
        b'.' if at(1).is_ascii_digit() => number(b),
        b'.' => one(K::Dot),
        b'0'..=b'9' => number(b),
        b'"' | b'\'' => match quoted(b, 0, false, unended) {
            Ok(end) => Munch::Token(K::String, end),
            Err(stuck) => unrecognized(rest, stuck),
        },
        b'`' => {
            let allowed = |c: &&u8| c.is_ascii_alphanumeric() || b"_.-/ ".contains(c);
            let length = b[1..].iter().take_while(allowed).count();
            if length > 0 && at(length + 1) == b'`' {
                Munch::Token(K::EscapedIdentifier, length + 2)
            } else {
                unrecognized(rest, length + 1)
            }
        }
        b'a'..=b'z' | b'A'..=b'Z' | b'_' => prefixed_string(b, unended).unwrap_or_else(|| word(rest)),
        _ => unrecognized(rest, 0),
    }
}

/// Not a token: the text up to and including the character at byte `stuck`.
fn unrecognized(rest: &str, stuck: usize) -> Munch {
    Munch::Nothing(stuck + rest[stuck..].chars().next().map_or(0, char::len_utf8))
}

fn word(rest: &str) -> Munch {
    let length = rest.bytes().take_while(|c| c.is_ascii_alphanumeric() || *c == b'_').count();
    let kind = match &rest[..length] {
        "in" => TokenKind::In,
        "true" => TokenKind::True,
        "false" => TokenKind::False,
        "null" => TokenKind::Null,
        _ => TokenKind::Identifier,
    };
    Munch::Token(kind, length)
}

fn digits(b: &[u8], from: usize) -> usize {
    b[from.min(b.len())..].iter().take_while(|c| c.is_ascii_digit()).count()
}

/// A number; `b` begins with a digit, or with a dot and a digit.
fn number(b: &[u8]) -> Munch {
    let at = |i: usize| b.get(i).copied().unwrap_or(0);
    let exponent = |from: usize| {
        let sign = usize::from(matches!(at(from + 1), b'+' | b'-'));
        let count = digits(b, from + 1 + sign);
        if matches!(at(from), b'e' | b'E') && count > 0 { 1 + sign + count } else { 0 }
    };
    let (kind, end) = if b[0] == b'0' && at(1) == b'x' && at(2).is_ascii_hexdigit() {
        (TokenKind::Int, 2 + b[2..].iter().take_while(|c| c.is_ascii_hexdigit()).count())
    } else {
        let whole = digits(b, 0);
        let fraction = if at(whole) == b'.' { digits(b, whole + 1) } else { 0 };
        let mantissa = if fraction > 0 { whole + 1 + fraction } else { whole };
        let end = mantissa + exponent(mantissa);
        (if end > whole { TokenKind::Float } else { TokenKind::Int }, end)
    };
    match (kind, at(end)) {
        (TokenKind::Int, b'u' | b'U') => Munch::Token(TokenKind::Uint, end + 1),
        _ => Munch::Token(kind, end),
    }
}

/// A string with the prefix `r`, `b` or `br`; `None` if the letters are an identifier.
fn prefixed_string(b: &[u8], unended: &mut UnterminatedStrings) -> Option<Munch> {
    let at = |i: usize| b.get(i).copied().unwrap_or(0).to_ascii_lowercase();
    let (bytes, raw) = match (at(0), at(1)) {
        (b'b', b'r') => (true, true),
        (b'b', _) => (true, false),
        (b'r', _) => (false, true),
        _ => return None,
    };
    let from = usize::from(bytes) + usize::from(raw);
    if !matches!(at(from), b'"' | b'\'') {
        return None;
    }
    let kind = if bytes { TokenKind::Bytes } else { TokenKind::String };
    quoted(b, from, raw, unended).ok().map(|end| Munch::Token(kind, end))
}

/// The end of the string whose quote is at `from`, or where it failed.
fn quoted(b: &[u8], from: usize, raw: bool, unended: &mut UnterminatedStrings) -> Result<usize, usize> {
    let quote = b[from];
    if b[from..].starts_with(&[quote; 3]) {
        // `"""` without an end is an empty string followed by a quote.
        return Ok(unended.triple(b, from + 3, raw, quote).unwrap_or(from + 2));
    }
    let mut at = from + 1;
    loop {
        match step(b, at, raw, &[quote])? {
            Step::On(next) => at = next,
            Step::End(end) => return Ok(end),
        }
    }
}

/// The next item in the body of a string.
enum Step {
    /// A character or an escape, up to here.
    On(usize),
    /// The quotes that end it, up to here.
    End(usize),
}

fn step(b: &[u8], at: usize, raw: bool, end: &[u8]) -> Result<Step, usize> {
    match b.get(at) {
        None => Err(at),
        Some(_) if b[at..].starts_with(end) => Ok(Step::End(at + end.len())),
        Some(b'\n' | b'\r') if end.len() == 1 => Err(at),
        Some(b'\\') if !raw => escape(b, at + 1).map(Step::On),
        Some(_) => Ok(Step::On(at + 1)),
    }
}

/// The end of the escape sequence whose backslash is before `at`.
fn escape(b: &[u8], at: usize) -> Result<usize, usize> {
    let run = |count: usize, allowed: fn(&u8) -> bool| {
        let found = b[at + 1..].iter().take(count).take_while(|c| allowed(c)).count();
        if found == count { Ok(at + 1 + count) } else { Err(at + 1 + found) }
    };
    match b.get(at) {
        Some(b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`') => {
            Ok(at + 1)
        }
        Some(b'x' | b'X') => run(2, u8::is_ascii_hexdigit),
        Some(b'u') => run(4, u8::is_ascii_hexdigit),
        Some(b'U') => run(8, u8::is_ascii_hexdigit),
        Some(b'0'..=b'3') => run(2, |c| (b'0'..=b'7').contains(c)),
        _ => Err(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(source: &str) -> String {
        let (tokens, skipped) = lex(source);
        let text = |bytes: &Range<usize>| source[bytes.clone()].to_owned();
        let mut out: Vec<String> = tokens
            .iter()
            .filter(|t| t.kind != TokenKind::Eof)
            .map(|t| format!("{:?} {}", t.kind, text(&t.bytes)))
            .collect();
        out.extend(skipped.iter().map(|s| format!("skipped {}", text(&s.bytes))));
        out.join("; ")
    }

    #[test]
    fn the_longest_token_wins() {
        for (why, source, want) in [
            ("floats need a digit after the dot", "1.a", "Int 1; Dot .; Identifier a"),
            ("or none before it", "1..2", "Int 1; Dot .; Float .2"),
            ("an exponent needs digits", "1e+", "Int 1; Identifier e; Plus +"),
            ("hexadecimal", "0xFu 0x", "Uint 0xFu; Int 0; Identifier x"),
            ("keywords are whole words", "in inn", "In in; Identifier inn"),
            ("prefixes in any case", "R'' bR''", "String R''; Bytes bR''"),
            ("rb is no prefix", "rb''", "Identifier rb; String ''"),
            ("an unterminated prefixed string is a word first", "r'", "Identifier r; skipped '"),
            ("a triple quote without an end", "'''a", "String ''; skipped 'a"),
            ("quotes inside a triple string", "'''a''b'''", "String '''a''b'''"),
            ("a raw backslash before the quote ends it", r"r'\'", r"String r'\'"),
            ("escapes", r"'\x41\303\u00e9\U0001F600\`'", r"String '\x41\303\u00e9\U0001F600\`'"),
            ("a bad escape takes the offender along", r"'\z'", r"skipped '\z; skipped '"),
            ("a lone equals takes the next character", "a = b", "Identifier a; Identifier b; skipped = "),
            ("comments end with the line", "a // b\nc", "Identifier a; Identifier c"),
            ("backticks", "`a-b/c.d` ``", "EscapedIdentifier `a-b/c.d`; skipped ``"),
        ] {
            assert_eq!(show(source), want, "{why}");
        }
    }

    #[test]
    fn offsets_are_code_points() {
        let (tokens, _) = lex("'é' + x");
        assert_eq!(tokens.iter().map(|t| t.offset).collect::<Vec<_>>(), [0, 4, 6, 7]);
    }
}
