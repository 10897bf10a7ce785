//! Equality and order.
//!
//! Equality is defined between all values; values of unlike types are unequal, numbers of unlike
//! types are compared by value. Lists and objects with a schema compare by it. Order is defined
//! within a type and between numbers.

use crate::decl::{DeclKind, ListKind};
use crate::value::list::{ScalarKey, escaped_keys, map_key};
use crate::value::{CelValue, Fault, List, Map, Opaque};
use pleach_json::grow_stack;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// `left == right`. An error means that the question made no sense: `!=` then holds.
pub(crate) fn equal(left: &CelValue<'_>, right: &CelValue<'_>) -> Result<bool, Fault> {
    use CelValue as V;
    Ok(match (left, right) {
        (V::Failed(fault), _) => return Err((**fault).clone()),
        (V::Null, V::Null) => true,
        (V::Null, _) | (_, V::Null) => false,
        (V::Bool(a), V::Bool(b)) => a == b,
        (V::Int(a), V::Int(b)) => a == b,
        (V::String(a), V::String(b)) => a.as_str() == b.as_str(),
        (V::Int(_) | V::Uint(_) | V::Double(_), V::Int(_) | V::Uint(_) | V::Double(_)) => {
            numeric_order(left, right) == Some(Ordering::Equal)
        }
        (V::Bytes(a), V::Bytes(b)) => a == b,
        (V::Timestamp(a), V::Timestamp(b)) => a == b,
        (V::Duration(a), V::Duration(b)) => a == b,
        (V::Type(a), V::Type(b)) => a == b,
        (V::Optional(a), V::Optional(b)) => match (a, b) {
            (Some(a), Some(b)) => equal(a, b)?,
            (a, b) => a.is_none() == b.is_none(),
        },
        (V::Opaque(empty), V::Opaque(other)) | (V::Opaque(other), V::Opaque(empty))
            if **empty == Opaque::Empty =>
        {
            **other == Opaque::Empty
        }
        (V::Opaque(empty), _) if **empty == Opaque::Empty => false,
        (V::Opaque(a), V::Opaque(b)) => {
            // A check is not even like itself.
            let is_check = matches!(&**a, Opaque::Authz(_));
            if is_check || std::mem::discriminant(&**a) != std::mem::discriminant(&**b) {
                return Err(Fault::no_such_overload());
            }
            a == b
        }
        (V::List(a), V::List(b)) => return grow_stack(|| lists_equal(a, b)),
        (V::Map(a), V::Map(b)) => return grow_stack(|| maps_equal(a, b)),
        // Values with a schema and those of Kubernetes' own types compare only with their like.
        (V::List(list), _) if list.kind().is_none() => false,
        (V::Opaque(_) | V::List(_) | V::Map(Map::View { decl: Some(_), .. }), _) => {
            return Err(Fault::no_such_overload());
        }
        _ => false,
    })
}

fn lists_equal(left: &List<'_>, right: &List<'_>) -> Result<bool, Fault> {
    if left.len() != right.len() {
        return Ok(false);
    }
    match left.kind() {
        Some(ListKind::Set) => {
            let known: BTreeSet<_> = left.raw_scalars().collect();
            for item in right {
                if !known.contains(&ScalarKey::of_value(&item?)) {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        Some(ListKind::Map(keys)) => {
            let keys = escaped_keys(keys);
            let own = left.to_vec()?;
            // Of elements with the same key the last counts.
            let known: BTreeMap<_, _> = own.iter().map(|item| (map_key(item, &keys), item)).collect();
            for item in right {
                let item = item?;
                match known.get(&map_key(&item, &keys)) {
                    Some(own) if equal(own, &item)? => {}
                    _ => return Ok(false),
                }
            }
            return Ok(true);
        }
        _ => {}
    }
    for (a, b) in left.iter().zip(right.iter()) {
        // An element on the right that does not fit its schema equals nothing.
        let a = a?;
        let Ok(b) = b else { return Ok(false) };
        if !equal(&a, &b)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn maps_equal<'a>(left: &Map<'a>, right: &Map<'a>) -> Result<bool, Fault> {
    if left.len() != right.len() {
        return Ok(false);
    }
    if let Map::View { members, decl: Some(decl) } = left
        && let DeclKind::Object(object) = decl.kind()
    {
        for (name, value) in members.iter() {
            if let Some(field) = object.field_by_raw_name(name) {
                // Odd: names are unescaped once more on the way, so one with two underscores is
                // found on neither side and never compared.
                if name.contains("__") {
                    continue;
                }
                let own = Map::find_field(members, field)?;
                match (own, right.find_str(&field.escaped_name)?) {
                    (Some(a), Some(b)) if equal(&a, &b)? => {}
                    (None, None) => {}
                    _ => return Ok(false),
                }
            } else if object.is_untyped(name) {
                // A declared property without a type: null is absent, the rest compares as JSON.
                if right.raw(name).filter(|v| !v.is_null()) != Some(value).filter(|v| !v.is_null()) {
                    return Ok(false);
                }
            } else if let Map::Owned(_) = right {
                return Err(Fault::no_such_overload());
            } else if right.raw(name).is_some_and(|other| other != value) {
                // What no schema names matters only where both sides have it.
                return Ok(false);
            }
        }
        return Ok(true);
    }
    for (key, value) in left {
        let value = value?;
        match right.find(&key)? {
            Some(other) if equal(&value, &other)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Which of two values comes first.
pub(crate) fn compare(left: &CelValue<'_>, right: &CelValue<'_>) -> Result<Ordering, Fault> {
    use CelValue as V;
    match (left, right) {
        (V::Int(a), V::Int(b)) => Ok(a.cmp(b)),
        (V::String(a), V::String(b)) => Ok(a.as_str().cmp(b.as_str())),
        (V::Int(_) | V::Uint(_) | V::Double(_), V::Int(_) | V::Uint(_) | V::Double(_)) => {
            numeric_order(left, right).ok_or(Fault::fixed("NaN values cannot be ordered"))
        }
        (V::Bool(a), V::Bool(b)) => Ok(a.cmp(b)),
        (V::Bytes(a), V::Bytes(b)) => Ok(a.cmp(b)),
        (V::Timestamp(a), V::Timestamp(b)) => Ok(a.cmp(b)),
        (V::Duration(a), V::Duration(b)) => Ok(a.cmp(b)),
        _ => Err(Fault::no_such_overload()),
    }
}

/// Whether values of this type can be ordered at all.
pub(crate) fn is_comparable(value: &CelValue<'_>) -> bool {
    use CelValue as V;
    matches!(
        value,
        V::Int(_)
            | V::Uint(_)
            | V::Double(_)
            | V::String(_)
            | V::Bool(_)
            | V::Bytes(_)
            | V::Timestamp(_)
            | V::Duration(_)
    )
}

/// Numbers by value; `None` if one is NaN.
fn numeric_order(left: &CelValue<'_>, right: &CelValue<'_>) -> Option<Ordering> {
    use CelValue as V;
    match (left, right) {
        (V::Int(a), V::Int(b)) => Some(a.cmp(b)),
        (V::Uint(a), V::Uint(b)) => Some(a.cmp(b)),
        (V::Int(a), V::Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (V::Uint(a), V::Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (V::Double(a), V::Double(b)) => a.partial_cmp(b),
        (V::Double(a), V::Int(b)) => double_with(*a, i128::from(*b)),
        (V::Double(a), V::Uint(b)) => double_with(*a, i128::from(*b)),
        (V::Int(a), V::Double(b)) => double_with(*b, i128::from(*a)).map(Ordering::reverse),
        (V::Uint(a), V::Double(b)) => double_with(*b, i128::from(*a)).map(Ordering::reverse),
        _ => None,
    }
}

/// A double against an integer of 64 bits: beyond their range it is simply larger or smaller,
/// within it the integer is taken as a double.
fn double_with(double: f64, integer: i128) -> Option<Ordering> {
    double.partial_cmp(&(integer as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Duration;

    #[test]
    fn unlike_types_are_unequal_and_unordered() {
        let values = [
            CelValue::Null,
            CelValue::Bool(true),
            CelValue::Int(1),
            CelValue::string("1"),
            CelValue::Duration(Duration(1)),
            CelValue::list(vec![]),
        ];
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate() {
                assert_eq!(equal(a, b), Ok(i == j), "{a:?} == {b:?}");
                if i != j {
                    assert_eq!(compare(a, b), Err(Fault::no_such_overload()), "{a:?} < {b:?}");
                }
            }
        }
    }

    #[test]
    fn numbers_compare_across_types() {
        assert_eq!(equal(&CelValue::Int(1), &CelValue::Double(1.0)), Ok(true));
        assert_eq!(compare(&CelValue::Int(-1), &CelValue::Uint(0)), Ok(Ordering::Less));
        assert_eq!(equal(&CelValue::Double(f64::NAN), &CelValue::Double(f64::NAN)), Ok(false));
        assert!(compare(&CelValue::Double(f64::NAN), &CelValue::Int(1)).is_err());
    }
}
