//! Fast path for plain manifests.
//!
//! Block mappings and sequences, scalars on one line, literal blocks, comments and small flow
//! collections are read several times faster than by a full YAML parser. On anything else (anchors,
//! tags, directives, complex keys, tabs, carriage returns, duplicate keys, odd indentation, all errors)
//! this reader gives up with [`NeedsFullParser`], and the full parser starts over, so that errors are made in one
//! place. Tests compare both.

mod flow;
mod scalar;

use pleach_json::{Map, Str, Value};

use super::characters::{BEYOND_ASCII, CONTROL, RETURN, traits};
use super::json::has_doubtful_character;
use super::resolve::Scalar;
use crate::go;
use crate::spans::Span;

/// The text needs the full parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NeedsFullParser;

/// Deeper nesting needs the full parser, which grows the stack.
const MAX_DEPTH: usize = 64;

/// Longer keys need the full parser, which knows YAML's limit.
const MAX_KEY: usize = 150;

/// Reads documents one after the other.
pub(super) struct Manifests<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    /// Members and items of the open collections.
    members: Vec<(Str, Value)>,
    items: Vec<Value>,
}

/// A document and its range in the text, including lines around it that belong to it.
pub(super) struct Manifest {
    pub(super) value: Value,
    pub(super) lines: Span,
}

/// A node where a key may be.
enum Entry {
    Key(Str),
    Value(Value),
}

impl<'a> Manifests<'a> {
    /// A reader, if the characters of the text allow it.
    pub(super) fn new(text: &'a str) -> Option<Self> {
        let bytes = text.as_bytes();
        let traits = traits(bytes);
        let plain = traits & (CONTROL | RETURN) == 0
            && (traits & BEYOND_ASCII == 0 || !has_doubtful_character(bytes));
        plain.then(|| Self { text, bytes, at: 0, depth: 0, members: Vec::new(), items: Vec::new() })
    }

    /// Whether all of the text has been read.
    pub(super) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The next document that is not empty.
    pub(super) fn next(&mut self) -> Result<Option<Manifest>, NeedsFullParser> {
        loop {
            let start = self.at;
            self.content()?;
            if self.marker()? {
                self.end_of_line()?;
                self.content()?;
            }
            if self.is_at_end() {
                return Ok(None);
            }
            if self.marker_ahead()? {
                continue;
            }
            if self.column() != 0 {
                return Err(NeedsFullParser);
            }
            let value = match self.entry(0)? {
                Entry::Key(key) => self.mapping(0, key)?,
                Entry::Value(value) if matches!(value, Value::Array(_)) => value,
                Entry::Value(_) => return Err(NeedsFullParser),
            };
            if !self.is_at_end() && !self.marker_ahead()? {
                return Err(NeedsFullParser);
            }
            return Ok(Some(Manifest { value, lines: start..self.at }));
        }
    }

    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(b'\n')
    }

    fn ahead(&self, by: usize) -> u8 {
        self.bytes.get(self.at + by).copied().unwrap_or(b'\n')
    }

    /// Skips blank lines and comments; called at the start of a line.
    fn content(&mut self) -> Result<(), NeedsFullParser> {
        while self.at < self.bytes.len() {
            self.blanks();
            match self.peek() {
                b'\n' => self.at = (self.at + 1).min(self.bytes.len()),
                b'#' => self.comment()?,
                _ => return Ok(()),
            }
        }
        Ok(())
    }

    fn blanks(&mut self) {
        while self.bytes.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
    }

    /// Skips the rest of the line, which may only have a comment.
    fn end_of_line(&mut self) -> Result<(), NeedsFullParser> {
        let before = self.at;
        self.blanks();
        match self.peek() {
            b'\n' => {}
            b'#' if self.at > before => self.comment()?,
            _ => return Err(NeedsFullParser),
        }
        self.at = (self.at + 1).min(self.bytes.len());
        Ok(())
    }

    /// Skips to the end of the line. A tab in a comment may not be allowed.
    fn comment(&mut self) -> Result<(), NeedsFullParser> {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|byte| matches!(byte, b'\n' | b'\t')).unwrap_or(rest.len());
        if self.peek() == b'\n' { Ok(()) } else { Err(NeedsFullParser) }
    }

    /// The current column.
    fn column(&self) -> usize {
        let before = &self.bytes[..self.at];
        before.iter().rev().take_while(|&&byte| byte != b'\n').count()
    }

    /// Takes a document marker, if there is one.
    fn marker(&mut self) -> Result<bool, NeedsFullParser> {
        let ahead = self.marker_ahead()?;
        if ahead {
            self.at += 3;
        }
        Ok(ahead)
    }

    /// Whether a document starts here. Explicit document ends need the full parser.
    fn marker_ahead(&self) -> Result<bool, NeedsFullParser> {
        let at_start = self.at == 0 || self.bytes[self.at - 1] == b'\n';
        match (at_start, self.peek(), self.ahead(1), self.ahead(2), self.ahead(3)) {
            (true, b'-', b'-', b'-', b' ' | b'\n') => Ok(self.at + 3 <= self.bytes.len()),
            (true, b'.', b'.', b'.', _) | (true, b'%', ..) => Err(NeedsFullParser),
            _ => Ok(false),
        }
    }

    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, NeedsFullParser>,
    ) -> Result<T, NeedsFullParser> {
        if self.depth == MAX_DEPTH {
            return Err(NeedsFullParser);
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads what is at `column`: a key including its colon, or a value including its line.
    fn entry(&mut self, column: usize) -> Result<Entry, NeedsFullParser> {
        if self.peek() == b'-' && matches!(self.ahead(1), b' ' | b'\n') {
            return self.deeper(|this| this.sequence(column)).map(Entry::Value);
        }
        let start = self.at;
        let scalar = match self.peek() {
            b'"' => Scalar::Text(self.double_quoted()?),
            b'\'' => Scalar::Text(self.single_quoted()?),
            _ => self.plain()?,
        };
        if self.peek() == b':' {
            if !matches!(self.ahead(1), b' ' | b'\n') || self.at - start > MAX_KEY {
                return Err(NeedsFullParser);
            }
            self.at += 1;
            return key_text(scalar).map(Entry::Key);
        }
        self.end_of_line()?;
        value_of(scalar).map(Entry::Value)
    }

    /// Reads a mapping at `column` whose first key has been read.
    fn mapping(&mut self, column: usize, first: Str) -> Result<Value, NeedsFullParser> {
        self.deeper(|this| {
            let mine = this.members.len();
            let mut key = first;
            loop {
                let value = this.value_of_key(column)?;
                this.members.push((key, value));
                if !this.is_next_at(column)? {
                    break;
                }
                key = match this.entry(column)? {
                    Entry::Key(key) => key,
                    Entry::Value(_) => return Err(NeedsFullParser),
                };
            }
            let members: Vec<_> = this.members.drain(mine..).collect();
            let count = members.len();
            let map = Map::from(members);
            if map.len() == count { Ok(Value::Object(map)) } else { Err(NeedsFullParser) }
        })
    }

    /// Goes to the next content; whether it is another entry at `column`. A deeper one is a doubt.
    fn is_next_at(&mut self, column: usize) -> Result<bool, NeedsFullParser> {
        self.content()?;
        if self.is_at_end() {
            return Ok(false);
        }
        let found = self.column();
        if found > column {
            return Err(NeedsFullParser);
        }
        Ok(found == column && !(column == 0 && self.marker_ahead()?))
    }

    /// The value of a key in a mapping at `column`.
    fn value_of_key(&mut self, column: usize) -> Result<Value, NeedsFullParser> {
        if let Some(value) = self.value_on_line(column)? {
            return Ok(value);
        }
        self.content()?;
        if self.is_at_end() || column == 0 && self.marker_ahead()? {
            return Ok(Value::Null);
        }
        let found = self.column();
        let dash = self.peek() == b'-' && matches!(self.ahead(1), b' ' | b'\n');
        if found > column {
            self.block(found, column)
        } else if found == column && dash {
            self.deeper(|this| this.sequence(column))
        } else {
            Ok(Value::Null)
        }
    }

    /// A node on lines of its own at `column`, deeper than its parent.
    fn block(&mut self, column: usize, parent: usize) -> Result<Value, NeedsFullParser> {
        match self.entry(column)? {
            Entry::Key(key) => self.mapping(column, key),
            Entry::Value(value) => {
                // A scalar followed by deeper lines is a multi-line scalar.
                self.content()?;
                if !self.is_at_end() && self.column() > parent && !matches!(value, Value::Array(_)) {
                    return Err(NeedsFullParser);
                }
                Ok(value)
            }
        }
    }

    /// A value on the line of its key or dash, with the rest of the line; `None` if there is none.
    /// `parent` is the column of the collection it is in.
    fn value_on_line(&mut self, parent: usize) -> Result<Option<Value>, NeedsFullParser> {
        let before = self.at;
        self.blanks();
        let value = match self.peek() {
            b'\n' => {
                self.end_of_line()?;
                return Ok(None);
            }
            b'#' if self.at > before => {
                self.at = before;
                self.end_of_line()?;
                return Ok(None);
            }
            b'|' => return self.literal(parent).map(Some),
            b'"' => Value::String(self.double_quoted()?),
            b'\'' => Value::String(self.single_quoted()?),
            b'[' | b'{' => self.flow()?,
            _ => value_of(self.plain()?)?,
        };
        self.end_of_line()?;
        Ok(Some(value))
    }

    /// A sequence whose dashes stand at `column`.
    fn sequence(&mut self, column: usize) -> Result<Value, NeedsFullParser> {
        let mine = self.items.len();
        loop {
            self.at += 1;
            let item = self.item(column)?;
            self.items.push(item);
            if !self.is_next_at(column)? || self.peek() != b'-' || !matches!(self.ahead(1), b' ' | b'\n') {
                break;
            }
        }
        let items: Vec<Value> = self.items.drain(mine..).collect();
        Ok(Value::from(items))
    }

    /// The item after a dash at `column`.
    fn item(&mut self, column: usize) -> Result<Value, NeedsFullParser> {
        let after_dash = self.at;
        self.blanks();
        let inner = column + 1 + (self.at - after_dash);
        match self.peek() {
            b'\n' | b'#' | b'|' | b'[' | b'{' => {
                self.at = after_dash;
                if let Some(value) = self.value_on_line(column)? {
                    return Ok(value);
                }
                self.content()?;
                if self.is_at_end() {
                    return Ok(Value::Null);
                }
                let found = self.column();
                if found > column { self.block(found, column) } else { Ok(Value::Null) }
            }
            _ => match self.entry(inner)? {
                Entry::Key(key) => self.mapping(inner, key),
                Entry::Value(value) => Ok(value),
            },
        }
    }
}

/// A key as a JSON string; others, merge keys and floats need the full parser.
fn key_text(scalar: Scalar) -> Result<Str, NeedsFullParser> {
    match scalar {
        Scalar::Text(text) => Ok(text),
        Scalar::Bool(_) | Scalar::Int(_) => Ok(go::key_text(scalar)),
        Scalar::Null | Scalar::Uint(_) | Scalar::Float(_) | Scalar::Merge => Err(NeedsFullParser),
    }
}

fn value_of(scalar: Scalar) -> Result<Value, NeedsFullParser> {
    match scalar {
        Scalar::Float(float) if !float.is_finite() => Err(NeedsFullParser),
        other => Ok(other.into_value()),
    }
}

#[cfg(test)]
mod tests;
