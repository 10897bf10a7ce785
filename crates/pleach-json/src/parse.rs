//! Reading JSON text.
//!
//! One pass over the bytes with an explicit stack, so that nesting costs heap and never stack.
//! UTF-8 is checked once for the whole text; finished items and members wait on two shared
//! scratch vectors and move into an exactly sized vector when their container closes. Keys wait for
//! their values as places in the text.
//!
//! Syntax errors win over numbers that fit no float64, as they do upstream, where the syntax of
//! the whole text is checked before anything is decoded.

mod baseline;
mod duplicates;
mod number;
mod string;

use std::borrow::Cow;

use crate::error::{Context, ParseError};
use crate::{InternedObjects, Map, SpannedValue, Spans, Str, Value};
use baseline::Baseline;
pub(crate) use string::plain_run;
use string::plain_string;

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
    /// The spans of its containers, if asked for and no key is set twice.
    pub spans: Option<Spans>,
}

/// Knowledge about a text before it is parsed. Hints change what parsing costs and what is shared, never the
/// result.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hints<'h> {
    /// An earlier value to compare with. Equal containers are shared with it.
    pub baseline: Option<SpannedValue<'h>>,
    /// Objects that may occur in it.
    pub interned: Option<&'h InternedObjects>,
    /// Whether to record the spans of containers.
    pub spans: bool,
}

impl<'h> From<&'h Value> for Hints<'h> {
    fn from(baseline: &'h Value) -> Self {
        Self { baseline: Some(baseline.into()), ..Self::default() }
    }
}

/// Reads a JSON text. Of a key that is set more than once in an object the last value counts.
pub fn parse(bytes: &[u8]) -> Result<Value, ParseError> {
    parse_with(bytes, Hints::default())
}

/// The same with hints.
pub fn parse_with(bytes: &[u8], hints: Hints<'_>) -> Result<Value, ParseError> {
    parse_text(bytes, hints).map(|(read, _)| read.value)
}

/// Reads a JSON text and reports keys that are set more than once.
pub fn parse_strict(bytes: &[u8]) -> Result<Parsed, ParseError> {
    parse_strict_with(bytes, Hints::default())
}

/// The same with hints.
pub fn parse_strict_with(bytes: &[u8], hints: Hints<'_>) -> Result<Parsed, ParseError> {
    let (Read { value, repeated, spans }, text) = parse_text(bytes, hints)?;
    let duplicates = if repeated { duplicates::find(&text) } else { Vec::new() };
    Ok(Parsed { value, duplicates, spans })
}

/// A document that was read.
struct Read {
    value: Value,
    /// Some object set a key twice.
    repeated: bool,
    spans: Option<Spans>,
}

fn parse_text<'a>(bytes: &'a [u8], hints: Hints<'_>) -> Result<(Read, Cow<'a, str>), ParseError> {
    // A byte may begin a container, which takes some tens of nanoseconds; most take one.
    pleach_work::charge(bytes.len() as u64);
    let baseline = Baseline::of(hints.baseline);
    if let Ok(text) = std::str::from_utf8(bytes) {
        let mut parser = Parser::new(text, hints.interned);
        parser.spans = hints.spans.then(Spans::default);
        return Ok((parser.document(baseline)?, Cow::Borrowed(text)));
    }
    // Nothing stands where it stood before the repair.
    let text = string::repair(bytes);
    let read = Parser::new(&text, hints.interned).document(baseline);
    Ok((read.map_err(|error| error.in_unrepaired(bytes))?, Cow::Owned(text)))
}

/// The text being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The document itself.
    Root,
    Array,
    Object,
}

/// A container that is still open, or the document.
#[derive(Clone, Copy)]
struct Frame<'a, 'l> {
    kind: Kind,
    /// The container it is compared with.
    baseline: Baseline<'l>,
    /// All containers in it so far equal those of the baseline, so that the whole may.
    same: bool,
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

struct Parser<'a, 'l> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    interned: Option<&'l InternedObjects>,
    frames: Vec<Frame<'a, 'l>>,
    items: Vec<Value>,
    members: Vec<(Str, Value)>,
    /// The keys that had escapes, one after the other.
    unescaped: String,
    /// Some object set a key twice.
    repeated: bool,
    /// The spans so far, if asked for.
    spans: Option<Spans>,
    /// The first number beyond float64.
    out_of_range: Option<ParseError>,
}

impl<'a, 'l> Parser<'a, 'l> {
    fn new(text: &'a str, interned: Option<&'l InternedObjects>) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            interned,
            frames: Vec::with_capacity(16),
            items: Vec::with_capacity(16),
            members: Vec::with_capacity(32),
            unescaped: String::new(),
            repeated: false,
            spans: None,
            out_of_range: None,
        }
    }

    fn document(mut self, baseline: Baseline<'l>) -> Result<Read, ParseError> {
        let value = self.value(baseline)?;
        if self.next_token().is_some() {
            return Err(self.unexpected(Context::AfterTopLevel));
        }
        match self.out_of_range {
            Some(error) => Err(error),
            None => {
                // A container copied from this text later would hide its duplicate key.
                let spans = self.spans.filter(|_| !self.repeated);
                Ok(Read { value, repeated: self.repeated, spans })
            }
        }
    }

    fn value(&mut self, root: Baseline<'l>) -> Result<Value, ParseError> {
        // Where the reader stands is kept apart, for the sake of speed, and put back for other code that
        // needs it.
        let text = self.text;
        let mut at = self.at;
        let mut key = Key::Plain("");
        let mut frame = Frame { kind: Kind::Root, baseline: root, same: true, start: 0, key };
        loop {
            let mut value = match next_token(text, &mut at) {
                Some(b'"') => match plain_string(text, &mut at) {
                    Some(text) => Value::String(small(text)),
                    None => Value::String(self.elsewhere(&mut at, Self::escaped_value)?),
                },
                Some(b'{') => {
                    self.check_depth(at)?;
                    let baseline = self.baseline_below(&mut frame, key);
                    let begin = at;
                    at += 1;
                    if next_token(text, &mut at) == Some(b'}') {
                        at += 1;
                        Value::object()
                    } else if let Some((same, end)) = self.interned_at(&frame, key, begin) {
                        at = end;
                        same
                    } else if let Some((same, end)) = self.unchanged(baseline, begin) {
                        at = end;
                        same
                    } else {
                        self.begin(begin);
                        self.frames.push(frame);
                        frame = Frame {
                            kind: Kind::Object,
                            baseline,
                            same: true,
                            start: self.members.len(),
                            key,
                        };
                        key = self.key_at(&mut at)?;
                        continue;
                    }
                }
                Some(b'[') => {
                    self.check_depth(at)?;
                    let baseline = self.baseline_below(&mut frame, key);
                    let begin = at;
                    at += 1;
                    if next_token(text, &mut at) == Some(b']') {
                        at += 1;
                        Value::from(Vec::new())
                    } else if let Some((same, end)) = self.unchanged(baseline, begin) {
                        at = end;
                        same
                    } else {
                        self.begin(begin);
                        self.frames.push(frame);
                        frame =
                            Frame { kind: Kind::Array, baseline, same: true, start: self.items.len(), key };
                        continue;
                    }
                }
                Some(b'-' | b'0'..=b'9') => self.elsewhere(&mut at, Self::number)?,
                Some(b't') => self.elsewhere(&mut at, |this| this.literal("true", Value::Bool(true)))?,
                Some(b'f') => self.elsewhere(&mut at, |this| this.literal("false", Value::Bool(false)))?,
                Some(b'n') => self.elsewhere(&mut at, |this| this.literal("null", Value::Null))?,
                _ => return Err(self.unexpected_at(at, Context::Value)),
            };
            // The value is complete: hand it to the container that waits for it, which may
            // complete that one in turn.
            loop {
                match frame.kind {
                    Kind::Root => {
                        self.at = at;
                        return Ok(value);
                    }
                    Kind::Array => {
                        self.items.push(value);
                        match next_token(text, &mut at) {
                            Some(b',') => {
                                at += 1;
                                break;
                            }
                            Some(b']') => at += 1,
                            _ => return Err(self.unexpected_at(at, Context::AfterElement)),
                        }
                        let baseline = frame.baseline.items().filter(|_| frame.same);
                        value = match baseline {
                            Some(items) if items[..] == self.items[frame.start..] => {
                                self.items.truncate(frame.start);
                                Value::Array(items.clone())
                            }
                            _ => {
                                frame.same = false;
                                Value::Array(self.items.split_off(frame.start).into())
                            }
                        };
                    }
                    Kind::Object => {
                        self.members.push((small(self.key_text(key)), value));
                        match next_token(text, &mut at) {
                            Some(b',') => {
                                at += 1;
                                next_token(text, &mut at);
                                key = self.key_at(&mut at)?;
                                break;
                            }
                            Some(b'}') => at += 1,
                            _ => return Err(self.unexpected_at(at, Context::AfterMember)),
                        }
                        let baseline = frame.baseline.members().filter(|_| frame.same);
                        value = match baseline {
                            Some(members) if members.entries() == &self.members[frame.start..] => {
                                self.members.truncate(frame.start);
                                Value::Object(members.clone())
                            }
                            _ => Value::Object(self.object(&mut frame)),
                        };
                    }
                }
                if let Some(spans) = &mut self.spans {
                    spans.end(at, true);
                }
                key = frame.key;
                let same = frame.same;
                frame = self.frames.pop().expect("the document is below every container");
                frame.same &= same;
            }
        }
    }

    /// Does what works with the parser's own place in the text.
    #[inline]
    fn elsewhere<T>(
        &mut self,
        at: &mut usize,
        step: impl FnOnce(&mut Self) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        self.at = *at;
        let done = step(self);
        *at = self.at;
        done
    }

    /// The object of the members that were read last.
    fn object(&mut self, frame: &mut Frame<'a, 'l>) -> Map {
        let members = self.members.split_off(frame.start);
        if let Some(spans) = &mut self.spans {
            spans.sort(&members);
        }
        let written = members.len();
        let map = Map::from(members);
        self.repeated |= map.len() != written;
        match frame.baseline.members().filter(|_| frame.same) {
            // The same members in another order.
            Some(earlier) if *earlier == map => earlier.clone(),
            _ => {
                frame.same = false;
                map
            }
        }
    }

    /// The container of the baseline, if its text is at this offset, and the offset after it. Not tried for the
    /// document itself, which is sent because something changed.
    #[inline]
    fn unchanged(&mut self, baseline: Baseline<'l>, at: usize) -> Option<(Value, usize)> {
        if self.frames.is_empty() {
            return None;
        }
        let (spanned, end) = baseline.find_at(self.bytes, at)?;
        if let Some(spans) = &mut self.spans {
            spans.copied(at, spanned);
        }
        Some((spanned.value().clone(), end))
    }

    /// A container that is not empty begins here.
    #[inline]
    fn begin(&mut self, at: usize) {
        if let Some(spans) = &mut self.spans {
            spans.begin(at);
        }
    }

    /// The interned object whose text is at this offset, and the offset after it.
    #[inline]
    fn interned_at(&mut self, frame: &Frame<'a, 'l>, key: Key<'a>, at: usize) -> Option<(Value, usize)> {
        let interned = self.interned.filter(|_| frame.kind == Kind::Object)?;
        let (object, end) = interned.find_at(self.key_text(key), self.bytes, at)?;
        if let Some(spans) = &mut self.spans {
            spans.begin(at);
            spans.end(end, true);
        }
        Some((Value::Object(object.clone()), end))
    }

    /// The baseline of the container that begins here.
    #[inline]
    fn baseline_below(&self, frame: &mut Frame<'a, 'l>, key: Key<'a>) -> Baseline<'l> {
        match frame.kind {
            Kind::Root => frame.baseline,
            Kind::Object => frame.baseline.member(self.members.len() - frame.start, self.key_text(key)),
            Kind::Array => frame.baseline.item(self.items.len() - frame.start),
        }
    }

    /// Reads `"key":`, standing at the first byte after blanks.
    fn key(&mut self) -> Result<Key<'a>, ParseError> {
        let mut at = self.at;
        let key = self.key_at(&mut at);
        self.at = at;
        key
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "called twice in the innermost loop; measured")]
    fn key_at(&mut self, at: &mut usize) -> Result<Key<'a>, ParseError> {
        if self.text.as_bytes().get(*at) != Some(&b'"') {
            return Err(self.unexpected_at(*at, Context::Key));
        }
        let key = match plain_string(self.text, at) {
            Some(text) => Key::Plain(text),
            None => self.elsewhere(at, Self::escaped_key)?,
        };
        if next_token(self.text, at) != Some(b':') {
            return Err(self.unexpected_at(*at, Context::AfterKey));
        }
        *at += 1;
        Ok(key)
    }

    /// The text of a key.
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

    #[inline]
    fn check_depth(&self, at: usize) -> Result<(), ParseError> {
        if self.frames.len() >= MAX_DEPTH {
            return Err(ParseError::max_depth(at));
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
        next_token(self.text, &mut self.at)
    }

    /// The error for the character here, which the grammar does not allow.
    #[cold]
    fn unexpected(&self, context: Context) -> ParseError {
        self.unexpected_at(self.at, context)
    }

    #[cold]
    fn unexpected_at(&self, at: usize, context: Context) -> ParseError {
        ParseError::unexpected(self.bytes, at, context)
    }
}

/// Skips blanks and looks at what follows.
#[inline]
fn next_token(text: &str, at: &mut usize) -> Option<u8> {
    loop {
        match text.as_bytes().get(*at) {
            Some(&byte) if byte > b' ' => return Some(byte),
            Some(b' ' | b'\n' | b'\r' | b'\t') => *at += 1,
            other => return other.copied(),
        }
    }
}

/// A string, by the short way where it is short.
#[inline]
fn small(text: &str) -> Str {
    if text.len() <= Str::INLINE_CAP { Str::new_inline(text) } else { Str::new(text) }
}

#[cfg(test)]
mod tests;
