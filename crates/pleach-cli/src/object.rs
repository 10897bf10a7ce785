//! What the server does with an object of a defined kind: decode, settle, prepare, validate.
//!
//! The stages are the engine's libraries' in the order of a request; only what needs other objects
//! (namespaces, uniqueness) or a clock is left out. An object of a namespaced kind that names no
//! namespace is taken as if it were sent to `default`, as kubectl does.

use pleach_json::{Map, Value};
use pleach_meta::go_struct::Decoder;
use pleach_meta::object_meta::{
    NameRule, dedup_owner_references, finalizer_warnings, validate_object_meta, validate_object_meta_update,
};
use pleach_meta::{FieldError, ObjectMeta, Path};
use pleach_schema::{Record, SettleOptions, Settled, Write};

use crate::catalog::{DefinedVersion, Definition};

const METADATA: Path<'static> = Path::new("metadata");

/// An object as the server understands it.
#[derive(Debug)]
pub struct Decoded {
    /// The object: pruned, nulls dropped, coerced, defaulted.
    pub value: Value,
    /// The paths of unknown fields in the order the server reports them.
    pub unknown: Vec<String>,
    /// What settling did.
    pub settled: Settled,
}

/// Decodes and settles an object. The error is the server's.
pub fn decode(
    definition: &Definition,
    version: &DefinedVersion,
    mut value: Value,
    record: Record,
) -> Result<Decoded, String> {
    let handled = |error: String| {
        let kind = definition.kind();
        format!("{kind} in version \"{}\" cannot be handled as a {kind}: {error}", version.name)
    };
    let mut metadata = match value.as_object_mut() {
        Some(object) => object.remove("metadata").unwrap_or_default(),
        None => Value::Null,
    };
    if metadata.is_null() {
        metadata = Value::object();
    }
    let mut decoder = Decoder::noting_unknown("metadata");
    pleach_meta::object_meta::decode(&mut metadata, &mut decoder).map_err(handled)?;
    let mut unknown = decoder.into_unknown();
    if let Some(object) = value.as_object_mut() {
        object.insert("metadata", metadata);
    }
    let settled = version
        .schema()
        .settle(&mut value, SettleOptions::request(record))
        .map_err(|error| handled(error.to_string()))?;
    unknown.extend(settled.pruned.iter().chain(&settled.unknown_metadata).cloned());
    Ok(Decoded { value, unknown, settled })
}

/// What the server says to an object.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Why it is refused.
    pub errors: Vec<FieldError>,
    /// What it warns of.
    pub warnings: Vec<String>,
}

/// The members of the metadata.
fn metadata_mut(value: &mut Value) -> Option<&mut Map> {
    value.get_mut("metadata").and_then(Value::as_object_mut)
}

/// What the server itself writes into a new object, as far as it is not time and chance.
pub fn prepare_for_create(definition: &Definition, version: &DefinedVersion, value: &mut Value) {
    if let Some(metadata) = metadata_mut(value) {
        if !definition.crd.spec.is_namespaced() {
            metadata.remove("namespace");
        } else if metadata.get_str("namespace").is_none_or(str::is_empty) {
            metadata.insert("namespace", "default");
        }
        for key in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
            metadata.remove(key);
        }
        metadata.insert("generation", 1);
    }
    if version.status
        && let Some(object) = value.as_object_mut()
    {
        object.remove("status");
    }
}

/// What the server says to a new object. It has been decoded.
pub fn create(definition: &Definition, version: &DefinedVersion, value: &mut Value) -> Verdict {
    let mut warnings = Vec::new();
    warnings.extend(metadata_mut(value).and_then(|metadata| dedup_owner_references(metadata, "")));
    prepare_for_create(definition, version, value);
    if let Some(metadata) = metadata_mut(value)
        && metadata.get_str("name").is_none_or(str::is_empty)
        && let Some(base) = metadata.get_str("generateName").filter(|base| !base.is_empty())
    {
        // Five letters stand for those that the server makes up.
        let name: String = base.chars().take(58).chain("xxxxx".chars()).collect();
        metadata.insert("name", name);
    }
    let namespaced = definition.crd.spec.is_namespaced();
    let meta = ObjectMeta::of(value);
    let before = validate_object_meta(meta, namespaced, NameRule::Dns1123Subdomain, &METADATA);
    let verdict = version.schema().validate(value, Write::Create, before, |errors| {
        errors.extend(version.scale.iter().flat_map(|scale| scale.check(value, false)));
    });
    warnings.extend(verdict.warnings);
    let mut errors = verdict.errors;
    if errors.is_empty() {
        errors = validate_object_meta(meta, namespaced, NameRule::PathSegment, &METADATA);
    }
    if errors.is_empty() {
        warnings.extend(finalizer_warnings(meta, None));
    }
    Verdict { errors, warnings }
}

/// What the server says to an object that replaces `old`. Both have been decoded.
pub fn update(
    definition: &Definition,
    version: &DefinedVersion,
    value: &mut Value,
    old: &mut Value,
) -> Verdict {
    let mut warnings = Vec::new();
    warnings.extend(metadata_mut(value).and_then(|metadata| dedup_owner_references(metadata, "")));
    prepare_for_update(definition, version, value, old);
    let namespaced = definition.crd.spec.is_namespaced();
    let (meta, old_meta) = (ObjectMeta::of(value), ObjectMeta::of(old));
    let mut before = validate_object_meta(meta, namespaced, NameRule::PathSegment, &METADATA);
    // Twice, as the server does: its causes show that, its message does not.
    for _ in 0..2 {
        before.extend(validate_object_meta_update(meta, old_meta, &METADATA));
    }
    let verdict = version.schema().validate(value, Write::Update(old), before, |errors| {
        errors.extend(version.scale.iter().flat_map(|scale| scale.check(value, false)));
    });
    warnings.extend(verdict.warnings);
    if verdict.errors.is_empty() {
        warnings.extend(finalizer_warnings(meta, Some(old_meta)));
    }
    Verdict { errors: verdict.errors, warnings }
}

/// What an update cannot change is taken from the old object. A file may leave out what every stored
/// object has; then it is as if it were there and the same.
fn prepare_for_update(definition: &Definition, version: &DefinedVersion, value: &mut Value, old: &mut Value) {
    let uid = value.at(&["metadata", "uid"]).cloned();
    if let Some(metadata) = metadata_mut(old) {
        if metadata.get_str("resourceVersion").is_none_or(str::is_empty) {
            metadata.insert("resourceVersion", "1");
        }
        if !metadata.contains_key("generation") {
            metadata.insert("generation", 1);
        }
        if let Some(uid) = uid
            && metadata.get_str("uid").is_none_or(str::is_empty)
        {
            metadata.insert("uid", uid);
        }
        if definition.crd.spec.is_namespaced() && metadata.get_str("namespace").is_none_or(str::is_empty) {
            metadata.insert("namespace", "default");
        }
    }
    let empty = Map::new();
    let old_metadata = old.get("metadata").and_then(Value::as_object).unwrap_or(&empty);
    if let Some(metadata) = metadata_mut(value) {
        metadata.remove("selfLink");
        for key in ["creationTimestamp", "generation", "resourceVersion"] {
            put_back(metadata, old_metadata, key);
        }
        for key in ["uid", "namespace"] {
            if metadata.get_str(key).is_none_or(str::is_empty) {
                put_back(metadata, old_metadata, key);
            }
        }
        // Once set, the time of deletion stays what it is. A grace period can only be left out.
        if old_metadata.contains_key("deletionTimestamp") {
            put_back(metadata, old_metadata, "deletionTimestamp");
            if !metadata.contains_key("deletionGracePeriodSeconds") {
                put_back(metadata, old_metadata, "deletionGracePeriodSeconds");
            }
        }
        if !definition.crd.spec.is_namespaced() {
            metadata.remove("namespace");
        }
    }
    if version.status
        && let Some(object) = value.as_object_mut()
    {
        match old.get("status") {
            Some(status) => object.insert("status", status.clone()),
            None => object.remove("status"),
        };
    }
}

fn put_back(metadata: &mut Map, old: &Map, key: &str) {
    match old.get(key) {
        Some(kept) => metadata.insert(key, kept.clone()),
        None => metadata.remove(key),
    };
}
