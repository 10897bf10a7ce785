//! Suggested fixes for errors, applied by `--fix` where they are safe.
//!
//! A fix is safe when the CRD cannot be accepted without it and there is one way to make it: a type
//! that the node's own keywords imply, a redundant repetition, a name that
//! follows from the spec. Everything else is advice. Fixes change the text, never the rest of it:
//! comments and order stay.

use std::ops::Range;

use pleach_crd::ApiVersion;
use pleach_json::Value;

use super::place;
use crate::document::Document;
use crate::finding::{Finding, Fix};

/// Adds advice, and a fix if there is a safe one.
pub(super) fn suggest(finding: &mut Finding, document: &Document, version: ApiVersion) {
    let place = place(&finding.field, version);
    match finding.rule {
        "structural-type" => missing_type(finding, document, &place),
        "structural-nested" => nested(finding, document, &place),
        "structural-complete" => complete(finding),
        "preserve-unknown-fields" => finding.fix = removal(document, &place),
        "name" => name(finding, document),
        _ => {}
    }
}

/// The keywords of the node say which type it has.
fn missing_type(finding: &mut Finding, document: &Document, place: &str) {
    let Some(node) = place.strip_suffix(".type") else { return };
    let Some(schema) = value_at(document, node) else { return };
    let has = |keys: &[&str]| keys.iter().any(|key| schema.get(key).is_some());
    let implied =
        if has(&["properties", "additionalProperties", "required", "minProperties", "maxProperties"]) {
            "object"
        } else if has(&["items", "minItems", "maxItems", "x-kubernetes-list-type"]) {
            "array"
        } else if has(&["pattern", "minLength", "maxLength"]) {
            "string"
        } else if is_int_or_string(schema) {
            finding.help.push("add x-kubernetes-int-or-string: true".to_owned());
            finding.fix = insertion(document, node, "x-kubernetes-int-or-string: true");
            return;
        } else {
            let help = "add a type, or x-kubernetes-preserve-unknown-fields: true to allow anything";
            finding.help.push(help.to_owned());
            return;
        };
    finding.help.push(format!("its other keywords make it `type: {implied}`"));
    finding.fix = insertion(document, node, &format!("type: {implied}"));
}

fn is_int_or_string(schema: &Value) -> bool {
    let Some(branches) = schema.get("anyOf").and_then(Value::as_array) else { return false };
    let types: Vec<&str> = branches.iter().filter_map(|b| b.get("type").and_then(Value::as_str)).collect();
    types == ["integer", "string"] && branches.len() == 2
}

/// A keyword inside a junctor: it is removed if it repeats the node's own.
fn nested(finding: &mut Finding, document: &Document, place: &str) {
    let keyword = place.rsplit('.').next().unwrap_or_default().to_owned();
    let core = outside_junctors(place);
    match keyword.as_str() {
        "description" | "title" => {
            finding.help.push(format!("remove it; a {keyword} belongs to the field itself, at {core}"));
            finding.fix = removal(document, place);
        }
        _ => match (value_at(document, place), value_at(document, &core)) {
            (Some(here), Some(there)) if here == there => {
                finding.help.push(format!("remove it: {core} says the same"));
                finding.fix = removal(document, place);
            }
            (_, Some(_)) => finding.help.push(format!("{core} says something else: decide for one, there")),
            (_, None) => finding.help.push(format!("move it to {core}")),
        },
    }
}

fn complete(finding: &mut Finding) {
    if let Some((_, defined)) = finding.message.split_once("because it is defined in ") {
        let field = &finding.field;
        finding
            .help
            .push(format!("declare {field} with its type; what {defined} demands of it can stay there"));
    }
}

fn name(finding: &mut Finding, document: &Document) {
    let text = |path: &[&str]| document.value.at(path).and_then(Value::as_str).unwrap_or_default();
    let name = format!("{}.{}", text(&["spec", "names", "plural"]), text(&["spec", "group"]));
    finding.help.push(format!("the name must be {name}"));
    let found = document.locate("metadata.name");
    if let (true, Some(span)) = (found.exact, found.value) {
        finding.fix = Some(Fix { span, replacement: name });
    }
}

/// A path without its steps into junctors.
pub(super) fn outside_junctors(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while !rest.is_empty() {
        let junctor = [".allOf[", ".anyOf[", ".oneOf["].iter().find_map(|word| rest.strip_prefix(word));
        if let Some((_, after)) = junctor.and_then(|inner| inner.split_once(']')) {
            rest = after;
        } else if let Some(after) = rest.strip_prefix(".not").filter(|r| r.starts_with('.')) {
            rest = after;
        } else {
            let c = rest.chars().next().expect("it is not empty");
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    out
}

/// The value at a path as errors print it.
fn value_at<'a>(document: &'a Document, path: &str) -> Option<&'a Value> {
    let mut at = &document.value;
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (name, after) = inner.split_once(']')?;
            at = match at {
                Value::Array(items) => items.get(name.parse::<usize>().ok()?)?,
                other => other.get(name)?,
            };
            rest = after;
        } else {
            let dotted = rest.strip_prefix('.').unwrap_or(rest);
            let end = dotted.find(['.', '[']).unwrap_or(dotted.len());
            at = at.get(&dotted[..end])?;
            rest = &dotted[end..];
        }
    }
    Some(at)
}

/// Adds a member to the front of a mapping.
fn insertion(document: &Document, path: &str, member: &str) -> Option<Fix> {
    let found = document.locate(path);
    let span = found.value.filter(|_| found.exact)?;
    let text = &document.source.text;
    if text[span.clone()].starts_with('{') {
        let empty = text[span.start + 1..].trim_start().starts_with('}');
        let at = span.start + 1;
        return Some(Fix { span: at..at, replacement: format!("{member}{}", if empty { "" } else { ", " }) });
    }
    let line = text[..span.start].rfind('\n').map_or(0, |i| i + 1);
    let indent = text[line..span.start].chars().count();
    Some(Fix { span: span.start..span.start, replacement: format!("{member}\n{}", " ".repeat(indent)) })
}

/// Removes a member that has its lines for itself.
fn removal(document: &Document, path: &str) -> Option<Fix> {
    let found = document.locate(path);
    let (key, value) = (found.key.filter(|_| found.exact)?, found.value?);
    let text = &document.source.text;
    let span: Range<usize> = key.start..value.end;
    let start = text[..span.start].rfind('\n').map_or(0, |i| i + 1);
    let rest = &text[span.end..];
    let end = span.end + rest.find('\n').map_or(rest.len(), |i| i + 1);
    let before = &text[start..span.start];
    let tail = text[span.end..end].trim();
    if !tail.is_empty() && !tail.starts_with('#') {
        return None;
    }
    if before.trim().is_empty() {
        return Some(Fix { span: start..end, replacement: String::new() });
    }
    // The first member of an item: the next one takes its place behind the dash.
    let next = &text[end..];
    let indent = next.len() - next.trim_start_matches(' ').len();
    let has_next = indent == before.len()
        && !next[indent..].starts_with(['\n', '\r', '#', '-'])
        && !next[indent..].is_empty();
    (before.trim() == "-" && has_next)
        .then(|| Fix { span: span.start..end + indent, replacement: String::new() })
}

/// Applies fixes to a text; of two that touch the same place only the first is applied.
pub(crate) fn apply(text: &str, fixes: &[&Fix]) -> (String, usize) {
    let mut sorted: Vec<&Fix> = fixes.to_vec();
    sorted.sort_by_key(|fix| (fix.span.start, fix.span.end));
    sorted.dedup();
    let (mut out, mut at, mut applied) = (String::with_capacity(text.len()), 0, 0);
    for fix in sorted {
        if fix.span.start < at {
            continue;
        }
        out.push_str(&text[at..fix.span.start]);
        out.push_str(&fix.replacement);
        at = fix.span.end;
        applied += 1;
    }
    out.push_str(&text[at..]);
    (out, applied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn junctors_are_left_out_of_paths() {
        for (path, want) in [
            ("a.properties[x].anyOf[0].properties[y].type", "a.properties[x].properties[y].type"),
            ("a.not.allOf[12].type", "a.type"),
            ("a.properties[not].type", "a.properties[not].type"),
            ("a.nothing", "a.nothing"),
        ] {
            assert_eq!(outside_junctors(path), want);
        }
    }

    #[test]
    fn fixes_do_not_overlap() {
        let fix = |span: Range<usize>, replacement: &str| Fix { span, replacement: replacement.to_owned() };
        let (a, b, c) = (fix(0..1, "x"), fix(0..2, "y"), fix(3..3, "z"));
        assert_eq!(apply("abcd", &[&c, &b, &a]), ("xbczd".to_owned(), 2));
    }
}
