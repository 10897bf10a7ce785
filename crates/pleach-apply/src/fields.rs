//! Which fields a value has: what an applied configuration owns.
//!
//! A scalar is a member; so is a container that is owned as a whole. Members that are not declared
//! are members themselves beside what is in them, items of lists always are. An empty list of items
//! that are told apart says nothing.

use std::collections::HashMap;

use pleach_json::{Array, Map, Value, grow_stack};

use crate::element::PathElement;
use crate::items::step;
use crate::set::Set;
use crate::shape::{ListShape, MapShape, Relation, Shape, Type};

/// The fields of a value.
pub fn fields_of(value: &Value, of: Type<'_>) -> Set {
    fields(value, of).1
}

/// Whether the value is a member by itself, and what is in it.
fn fields(value: &Value, of: Type<'_>) -> (bool, Set) {
    match of.shape(Some(value)) {
        Shape::Scalar(_) => (true, Set::new()),
        Shape::List(list) => match (list.relation, value) {
            (Relation::Atomic, _) => (true, Set::new()),
            (_, Value::Array(items)) => (false, grow_stack(|| of_items(&list, items))),
            _ => (false, Set::new()),
        },
        Shape::Map(map) if map.is_atomic => (true, Set::new()),
        Shape::Map(map) => match value {
            Value::Object(members) => (false, grow_stack(|| of_members(&map, members))),
            _ => (false, Set::new()),
        },
    }
}

fn of_members(map: &MapShape<'_>, members: &Map) -> Set {
    let others = map.others();
    let mut set = Set::new();
    for (key, value) in members.entries() {
        let declared = map.field(key);
        let empty = match value {
            Value::Null => true,
            Value::Object(members) => members.is_empty(),
            _ => false,
        };
        let (whole, below) = match declared.or(others) {
            Some(of) => fields(value, of),
            None => (false, Set::new()),
        };
        set.push(PathElement::Field(key.clone()), whole || empty || declared.is_none(), below);
    }
    set
}

fn of_items(list: &ListShape<'_>, items: &Array) -> Set {
    let mut set = Set::new();
    let mut places: HashMap<PathElement, bool, foldhash::fast::FixedState> =
        HashMap::with_capacity_and_hasher(items.len(), foldhash::fast::FixedState::default());
    let steps: Vec<_> = items.iter().map(|item| step(list, item).ok()).collect();
    for element in steps.iter().flatten() {
        places.entry(element.clone()).and_modify(|twice| *twice = true).or_insert(false);
    }
    for (element, item) in steps.into_iter().zip(items) {
        let Some(element) = element else { continue };
        match places.get_mut(&element) {
            // What is there twice is owned once, and what is in it is not told apart.
            Some(twice) if *twice => {
                places.remove(&element);
                set.push(element, true, Set::new());
            }
            Some(_) => {
                let below = fields(item, list.items).1;
                set.push(element, true, below);
            }
            None => {}
        }
    }
    set.sort();
    set
}
