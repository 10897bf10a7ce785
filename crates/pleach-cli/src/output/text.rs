//! Findings as text: message, source line, advice.
//!
//! Only the lines around a finding are handed to the renderer, so a file of a hundred megabytes
//! costs no more than a small one. Where those lines are no lines to read, as in a file of JSON
//! without line breaks, only their place is named.

use std::io;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Level as Title, Renderer, Snippet};

use super::summary;
use crate::finding::{Counts, Finding, Level, Report};
use crate::input::Source;
use crate::terminal::{Paint, Terminal};

/// Longer lines are not shown.
const MAX_WINDOW: usize = 4096;

/// How many lines are shown above the one that is underlined.
const CONTEXT: usize = 2;

pub(super) fn write(reports: &[Report], terminal: &mut Terminal<'_>) -> io::Result<()> {
    for report in reports {
        for finding in &report.findings {
            let text = finding_text(finding, &report.source, &report.title, terminal.color);
            writeln!(terminal.out, "{text}\n")?;
        }
    }
    let mut sources: Vec<&str> = reports.iter().map(|report| report.source.name.as_str()).collect();
    sources.dedup();
    let objects = reports.iter().filter(|report| !report.title.is_empty()).count();
    let counts = Counts::of(reports);
    let line =
        format!("{} in {}: {}", plural(objects, "object"), plural(sources.len(), "file"), summary(counts));
    let paint = match counts {
        Counts { errors: 1.., .. } => Paint::Red,
        Counts { warnings: 1.., .. } => Paint::Yellow,
        Counts { .. } => Paint::Green,
    };
    writeln!(terminal.out, "{}", paint.on(terminal.color, &line))
}

fn plural(n: usize, word: &str) -> String {
    if n == 1 { format!("1 {word}") } else { format!("{n} {word}s") }
}

/// One finding.
pub fn finding_text(finding: &Finding, source: &Source, title: &str, color: bool) -> String {
    let level = match finding.level {
        Level::Error => Title::ERROR,
        Level::Warning => Title::WARNING,
        Level::Note => Title::NOTE,
    };
    let heading = printable(&finding.message);
    let heading = level.primary_title(heading.as_str()).id(finding.rule);
    let (window, span) = window(&source.text, finding.span.clone().unwrap_or(0..0));
    let first_line = source.position(finding.span.as_ref().map_or(0, |found| found.start - span.start)).0;
    let shown = if window.len() > MAX_WINDOW { String::new() } else { printable(window) };
    let name = match finding.span {
        Some(_) => source.name.clone(),
        None => format!("{}{}{title}", source.name, if title.is_empty() { "" } else { ": " }),
    };
    let too_long = finding.span.as_ref().filter(|_| window.len() > MAX_WINDOW);
    let mut group = if let Some(span) = too_long {
        let (line, column) = source.position(span.start);
        let name = format!("{}{}{title}", source.name, if title.is_empty() { "" } else { ": " });
        heading.element(annotate_snippets::Origin::path(name).line(line).char_column(column))
    } else if finding.span.is_some() {
        let annotation = AnnotationKind::Primary.span(span).label(title);
        heading.element(
            Snippet::source(shown.as_str()).path(name.as_str()).line_start(first_line).annotation(annotation),
        )
    } else {
        heading.element(annotate_snippets::Origin::path(name.as_str()))
    };
    for help in &finding.help {
        group = group.element(Title::HELP.message(help.as_str()));
    }
    if finding.fix.is_some() {
        group = group.element(Title::NOTE.message("pleach lint --fix repairs this"));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group]).trim_end().to_owned()
}

/// The lines around a span, and the span within.
fn window(text: &str, span: Range<usize>) -> (&str, Range<usize>) {
    let start = floor(text, span.start);
    let end = floor(text, span.end.max(start));
    let mut from = text[..start].rfind('\n').map_or(0, |i| i + 1);
    for _ in 0..CONTEXT {
        if from == 0 {
            break;
        }
        from = text[..from - 1].rfind('\n').map_or(0, |i| i + 1);
    }
    let to = text[end..].find('\n').map_or(text.len(), |i| end + i);
    (&text[from..to], start - from..end - from)
}

fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// The same text with as many bytes, and nothing in it that moves a terminal's cursor.
fn printable(text: &str) -> String {
    let plain = |c: char| if c.is_control() && c != '\n' && c != '\t' { ' ' } else { c };
    if text.chars().all(|c| plain(c) == c) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        let shown = plain(c);
        if shown == c {
            out.push(c);
        } else {
            out.extend(std::iter::repeat_n(' ', c.len_utf8()));
        }
    }
    out
}
