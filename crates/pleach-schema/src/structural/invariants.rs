//! The rules a structural schema keeps at every node, outside and inside of junctors.
//!
//! Three kinds of place are distinguished: the root, the items of an array, and the fields of an
//! object (properties and additional properties). Inside a junctor little more than value
//! validation is allowed, wherever the junctor is.

use pleach_json::grow_stack;
use pleach_meta::{FieldError, FieldErrors, Path};

use crate::props::{JSONSchemaProps, SchemaOrBool};
use crate::structural::shape;
use crate::unions;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Root,
    Item,
    Field,
}

/// Checks `schema` as the place `level` of a structural schema, and all below it.
pub(super) fn check(schema: &JSONSchemaProps, level: Level, path: &Path<'_>, errors: &mut FieldErrors) {
    if errors.is_full() {
        return;
    }
    children(schema, path, errors);
    // Again, because every error prints the whole path and there may be thousands on the way back.
    if errors.is_full() {
        return;
    }
    types(schema, level, path, errors);
    extensions(schema, path, errors);
    unions::check(schema, path, errors);
    if level == Level::Root || schema.x_embedded_resource {
        resource(schema, level, path, errors);
    }
    let skip_any_of = shape::is_int_or_string(schema.any_of());
    let skip_first = schema.all_of().first().is_some_and(|first| shape::is_int_or_string(first.any_of()));
    value_validation(schema, skip_any_of, skip_first, path, errors);
}

fn children(schema: &JSONSchemaProps, path: &Path<'_>, errors: &mut FieldErrors) {
    if schema.type_ == "array" && schema.items().is_none() {
        errors.push(FieldError::required(path.child("items"), "must be specified"));
    }
    grow_stack(|| {
        if let Some(items) = schema.items() {
            check(items, Level::Item, &path.child("items"), errors);
        }
        let properties = path.child("properties");
        for (name, property) in schema.properties() {
            check(property, Level::Field, &properties.key(name), errors);
        }
        if let Some(additional) = schema.additional_properties() {
            check(additional, Level::Field, &path.child("additionalProperties"), errors);
        }
    });
}

fn types(schema: &JSONSchemaProps, level: Level, path: &Path<'_>, errors: &mut FieldErrors) {
    let type_path = path.child("type");
    if schema.x_embedded_resource && schema.type_ != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(if schema.type_.is_empty() {
            FieldError::required(type_path, detail)
        } else {
            FieldError::invalid(type_path, schema.type_.clone(), detail)
        });
    } else if schema.type_.is_empty() && !schema.x_int_or_string && !schema.preserves_unknown_fields() {
        let place = match level {
            Level::Root => "at the root",
            Level::Item => "for specified array items",
            Level::Field => "for specified object fields",
        };
        errors.push(FieldError::required(type_path, format!("must not be empty {place}")));
    }
    if level == Level::Root {
        if !schema.type_.is_empty() && schema.type_ != "object" {
            errors.push(FieldError::invalid(
                path.child("type"),
                schema.type_.clone(),
                "must be object at the root",
            ));
        }
        if schema.additional_properties.is_some() {
            errors.push(FieldError::forbidden(
                path.child("additionalProperties"),
                "must not be used at the root",
            ));
        }
    }
}

fn extensions(schema: &JSONSchemaProps, path: &Path<'_>, errors: &mut FieldErrors) {
    if schema.x_int_or_string {
        let detail = "must be false if x-kubernetes-int-or-string is true";
        if schema.preserves_unknown_fields() {
            errors.push(FieldError::invalid(
                path.child("x-kubernetes-preserve-unknown-fields"),
                true,
                detail,
            ));
        }
        if schema.x_embedded_resource {
            errors.push(FieldError::invalid(path.child("x-kubernetes-embedded-resource"), true, detail));
        }
    }
    if schema.x_embedded_resource {
        if schema.additional_properties.is_some() {
            errors.push(FieldError::forbidden(
                path.child("additionalProperties"),
                "must not be used if x-kubernetes-embedded-resource is set",
            ));
        }
        if !schema.preserves_unknown_fields() && schema.properties().is_empty() {
            errors.push(FieldError::required(
                path.child("properties"),
                "must not be empty if x-kubernetes-embedded-resource is true without \
                 x-kubernetes-preserve-unknown-fields",
            ));
        }
    }
}

/// The rules for `apiVersion`, `kind` and `metadata` where a whole resource is described.
fn resource(schema: &JSONSchemaProps, level: Level, path: &Path<'_>, errors: &mut FieldErrors) {
    let properties = path.child("properties");
    for (name, want) in [("kind", "string"), ("apiVersion", "string"), ("metadata", "object")] {
        if let Some(property) = schema.property(name).filter(|p| p.type_ != want) {
            errors.push(FieldError::invalid(
                properties.key(name).child("type"),
                property.type_.clone(),
                format!("must be {want}"),
            ));
        }
    }
    if level == Level::Root
        && let Some(metadata) = schema.property("metadata")
        && !shape::is_name_only_metadata(metadata)
    {
        errors.push(FieldError::forbidden(
            properties.key("metadata"),
            "must not specify anything other than name and generateName, but metadata is implicitly specified",
        ));
    }
}

/// Checks the value validation of a node: its pattern and its junctors.
fn value_validation(
    schema: &JSONSchemaProps,
    skip_any_of: bool,
    skip_first_all_of_any_of: bool,
    path: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let pattern = &schema.value().pattern;
    if !pattern.is_empty()
        && let Err(error) = pleach_regex::Regex::new(pattern)
    {
        errors.push(FieldError::invalid(
            path.child("pattern"),
            pattern.clone(),
            format!("must be a valid regular expression, but isn't: {error}"),
        ));
    }
    grow_stack(|| {
        let all_of = path.child("allOf");
        for (i, nested) in schema.all_of().iter().enumerate() {
            self::nested(nested, skip_first_all_of_any_of && i == 0, &all_of.index(i), errors);
        }
        if !skip_any_of {
            let any_of = path.child("anyOf");
            for (i, nested) in schema.any_of().iter().enumerate() {
                self::nested(nested, false, &any_of.index(i), errors);
            }
        }
        let one_of = path.child("oneOf");
        for (i, nested) in schema.one_of().iter().enumerate() {
            self::nested(nested, false, &one_of.index(i), errors);
        }
        if let Some(not) = schema.not() {
            self::nested(not, false, &path.child("not"), errors);
        }
    });
}

/// Checks a schema inside a junctor.
fn nested(schema: &JSONSchemaProps, skip_any_of: bool, path: &Path<'_>, errors: &mut FieldErrors) {
    if errors.is_full() {
        return;
    }
    value_validation(schema, skip_any_of, false, path, errors);
    grow_stack(|| {
        if let Some(items) = schema.items() {
            nested(items, false, &path.child("items"), errors);
        }
        let properties = path.child("properties");
        for (name, property) in schema.properties() {
            nested(property, false, &properties.key(name), errors);
        }
    });
    if errors.is_full() {
        return;
    }
    forbidden(schema, path, errors);
    if schema.property("metadata").is_some() {
        errors.push(FieldError::forbidden(
            path.child("properties").key("metadata"),
            "must not be specified in a nested context",
        ));
    }
}

/// The keywords that have no place inside a junctor.
fn forbidden(schema: &JSONSchemaProps, path: &Path<'_>, errors: &mut FieldErrors) {
    let rare = schema.rare();
    let additional = match &schema.additional_properties {
        Some(SchemaOrBool::Schema(_)) => true,
        // `false` is dropped on the way into the structural form, `true` is an empty schema.
        Some(SchemaOrBool::Bool(allows)) => *allows,
        None => false,
    };
    for (keyword, used, want) in [
        ("type", !schema.type_.is_empty(), "empty"),
        ("additionalProperties", additional, "undefined"),
        ("title", !rare.title.is_empty(), "empty"),
        ("description", !schema.description.is_empty(), "empty"),
        ("default", !rare.default.is_null(), "undefined"),
        ("nullable", schema.nullable, "false"),
        ("x-kubernetes-preserve-unknown-fields", schema.preserves_unknown_fields(), "false"),
        ("x-kubernetes-embedded-resource", schema.x_embedded_resource, "false"),
        ("x-kubernetes-int-or-string", schema.x_int_or_string, "false"),
        ("x-kubernetes-list-map-keys", !schema.list_map_keys().is_empty(), "empty"),
        ("x-kubernetes-list-type", rare.x_list_type.is_some(), "undefined"),
        ("x-kubernetes-map-type", rare.x_map_type.is_some(), "undefined"),
        ("x-kubernetes-validations", !schema.validations().is_empty(), "empty"),
        ("x-kubernetes-unions", !schema.unions().is_empty(), "empty"),
    ] {
        if used {
            errors
                .push(FieldError::forbidden(path.child(keyword), format!("must be {want} to be structural")));
        }
    }
}
