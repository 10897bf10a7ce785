//! From a text to the objects in it, each with the way back to its lines.
//!
//! YAML streams and JSON texts one after another; the items of a `List` count as objects of their
//! own, as they do for kubectl. A document that cannot be read becomes a finding with its line, and
//! the rest is still read.

use std::ops::Range;
use std::sync::Arc;

use pleach_json::Value;
use pleach_yaml::{DuplicateKeys, LazySpans, Step, YamlError};

use crate::finding::{Finding, Level};
use crate::input::Source;

/// An object in a text.
#[derive(Debug)]
pub struct Document {
    /// The text.
    pub source: Arc<Source>,
    /// The object.
    pub value: Value,
    /// Where the parts of the document that it is, or is an item of, stand; relative to `base`.
    places: Arc<LazySpans>,
    /// Which item of a list it is.
    item: Option<usize>,
    /// The piece of the text that was read.
    piece: Range<usize>,
    /// Keys that the object sets more than once.
    pub duplicates: DuplicateKeys,
}

impl Document {
    /// `Widget.example.com "a"`, as far as it is known.
    pub fn title(&self) -> String {
        let kind = self.kind();
        let name = self.name();
        match (kind.is_empty(), name.is_empty()) {
            (true, _) => "an object without kind".to_owned(),
            (false, true) => kind.to_owned(),
            (false, false) => format!("{kind} {name}"),
        }
    }

    /// `kind`
    pub fn kind(&self) -> &str {
        self.value.get("kind").and_then(Value::as_str).unwrap_or_default()
    }

    /// `apiVersion`
    pub fn api_version(&self) -> &str {
        self.value.get("apiVersion").and_then(Value::as_str).unwrap_or_default()
    }

    /// `metadata.name`
    pub fn name(&self) -> &str {
        self.value.at(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default()
    }

    /// How many bytes of the text it takes, or the list that it is an item of.
    pub fn len(&self) -> usize {
        self.places.lines().len()
    }

    /// Whether it takes none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether this is a CustomResourceDefinition of any version.
    pub fn is_crd(&self) -> bool {
        self.kind() == pleach_crd::KIND && self.api_version().starts_with("apiextensions.k8s.io/")
    }

    /// Gives back the room that the way to its lines takes; it is found again when it is needed.
    pub fn forget_places(&self) {
        // The items of a list share theirs.
        if self.item.is_none() {
            self.places.forget();
        }
    }

    /// The range in the text of the value at the path of a field error.
    pub fn locate(&self, field: &str) -> crate::locate::Found {
        let tree = self.places.tree(&self.source.text[self.piece.clone()]);
        let item = self.item.and_then(|item| tree.child(Step::Key("items"))?.child(Step::Index(item)));
        let mut found = crate::locate::locate(item.unwrap_or(&tree), field);
        found.shift(self.piece.start);
        found
    }

    /// A line of the piece that this document was read from, counted from one, without its indentation.
    pub fn line_span(&self, line: usize) -> Option<Range<usize>> {
        self.source.line_after(self.piece.start, line)
    }
}

/// All objects of a text, and the findings about the rest of it.
pub fn read(source: Source) -> (Arc<Source>, Vec<Document>, Vec<Finding>) {
    let source = Arc::new(source);
    let (mut documents, mut findings) = (Vec::new(), Vec::new());
    for piece in pieces(&source.text) {
        let base = piece.start;
        let text = &source.text[piece.clone()];
        let mut add = |value, duplicates, places| {
            let places = Arc::new(places);
            let source = Arc::clone(&source);
            unpack(
                Document { source, value, places, item: None, piece: piece.clone(), duplicates },
                &mut documents,
            );
        };
        // JSON keeps integers and floats apart where YAML does not: 1.0 is one or the other.
        let mut json = if text.trim_start().starts_with('{') { json(text) } else { None };
        if let Some(Json { value, strict: true }) = json {
            add(value, DuplicateKeys::default(), LazySpans::within(0..text.len()));
            continue;
        }
        for document in pleach_yaml::documents(text) {
            match document {
                Ok(document) => {
                    let value = json.take().map_or(document.value, |json| json.value);
                    add(value, document.duplicates, document.places);
                }
                Err(error) => findings.push(unreadable(&error, base)),
            }
        }
    }
    (source, documents, findings)
}

/// The content of a text as JSON.
struct Json {
    value: Value,
    /// Whether no key is set more than once.
    strict: bool,
}

fn json(text: &str) -> Option<Json> {
    let parsed = pleach_json::parse_strict(text.as_bytes()).ok()?;
    Some(Json { value: parsed.value, strict: parsed.duplicates.is_empty() })
}

fn unreadable(error: &YamlError, base: usize) -> Finding {
    let mut finding =
        Finding::new(Level::Error, "unreadable", format!("cannot be read: {}", error.message()));
    finding.span = error.offset().map(|offset| base + offset..base + offset);
    if error.message().contains("cannot start any token") {
        finding.help.push("YAML is indented with spaces, never with tabs".to_owned());
    }
    finding
}

/// The items of a list become objects of their own.
fn unpack(document: Document, out: &mut Vec<Document>) {
    if document.kind() != "List" || document.api_version() != "v1" {
        out.push(document);
        return;
    }
    let mut document = document;
    let items = document.value.get_mut("items").map(Value::take);
    let Some(Value::Array(items)) = items else {
        if let (Some(object), Some(items)) = (document.value.as_object_mut(), items) {
            object.insert("items", items);
        }
        out.push(document);
        return;
    };
    for (i, value) in items.into_iter().enumerate() {
        out.push(Document {
            source: Arc::clone(&document.source),
            value,
            places: Arc::clone(&document.places),
            item: Some(i),
            piece: document.piece.clone(),
            duplicates: DuplicateKeys::default(),
        });
    }
}

/// JSON texts may follow each other without a marker, which YAML does not know: each is a piece.
fn pieces(text: &str) -> Vec<Range<usize>> {
    let whole: Vec<Range<usize>> = std::iter::once(0..text.len()).collect();
    if !text.trim_start().starts_with('{') {
        return whole;
    }
    let mut out = Vec::new();
    let (mut depth, mut start, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for (i, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                let rest = text[i + 1..].trim_start();
                if depth == 0 && rest.starts_with('{') {
                    out.push(start..i + 1);
                    start = i + 1;
                } else if depth == 0 && !rest.is_empty() {
                    // Not JSON texts alone: YAML must make sense of it.
                    return whole;
                }
            }
            _ => {}
        }
    }
    out.push(start..text.len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> (Vec<String>, Vec<Finding>) {
        let source = Source::new("t", None, text);
        let (_, documents, findings) = read(source);
        (documents.iter().map(Document::title).collect(), findings)
    }

    #[test]
    fn streams_lists_and_json_texts_are_objects() {
        for (why, text, want) in [
            ("a stream", "kind: A\n---\n# nothing\n---\nkind: B\nmetadata: {name: b}\n", vec!["A", "B b"]),
            ("CRLF", "kind: A\r\n---\r\nkind: B\r\n", vec!["A", "B"]),
            (
                "JSON in a row",
                "{\"kind\": \"A\"}\n{\"kind\": \"B\\\"}\"} {\"kind\":\"C\"}",
                vec!["A", "B\"}", "C"],
            ),
            ("a list", "apiVersion: v1\nkind: List\nitems:\n- kind: A\n- kind: B\n", vec!["A", "B"]),
            ("nothing", "", vec![]),
        ] {
            let (titles, findings) = read_text(text);
            assert_eq!(titles, want, "{why}");
            assert!(findings.is_empty(), "{why}");
        }
    }

    #[test]
    fn an_unreadable_part_does_not_stop_the_rest() {
        let (titles, findings) = read_text("kind: A\n---\na:\n\t- b\n---\nkind: C\n");
        assert_eq!(titles, ["A", "C"]);
        assert_eq!(findings.len(), 1);
        assert!(findings[0].span.is_some());
    }

    #[test]
    fn spans_are_those_of_the_whole_text() {
        let text = "{\"kind\": \"A\"}\n{\"kind\": \"B\"}";
        let source = Source::new("t", None, text);
        let (_, documents, _) = read(source);
        let found = documents[1].locate("kind");
        assert_eq!(&text[found.value.expect("it is there")], "\"B\"");
    }
}
