//! CRDs as objects: how the pipeline's stages work on the kind that makes kinds.
//!
//! A CRD is decoded into its typed form and written back at every stage that must understand it;
//! between stages it travels as a value like any other object. What follows from a committed CRD is
//! in [`crate::definitions`].

use pleach_crd::decode::Options;
use pleach_crd::{ApiVersion, Crd, Ratchets, strategy};
use pleach_json::Value;
use pleach_meta::FieldError;
use pleach_schema::formats::Compat;

pub use crate::definitions::Definitions;
use crate::gates::Gates;
use crate::options::Context;
use crate::rejection::Rejection;
use crate::target::Subresource;

/// The group of CRDs.
pub const GROUP: &str = "apiextensions.k8s.io";
/// Their resource.
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

/// The typed form of a CRD that was let in before, with everything that ever could be.
pub fn typed(value: &Value) -> Result<Crd, Rejection> {
    pleach_crd::decode(value, version_of(value), Options { unions: true })
        .map(|decoded| decoded.crd)
        .map_err(Rejection::Internal)
}

/// Decodes a CRD in place; the paths of unknown fields come back.
pub fn decode(value: &mut Value, version_name: &str, gates: Gates) -> Result<Vec<String>, String> {
    let version = version(version_name);
    let kind = value.get("kind").cloned();
    let decoded = pleach_crd::decode(value, version, Options { unions: gates.unions })?;
    *value = decoded.crd.encode(version);
    if let (Some(kind), Some(object)) = (kind, value.as_object_mut()) {
        object.insert("kind", kind);
    }
    Ok(decoded.unknown)
}

/// A CRD of one version as another.
pub fn convert(value: Value, to: &str) -> Result<Value, Rejection> {
    Ok(typed(&value)?.encode(version(to)))
}

/// Runs a change of the typed form on a value. What cannot be decoded was never let in.
fn change(value: &mut Value, how: impl FnOnce(&mut Crd)) {
    let version = version_of(value);
    if let Ok(mut crd) = typed(value) {
        how(&mut crd);
        *value = crd.encode(version);
    }
}

/// A new CRD has no status yet.
pub fn prepare_for_create(value: &mut Value) {
    change(value, strategy::prepare_for_create);
}

/// An update keeps what is not its part.
pub fn prepare_for_update(value: &mut Value, old: &Value, subresource: Subresource) {
    let Ok(old) = typed(old) else { return };
    change(value, |crd| {
        if subresource == Subresource::Status {
            strategy::prepare_for_status_update(crd, &old);
        } else {
            strategy::prepare_for_update(crd, &old);
        }
    });
}

/// A CRD that is deleted goes when its objects are gone.
pub fn mark_for_deletion(value: &mut Value, now: &str) {
    change(value, |crd| crd.mark_terminating(now));
}

/// What is wrong with a new CRD.
pub fn validate_create(value: &Value, gates: Gates, context: &mut Context) -> Vec<FieldError> {
    let crd = match typed(value) {
        Ok(crd) => crd,
        Err(rejection) => return vec![FieldError::internal("", rejection.to_string())],
    };
    let mut ratchets = Ratchets::create(version_of(value));
    ratchets.cost_hints = gates.cost_hints;
    let errors = pleach_crd::validate_create_with(&crd, &ratchets);
    if errors.is_empty() {
        pleach_crd::warnings(&crd, None, Compat::DEFAULT)
            .into_iter()
            .for_each(|warning| context.warn(warning));
    }
    errors
}

/// What is wrong with a changed CRD.
pub fn validate_update(
    value: &Value,
    old: &Value,
    gates: Gates,
    subresource: Subresource,
    context: &mut Context,
) -> Vec<FieldError> {
    let (crd, old) = match (typed(value), typed(old)) {
        (Ok(crd), Ok(old)) => (crd, old),
        (Err(rejection), _) | (_, Err(rejection)) => {
            return vec![FieldError::internal("", rejection.to_string())];
        }
    };
    if subresource == Subresource::Status {
        return pleach_crd::validate_status_update(&crd, &old);
    }
    let mut ratchets = Ratchets::update(&old, version_of(value));
    ratchets.cost_hints = gates.cost_hints;
    let errors = pleach_crd::validate_update_with(&crd, &old, &ratchets);
    if errors.is_empty() {
        pleach_crd::warnings(&crd, Some(&old), Compat::DEFAULT)
            .into_iter()
            .for_each(|warning| context.warn(warning));
    }
    errors
}
