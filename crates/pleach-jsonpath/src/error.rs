//! Errors of parsing and evaluation, with upstream's texts.

use std::fmt;

/// A parse error. Its `Display` is upstream's text.
///
/// ```
/// let error = pleach_jsonpath::JsonPath::parse("{{.a}}").unwrap_err();
/// assert_eq!(error.to_string(), "unrecognized character in action: U+007B '{'");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(String);

/// An evaluation error. Its `Display` is upstream's text.
///
/// ```
/// use pleach_json::json;
/// let path = pleach_jsonpath::JsonPath::parse("{.list[2]}")?;
/// let object = json!({"list": [1, 2]});
/// let error = path.find_results(&object, true).unwrap_err();
/// assert_eq!(error.to_string(), "array index out of bounds: index 2, length 2");
/// # Ok::<(), pleach_jsonpath::ParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindError(String);

impl ParseError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl FindError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for FindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseError {}

impl std::error::Error for FindError {}
