//! Validation of schemas, by `pleach-schema`.
//!
//! `v1beta1` lets a schema be anything as long as nothing is used that only structural schemas can
//! have, and has no defaults.

use std::sync::Arc;

use pleach_json::grow_stack;
use pleach_meta::{FieldError, Path};
use pleach_schema::props::SchemaOrArray;
use pleach_schema::{Expressions, JSONSchemaProps, Options, SchemaContext, validate_schema};

use super::ratchets::{Ratchets, old_schema};
use crate::types::{ApiVersion, CrdSpec};

const NO_DEFAULTS: &str = "must not be set (cannot set default values in apiextensions.k8s.io/v1beta1 CRDs, must \
                           use apiextensions.k8s.io/v1)";

/// The requirements for every schema of one CRD.
pub(super) struct Demands<'a> {
    options: Options<'static>,
    old_expressions: Option<Expressions>,
    old: Option<&'a CrdSpec>,
    allow_defaults: bool,
}

impl<'a> Demands<'a> {
    pub(super) fn of(spec: &CrdSpec, old: Option<&'a CrdSpec>, ratchets: &Ratchets) -> Self {
        let beta = ratchets.version == ApiVersion::V1beta1;
        let mut options = Options::CREATE;
        let mut old_expressions = None;
        if old.is_some() || beta {
            let new: Vec<&JSONSchemaProps> = spec.schemas().map(Arc::as_ref).collect();
            let mut before: Vec<&JSONSchemaProps> =
                old.into_iter().flat_map(CrdSpec::schemas).map(Arc::as_ref).collect();
            let expressions = Expressions::of(before.iter().copied());
            // A schema that is not structural stands for all that v1beta1 allows.
            let anything = JSONSchemaProps::default();
            if beta {
                before.push(&anything);
            }
            let waived = Options::update(&before, &new, spec.preserves_unknown_fields(), &expressions);
            options = Options {
                require_valid_property_type: waived.require_valid_property_type && !beta,
                preexisting_expressions: None,
                environments: None,
                ..waived
            };
            old_expressions = old.map(|_| expressions.clone());
        }
        options.cost_hints = ratchets.cost_hints;
        Self { options, old_expressions, old, allow_defaults: ratchets.allow_defaults }
    }

    /// The errors of a schema; `path` holds its `openAPIV3Schema`, `version` is one that uses it.
    pub(super) fn validate(
        &self,
        schema: &Arc<JSONSchemaProps>,
        path: &Path<'_>,
        status_enabled: bool,
        version: &str,
    ) -> Vec<FieldError> {
        let unchanged =
            old_schema(self.old, version).is_some_and(|old| Arc::ptr_eq(old, schema) || old == schema);
        let options = Options {
            suppress_per_expression_cost: unchanged,
            preexisting_expressions: self.old_expressions.as_ref(),
            ..self.options.clone()
        };
        let mut errors = validate_schema(schema, &SchemaContext { path: *path, status_enabled, options });
        if !self.allow_defaults {
            forbid_defaults(schema, &path.child("openAPIV3Schema"), &mut errors);
        }
        errors
    }
}

fn forbid_defaults(schema: &JSONSchemaProps, path: &Path<'_>, errors: &mut Vec<FieldError>) {
    if !schema.default_value().is_null() {
        errors.push(FieldError::forbidden(path.child("default"), NO_DEFAULTS));
    }
    grow_stack(|| {
        if let Some(below) = schema.additional_properties() {
            forbid_defaults(below, &path.child("additionalProperties"), errors);
        }
        let properties = path.child("properties");
        for (name, below) in schema.properties() {
            forbid_defaults(below, &properties.key(name), errors);
        }
        if let Some(below) = schema.not() {
            forbid_defaults(below, &path.child("not"), errors);
        }
        for (key, list) in
            [("allOf", schema.all_of()), ("oneOf", schema.one_of()), ("anyOf", schema.any_of())]
        {
            let path = path.child(key);
            for (i, below) in list.iter().enumerate() {
                forbid_defaults(below, &path.index(i), errors);
            }
        }
        if let Some(below) = schema.items.as_ref().and_then(SchemaOrArray::schema) {
            forbid_defaults(below, &path.child("items"), errors);
        }
    });
}
