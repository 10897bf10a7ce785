//! Validates the keywords of a node: those that CRDs may not use, and forbidden combinations.

use pleach_meta::{FieldError, FieldErrors, Path};

use super::Context;
use crate::options::Options;
use crate::props::JSONSchemaProps;

/// The types a schema may name.
pub(crate) const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

pub(crate) fn check(
    schema: &JSONSchemaProps,
    path: &Path<'_>,
    context: Context,
    options: &Options<'_>,
    errors: &mut FieldErrors,
) {
    let type_ = &schema.type_;
    if options.require_valid_property_type && !type_.is_empty() && !TYPES.contains(&type_.as_str()) {
        errors.push(FieldError::not_supported(path.child("type"), type_.clone(), &TYPES));
    }
    if let Some(reason) = context.no_default
        && !schema.default_value().is_null()
    {
        errors.push(FieldError::forbidden(path.child("default"), format!("must not be set {reason}")));
    }
    let rare = schema.rare();
    for (keyword, used) in [
        ("id", !rare.id.is_empty()),
        ("additionalItems", rare.additional_items.is_some()),
        ("patternProperties", rare.pattern_properties.as_ref().is_some_and(|map| !map.is_empty())),
        ("definitions", rare.definitions.as_ref().is_some_and(|map| !map.is_empty())),
        ("dependencies", rare.dependencies.is_some()),
        ("$ref", rare.ref_.is_some()),
    ] {
        if used {
            errors.push(FieldError::forbidden(path.child(keyword), format!("{keyword} is not supported")));
        }
    }
    let mut forbid = |keyword, detail| errors.push(FieldError::forbidden(path.child(keyword), detail));
    if type_ == "null" {
        forbid("type", "type cannot be set to null, use nullable as an alternative");
    }
    if schema.items.as_ref().is_some_and(|items| !items.list().is_empty()) {
        forbid("items", "items must be a schema object and not an array");
    }
    if schema.x_embedded_resource && context.inside_resource_meta {
        forbid("x-kubernetes-embedded-resource", "must not be used inside of resource meta");
    }
    if schema.value().unique_items {
        forbid(
            "uniqueItems",
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic",
        );
    }
}
