//! Objects in files: the stages of a write, without a server.
//!
//! The stages are those of `pleach_pipeline`. What needs other objects (namespaces, uniqueness) or a clock is left out.
//! A file may leave out what every stored object has; here it is filled in. An object of a namespaced kind without a
//! namespace is taken as if it were sent to `default`, as kubectl does.

use pleach_json::{Map, Value};
use pleach_meta::FieldError;
use pleach_meta::object_meta::dedup_owner_references;
use pleach_pipeline::validate::{self, Old};
use pleach_pipeline::{Typed, decode, prepare};
use pleach_schema::{Baseline, Record, Settled};

use crate::catalog::DefinedVersion;

/// A decoded object.
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
pub fn decode(version: &DefinedVersion, value: Value, record: Record) -> Result<Decoded, String> {
    let resource = version.resource();
    let decoded = decode::object(resource, value, record, Baseline::Unknown)
        .map_err(|error| decode::cannot_be_handled(resource.kind, &version.name, &error).to_string())?;
    Ok(Decoded { value: decoded.value.into_value(), unknown: decoded.strict, settled: decoded.changes })
}

/// The server's answer to an object.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Why it is rejected.
    pub errors: Vec<FieldError>,
    /// Its warnings.
    pub warnings: Vec<String>,
}

/// Prepares a new object: the fields that the server sets, except for times and uids.
pub fn prepare_for_create(version: &DefinedVersion, value: &mut Value) {
    default_namespace(version, prepare::metadata_mut(value));
    prepare::remove_system_fields(value);
    prepare::for_create(version.resource(), value, &mut Typed::default());
}

fn default_namespace(version: &DefinedVersion, metadata: &mut Map) {
    if !version.resource().kind.is_namespaced() {
        metadata.remove("namespace");
    } else if metadata.get_str("namespace").is_none_or(str::is_empty) {
        metadata.insert("namespace", "default");
    }
}

/// The server's answer to a new object, which has been decoded.
pub fn create(version: &DefinedVersion, value: &mut Value) -> Verdict {
    let mut warnings = Vec::new();
    warnings.extend(dedup_owner_references(prepare::metadata_mut(value), ""));
    prepare_for_create(version, value);
    let metadata = prepare::metadata_mut(value);
    if metadata.get_str("name").is_none_or(str::is_empty)
        && let Some(base) = metadata.get_str("generateName").filter(|base| !base.is_empty())
    {
        // Five letters stand for those that the server generates.
        let name: String = base.chars().take(58).chain("xxxxx".chars()).collect();
        metadata.insert("name", name);
    }
    let errors = validate::create(version.resource(), value, &Typed::default(), None, &mut warnings);
    Verdict { errors, warnings }
}

/// The server's answer to an object that replaces `old`. Both have been decoded.
pub fn update(version: &DefinedVersion, value: &mut Value, old: &mut Value) -> Verdict {
    let mut warnings = Vec::new();
    warnings.extend(dedup_owner_references(prepare::metadata_mut(value), ""));
    complete(version, value, old);
    prepare::restore_system_fields(value, old);
    let (typed, old) = (&mut Typed::default(), Old::new(old));
    prepare::for_update(version.resource(), value, typed, old);
    let errors = validate::update(version.resource(), value, typed, old, &mut warnings).errors;
    Verdict { errors, warnings }
}

/// Fills in what a stored object has and a file may leave out, the same in both objects.
fn complete(version: &DefinedVersion, value: &mut Value, old: &mut Value) {
    let uid = value.at(&["metadata", "uid"]).cloned();
    let stored = prepare::metadata_mut(old);
    if stored.get_str("resourceVersion").is_none_or(str::is_empty) {
        stored.insert("resourceVersion", "1");
    }
    if !stored.contains_key("generation") {
        stored.insert("generation", 1);
    }
    if let Some(uid) = uid
        && stored.get_str("uid").is_none_or(str::is_empty)
    {
        stored.insert("uid", uid);
    }
    if version.resource().kind.is_namespaced() && stored.get_str("namespace").is_none_or(str::is_empty) {
        stored.insert("namespace", "default");
    }
    let metadata = prepare::metadata_mut(value);
    if metadata.get_str("namespace").is_none_or(str::is_empty)
        && let Some(namespace) = stored.get("namespace")
    {
        metadata.insert("namespace", namespace.clone());
    }
    default_namespace(version, metadata);
    if let Some(resource_version) = stored.get("resourceVersion") {
        metadata.insert("resourceVersion", resource_version.clone());
    }
}
