//! The CEL type of a compiled node: what `self` is to the rules on it.
//!
//! The same types as those that rules are checked with when a CRD is written, but without bounds,
//! which only estimates need. Each node makes its type once, from those of the nodes below, and
//! names it by its hash: equal nodes have equal types.

use std::sync::Arc;

use pleach_cel::{DeclType, ListKind, ObjectType};
use pleach_json::grow_stack;

use crate::compile::{ListType, Node};

/// The type of a node; none where it is not said, or not said of what it consists of.
pub(super) fn decl_type(node: &Node) -> Option<DeclType> {
    let made = node.decl_cell().get_or_init(|| grow_stack(|| typed(node)).map(Box::new));
    made.as_deref().cloned()
}

fn typed(node: &Node) -> Option<DeclType> {
    let decl = if node.is_int_or_string() {
        DeclType::int_or_string(None)
    } else {
        match node.types().as_str() {
            "array" => DeclType::list(decl_type(node.items()?)?, list_kind(node), None),
            "object" => match node.additional().schema() {
                Some(additional) if !node.is_resource() => DeclType::map(decl_type(additional)?, None),
                _ => object(node),
            },
            "string" => match node.types().format().map(pleach_json::Str::as_str) {
                Some("byte") => DeclType::bytes(None),
                Some("date") => DeclType::date(),
                Some("date-time") => DeclType::date_time(),
                Some("duration") => DeclType::duration(),
                _ => DeclType::string(None, None),
            },
            "boolean" => DeclType::boolean(),
            "integer" => DeclType::integer(),
            "number" => DeclType::number(),
            _ => return None,
        }
    };
    Some(decl.nullable(node.is_nullable()))
}

fn list_kind(node: &Node) -> ListKind {
    match node.list_type() {
        ListType::Set => ListKind::Set,
        ListType::Map => ListKind::Map(Arc::from(node.list_map_keys())),
        ListType::Unset | ListType::Atomic => ListKind::Atomic,
    }
}

fn object(node: &Node) -> DeclType {
    // A resource has these members whatever its schema says, unless it says all about them.
    let with_meta = node.is_resource() && !declares_meta(node);
    let mut object = ObjectType::new(format!("object{:016x}", node.identity()));
    for property in node.properties() {
        if with_meta && matches!(property.name.as_str(), "apiVersion" | "kind" | "metadata") {
            continue;
        }
        object = match decl_type(&property.node) {
            Some(decl) => object.with_field(property.name.clone(), decl),
            None => object.with_untyped(property.name.clone()),
        };
    }
    if with_meta {
        let text = || DeclType::string(None, None);
        let metadata =
            ObjectType::new("metadata").with_field("name", text()).with_field("generateName", text());
        object = object
            .with_field("apiVersion", text())
            .with_field("kind", text())
            .with_field("metadata", DeclType::object(metadata, []));
    }
    DeclType::object(object, [])
}

fn declares_meta(node: &Node) -> bool {
    let is = |node: &Node, name, type_name: &str| {
        node.property(name).is_some_and(|property| property.types().as_str() == type_name)
    };
    is(node, "kind", "string")
        && is(node, "apiVersion", "string")
        && node.property("metadata").is_some_and(|metadata| {
            metadata.types().as_str() == "object"
                && is(metadata, "name", "string")
                && is(metadata, "generateName", "string")
        })
}
