//! Ratcheting of CRD validation: requirements that a CRD need not meet if the old one did not.

use std::sync::Arc;

use pleach_schema::JSONSchemaProps;

use super::ca_bundle::check_ca_bundle;
use crate::types::{ApiVersion, Crd, CrdSpec, SelectableField, Version};

/// The requirements for a CRD. Requirements for schemas are in `pleach-schema`.
#[derive(Clone, Debug)]
pub struct Ratchets {
    /// The version of the request.
    pub version: ApiVersion,
    /// Every version must have a schema.
    pub require_schema: bool,
    /// Schemas may have defaults.
    pub allow_defaults: bool,
    /// The webhook must understand a version that this server sends.
    pub require_recognized_review_version: bool,
    /// Scope and kind may not change.
    pub require_immutable_names: bool,
    /// The webhook's certificates must be certificates.
    pub require_valid_ca_bundle: bool,
    /// Rules that are too dear are reported with bounds that would make them fit; never set unless
    /// it is asked for, because the API server has no such message.
    pub cost_hints: bool,
}

impl Ratchets {
    /// The requirements for a new CRD.
    pub fn create(version: ApiVersion) -> Self {
        Self {
            version,
            require_schema: version == ApiVersion::V1,
            allow_defaults: version == ApiVersion::V1,
            require_recognized_review_version: true,
            require_immutable_names: false,
            require_valid_ca_bundle: false,
            cost_hints: false,
        }
    }

    /// The requirements for a CRD that replaces `old`.
    pub fn update(old: &Crd, version: ApiVersion) -> Self {
        let established = old.is_established();
        Self {
            version,
            require_schema: version == ApiVersion::V1
                && old.spec.versions().iter().all(|v| old.spec.schema_of(v).is_some()),
            allow_defaults: version == ApiVersion::V1 || has_defaults(&old.spec),
            require_recognized_review_version: has_recognized_review_version_or_none(&old.spec),
            require_immutable_names: established,
            require_valid_ca_bundle: established && had_valid_ca_bundle(&old.spec),
            cost_hints: false,
        }
    }
}

/// Whether any schema has a default anywhere.
pub(super) fn has_defaults(spec: &CrdSpec) -> bool {
    spec.schemas().any(|schema| schema.any_node(&mut |node| !node.default_value().is_null()))
}

fn has_recognized_review_version_or_none(spec: &CrdSpec) -> bool {
    let reviews = spec.conversion.as_ref().and_then(|c| c.conversion_review_versions.as_deref());
    let reviews = reviews.unwrap_or_default();
    reviews.is_empty() || reviews.iter().any(|v| super::conversion::RECOGNIZED.contains(&v.as_str()))
}

fn had_valid_ca_bundle(spec: &CrdSpec) -> bool {
    let config = spec.conversion.as_ref().and_then(|c| c.webhook_client_config.as_ref());
    config.and_then(|c| c.ca_bundle.as_deref()).is_none_or(|bundle| check_ca_bundle(bundle).is_ok())
}

/// The schema that a version of that name had.
pub(super) fn old_schema<'a>(old: Option<&'a CrdSpec>, name: &str) -> Option<&'a Arc<JSONSchemaProps>> {
    let old = old?;
    old.schema_of(old.version_named(name)?)
}

/// The selectable fields that a version of that name had.
pub(super) fn old_selectable_fields<'a>(old: Option<&'a CrdSpec>, name: &str) -> &'a [SelectableField] {
    old.and_then(|old| old.version_named(name).map(|v: &Version| old.selectable_fields_of(v)))
        .unwrap_or_default()
}
