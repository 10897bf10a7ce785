//! The demands on schemas: handed to `pleach-schema`, which knows what a schema means.

use pleach_meta::{FieldError, Path};
use pleach_schema::{JSONSchemaProps, Structural};

use super::ratchets::{Ratchets, old_schema};
use crate::types::{ApiVersion, CrdSpec};

/// What is demanded of every schema of one CRD.
pub(super) struct Demands<'a> {
    old: Option<&'a CrdSpec>,
    ratchets: &'a Ratchets,
    spec: &'a CrdSpec,
}

impl<'a> Demands<'a> {
    pub(super) fn of(spec: &'a CrdSpec, old: Option<&'a CrdSpec>, ratchets: &'a Ratchets) -> Self {
        Self { old, ratchets, spec }
    }

    /// The errors of a schema; `path` holds its `openAPIV3Schema`.
    pub(super) fn validate(
        &self,
        schema: &JSONSchemaProps,
        path: &Path<'_>,
        status_enabled: bool,
        version: &str,
    ) -> Vec<FieldError> {
        let _ = (status_enabled, old_schema(self.old, version), self.spec, ApiVersion::V1, self.ratchets);
        let path = path.child("openAPIV3Schema");
        Structural::of(schema)
            .map_or_else(|e| vec![FieldError::invalid(path, "", e)], |s| s.violations(&path))
    }
}
