//! Parse errors, with Go's texts.
//!
//! Clients see these texts through `pattern` in a schema and `matches` in CEL, so both the message and
//! the quoted fragment are Go's.

use std::fmt;

/// The kinds of error Go's parser distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorCode {
    /// An escape without a meaning.
    InvalidEscape,
    /// An unknown class name, or a range that ends before it starts.
    InvalidCharRange,
    /// `[` without `]`.
    MissingBracket,
    /// `(` without `)`.
    MissingParen,
    /// `)` without `(`.
    UnexpectedParen,
    /// A repetition operator with nothing before it.
    MissingRepeatArgument,
    /// A repetition of a repetition: `a**`.
    InvalidRepeatOp,
    /// A count above 1000, alone or as a product of nested counts, or a minimum above the maximum.
    InvalidRepeatSize,
    /// `(?` followed by an unknown character.
    InvalidPerlOp,
    /// A group name that is empty, unterminated or has other characters than letters, digits and `_`.
    InvalidNamedCapture,
    /// The pattern ends in a backslash.
    TrailingBackslash,
    /// More than 1000 levels of nesting.
    NestingDepth,
    /// The expanded pattern would be too large.
    Large,
}

impl ErrorCode {
    /// The sentence for this kind.
    ///
    /// ```
    /// assert_eq!(pleach_regex::ErrorCode::MissingParen.as_str(), "missing closing )");
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidEscape => "invalid escape sequence",
            Self::InvalidCharRange => "invalid character class range",
            Self::MissingBracket => "missing closing ]",
            Self::MissingParen => "missing closing )",
            Self::UnexpectedParen => "unexpected )",
            Self::MissingRepeatArgument => "missing argument to repetition operator",
            Self::InvalidRepeatOp => "invalid nested repetition operator",
            Self::InvalidRepeatSize => "invalid repeat count",
            Self::InvalidPerlOp => "invalid or unsupported Perl syntax",
            Self::InvalidNamedCapture => "invalid named capture",
            Self::TrailingBackslash => "trailing backslash at end of expression",
            Self::NestingDepth => "expression nests too deeply",
            Self::Large => "expression too large",
        }
    }
}

/// A pattern that Go would not compile. Its `Display` is Go's text.
///
/// ```
/// let error = pleach_regex::Regex::new("a(").unwrap_err();
/// assert_eq!(error.to_string(), "error parsing regexp: missing closing ): `a(`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: ErrorCode,
    fragment: Box<str>,
}

impl Error {
    pub(crate) fn new(code: ErrorCode, fragment: &str) -> Self {
        Self { code, fragment: fragment.into() }
    }

    /// The kind of error.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The part of the pattern that is wrong, as the text quotes it.
    pub fn fragment(&self) -> &str {
        &self.fragment
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error parsing regexp: {}: `{}`", self.code.as_str(), self.fragment)
    }
}

impl std::error::Error for Error {}
