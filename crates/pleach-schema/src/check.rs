//! Validation of the schema of a CRD: the whole check of one schema block, in the API server's order.
//!
//! Called for every version of a CustomResourceDefinition, or once for the schema that all versions share.

use pleach_meta::{BadValue, FieldError, Path};

use crate::options::Options;
use crate::props::{JSONSchemaProps, go_json};
use crate::rules::{RuleContext, TotalCost};
use crate::structural::Structural;
use crate::{default_check, walk};

/// The location of a schema and the rules it is validated with.
#[derive(Debug)]
pub struct SchemaContext<'a> {
    /// The block that holds `openAPIV3Schema`: `spec.validation` or `spec.versions[0].schema`.
    pub path: Path<'a>,
    /// Whether the status subresource is enabled, which restricts the root.
    pub status_enabled: bool,
    /// Which rules apply.
    pub options: Options<'a>,
}

/// Validates a schema of a CRD.
pub fn validate_schema(schema: &JSONSchemaProps, context: &SchemaContext<'_>) -> Vec<FieldError> {
    let path = context.path.child("openAPIV3Schema");
    let mut errors = Vec::new();
    if context.status_enabled {
        errors.extend(root_with_status(schema, &path));
    }
    if schema.nullable {
        errors.push(FieldError::forbidden(path.child("nullable"), "nullable cannot be true at the root"));
    }
    let mut rules = None;
    let mut not_structural = None;
    if context.options.require_structural_schema {
        match Structural::of(schema) {
            Err(error) => not_structural = Some(error),
            Ok(structural) => {
                let mut found = structural.violations(&path);
                if found.is_empty() {
                    found = default_check::validate_defaults(
                        structural,
                        &path,
                        context.options.require_pruned_defaults,
                    );
                }
                if found.is_empty() && schema.any_node(&mut |node| !node.validations().is_empty()) {
                    rules = Some(RuleContext::root(schema));
                }
                errors.extend(found);
            }
        }
    }
    let mut cost = TotalCost::default();
    let found = walk::walk(schema, &path, &context.options, rules.as_ref(), &mut cost);
    errors.extend(found.schema.into_vec());
    errors.extend(found.cel.into_vec());
    if let Some(error) = not_structural
        && errors.is_empty()
    {
        errors.push(FieldError::invalid(path, "", error));
    }
    errors.extend(cost.errors(&path));
    errors
}

/// The estimated cost of each rule and message expression that compiles, with its path.
pub fn rule_costs(schema: &JSONSchemaProps, context: &SchemaContext<'_>) -> Vec<(String, u64)> {
    let path = context.path.child("openAPIV3Schema");
    let mut cost = TotalCost::default();
    cost.all = Some(Vec::new());
    walk::walk(schema, &path, &context.options, Some(&RuleContext::root(schema)), &mut cost);
    cost.all.unwrap_or_default()
}

/// With a status subresource the root may use few keywords; the first other one is reported.
fn root_with_status(schema: &JSONSchemaProps, path: &Path<'_>) -> Option<FieldError> {
    let (value, rare) = (schema.value(), schema.rare());
    // In the order of the fields of the internal struct; `type` is the third to be checked.
    let before_type = [!rare.id.is_empty(), !rare.schema.is_empty(), rare.ref_.is_some()];
    let after_type = [
        schema.nullable,
        !rare.default.is_null(),
        value.enum_.is_some(),
        value.max_properties.is_some(),
        value.min_properties.is_some(),
        value.all_of.is_some(),
        value.one_of.is_some(),
        value.any_of.is_some(),
        value.not.is_some(),
        schema.additional_properties.is_some(),
        rare.pattern_properties.is_some(),
        rare.dependencies.is_some(),
        rare.additional_items.is_some(),
        rare.definitions.is_some(),
        schema.x_embedded_resource,
        schema.x_int_or_string,
        rare.x_list_map_keys.is_some(),
        rare.x_list_type.is_some(),
        rare.x_map_type.is_some(),
        rare.x_unions.is_some(),
    ];
    let other_field = || {
        FieldError::invalid(
            path,
            BadValue::Raw(go_json(schema)),
            "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength \
             MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties \
             ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at the root of the \
             schema if the status subresource is enabled",
        )
    };
    if before_type.contains(&true) {
        return Some(other_field());
    }
    if !schema.type_.is_empty() && schema.type_ != "object" {
        return Some(FieldError::invalid(
            path.child("type"),
            schema.type_.clone(),
            "only \"object\" is allowed as the type at the root of the schema if the status subresource is \
             enabled",
        ));
    }
    after_type.contains(&true).then(other_field)
}

#[cfg(test)]
mod tests;
