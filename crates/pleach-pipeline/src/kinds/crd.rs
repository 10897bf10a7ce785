//! CustomResourceDefinitions as objects.
//!
//! A CRD is decoded once, and its typed form travels through the stages beside the value. What follows from a
//! committed CRD is the server's.

mod apply_schema;

use std::borrow::Cow;
use std::sync::Arc;

use pleach_crd::decode::Options;
use pleach_crd::{ApiVersion, Crd, Ratchets, strategy};
use pleach_json::{Value, json};
use pleach_meta::FieldError;
use pleach_meta::object_meta::ObjectMeta;
use pleach_schema::Schema;
use pleach_schema::formats::Compat;
use pleach_work::Constant;

use crate::columns::{AGE_DESCRIPTION, column};
use crate::error::Error;
use crate::gates::Gates;
use crate::kind::{Cell, Column, Kind, KindVersion};
use crate::resource::{Resource, Subresource};
use crate::strategy::{Effect, StoredAsData, Strategy};
use crate::typed::Typed;
use crate::validate::{Old, Verdict, metadata_update};

/// The API group.
pub const GROUP: &str = "apiextensions.k8s.io";
/// The resource.
pub const PLURAL: &str = "customresourcedefinitions";

fn version(name: &str) -> ApiVersion {
    if name == "v1beta1" { ApiVersion::V1beta1 } else { ApiVersion::V1 }
}

/// The version that a CRD value is written in.
fn version_of(value: &Value) -> ApiVersion {
    value
        .get("apiVersion")
        .and_then(Value::as_str)
        .and_then(ApiVersion::from_api_version)
        .unwrap_or(ApiVersion::V1)
}

/// The typed form of a CRD that was accepted before, whatever the feature gates are now.
pub fn typed(value: &Value) -> Result<Crd, Error> {
    pleach_crd::decode(value, version_of(value), Options { unions: true })
        .map(|decoded| decoded.crd)
        .map_err(Error::Internal)
}

/// The typed form of a CRD: the one that is known, with the metadata of the value, or else decoded.
pub fn typed_or_decoded(value: &Value, known: &Typed) -> Result<Crd, Error> {
    match known.get::<Crd>() {
        Some(crd) => {
            let metadata = value.get("metadata").cloned().unwrap_or_else(Value::object);
            Ok(Crd { metadata, spec: crd.spec.clone(), status: crd.status.clone() })
        }
        None => typed(value),
    }
}

/// The typed form that travels beside a value. Metadata is taken from the value, so the form has none.
pub fn typed_form(crd: Crd) -> Typed {
    Typed::new(Crd { metadata: Value::Null, ..crd })
}

/// Changes the typed form of a value, and the value with it. A value that cannot be decoded was never accepted.
fn change(value: &mut Value, known: &mut Typed, how: impl FnOnce(&mut Crd)) {
    let version = version_of(value);
    if let Ok(mut crd) = typed_or_decoded(value, known) {
        how(&mut crd);
        *value = crd.encode(version);
        *known = typed_form(crd);
    }
}

/// Drops the fields of closed gates, unless the old CRD has them too.
fn drop_disabled_fields(crd: &mut Crd, old: Option<&Crd>, gates: Gates) {
    if !gates.field_selectors && !old.is_some_and(|old| old.spec.has_selectable_fields()) {
        crd.spec.drop_selectable_fields();
    }
    if !gates.ratcheting && !old.is_some_and(|old| old.spec.has_optional_old_self()) {
        crd.spec.drop_optional_old_self();
    }
}

fn typed_old(old: Old<'_>) -> Result<Crd, Error> {
    old.typed.map_or_else(|| typed(old.value), |known| typed_or_decoded(old.value, known))
}

/// The strategy of CRDs.
#[derive(Debug)]
pub struct CustomResourceDefinition;

impl Strategy for CustomResourceDefinition {
    fn adjust(&self, kind: &mut Kind) {
        // The published schema is upstream's own, not that of the manifest.
        if let Some(versions) = Arc::get_mut(&mut kind.versions) {
            versions.iter_mut().for_each(|version| version.props = None);
        }
    }

    fn columns(&self) -> Option<Vec<Column>> {
        let created = |object: &Value, _| ObjectMeta::of(object).creation_timestamp().map(Value::from).into();
        Some(vec![column("Created At", "date", AGE_DESCRIPTION, Cell::Computed(created))])
    }

    /// Upstream still stores CRDs as v1beta1, and clients see the hash of that.
    fn hashed_storage_version(&self) -> Option<&'static str> {
        Some("apiextensions.k8s.io/v1beta1")
    }

    fn scheme(&self) -> &'static str {
        "k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55"
    }

    fn decodes_whole_object(&self) -> bool {
        true
    }

    fn decode(
        &self,
        resource: Resource<'_>,
        object: &mut Value,
        typed: &mut Typed,
    ) -> Result<Vec<String>, String> {
        let version = version(&resource.version().name);
        let kind = object.get("kind").cloned();
        let decoded = pleach_crd::decode(object, version, Options { unions: resource.kind.gates.unions })?;
        *object = decoded.crd.encode(version);
        if let (Some(kind), Some(members)) = (kind, object.as_object_mut()) {
            members.insert("kind", kind);
        }
        *typed = typed_form(decoded.crd);
        Ok(decoded.unknown)
    }

    fn reports_unknown_in_document_order(&self) -> bool {
        true
    }

    fn prepare_for_create(&self, resource: Resource<'_>, object: &mut Value, typed: &mut Typed) {
        change(object, typed, |crd| {
            strategy::prepare_for_create(crd);
            drop_disabled_fields(crd, None, resource.kind.gates);
        });
    }

    fn prepare_for_update(
        &self,
        resource: Resource<'_>,
        object: &mut Value,
        typed: &mut Typed,
        old: Old<'_>,
    ) {
        let Ok(old) = typed_old(old) else { return };
        change(object, typed, |crd| {
            if resource.subresource == Subresource::Status {
                strategy::prepare_for_status_update(crd, &old);
            } else {
                strategy::prepare_for_update(crd, &old, |crd| {
                    drop_disabled_fields(crd, Some(&old), resource.kind.gates);
                });
            }
        });
    }

    fn validate_create(
        &self,
        resource: Resource<'_>,
        object: &Value,
        typed: &Typed,
        _: Option<&Value>,
        warnings: &mut Vec<String>,
    ) -> Vec<FieldError> {
        let crd = match typed_or_decoded(object, typed) {
            Ok(crd) => crd,
            Err(error) => return vec![FieldError::internal("", error.to_string())],
        };
        let mut ratchets = Ratchets::create(version_of(object));
        ratchets.cost_hints = resource.kind.gates.cost_hints;
        let errors = pleach_crd::validate_create_with(&crd, &ratchets);
        if errors.is_empty() {
            warnings.extend(pleach_crd::warnings(&crd, None, Compat::of_server()));
        }
        errors
    }

    fn validate_update(
        &self,
        resource: Resource<'_>,
        object: &Value,
        typed: &Typed,
        old: Old<'_>,
        warnings: &mut Vec<String>,
    ) -> Verdict {
        let (mut errors, _) = metadata_update(resource, object, old.value);
        let (crd, old) = match (typed_or_decoded(object, typed), typed_old(old)) {
            (Ok(crd), Ok(old)) => (crd, old),
            (Err(error), _) | (_, Err(error)) => {
                errors.push(FieldError::internal("", error.to_string()));
                return Verdict { errors, valid: false };
            }
        };
        if resource.subresource == Subresource::Status {
            errors.extend(pleach_crd::validate_status_update(&crd, &old));
            return Verdict { errors, valid: false };
        }
        let mut ratchets = Ratchets::update(&old, version_of(object));
        ratchets.cost_hints = resource.kind.gates.cost_hints;
        let wrong = pleach_crd::validate_update_with(&crd, &old, &ratchets);
        if wrong.is_empty() {
            warnings.extend(pleach_crd::warnings(&crd, Some(&old), Compat::of_server()));
        }
        errors.extend(wrong);
        Verdict { errors, valid: false }
    }

    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn after_commit(&self) -> Effect {
        Effect::DefinitionChanged
    }

    fn is_deleted_at_once(&self) -> bool {
        false
    }

    /// A CRD that is deleted goes when its objects are gone.
    fn mark_for_deletion(&self, object: &mut Value, now: &str) -> bool {
        let marks = !ObjectMeta::of(object).is_terminating();
        if marks {
            change(object, &mut Typed::default(), |crd| crd.mark_terminating(now));
        }
        marks
    }

    fn checks_preconditions_like_the_store(&self, object: &Value) -> bool {
        !ObjectMeta::of(object).is_terminating()
    }

    fn names_resource_in_precondition_errors(&self) -> bool {
        true
    }

    /// Upstream deletes a collection of CRDs in the generic way: those without finalizers go at once and their
    /// objects stay behind.
    fn in_collections(&self) -> Option<&'static dyn Strategy> {
        Some(&StoredAsData)
    }

    fn convert<'v>(
        &self,
        object: &'v Value,
        known: &Typed,
        to: &KindVersion,
    ) -> Result<Cow<'v, Value>, Error> {
        Ok(Cow::Owned(typed_or_decoded(object, known)?.encode(version(&to.name))))
    }

    fn apply_schema(&self, version: &KindVersion) -> Option<&'static Schema> {
        Some(apply_schema::of(&version.name))
    }

    fn always_written(&self, _: &KindVersion) -> Option<&'static Value> {
        static STRUCTS: Constant<Value> = Constant::new(|| json!({"spec": {"names": {}}}));
        Some(&STRUCTS)
    }

    fn status_changes_metadata(&self) -> bool {
        true
    }
}
