//! Findings as JSON.

use pleach_json::{Map, Value, json};

use crate::finding::{Counts, Finding, Report};
use crate::input::Source;

pub(super) fn value(reports: &[Report]) -> Value {
    let findings: Vec<Value> = reports
        .iter()
        .flat_map(|report| {
            report.findings.iter().map(move |finding| one(finding, &report.source, &report.title))
        })
        .collect();
    let counts = Counts::of(reports);
    let objects = reports.iter().filter(|report| !report.title.is_empty()).count();
    json!({
        "findings": findings,
        "summary": {
            "objects": (objects as i64),
            "errors": (counts.errors as i64),
            "warnings": (counts.warnings as i64),
        },
    })
}

fn one(finding: &Finding, source: &Source, title: &str) -> Value {
    let mut out = Map::new();
    out.insert("file", source.name.as_str());
    out.insert("level", finding.level.as_str());
    out.insert("rule", finding.rule);
    out.insert("message", finding.message.as_str());
    if !title.is_empty() {
        out.insert("object", title);
    }
    if !finding.field.is_empty() {
        out.insert("field", finding.field.as_str());
    }
    if let Some(span) = &finding.span {
        let (line, column) = source.position(span.start);
        out.insert("line", line as i64);
        out.insert("column", column as i64);
    }
    if !finding.help.is_empty() {
        out.insert("help", finding.help.iter().map(|help| Value::from(help.as_str())).collect::<Vec<_>>());
    }
    out.insert("fixable", finding.fix.is_some());
    out.into()
}
