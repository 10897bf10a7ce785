//! CEL types of compiled nodes, which rules run with.
//!
//! Without bounds, which only estimates need. Each node makes its type once, from those of the nodes below, and
//! names it by its hash: equal nodes have equal types.

use std::sync::Arc;

use pleach_cel::{DeclType, ListKind};
use pleach_json::{Str, grow_stack};

use super::{Bounds, Part, Source, make};
use crate::compile::{ListType, Node};

/// The type of a node; none if its type, or that of its items or members, is unknown.
pub(crate) fn decl_type(node: &Node) -> Option<DeclType> {
    let made = node.decl_cell().get_or_init(|| grow_stack(|| make(node, &mut ())).map(Box::new));
    made.as_deref().cloned()
}

impl<'a> Source<'a> for &'a Node {
    type Names = ();

    fn type_name(self) -> &'a str {
        self.types().as_str()
    }

    fn format(self) -> &'a str {
        self.types().format().map_or("", Str::as_str)
    }

    fn is_int_or_string(self) -> bool {
        Node::is_int_or_string(self)
    }

    fn is_nullable(self) -> bool {
        Node::is_nullable(self)
    }

    fn is_resource(self) -> bool {
        Node::is_resource(self)
    }

    fn list_kind(self) -> ListKind {
        match self.list_type() {
            ListType::Set => ListKind::Set,
            ListType::Map => ListKind::Map(Arc::from(self.list_map_keys())),
            ListType::Unset | ListType::Atomic => ListKind::Atomic,
        }
    }

    fn bounds(self) -> Bounds {
        Bounds::default()
    }

    fn items(self) -> Option<Self> {
        Node::items(self).map(AsRef::as_ref)
    }

    fn additional_properties(self) -> Option<Self> {
        self.additional().schema().map(AsRef::as_ref)
    }

    fn property(self, name: &str) -> Option<Self> {
        Node::property(self, name).map(AsRef::as_ref)
    }

    fn properties(self) -> impl Iterator<Item = (&'a Str, Self)> {
        Node::properties(self).iter().map(|property| (&property.name, &*property.node))
    }

    fn certain(self, _: bool) -> Vec<&'a str> {
        Vec::new()
    }

    fn below(self, _: Part<'_>, (): &mut ()) -> Option<DeclType> {
        decl_type(self)
    }

    fn object_name(self, (): &mut ()) -> Str {
        format!("object{:016x}", self.identity()).into()
    }

    fn metadata_name((): &mut ()) -> Str {
        "metadata".into()
    }
}
