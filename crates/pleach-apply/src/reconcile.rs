//! Sets that were recorded under another schema.
//!
//! What was granular and is atomic now is owned as a whole by whoever owned a part of it. The other
//! way round nothing changes: the owner of the whole keeps the path of the container.

use pleach_json::grow_stack;

use crate::element::PathElement;
use crate::set::{Node, Set};
use crate::shape::{MapShape, Relation, Shape, Type};

/// The set as it must be under the type; `None` if it is right as it is.
pub(crate) fn reconcile(set: &Set, of: Type<'_>) -> Option<Set> {
    if is_settled(set, false, of) { None } else { Some(collapse(set, of)) }
}

/// Whether a path that ends here and goes on as `below` says can be owned so.
fn is_settled(below: &Set, whole: bool, of: Type<'_>) -> bool {
    match of.shape(None) {
        Shape::Scalar(_) => true,
        Shape::List(list) => match list.relation {
            Relation::Atomic => whole,
            _ => grow_stack(|| {
                below.nodes().iter().all(|node| is_settled(&node.children, ends(node), list.items))
            }),
        },
        // What nothing is known of is left as it was.
        Shape::Map(map) if map.is_unknown() => true,
        Shape::Map(map) if map.is_atomic => whole || below.is_empty(),
        Shape::Map(map) => grow_stack(|| {
            below.nodes().iter().all(|node| match type_at(&map, &node.element) {
                Some(of) => is_settled(&node.children, ends(node), of),
                None => true,
            })
        }),
    }
}

fn ends(node: &Node) -> bool {
    node.member && node.children.is_empty()
}

fn type_at<'a>(map: &MapShape<'a>, element: &PathElement) -> Option<Type<'a>> {
    match element {
        PathElement::Field(name) => map.member(name),
        _ => map.others(),
    }
}

fn collapse(below: &Set, of: Type<'_>) -> Set {
    let mut out = Set::new();
    let shape = of.shape(None);
    if matches!(&shape, Shape::Map(map) if map.is_unknown()) {
        return below.clone();
    }
    for node in below.nodes() {
        let of = match &shape {
            Shape::Map(map) => type_at(map, &node.element),
            Shape::List(list) => Some(list.items),
            Shape::Scalar(_) => None,
        };
        let element = node.element.clone();
        match of {
            None => out.push(element, node.member, node.children.clone()),
            Some(of) if is_whole(of) && !is_settled(&node.children, ends(node), of) => {
                out.push(element, true, Set::new());
            }
            Some(of) => out.push(element, node.member, grow_stack(|| collapse(&node.children, of))),
        }
    }
    out
}

fn is_whole(of: Type<'_>) -> bool {
    match of.shape(None) {
        Shape::Scalar(_) => false,
        Shape::List(list) => matches!(list.relation, Relation::Atomic),
        Shape::Map(map) => map.is_atomic,
    }
}

/// With every declared field on the way to a member as a member too.
pub(crate) fn with_named_fields(set: &Set, of: Option<Type<'_>>) -> Set {
    let map = of.and_then(Type::as_map);
    let mut out = Set::new();
    for node in set.nodes() {
        let (declared, below) = match (&node.element, &map) {
            (PathElement::Field(name), Some(map)) => {
                let field = map.field(name);
                (field.is_some(), field.or_else(|| map.others()))
            }
            (PathElement::Key(_), _) => (false, of.and_then(Type::as_list).map(|list| list.items)),
            _ => (false, None),
        };
        let member = node.member || (declared && !node.children.is_empty());
        out.push(node.element.clone(), member, grow_stack(|| with_named_fields(&node.children, below)));
    }
    out
}
