//! Shapes of schemas that the rules make exceptions for.
//!
//! Upstream compares Go structs deeply, after a conversion that forgets some empty lists and keeps
//! others. [`is_bare`] knows which.

use crate::props::{JSONSchemaProps, SchemaOrBool};

/// Whether `any_of` is exactly an integer or a string, in this order, and nothing else.
pub(crate) fn is_int_or_string(any_of: &[JSONSchemaProps]) -> bool {
    // Inside a junctor `additionalProperties: false` is forgotten.
    let bare = |schema: &JSONSchemaProps, type_| {
        let additional = matches!(schema.additional_properties, None | Some(SchemaOrBool::Bool(false)));
        additional && schema.properties().is_empty() && is_bare(schema, type_)
    };
    matches!(any_of, [a, b] if bare(a, "integer") && bare(b, "string"))
}

/// Whether a root `metadata` has nothing but a type, a default and schemas of `name` and `generateName`.
pub(crate) fn is_name_only_metadata(metadata: &JSONSchemaProps) -> bool {
    let names_only = metadata.properties().iter().all(|(name, _)| name == "name" || name == "generateName");
    if !names_only || metadata.additional_properties.is_some() {
        return false;
    }
    if metadata.default_value().is_null() {
        return is_bare(metadata, &metadata.type_);
    }
    let mut without_default = metadata.clone();
    without_default.rare_mut().default = pleach_json::Value::Null;
    is_bare(&without_default, &metadata.type_)
}

/// Whether a schema has nothing but the type `type_`, properties and additional properties aside.
fn is_bare(schema: &JSONSchemaProps, type_: &str) -> bool {
    let (value, rare) = (schema.value(), schema.rare());
    let junctors = [&value.all_of, &value.any_of, &value.one_of];
    schema.type_ == type_
        && schema.description.is_empty()
        && schema.required.is_none()
        && schema.items().is_none()
        && !schema.nullable
        && !schema.x_embedded_resource
        && !schema.x_int_or_string
        && schema.x_preserve_unknown_fields.is_none()
        && value.format.is_empty()
        && value.pattern.is_empty()
        && value.maximum.is_none()
        && !value.exclusive_maximum
        && value.minimum.is_none()
        && !value.exclusive_minimum
        && !value.unique_items
        && value.max_length.is_none()
        && value.min_length.is_none()
        && value.max_items.is_none()
        && value.min_items.is_none()
        && value.max_properties.is_none()
        && value.min_properties.is_none()
        && value.multiple_of.is_none()
        && value.enum_.as_ref().is_none_or(Vec::is_empty)
        && junctors.iter().all(|list| list.as_ref().is_none_or(|list| list.is_empty()))
        && value.not.is_none()
        && rare.title.is_empty()
        && rare.default.is_null()
        && rare.example.is_null()
        && rare.external_docs.is_none()
        && rare.x_list_type.is_none()
        && rare.x_list_map_keys.is_none()
        && rare.x_map_type.is_none()
        && rare.x_validations.is_none()
        && rare.x_unions.is_none()
}
