//! Sorting field paths in the order of the document, which values do not keep.
//!
//! Go names unknown fields as it meets them. Where more than one is to be named, the text of the
//! document is walked again to put them in that order.

use std::collections::HashMap;
use std::fmt::Write as _;

use pleach_json::{Value, parse};

enum Frame {
    /// An object; whether a key comes next, and where the path of its members starts.
    Object { key_next: bool, start: usize },
    /// A list; the position, and where the path of its items starts.
    Array { index: usize, start: usize },
}

/// Sorts paths of object members as they stand in `document`, which is JSON text.
pub fn in_document_order(document: &str, mut paths: Vec<String>) -> Vec<String> {
    if paths.len() < 2 {
        return paths;
    }
    let mut places: HashMap<String, usize> = paths.iter().map(|p| (p.clone(), usize::MAX)).collect();
    note_places(document, &mut places);
    paths.sort_by_key(|path| places.get(path).copied().unwrap_or(usize::MAX));
    paths
}

fn note_places(document: &str, places: &mut HashMap<String, usize>) {
    let bytes = document.as_bytes();
    let mut stack: Vec<Frame> = Vec::new();
    let mut path = String::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'{' => stack.push(Frame::Object { key_next: true, start: path.len() }),
            b'[' => {
                stack.push(Frame::Array { index: 0, start: path.len() });
                path.push_str("[0]");
            }
            b'}' | b']' => {
                if let Some(Frame::Object { start, .. } | Frame::Array { start, .. }) = stack.pop() {
                    path.truncate(start);
                }
            }
            b',' => match stack.last_mut() {
                Some(Frame::Object { key_next, .. }) => *key_next = true,
                Some(Frame::Array { index, start }) => {
                    *index += 1;
                    path.truncate(*start);
                    let _ = write!(path, "[{index}]");
                }
                None => {}
            },
            b'"' => {
                let end = string_end(bytes, at);
                if let Some(Frame::Object { key_next: key_next @ true, start }) = stack.last_mut() {
                    *key_next = false;
                    path.truncate(*start);
                    if !path.is_empty() {
                        path.push('.');
                    }
                    if let Ok(Value::String(key)) = parse(&bytes[at..end]) {
                        path.push_str(&key);
                    }
                    if let Some(place) = places.get_mut(&path) {
                        *place = at.min(*place);
                    }
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
}

/// Behind the closing quote of the string that starts at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut i = at + 1;
    while i < bytes.len() {
        match bytes[i] {
            b'"' => return i + 1,
            b'\\' => i += 2,
            _ => i += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_as_they_stand() {
        let document = r#"{"spec": {"zzz": 1, "l": [{"a": ["x", 2]}, {"b\"c": {}, "a": "}"}], "names": {"extra": "{\""}},
                           "metadata": {"colour": 1}}"#;
        let paths = [
            "metadata.colour",
            "spec.l[1].a",
            "spec.l[1].b\"c",
            "spec.names.extra",
            "spec.zzz",
            "unheard.of",
        ];
        assert_eq!(
            in_document_order(document, paths.iter().map(|p| (*p).to_owned()).collect()),
            [
                "spec.zzz",
                "spec.l[1].b\"c",
                "spec.l[1].a",
                "spec.names.extra",
                "metadata.colour",
                "unheard.of"
            ]
        );
    }

    #[test]
    fn any_text_ends() {
        for text in ["", "\"", "[[", "]]", "{\"a", "{,}", "\\", "{\"a\\"] {
            let paths = vec!["b".to_owned(), "a".to_owned()];
            assert_eq!(in_document_order(text, paths).len(), 2, "{text}");
        }
    }
}
