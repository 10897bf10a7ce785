//! Whether a value fits its type: [`validate`](crate::validate) without error messages.
//!
//! Nearly every value does, so this runs first, and errors are worded only after a no. It returns true exactly when
//! `validate` finds no error. No path is kept, and values of types that everything fits are skipped.

use pleach_json::{Array, Map, Value, grow_stack};
use pleach_work::charge;

use crate::items::{has_key, is_each_once};
use crate::shape::{ListShape, MapShape, Relation, Scalar, Shape, Type};

/// Whether a value fits; `once` says that lists must have no duplicates.
#[inline]
pub(crate) fn fits(value: &Value, of: Type<'_>, once: bool) -> bool {
    match value {
        Value::Null => true,
        Value::Array(_) | Value::Object(_) => of.is_anything() || container_fits(value, of, once),
        // Most values are scalars, for which this is the only check.
        scalar => of.scalar().is_some_and(|of| is_fit(of, scalar)),
    }
}

fn container_fits(value: &Value, of: Type<'_>, once: bool) -> bool {
    match (of.shape(Some(value)), value) {
        (Shape::Map(map), Value::Object(members)) => {
            members.is_empty() || grow_stack(|| members_fit(&map, members, once))
        }
        (Shape::List(list), Value::Array(items)) => {
            items.is_empty() || grow_stack(|| items_fit(&list, items, once))
        }
        _ => false,
    }
}

fn members_fit(map: &MapShape<'_>, members: &Map, once: bool) -> bool {
    charge(members.len() as u64);
    let (mut fields, others) = (map.fields(), map.others());
    members.entries().iter().all(|(key, value)| match fields.next(key).or(others) {
        Some(of) => fits(value, of, once),
        None => false,
    })
}

fn items_fit(list: &ListShape<'_>, items: &Array, once: bool) -> bool {
    charge(items.len() as u64);
    let told_apart = !matches!(list.relation, Relation::Atomic);
    items.iter().all(|item| (!told_apart || has_key(list, item)) && fits(item, list.items, once))
        && (!told_apart || !once || is_each_once(list, items))
}

/// Whether a value is what a scalar must be.
#[inline]
pub(crate) fn is_fit(scalar: Scalar, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(_) => matches!(scalar, Scalar::Boolean | Scalar::Untyped),
        Value::Int(_) | Value::Float(_) => matches!(scalar, Scalar::Numeric | Scalar::Untyped),
        Value::String(_) => matches!(scalar, Scalar::String | Scalar::Untyped),
        Value::Array(_) | Value::Object(_) => false,
    }
}
