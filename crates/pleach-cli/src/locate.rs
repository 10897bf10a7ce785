//! Source locations: the line and column of the field that an error names.
//!
//! Field paths are texts made for people: `spec.list[0].name`, `metadata.labels[a.b/c]`,
//! `properties[a.b].type`. A key may itself contain dots and brackets, so they are resolved against
//! the document: the shortest name that exists is taken. A field that does not exist is reported as missing from the
//! nearest parent that does.

use std::ops::Range;

use pleach_yaml::{SpanTree, Step};

/// The location of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The key, if it is a member of a mapping.
    pub key: Option<Range<usize>>,
    /// The value; `None` when the text leaves it empty.
    pub value: Option<Range<usize>>,
    /// Whether this is the field itself and not one above it.
    pub exact: bool,
}

impl Found {
    /// Moves the spans.
    pub(crate) fn shift(&mut self, by: usize) {
        for span in [&mut self.key, &mut self.value].into_iter().flatten() {
            *span = span.start + by..span.end + by;
        }
    }

    /// The range to underline: a value if it is short, else the key, else the first line.
    pub fn underlined(&self, text: &str) -> Range<usize> {
        let value = self.value.clone().unwrap_or(0..0);
        let shown = text.get(value.clone()).unwrap_or_default().trim_end();
        let short = !shown.is_empty() && !shown.contains('\n') && shown.len() <= 200;
        let beside_key = |key: &Range<usize>| {
            let between = text.get(key.end..value.start).unwrap_or_default();
            !between.contains('\n') && !shown.starts_with(['{', '['])
        };
        let short = short && self.key.as_ref().is_none_or(beside_key);
        match &self.key {
            Some(key) if !(self.exact && short) => key.clone(),
            _ if short => value.start..value.start + shown.len(),
            _ => value.start..value.start + shown.lines().next().unwrap_or_default().trim_end().len(),
        }
    }
}

/// Looks up the path of a field error.
pub fn locate(tree: &SpanTree, field: &str) -> Found {
    let mut at = tree;
    let mut rest = if field == "<nil>" { "" } else { field };
    while !rest.is_empty() {
        match step(at, rest) {
            Some((child, left)) => (at, rest) = (child, left),
            None => break,
        }
    }
    let spans = at.spans();
    let value = Some(spans.value.clone()).filter(|span| !span.is_empty());
    Found { key: spans.key.clone(), value, exact: rest.is_empty() }
}

/// Takes one step; the shortest name that exists wins.
fn step<'t, 'r>(tree: &'t SpanTree, rest: &'r str) -> Option<(&'t SpanTree, &'r str)> {
    if let Some(inner) = rest.strip_prefix('[') {
        let mut from = 0;
        while let Some(end) = inner[from..].find(']').map(|i| from + i) {
            let name = &inner[..end];
            pleach_work::charge(1);
            let index = name.parse().ok().and_then(|i| tree.child(Step::Index(i)));
            if let Some(child) = index.or_else(|| tree.child(Step::Key(name))) {
                return Some((child, &inner[end + 1..]));
            }
            from = end + 1;
        }
        return None;
    }
    let rest = rest.strip_prefix('.').unwrap_or(rest);
    let ends = rest.char_indices().skip(1).filter(|(_, c)| matches!(c, '.' | '[')).map(|(i, _)| i);
    for end in ends.chain([rest.len()]) {
        pleach_work::charge(1);
        if let Some(child) = tree.child(Step::Key(&rest[..end])) {
            return Some((child, &rest[end..]));
        }
    }
    None
}

/// The field that a decode error in Go's words is about; list positions are not among its steps.
pub fn field_of_decode_error(error: &str) -> Option<&str> {
    let (_, field) = error.split_once("into Go struct field ")?;
    let (field, _) = field.split_once(" of type ")?;
    field.split_once('.').map(|(_, field)| field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_lines() {
        let text = "spec:\n  a.b: 1\n  list:\n  - name: x\n    properties:\n      c.d: {type: string}\n  'e[f]': y\n  empty:\n";
        let document = pleach_yaml::documents(text).next().unwrap().unwrap();
        for (field, want, exact) in [
            ("spec.a.b", "1", true),
            ("spec.list[0].name", "x", true),
            ("spec.list[0].properties[c.d].type", "string", true),
            ("spec.list[0].properties[c.d]", "c.d", true),
            ("spec[e[f]]", "y", true),
            ("spec.list[0].missing.more", "list", false),
            ("spec.list", "list", true),
            ("spec.empty", "empty", true),
            ("<nil>", "spec:", true),
        ] {
            let found = locate(&document.places.tree(text), field);
            assert_eq!(found.exact, exact, "{field}");
            if field != "spec.list[0].missing.more" {
                assert_eq!(&text[found.underlined(text)], want, "{field}");
            }
        }
        let error =
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string";
        assert_eq!(field_of_decode_error(error), Some("metadata.name"));
    }
}
