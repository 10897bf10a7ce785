//! From a message to the object that its JSON would be, by the tables of [`super::messages`].
//!
//! Fields that are not in the table are skipped. A message that comes in several parts is read as if they were one,
//! which is what merging them means; every byte is looked at once on its level. Levels count as levels of JSON, of
//! which there may be as many as in JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pleach_go::time::Timestamp;
use pleach_json::{MAX_DEPTH, Map, Str, Value, grow_stack};
use smallvec::SmallVec;

use super::go_name::go_name;
use super::messages::{Field, FieldType, JSON_SCHEMA_PROPS, Message, Rule};
use super::wire::{Content, Reader, WireError, utf8, wrong_type};

/// Room for what is around an object, and for what conversion between versions puts around a schema.
const DEEPEST: usize = MAX_DEPTH - 100;

/// Below this, every whole number is itself in a double.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// Copying so many bytes of a text costs as much as reading a field.
const BYTES_PER_STEP: u64 = 64;
/// The steps that a message is charged: an empty one is two bytes, and takes some hundred and fifty in memory.
const MESSAGE_STEPS: u64 = 100;
/// The steps that an entry of a map is charged, for the same reason.
pub(super) const ENTRY_STEPS: u64 = 60;

/// The times that text can say, as Go's JSON can.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// Most fields come in one part.
type Parts<'a> = SmallVec<[&'a [u8]; 1]>;

/// Reads a message.
pub(crate) fn read(bytes: &[u8], message: &'static Message) -> Result<Map, WireError> {
    members(&[bytes], message, 0)
}

fn members(parts: &[&[u8]], message: &'static Message, depth: usize) -> Result<Map, WireError> {
    if depth > DEEPEST {
        return Err("exceeded max depth".into());
    }
    pleach_work::charge(MESSAGE_STEPS);
    grow_stack(|| {
        let mut found = Found { out: Map::new(), messages: SmallVec::new(), maps: SmallVec::new() };
        for part in parts {
            let mut reader = Reader(part);
            let mut steps = 0;
            while let Some((number, content)) = reader.field()? {
                steps += 1;
                if let Some(field) = find(message, number) {
                    if let (FieldType::Text | FieldType::Bytes, Content::Bytes(bytes)) = (field.kind, content)
                    {
                        steps += bytes.len() as u64 / BYTES_PER_STEP;
                    }
                    found.take(field, content, depth)?;
                }
            }
            pleach_work::charge(steps);
        }
        found.finish(depth)
    })
}

fn find(message: &'static Message, number: u32) -> Option<&'static Field> {
    let fields = message.fields();
    // Most messages have no gaps.
    match fields.get(number as usize - 1) {
        Some(field) if field.number == number => Some(field),
        _ => fields.binary_search_by_key(&number, |field| field.number).ok().map(|at| &fields[at]),
    }
}

type Entries = Vec<(Str, Value)>;

/// The fields of a message that were read so far.
struct Found<'a> {
    out: Map,
    /// Messages that are there once, in as many parts as they came.
    messages: SmallVec<[(&'static Field, &'a [u8]); 4]>,
    maps: SmallVec<[(&'static Field, Entries); 2]>,
}

impl<'a> Found<'a> {
    fn take(&mut self, field: &'static Field, content: Content<'a>, depth: usize) -> Result<(), WireError> {
        match (field.rule, content) {
            (Rule::Many, Content::Bytes(bytes)) => {
                let item = value(field.kind, &[bytes], depth + 2)?.unwrap_or_default();
                let items = self.out.get_or_insert_with(field.name, || Value::from(Vec::<Value>::new()));
                if let Value::Array(items) = items {
                    items.push(item);
                }
            }
            (Rule::Many, Content::Varint(number))
                if matches!(field.kind, FieldType::Int | FieldType::Bool) =>
            {
                let items = self.out.get_or_insert_with(field.name, || Value::from(Vec::<Value>::new()));
                if let Value::Array(items) = items {
                    let is_bool = matches!(field.kind, FieldType::Bool);
                    items.push(if is_bool { (number != 0).into() } else { Value::from(number as i64) });
                }
            }
            (Rule::Map, Content::Bytes(bytes)) => {
                let entry = entry(field.kind, bytes, depth + 2)?;
                match self.maps.iter_mut().find(|(known, _)| known.number == field.number) {
                    Some((_, entries)) => entries.push(entry),
                    None => self.maps.push((field, vec![entry])),
                }
            }
            (Rule::Many | Rule::Map, content) => return Err(wrong_type(&content, go_name(field.name))),
            (Rule::Plain | Rule::Pointer | Rule::Inline, content) => self.once(field, content)?,
        }
        Ok(())
    }

    /// A field that is there once: of scalars the last one counts.
    fn once(&mut self, field: &'static Field, content: Content<'a>) -> Result<(), WireError> {
        let pointer = field.rule == Rule::Pointer;
        let value: Option<Value> = match (field.kind, content) {
            (FieldType::Text, Content::Bytes(bytes)) => {
                (pointer || !bytes.is_empty()).then(|| utf8(bytes).map(Value::from)).transpose()?
            }
            (FieldType::Bytes, Content::Bytes(bytes)) => {
                (pointer || !bytes.is_empty()).then(|| STANDARD.encode(bytes).into())
            }
            (FieldType::Int, Content::Varint(value)) => {
                (pointer || value != 0).then(|| Value::from(value as i64))
            }
            (FieldType::Bool, Content::Varint(value)) => {
                (pointer || value != 0).then(|| Value::from(value != 0))
            }
            (FieldType::Double, Content::Fixed64(bits)) => {
                let value = f64::from_bits(bits);
                if !value.is_finite() {
                    return Err(format!("json: unsupported value: {value}"));
                }
                // JSON has no point in a whole number.
                let is_whole = value.fract() == 0.0 && value.abs() < WHOLE;
                let value = if is_whole { Value::from(value as i64) } else { value.into() };
                (pointer || value != Value::from(0)).then_some(value)
            }
            (
                FieldType::Text | FieldType::Bytes | FieldType::Int | FieldType::Bool | FieldType::Double,
                content,
            ) => return Err(wrong_type(&content, go_name(field.name))),
            (_, Content::Bytes(bytes)) => {
                self.messages.push((field, bytes));
                return Ok(());
            }
            (_, content) => return Err(wrong_type(&content, go_name(field.name))),
        };
        match value {
            Some(value) => self.out.insert(field.name, value),
            None => self.out.remove(field.name),
        };
        Ok(())
    }

    fn finish(mut self, depth: usize) -> Result<Map, WireError> {
        for (field, entries) in self.maps {
            self.out.insert(field.name, Map::from(entries));
        }
        // Parts of one message stay in their order.
        self.messages.sort_by_key(|(field, _)| field.number);
        for parts in self.messages.chunk_by(|(a, _), (b, _)| a.number == b.number) {
            let field = parts[0].0;
            let parts: Parts<'_> = parts.iter().map(|(_, bytes)| *bytes).collect();
            match (field.rule, field.kind) {
                (Rule::Inline, FieldType::Message(message)) => {
                    self.out.merge(members(&parts, message, depth)?.into_vec());
                }
                _ => {
                    if let Some(value) = value(field.kind, &parts, depth + 1)? {
                        self.out.insert(field.name, value);
                    }
                }
            }
        }
        Ok(self.out)
    }
}

/// One entry of a map.
fn entry(kind: FieldType, bytes: &[u8], depth: usize) -> Result<(Str, Value), WireError> {
    let mut key = "";
    let mut parts = Parts::new();
    let mut reader = Reader(bytes);
    let mut steps = ENTRY_STEPS + bytes.len() as u64 / BYTES_PER_STEP;
    while let Some((number, content)) = reader.field()? {
        steps += 1;
        match (number, content) {
            (1, Content::Bytes(bytes)) => key = utf8(bytes)?,
            (2, Content::Bytes(bytes)) if matches!(kind, FieldType::Text | FieldType::Bytes) => {
                parts.clear();
                parts.push(bytes);
            }
            (2, Content::Bytes(bytes)) => parts.push(bytes),
            (1 | 2, content) => return Err(wrong_type(&content, "MapEntry")),
            _ => {}
        }
    }
    pleach_work::charge(steps);
    if parts.is_empty() {
        parts.push(&[]);
    }
    Ok((key.into(), value(kind, &parts, depth)?.unwrap_or_default()))
}

/// The value of a field of bytes; `None` if it is empty.
fn value(kind: FieldType, parts: &[&[u8]], depth: usize) -> Result<Option<Value>, WireError> {
    let last = parts.last().copied().unwrap_or_default();
    Ok(Some(match kind {
        FieldType::Text => utf8(last)?.into(),
        FieldType::Bytes => STANDARD.encode(last).into(),
        FieldType::Message(message) => members(parts, message, depth)?.into(),
        FieldType::Time => return Ok(time(parts)?.map(|time| time.to_rfc3339().into())),
        FieldType::MicroTime => return Ok(time(parts)?.map(|time| time.to_rfc3339_micro().into())),
        FieldType::Json => return json(parts, depth),
        FieldType::Quantity => {
            let mut text = "";
            each(parts, |number, content| match (number, content) {
                (1, Content::Bytes(bytes)) => {
                    text = utf8(bytes)?;
                    Ok(())
                }
                (1, content) => Err(wrong_type(&content, "String")),
                _ => Ok(()),
            })?;
            if text.is_empty() { "0".into() } else { text.into() }
        }
        FieldType::IntOrString => {
            let (mut is_text, mut number, mut text) = (false, 0, "");
            each(parts, |field, content| {
                match (field, content) {
                    (1, Content::Varint(value)) => is_text = value == 1,
                    (2, Content::Varint(value)) => number = i64::from(value as i32),
                    (3, Content::Bytes(bytes)) => text = utf8(bytes)?,
                    (1, content) => return Err(wrong_type(&content, "Type")),
                    (2, content) => return Err(wrong_type(&content, "IntVal")),
                    (3, content) => return Err(wrong_type(&content, "StrVal")),
                    _ => {}
                }
                Ok(())
            })?;
            if is_text { text.into() } else { number.into() }
        }
        FieldType::TextList => {
            let mut items = Vec::new();
            each(parts, |number, content| match (number, content) {
                (1, Content::Bytes(bytes)) => {
                    items.push(Value::from(utf8(bytes)?));
                    Ok(())
                }
                (1, content) => Err(wrong_type(&content, "Items")),
                _ => Ok(()),
            })?;
            items.into()
        }
        FieldType::SchemaOrBool => match schema_or(parts, "Allows", depth)? {
            (Some(schema), _) => schema,
            (None, others) => matches!(others.last(), Some(Content::Varint(1..))).into(),
        },
        FieldType::SchemaOrList => match schema_or(parts, "JSONSchemas", depth)? {
            (schema, others) if others.is_empty() => return Ok(schema),
            (_, others) => {
                let schemas = others.iter().map(|content| match content {
                    Content::Bytes(bytes) => Ok(members(&[bytes], *JSON_SCHEMA_PROPS, depth + 1)?.into()),
                    content => Err(wrong_type(content, "JSONSchemas")),
                });
                schemas.collect::<Result<Vec<Value>, WireError>>()?.into()
            }
        },
        FieldType::SchemaOrTexts => match schema_or(parts, "Property", depth)? {
            (Some(schema), others) if others.is_empty() => schema,
            (_, others) => {
                let texts = others.iter().map(|content| match content {
                    Content::Bytes(bytes) => utf8(bytes).map(Value::from),
                    content => Err(wrong_type(content, "Property")),
                });
                texts.collect::<Result<Vec<Value>, WireError>>()?.into()
            }
        },
        // These are no bytes; a list of them would be.
        FieldType::Int | FieldType::Bool | FieldType::Double => return Ok(None),
    }))
}

fn each<'a>(
    parts: &[&'a [u8]],
    mut take: impl FnMut(u32, Content<'a>) -> Result<(), WireError>,
) -> Result<(), WireError> {
    for part in parts {
        let mut reader = Reader(part);
        let mut steps = 0;
        while let Some((number, content)) = reader.field()? {
            steps += 1;
            take(number, content)?;
        }
        pleach_work::charge(steps);
    }
    Ok(())
}

/// A schema or something else: the schema, and the content of the other field. In `SchemaOrBool` the schema has
/// number 2, in all others 1.
fn schema_or<'a>(
    parts: &[&'a [u8]],
    other: &str,
    depth: usize,
) -> Result<(Option<Value>, Vec<Content<'a>>), WireError> {
    let schema = if other == "Allows" { 2 } else { 1 };
    let mut schemas = Parts::new();
    let mut others = Vec::new();
    each(parts, |number, content| {
        match (number, content) {
            (number, Content::Bytes(bytes)) if number == schema => schemas.push(bytes),
            (number, content) if number == schema => return Err(wrong_type(&content, "Schema")),
            (1, Content::Varint(_)) | (2, _) => others.push(content),
            (1, content) => return Err(wrong_type(&content, other)),
            _ => {}
        }
        Ok(())
    })?;
    let schema =
        if schemas.is_empty() { None } else { Some(members(&schemas, *JSON_SCHEMA_PROPS, depth)?.into()) };
    Ok((schema, others))
}

/// A time of seconds and nanoseconds; a message without fields is no time.
fn time(parts: &[&[u8]]) -> Result<Option<Timestamp>, WireError> {
    if parts.iter().all(|part| part.is_empty()) {
        return Ok(None);
    }
    let (mut seconds, mut nanos) = (0, 0);
    each(parts, |number, content| {
        match (number, content) {
            (1, Content::Varint(value)) => seconds = value as i64,
            (2, Content::Varint(value)) => nanos = value as u32,
            (1, content) => return Err(wrong_type(&content, "Seconds")),
            (2, content) => return Err(wrong_type(&content, "Nanos")),
            _ => {}
        }
        Ok(())
    })?;
    if !SECONDS.contains(&seconds) {
        return Err("Time.MarshalJSON: year outside of range [0,9999]".into());
    }
    let time = Timestamp { seconds, nanos: nanos % 1_000_000_000 };
    Ok(if time.is_zero() { None } else { Some(time) })
}

/// A value as its JSON text; `null` and no text are none.
fn json(parts: &[&[u8]], depth: usize) -> Result<Option<Value>, WireError> {
    let mut raw: &[u8] = &[];
    each(parts, |number, content| {
        match (number, content) {
            (1, Content::Bytes(bytes)) => raw = bytes,
            (1, content) => return Err(wrong_type(&content, "Raw")),
            _ => {}
        }
        Ok(())
    })?;
    if raw.is_empty() {
        return Ok(None);
    }
    let value = pleach_json::parse(raw).map_err(|error| error.to_string())?;
    // A text is at most half as deep as it is long.
    let left = DEEPEST.saturating_sub(depth);
    if raw.len() / 2 > left && !is_shallow(&value, left) {
        return Err("exceeded max depth".into());
    }
    Ok(if value.is_null() { None } else { Some(value) })
}

fn is_shallow(value: &Value, levels: usize) -> bool {
    let Some(left) = levels.checked_sub(1) else { return !value.is_container() };
    grow_stack(|| match value {
        Value::Array(items) => items.iter().all(|item| is_shallow(item, left)),
        Value::Object(members) => members.values().all(|member| is_shallow(member, left)),
        _ => true,
    })
}
