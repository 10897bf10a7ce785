//! Takes fields away from a value, or keeps only them.
//!
//! Odd, and kept: a container that loses its last member while it stays itself becomes null.

use pleach_json::{Map, Value, grow_stack};
use pleach_work::charge;

use crate::element::PathElement;
use crate::items::step;
use crate::set::Set;
use crate::shape::{Relation, Shape, Type};

/// A value without these fields.
pub fn remove(value: Value, fields: &Set, of: Type<'_>) -> Value {
    if fields.is_empty() {
        return value;
    }
    match (of.shape(Some(&value)), value) {
        (Shape::Map(map), Value::Object(members)) => grow_stack(|| {
            if members.is_empty() || map.is_atomic {
                return Value::Null;
            }
            charge(2 * members.len() as u64);
            let others = map.others();
            let mut kept = Vec::with_capacity(members.len());
            for (key, value) in members {
                let element = PathElement::Field(key);
                let node = fields.node(&element);
                let PathElement::Field(key) = element else { unreachable!("made a field above") };
                match node {
                    Some(node) if node.member => {}
                    Some(node) => match map.field(&key).or(others) {
                        Some(of) => kept.push((key, remove(value, &node.children, of))),
                        None => kept.push((key, value)),
                    },
                    None => kept.push((key, value)),
                }
            }
            if kept.is_empty() { Value::Null } else { Map::from(kept).into() }
        }),
        (Shape::List(list), Value::Array(items)) => grow_stack(|| {
            if items.is_empty() || matches!(list.relation, Relation::Atomic) {
                return Value::Null;
            }
            charge(16 * items.len() as u64);
            let mut kept = Vec::with_capacity(items.len());
            for item in items {
                let node = step(&list, &item).ok().and_then(|element| fields.node(&element));
                match node {
                    Some(node) if node.member => {}
                    Some(node) => kept.push(remove(item, &node.children, list.items)),
                    None => kept.push(item),
                }
            }
            if kept.is_empty() { Value::Null } else { kept.into() }
        }),
        (Shape::Scalar(_), value) => value,
        (_, _) => Value::Null,
    }
}

/// A value with these fields only, and the keys of its items.
pub fn extract(value: &Value, fields: &Set, of: Type<'_>) -> Value {
    match (of.shape(Some(value)), value) {
        (Shape::Map(map), Value::Object(members)) if !map.is_atomic => grow_stack(|| {
            let mut kept = Vec::new();
            for (key, value) in members.entries() {
                let Some(node) = fields.node(&PathElement::Field(key.clone())) else { continue };
                let Some(of) = map.member(key) else { continue };
                let whole = node.member && node.children.is_empty();
                let value = if whole { value.clone() } else { extract(value, &node.children, of) };
                kept.push((key.clone(), value));
            }
            Map::from(kept).into()
        }),
        (Shape::List(list), Value::Array(items)) if !matches!(list.relation, Relation::Atomic) => {
            grow_stack(|| {
                let mut kept = Vec::new();
                for item in items {
                    let Ok(element) = step(&list, item) else { continue };
                    let Some(node) = fields.node(&element) else { continue };
                    let mut part = extract(item, &node.children, list.items);
                    if let (PathElement::Key(keys), Value::Object(members)) = (element, &mut part) {
                        for (key, value) in keys {
                            members.insert(key, value);
                        }
                    }
                    kept.push(part);
                }
                kept.into()
            })
        }
        (_, value) => value.clone(),
    }
}
