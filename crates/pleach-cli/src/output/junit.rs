//! Findings as JUnit XML: a suite per file, a case per object, a failure where there are errors.

use std::fmt::Write as _;

use super::text::finding_text;
use crate::finding::{Level, Report};

pub(super) fn text(reports: &[Report], command: &str) -> String {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    let mut rest = reports;
    while let Some(first) = rest.first() {
        let same = rest.iter().take_while(|report| report.source.name == first.source.name).count();
        let (suite, others) = rest.split_at(same);
        rest = others;
        let failures = suite.iter().filter(|report| fails(report)).count();
        let name = escape(&first.source.name);
        let _ = writeln!(out, "  <testsuite name=\"{name}\" tests=\"{same}\" failures=\"{failures}\">");
        for report in suite {
            case(report, command, &mut out);
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn fails(report: &Report) -> bool {
    report.findings.iter().any(|finding| finding.level == Level::Error)
}

fn case(report: &Report, command: &str, out: &mut String) {
    let title = if report.title.is_empty() { "the file itself" } else { &report.title };
    let (title, class) = (escape(title), escape(&report.source.name));
    let _ = write!(out, "    <testcase name=\"{title}\" classname=\"{command}: {class}\"");
    if report.findings.is_empty() {
        out.push_str("/>\n");
        return;
    }
    out.push_str(">\n");
    let texts = |errors: bool| {
        let wanted = report.findings.iter().filter(move |finding| (finding.level == Level::Error) == errors);
        let texts: Vec<String> =
            wanted.map(|finding| finding_text(finding, &report.source, &report.title, false)).collect();
        escape(&texts.join("\n\n"))
    };
    if let Some(first) = report.findings.iter().find(|finding| finding.level == Level::Error) {
        let _ = writeln!(
            out,
            "      <failure type=\"{}\" message=\"{}\">{}</failure>",
            first.rule,
            escape(&first.message),
            texts(true)
        );
    }
    if report.findings.iter().any(|finding| finding.level != Level::Error) {
        let _ = writeln!(out, "      <system-out>{}</system-out>", texts(false));
    }
    out.push_str("    </testcase>\n");
}

/// Text as XML allows it; characters that XML does not have become question marks.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('?'),
            c => out.push(c),
        }
    }
    out
}
