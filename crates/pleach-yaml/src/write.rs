//! YAML writer, as `sigs.k8s.io/yaml` and `kubectl get -o yaml`.
//!
//! Block style, sequences not indented below their key, keys in natural order, lines folded at 80
//! columns. A string that would resolve to something else is quoted.
//!
//! Indentation is bounded: beyond [`DEEPEST`] columns flow style is used. So the text is at most about
//! a hundred times as long as the JSON, whatever the nesting, and a [`Writer`] makes it in pieces.

mod order;
mod scalar;
mod style;

use pleach_json::{Array, Map, Value, format_float};

use scalar::Emitter;

/// Collections that would be indented further than this are written in flow style.
pub const DEEPEST: usize = 128;
/// A longer key is written with a question mark, since readers limit the length of simple keys.
const LONGEST_FLOW_KEY: usize = 128;

/// The value as YAML text.
pub fn to_yaml(value: &Value) -> String {
    let mut out = String::with_capacity(256);
    write_to(value, &mut out);
    out
}

/// Appends the value as YAML text, which ends with a line break.
pub fn write_to(value: &Value, out: &mut String) {
    Writer::new(value.clone()).write(out, usize::MAX);
}

/// Appends the value as an item of a sequence in the first column.
pub fn write_item_to(value: &Value, out: &mut String) {
    Writer::new(Value::from(vec![value.clone()])).write(out, usize::MAX);
}

/// Writes a value as YAML text, in pieces.
pub struct Writer {
    /// The next scalar to write.
    scalar: Option<Value>,
    /// The open collections, outermost first.
    open: Vec<Frame>,
    column: usize,
}

/// The rest of an open collection.
struct Frame {
    content: Content,
    /// The item or member that comes next.
    next: usize,
    indent: usize,
    flow: bool,
}

enum Content {
    Sequence(Array),
    /// The members and their order.
    Mapping(Map, Vec<u32>),
}

impl Frame {
    /// A collection that is not empty.
    fn new(value: &Value, indent: usize) -> Option<Self> {
        let content = match value {
            Value::Object(map) if !map.is_empty() => {
                Content::Mapping(map.clone(), order::natural(map.entries()))
            }
            Value::Array(items) if !items.is_empty() => Content::Sequence(items.clone()),
            _ => return None,
        };
        Some(Self { content, next: 0, indent, flow: indent > DEEPEST })
    }

    /// The next item, or the next member with its key.
    fn next(&mut self) -> Option<(Option<&str>, &Value)> {
        let at = self.next;
        self.next += 1;
        match &self.content {
            Content::Sequence(items) => items.get(at).map(|item| (None, item)),
            Content::Mapping(map, order) => {
                let (key, value) = &map.entries()[*order.get(at)? as usize];
                Some((Some(key.as_str()), value))
            }
        }
    }
}

impl Writer {
    /// Nothing is written yet.
    pub fn new(value: Value) -> Self {
        match Frame::new(&value, 0) {
            Some(frame) => Self { scalar: None, open: vec![frame], column: 0 },
            None => Self { scalar: Some(value), open: Vec::new(), column: 0 },
        }
    }

    /// Appends text until there are `limit` bytes or it ends; whether there is more. Exceeds the limit
    /// by at most one scalar.
    pub fn write(&mut self, out: &mut String, limit: usize) -> bool {
        let mut emitter = Emitter::at(self.column, out);
        if let Some(scalar) = self.scalar.take() {
            leaf(&scalar, 2, &mut emitter);
        }
        while emitter.written() < limit {
            let Some(frame) = self.open.last_mut() else { break };
            let opened = if frame.flow { flow(frame, &mut emitter) } else { block(frame, &mut emitter) };
            match opened {
                Opened::Collection(frame) => self.open.push(frame),
                Opened::Nothing => {}
                Opened::End => {
                    let ended = self.open.pop();
                    // Flow ends where it began: behind a key or a dash of a block.
                    if ended.is_some_and(|ended| ended.flow)
                        && self.open.last().is_none_or(|below| !below.flow)
                    {
                        emitter.end_line();
                    }
                }
            }
        }
        self.column = emitter.column();
        !self.open.is_empty()
    }
}

/// The result of a step.
enum Opened {
    Collection(Frame),
    Nothing,
    End,
}

/// Writes the next entry of a collection in block style, standing where its first key or dash goes.
fn block(frame: &mut Frame, emitter: &mut Emitter<'_>) -> Opened {
    let (indent, is_first) = (frame.indent, frame.next == 0);
    let Some((key, value)) = frame.next() else { return Opened::End };
    if !is_first {
        emitter.indent(indent);
    }
    // Where a collection starts, and whether on a line of its own.
    let (inside, own_line) = match key {
        None => {
            emitter.put("-");
            (indent + 2, false)
        }
        Some(key) if style::is_simple_key(key) => {
            emitter.key(key);
            emitter.put(":");
            (if matches!(value, Value::Array(_)) { indent } else { indent + 2 }, true)
        }
        Some(key) => {
            emitter.put("? ");
            emitter.text(key, indent + 2);
            emitter.end_line();
            emitter.indent(indent);
            emitter.put(":");
            (indent + 2, false)
        }
    };
    match Frame::new(value, inside) {
        Some(frame) => {
            if own_line && !frame.flow {
                emitter.end_line();
                emitter.indent(inside);
            } else {
                emitter.put(" ");
            }
            Opened::Collection(frame)
        }
        None => {
            emitter.put(" ");
            leaf(value, indent + 2, emitter);
            Opened::Nothing
        }
    }
}

/// Writes the next entry of a collection in flow style.
fn flow(frame: &mut Frame, emitter: &mut Emitter<'_>) -> Opened {
    let is_first = frame.next == 0;
    let brackets = match frame.content {
        Content::Sequence(_) => ["[", "]"],
        Content::Mapping(..) => ["{", "}"],
    };
    let indent = frame.indent;
    let Some((key, value)) = frame.next() else {
        emitter.put(brackets[1]);
        return Opened::End;
    };
    emitter.put(if is_first { brackets[0] } else { ", " });
    if let Some(key) = key {
        if key.len() > LONGEST_FLOW_KEY {
            emitter.put("? ");
        }
        emitter.quoted(key);
        emitter.put(": ");
    }
    match Frame::new(value, indent) {
        Some(frame) => return Opened::Collection(Frame { flow: true, ..frame }),
        None => match value {
            Value::String(text) => emitter.quoted(text),
            scalar => plain(scalar, emitter),
        },
    }
    Opened::Nothing
}

/// Writes what fits after a colon or a dash, and ends the line.
fn leaf(value: &Value, indent: usize, emitter: &mut Emitter<'_>) {
    match value {
        Value::String(text) => emitter.text(text, indent),
        scalar => plain(scalar, emitter),
    }
    emitter.end_line();
}

fn plain(value: &Value, emitter: &mut Emitter<'_>) {
    match value {
        Value::Null | Value::String(_) => emitter.put("null"),
        Value::Bool(true) => emitter.put("true"),
        Value::Bool(false) => emitter.put("false"),
        Value::Int(int) => emitter.put(&int.to_string()),
        Value::Float(float) => emitter.put(&float_text(*float)),
        Value::Array(_) => emitter.put("[]"),
        Value::Object(_) => emitter.put("{}"),
    }
}

/// A float after conversion through JSON: integers up to 64 bits stay integers.
fn float_text(float: f64) -> String {
    let json = format_float(float);
    if let Ok(int) = json.parse::<i64>() {
        return int.to_string();
    }
    if json.parse::<u64>().is_ok() {
        return json;
    }
    crate::go::short_float(float)
}
