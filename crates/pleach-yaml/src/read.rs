//! Reading YAML text.
//!
//! Characters are checked first, then the parser's events become a tree of nodes, then the tree
//! becomes a value. The three are apart because go-yaml keeps them apart: a fault of structure
//! anywhere in a document comes before a fault of content, whatever their order in the text.

mod characters;
mod compose;
mod faults;
mod json;
mod nodes;
mod resolve;

use std::borrow::Cow;

use pleach_json::Value;

use crate::error::{DuplicateKeys, YamlError};
use crate::spans::{Span, SpanTree};
use compose::Composer;
use nodes::Stream;
pub(crate) use resolve::{Scalar, reads_as_text};

/// The first document of a text and the keys it set more than once.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The document; of a key that is set more than once the last value counts.
    pub value: Value,
    /// The keys that were set again.
    pub duplicates: DuplicateKeys,
}

/// A document of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    /// The document; of a key that is set more than once the last value counts.
    pub value: Value,
    /// Where its parts stand in the text.
    pub spans: SpanTree,
    /// The keys that were set again.
    pub duplicates: DuplicateKeys,
    /// Where the document stands in the text, without the markers around it.
    pub span: Span,
}

/// Reads the first document of a text. A text without one is `null`.
pub fn parse(bytes: &[u8]) -> Result<Value, YamlError> {
    read(bytes, false).map(|parsed| parsed.value)
}

/// Reads the first document of a text and reports keys that are set more than once.
pub fn parse_strict(bytes: &[u8]) -> Result<Parsed, YamlError> {
    read(bytes, true)
}

fn read(bytes: &[u8], strict: bool) -> Result<Parsed, YamlError> {
    let text = characters::decode(bytes)?;
    if let Some(value) = json::read(&text) {
        return Ok(Parsed { value, duplicates: DuplicateKeys::default() });
    }
    read_yaml(text, strict)
}

fn read_yaml(mut text: Cow<'_, str>, strict: bool) -> Result<Parsed, YamlError> {
    let mut repairs = 0_usize;
    loop {
        let mut stream = Stream::new(&text, true);
        let nodes = match stream.document() {
            Ok(Some(nodes)) => nodes,
            Ok(None) => return Ok(Parsed { value: Value::Null, duplicates: DuplicateKeys::default() }),
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
        return Ok(Parsed { value, duplicates: composer.into_duplicates() });
    }
}

/// Each repair reads the text again, so there must be an end to them: after this many bytes.
const MAX_REPAIRED: usize = 1024 * 1024;

/// Reads all documents of a text. Empty documents are left out, as `kubectl` leaves them out.
///
/// After a document that cannot be read, the next `---` starts a new one.
pub fn documents(text: &str) -> Documents<'_> {
    let fault = characters::decode(text.as_bytes()).err();
    Documents { text, stream: Stream::new(text, false), fault }
}

/// The documents of a stream; see [`documents`].
pub struct Documents<'a> {
    text: &'a str,
    stream: Stream<'a>,
    fault: Option<YamlError>,
}

impl Iterator for Documents<'_> {
    type Item = Result<Document, YamlError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(fault) = self.fault.take() {
            self.stream.end();
            return Some(Err(fault));
        }
        loop {
            let nodes = match self.stream.document() {
                Ok(None) => return None,
                Ok(Some(nodes)) => nodes,
                Err(error) => {
                    self.stream.recover();
                    return Some(Err(error));
                }
            };
            if nodes.is_empty_document() {
                continue;
            }
            let span = nodes.root_span();
            let mut composer = Composer::new(self.text, &nodes, true);
            return Some(composer.value_with_spans().map(|(value, spans)| Document {
                value,
                spans,
                duplicates: composer.into_duplicates(),
                span,
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_way_and_the_long_way_lead_to_the_same() {
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
            if let Some(short) = json::read(text) {
                assert_eq!(short, long.value, "{text}");
            }
        }
    }
}
