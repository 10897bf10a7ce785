//! `metadata.managedFields`: who owns which fields.
//!
//! An owner is told by name, operation, subresource and, for updates only, the version written in:
//! whoever applies in another version is the same owner. A list that cannot be decoded has no owners;
//! callers decide what that means.

use pleach_json::{Array, Map, Str, Value};

use crate::fields_v1::{decode_fields, encode_fields};
use crate::set::Set;

/// How an owner came by its fields. Applies sort before updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// Any other write.
    Update,
}

impl Operation {
    /// As entries write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// Who an owner is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// The manager's name.
    pub manager: Str,
    /// Applied or updated.
    pub operation: Operation,
    /// The version updates were made in; empty for applies.
    pub api_version: Str,
    /// The subresource written to, or empty.
    pub subresource: Str,
}

impl Identity {
    /// An owner by apply.
    pub fn apply(manager: &str, subresource: &str) -> Self {
        Self {
            manager: manager.into(),
            operation: Operation::Apply,
            api_version: Str::default(),
            subresource: subresource.into(),
        }
    }

    /// An owner by update.
    pub fn update(manager: &str, api_version: &str, subresource: &str) -> Self {
        Self {
            manager: manager.into(),
            operation: Operation::Update,
            api_version: api_version.into(),
            subresource: subresource.into(),
        }
    }

    /// The text that owners are sorted by where nothing else tells.
    pub(crate) fn sort_key(&self) -> Vec<u8> {
        let mut out = vec![b'{'];
        let operation: Str = self.operation.as_str().into();
        for (name, value) in [
            ("manager", &self.manager),
            ("operation", &operation),
            ("apiVersion", &self.api_version),
            ("subresource", &self.subresource),
        ] {
            if !value.is_empty() {
                if out.len() > 1 {
                    out.push(b',');
                }
                pleach_json::write_string(name, &mut out);
                out.push(b':');
                pleach_json::write_string(value, &mut out);
            }
        }
        out.push(b'}');
        out
    }
}

/// An owner and its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Who.
    pub identity: Identity,
    /// The version the paths are in.
    pub api_version: Str,
    /// When the entry last changed; none if the object never did because of it.
    pub time: Option<Str>,
    /// What.
    pub fields: Set,
}

/// The owners of an object's fields, in no order that matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManagedFields {
    /// Each identity at most once.
    pub owners: Vec<Owner>,
}

impl ManagedFields {
    /// Reads `metadata.managedFields`.
    pub fn decode(entries: &Value) -> Result<Self, String> {
        let entries = match entries {
            Value::Null => return Ok(Self::default()),
            Value::Array(entries) => entries,
            _ => return Err("managedFields must be a list".to_owned()),
        };
        let mut out = Self { owners: Vec::with_capacity(entries.len()) };
        for (i, entry) in entries.iter().enumerate() {
            let owner = decode_owner(i, entry)?;
            // Of equal identities the last one counts.
            match out.position(&owner.identity) {
                Some(at) => out.owners[at] = owner,
                None => out.owners.push(owner),
            }
        }
        Ok(out)
    }

    /// Writes `metadata.managedFields`; null when nobody owns anything.
    pub fn encode(mut self) -> Value {
        if self.owners.is_empty() {
            return Value::Null;
        }
        self.owners.sort_by(|a, b| {
            let (x, y) = (&a.identity, &b.identity);
            (x.operation.cmp(&y.operation))
                .then_with(|| a.time.cmp(&b.time))
                .then_with(|| x.manager.as_str().cmp(y.manager.as_str()))
                .then_with(|| a.api_version.as_str().cmp(b.api_version.as_str()))
                .then_with(|| x.subresource.as_str().cmp(y.subresource.as_str()))
        });
        self.owners.iter().map(encode_owner).collect::<Array>().into()
    }

    /// Whether nobody owns anything.
    pub fn is_empty(&self) -> bool {
        self.owners.is_empty()
    }

    /// Where an owner is.
    pub(crate) fn position(&self, identity: &Identity) -> Option<usize> {
        self.owners.iter().position(|owner| owner.identity == *identity)
    }

    /// An owner.
    pub fn owner(&self, identity: &Identity) -> Option<&Owner> {
        self.position(identity).map(|at| &self.owners[at])
    }
}

fn decode_owner(index: usize, entry: &Value) -> Result<Owner, String> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let operation = match text("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err("operation must be `Apply` or `Update`".to_owned()),
    };
    let api_version = text("apiVersion");
    if api_version.is_empty() {
        return Err("apiVersion must not be empty".to_owned());
    }
    match text("fieldsType") {
        "FieldsV1" => {}
        "" => return Err(format!("missing fieldsType in managed fields entry {index}")),
        other => {
            let other = pleach_meta::go_format::quote(other);
            return Err(format!("invalid fieldsType {other} in managed fields entry {index}"));
        }
    }
    let fields = match entry.get("fieldsV1") {
        None | Some(Value::Null) => Set::new(),
        Some(fields) => decode_fields(fields).map_err(|error| format!("error decoding set: {error}"))?,
    };
    let identity = match operation {
        Operation::Apply => Identity::apply(text("manager"), text("subresource")),
        Operation::Update => Identity::update(text("manager"), api_version, text("subresource")),
    };
    let time = entry.get("time").and_then(Value::as_str).map(Str::from);
    Ok(Owner { identity, api_version: api_version.into(), time, fields })
}

fn encode_owner(owner: &Owner) -> Value {
    let mut members: Vec<(Str, Value)> = Vec::with_capacity(7);
    // In key order.
    members.push((Str::new_static("apiVersion"), owner.api_version.clone().into()));
    members.push((Str::new_static("fieldsType"), Str::new_static("FieldsV1").into()));
    members.push((Str::new_static("fieldsV1"), encode_fields(&owner.fields)));
    if !owner.identity.manager.is_empty() {
        members.push((Str::new_static("manager"), owner.identity.manager.clone().into()));
    }
    let operation = Str::new_static(owner.identity.operation.as_str());
    members.push((Str::new_static("operation"), operation.into()));
    if !owner.identity.subresource.is_empty() {
        members.push((Str::new_static("subresource"), owner.identity.subresource.clone().into()));
    }
    if let Some(time) = &owner.time {
        members.push((Str::new_static("time"), time.clone().into()));
    }
    Map::from(members).into()
}
