//! YAML errors, with go-yaml's texts.
//!
//! `Display` is what clients of the API server read. Its lines are odd: go-yaml counts from zero, adds
//! one for errors of the scanner but not of the parser, and omits the first line. [`YamlError::line`]
//! counts from one.

use std::fmt;

/// A text that is not YAML, or not YAML that can be converted to JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlError {
    message: String,
    stage: Stage,
    place: Option<Place>,
}

/// The stage that found the error; decides how the line is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Characters.
    Reader,
    /// Tokens.
    Scanner,
    /// Structure.
    Parser,
    /// Tags, anchors, merge keys.
    Decode,
    /// The conversion of Go values to JSON, which does not mention YAML.
    Convert,
}

/// A position in the text, counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) offset: usize,
}

impl YamlError {
    pub(crate) fn new(stage: Stage, message: impl Into<String>, place: Option<Place>) -> Self {
        Self { message: message.into(), stage, place }
    }

    /// The same error with this position, if it has none.
    pub(crate) fn or_at(mut self, place: Place) -> Self {
        self.place.get_or_insert(place);
        self
    }

    pub(crate) fn is_structural(&self) -> bool {
        self.stage == Stage::Parser
    }

    /// The message without the position.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The line, counted from one, where it is known.
    pub fn line(&self) -> Option<usize> {
        self.place.map(|place| place.line)
    }

    /// The column in characters, counted from one, where it is known.
    pub fn column(&self) -> Option<usize> {
        self.place.map(|place| place.column)
    }

    /// The offset in bytes, where it is known.
    pub fn offset(&self) -> Option<usize> {
        self.place.map(|place| place.offset)
    }
}

impl std::error::Error for YamlError {}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.stage != Stage::Convert {
            f.write_str("yaml: ")?;
        }
        match (self.stage, self.place) {
            (Stage::Scanner, Some(Place { line: line @ 2.., .. })) => write!(f, "line {line}: ")?,
            (Stage::Parser, Some(Place { line: line @ 2.., .. })) => write!(f, "line {}: ", line - 1)?,
            _ => {}
        }
        f.write_str(&self.message)
    }
}

/// A duplicate key of a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateKey {
    /// The line of the later value, counted from one.
    pub line: usize,
    /// The key as Go shows it: text in quotes, other scalars bare.
    pub key: String,
}

/// The duplicate keys of a document, in document order.
///
/// `Display` is the error of go-yaml's strict mode: a first line and one line per key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DuplicateKeys(pub(crate) Vec<DuplicateKey>);

impl DuplicateKeys {
    /// Whether no key was set again.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &DuplicateKey> {
        self.0.iter()
    }
}

impl fmt::Display for DuplicateKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("yaml: unmarshal errors:")?;
        for DuplicateKey { line, key } in &self.0 {
            write!(f, "\n  line {line}: key {key} already set in map")?;
        }
        Ok(())
    }
}
