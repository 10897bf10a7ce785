//! Messages by hand, random objects there and back, hostile bytes.

use pleach_json::{Map, Value, json, parse, to_string};

use super::messages::{Field, FieldType, Message, Rule, kinds, message};
use super::read::ENTRY_STEPS;
use super::wire::Writer;
use super::*;

/// Parts of a message, in the order in which they are sent.
fn concat(parts: &[Vec<u8>]) -> Vec<u8> {
    parts.concat()
}

fn nested(number: u32, parts: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Writer::default();
    out.bytes(number, &concat(parts));
    out.finish()
}

fn text(number: u32, text: &str) -> Vec<u8> {
    nested(number, &[text.as_bytes().to_vec()])
}

fn int(number: u32, value: i64) -> Vec<u8> {
    let mut out = Writer::default();
    out.int(number, value);
    out.finish()
}

fn envelope(api_version: &str, kind: &str, parts: &[Vec<u8>]) -> Vec<u8> {
    let unknown = [nested(1, &[text(1, api_version), text(2, kind)]), nested(2, parts)];
    [MAGIC.to_vec(), concat(&unknown)].concat()
}

/// The JSON of a body of the kind it says it is.
fn read(api_version: &str, kind: &str, parts: &[Vec<u8>]) -> Result<String, Unreadable> {
    object(&envelope(api_version, kind, parts), api_version, kind).map(|object| to_string(&object))
}

#[test]
fn objects_are_what_their_json_would_be() {
    let metadata =
        nested(1, &[text(1, "a"), text(2, ""), nested(8, &[]), nested(11, &[text(1, "k"), text(2, "")])]);
    let dated = nested(1, &[text(1, "a"), nested(8, &[int(1, 1_700_000_000)]), text(14, "x"), text(14, "y")]);
    let micro = nested(4, &[int(1, 1_700_000_000), int(2, 5000)]);
    let service = nested(1, &[text(1, ""), int(4, 444)]);
    let rule = nested(3, &[text(1, "*"), nested(2, &[text(1, "g"), text(1, "h"), text(4, "*")])]);
    let webhook = nested(2, &[text(1, "a"), nested(2, &[service, text(2, "ABC")]), rule, nested(11, &[])]);
    let entry = nested(2, &[text(1, "d"), text(2, "e")]);
    let cases = [
        (
            "empty text and absent times are left out, empty values of maps are not",
            read("v1", "ConfigMap", &[metadata, entry.clone()]),
            r#"{"apiVersion":"v1","data":{"d":"e"},"kind":"ConfigMap","metadata":{"labels":{"k":""},"name":"a"}}"#,
        ),
        (
            "bytes are base64, repeated fields are lists",
            read("v1", "Secret", &[dated, entry]),
            r#"{"apiVersion":"v1","data":{"d":"ZQ=="},"kind":"Secret","metadata":{"creationTimestamp":"2023-11-14T22:13:20Z","finalizers":["x","y"],"name":"a"}}"#,
        ),
        (
            "pointers to nothing are kept",
            read("coordination.k8s.io/v1", "Lease", &[nested(2, &[text(1, ""), micro, int(5, 0)])]),
            r#"{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","spec":{"holderIdentity":"","leaseTransitions":0,"renewTime":"2023-11-14T22:13:20.000005Z"}}"#,
        ),
        (
            "messages within messages, some of which JSON does not tell apart",
            read("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", &[webhook]),
            r#"{"apiVersion":"admissionregistration.k8s.io/v1","kind":"MutatingWebhookConfiguration","webhooks":[{"clientConfig":{"caBundle":"QUJD","service":{"port":444}},"name":"a","objectSelector":{},"rules":[{"apiGroups":["g","h"],"operations":["*"],"scope":"*"}]}]}"#,
        ),
        (
            "a message in two parts is one, of scalars the last counts, of entries the last of a key",
            read(
                "v1",
                "ConfigMap",
                &[
                    nested(1, &[text(1, "a"), nested(11, &[text(1, "k"), text(2, "1")]), text(14, "x")]),
                    nested(1, &[text(1, "b"), nested(11, &[text(1, "k"), text(2, "2")]), text(14, "y")]),
                    int(4, 1),
                    int(4, 0),
                ],
            ),
            r#"{"apiVersion":"v1","immutable":false,"kind":"ConfigMap","metadata":{"finalizers":["x","y"],"labels":{"k":"2"},"name":"b"}}"#,
        ),
        (
            "fields that a message does not have are skipped, groups and all",
            read(
                "v1",
                "ConfigMap",
                &[
                    vec![0xf3, 0x01, 0x08, 0x01, 0xf4, 0x01],
                    text(99, "x"),
                    nested(1, &[text(1, "a"), int(99, 1)]),
                ],
            ),
            r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}"#,
        ),
    ];
    for (why, found, expected) in cases {
        assert_eq!(found.as_deref(), Ok(expected), "{why}");
    }
}

#[test]
fn bytes_that_are_no_message_of_the_kind_are_refused() {
    let body = |text: &str| Unreadable::Body(text.to_owned());
    let inside = |text: &str| Unreadable::Object(text.to_owned());
    let whole = envelope("v1", "ConfigMap", &[nested(1, &[text(1, "a")])]);
    let junk = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
    let cases = [
        ("nothing", Vec::new(), body("empty data")),
        ("no magic", b"{}".to_vec(), body(junk)),
        ("only magic", MAGIC.to_vec(), body("empty body")),
        ("an envelope that is cut off", whole[..whole.len() - 1].to_vec(), body("unexpected EOF")),
        (
            "a length beyond the end",
            envelope("v1", "ConfigMap", &[vec![0x0a, 0x7f]]),
            inside("unexpected EOF"),
        ),
        (
            "another type",
            envelope("v1", "ConfigMap", &[int(1, 1)]),
            inside("proto: wrong wireType = 0 for field ObjectMeta"),
        ),
        (
            "text that is not UTF-8",
            envelope("v1", "ConfigMap", &[nested(1, &[nested(1, &[vec![0xff]])])]),
            inside("proto: string field contains invalid UTF-8"),
        ),
    ];
    for (why, bytes, expected) in cases {
        assert_eq!(object(&bytes, "v1", "ConfigMap"), Err(expected), "{why}");
    }
    let other = object(&envelope("v1", "Pod", &[vec![0xff]]), "v1", "ConfigMap").unwrap();
    assert_eq!(other, json!({"apiVersion": "v1", "kind": "Pod"}), "another kind is refused for what it is");
    let custom = object(&whole, "example.com/v1", "");
    assert!(
        matches!(custom, Err(Unreadable::Object(_))),
        "custom resources have no protobuf form: {custom:?}"
    );
}

/// The bytes of a CRD whose schema is inside so many others.
fn nested_schema(levels: usize) -> Vec<u8> {
    let mut out = Writer::default();
    out.bytes(5, b"string");
    for _ in 0..levels {
        out.close(28, 0);
    }
    for number in [1, 4, 7, 2] {
        out.close(number, 0);
    }
    let spec = out.finish();
    envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", &[spec])
}

#[test]
fn depth_is_bounded() {
    let read = |bytes: &[u8]| object(bytes, "apiextensions.k8s.io/v1", "CustomResourceDefinition");
    let deep = read(&nested_schema(9_000)).unwrap();
    let again = read(&encode(&deep).unwrap()).unwrap();
    let versions = |object: &Value| object.at(&["spec", "versions"]).cloned();
    assert!(versions(&deep).is_some() && versions(&deep) == versions(&again));
    assert!(parse(&pleach_json::to_vec(&deep)).is_ok(), "what is taken can be read when it is stored");
    let error = Err(Unreadable::Object("exceeded max depth".into()));
    assert_eq!(read(&nested_schema(10_000)), error);
    assert_eq!(read(&nested_schema(300_000)), error);
    // JSON within a message counts too.
    let raw = "[".repeat(9_990) + &"]".repeat(9_990);
    let default = nested(1, &[nested(8, &[text(1, &raw)])]);
    let body = envelope(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        &[nested(2, &[nested(7, &[nested(4, &[default])])])],
    );
    assert_eq!(read(&body), error);
}

/// A generator of numbers that does not change between runs.
struct Dice(u64);

/// Whether a field is there even when it is empty.
fn is_always_there(field: &Field) -> bool {
    let part = matches!(field.kind, FieldType::Message(_) | FieldType::Quantity | FieldType::IntOrString);
    field.rule == Rule::Plain && part || field.rule == Rule::Inline
}

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn text(&mut self) -> String {
        const TEXTS: [&str; 6] =
            ["a", "b c", "é", "\u{1f600}\n", "{\"a\":1}", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"];
        TEXTS[self.below(6) as usize].to_owned()
    }

    fn json(&mut self, depth: u64) -> Value {
        match self.below(if depth == 0 { 4 } else { 6 }) {
            0 => Value::from(self.next() as i64),
            1 => Value::from(self.below(1000) as f64 / 8.0 + 0.5),
            2 => Value::from(true),
            3 => Value::from(self.text()),
            4 => Value::from((0..self.below(3)).map(|_| self.json(depth - 1)).collect::<Vec<_>>()),
            _ => {
                (0..self.below(3)).map(|_| (self.text().into(), self.json(depth - 1))).collect::<Map>().into()
            }
        }
    }

    /// A value of a type, not empty unless that means something.
    fn value(&mut self, kind: FieldType, rule: Rule, depth: u64) -> Value {
        let pointer = rule != Rule::Plain;
        match kind {
            FieldType::Text if pointer && self.below(4) == 0 => "".into(),
            FieldType::Text => self.text().into(),
            FieldType::Int if pointer && self.below(4) == 0 => 0.into(),
            FieldType::Int => Value::from((self.next() >> self.below(63)) as i64 | 1),
            FieldType::Bool => Value::from(!pointer || self.below(2) == 0),
            FieldType::Double => Value::from(self.below(1000) as f64 / 8.0 - 40.0),
            FieldType::Bytes => ["QUJD", "/w==", "AAEC"][self.below(3) as usize].into(),
            FieldType::Time => {
                ["2023-11-14T22:13:20Z", "1969-12-31T23:59:59Z"][self.below(2) as usize].into()
            }
            FieldType::MicroTime => {
                ["2023-11-14T22:13:20.000005Z", "1970-01-01T00:00:00.000000Z"][self.below(2) as usize].into()
            }
            FieldType::Message(message) => self.object(message, depth).into(),
            FieldType::Quantity => ["0", "500m", "1Gi"][self.below(3) as usize].into(),
            FieldType::IntOrString if self.below(2) == 0 => self.text().into(),
            FieldType::IntOrString => Value::from(self.below(70_000) as i64),
            FieldType::Json => self.json(3),
            FieldType::TextList => vec![Value::from(self.text()), Value::from("")].into(),
            FieldType::SchemaOrBool if self.below(2) == 0 => Value::from(self.below(2) == 0),
            FieldType::SchemaOrList if self.below(2) == 0 => {
                vec![self.schema(depth), self.schema(depth)].into()
            }
            FieldType::SchemaOrTexts if self.below(2) == 0 => vec![Value::from(self.text())].into(),
            FieldType::SchemaOrBool | FieldType::SchemaOrList | FieldType::SchemaOrTexts => {
                self.schema(depth)
            }
        }
    }

    fn schema(&mut self, depth: u64) -> Value {
        self.object(*super::messages::JSON_SCHEMA_PROPS, depth).into()
    }

    fn object(&mut self, message: &'static Message, depth: u64) -> Map {
        let mut out = Map::new();
        for field in message.fields() {
            let always = is_always_there(field);
            if always || self.below(3) != 0 {
                self.member(&mut out, field, depth);
            }
        }
        out
    }

    fn member(&mut self, out: &mut Map, field: &Field, depth: u64) {
        let is_scalar = matches!(field.kind, FieldType::Text | FieldType::Int | FieldType::Bool);
        let is_part = is_always_there(field);
        let Some(depth) = depth.checked_sub(1).or((is_scalar || is_part).then_some(0)) else { return };
        let value = match (field.rule, field.kind) {
            (Rule::Inline, FieldType::Message(inner)) => {
                out.merge(self.object(inner, depth).into_vec());
                return;
            }
            (Rule::Many, kind) => {
                (0..=self.below(2)).map(|_| self.value(kind, field.rule, depth)).collect::<Vec<_>>().into()
            }
            (Rule::Map, kind) => (0..=self.below(2))
                .map(|_| (self.text().into(), self.value(kind, field.rule, depth)))
                .collect::<Map>()
                .into(),
            (_, kind) => self.value(kind, field.rule, depth),
        };
        out.insert(field.name, value);
    }
}

#[test]
fn every_kind_survives_the_way_there_and_back() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for (api_version, kind) in kinds() {
        let message = message(&api_version, kind).unwrap();
        for _ in 0..10 {
            let mut members = dice.object(message, 6);
            members.insert("apiVersion", api_version.as_str());
            members.insert("kind", kind);
            let value = Value::from(members);
            let bytes = encode(&value).unwrap();
            let again = object(&bytes, &api_version, kind).unwrap();
            assert_eq!(to_string(&again), to_string(&value), "{api_version} {kind}");
            assert!(encode(&again).unwrap() == bytes, "{value}");
        }
    }
}

#[test]
fn hostile_bytes_do_no_harm() {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    for (api_version, kind) in kinds() {
        let message = message(&api_version, kind).unwrap();
        for _ in 0..12 {
            let mut members = dice.object(message, 4);
            members.insert("apiVersion", api_version.as_str());
            members.insert("kind", kind);
            let mut bytes = encode(&members.into()).unwrap();
            for _ in 0..=dice.below(4) {
                let at = dice.below(bytes.len() as u64) as usize;
                match dice.below(4) {
                    0 => bytes.truncate(at.max(5)),
                    1 => bytes[at] = dice.next() as u8,
                    2 => bytes.insert(at, dice.next() as u8),
                    _ => drop(bytes.remove(at)),
                }
            }
            // Whatever it is, an object that is taken can be written and read again.
            if let Ok(value) = object(&bytes, &api_version, kind) {
                let json = to_string(&value);
                assert_eq!(to_string(&parse(json.as_bytes()).unwrap()), json);
                let _ = encode(&value);
            }
            let _ = delete_options(&bytes);
        }
    }
}

#[test]
fn work_and_memory_follow_the_size_of_the_body() {
    // Each would be quadratic if parts or entries were put in one by one.
    let count = 20_000;
    let labels: Vec<Vec<u8>> =
        (0..count).rev().map(|i| nested(11, &[text(1, &format!("{i:06}")), text(2, "v")])).collect();
    let parts: Vec<Vec<u8>> = labels.iter().map(|label| nested(1, std::slice::from_ref(label))).collect();
    for (why, body) in
        [("entries in descending order", vec![nested(1, &labels)]), ("metadata in parts", parts)]
    {
        let body = envelope("v1", "ConfigMap", &body);
        let (value, steps) = pleach_work::measure(|| object(&body, "v1", "ConfigMap").unwrap());
        assert_eq!(value.at(&["metadata", "labels"]).and_then(Value::as_object).map(Map::len), Some(count));
        assert!(steps >= count as u64 && steps <= (8 + ENTRY_STEPS) * count as u64, "{why}: {steps} steps");
    }
}

#[test]
fn bytes_are_those_of_the_real_thing() {
    // As kube-apiserver v1.36.4 answered.
    let status = Status::failure(406, pleach_meta::Reason::NotAcceptable, "no");
    let recorded = b"k8s\0\x0a\x0c\x0a\x02v1\x12\x06Status\x12\x27\x0a\x06\x0a\0\x12\0\x1a\0\x12\x07Failure\x1a\x02no\"\x0dNotAcceptable0\x96\x03\x1a\0\"\0";
    assert_eq!(super::status(&status, None).escape_ascii().to_string(), recorded.escape_ascii().to_string());
}

#[test]
fn frames_have_their_length() {
    let frame = event("ADDED", b"xyz");
    assert_eq!(frame, b"\0\0\0\x0e\x0a\x05ADDED\x12\x05\x0a\x03xyz");
}
