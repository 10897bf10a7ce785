//! YAML reader.
//!
//! Characters are checked first, then the parser's events become a tree of nodes, then the tree becomes
//! a value. Three stages, as in go-yaml: a structural error anywhere in a document is reported before
//! an error in its content.
//!
//! JSON and ordinary manifests have fast paths with the same results; in case of doubt they fall back
//! to the full parser.

mod characters;
mod compose;
mod go_yaml_errors;
mod json;
mod lazy_spans;
mod manifest;
mod nodes;
mod resolve;

use std::borrow::Cow;

use pleach_json::{Hints, Spans, Value};
use pleach_work::charge;

use crate::error::{DuplicateKeys, YamlError};
use compose::Composer;
pub use lazy_spans::LazySpans;
use manifest::Manifests;
use nodes::Stream;
pub(crate) use resolve::{Scalar, reads_as_text};

/// The first document of a text, with its duplicate keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The document; the last of duplicate keys counts.
    pub value: Value,
    /// The duplicate keys.
    pub duplicates: DuplicateKeys,
    /// Where its containers are in the text, if requested and the text is JSON.
    pub spans: Option<Spans>,
}

impl From<Value> for Parsed {
    fn from(value: Value) -> Self {
        Self { value, duplicates: DuplicateKeys::default(), spans: None }
    }
}

/// A document of a stream.
#[derive(Debug, Clone)]
pub struct Document {
    /// The document; the last of duplicate keys counts.
    pub value: Value,
    /// The duplicate keys.
    pub duplicates: DuplicateKeys,
    /// Where its parts are in the text.
    pub places: LazySpans,
}

/// Reads the first document of a text. A text without one is `null`.
pub fn parse(bytes: &[u8]) -> Result<Value, YamlError> {
    read(bytes, false, Hints::default(), false).map(|parsed| parsed.value)
}

/// Reads the first document of a text and reports duplicate keys.
pub fn parse_strict(bytes: &[u8]) -> Result<Parsed, YamlError> {
    read(bytes, true, Hints::default(), false)
}

/// The same with hints for the JSON parser. `read_before` says that the hint was read by this function.
pub fn parse_strict_with(bytes: &[u8], hints: Hints<'_>, read_before: bool) -> Result<Parsed, YamlError> {
    read(bytes, true, hints, read_before)
}

/// [`parse`] without the fast paths, for tests that compare them.
#[doc(hidden)]
pub fn parse_slowly(bytes: &[u8]) -> Result<Parsed, YamlError> {
    let (text, _) = characters::decode(bytes)?;
    read_yaml(text, false)
}

fn read(bytes: &[u8], strict: bool, hints: Hints<'_>, read_before: bool) -> Result<Parsed, YamlError> {
    let (text, traits) = characters::decode(bytes)?;
    if let Some((value, spans)) = json::read(&text, traits, hints, read_before) {
        // Decoded text has other offsets.
        let spans = spans.filter(|_| matches!(text, Cow::Borrowed(_)) && text.len() == bytes.len());
        return Ok(Parsed { value, duplicates: DuplicateKeys::default(), spans });
    }
    charge(text.len() as u64);
    if let Some(value) = read_manifest(&text) {
        return Ok(value.into());
    }
    read_yaml(text, strict)
}

/// The value of a text that is one plain manifest and nothing else.
fn read_manifest(text: &str) -> Option<Value> {
    let mut manifests = Manifests::new(text)?;
    let manifest = manifests.next().ok()??;
    // An empty one before it would be the first.
    (manifest.lines.start == 0 && manifests.is_at_end()).then_some(manifest.value)
}

fn read_yaml(mut text: Cow<'_, str>, strict: bool) -> Result<Parsed, YamlError> {
    let mut repairs = 0_usize;
    loop {
        // The parser is not ours: it takes some 100 ns for a short token.
        charge(4 * text.len() as u64);
        let mut stream = Stream::new(&text, true);
        let nodes = match stream.document() {
            Ok(Some(nodes)) => nodes,
            Ok(None) => return Ok(Value::Null.into()),
            Err(error) => match stream.take_repaired() {
                Some(repaired) if repairs < MAX_REPAIRED => {
                    repairs += repaired.len();
                    text = Cow::Owned(repaired);
                    continue;
                }
                _ => return Err(error),
            },
        };
        let mut composer = Composer::new(&text, &nodes, strict);
        let value = composer.value()?;
        return Ok(Parsed { duplicates: composer.into_duplicates(), ..value.into() });
    }
}

/// Each repair reads the text again; their total is bounded by this many bytes.
const MAX_REPAIRED: usize = 1024 * 1024;

/// Reads all documents of a text. Empty documents are left out, as `kubectl` leaves them out.
///
/// After a document that cannot be read, the next `---` starts a new one.
pub fn documents(text: &str) -> Documents<'_> {
    let reader = match characters::decode(text.as_bytes()) {
        Err(fault) => Reader::Failed(Some(fault)),
        Ok(_) => match Manifests::new(text) {
            Some(manifests) => Reader::Manifests { manifests, returned: 0 },
            None => Reader::Stream(Box::new(Stream::new(text, false))),
        },
    };
    Documents { text, reader }
}

/// The documents of a stream; see [`documents`].
pub struct Documents<'a> {
    text: &'a str,
    reader: Reader<'a>,
}

/// The reader of a stream.
enum Reader<'a> {
    /// It failed.
    Failed(Option<YamlError>),
    /// The fast reader of manifests, and the number of documents that it has returned.
    Manifests { manifests: Manifests<'a>, returned: usize },
    /// The full parser.
    Stream(Box<Stream<'a>>),
}

impl Iterator for Documents<'_> {
    type Item = Result<Document, YamlError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match &mut self.reader {
                Reader::Failed(fault) => return fault.take().map(Err),
                Reader::Stream(stream) => return next_document(self.text, stream),
                Reader::Manifests { manifests, returned } => match manifests.next() {
                    Ok(manifest) => {
                        *returned += 1;
                        return manifest.map(|manifest| {
                            Ok(Document {
                                value: manifest.value,
                                duplicates: DuplicateKeys::default(),
                                places: LazySpans::within(manifest.lines),
                            })
                        });
                    }
                    Err(manifest::NeedsFullParser) => {
                        // From the start, for the usual errors.
                        let mut stream = Box::new(Stream::new(self.text, false));
                        for _ in 0..*returned {
                            pass_document(&mut stream);
                        }
                        self.reader = Reader::Stream(stream);
                    }
                },
            }
        }
    }
}

/// The nodes of the next document that is not empty.
fn next_nodes<'a>(stream: &mut Stream<'a>) -> Option<Result<nodes::Nodes<'a>, YamlError>> {
    loop {
        match stream.document() {
            Ok(None) => return None,
            Ok(Some(nodes)) if nodes.is_empty_document() => {}
            Ok(Some(nodes)) => return Some(Ok(nodes)),
            Err(error) => {
                stream.recover();
                return Some(Err(error));
            }
        }
    }
}

fn pass_document(stream: &mut Stream<'_>) {
    drop(next_nodes(stream));
}

fn next_document(text: &str, stream: &mut Stream<'_>) -> Option<Result<Document, YamlError>> {
    let nodes = match next_nodes(stream)? {
        Ok(nodes) => nodes,
        Err(error) => return Some(Err(error)),
    };
    let mut composer = Composer::new(text, &nodes, true);
    Some(match composer.value_with_spans() {
        Ok((value, spans)) => {
            Ok(Document { value, duplicates: composer.into_duplicates(), places: spans.into() })
        }
        // An error of a document as a whole is at its start.
        Err(error) => Err(error.or_at(composer.place_of_root())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_path_agrees_with_the_full_parser() {
        let texts = [
            r#"{"a":1,"b":[1.0,1e3,-0.0,0.5,12345678901234567890,1e30,-1,0],"c":"text: # [x]","d":{}}"#,
            "{\n  \"a\": {\n    \"b\": [\n      \"\\n\\t\\\"\\\\\",\n      true,\n      null\n    ]\n  }\n}\n",
            r#"{"yes":"no","1":"~","":"","- a":"? b","<<":"x","é":"日本語"}"#,
            "{ \"a\" : 1 , \"b\" : [ ] }",
            "{}",
            r#"{"a":"a\\u0041","b":"C:\\dir"}"#,
        ];
        for text in texts {
            let long = read_yaml(Cow::Borrowed(text), false).expect(text);
            if let Some((short, _)) =
                json::read(text, characters::traits(text.as_bytes()), Hints::default(), false)
            {
                assert_eq!(short, long.value, "{text}");
            }
        }
    }
}
