//! The skeleton of a schema: what pruning needs to know of it, without value validation and junctors,
//! whose types and fields are merged into one place.
//!
//! By definition `skel(s) = merge(drop(s), skel(s_1), …, skel(s_n))` where the `s_i` are the schemas
//! of `allOf`, `anyOf`, `oneOf` and `not`, `drop` keeps `type`, `items`, `additionalItems`,
//! `properties`, `patternProperties` and `additionalProperties`, and `merge` keeps a type only if
//! all agree on it (one that says none does not agree) and merges the rest member by member. The
//! schemas below are skeletons too.
//!
//! The design states the property that what a schema accepts its skeleton accepts. It holds where
//! branches do not say types of fields that other branches leave open, so for structural schemas
//! and for `allOf`; the design's own fifth example breaks it, and a test here says how. The weaker
//! properties hold for all schemas: every field that is named is named in the skeleton, and no type
//! is there that the schema does not say.
//!
//! The cost is linear in the size of the schema: every node is merged into one place, once per
//! level of junctors around it.

use pleach_json::{Str, grow_stack};
use pleach_meta::Path;
use std::collections::BTreeMap;

use crate::props::{JSONSchemaProps, SchemaMap, SchemaOrArray, SchemaOrBool};

/// The skeleton of `schema`.
pub fn skel(schema: &JSONSchemaProps) -> JSONSchemaProps {
    grow_stack(|| {
        let mut parts = Vec::new();
        collect(schema, &mut parts);
        merge_nodes(&parts)
    })
}

/// Merges schemas that are skeletons already.
pub fn merge(schemas: &[JSONSchemaProps]) -> JSONSchemaProps {
    let parts: Vec<&JSONSchemaProps> = schemas.iter().collect();
    merge_nodes(&parts)
}

/// The places where a skeleton has both named and free members: an object cannot be both a struct
/// and a map, so a CRD with such a schema cannot be pruned.
pub fn polymorphic_objects(skeleton: &JSONSchemaProps, path: &Path<'_>) -> Vec<String> {
    let mut out = Vec::new();
    find_polymorphic(skeleton, path, &mut out);
    out
}

fn find_polymorphic(schema: &JSONSchemaProps, path: &Path<'_>, out: &mut Vec<String>) {
    let free = schema.additional_properties.is_some() || schema.rare().pattern_properties.is_some();
    if schema.properties.is_some() && free {
        out.push(path.to_string());
    }
    grow_stack(|| {
        let properties = path.child("properties");
        for (name, property) in schema.properties() {
            find_polymorphic(property, &properties.key(name), out);
        }
        for items in schema.items.iter().flat_map(SchemaOrArray::schemas) {
            find_polymorphic(items, &path.child("items"), out);
        }
        if let Some(additional) = schema.additional_properties() {
            find_polymorphic(additional, &path.child("additionalProperties"), out);
        }
    });
}

/// A schema and all schemas that junctors put in its place.
fn collect<'a>(schema: &'a JSONSchemaProps, parts: &mut Vec<&'a JSONSchemaProps>) {
    parts.push(schema);
    let junctors = schema.all_of().iter().chain(schema.any_of()).chain(schema.one_of()).chain(schema.not());
    grow_stack(|| junctors.for_each(|nested| collect(nested, parts)));
}

/// `merge(drop(x_1), …)`, with the schemas below made skeletons on the way: merging is associative
/// except types, which must agree among all parts.
fn merge_nodes(parts: &[&JSONSchemaProps]) -> JSONSchemaProps {
    let type_ =
        parts.first().map(|first| first.type_.clone()).filter(|t| parts.iter().all(|p| p.type_ == *t));
    let mut out = JSONSchemaProps { type_: type_.unwrap_or_default(), ..JSONSchemaProps::default() };
    out.properties = merge_maps(parts.iter().filter_map(|p| p.properties.as_ref()));
    out.additional_properties = merge_or_bool(parts.iter().filter_map(|p| p.additional_properties.as_ref()));
    out.items = merge_items(parts);
    let patterns = merge_maps(parts.iter().filter_map(|p| p.rare().pattern_properties.as_ref()));
    if patterns.is_some() {
        out.rare_mut().pattern_properties = patterns;
    }
    let additional_items = merge_or_bool(parts.iter().filter_map(|p| p.rare().additional_items.as_ref()));
    if additional_items.is_some() {
        out.rare_mut().additional_items = additional_items;
    }
    out
}

/// The skeletons of several schemas for one place, merged.
fn merge_all(schemas: &[&JSONSchemaProps]) -> JSONSchemaProps {
    grow_stack(|| {
        let mut parts = Vec::with_capacity(schemas.len());
        for schema in schemas {
            collect(schema, &mut parts);
        }
        merge_nodes(&parts)
    })
}

fn merge_maps<'a>(maps: impl Iterator<Item = &'a SchemaMap>) -> Option<SchemaMap> {
    let mut by_name: BTreeMap<&Str, Vec<&JSONSchemaProps>> = BTreeMap::new();
    let mut any = false;
    for map in maps {
        any = true;
        for (name, schema) in map.iter() {
            by_name.entry(name).or_default().push(schema);
        }
    }
    let merge = |(name, schemas): (&Str, Vec<&JSONSchemaProps>)| (name.clone(), merge_all(&schemas));
    any.then(|| by_name.into_iter().map(merge).collect())
}

/// `true` is the empty schema; `false` gives way to any schema.
fn merge_or_bool<'a>(values: impl Iterator<Item = &'a SchemaOrBool>) -> Option<SchemaOrBool> {
    let (mut schemas, mut all, mut none) = (Vec::new(), false, false);
    for value in values {
        match value {
            SchemaOrBool::Schema(schema) => schemas.push(&**schema),
            SchemaOrBool::Bool(true) => all = true,
            SchemaOrBool::Bool(false) => none = true,
        }
    }
    match (schemas.is_empty(), all, none) {
        (false, false, _) => Some(merge_all(&schemas).into()),
        (false, true, _) => {
            let anything = JSONSchemaProps::default();
            schemas.push(&anything);
            Some(merge_all(&schemas).into())
        }
        (true, true, _) => Some(SchemaOrBool::Bool(true)),
        (true, false, true) => Some(SchemaOrBool::Bool(false)),
        (true, false, false) => None,
    }
}

/// Lists are merged position by position; a schema for all items counts at every position.
fn merge_items(parts: &[&JSONSchemaProps]) -> Option<SchemaOrArray> {
    let items: Vec<&SchemaOrArray> = parts.iter().filter_map(|p| p.items.as_ref()).collect();
    let of_all: Vec<&JSONSchemaProps> = items.iter().filter_map(|items| items.schema()).collect();
    let positions = items.iter().map(|items| items.list().len()).max()?;
    if positions == 0 {
        return (!of_all.is_empty()).then(|| merge_all(&of_all).into());
    }
    let at = |i: usize| {
        let listed = items.iter().filter_map(|items| items.list().get(i));
        merge_all(&listed.chain(of_all.iter().copied()).collect::<Vec<_>>())
    };
    Some(SchemaOrArray::List((0..positions).map(at).collect()))
}

#[cfg(test)]
pub(crate) mod tests;
