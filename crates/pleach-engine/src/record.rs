//! The bytes of a stored object.
//!
//! A record is a fixed header and the object's JSON with `metadata.resourceVersion` left out, since
//! the store assigns it at commit. The header says where in the JSON the resource version belongs
//! and under which schema the object is known to be settled, so that a read of an unchanged object
//! is a copy with a few digits put in, and never a parse:
//!
//! ```text
//! 0        format, 1
//! 1..9     fingerprint of the version and schema under which reading changes nothing; 0 for none
//! 9..13    offset in the JSON at which `"resourceVersion":"…",` is put in; 0 if it has no place. The
//!          highest bit says that the object has no owner and is not being deleted
//! 13..     JSON
//! ```
//!
//! **Invariant:** the JSON is in the storage version and its keys are sorted.

use std::cell::RefCell;

use bytes::Bytes;
use pleach_json::{
    Hints, InternedObjects, Map, SpannedValue, Spans, Value, write_spanned, write_to, write_with,
};
use pleach_store::Revision;

use crate::rejection::Rejection;

const FORMAT: u8 = 1;
const HEADER: usize = 13;
/// A flag in the offset: the object has no owner references and is not being deleted.
const NO_OWNERS_NOT_DELETING: u32 = 1 << 31;

/// How much of the buffer for encoding a thread keeps.
const SCRATCH_KEPT: usize = 64 * 1024;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A stored object, not yet parsed. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Record {
    bytes: Bytes,
    /// The revision that wrote it, which is its resource version.
    pub revision: Revision,
}

impl Record {
    /// Reads the header. Fails on a value that this program did not write.
    pub fn open(bytes: Bytes, revision: Revision) -> Result<Self, Rejection> {
        match bytes.first() {
            Some(&FORMAT) if bytes.len() > HEADER => Ok(Self { bytes, revision }),
            Some(_) if bytes.starts_with(b"k8s:enc:") => Err(unreadable(
                revision,
                "stored object is encrypted, and no provider of --encryption-provider-config decrypts it"
                    .to_owned(),
            )),
            Some(other) if *other != FORMAT => Err(unreadable(
                revision,
                format!("stored object has format {other}, this server reads {FORMAT}"),
            )),
            _ => Err(unreadable(revision, "stored object is cut short".to_owned())),
        }
    }

    /// The same stored object as of another revision: a deleted object carries its deletion's.
    #[must_use]
    pub fn at(&self, revision: Revision) -> Self {
        Self { bytes: self.bytes.clone(), revision }
    }

    /// The bytes with another fingerprint.
    pub fn with_fingerprint(&self, fingerprint: u64) -> Bytes {
        let mut bytes = self.bytes.to_vec();
        bytes[1..9].copy_from_slice(&fingerprint.to_le_bytes());
        bytes.into()
    }

    /// Under which version and schema it may be sent as it is.
    pub fn fingerprint(&self) -> u64 {
        self.bytes[1..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    fn offset(&self) -> u32 {
        self.bytes[9..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
    }

    /// Where the resource version belongs; 0 if it has no place or the offset is damaged.
    fn splice(&self) -> usize {
        let at = (self.offset() & !NO_OWNERS_NOT_DELETING) as usize;
        if at < self.json().len() { at } else { 0 }
    }

    /// Whether the object is known to have no owner references and not to be being deleted.
    pub(crate) fn has_no_owners_and_is_not_deleting(&self) -> bool {
        self.offset() & NO_OWNERS_NOT_DELETING != 0
    }

    /// Header and JSON.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The JSON without the resource version.
    pub fn json(&self) -> &[u8] {
        &self.bytes[HEADER..]
    }

    /// Whether the JSON can be sent by putting the resource version in.
    pub fn is_sendable(&self, fingerprint: u64) -> bool {
        self.splice() != 0 && fingerprint != 0 && self.fingerprint() == fingerprint
    }

    /// The JSON in three parts: before the resource version, the member itself, and the rest.
    pub fn pieces(&self) -> (Bytes, String, Bytes) {
        let at = HEADER + self.splice();
        let member = format!("\"resourceVersion\":\"{}\",", self.revision);
        (self.bytes.slice(HEADER..at), member, self.bytes.slice(at..))
    }

    /// Appends the JSON with the resource version in it.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        let json = self.json();
        let (head, tail) = json.split_at(self.splice());
        let revision = self.revision.to_string();
        let member = [&b"\"resourceVersion\":\""[..], revision.as_bytes(), b"\","];
        // One byte more, for the end of line that follows an object.
        out.reserve(json.len() + member.iter().map(|part| part.len()).sum::<usize>() + 1);
        out.extend_from_slice(head);
        member.iter().for_each(|part| out.extend_from_slice(part));
        out.extend_from_slice(tail);
    }

    /// Parses the object and sets its resource version.
    pub fn parse(&self) -> Result<Value, Rejection> {
        self.parse_with(Hints::default())
    }

    /// The same with hints for the parser.
    pub fn parse_with(&self, hints: Hints<'_>) -> Result<Value, Rejection> {
        let mut value = self.parse_unversioned(hints)?;
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion", self.revision.to_string());
        }
        Ok(value)
    }

    /// Parses the object as it is stored, without a resource version.
    pub(crate) fn parse_unversioned(&self, hints: Hints<'_>) -> Result<Value, Rejection> {
        pleach_json::parse_with(self.json(), hints)
            .map_err(|e| unreadable(self.revision, format!("stored object cannot be parsed: {e}")))
    }
}

fn unreadable(revision: Revision, why: String) -> Rejection {
    Rejection::Unreadable { key: String::new(), revision: revision.0, why }
}

/// Encodes an object for the store. `object` must be in the storage version; its resource version is
/// left out of the bytes. The text of `interned` objects in it is copied.
pub fn encode(object: &mut Value, fingerprint: u64, interned: &InternedObjects) -> Bytes {
    encode_with(object, fingerprint, None, Writer::new(interned)).0
}

/// The same for an object whose managed fields are given as text.
pub(crate) fn encode_new(object: &mut Value, fingerprint: u64, managed: &[u8]) -> Bytes {
    let nothing = InternedObjects::default();
    encode_with(object, fingerprint, None, Writer { managed: Some(managed), ..Writer::new(&nothing) }).0
}

/// The same with the spans of the object's containers in the record. The text of containers shared with `earlier`
/// is copied.
pub(crate) fn encode_spanned(
    object: &mut Value,
    fingerprint: u64,
    interned: &InternedObjects,
    earlier: Option<SpannedValue<'_>>,
) -> (Bytes, Spans) {
    let writer = Writer { spans: Some(Spans::default()), ..Writer::new(interned) };
    let (bytes, writer) = encode_with(object, fingerprint, earlier, writer);
    debug_assert_eq!(
        bytes,
        encode(object, fingerprint, &InternedObjects::default()),
        "copied text is what would be written"
    );
    (bytes, writer.spans.unwrap_or_default())
}

fn encode_with<'a>(
    object: &mut Value,
    fingerprint: u64,
    earlier: Option<SpannedValue<'_>>,
    mut writer: Writer<'a>,
) -> (Bytes, Writer<'a>) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
        metadata.remove("selfLink");
    }
    // Records live long: they get exactly the memory they need, and the buffer is used again.
    SCRATCH.with_borrow_mut(|out| {
        out.clear();
        out.push(FORMAT);
        out.extend_from_slice(&fingerprint.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        writer.object(object, earlier, out);
        debug_assert!(
            writer.managed.is_none(),
            "name or uid come after managedFields, and every object has one"
        );
        let splice = writer.gap.map_or(0, |gap| gap - HEADER) as u32;
        let offset = if writer.has_owners_or_is_deleting { splice } else { splice | NO_OWNERS_NOT_DELETING };
        out[9..13].copy_from_slice(&offset.to_le_bytes());
        let record = Bytes::copy_from_slice(out);
        out.shrink_to(SCRATCH_KEPT);
        (record, writer)
    })
}

/// Writes an object and finds the place of its resource version: before the first metadata key that
/// sorts after it. There is always one, `uid`.
struct Writer<'a> {
    interned: &'a InternedObjects,
    /// The spans so far, if requested.
    spans: Option<Spans>,
    /// Managed fields as text, until they are written.
    managed: Option<&'a [u8]>,
    gap: Option<usize>,
    /// Whether the object has owners or is being deleted.
    has_owners_or_is_deleting: bool,
}

impl<'a> Writer<'a> {
    fn new(interned: &'a InternedObjects) -> Self {
        Self { interned, spans: None, managed: None, gap: None, has_owners_or_is_deleting: false }
    }
}

impl Writer<'_> {
    fn object(&mut self, object: &Value, earlier: Option<SpannedValue<'_>>, out: &mut Vec<u8>) {
        let Value::Object(members) = object else { return write_to(object, out) };
        self.members(
            members,
            earlier,
            out,
            |_, _, _| {},
            |this, key, value, earlier, out| match value {
                Value::Object(metadata) if key == "metadata" => {
                    this.members(
                        metadata,
                        earlier,
                        out,
                        Self::before_metadata,
                        |this, _, value, earlier, out| {
                            this.value(value, earlier, out);
                        },
                    );
                }
                value => this.value(value, earlier, out),
            },
        );
    }

    /// Writes the members of metadata that sort before a member and are not in the object.
    fn before_metadata(&mut self, key: &str, out: &mut Vec<u8>) {
        if key > "managedFields"
            && let Some(managed) = self.managed.take()
        {
            out.extend_from_slice(b"\"managedFields\":");
            out.extend_from_slice(managed);
            out.push(b',');
        }
        self.has_owners_or_is_deleting |= matches!(key, "ownerReferences" | "deletionTimestamp");
        if self.gap.is_none() && key > "resourceVersion" {
            self.gap = Some(out.len());
        }
    }

    fn value(&mut self, value: &Value, earlier: Option<SpannedValue<'_>>, out: &mut Vec<u8>) {
        match &mut self.spans {
            Some(spans) => write_spanned(value, earlier, self.interned, spans, out),
            None => write_with(value, self.interned, out),
        }
    }

    /// Writes members of which some may be left out.
    fn members<'e>(
        &mut self,
        members: &Map,
        earlier: Option<SpannedValue<'e>>,
        out: &mut Vec<u8>,
        before: impl Fn(&mut Self, &str, &mut Vec<u8>),
        write: impl Fn(&mut Self, &str, &Value, Option<SpannedValue<'e>>, &mut Vec<u8>),
    ) {
        let mut children = earlier.map(SpannedValue::children);
        if let Some(spans) = &mut self.spans {
            spans.begin(out.len());
        }
        out.push(b'{');
        for (i, (key, value)) in members.entries().iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            before(self, key, out);
            pleach_json::write_string(key, out);
            out.push(b':');
            let part = children.as_mut().and_then(|children| children.member(i, key));
            write(self, key, value, part, out);
        }
        out.push(b'}');
        if let Some(spans) = &mut self.spans {
            spans.end(out.len(), false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(json: &str, fingerprint: u64) -> Record {
        let mut value = pleach_json::parse(json.as_bytes()).unwrap();
        Record::open(encode(&mut value, fingerprint, &InternedObjects::default()), Revision(42)).unwrap()
    }

    #[test]
    fn the_spliced_bytes_parse_to_the_object() {
        let record = record(
            r#"{"apiVersion":"a/v1","kind":"Foo","metadata":{"name":"x","resourceVersion":"7","uid":"u"},"spec":{"a":1}}"#,
            9,
        );
        let mut sent = Vec::new();
        record.write_to(&mut sent);
        assert_eq!(
            String::from_utf8(sent.clone()).unwrap(),
            r#"{"apiVersion":"a/v1","kind":"Foo","metadata":{"name":"x","resourceVersion":"42","uid":"u"},"spec":{"a":1}}"#
        );
        assert_eq!(pleach_json::parse(&sent).unwrap(), record.parse().unwrap());
        assert!(record.is_sendable(9));
        assert!(!record.is_sendable(8));
        let (head, member, tail) = record.pieces();
        assert_eq!([&head[..], member.as_bytes(), &tail[..]].concat(), sent);
    }

    #[test]
    fn managed_fields_given_as_text_are_spliced_in() {
        let whole = r#"{"kind":"Foo","metadata":{"labels":{},"managedFields":[{"manager":"m"}],"name":"x","uid":"u"},"spec":{"metadata":{"name":1}}}"#;
        let mut without = pleach_json::parse(whole.as_bytes()).unwrap();
        without.get_mut("metadata").and_then(Value::as_object_mut).unwrap().remove("managedFields");
        let record =
            Record::open(encode_new(&mut without, 9, br#"[{"manager":"m"}]"#), Revision(42)).unwrap();
        assert_eq!(record.json(), whole.as_bytes());
        let mut sent = Vec::new();
        record.write_to(&mut sent);
        assert_eq!(pleach_json::parse(&sent).unwrap(), record.parse().unwrap());
    }

    #[test]
    fn the_header_flags_objects_without_owners_and_deletion() {
        for (metadata, flagged) in [
            (r#"{"name":"x","uid":"u"}"#, true),
            (r#"{"name":"x","ownerReferences":[],"uid":"u"}"#, false),
            (r#"{"deletionTimestamp":"t","name":"x","uid":"u"}"#, false),
            (r#"{"annotations":{"ownerReferences":"x"},"name":"x","uid":"u"}"#, true),
        ] {
            let record = record(&format!(r#"{{"metadata":{metadata},"spec":{{"ownerReferences":[]}}}}"#), 9);
            assert_eq!(record.has_no_owners_and_is_not_deleting(), flagged, "{metadata}");
            assert!(record.is_sendable(9));
        }
    }

    #[test]
    fn without_a_place_for_the_resource_version_a_record_is_parsed() {
        let record = record(r#"{"metadata":{"name":"x"}}"#, 9);
        assert!(!record.is_sendable(9));
        assert_eq!(record.parse().unwrap().at(&["metadata", "resourceVersion"]), Some(&"42".into()));
    }

    #[test]
    fn foreign_bytes_are_refused() {
        for bytes in [&b"{}"[..], b"", b"\x01", &[1; 13]] {
            let opened = Record::open(Bytes::from_static(bytes), Revision(1));
            assert!(matches!(opened, Err(Rejection::Unreadable { .. })), "{bytes:?}");
        }
    }

    #[test]
    fn damaged_records_do_not_panic() {
        let good = record(r#"{"kind":"Foo","metadata":{"name":"x","uid":"u"}}"#, 9).bytes().to_vec();
        for at in 0..good.len() {
            for change in [0, 1, 0x7f, 0xff] {
                let mut bytes = good.clone();
                bytes[at] ^= change;
                for bytes in [bytes.clone(), bytes[..at].to_vec()] {
                    let Ok(record) = Record::open(bytes.into(), Revision(1)) else { continue };
                    let _ = (record.parse(), record.pieces(), record.fingerprint(), record.is_sendable(9));
                    record.write_to(&mut Vec::new());
                }
            }
        }
    }
}
