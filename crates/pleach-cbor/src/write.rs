//! From a value to CBOR.

use minicbor::Encoder;
use minicbor::data::Tag;
use pleach_json::{Value, grow_stack};

/// The tag of self-described CBOR.
pub(super) const SELF_DESCRIBED: u64 = 55_799;

type Out<'v> = Encoder<&'v mut Vec<u8>>;

/// A value as one item, with the tag of self-described CBOR before it.
pub fn write(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1024);
    let mut out = Encoder::new(&mut bytes);
    infallible(out.tag(Tag::new(SELF_DESCRIBED)));
    item(value, &mut out);
    bytes
}

/// An event of a watch: one item of a sequence.
pub fn event(event_type: &str, object: &Value) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1024);
    let mut out = Encoder::new(&mut bytes);
    infallible(out.tag(Tag::new(SELF_DESCRIBED)));
    infallible(out.map(2));
    infallible(out.bytes(b"type"));
    infallible(out.bytes(event_type.as_bytes()));
    infallible(out.bytes(b"object"));
    item(object, &mut out);
    bytes
}

fn item(value: &Value, out: &mut Out<'_>) {
    match value {
        Value::Null => infallible(out.null()),
        Value::Bool(value) => infallible(out.bool(*value)),
        Value::Int(value) => infallible(out.i64(*value)),
        Value::Float(value) => float(*value, out),
        Value::String(text) => infallible(out.bytes(text.as_bytes())),
        Value::Array(items) => grow_stack(|| {
            infallible(out.array(items.len() as u64));
            items.iter().for_each(|value| item(value, out));
        }),
        Value::Object(members) => grow_stack(|| {
            infallible(out.map(members.len() as u64));
            for (key, value) in members.iter() {
                infallible(out.bytes(key.as_bytes()));
                item(value, out);
            }
        }),
    }
}

/// A number in the shortest form that keeps it.
fn float(value: f64, out: &mut Out<'_>) {
    let single = value as f32;
    if f64::from(single) != value {
        return infallible(out.f64(value));
    }
    // Eleven bits of precision, between the smallest and the largest exponent of half of them.
    let fits = single == 0.0
        || (single.to_bits().trailing_zeros() >= 13 && (6.2e-5..=65_504.0).contains(&single.abs()));
    infallible(if fits { out.f16(single) } else { out.f32(single) });
}

/// Writing to memory does not fail.
fn infallible<T>(written: Result<T, minicbor::encode::Error<std::convert::Infallible>>) {
    debug_assert!(written.is_ok());
}
