//! Validation: metadata first, then the schema, then what needs both.
//!
//! The order is the one clients see in a list of causes: type, metadata, schema, scale, embedded
//! resources, list types, rules. An update validates metadata more than once, as upstream does; causes
//! show that, the message does not.

use pleach_json::Value;
use pleach_meta::field_error::ErrorType;
use pleach_meta::object_meta::{
    NameRule, ObjectMeta, finalizer_warnings, validate_object_meta, validate_object_meta_beside,
    validate_object_meta_update,
};
use pleach_meta::{FieldError, Path};
use pleach_schema::Write;

use crate::kind::Kind;
use crate::resource::{Resource, Subresource};
use crate::typed::Typed;

const METADATA: Path<'static> = Path::new("metadata");

/// The object that an update replaces.
#[derive(Clone, Copy, Debug)]
pub struct Old<'a> {
    /// The object.
    pub value: &'a Value,
    /// Whether its values and lists are known to be valid under the schema.
    pub valid: bool,
    /// Its typed form, if that is known.
    pub typed: Option<&'a Typed>,
}

impl<'a> Old<'a> {
    /// An object of which nothing else is known.
    pub fn new(value: &'a Value) -> Self {
        Self { value, valid: false, typed: None }
    }
}

/// The result of validating an update.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Why the object is rejected.
    pub errors: Vec<FieldError>,
    /// Whether its values and lists are known to be valid under the schema.
    pub valid: bool,
}

/// The errors of a new object. Values that it shares with `validated` are valid.
pub fn create(
    resource: Resource<'_>,
    object: &Value,
    typed: &Typed,
    validated: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Vec<FieldError> {
    resource.kind.strategy.validate_create(resource, object, typed, validated, warnings)
}

/// The errors of an update.
pub fn update(
    resource: Resource<'_>,
    object: &Value,
    typed: &Typed,
    old: Old<'_>,
    warnings: &mut Vec<String>,
) -> Verdict {
    resource.kind.strategy.validate_update(resource, object, typed, old, warnings)
}

/// The errors of a new object of most kinds.
pub(crate) fn default_create(
    resource: Resource<'_>,
    object: &Value,
    validated: Option<&Value>,
    warnings: &mut Vec<String>,
) -> Vec<FieldError> {
    let (kind, version) = (resource.kind, resource.version());
    let type_errors = type_meta(resource, object);
    if !type_errors.is_empty() {
        return type_errors;
    }
    let meta = ObjectMeta::of(object);
    let mut errors = validate_object_meta(meta, kind.is_namespaced(), kind.strategy.name_rule(), &METADATA);
    errors.extend(finalizer_errors(kind, meta));
    if !kind.strategy.validates_by_schema() {
        errors.extend(kind.strategy.validate(object, None));
        return errors;
    }
    let verdict = version.schema.get().validate_against(object, Write::Create, validated, errors, |errors| {
        errors.extend(scale_errors(resource, object, false));
        errors.extend(kind.strategy.validate(object, None));
    });
    warnings.extend(verdict.warnings);
    let errors = without_duplicates(kind, verdict.errors);
    // Upstream validates the name once more as a path segment, which every valid name is.
    if errors.is_empty() && kind.is_custom() {
        warnings.extend(finalizer_warnings(meta, None));
    }
    errors
}

/// The first validation of every update: the metadata and its immutable fields. The errors of changes are returned separately, too.
pub(crate) fn metadata_update(
    resource: Resource<'_>,
    object: &Value,
    old: &Value,
) -> (Vec<FieldError>, Vec<FieldError>) {
    let (meta, old_meta) = (ObjectMeta::of(object), ObjectMeta::of(old));
    let namespaced = resource.kind.is_namespaced();
    let mut errors =
        validate_object_meta_beside(meta, old_meta, namespaced, NameRule::PathSegment, &METADATA);
    let mut changes = validate_object_meta_update(meta, old_meta, &METADATA);
    errors.extend(changes.iter().cloned());
    // Only the validation of the kind itself looks at these.
    changes.extend(finalizer_errors(resource.kind, meta));
    (errors, changes)
}

/// The errors of an update in most kinds.
pub(crate) fn default_update(
    resource: Resource<'_>,
    object: &Value,
    Old { value: old, valid, .. }: Old<'_>,
    warnings: &mut Vec<String>,
) -> Verdict {
    let (kind, strategy) = (resource.kind, resource.kind.strategy);
    let (mut errors, changes) = metadata_update(resource, object, old);
    let type_errors = type_meta(resource, object);
    if !type_errors.is_empty() {
        errors.extend(type_errors);
        return Verdict { errors, valid: false };
    }
    errors.extend(changes);
    let (meta, old_meta) = (ObjectMeta::of(object), ObjectMeta::of(old));
    if strategy.revalidates_metadata() {
        let rule = strategy.name_rule();
        errors.extend(validate_object_meta_beside(meta, old_meta, kind.is_namespaced(), rule, &METADATA));
        errors.extend(finalizer_errors(kind, meta));
    }
    if !strategy.validates_by_schema() {
        errors.extend(strategy.validate(object, Some(old)));
        return Verdict { errors, valid: false };
    }
    let only_status = resource.subresource == Subresource::Status;
    let write = if only_status && kind.is_custom() { Write::Status(old) } else { Write::Update(old) };
    let schema = resource.version().schema.get();
    let verdict = schema.validate_against(object, write, valid.then_some(old), errors, |errors| {
        errors.extend(scale_errors(resource, object, only_status));
        errors.extend(strategy.validate(object, Some(old)));
    });
    warnings.extend(verdict.warnings);
    let errors = without_duplicates(kind, verdict.errors);
    if errors.is_empty() && kind.is_custom() && !only_status {
        warnings.extend(finalizer_warnings(meta, Some(old_meta)));
    }
    Verdict { errors, valid: verdict.valid }
}

/// Groups of built-in kinds whose metadata upstream validates as that of core kinds.
const CORE_METADATA: [&str; 13] = [
    "",
    "apps",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "discovery.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// `validateKubeFinalizerName`: a finalizer has a domain, or is one that Kubernetes has from the beginning.
fn finalizer_errors(kind: &Kind, meta: ObjectMeta<'_>) -> Vec<FieldError> {
    if kind.is_custom() || !CORE_METADATA.contains(&kind.group.as_str()) {
        return Vec::new();
    }
    let known =
        |name: &str| name.contains('/') || ["kubernetes", "orphan", "foregroundDeletion"].contains(&name);
    let unknown = meta.finalizers().enumerate().filter(|(_, name)| !known(name));
    let why = "name is neither a standard finalizer name nor is it fully qualified";
    unknown.map(|(i, name)| FieldError::invalid(format!("metadata.finalizers[{i}]"), name, why)).collect()
}

/// Lists of built-in kinds have keys for server-side apply; upstream does not validate that they are unique.
fn without_duplicates(kind: &Kind, mut errors: Vec<FieldError>) -> Vec<FieldError> {
    if !kind.is_custom() {
        errors.retain(|error| error.error_type != ErrorType::Duplicate);
    }
    errors
}

fn scale_errors(
    resource: Resource<'_>,
    object: &Value,
    only_status: bool,
) -> impl Iterator<Item = FieldError> {
    resource.version().scale.iter().flat_map(move |scale| scale.check(object, only_status))
}

/// The object has the `kind` and `apiVersion` of its URL.
fn type_meta(resource: Resource<'_>, object: &Value) -> Vec<FieldError> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default();
    let wanted = [("kind", &resource.kind.kind), ("apiVersion", &resource.version().api_version)];
    let wrong = wanted.into_iter().filter(|(key, wanted)| text(key) != wanted.as_str());
    wrong.map(|(key, wanted)| FieldError::invalid(key, text(key), format!("must be {wanted}"))).collect()
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::kinds::tests::custom;

    fn texts(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn type_then_metadata_then_schema() {
        let kind = custom(json!({
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}}},
        }));
        let resource = Resource::new(&kind, 0);
        let object = |api_version: &str, name: &str, size: i64| {
            json!({"apiVersion": (api_version), "kind": "Foo", "metadata": {"name": (name), "namespace": "n"},
                "spec": {"size": (size)}})
        };
        let size = "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1";
        for (new, want) in [
            (object("example.com/v1", "a", 1), vec![]),
            (
                object("example.com/v2", "_", 0),
                vec!["apiVersion: Invalid value: \"example.com/v2\": must be example.com/v1"],
            ),
            (object("example.com/v1", "a", 0), vec![size]),
        ] {
            assert_eq!(
                texts(&create(resource, &new, &Typed::default(), None, &mut Vec::new())),
                want,
                "{new:?}"
            );
        }
        let both = texts(&create(
            resource,
            &object("example.com/v1", "_", 0),
            &Typed::default(),
            None,
            &mut Vec::new(),
        ));
        assert!(both[0].starts_with("metadata.name: Invalid value") && both[1] == size, "{both:?}");
    }

    #[test]
    fn a_value_that_was_stored_invalid_may_stay() {
        let kind = custom(json!({
            "type": "object",
            "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}}},
        }));
        let object = |resource_version: &str, size: i64| {
            json!({"apiVersion": "example.com/v1", "kind": "Foo",
                "metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": (resource_version)},
                "spec": {"size": (size)}})
        };
        let old = object("1", 0);
        let old = Old::new(&old);
        let verdict =
            |new: &Value| update(Resource::new(&kind, 0), new, &Typed::default(), old, &mut Vec::new());
        assert!(verdict(&object("1", 0)).errors.is_empty());
        assert!(!verdict(&object("1", 0)).valid);
        assert!(verdict(&object("1", 2)).valid);
        assert_eq!(verdict(&object("1", -1)).errors.len(), 1);
    }
}
