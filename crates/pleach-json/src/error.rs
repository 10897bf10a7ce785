//! Why a text is not JSON, in the words of Go's decoders.
//!
//! There are two, and clients of the API server read both: the standard library's (request bodies
//! pass it first, to find out their kind), which is what `Display` prints, and the older one in
//! `sigs.k8s.io/json` (patches), which is [`ParseError::sigs`]. They differ in how they speak of
//! strings and of characters beyond ASCII.

use std::fmt;

use crate::unmarshal::UnmarshalTypeError;

/// A text that is not JSON, or holds a number that no float64 can hold.
///
/// Boxed, because the parser returns one from every step that almost never fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError(Box<Repr>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Repr {
    offset: usize,
    kind: ErrorKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ErrorKind {
    MaxDepth,
    /// A character, or the end, where the grammar wants something else.
    Unexpected {
        found: Found,
        context: Context,
    },
    /// An escape that goes wrong `lead` bytes after its backslash.
    Escape {
        sequence: Vec<u8>,
        found: Found,
        lead: usize,
    },
    OutOfRange {
        number: String,
    },
}

/// The unexpected character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Char(char),
    /// Part of no character: the text was not UTF-8.
    Byte(u8),
    End,
}

/// The context of a syntax error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    Value,
    Key,
    AfterKey,
    AfterMember,
    AfterElement,
    AfterTopLevel,
    String,
    Number,
    Fraction,
    Exponent,
    Literal { word: &'static str, expected: u8 },
}

impl Found {
    fn at(bytes: &[u8], offset: usize) -> Self {
        let rest = &bytes[offset.min(bytes.len())..];
        let width = rest.len().min(4);
        let Some(chunk) = rest[..width].utf8_chunks().next() else { return Self::End };
        chunk.valid().chars().next().map_or(Self::Byte(rest[0]), Self::Char)
    }

    /// As a decoder shows it that looks at bytes: each stands for a character of its own, and the
    /// end looks like a blank.
    fn byte(self) -> char {
        match self {
            Self::Char(c) => {
                let mut buffer = [0; 4];
                c.encode_utf8(&mut buffer);
                buffer[0] as char
            }
            Self::Byte(byte) => byte as char,
            Self::End => ' ',
        }
    }
}

impl ParseError {
    fn new(offset: usize, kind: ErrorKind) -> Self {
        Self(Box::new(Repr { offset, kind }))
    }

    pub(crate) fn max_depth(offset: usize) -> Self {
        Self::new(offset, ErrorKind::MaxDepth)
    }

    pub(crate) fn out_of_range(offset: usize, number: &str) -> Self {
        Self::new(offset, ErrorKind::OutOfRange { number: number.to_owned() })
    }

    /// The error for what stands at `offset`.
    pub(crate) fn unexpected(bytes: &[u8], offset: usize, context: Context) -> Self {
        Self::new(offset, ErrorKind::Unexpected { found: Found::at(bytes, offset), context })
    }

    /// The error for an escape that goes wrong at `offset`, `lead` bytes after its backslash.
    pub(crate) fn escape(bytes: &[u8], offset: usize, lead: usize) -> Self {
        let rest = &bytes[offset - lead..];
        let width = if rest.starts_with(b"\\u") { 6 } else { 2 };
        let sequence = rest[..rest.len().min(width)].to_vec();
        Self::new(offset, ErrorKind::Escape { sequence, found: Found::at(bytes, offset), lead })
    }

    /// The same error in the text as it was before U+FFFD replaced what was not UTF-8.
    pub(crate) fn in_unrepaired(self, bytes: &[u8]) -> Self {
        let offset = unrepaired_offset(bytes, self.0.offset);
        match self.0.kind {
            ErrorKind::Unexpected { context, .. } => Self::unexpected(bytes, offset, context),
            ErrorKind::Escape { lead, .. } => Self::escape(bytes, offset, lead),
            kind => Self::new(offset, kind),
        }
    }

    /// Where in the text the error was noticed, in bytes.
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// Whether the text is JSON but for a number that no float64 can hold.
    pub fn is_out_of_range(&self) -> bool {
        matches!(self.0.kind, ErrorKind::OutOfRange { .. })
    }

    /// The text that `sigs.k8s.io/json` has for this error.
    pub fn sigs(&self) -> impl fmt::Display + '_ {
        Sigs(self)
    }
}

/// Where the byte at `offset` of the repaired text stands in the text before its repair.
fn unrepaired_offset(bytes: &[u8], offset: usize) -> usize {
    let (mut repaired, mut at) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().len();
        if offset < repaired + valid {
            return at + (offset - repaired);
        }
        repaired += valid;
        at += valid;
        for _ in chunk.invalid() {
            if offset < repaired + char::REPLACEMENT_CHARACTER.len_utf8() {
                return at;
            }
            repaired += char::REPLACEMENT_CHARACTER.len_utf8();
            at += 1;
        }
    }
    bytes.len()
}

impl std::error::Error for ParseError {}

const UNEXPECTED_END: &str = "unexpected end of JSON input";

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            ErrorKind::Unexpected { found: Found::End, .. } | ErrorKind::Escape { found: Found::End, .. } => {
                f.write_str(UNEXPECTED_END)
            }
            ErrorKind::Unexpected { found, context } => {
                f.write_str("invalid character ")?;
                match found {
                    Found::Byte(byte) => write!(f, "'\\x{byte:02x}'")?,
                    Found::Char(c) => write_quoted(f, *c)?,
                    Found::End => {}
                }
                context.fmt_std(f)
            }
            ErrorKind::Escape { sequence, .. } => {
                f.write_str("invalid escape sequence ")?;
                write_sequence(f, sequence)?;
                f.write_str(" in string")
            }
            ErrorKind::MaxDepth => f.write_str("exceeded max depth"),
            ErrorKind::OutOfRange { number } => {
                let value = format!("number {number}");
                UnmarshalTypeError { value: &value, field: None, go_type: "float64" }.fmt(f)
            }
        }
    }
}

/// The other decoder's words. It looks at bytes, and takes the end inside a word for a blank.
struct Sigs<'a>(&'a ParseError);

impl fmt::Display for Sigs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.0.kind {
            ErrorKind::Unexpected { found: Found::End, context } if !context.is_inside_word() => {
                f.write_str(UNEXPECTED_END)
            }
            ErrorKind::Unexpected { found, context } => {
                f.write_str("invalid character ")?;
                write_quoted(f, found.byte())?;
                match context {
                    Context::String => f.write_str(" in string literal"),
                    Context::Fraction => f.write_str(" after decimal point in numeric literal"),
                    Context::Exponent => f.write_str(" in exponent of numeric literal"),
                    other => other.fmt_std(f),
                }
            }
            ErrorKind::Escape { found, lead, .. } => {
                f.write_str("invalid character ")?;
                write_quoted(f, found.byte())?;
                f.write_str(if *lead > 1 {
                    " in \\u hexadecimal character escape"
                } else {
                    " in string escape code"
                })
            }
            ErrorKind::MaxDepth | ErrorKind::OutOfRange { .. } => self.0.fmt(f),
        }
    }
}

impl Context {
    fn is_inside_word(self) -> bool {
        matches!(self, Self::Number | Self::Fraction | Self::Exponent | Self::Literal { .. })
    }

    fn fmt_std(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value => " looking for beginning of value",
            Self::Key => " looking for beginning of object key string",
            Self::AfterKey => " after object key",
            Self::AfterMember => " after object key:value pair",
            Self::AfterElement => " after array element",
            Self::AfterTopLevel => " after top-level value",
            Self::String => " in string",
            Self::Number | Self::Fraction | Self::Exponent => " in numeric literal",
            Self::Literal { word, expected } => {
                return write!(f, " in literal {word} (expecting '{}')", expected as char);
            }
        })
    }
}

/// A character in single quotes as Go prints it.
fn write_quoted(f: &mut fmt::Formatter<'_>, c: char) -> fmt::Result {
    f.write_str("'")?;
    match c {
        '\'' => f.write_str(r"\'")?,
        '"' => f.write_str("\"")?,
        c => write_char(f, c)?,
    }
    f.write_str("'")
}

/// Part of a text in backquotes if it can be read that way, else in double quotes with escapes.
fn write_sequence(f: &mut fmt::Formatter<'_>, sequence: &[u8]) -> fmt::Result {
    if let Ok(text) = std::str::from_utf8(sequence)
        && text.chars().all(|c| is_printable(c) && c != ' ' && c != '`')
    {
        return write!(f, "`{text}`");
    }
    f.write_str("\"")?;
    for chunk in sequence.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '"' => f.write_str("\\\"")?,
                c => write_char(f, c)?,
            }
        }
        for byte in chunk.invalid() {
            write!(f, "\\x{byte:02x}")?;
        }
    }
    f.write_str("\"")
}

/// A character between quotes as Go prints it.
fn write_char(f: &mut fmt::Formatter<'_>, c: char) -> fmt::Result {
    let code = u32::from(c);
    match c {
        '\\' => f.write_str(r"\\"),
        '\u{7}' => f.write_str(r"\a"),
        '\u{8}' => f.write_str(r"\b"),
        '\u{c}' => f.write_str(r"\f"),
        '\n' => f.write_str(r"\n"),
        '\r' => f.write_str(r"\r"),
        '\t' => f.write_str(r"\t"),
        '\u{b}' => f.write_str(r"\v"),
        c if is_printable(c) => write!(f, "{c}"),
        _ if code < 0x20 || code == 0x7f => write!(f, "\\x{code:02x}"),
        _ if code < 0x10000 => write!(f, "\\u{code:04x}"),
        _ => write!(f, "\\U{code:08x}"),
    }
}

/// Go's `unicode.IsPrint`, near enough for an error text: `escape_debug` spares the same
/// characters, combining marks included if they follow something to combine with.
fn is_printable(c: char) -> bool {
    let shown: String = ['a', c].into_iter().collect();
    matches!(c, '"' | '\'' | '\\') || shown.escape_debug().count() == 2
}
