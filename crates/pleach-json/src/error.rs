//! Why a text is not JSON, in the words of Go's decoders.
//!
//! There are two, and clients of the API server read both: the standard library's (request bodies
//! pass it first, to find out their kind), which is what `Display` prints, and the older one in
//! `sigs.k8s.io/json` (patches), which is [`ParseError::sigs`]. They differ in how they speak of
//! strings and of characters beyond ASCII.

use std::fmt;

/// A text that is not JSON, or holds a number that no float64 can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseError {
    offset: usize,
    kind: ErrorKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    UnexpectedEnd,
    MaxDepth,
    /// `found` may be half a character: then the text was not UTF-8 and the byte is shown.
    Character { found: Found, context: Context },
    /// An escape that goes wrong at its last character.
    Escape { sequence: String, found: char },
    OutOfRange { number: String },
}

/// What stood where it must not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Found {
    Char(char),
    Byte(u8),
}

/// What the parser was after when it met a character it could not use.
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
    Literal { word: &'static str, expected: u8 },
}

impl ParseError {
    pub(crate) fn new(offset: usize, kind: ErrorKind) -> Self {
        Self { offset, kind }
    }

    /// The error for the character at `offset`, or for the end of the text there.
    pub(crate) fn at_character(text: &str, offset: usize, context: Context) -> Self {
        let kind = match text[offset..].chars().next() {
            None => ErrorKind::UnexpectedEnd,
            Some(found) => ErrorKind::Character { found: Found::Char(found), context },
        };
        Self { offset, kind }
    }

    /// The same error in the text as it was before U+FFFD replaced what was not UTF-8.
    pub(crate) fn in_unrepaired(mut self, bytes: &[u8]) -> Self {
        let mut repaired = 0;
        let mut at = 0;
        for chunk in bytes.utf8_chunks() {
            let valid = chunk.valid().len();
            if self.offset < repaired + valid {
                self.offset = at + (self.offset - repaired);
                return self;
            }
            repaired += valid;
            at += valid;
            for _ in chunk.invalid() {
                if self.offset < repaired + char::REPLACEMENT_CHARACTER.len_utf8() {
                    self.offset = at;
                    if let ErrorKind::Character { found, .. } = &mut self.kind {
                        *found = Found::Byte(bytes[at]);
                    }
                    return self;
                }
                repaired += char::REPLACEMENT_CHARACTER.len_utf8();
                at += 1;
            }
        }
        self.offset = bytes.len();
        self
    }

    /// Where in the text the error was noticed, in bytes.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Whether the text is JSON but for a number that no float64 can hold.
    pub fn is_out_of_range(&self) -> bool {
        matches!(self.kind, ErrorKind::OutOfRange { .. })
    }

    /// The text that `sigs.k8s.io/json` has for this error.
    pub fn sigs(&self) -> impl fmt::Display + '_ {
        Sigs(self)
    }
}

impl std::error::Error for ParseError {}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::Character { found, context } => {
                f.write_str("invalid character ")?;
                match found {
                    Found::Char(c) => write_quoted(f, *c)?,
                    Found::Byte(byte) => write!(f, "'\\x{byte:02x}'")?,
                }
                context.fmt_std(f)
            }
            ErrorKind::Escape { sequence, .. } => {
                write!(f, "invalid escape sequence `{sequence}` in string")
            }
            other => other.fmt_common(f),
        }
    }
}

/// The other decoder's words. It looks at bytes, so of a character it shows the first byte as if
/// that were a character of its own.
struct Sigs<'a>(&'a ParseError);

impl fmt::Display for Sigs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            ErrorKind::Character { found, context } => {
                f.write_str("invalid character ")?;
                write_quoted(f, match found {
                    Found::Char(c) => first_byte(*c),
                    Found::Byte(byte) => *byte as char,
                })?;
                match context {
                    Context::String => f.write_str(" in string literal"),
                    other => other.fmt_std(f),
                }
            }
            ErrorKind::Escape { sequence, found } => {
                f.write_str("invalid character ")?;
                write_quoted(f, first_byte(*found))?;
                f.write_str(match sequence.starts_with("\\u") && sequence.len() > 2 {
                    true => " in \\u hexadecimal character escape",
                    false => " in string escape code",
                })
            }
            other => other.fmt_common(f),
        }
    }
}

fn first_byte(c: char) -> char {
    let mut buffer = [0; 4];
    c.encode_utf8(&mut buffer);
    buffer[0] as char
}

impl ErrorKind {
    fn fmt_common(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnexpectedEnd => f.write_str("unexpected end of JSON input"),
            Self::MaxDepth => f.write_str("exceeded max depth"),
            Self::OutOfRange { number } => {
                write!(f, "json: cannot unmarshal number {number} into Go value of type float64")
            }
            Self::Character { .. } | Self::Escape { .. } => Ok(()),
        }
    }
}

impl Context {
    fn fmt_std(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Value => " looking for beginning of value",
            Self::Key => " looking for beginning of object key string",
            Self::AfterKey => " after object key",
            Self::AfterMember => " after object key:value pair",
            Self::AfterElement => " after array element",
            Self::AfterTopLevel => " after top-level value",
            Self::String => " in string",
            Self::Number => " in numeric literal",
            Self::Literal { word, expected } => {
                return write!(f, " in literal {word} (expecting '{}')", expected as char);
            }
        })
    }
}

/// A character in single quotes as Go prints it.
fn write_quoted(f: &mut fmt::Formatter<'_>, c: char) -> fmt::Result {
    match c {
        '\'' => f.write_str(r"'\''"),
        '\\' => f.write_str(r"'\\'"),
        '\u{7}' => f.write_str(r"'\a'"),
        '\u{8}' => f.write_str(r"'\b'"),
        '\u{c}' => f.write_str(r"'\f'"),
        '\n' => f.write_str(r"'\n'"),
        '\r' => f.write_str(r"'\r'"),
        '\t' => f.write_str(r"'\t'"),
        '\u{b}' => f.write_str(r"'\v'"),
        c if is_printable(c) => write!(f, "'{c}'"),
        c if u32::from(c) < 0x20 || c == '\u{7f}' => write!(f, "'\\x{:02x}'", u32::from(c)),
        c if u32::from(c) < 0x10000 => write!(f, "'\\u{:04x}'", u32::from(c)),
        c => write!(f, "'\\U{:08x}'", u32::from(c)),
    }
}

/// What Go calls printable, near enough for an error text: `Debug` escapes the same classes
/// (controls, unassigned, separators, private use) and a few combining marks more.
fn is_printable(c: char) -> bool {
    c == '"' || c.escape_debug().len() == 1
}
