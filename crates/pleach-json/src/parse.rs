//! Reading JSON text.
//!
//! One pass over the bytes with an explicit stack, so that nesting costs heap and never stack.
//! UTF-8 is checked once for the whole text; finished items and members wait on two shared
//! scratch vectors and move into an exactly sized vector when their container closes. Keys wait for
//! their values as places in the text.
//!
//! Syntax errors win over numbers that fit no float64, as they do upstream, where the syntax of
//! the whole text is checked before anything is decoded.

mod duplicates;
mod number;
mod string;

use std::borrow::Cow;

use crate::error::{Context, ParseError};
use crate::{Map, Str, Value};

/// Arrays and objects may be nested this deep.
pub const MAX_DEPTH: usize = 10_000;

/// A document and the keys it set more than once.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// The document; of a key that is set more than once the last value counts.
    pub value: Value,
    /// Paths such as `spec.a[0].b` of keys that were set again, in document order, each once, at
    /// most a hundred.
    pub duplicates: Vec<String>,
}

/// Reads a JSON text. Of a key that is set more than once in an object the last value counts.
pub fn parse(bytes: &[u8]) -> Result<Value, ParseError> {
    parse_text(bytes).map(|(value, _, _)| value)
}

/// Reads a JSON text and reports keys that are set more than once.
pub fn parse_strict(bytes: &[u8]) -> Result<Parsed, ParseError> {
    let (value, text, repeated) = parse_text(bytes)?;
    let duplicates = if repeated { duplicates::find(&text) } else { Vec::new() };
    Ok(Parsed { value, duplicates })
}

fn parse_text(bytes: &[u8]) -> Result<(Value, Cow<'_, str>, bool), ParseError> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let (value, repeated) = Parser::new(text).document()?;
        return Ok((value, Cow::Borrowed(text), repeated));
    }
    let text = string::repair(bytes);
    let (value, repeated) = Parser::new(&text).document().map_err(|error| error.in_unrepaired(bytes))?;
    Ok((value, Cow::Owned(text), repeated))
}

/// What is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The document itself.
    Root,
    Array,
    Object,
}

/// A container that is still open, or the document.
#[derive(Clone, Copy)]
struct Frame<'a> {
    kind: Kind,
    /// Where its items or members start on their scratch vector.
    start: usize,
    /// The key it has in the object it is a member of.
    key: Key<'a>,
}

/// A key that waits for its value. It becomes a string only when it stands beside the value: moving
/// a small string about right after it was written costs more than writing it.
#[derive(Clone, Copy)]
enum Key<'a> {
    /// As it stands in the text.
    Plain(&'a str),
    /// Where it stands among what had escapes.
    Unescaped(usize, usize),
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    frames: Vec<Frame<'a>>,
    items: Vec<Value>,
    members: Vec<(Str, Value)>,
    /// The keys that had escapes, one after the other.
    unescaped: String,
    /// Some object set a key twice.
    repeated: bool,
    /// The first number beyond float64.
    out_of_range: Option<ParseError>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            frames: Vec::with_capacity(16),
            items: Vec::with_capacity(16),
            members: Vec::with_capacity(32),
            unescaped: String::new(),
            repeated: false,
            out_of_range: None,
        }
    }

    fn document(mut self) -> Result<(Value, bool), ParseError> {
        let value = self.value()?;
        if self.next_token().is_some() {
            return Err(self.unexpected(Context::AfterTopLevel));
        }
        match self.out_of_range {
            Some(error) => Err(error),
            None => Ok((value, self.repeated)),
        }
    }

    fn value(&mut self) -> Result<Value, ParseError> {
        let mut key = Key::Plain("");
        let mut frame = Frame { kind: Kind::Root, start: 0, key };
        loop {
            let mut value = match self.next_token() {
                Some(b'"') => match self.plain_string() {
                    Some(text) => Value::String(Str::new(text)),
                    None => Value::String(self.escaped_value()?),
                },
                Some(b'{') => {
                    self.check_depth()?;
                    self.at += 1;
                    if self.next_token() == Some(b'}') {
                        self.at += 1;
                        Value::object()
                    } else {
                        self.frames.push(frame);
                        frame = Frame { kind: Kind::Object, start: self.members.len(), key };
                        key = self.key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.check_depth()?;
                    self.at += 1;
                    if self.next_token() == Some(b']') {
                        self.at += 1;
                        Value::from(Vec::new())
                    } else {
                        self.frames.push(frame);
                        frame = Frame { kind: Kind::Array, start: self.items.len(), key };
                        continue;
                    }
                }
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.literal("true", Value::Bool(true))?,
                Some(b'f') => self.literal("false", Value::Bool(false))?,
                Some(b'n') => self.literal("null", Value::Null)?,
                _ => return Err(self.unexpected(Context::Value)),
            };
            // The value is complete: hand it to the container that waits for it, which may
            // complete that one in turn.
            loop {
                match frame.kind {
                    Kind::Root => return Ok(value),
                    Kind::Array => {
                        self.items.push(value);
                        match self.next_token() {
                            Some(b',') => {
                                self.at += 1;
                                break;
                            }
                            Some(b']') => self.at += 1,
                            _ => return Err(self.unexpected(Context::AfterElement)),
                        }
                        value = Value::Array(self.items.split_off(frame.start).into());
                    }
                    Kind::Object => {
                        self.members.push((Str::new(self.key_text(key)), value));
                        match self.next_token() {
                            Some(b',') => {
                                self.at += 1;
                                self.next_token();
                                key = self.key()?;
                                break;
                            }
                            Some(b'}') => self.at += 1,
                            _ => return Err(self.unexpected(Context::AfterMember)),
                        }
                        let members = self.members.split_off(frame.start);
                        let written = members.len();
                        let map = Map::from(members);
                        self.repeated |= map.len() != written;
                        value = Value::Object(map);
                    }
                }
                key = frame.key;
                frame = self.frames.pop().expect("the document is below every container");
            }
        }
    }

    /// Reads `"key":`, standing at the first byte after blanks.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "called twice in the innermost loop; measured")]
    fn key(&mut self) -> Result<Key<'a>, ParseError> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected(Context::Key));
        }
        let key = match self.plain_string() {
            Some(text) => Key::Plain(text),
            None => self.escaped_key()?,
        };
        if self.next_token() != Some(b':') {
            return Err(self.unexpected(Context::AfterKey));
        }
        self.at += 1;
        Ok(key)
    }

    /// What a key says.
    #[inline]
    fn key_text(&self, key: Key<'a>) -> &str {
        match key {
            Key::Plain(text) => text,
            Key::Unescaped(start, end) => &self.unescaped[start..end],
        }
    }

    fn literal(&mut self, word: &'static str, value: Value) -> Result<Value, ParseError> {
        for &expected in word.as_bytes() {
            if self.peek() != Some(expected) {
                return Err(self.unexpected(Context::Literal { word, expected }));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn check_depth(&self) -> Result<(), ParseError> {
        if self.frames.len() >= MAX_DEPTH {
            return Err(ParseError::max_depth(self.at));
        }
        Ok(())
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Skips blanks and looks at what follows.
    #[inline]
    fn next_token(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at) {
                Some(&byte) if byte > b' ' => return Some(byte),
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other.copied(),
            }
        }
    }

    /// The error for the character here, which the grammar does not allow.
    #[cold]
    fn unexpected(&self, context: Context) -> ParseError {
        ParseError::unexpected(self.bytes, self.at, context)
    }
}

#[cfg(test)]
mod tests;
