//! Reading JSON text.
//!
//! One pass over the bytes with an explicit stack, so that nesting costs heap and never stack.
//! UTF-8 is checked once for the whole text; finished items and members wait on two shared
//! scratch vectors and move into an exactly sized vector when their container closes.
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

/// A container that is still open.
#[derive(Clone, Copy)]
enum Frame {
    /// Its items start here on the scratch vector.
    Array { start: usize },
    /// Its members start here on the scratch vector.
    Object { start: usize },
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    frames: Vec<Frame>,
    items: Vec<Value>,
    members: Vec<(Str, Value)>,
    /// The key that waits for the value being read.
    key: Cow<'a, str>,
    /// Keys that wait for the containers being read.
    keys: Vec<Cow<'a, str>>,
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
            key: Cow::Borrowed(""),
            keys: Vec::with_capacity(16),
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
        loop {
            let mut value = match self.next_token() {
                Some(b'"') => match self.plain_string() {
                    Some(text) => Value::String(Str::new(text)),
                    None => Value::String(self.escaped_string()?),
                },
                Some(b'{') => {
                    self.check_depth()?;
                    self.at += 1;
                    if self.next_token() == Some(b'}') {
                        self.at += 1;
                        Value::object()
                    } else {
                        self.open(Frame::Object { start: self.members.len() });
                        self.key()?;
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
                        self.open(Frame::Array { start: self.items.len() });
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
                match self.frames.last() {
                    None => return Ok(value),
                    Some(&Frame::Array { start }) => {
                        self.items.push(value);
                        match self.next_token() {
                            Some(b',') => {
                                self.at += 1;
                                break;
                            }
                            Some(b']') => self.at += 1,
                            _ => return Err(self.unexpected(Context::AfterElement)),
                        }
                        value = Value::Array(self.items.split_off(start).into());
                    }
                    Some(&Frame::Object { start }) => {
                        // Copied only now: moving a small string about right after it was written
                        // costs more than writing it.
                        self.members.push((Str::new(&self.key), value));
                        match self.next_token() {
                            Some(b',') => {
                                self.at += 1;
                                self.next_token();
                                self.key()?;
                                break;
                            }
                            Some(b'}') => self.at += 1,
                            _ => return Err(self.unexpected(Context::AfterMember)),
                        }
                        let members = self.members.split_off(start);
                        let written = members.len();
                        let map = Map::from(members);
                        self.repeated |= map.len() != written;
                        value = Value::Object(map);
                    }
                }
                self.frames.pop();
                if let Some(Frame::Object { .. }) = self.frames.last() {
                    self.key = self.keys.pop().unwrap_or_default();
                }
            }
        }
    }

    /// Starts a container. If it is a member, its key waits until it is closed.
    fn open(&mut self, frame: Frame) {
        if let Some(Frame::Object { .. }) = self.frames.last() {
            self.keys.push(std::mem::take(&mut self.key));
        }
        self.frames.push(frame);
    }

    /// Reads `"key":`, standing at the first byte after blanks, and keeps it until its value
    /// has been read.
    #[inline]
    fn key(&mut self) -> Result<(), ParseError> {
        if self.peek() != Some(b'"') {
            return Err(self.unexpected(Context::Key));
        }
        self.key = match self.plain_string() {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(self.escaped_string()?.into()),
        };
        if self.next_token() != Some(b':') {
            return Err(self.unexpected(Context::AfterKey));
        }
        self.at += 1;
        Ok(())
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
