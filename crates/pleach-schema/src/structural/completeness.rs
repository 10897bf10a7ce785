//! Completeness: every field that a junctor restricts must be declared outside of it.
//!
//! Odd, and kept: only junctors at the root of the schema are checked, never those below a
//! property or item.

use pleach_json::grow_stack;
use pleach_meta::{FieldError, FieldErrors, Path};

use crate::props::JSONSchemaProps;

pub(super) fn check(schema: &JSONSchemaProps, path: &Path<'_>, errors: &mut FieldErrors) {
    junctors(schema, Some(schema), path, path, errors);
}

/// Looks for the counterparts of everything in the junctors of `holder` within `structure`.
fn junctors(
    holder: &JSONSchemaProps,
    structure: Option<&JSONSchemaProps>,
    structure_path: &Path<'_>,
    path: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let lists = [("allOf", holder.all_of()), ("anyOf", holder.any_of()), ("oneOf", holder.one_of())];
    for (keyword, list) in lists {
        let junctor = path.child(keyword);
        for (i, nested) in list.iter().enumerate() {
            counterpart(nested, structure, structure_path, &junctor.index(i), errors);
        }
    }
    if let Some(not) = holder.not() {
        counterpart(not, structure, structure_path, &path.child("not"), errors);
    }
}

fn counterpart(
    nested: &JSONSchemaProps,
    structure: Option<&JSONSchemaProps>,
    structure_path: &Path<'_>,
    path: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let Some(found) = structure else {
        errors.push(FieldError::required(structure_path, format!("because it is defined in {path}")));
        return;
    };
    if errors.is_full() {
        return;
    }
    grow_stack(|| {
        junctors(nested, structure, structure_path, path, errors);
        if let Some(items) = nested.items() {
            counterpart(items, found.items(), &structure_path.child("items"), &path.child("items"), errors);
        }
        let (structure_properties, properties) =
            (structure_path.child("properties"), path.child("properties"));
        for (name, property) in nested.properties() {
            let structure_path = structure_properties.key(name);
            counterpart(property, found.property(name), &structure_path, &properties.key(name), errors);
        }
    });
}
