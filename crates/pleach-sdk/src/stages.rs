//! The stages of a write for one object: decode and settle, prepare, validate.
//!
//! Only what needs other objects (namespaces, uniqueness), a clock or chance is left out. An object of a namespaced
//! kind without a namespace is taken as one sent to `default`, as kubectl does.

use pleach_json::{Map, Value};
use pleach_meta::object_meta::dedup_owner_references;
use pleach_pipeline::Typed;
use pleach_pipeline::decode::{self, Decoded};
use pleach_pipeline::prepare::{self, metadata_mut};
use pleach_pipeline::resource::{Resource, Subresource};
use pleach_pipeline::validate::{self, Old};
use pleach_schema::{Baseline, Record};

use crate::{Error, Verdict};

/// Decodes and settles an object.
pub(crate) fn decode(resource: Resource<'_>, value: Value) -> Result<Decoded, Error> {
    decode::object(resource, value, Record::Everything, Baseline::Unknown).map_err(|error| {
        let error = decode::cannot_be_handled(resource.kind, &resource.version().name, &error);
        Error::BadRequest(error.to_string())
    })
}

/// Prepares a decoded object for creation.
pub(crate) fn prepare_for_create(resource: Resource<'_>, object: &mut Value) {
    prepare::remove_system_fields(object);
    set_namespace(resource, metadata_mut(object));
    let metadata = metadata_mut(object);
    if is_unset(metadata, "name")
        && let Some(base) = metadata.get_str("generateName").filter(|base| !base.is_empty())
    {
        // Stands for the five letters that the server makes up.
        let name: String = base.chars().take(58).chain("xxxxx".chars()).collect();
        metadata.insert("name", name);
    }
    prepare::for_create(resource, object, &mut Typed::default());
}

/// Validates a new object, which is decoded.
pub(crate) fn create(resource: Resource<'_>, object: &mut Value) -> Verdict {
    let mut warnings: Vec<String> = dedup_owner_references(metadata_mut(object), "").into_iter().collect();
    prepare_for_create(resource, object);
    let errors = validate::create(resource, object, &Typed::default(), None, &mut warnings);
    Verdict::new(&resource.kind.own_subject(object), &errors, warnings)
}

/// Validates an object that replaces `old`. Both are decoded.
pub(crate) fn update(resource: Resource<'_>, object: &mut Value, old: &mut Value) -> Verdict {
    let mut warnings: Vec<String> = dedup_owner_references(metadata_mut(object), "").into_iter().collect();
    complete_old(resource, object, old);
    set_namespace(resource, metadata_mut(object));
    if is_unset(metadata_mut(object), "resourceVersion") {
        let stored = metadata_mut(old).get("resourceVersion").cloned().unwrap_or_default();
        metadata_mut(object).insert("resourceVersion", stored);
    }
    if resource.subresource == Subresource::None {
        prepare::restore_system_fields(object, old);
    }
    let (typed, old) = (&mut Typed::default(), Old::new(old));
    prepare::for_update(resource, object, typed, old);
    let verdict = validate::update(resource, object, typed, old, &mut warnings);
    Verdict::new(&resource.kind.own_subject(object), &verdict.errors, warnings)
}

/// Adds metadata that every stored object has, where a file leaves it out.
fn complete_old(resource: Resource<'_>, object: &mut Value, old: &mut Value) {
    let uid = metadata_mut(object).get("uid").cloned();
    let metadata = metadata_mut(old);
    set_namespace(resource, metadata);
    if is_unset(metadata, "resourceVersion") {
        metadata.insert("resourceVersion", "1");
    }
    if !metadata.contains_key("generation") {
        metadata.insert("generation", 1);
    }
    if let Some(uid) = uid
        && is_unset(metadata, "uid")
    {
        metadata.insert("uid", uid);
    }
}

fn set_namespace(resource: Resource<'_>, metadata: &mut Map) {
    if !resource.kind.is_namespaced() {
        metadata.remove("namespace");
    } else if is_unset(metadata, "namespace") {
        metadata.insert("namespace", "default");
    }
}

fn is_unset(metadata: &Map, key: &str) -> bool {
    metadata.get_str(key).is_none_or(str::is_empty)
}
