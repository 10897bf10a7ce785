//! Findings: errors, warnings and notes about an object or a text.

use std::ops::Range;
use std::sync::Arc;

use pleach_meta::FieldError;

use crate::document::Document;
use crate::input::Source;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The server would refuse it.
    Error,
    /// The server would take it, but it will surprise.
    Warning,
    /// Good to know.
    Note,
}

impl Level {
    /// The word in all outputs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A change of the text that takes a finding away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The range to replace.
    pub span: Range<usize>,
    /// The replacement.
    pub replacement: String,
}

/// An error or a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub level: Level,
    /// The kind of finding, a stable word: `structural`, `unknown-field`, …
    pub rule: &'static str,
    /// The field in the server's words; empty if it is about the whole object.
    pub field: String,
    /// The message, the server's own if it has one.
    pub message: String,
    /// Where in the text.
    pub span: Option<Range<usize>>,
    /// An explanation with advice.
    pub help: Vec<String>,
    /// How to do it, where that is safe.
    pub fix: Option<Fix>,
}

impl Finding {
    /// A finding without a place.
    pub fn new(level: Level, rule: &'static str, message: impl Into<String>) -> Self {
        Self {
            level,
            rule,
            field: String::new(),
            message: message.into(),
            span: None,
            help: Vec::new(),
            fix: None,
        }
    }

    /// At a field of a document.
    #[must_use]
    pub fn at(mut self, document: &Document, field: &str) -> Self {
        field.clone_into(&mut self.field);
        self.span = Some(document.locate(field).underlined(&document.source.text));
        self
    }

    /// At the key of a field of a document.
    #[must_use]
    pub fn at_key(mut self, document: &Document, field: &str) -> Self {
        self = self.at(document, field);
        let found = document.locate(field);
        if let (true, Some(key)) = (found.exact, found.key) {
            self.span = Some(key);
        }
        self
    }

    /// With advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }

    /// A field error of the engine; `place` is where the field is in the document.
    pub fn of(error: &FieldError, rule: &'static str, document: &Document, place: &str) -> Self {
        let mut finding = Self::new(Level::Error, rule, error.to_string()).at(document, place);
        finding.field.clone_from(&error.field);
        finding
    }
}

/// All findings about one object, or about a text as a whole.
#[derive(Debug)]
pub struct Report {
    /// The text.
    pub source: Arc<Source>,
    /// The object: `Widget a`; empty for the text itself.
    pub title: String,
    /// The findings, in the order of the server's message.
    pub findings: Vec<Finding>,
}

/// How many there are of each level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Refusals.
    pub errors: usize,
    /// Surprises.
    pub warnings: usize,
}

impl Counts {
    /// Counts the findings of reports.
    pub fn of(reports: &[Report]) -> Self {
        let mut out = Self::default();
        for finding in reports.iter().flat_map(|report| &report.findings) {
            match finding.level {
                Level::Error => out.errors += 1,
                Level::Warning => out.warnings += 1,
                Level::Note => {}
            }
        }
        out
    }
}
