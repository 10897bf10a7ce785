//! Validation of CRDs, on create and on update.
//!
//! Errors come in the API server's order and speak of the internal form: `spec.validation` where all
//! versions share a schema, `spec.conversion.webhookClientConfig` also for `v1`. An update is let
//! pass what the old CRD had wrong already; see [`Ratchets`]. Call after [`crate::strategy`] has
//! prepared the object.

mod ca_bundle;
mod client_config;
mod columns;
mod conversion;
mod names;
mod ratchets;
mod schema;
mod selectable;
mod spec;
mod status;
mod version;

use pleach_meta::object_meta::{NameRule, validate_object_meta_update, validate_object_meta_with};
use pleach_meta::{FieldError, Path};

use crate::approval;
use crate::types::{ApiVersion, Crd};
pub use ca_bundle::check_ca_bundle;
pub use client_config::validate_client_config;
pub use ratchets::Ratchets;

const METADATA: Path<'static> = Path::new("metadata");

/// The errors of a new CRD that was sent in `version`.
pub fn validate_create(crd: &Crd, version: ApiVersion) -> Vec<FieldError> {
    validate_create_with(crd, &Ratchets::create(version))
}

/// The errors of a new CRD, of which this is demanded.
pub fn validate_create_with(crd: &Crd, ratchets: &Ratchets) -> Vec<FieldError> {
    let name_check = |name: &str, prefix: bool| {
        let rule = NameRule::Dns1123Subdomain;
        let mut messages = if prefix { rule.check_prefix(name) } else { rule.check(name) };
        if name != format!("{}.{}", crd.spec.names.plural, crd.spec.group) {
            messages.push("must be spec.names.plural+\".\"+spec.group".to_owned());
        }
        messages
    };
    let mut errors = validate_object_meta_with(crd.meta(), false, &name_check, &METADATA);
    errors.extend(spec::validate(&crd.spec, None, ratchets));
    errors.extend(names::validate(&crd.status.accepted_names, &Path::new("status.acceptedNames")));
    errors.extend(status::validate_stored_versions(crd));
    errors.extend(approval::validate(crd, None));
    if ratchets.version == ApiVersion::V1 {
        errors.extend(spec::validate_preserve_unknown_fields(&crd.spec, None));
    }
    errors
}

/// The errors of a CRD that was sent in `version` to replace `old`.
pub fn validate_update(new: &Crd, old: &Crd, version: ApiVersion) -> Vec<FieldError> {
    validate_update_with(new, old, &Ratchets::update(old, version))
}

/// The errors of a CRD that is to replace `old`, of which this is demanded.
pub fn validate_update_with(new: &Crd, old: &Crd, ratchets: &Ratchets) -> Vec<FieldError> {
    let mut errors = validate_object_meta_update(new.meta(), old.meta(), &METADATA);
    errors.extend(spec::validate(&new.spec, Some(&old.spec), ratchets));
    errors.extend(spec::validate_immutable(&new.spec, &old.spec, ratchets));
    errors.extend(names::validate(&new.status.accepted_names, &Path::new("status.acceptedNames")));
    errors.extend(status::validate_stored_versions(new));
    errors.extend(approval::validate(new, Some(old)));
    if ratchets.version == ApiVersion::V1 {
        errors.extend(spec::validate_preserve_unknown_fields(&new.spec, Some(&old.spec)));
    }
    errors
}

/// The errors of a new status.
pub fn validate_status_update(new: &Crd, old: &Crd) -> Vec<FieldError> {
    let mut errors = validate_object_meta_update(new.meta(), old.meta(), &METADATA);
    errors.extend(names::validate(&new.status.accepted_names, &Path::new("status.acceptedNames")));
    errors
}

#[cfg(test)]
mod tests;
