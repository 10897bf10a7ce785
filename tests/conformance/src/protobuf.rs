//! Protobuf by field numbers, without knowing the types: bodies to send, and answers to compare.
//!
//! A body is `[[number, value], …]`; a value is a text, a number or boolean, `{"double": 1.5}`, `{"base64": "…"}` or
//! again such a list. An answer is `{"k8s": {"1": …, "2": …}}`; what is empty there counts as absent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

const MAGIC: &[u8] = b"k8s\0";

/// The media type.
pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value > 127 {
        out.push(value as u8 & 127 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The bytes of an envelope; `fill` puts captured values into texts.
pub fn envelope(fields: &Value, fill: &dyn Fn(&str) -> String) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    encode(&mut out, fields, fill);
    out
}

fn encode(out: &mut Vec<u8>, fields: &Value, fill: &dyn Fn(&str) -> String) {
    for field in fields.as_array().into_iter().flatten() {
        let number = field[0].as_u64().expect("a field has a number") << 3;
        let number_field = |out: &mut Vec<u8>, value: u64| {
            varint(out, number);
            varint(out, value);
        };
        let bytes = match &field[1] {
            Value::Bool(value) => {
                number_field(out, u64::from(*value));
                continue;
            }
            Value::Number(value) => {
                let value = value.as_i64().map(|value| value as u64).or(value.as_u64());
                number_field(out, value.expect("numbers of fields are whole"));
                continue;
            }
            Value::Object(special) => {
                if let Some(value) = special.get("double").and_then(Value::as_f64) {
                    varint(out, number | 1);
                    out.extend_from_slice(&value.to_le_bytes());
                    continue;
                }
                let base64 = special.get("base64").and_then(Value::as_str).expect("bytes are base64");
                STANDARD.decode(base64).expect("bytes are base64")
            }
            Value::String(text) => fill(text).into_bytes(),
            message => {
                let mut inner = Vec::new();
                encode(&mut inner, message, fill);
                inner
            }
        };
        varint(out, number | 2);
        varint(out, bytes.len() as u64);
        out.extend_from_slice(&bytes);
    }
}

fn read_varint(data: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = data.split_first()?;
        *data = rest;
        value |= u64::from(byte & 127) << shift;
        if *byte < 128 {
            return Some(value);
        }
    }
    None
}

/// A message by its field numbers; `None` if these bytes are none.
fn message(mut data: &[u8]) -> Option<Value> {
    let mut fields: Map<String, Value> = Map::new();
    while !data.is_empty() {
        let key = read_varint(&mut data)?;
        if key >> 3 == 0 {
            return None;
        }
        let value = match key & 7 {
            0 => json!(read_varint(&mut data)?),
            1 => {
                let (bytes, rest) = data.split_first_chunk()?;
                data = rest;
                json!(f64::from_le_bytes(*bytes))
            }
            2 => {
                let length = usize::try_from(read_varint(&mut data)?).ok()?;
                let (bytes, rest) = data.split_at_checked(length)?;
                data = rest;
                unwrap(bytes)
            }
            5 => {
                let (bytes, rest) = data.split_first_chunk()?;
                data = rest;
                json!(f32::from_le_bytes(*bytes))
            }
            _ => return None,
        };
        let values = fields.entry((key >> 3).to_string()).or_insert_with(|| json!([]));
        values.as_array_mut()?.push(value);
    }
    let compact = fields.into_iter().filter_map(|(number, values)| {
        let Value::Array(mut values) = values else { return None };
        sort_entries(&mut values);
        match values.len() {
            1 => Some(values.remove(0)).filter(|value| !is_empty(value)).map(|value| (number, value)),
            _ => Some((number, values.into())),
        }
    });
    Some(Value::Object(compact.collect()))
}

/// The entries of a map may come in any order.
fn sort_entries(values: &mut [Value]) {
    let is_entry = |value: &Value| {
        value.as_object().is_some_and(|entry| {
            entry.get("1").is_some_and(Value::is_string) && entry.keys().all(|key| key == "1" || key == "2")
        })
    };
    if values.iter().all(is_entry) && values.iter().any(|value| value.get("2").is_some()) {
        values.sort_by(|a, b| a["1"].as_str().cmp(&b["1"].as_str()));
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// Whether a recording shows the text as text: what Python prints without escapes.
fn is_printable(text: &str) -> bool {
    text.chars().all(|c| c == ' ' || !(c.is_control() || c.is_whitespace()))
}

/// Bytes as what they most likely are: an envelope, a text, a message, or just bytes.
pub fn unwrap(data: &[u8]) -> Value {
    let text = std::str::from_utf8(data).ok();
    if let Some(text) = text.filter(|text| is_printable(text)) {
        return text.into();
    }
    let found = match data.strip_prefix(MAGIC) {
        Some(unknown) => message(unknown).map(|message| json!({"k8s": message})),
        None => message(data),
    };
    found.unwrap_or_else(|| match text {
        Some(text) => text.into(),
        None => json!({"base64": STANDARD.encode(data)}),
    })
}

/// The events of a watch.
pub fn frames(mut data: &[u8]) -> Value {
    let mut out = Vec::new();
    while let Some((length, rest)) = data.split_first_chunk() {
        let (frame, rest) = rest.split_at(rest.len().min(u32::from_be_bytes(*length) as usize));
        out.push(unwrap(frame));
        data = rest;
    }
    json!({"frames": out})
}
