//! The forms that findings are written in.
//!
//! Text is for people: each finding with its line underlined. JSON is for scripts, SARIF for code
//! hosts, JUnit for build servers. The same findings in the same order in all of them.

mod json;
mod junit;
mod sarif;
pub mod text;

use std::io;

use clap::ValueEnum;
use pleach_json::Value;

pub(crate) use self::junit::escape as escape_xml;
use crate::finding::{Counts, Report};
use crate::terminal::Terminal;

/// The form of a command's result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For scripts.
    Json,
}

/// The form of findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FindingFormat {
    /// For people, with the lines underlined.
    #[default]
    Text,
    /// For scripts.
    Json,
    /// For code hosts and editors: SARIF 2.1.0.
    Sarif,
    /// For build servers: JUnit XML, a test case per object.
    Junit,
}

/// Writes all findings.
pub fn write(
    reports: &[Report],
    command: &str,
    format: FindingFormat,
    terminal: &mut Terminal<'_>,
) -> io::Result<()> {
    match format {
        FindingFormat::Text => text::write(reports, terminal),
        FindingFormat::Json => write_json(&json::value(reports), terminal),
        FindingFormat::Sarif => write_json(&sarif::value(reports, command), terminal),
        FindingFormat::Junit => terminal.out.write_all(junit::text(reports, command).as_bytes()),
    }
}

/// Writes a value as JSON that people can read too.
pub fn write_json(value: &Value, terminal: &mut Terminal<'_>) -> io::Result<()> {
    terminal.out.write_all(pleach_json::to_string_pretty(value, 2).as_bytes())?;
    terminal.out.write_all(b"\n")
}

/// `1 error, 2 warnings` or `no findings`.
pub(crate) fn summary(counts: Counts) -> String {
    let some = |n: usize, word: &str| {
        (n > 0).then(|| if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") })
    };
    let parts: Vec<String> =
        [some(counts.errors, "error"), some(counts.warnings, "warning")].into_iter().flatten().collect();
    if parts.is_empty() { "no findings".to_owned() } else { parts.join(", ") }
}
