//! Why a text is not YAML, or not YAML that can become JSON, in go-yaml's words.
//!
//! `Display` is what clients of the API server read. It is odd about lines: go-yaml counts from
//! nought, adds one for what the scanner finds but not for what the parser finds, and says nothing
//! about the first line. [`YamlError::line`] is the line a person would count.

use std::fmt;

/// A text that is not YAML, or not YAML that can become JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlError {
    message: String,
    stage: Stage,
    place: Option<Place>,
}

/// Who found the error; decides how the line is shown.
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
    /// The way from Go values to JSON, which does not name YAML.
    Convert,
}

/// Where in the text, as a person counts.
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

    /// The same error; where its place is not known, it is this one.
    pub(crate) fn or_at(mut self, place: Place) -> Self {
        self.place.get_or_insert(place);
        self
    }

    pub(crate) fn is_structural(&self) -> bool {
        self.stage == Stage::Parser
    }

    /// What is wrong, without the place.
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

/// A key that a mapping sets again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DuplicateKey {
    /// The line of the later value, counted from one.
    pub line: usize,
    /// The key as Go shows it: text in quotes, other scalars bare.
    pub key: String,
}

/// The keys that a document sets more than once, in document order.
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
