//! The entries of `metadata.managedFields`, as the tracker works on them.
//!
//! The same owners as [`ManagedFields`](crate::ManagedFields) has, but their fields stay in the form
//! they are stored in: fields that a write does not touch are passed on unchanged.

use std::collections::HashMap;
use std::ops::Range;

use pleach_json::{Array, Map, Str, Value};
use pleach_work::charge;

use crate::encoded::Encoded;
use crate::managed_fields::{Identity, Operation};

/// Up to this many owners are looked through one by one.
const FEW: usize = 16;

/// The member of an entry that holds its field set.
const FIELDS: &str = "fieldsV1";

/// An owner and its fields.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) identity: Identity,
    /// The version the paths are in.
    pub(crate) api_version: Str,
    pub(crate) time: Option<Str>,
    pub(crate) fields: Encoded,
}

/// All entries, each identity at most once, in no order that matters.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries(pub(crate) Vec<Entry>);

impl Entries {
    /// Reads `metadata.managedFields`.
    pub(crate) fn decode(entries: Value) -> Result<Self, String> {
        Self::decode_with(entries, Encoded::read)
    }

    /// Reads what [`Self::encode`] wrote.
    pub(crate) fn decode_own(entries: Value) -> Result<Self, String> {
        Self::decode_with(entries, Encoded::read_own)
    }

    fn decode_with(entries: Value, fields: fn(Value) -> Result<Encoded, String>) -> Result<Self, String> {
        let entries = match entries {
            Value::Null => return Ok(Self::default()),
            Value::Array(entries) => entries,
            _ => return Err("managedFields must be a list".to_owned()),
        };
        let mut out = Self(Vec::with_capacity(entries.len()));
        // Where owners are, if there are too many to look through.
        let mut places = (entries.len() > FEW).then(|| HashMap::with_capacity(entries.len()));
        charge(4 * entries.len() as u64);
        for (i, entry) in entries.into_iter().enumerate() {
            let entry = Entry::decode(i, entry, fields)?;
            let known = match &mut places {
                Some(places) => {
                    let place = *places.entry(entry.identity.clone()).or_insert(out.0.len());
                    Some(place).filter(|place| *place < out.0.len())
                }
                None => out.position(&entry.identity),
            };
            // Of equal identities the last one counts.
            match known {
                Some(at) => out.0[at] = entry,
                None => out.0.push(entry),
            }
        }
        Ok(out)
    }

    /// Writes `metadata.managedFields`; null without entries.
    pub(crate) fn encode(mut self) -> Value {
        if self.0.is_empty() {
            return Value::Null;
        }
        self.0.sort_by(|a, b| {
            let (x, y) = (&a.identity, &b.identity);
            (x.operation.cmp(&y.operation))
                .then_with(|| a.time.cmp(&b.time))
                .then_with(|| x.manager.as_str().cmp(y.manager.as_str()))
                .then_with(|| a.api_version.as_str().cmp(b.api_version.as_str()))
                .then_with(|| x.subresource.as_str().cmp(y.subresource.as_str()))
        });
        self.0.into_iter().map(|entry| entry.encode().into()).collect::<Array>().into()
    }

    /// Where an owner is.
    pub(crate) fn position(&self, identity: &Identity) -> Option<usize> {
        self.0.iter().position(|entry| entry.identity == *identity)
    }
}

impl Entry {
    fn decode(
        index: usize,
        entry: Value,
        read: fn(Value) -> Result<Encoded, String>,
    ) -> Result<Self, String> {
        let [mut operation, mut api_version, mut fields_type, mut manager, mut subresource] =
            [const { Str::new_static("") }; 5];
        let (mut time, mut fields) = (None, Value::Null);
        if let Value::Object(members) = entry {
            for (key, value) in members {
                match (key.as_str(), value) {
                    ("apiVersion", Value::String(text)) => api_version = text,
                    ("fieldsType", Value::String(text)) => fields_type = text,
                    (FIELDS, value) => fields = value,
                    ("manager", Value::String(text)) => manager = text,
                    ("operation", Value::String(text)) => operation = text,
                    ("subresource", Value::String(text)) => subresource = text,
                    ("time", Value::String(text)) => time = Some(text),
                    _ => {}
                }
            }
        }
        let operation = match operation.as_str() {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return Err("operation must be `Apply` or `Update`".to_owned()),
        };
        if api_version.is_empty() {
            return Err("apiVersion must not be empty".to_owned());
        }
        match fields_type.as_str() {
            "FieldsV1" => {}
            "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
            other => {
                let other = pleach_go::strconv::quote(other);
                return Err(format!("invalid fieldsType {other} in managed fields entry {index}"));
            }
        }
        let fields = read(fields).map_err(|error| format!("error decoding set: {error}"))?;
        let identity = Identity {
            manager,
            operation,
            api_version: match operation {
                Operation::Apply => Str::default(),
                Operation::Update => api_version.clone(),
            },
            subresource,
        };
        Ok(Self { identity, api_version, time, fields })
    }

    /// Appends the entry as JSON, with fields that `fields` writes. Returns their range.
    pub(crate) fn write(self, out: &mut Vec<u8>, fields: impl FnOnce(&mut Vec<u8>)) -> Range<usize> {
        let (mut fields, mut place) = (Some(fields), 0..0);
        let mut separator = b'{';
        for (key, value) in self.encode().entries() {
            out.push(std::mem::replace(&mut separator, b','));
            pleach_json::write_string(key, out);
            out.push(b':');
            match fields.take_if(|_| key == FIELDS) {
                Some(write) => {
                    let start = out.len();
                    write(out);
                    place = start..out.len();
                }
                None => pleach_json::write_to(value, out),
            }
        }
        out.push(b'}');
        place
    }

    fn encode(self) -> Map {
        let Identity { manager, operation, subresource, .. } = self.identity;
        let mut members: Vec<(Str, Value)> = Vec::with_capacity(7);
        // In key order.
        members.push((Str::new_static("apiVersion"), self.api_version.into()));
        members.push((Str::new_static("fieldsType"), Str::new_static("FieldsV1").into()));
        members.push((Str::new_static(FIELDS), self.fields.into_value()));
        if !manager.is_empty() {
            members.push((Str::new_static("manager"), manager.into()));
        }
        members.push((Str::new_static("operation"), Str::new_static(operation.as_str()).into()));
        if !subresource.is_empty() {
            members.push((Str::new_static("subresource"), subresource.into()));
        }
        if let Some(time) = self.time {
            members.push((Str::new_static("time"), time.into()));
        }
        Map::from_sorted(members)
    }
}
