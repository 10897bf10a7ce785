//! Manifests are plain YAML: the short way.
//!
//! People write block mappings and sequences, scalars on one line, literal blocks, comments and
//! small flow collections, and such text can be read several times faster than by a parser that
//! knows all of YAML. This one gives up, with [`Doubt`], on everything else: anchors, tags,
//! directives, complex keys, tabs, carriage returns, keys set twice, indentation that does not add
//! up, and everything that is a fault. What it gives up on is read the long way from the start, so
//! faults are found and worded in one place only. What it does read is what the long way reads;
//! tests compare the two.

mod flow;
mod scalar;

use pleach_json::{Map, Str, Value};

use super::characters::{BEYOND_ASCII, CONTROL, RETURN, traits};
use super::json::has_doubtful_character;
use super::resolve::Scalar;
use crate::go;
use crate::spans::Span;

/// The text must be read the long way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Doubt;

/// Deeper nesting is read the long way, which has the stack for it.
const MAX_DEPTH: usize = 64;

/// A key longer than this is read the long way, where YAML's limit of such keys is known.
const MAX_KEY: usize = 150;

/// Reads documents one after the other.
pub(super) struct Manifests<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    /// Members and items of the collections that are being read.
    members: Vec<(Str, Value)>,
    items: Vec<Value>,
}

/// A document and where it is in the text, with the lines before and after it that belong to it.
pub(super) struct Manifest {
    pub(super) value: Value,
    pub(super) lines: Span,
}

/// A node that stands where a key may stand.
enum Entry {
    Key(Str),
    Value(Value),
}

impl<'a> Manifests<'a> {
    /// A reader, if nothing among the characters of the text speaks against it.
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
    pub(super) fn next(&mut self) -> Result<Option<Manifest>, Doubt> {
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
                return Err(Doubt);
            }
            let value = match self.entry(0)? {
                Entry::Key(key) => self.mapping(0, key)?,
                Entry::Value(value) if matches!(value, Value::Array(_)) => value,
                Entry::Value(_) => return Err(Doubt),
            };
            if !self.is_at_end() && !self.marker_ahead()? {
                return Err(Doubt);
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

    /// Goes to the next line's content, over blank lines and comments. Stands at a line's start.
    fn content(&mut self) -> Result<(), Doubt> {
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

    /// To the end of the line, which must hold nothing but a comment, and past it.
    fn end_of_line(&mut self) -> Result<(), Doubt> {
        let before = self.at;
        self.blanks();
        match self.peek() {
            b'\n' => {}
            b'#' if self.at > before => self.comment()?,
            _ => return Err(Doubt),
        }
        self.at = (self.at + 1).min(self.bytes.len());
        Ok(())
    }

    /// To the end of the line. A tab in a comment may still be one that is not allowed.
    fn comment(&mut self) -> Result<(), Doubt> {
        let rest = &self.bytes[self.at..];
        self.at += rest.iter().position(|byte| matches!(byte, b'\n' | b'\t')).unwrap_or(rest.len());
        if self.peek() == b'\n' { Ok(()) } else { Err(Doubt) }
    }

    /// How far the current place is from the start of its line.
    fn column(&self) -> usize {
        let before = &self.bytes[..self.at];
        before.iter().rev().take_while(|&&byte| byte != b'\n').count()
    }

    /// Takes a document marker, if there is one.
    fn marker(&mut self) -> Result<bool, Doubt> {
        let ahead = self.marker_ahead()?;
        if ahead {
            self.at += 3;
        }
        Ok(ahead)
    }

    /// Whether a document starts here. Where one ends explicitly is for the long way.
    fn marker_ahead(&self) -> Result<bool, Doubt> {
        let at_start = self.at == 0 || self.bytes[self.at - 1] == b'\n';
        match (at_start, self.peek(), self.ahead(1), self.ahead(2), self.ahead(3)) {
            (true, b'-', b'-', b'-', b' ' | b'\n') => Ok(self.at + 3 <= self.bytes.len()),
            (true, b'.', b'.', b'.', _) | (true, b'%', ..) => Err(Doubt),
            _ => Ok(false),
        }
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Doubt>) -> Result<T, Doubt> {
        if self.depth == MAX_DEPTH {
            return Err(Doubt);
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Reads what stands at `column`: a key up to and with its colon, or a value with its line.
    fn entry(&mut self, column: usize) -> Result<Entry, Doubt> {
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
                return Err(Doubt);
            }
            self.at += 1;
            return key_text(scalar).map(Entry::Key);
        }
        self.end_of_line()?;
        value_of(scalar).map(Entry::Value)
    }

    /// Reads a mapping at `column` whose first key has been read.
    fn mapping(&mut self, column: usize, first: Str) -> Result<Value, Doubt> {
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
                    Entry::Value(_) => return Err(Doubt),
                };
            }
            let members: Vec<_> = this.members.drain(mine..).collect();
            let count = members.len();
            let map = Map::from(members);
            if map.len() == count { Ok(Value::Object(map)) } else { Err(Doubt) }
        })
    }

    /// Goes to the next content. Whether it is one more entry at `column`; further in it is a doubt.
    fn is_next_at(&mut self, column: usize) -> Result<bool, Doubt> {
        self.content()?;
        if self.is_at_end() {
            return Ok(false);
        }
        let found = self.column();
        if found > column {
            return Err(Doubt);
        }
        Ok(found == column && !(column == 0 && self.marker_ahead()?))
    }

    /// What follows a key and its colon in a mapping at `column`.
    fn value_of_key(&mut self, column: usize) -> Result<Value, Doubt> {
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

    /// A node on lines of its own at `column`, further in than its parent.
    fn block(&mut self, column: usize, parent: usize) -> Result<Value, Doubt> {
        match self.entry(column)? {
            Entry::Key(key) => self.mapping(column, key),
            Entry::Value(value) => {
                // A scalar that is followed by something further in goes on there.
                self.content()?;
                if !self.is_at_end() && self.column() > parent && !matches!(value, Value::Array(_)) {
                    return Err(Doubt);
                }
                Ok(value)
            }
        }
    }

    /// A value on the line of its key or dash, with the rest of the line; `None` if there is none.
    /// `parent` is the column of the collection it is in.
    fn value_on_line(&mut self, parent: usize) -> Result<Option<Value>, Doubt> {
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
    fn sequence(&mut self, column: usize) -> Result<Value, Doubt> {
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

    /// What follows a dash at `column`.
    fn item(&mut self, column: usize) -> Result<Value, Doubt> {
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

/// A key as JSON has it; keys that JSON cannot have, merge keys and floats go the long way.
fn key_text(scalar: Scalar) -> Result<Str, Doubt> {
    match scalar {
        Scalar::Text(text) => Ok(text),
        Scalar::Bool(_) | Scalar::Int(_) => Ok(go::key_text(scalar)),
        Scalar::Null | Scalar::Uint(_) | Scalar::Float(_) | Scalar::Merge => Err(Doubt),
    }
}

fn value_of(scalar: Scalar) -> Result<Value, Doubt> {
    match scalar {
        Scalar::Float(float) if !float.is_finite() => Err(Doubt),
        other => Ok(other.into_value()),
    }
}

#[cfg(test)]
mod tests;
