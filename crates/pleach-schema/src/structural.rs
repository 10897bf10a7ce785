//! Structural schemas: what must hold so that types and fields are apparent without understanding
//! `allOf`, `anyOf`, `oneOf` and `not`.
//!
//! A [`Structural`] is a [`JSONSchemaProps`] of which it is known that it uses no keyword beyond the
//! structural language (upstream: that its conversion succeeded). Whether it keeps the rules is
//! another question, answered by [`Structural::violations`] with every violation at once.

mod completeness;
mod invariants;
mod rewrite;
pub(crate) mod shape;
#[cfg(test)]
mod tests;

use std::ops::Deref;

use pleach_json::grow_stack;
use pleach_meta::{FieldError, FieldErrors, Path};

use crate::props::JSONSchemaProps;

/// A schema in the structural language.
#[derive(Clone, Copy, Debug)]
pub struct Structural<'a>(&'a JSONSchemaProps);

impl<'a> Structural<'a> {
    /// Takes a schema that uses only structural keywords; the error names the first other keyword.
    pub fn of(schema: &'a JSONSchemaProps) -> Result<Self, String> {
        convertible(schema)?;
        Ok(Self(schema))
    }

    /// Every rule of structural schemas that this one breaks, sorted by text; `path` is where the
    /// schema sits. This is also what the `NonStructuralSchema` condition lists.
    pub fn violations(self, path: &Path<'_>) -> Vec<FieldError> {
        let mut errors = FieldErrors::default();
        invariants::check(self.0, invariants::Level::Root, path, &mut errors);
        completeness::check(self.0, path, &mut errors);
        let mut errors = errors.into_vec();
        errors.sort_by_cached_key(ToString::to_string);
        errors
    }

    /// Whether all rules of structural schemas are kept.
    pub fn is_valid(self) -> bool {
        let mut errors = FieldErrors::of_any();
        invariants::check(self.0, invariants::Level::Root, &Path::ROOT, &mut errors);
        completeness::check(self.0, &Path::ROOT, &mut errors);
        errors.is_empty()
    }

    /// The schema.
    pub fn schema(self) -> &'a JSONSchemaProps {
        self.0
    }
}

impl Deref for Structural<'_> {
    type Target = JSONSchemaProps;
    fn deref(&self) -> &JSONSchemaProps {
        self.0
    }
}

/// The first keyword that has no place in a structural schema, depth first.
fn convertible(schema: &JSONSchemaProps) -> Result<(), String> {
    let rare = schema.rare();
    let unsupported = [
        ("id", !rare.id.is_empty()),
        ("schema", !rare.schema.is_empty()),
        ("$ref", rare.ref_.as_ref().is_some_and(|r| !r.is_empty())),
        ("patternProperties", rare.pattern_properties.as_ref().is_some_and(|m| !m.is_empty())),
        ("dependencies", rare.dependencies.as_ref().is_some_and(|m| !m.is_empty())),
        ("additionalItems", rare.additional_items.is_some()),
        ("definitions", rare.definitions.as_ref().is_some_and(|m| !m.is_empty())),
    ];
    if let Some((keyword, _)) = unsupported.iter().find(|(_, used)| *used) {
        return Err(format!("OpenAPIV3Schema '{keyword}' is not supported"));
    }
    if schema.items.as_ref().is_some_and(|items| !items.list().is_empty()) {
        return Err("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
    }
    if schema.x_preserve_unknown_fields == Some(false) {
        return Err(
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined".to_owned()
        );
    }
    grow_stack(|| schema.children().try_for_each(convertible))
}
