//! Sets that were recorded under another schema.
//!
//! A field that was granular and is atomic now is owned as a whole by every manager that owned a part of it. The other
//! way round nothing changes: the owner of the whole keeps the path of the container.

use pleach_json::{Map, grow_stack};

use crate::element::PathElement;
use crate::encoded::{DOT, Encoded, steps};
use crate::set::Set;
use crate::shape::{MapShape, Relation, Shape, Type};

/// The set as it must be under the type; `None` if it is right as it is.
pub(crate) fn reconcile(set: &Encoded, of: Type<'_>) -> Option<Encoded> {
    let members = set.members();
    if is_settled(members, false, of) { None } else { Some(Encoded::from_map(collapse(members, of))) }
}

/// Whether a path that goes on as `below` says can be owned so; `whole` says whether it is owned by
/// itself and nothing below it is.
fn is_settled(below: &Map, whole: bool, of: Type<'_>) -> bool {
    if of.is_granular() {
        return true;
    }
    match of.shape(None) {
        Shape::Scalar(_) => true,
        Shape::List(list) => match list.relation {
            Relation::Atomic => whole,
            _ => grow_stack(|| are_settled(below, |_| Some(list.items))),
        },
        // Fields of unknown type stay as they were.
        Shape::Map(map) if map.is_unknown() => true,
        Shape::Map(map) if map.is_atomic => below.is_empty(),
        Shape::Map(map) => grow_stack(|| {
            let (mut fields, others) = (map.fields(), map.others());
            are_settled(below, |key| match key.strip_prefix("f:") {
                Some(name) => fields.next(name).or(others),
                None => others,
            })
        }),
    }
}

fn are_settled<'a>(below: &Map, mut of: impl FnMut(&str) -> Option<Type<'a>>) -> bool {
    steps(below).iter().all(|(key, below)| match (of(key), below.as_object()) {
        (Some(of), Some(below)) => is_settled(below, below.is_empty(), of),
        _ => true,
    })
}

fn type_at<'a>(map: &MapShape<'a>, key: &str) -> Option<Type<'a>> {
    match key.strip_prefix("f:") {
        Some(name) => map.member(name),
        None => map.others(),
    }
}

fn collapse(below: &Map, of: Type<'_>) -> Map {
    let shape = of.shape(None);
    if matches!(&shape, Shape::Map(map) if map.is_unknown()) {
        return below.clone();
    }
    let step = |key: &str, below: &Map| {
        let of = match &shape {
            Shape::Map(map) if key != DOT => type_at(map, key)?,
            Shape::List(list) if key != DOT => list.items,
            _ => return None,
        };
        if is_whole(of) && !is_settled(below, below.is_empty(), of) {
            return Some(Map::new());
        }
        Some(grow_stack(|| collapse(below, of)))
    };
    let mut out = below.clone();
    for (key, value) in out.iter_mut() {
        if let Some(changed) = value.as_object().and_then(|below| step(key, below)) {
            *value = changed.into();
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

/// Makes every declared field on the way to a member a member too.
pub(crate) fn name_fields(set: &mut Set, of: Option<Type<'_>>) {
    let map = of.and_then(Type::as_map);
    let (mut fields, others) = (map.as_ref().map(MapShape::fields), map.as_ref().and_then(MapShape::others));
    let items = of.and_then(Type::as_list).map(|list| list.items);
    for node in set.nodes_mut() {
        let (declared, below) = match &node.element {
            PathElement::Field(name) => {
                let field = fields.as_mut().and_then(|fields| fields.next(name));
                (field.is_some(), field.or(others))
            }
            PathElement::Key(_) => (false, items),
            _ => (false, None),
        };
        if node.children.is_empty() {
            continue;
        }
        node.member |= declared;
        grow_stack(|| name_fields(&mut node.children, below));
    }
}
