//! Findings as SARIF 2.1.0, which code hosts show beside the lines of a change.

use std::collections::BTreeSet;

use pleach_json::{Value, json};

use crate::finding::{Finding, Report};
use crate::input::Source;

pub(super) fn value(reports: &[Report], command: &str) -> Value {
    let findings = || reports.iter().flat_map(|r| r.findings.iter().map(move |f| (f, &*r.source)));
    let rules: BTreeSet<&str> = findings().map(|(finding, _)| finding.rule).collect();
    let rules: Vec<Value> = rules.into_iter().map(|rule| json!({"id": rule})).collect();
    let results: Vec<Value> = findings().map(|(finding, source)| result(finding, source)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": (format!("pleach {command}")),
                "version": (env!("CARGO_PKG_VERSION")),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(finding: &Finding, source: &Source) -> Value {
    let mut text = finding.message.clone();
    for help in &finding.help {
        text.push('\n');
        text.push_str(help);
    }
    let span = finding.span.clone().unwrap_or(0..0);
    let (line, column) = source.position(span.start);
    let (end_line, end_column) = source.position(span.end);
    json!({
        "ruleId": (finding.rule),
        "level": (finding.level.as_str()),
        "message": {"text": text},
        "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": (uri(&source.name))},
            "region": {
                "startLine": (line as i64),
                "startColumn": (column as i64),
                "endLine": (end_line as i64),
                "endColumn": (end_column as i64),
            },
        }}],
    })
}

/// A path as a SARIF artifact reference.
fn uri(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'\\' if cfg!(windows) => out.push('/'),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' | b':' => {
                out.push(byte.into());
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}
