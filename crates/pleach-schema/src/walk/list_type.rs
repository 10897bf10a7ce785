//! Validates `x-kubernetes-map-type`, `x-kubernetes-list-type` and
//! `x-kubernetes-list-map-keys`.
//!
//! Odd, and kept: a set of non-atomic objects shows the items' *list* type as the bad value, and a
//! map key of a compound type shows the type of the item.

use std::collections::HashSet;

use pleach_json::{Str, Value};
use pleach_meta::{BadValue, FieldError, FieldErrors, Path};

use crate::options::Options;
use crate::props::{JSONSchemaProps, go_json_items};

const LIST_TYPE: &str = "x-kubernetes-list-type";
const MAP_TYPE: &str = "x-kubernetes-map-type";
const KEYS: &str = "x-kubernetes-list-map-keys";

pub(crate) fn check(
    schema: &JSONSchemaProps,
    path: &Path<'_>,
    options: &Options<'_>,
    errors: &mut FieldErrors,
) {
    let rare = schema.rare();
    if let Some(map_type) = &rare.x_map_type {
        wants_type(schema, "object", MAP_TYPE, path, errors);
        if map_type != "atomic" && map_type != "granular" {
            errors.push(FieldError::not_supported(
                path.child(MAP_TYPE),
                map_type.clone(),
                &["atomic", "granular"],
            ));
        }
    }
    if let Some(list_type) = &rare.x_list_type {
        if schema.type_ != "array" {
            wants_type(schema, "array", LIST_TYPE, path, errors);
        } else if options.require_atomic_set_type {
            set_items(schema, path, errors);
        }
        if !["atomic", "set", "map"].contains(&list_type.as_str()) {
            errors.push(FieldError::not_supported(
                path.child(LIST_TYPE),
                list_type.clone(),
                &["atomic", "set", "map"],
            ));
        }
    }
    map_keys(schema, path, errors);
    if options.require_map_list_keys_map_set_validation {
        map_set(schema, path, errors);
    }
}

/// Whether a set in `schema` itself has items that are compared by their parts.
pub(crate) fn has_non_atomic_set_items(schema: &JSONSchemaProps) -> bool {
    let mut errors = FieldErrors::of_any();
    set_items(schema, &Path::ROOT, &mut errors);
    !errors.is_empty()
}

/// Whether `schema` itself breaks the later rules about keys and nulls in maps and sets.
pub(crate) fn breaks_map_set_rules(schema: &JSONSchemaProps) -> bool {
    let mut errors = FieldErrors::of_any();
    map_set(schema, &Path::ROOT, &mut errors);
    !errors.is_empty()
}

fn wants_type(
    schema: &JSONSchemaProps,
    type_: &str,
    keyword: &str,
    path: &Path<'_>,
    errors: &mut FieldErrors,
) {
    if schema.type_ == type_ {
        return;
    }
    let detail = format!("must be {type_} if {keyword} is specified");
    errors.push(if schema.type_.is_empty() {
        FieldError::required(path.child("type"), detail)
    } else {
        FieldError::invalid(path.child("type"), schema.type_.clone(), detail)
    });
}

fn set_items(schema: &JSONSchemaProps, path: &Path<'_>, errors: &mut FieldErrors) {
    let Some(items) = schema.items().filter(|_| schema.list_type() == "set") else { return };
    let rare = items.rare();
    let wrong = match items.type_.as_str() {
        "array" => rare.x_list_type.as_ref().is_some_and(|t| t != "atomic").then_some(LIST_TYPE),
        "object" => (rare.x_map_type.as_deref() != Some("atomic")).then_some(MAP_TYPE),
        _ => None,
    };
    if let Some(keyword) = wrong {
        errors.push(FieldError::invalid(
            path.child("items").child(keyword),
            Value::from(rare.x_list_type.clone()),
            "must be atomic as item of a list with x-kubernetes-list-type=set",
        ));
    }
}

fn map_keys(schema: &JSONSchemaProps, path: &Path<'_>, errors: &mut FieldErrors) {
    let keys = schema.list_map_keys();
    if schema.list_type() != "map" {
        if !keys.is_empty() {
            let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
            errors.push(match &schema.rare().x_list_type {
                None => FieldError::required(path.child(LIST_TYPE), detail),
                Some(list_type) => FieldError::invalid(path.child(LIST_TYPE), list_type.clone(), detail),
            });
        }
        return;
    }
    if keys.is_empty() {
        errors.push(FieldError::required(
            path.child(KEYS),
            "must not be empty if x-kubernetes-list-type is map",
        ));
    }
    let items_path = path.child("items");
    let Some(items) = &schema.items else {
        errors.push(FieldError::required(items_path, "must have a schema if x-kubernetes-list-type is map"));
        return;
    };
    let Some(items) = items.schema() else {
        errors.push(FieldError::invalid(
            items_path,
            BadValue::Raw(go_json_items(items)),
            "must only have a single schema if x-kubernetes-list-type is map",
        ));
        return;
    };
    if items.type_ != "object" {
        errors.push(FieldError::invalid(
            items_path.child("type"),
            items.type_.clone(),
            "must be object if parent array's x-kubernetes-list-type is map",
        ));
        return;
    }
    let all = || keys.iter().map(|key| Value::from(key.clone())).collect::<Vec<_>>();
    let properties = items_path.child("properties");
    let mut seen: HashSet<&Str> = HashSet::with_capacity(keys.len());
    for key in keys {
        if errors.is_full() {
            return;
        }
        match items.property(key) {
            Some(property) if property.type_ == "array" || property.type_ == "object" => {
                errors.push(FieldError::invalid(
                    properties.key(key).child("type"),
                    items.type_.clone(),
                    "must be a scalar type if parent array's x-kubernetes-list-type is map",
                ));
            }
            Some(_) => {}
            None => errors.push(FieldError::invalid(
                path.child(KEYS),
                all(),
                "entries must all be names of item properties",
            )),
        }
        if !seen.insert(key) {
            errors.push(FieldError::invalid(path.child(KEYS), all(), "must not contain duplicate entries"));
        }
    }
}

/// The newer rules, which are ratcheted for CRDs that broke them before.
fn map_set(schema: &JSONSchemaProps, path: &Path<'_>, errors: &mut FieldErrors) {
    let list_type = schema.list_type();
    let Some(items) = schema.items().filter(|_| list_type == "map" || list_type == "set") else { return };
    let path = path.child("items");
    if items.nullable {
        errors.push(FieldError::forbidden(
            path.child("nullable"),
            format!("cannot be nullable when x-kubernetes-list-type is {list_type}"),
        ));
    }
    if list_type == "set" {
        return;
    }
    let properties = path.child("properties");
    let required: HashSet<&Str> = items.required().iter().collect();
    for key in schema.list_map_keys() {
        let Some(property) = items.property(key) else { continue };
        let path = properties.key(key);
        if property.default_value().is_null() && !required.contains(key) {
            errors.push(FieldError::required(
                path.child("default"),
                "this property is in x-kubernetes-list-map-keys, so it must have a default or be a \
                 required property",
            ));
        }
        if property.nullable {
            errors.push(FieldError::forbidden(
                path.child("nullable"),
                "this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
            ));
        }
    }
}
