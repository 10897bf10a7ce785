//! Compile errors with source locations, as cel-go prints them.
//!
//! ```text
//! ERROR: <input>:1:6: undefined field 'nope'
//!  | self.nope
//!  | .....^
//! ```

use std::fmt;
use std::sync::Arc;

/// Further issues are only counted.
const MAX_SHOWN: usize = 100;

/// Longer lines are not printed.
const MAX_LINE: usize = 16_384;

/// An error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The line from 1; -1 without a location.
    pub line: i64,
    /// The column from 0, in code points; -1 without a location.
    pub column: i64,
    /// The message.
    pub message: String,
}

/// All errors of one source, by location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issues {
    source: Arc<str>,
    list: Vec<Issue>,
    /// How many more there were.
    more: usize,
}

impl Issues {
    /// The first hundred of `list` are kept, then sorted.
    pub(crate) fn new(source: Arc<str>, mut list: Vec<Issue>) -> Self {
        let more = list.len().saturating_sub(MAX_SHOWN);
        list.truncate(MAX_SHOWN);
        list.sort_by_key(|issue| (issue.line, issue.column));
        Self { source, list, more }
    }

    /// The issues in order.
    pub fn list(&self) -> &[Issue] {
        &self.list
    }
}

impl std::error::Error for Issues {}

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, issue) in self.list.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            // Without a location the column is 0, which prints as no column.
            let column = if self.source.is_empty() { 0 } else { issue.column + 1 };
            write!(f, "ERROR: <input>:{}:{column}: {}", issue.line, issue.message)?;
            let line =
                usize::try_from(issue.line - 1).ok().and_then(|line| self.source.split('\n').nth(line));
            let Some(line) = line.filter(|line| !self.source.is_empty() && line.len() <= MAX_LINE) else {
                continue;
            };
            write!(f, "\n | {}\n | ", line.replace('\t', " "))?;
            let mut chars = line.chars();
            for c in chars.by_ref().take(issue.column.max(0) as usize) {
                f.write_str(if c.is_ascii() { "." } else { "\u{ff0e}" })?;
            }
            f.write_str(if chars.next().is_none_or(|c| c.is_ascii()) { "^" } else { "\u{ff3e}" })?;
        }
        if self.more > 0 {
            write!(f, "\n{} more errors were truncated", self.more)?;
        }
        Ok(())
    }
}

/// The offset of an error without a location.
pub(crate) const NO_LOCATION: u32 = u32::MAX;

/// Converts code point offsets of a source to lines and columns.
#[derive(Debug, Clone)]
pub(crate) struct SourceLines {
    /// Code point offsets at which lines start.
    lines: Vec<u32>,
}

impl SourceLines {
    pub(crate) fn of(source: &str) -> Self {
        let mut lines = vec![0];
        let breaks = source.chars().enumerate().filter(|(_, c)| *c == '\n');
        lines.extend(breaks.map(|(at, _)| at as u32 + 1));
        Self { lines }
    }

    /// The issue `message` at the code point `offset`.
    pub(crate) fn issue(&self, offset: u32, message: impl Into<String>) -> Issue {
        if offset == NO_LOCATION {
            return Issue { line: 1, column: -1, message: message.into() };
        }
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = self.lines.get(line.wrapping_sub(1)).copied().unwrap_or(0);
        Issue { line: line as i64, column: i64::from(offset - start), message: message.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_snippet_points_at_the_location() {
        for (why, source, offset, want) in [
            ("at the start", "ab", 0, "ERROR: <input>:1:1: m\n | ab\n | ^"),
            ("past the end", "ab", 2, "ERROR: <input>:1:3: m\n | ab\n | ..^"),
            ("the second line", "a\nbc", 3, "ERROR: <input>:2:2: m\n | bc\n | .^"),
            ("tabs are one wide", "\t\tb", 2, "ERROR: <input>:1:3: m\n |   b\n | ..^"),
            ("wide dots under what is not ASCII", "é é", 2, "ERROR: <input>:1:3: m\n | é é\n | ．.＾"),
        ] {
            let issue = SourceLines::of(source).issue(offset, "m");
            assert_eq!(Issues::new(source.into(), vec![issue]).to_string(), want, "{why}");
        }
    }

    #[test]
    fn an_issue_without_a_location_has_no_snippet() {
        let issue = Issue { line: -1, column: -1, message: "m".into() };
        assert_eq!(Issues::new("a".into(), vec![issue]).to_string(), "ERROR: <input>:-1:0: m");
    }
}
