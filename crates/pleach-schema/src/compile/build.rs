//! Builds compiled nodes from a schema as written, bottom up.

use std::collections::HashSet;

use pleach_json::{Str, Value, grow_stack};

use super::SchemaOptions;
use super::intern::intern;
use super::node::{
    Additional, Below, CompiledCheck, Flags, Junctors, ListType, MapType, Node, NodeRef, Property, Rare,
};
use super::types::Types;
use crate::keywords::KEYWORDS;
use crate::run_rules::Rule;
use crate::{JSONSchemaProps, SchemaOrBool, settle};

/// The input of making a node.
const STEPS_PER_NODE: u64 = 64;

/// Compiles a node and all below it.
pub(super) fn build(schema: &JSONSchemaProps, options: SchemaOptions, root: bool) -> NodeRef {
    pleach_work::charge(STEPS_PER_NODE);
    let child = |schema: &JSONSchemaProps| grow_stack(|| build(schema, options, false));
    let (required, is_required) = distinct(schema.required());
    let properties: Box<[Property]> = schema
        .properties()
        .iter()
        .map(|(name, property)| {
            Property::new(name.clone(), child(property), is_required.contains(name.as_str()))
        })
        .collect();
    let additional = match &schema.additional_properties {
        None => Additional::Absent,
        Some(SchemaOrBool::Bool(allowed)) => Additional::Bool(*allowed),
        Some(SchemaOrBool::Schema(schema)) => Additional::Schema(child(schema)),
    };
    let items = schema.items().map(child);
    let types = Types::of(schema, options);
    let mut node = Node {
        flags: flags(schema, root),
        below: below(schema, root, &properties, &additional, items.as_ref()),
        list_type: list_type(schema.list_type()),
        map_type: map_type(schema.map_type()),
        required_declared: properties.iter().filter(|p| p.required).count() as u32,
        checks: checks(schema, &types),
        rare: rare(schema, &properties, child),
        properties,
        additional,
        items,
        types,
        required,
        identity: 0,
        settle: 0,
        interned: false,
        decl: std::sync::OnceLock::new(),
    };
    if let Some(default) = pruned_default(&schema.rare().default, &node) {
        let rare = node.rare.get_or_insert_default();
        let extent = default.extent(usize::MAX);
        rare.default_weight = extent.bytes + extent.values * size_of::<(Str, Value)>();
        rare.default = Some(default);
    }
    node.seal();
    intern(node)
}

/// The names in the order given, each once, and as a set.
fn distinct(names: &[Str]) -> (Box<[Str]>, HashSet<&str>) {
    let mut seen = HashSet::with_capacity(names.len());
    let distinct = names.iter().filter(|name| seen.insert(name.as_str())).cloned().collect();
    (distinct, seen)
}

fn flags(schema: &JSONSchemaProps, root: bool) -> Flags {
    let mut flags = 0;
    for (holds, flag) in [
        (schema.nullable, Flags::NULLABLE),
        (schema.preserves_unknown_fields(), Flags::PRESERVE),
        (schema.x_embedded_resource, Flags::EMBEDDED),
        (schema.x_int_or_string, Flags::INT_OR_STRING),
        (root, Flags::ROOT),
    ] {
        if holds {
            flags |= flag;
        }
    }
    Flags(flags)
}

fn below(
    schema: &JSONSchemaProps,
    root: bool,
    properties: &[Property],
    additional: &Additional,
    items: Option<&NodeRef>,
) -> Below {
    let mut below = 0;
    // Lists are atomic by default, and the metadata of resources has some.
    let whole = root
        || schema.x_embedded_resource
        || map_type(schema.map_type()) == MapType::Atomic
        || (schema.type_ == "array" && !matches!(schema.list_type(), "set" | "map"));
    for (holds, bit) in [
        (!schema.rare().default.is_null(), Below::DEFAULTS),
        (matches!(schema.list_type(), "set" | "map"), Below::LISTS),
        (schema.x_embedded_resource, Below::EMBEDDED),
        (!schema.validations().is_empty(), Below::RULES),
        (!schema.unions().is_empty(), Below::UNIONS),
        (whole, Below::ATOMICS),
    ] {
        if holds {
            below |= bit;
        }
    }
    let children = properties.iter().map(|p| &p.node).chain(additional.schema()).chain(items);
    Below(children.fold(below, |below, node| below | node.below().0))
}

fn list_type(name: &str) -> ListType {
    match name {
        "atomic" => ListType::Atomic,
        "set" => ListType::Set,
        "map" => ListType::Map,
        _ => ListType::Unset,
    }
}

fn map_type(name: &str) -> MapType {
    match name {
        "granular" => MapType::Granular,
        "atomic" => MapType::Atomic,
        _ => MapType::Unset,
    }
}

fn checks(schema: &JSONSchemaProps, types: &Types) -> Box<[CompiledCheck]> {
    let compiled = KEYWORDS.iter().enumerate().filter_map(|(i, keyword)| {
        let check = keyword.compile(schema, types)?;
        Some(CompiledCheck { check, gate: keyword.gate(), keyword: i as u8 })
    });
    compiled.collect()
}

fn rare(
    schema: &JSONSchemaProps,
    properties: &[Property],
    child: impl Fn(&JSONSchemaProps) -> NodeRef,
) -> Option<Box<Rare>> {
    let list = |schemas: &[JSONSchemaProps]| schemas.iter().map(&child).collect();
    let defaulted = properties.iter().enumerate().filter(|(_, p)| p.node.default().is_some());
    let rare = Rare {
        default: None,
        default_weight: 0,
        list_map_keys: schema.list_map_keys().into(),
        junctors: Junctors {
            any_of: list(schema.any_of()),
            one_of: list(schema.one_of()),
            all_of: list(schema.all_of()),
            not: schema.not().map(&child),
        },
        rules: schema.validations().iter().map(|rule| Rule::new(rule, schema)).collect(),
        defaulted: defaulted.map(|(i, _)| i as u32).collect(),
        unions: schema.unions().into(),
    };
    (!rare.is_empty()).then(|| Box::new(rare))
}

/// A default as it is applied: without the fields its own schema would prune.
///
/// A new CRD with unknown fields in a default is refused; old CRDs may have them.
fn pruned_default(default: &Value, node: &Node) -> Option<Value> {
    if default.is_null() {
        return None;
    }
    let mut default = default.clone();
    settle::clean_default(&mut default, node);
    Some(default)
}
