//! The stages of a write for one object without a server: decode and settle, prepare, validate.
//!
//! For objects from files and programs. What needs other objects (namespaces, uniqueness), a clock or randomness is
//! left out. An object may leave out what every stored object has; here it is filled in. An object of a namespaced
//! kind without a namespace is taken as if it were sent to `default`, as kubectl does.

use pleach_json::{Map, Value};
use pleach_meta::FieldError;
use pleach_meta::object_meta::dedup_owner_references;
use pleach_schema::Record;

use crate::decode::{self, Decoded};
use crate::prepare::{self, metadata_mut};
use crate::resource::{Resource, Subresource};
use crate::typed::Typed;
use crate::validate::{self, Old};

/// The server's answer to an object.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Why it is rejected.
    pub errors: Vec<FieldError>,
    /// Its warnings.
    pub warnings: Vec<String>,
}

/// Decodes and settles an object. The error is the server's.
pub fn decode(resource: Resource<'_>, value: Value, record: Record) -> Result<Decoded, String> {
    decode::object(resource, value, record, None).map_err(|error| {
        decode::cannot_be_handled(resource.kind, &resource.version().name, &error).to_string()
    })
}

/// Prepares a decoded object for creation: the fields that the server sets, except for times, uids and names.
pub fn prepare_for_create(resource: Resource<'_>, object: &mut Value) {
    set_namespace(resource, metadata_mut(object));
    prepare::remove_system_fields(object);
    prepare::for_create(resource, object, &mut Typed::default());
}

/// The server's answer to a new object, which has been decoded.
pub fn create(resource: Resource<'_>, object: &mut Value) -> Verdict {
    let mut warnings: Vec<String> = dedup_owner_references(metadata_mut(object), "").into_iter().collect();
    prepare_for_create(resource, object);
    let metadata = metadata_mut(object);
    if is_unset(metadata, "name")
        && let Some(base) = metadata.get_str("generateName").filter(|base| !base.is_empty())
    {
        // Five letters stand for those that the server generates.
        let name: String = base.chars().take(58).chain("xxxxx".chars()).collect();
        metadata.insert("name", name);
    }
    let errors = validate::create(resource, object, &Typed::default(), None, &mut warnings);
    Verdict { errors, warnings }
}

/// The server's answer to an object that replaces `old`. Both have been decoded.
pub fn update(resource: Resource<'_>, object: &mut Value, old: &mut Value) -> Verdict {
    let mut warnings: Vec<String> = dedup_owner_references(metadata_mut(object), "").into_iter().collect();
    complete(resource, object, old);
    if resource.subresource == Subresource::None {
        prepare::restore_system_fields(object, old);
    }
    let (typed, old) = (&mut Typed::default(), Old::new(old));
    prepare::for_update(resource, object, typed, old);
    let errors = validate::update(resource, object, typed, old, &mut warnings).errors;
    Verdict { errors, warnings }
}

/// Sets the fields that a stored object has and a file may lack, the same in both objects.
fn complete(resource: Resource<'_>, object: &mut Value, old: &mut Value) {
    let uid = metadata_mut(object).get("uid").cloned();
    let stored = metadata_mut(old);
    if is_unset(stored, "resourceVersion") {
        stored.insert("resourceVersion", "1");
    }
    if !stored.contains_key("generation") {
        stored.insert("generation", 1);
    }
    if let Some(uid) = uid
        && is_unset(stored, "uid")
    {
        stored.insert("uid", uid);
    }
    if resource.kind.is_namespaced() && is_unset(stored, "namespace") {
        stored.insert("namespace", "default");
    }
    let metadata = metadata_mut(object);
    if is_unset(metadata, "namespace")
        && let Some(namespace) = stored.get("namespace")
    {
        metadata.insert("namespace", namespace.clone());
    }
    set_namespace(resource, metadata);
    if let Some(resource_version) = stored.get("resourceVersion") {
        metadata.insert("resourceVersion", resource_version.clone());
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

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::kinds::tests::custom;

    fn schema() -> Value {
        json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "size": {"type": "integer", "minimum": 1,
                "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "grows only"}]},
        }}}})
    }

    fn object(name: &str, size: i64) -> Value {
        let mut object = json!({"apiVersion": "example.com/v1", "kind": "Foo", "spec": {"size": (size)}});
        metadata_mut(&mut object).insert(name, "x");
        object
    }

    #[test]
    fn objects_are_judged_as_sent_to_the_default_namespace() {
        let kind = custom(schema());
        let resource = Resource::new(&kind, 0);
        for (why, object, want) in [
            ("valid", object("name", 1), ""),
            ("a name is generated", object("generateName", 1), ""),
            (
                "a bound",
                object("name", 0),
                "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
            ),
            ("no name", object("uid", 1), "metadata.name: Required value: name or generateName is required"),
        ] {
            let mut value = decode(resource, object, Record::Nothing).expect(why).value.into_value();
            let verdict = create(resource, &mut value);
            let first = verdict.errors.first().map(ToString::to_string).unwrap_or_default();
            assert_eq!(first, want, "{why}");
            assert_eq!(metadata_mut(&mut value).get_str("namespace"), Some("default"), "{why}");
        }
    }

    #[test]
    fn transition_rules_see_the_old_object() {
        let kind = custom(schema());
        let resource = Resource::new(&kind, 0);
        for (old, new, want) in [(1, 2, ""), (2, 1, "spec.size: Invalid value: 1: grows only")] {
            let (mut new, mut old) = (object("name", new), object("name", old));
            let errors = update(resource, &mut new, &mut old).errors;
            assert_eq!(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "), want);
        }
    }
}
