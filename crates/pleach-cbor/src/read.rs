//! From CBOR to a value, within the bounds of JSON.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use minicbor::Decoder;
use minicbor::data::Type;
use pleach_go::time::Timestamp;
use pleach_json::{MAX_DEPTH, Map, Str, Value, grow_stack};

/// Tags of texts that are written later in base64url, base64 and base16.
const BASE64_URL: u64 = 21;
const BASE64: u64 = 22;
const BASE16: u64 = 23;
/// Tags of integers of any size.
const BIG: std::ops::RangeInclusive<u64> = 2..=3;
/// The tag of a time as text.
const TIME: u64 = 0;
/// The tag of a time as a number.
const EPOCH: u64 = 1;
/// The times that text can say.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;
/// The steps that an item is charged: it may be a single byte, and takes some thirty in memory.
const STEPS_PER_ITEM: u64 = 30;
/// The steps that a map is charged beside: one of three bytes takes a hundred in memory.
const STEPS_PER_MAP: u64 = 40;
/// Copying so many bytes of a text costs as much as reading an item.
const BYTES_PER_STEP: u64 = 64;

/// Reads exactly one item.
pub fn read(bytes: &[u8]) -> Result<Value, String> {
    if bytes.is_empty() {
        return Err("EOF".into());
    }
    let mut reader = Reader { decoder: Decoder::new(bytes), bytes };
    let value = reader.item(0)?;
    let end = reader.decoder.position();
    if end < bytes.len() {
        let left = bytes.len() - end;
        return Err(format!("cbor: {left} bytes of extraneous data starting at index {end}"));
    }
    Ok(value)
}

struct Reader<'b> {
    decoder: Decoder<'b>,
    bytes: &'b [u8],
}

/// How a byte string is made a text.
#[derive(Clone, Copy)]
enum Text {
    Utf8,
    Base64Url,
    Base64,
    Base16,
}

impl Reader<'_> {
    fn item(&mut self, depth: usize) -> Result<Value, String> {
        if depth > MAX_DEPTH {
            return Err(format!("cbor: exceeded max nested level {MAX_DEPTH}"));
        }
        Ok(match self.kind()? {
            Type::Null => {
                self.decoder.null().map_err(error)?;
                Value::Null
            }
            Type::Bool => Value::Bool(self.decoder.bool().map_err(error)?),
            Type::U8
            | Type::U16
            | Type::U32
            | Type::U64
            | Type::I8
            | Type::I16
            | Type::I32
            | Type::I64
            | Type::Int => Value::Int(self.decoder.i64().map_err(error)?),
            Type::F16 => Value::Float(finite(f64::from(self.decoder.f16().map_err(error)?))?),
            Type::F32 => Value::Float(finite(f64::from(self.decoder.f32().map_err(error)?))?),
            Type::F64 => Value::Float(finite(self.decoder.f64().map_err(error)?)?),
            Type::Bytes | Type::BytesIndef | Type::String | Type::StringIndef => {
                Value::String(self.text(Text::Utf8)?)
            }
            Type::Array | Type::ArrayIndef => grow_stack(|| self.array(depth))?,
            Type::Map | Type::MapIndef => grow_stack(|| self.map(depth))?,
            Type::Tag => grow_stack(|| self.tagged(depth))?,
            other => return Err(format!("cbor: {other} is no JSON value")),
        })
    }

    fn kind(&self) -> Result<Type, String> {
        self.decoder.datatype().map_err(error)
    }

    fn array(&mut self, depth: usize) -> Result<Value, String> {
        let length = self.decoder.array().map_err(error)?;
        let mut items = Vec::with_capacity(self.room(length, 1)?);
        pleach_work::charge(1);
        while self.goes_on(length, items.len())? {
            pleach_work::charge(STEPS_PER_ITEM);
            items.push(self.item(depth + 1)?);
        }
        Ok(items.into())
    }

    fn map(&mut self, depth: usize) -> Result<Value, String> {
        let length = self.decoder.map().map_err(error)?;
        let mut members: Vec<(Str, Value)> = Vec::with_capacity(self.room(length, 2)?);
        pleach_work::charge(STEPS_PER_MAP);
        while self.goes_on(length, members.len())? {
            pleach_work::charge(STEPS_PER_ITEM);
            let key = self.key()?;
            members.push((key, self.item(depth + 1)?));
        }
        members.sort_by(|(a, _), (b, _)| a.cmp(b));
        if let Some(twice) = members.windows(2).find(|two| two[0].0 == two[1].0) {
            return Err(format!("cbor: found duplicate map key {:?}", twice[0].0.as_str()));
        }
        Ok(Map::from_sorted(members).into())
    }

    fn key(&mut self) -> Result<Str, String> {
        match self.kind()? {
            Type::Bytes | Type::BytesIndef | Type::String | Type::StringIndef => self.text(Text::Utf8),
            other => Err(format!("cbor: {other} is no map key")),
        }
    }

    /// An item with a tag. Tags that are not known say nothing about the value.
    fn tagged(&mut self, depth: usize) -> Result<Value, String> {
        let tag = self.decoder.tag().map_err(error)?;
        pleach_work::charge(1);
        let is_bytes = matches!(self.kind()?, Type::Bytes | Type::BytesIndef);
        let text = match tag.as_u64() {
            BASE64_URL => Text::Base64Url,
            BASE64 => Text::Base64,
            BASE16 => Text::Base16,
            tag if BIG.contains(&tag) => return Err("cbor: a bignum is no JSON value".into()),
            EPOCH => return self.time(),
            TIME if !matches!(
                self.kind()?,
                Type::Bytes | Type::BytesIndef | Type::String | Type::StringIndef
            ) =>
            {
                return Err("cbor: tag 0 is not followed by a text".into());
            }
            _ => return self.item(depth + 1),
        };
        if is_bytes { Ok(Value::String(self.text(text)?)) } else { self.item(depth + 1) }
    }

    /// Seconds since 1970, as text.
    fn time(&mut self) -> Result<Value, String> {
        // Only a number: tags in tags would be read without end.
        let is_number =
            !matches!(self.kind()?, Type::Tag | Type::Array | Type::ArrayIndef | Type::Map | Type::MapIndef);
        let seconds = match if is_number { self.item(MAX_DEPTH)? } else { Value::Null } {
            Value::Int(seconds) => seconds,
            Value::Float(seconds) if seconds.trunc() == seconds => seconds as i64,
            _ => return Err("cbor: tag 1 is not followed by a number of seconds".into()),
        };
        if !SECONDS.contains(&seconds) {
            return Err("cbor: the year is outside of range [0,9999]".into());
        }
        Ok(Timestamp::from_seconds(seconds).to_rfc3339().into())
    }

    fn text(&mut self, how: Text) -> Result<Str, String> {
        let bytes = match self.kind()? {
            Type::Bytes => std::borrow::Cow::Borrowed(self.decoder.bytes().map_err(error)?),
            Type::String => {
                let text = self.decoder.str().map_err(error)?;
                pleach_work::charge(1 + text.len() as u64 / BYTES_PER_STEP);
                return Ok(text.into());
            }
            Type::BytesIndef => {
                let mut all = Vec::new();
                for part in self.decoder.bytes_iter().map_err(error)? {
                    pleach_work::charge(1);
                    all.extend_from_slice(part.map_err(error)?);
                }
                all.into()
            }
            _ => {
                let mut all = Vec::new();
                for part in self.decoder.str_iter().map_err(error)? {
                    pleach_work::charge(1);
                    all.extend_from_slice(part.map_err(error)?.as_bytes());
                }
                all.into()
            }
        };
        pleach_work::charge(1 + bytes.len() as u64 / BYTES_PER_STEP);
        Ok(match how {
            Text::Utf8 => {
                std::str::from_utf8(&bytes).map_err(|_| "cbor: invalid UTF-8 string".to_owned())?.into()
            }
            Text::Base64Url => URL_SAFE_NO_PAD.encode(&bytes).into(),
            Text::Base64 => STANDARD.encode(&bytes).into(),
            Text::Base16 => {
                let digits =
                    |byte: &u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16));
                bytes.iter().flat_map(digits).flatten().collect::<String>().into()
            }
        })
    }

    /// How many items to make room for: each takes bytes, and there must be so many.
    fn room(&self, length: Option<u64>, each: u64) -> Result<usize, String> {
        let left = (self.bytes.len() - self.decoder.position()) as u64;
        match length {
            Some(length) if length > left / each => Err("unexpected EOF".into()),
            // A short body may be nested deeply: a list of thousands of items takes a few bytes per level.
            Some(length) => Ok(length.min(64) as usize),
            None => Ok(0),
        }
    }

    /// Whether another item follows; the end of a list without a length is passed.
    fn goes_on(&mut self, length: Option<u64>, have: usize) -> Result<bool, String> {
        match length {
            Some(length) => Ok((have as u64) < length),
            None if self.kind()? == Type::Break => {
                self.decoder.skip().map_err(error)?;
                Ok(false)
            }
            None => Ok(true),
        }
    }
}

fn finite(value: f64) -> Result<f64, String> {
    if value.is_finite() { Ok(value) } else { Err("cbor: floating-point NaN or infinity".into()) }
}

fn error(error: minicbor::decode::Error) -> String {
    if error.is_end_of_input() { "unexpected EOF".into() } else { format!("cbor: {error}") }
}
