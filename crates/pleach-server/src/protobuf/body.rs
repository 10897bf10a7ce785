//! Request bodies in protobuf: what Go clients send for built-in kinds unless told otherwise.
//!
//! A body is turned into the same object that its JSON would be, and goes the same way from there.
//! Custom kinds have no protobuf form, and neither have CRDs here. Messages are described by the
//! tables of [`super::messages`]; fields that are not there are skipped.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pleach_json::{Map, Value};
use pleach_meta::time::Timestamp;

use super::messages::{Field, Message, Shape, message};

/// The object in a body; `None` if it is no message of a kind that is known here.
pub(crate) fn object(body: &[u8]) -> Option<Value> {
    let mut envelope = Reader(body.strip_prefix(super::MAGIC.as_slice())?);
    let (mut api_version, mut kind, mut raw): (&str, &str, &[u8]) = ("", "", &[]);
    while let Some((number, wire)) = envelope.field()? {
        match (number, wire) {
            (1, Wire::Bytes(bytes)) => {
                let mut type_meta = Reader(bytes);
                while let Some((number, wire)) = type_meta.field()? {
                    match (number, wire) {
                        (1, Wire::Bytes(text)) => api_version = std::str::from_utf8(text).ok()?,
                        (2, Wire::Bytes(text)) => kind = std::str::from_utf8(text).ok()?,
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let mut object = decode(raw, message(api_version, kind)?)?;
    object.insert("apiVersion", api_version);
    object.insert("kind", kind);
    Some(object.into())
}

/// A field's content on the wire.
enum Wire<'a> {
    Varint(u64),
    Bytes(&'a [u8]),
    Other,
}

/// Reads a message; `None` from its methods means that the bytes are no message.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn take(&mut self, length: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(taken)
    }

    /// The next field's number and content; `Some(None)` at the end.
    #[expect(clippy::option_option, reason = "malformed, at the end, and a field are three things")]
    fn field(&mut self) -> Option<Option<(u64, Wire<'a>)>> {
        if self.0.is_empty() {
            return Some(None);
        }
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => self.take(8).map(|_| Wire::Other)?,
            2 => {
                let length = self.varint()?;
                Wire::Bytes(self.take(length)?)
            }
            5 => self.take(4).map(|_| Wire::Other)?,
            _ => return None,
        };
        Some(Some((tag >> 3, wire)))
    }
}

/// Reads a message by its table. Tables nest to a fixed depth, and so does this.
fn decode(bytes: &[u8], message: Message) -> Option<Map> {
    let mut out = Map::new();
    let mut reader = Reader(bytes);
    while let Some((number, wire)) = reader.field()? {
        if let Some(field) = message.iter().find(|field| field.number == number) {
            insert(&mut out, field, &wire)?;
        }
    }
    Some(out)
}

/// Go writes every plain field, empty or not; its JSON leaves the empty ones out.
fn insert(out: &mut Map, field: &Field, wire: &Wire<'_>) -> Option<()> {
    let value = match (field.shape, wire) {
        (Shape::Text | Shape::Bytes, Wire::Bytes([])) | (Shape::Int, Wire::Varint(0)) => return Some(()),
        (Shape::Text | Shape::TextPointer, Wire::Bytes(bytes)) => text(bytes)?,
        (Shape::Int | Shape::IntPointer, Wire::Varint(value)) => (*value as i64).into(),
        (Shape::Bool, Wire::Varint(value)) => (*value != 0).into(),
        (Shape::Time, Wire::Bytes(bytes)) => match time(bytes)? {
            Some(time) => time.to_rfc3339().into(),
            None => return Some(()),
        },
        (Shape::MicroTime, Wire::Bytes(bytes)) => match time(bytes)? {
            Some(time) => time.to_rfc3339_micro().into(),
            None => return Some(()),
        },
        (Shape::Bytes, Wire::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        (Shape::One(message), Wire::Bytes(bytes)) => decode(bytes, message)?.into(),
        (Shape::Inline(message), Wire::Bytes(bytes)) => {
            out.merge(decode(bytes, message)?.into_vec());
            return Some(());
        }
        (Shape::FieldsV1, Wire::Bytes(bytes)) => fields_v1(bytes)?,
        (Shape::Texts, Wire::Bytes(bytes)) => return push(out, field.name, text(bytes)?),
        (Shape::Many(message), Wire::Bytes(bytes)) => {
            return push(out, field.name, decode(bytes, message)?.into());
        }
        (Shape::TextByKey, Wire::Bytes(bytes)) => return entry(out, field.name, bytes, text),
        (Shape::BytesByKey, Wire::Bytes(bytes)) => {
            return entry(out, field.name, bytes, |bytes| Some(STANDARD.encode(bytes).into()));
        }
        _ => return None,
    };
    out.insert(field.name, value);
    Some(())
}

fn text(bytes: &[u8]) -> Option<Value> {
    std::str::from_utf8(bytes).ok().map(Value::from)
}

fn push(out: &mut Map, name: &str, item: Value) -> Option<()> {
    match out.get_or_insert_with(name, || Value::from(Vec::<Value>::new())) {
        Value::Array(items) => items.push(item),
        _ => return None,
    }
    Some(())
}

/// One entry of a map: a message of a key and a value.
fn entry(out: &mut Map, name: &str, bytes: &[u8], value: impl Fn(&[u8]) -> Option<Value>) -> Option<()> {
    let (mut key, mut content): (&[u8], &[u8]) = (&[], &[]);
    let mut reader = Reader(bytes);
    while let Some((number, wire)) = reader.field()? {
        match (number, wire) {
            (1, Wire::Bytes(bytes)) => key = bytes,
            (2, Wire::Bytes(bytes)) => content = bytes,
            _ => {}
        }
    }
    match out.get_or_insert_with(name, Value::object) {
        Value::Object(members) => members.insert(std::str::from_utf8(key).ok()?, value(content)?),
        _ => return None,
    };
    Some(())
}

/// A time of seconds and nanoseconds; a message without fields is no time.
#[expect(clippy::option_option, reason = "malformed, absent, and a time are three things")]
fn time(bytes: &[u8]) -> Option<Option<Timestamp>> {
    let (mut seconds, mut nanos) = (None, 0);
    let mut reader = Reader(bytes);
    while let Some((number, wire)) = reader.field()? {
        match (number, wire) {
            (1, Wire::Varint(value)) => seconds = Some(value as i64),
            (2, Wire::Varint(value)) => nanos = value as u32,
            _ => {}
        }
    }
    match seconds {
        // Later than the year 9999: no text says that.
        Some(seconds) if !(-62_135_596_800..=253_402_300_799).contains(&seconds) => None,
        seconds => Some(seconds.map(|seconds| Timestamp { seconds, nanos: nanos % 1_000_000_000 })),
    }
}

/// A set of fields travels as its JSON.
fn fields_v1(bytes: &[u8]) -> Option<Value> {
    let mut reader = Reader(bytes);
    let mut out = Value::object();
    while let Some((number, wire)) = reader.field()? {
        if let (1, Wire::Bytes(json)) = (number, wire) {
            out = pleach_json::parse(json).ok()?;
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protobuf::{bytes_field, envelope, int_field};

    fn nested(number: u64, parts: &[Vec<u8>]) -> Vec<u8> {
        let mut out = Vec::new();
        bytes_field(&mut out, number, &parts.concat());
        out
    }

    fn field(number: u64, text: &str) -> Vec<u8> {
        nested(number, &[text.as_bytes().to_vec()])
    }

    fn number(number: u64, value: i64) -> Vec<u8> {
        let mut out = Vec::new();
        int_field(&mut out, number, value);
        out
    }

    #[test]
    fn objects_are_what_their_json_would_be() {
        let time = nested(8, &[number(1, 1_700_000_000), number(2, 0)]);
        let metadata = nested(
            1,
            &[field(1, "a"), field(2, ""), nested(8, &[]), nested(11, &[field(1, "k"), field(2, "")])],
        );
        let dated = nested(1, &[field(1, "a"), time, field(14, "x"), field(14, "y")]);
        let micro = nested(4, &[number(1, 1_700_000_000), number(2, 5000)]);
        let service = nested(1, &[field(1, ""), number(4, 444)]);
        let rule = nested(3, &[field(1, "*"), nested(2, &[field(1, "g"), field(1, "h"), field(4, "*")])]);
        let webhook =
            nested(2, &[field(1, "a"), nested(2, &[service, field(2, "ABC")]), rule, nested(11, &[])]);
        let cases = [
            (
                "empty text and absent times are left out, empty values of maps are not",
                envelope("v1", "ConfigMap", &[metadata, nested(2, &[field(1, "d"), field(2, "e")])].concat()),
                r#"{"apiVersion":"v1","data":{"d":"e"},"kind":"ConfigMap","metadata":{"labels":{"k":""},"name":"a"}}"#,
            ),
            (
                "bytes are base64, repeated fields are lists",
                envelope("v1", "Secret", &[dated, nested(2, &[field(1, "d"), field(2, "e")])].concat()),
                r#"{"apiVersion":"v1","data":{"d":"ZQ=="},"kind":"Secret","metadata":{"creationTimestamp":"2023-11-14T22:13:20Z","finalizers":["x","y"],"name":"a"}}"#,
            ),
            (
                "pointers to nothing are kept",
                envelope("coordination.k8s.io/v1", "Lease", &nested(2, &[field(1, ""), micro, number(5, 0)])),
                r#"{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","spec":{"holderIdentity":"","leaseTransitions":0,"renewTime":"2023-11-14T22:13:20.000005Z"}}"#,
            ),
            (
                "messages within messages, some of which JSON does not tell apart",
                envelope("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", &webhook),
                r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration","webhooks":[{"clientConfig":{"caBundle":"QUJD","service":{"port":444}},"name":"a","objectSelector":{},"rules":[{"apiGroups":["g","h"],"operations":["*"],"scope":"*"}]}]}"#,
            ),
        ];
        for (why, body, expected) in cases {
            let found = object(&body).map(|object| pleach_json::to_string(&object));
            assert_eq!(found.as_deref(), Some(expected), "{why}");
        }
    }

    #[test]
    fn what_is_no_known_message_is_refused() {
        let whole = envelope("v1", "ConfigMap", &nested(1, &[field(1, "a")]));
        assert!(object(&whole).is_some());
        for length in 4..whole.len() {
            // A cut may end between two fields; it must never be a panic.
            let _ = object(&whole[..length]);
        }
        let cases: [(&str, Vec<u8>); 4] = [
            ("no magic", b"{}".to_vec()),
            ("another kind", envelope("v1", "Pod", b"")),
            ("text that is not UTF-8", envelope("v1", "ConfigMap", &nested(1, &[nested(1, &[vec![0xff]])]))),
            ("a length beyond the end", envelope("v1", "ConfigMap", &[0x0a, 0x7f])),
        ];
        for (why, body) in cases {
            assert_eq!(object(&body), None, "{why}");
        }
    }
}
