//! Defaults, when a CRD is written: they must survive pruning and be valid.
//!
//! Visited are the node itself, its items and its properties; never additional properties, whose
//! defaults nobody looks at.

use pleach_json::{Value, grow_stack};
use pleach_meta::{FieldError, Path};

use crate::props::JSONSchemaProps;
use crate::report::Report;
use crate::structural::Structural;

/// Checks all defaults of a schema that keeps the structural rules.
pub(crate) fn validate_defaults(schema: Structural<'_>, path: &Path<'_>, require_pruned: bool) -> Vec<FieldError> {
    let mut errors = Report::default();
    visit(schema.schema(), path, require_pruned, &mut errors);
    errors.into_vec()
}

fn visit(schema: &JSONSchemaProps, path: &Path<'_>, require_pruned: bool, errors: &mut Report) {
    let default = schema.default_value();
    if !default.is_null() && require_pruned && would_prune(default, Some(schema)) {
        errors.push(FieldError::invalid(
            path.child("default"),
            default.clone(),
            "must not have unknown fields",
        ));
    }
    grow_stack(|| {
        if let Some(items) = schema.items() {
            visit(items, &path.child("items"), require_pruned, errors);
        }
        let properties = path.child("properties");
        for (name, property) in schema.properties() {
            visit(property, &properties.key(name), require_pruned, errors);
        }
    });
}

/// Whether some default of the schema has fields that pruning would remove.
pub fn has_unpruned_default(schema: &JSONSchemaProps) -> bool {
    let own = schema.default_value();
    (!own.is_null() && would_prune(own, Some(schema)))
        || grow_stack(|| {
            schema.items().is_some_and(has_unpruned_default)
                || schema.properties().iter().any(|(_, property)| has_unpruned_default(property))
        })
}

/// Whether pruning `value` with `schema` would remove a field.
pub(crate) fn would_prune(value: &Value, schema: Option<&JSONSchemaProps>) -> bool {
    grow_stack(|| match value {
        Value::Object(members) => members.iter().any(|(name, member)| {
            let Some(schema) = schema else { return true };
            if schema.x_embedded_resource && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                return false;
            }
            if let Some(property) = schema.property(name) {
                would_prune(member, Some(property))
            } else if schema.additional_properties.is_some() {
                would_prune(member, schema.additional_properties())
            } else {
                !schema.preserves_unknown_fields()
            }
        }),
        Value::Array(items) => {
            let below = schema.and_then(JSONSchemaProps::items);
            let preserved = schema.is_some_and(JSONSchemaProps::preserves_unknown_fields);
            items.iter().any(|item| {
                if preserved { would_prune_preserved(item, below) } else { would_prune(item, below) }
            })
        }
        _ => false,
    })
}

/// The same below a list whose unknown fields are preserved: its items inherit that.
fn would_prune_preserved(value: &Value, schema: Option<&JSONSchemaProps>) -> bool {
    let Some(schema) = schema else { return false };
    grow_stack(|| match value {
        Value::Object(members) => members.iter().any(|(name, member)| {
            if schema.x_embedded_resource && matches!(name.as_str(), "apiVersion" | "kind" | "metadata") {
                return false;
            }
            if let Some(property) = schema.property(name) {
                would_prune(member, Some(property))
            } else {
                schema.additional_properties.is_some() && would_prune(member, schema.additional_properties())
            }
        }),
        Value::Array(items) => items.iter().any(|item| would_prune_preserved(item, schema.items())),
        _ => false,
    })
}
