//! Equality and ordering.
//!
//! Equality is defined between all values; values of unlike types are unequal, numbers of unlike
//! types are compared by value. Lists and objects with a schema compare by it. Order is defined
//! within a type and between numbers.

use crate::decl::{DeclKind, ListKind};
use crate::value::list::{ScalarKey, escaped_keys, map_key};
use crate::value::{CelValue, Fault, List, Map, Opaque};
use crate::work::Work;
use pleach_json::{Value, grow_stack};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// `left == right`. An error means that the values cannot be compared: `!=` is true then. Every visit
/// is charged: values may share their parts.
pub(crate) fn equal(work: &Work<'_>, left: &CelValue<'_>, right: &CelValue<'_>) -> Result<bool, Fault> {
    use CelValue as V;
    work.charge(1)?;
    Ok(match (left, right) {
        (V::Failed(fault), _) => return Err((**fault).clone()),
        (V::Null, V::Null) => true,
        (V::Null, _) | (_, V::Null) => false,
        (V::Bool(a), V::Bool(b)) => a == b,
        (V::Int(a), V::Int(b)) => a == b,
        (V::String(a), V::String(b)) => texts_equal(work, a.as_str().as_bytes(), b.as_str().as_bytes())?,
        (V::Int(_) | V::Uint(_) | V::Double(_), V::Int(_) | V::Uint(_) | V::Double(_)) => {
            numeric_order(left, right) == Some(Ordering::Equal)
        }
        (V::Bytes(a), V::Bytes(b)) => texts_equal(work, a, b)?,
        (V::Timestamp(a), V::Timestamp(b)) => a == b,
        (V::Duration(a), V::Duration(b)) => a == b,
        (V::Type(a), V::Type(b)) => a == b,
        (V::Optional(a), V::Optional(b)) => match (a, b) {
            (Some(a), Some(b)) => return grow_stack(|| equal(work, a, b)),
            (a, b) => a.is_none() == b.is_none(),
        },
        (V::Opaque(empty), V::Opaque(other)) | (V::Opaque(other), V::Opaque(empty))
            if **empty == Opaque::Empty =>
        {
            **other == Opaque::Empty
        }
        (V::Opaque(empty), _) if **empty == Opaque::Empty => false,
        (V::Opaque(a), V::Opaque(b)) => {
            // A check is not equal to itself.
            let is_check = matches!(&**a, Opaque::Authz(_));
            if is_check || std::mem::discriminant(&**a) != std::mem::discriminant(&**b) {
                return Err(Fault::no_such_overload());
            }
            work.scan(a.bytes().max(b.bytes()))?;
            a == b
        }
        (V::Object(a), V::Object(b)) => return grow_stack(|| a.equals(work, b)),
        (V::List(a), V::List(b)) => return grow_stack(|| lists_equal(work, a, b)),
        (V::Map(a), V::Map(b)) => return grow_stack(|| maps_equal(work, a, b)),
        // Values with a schema and opaque values compare only with their own type.
        (V::List(list), _) if list.kind().is_none() => false,
        (V::Opaque(_) | V::List(_) | V::Map(Map::View { decl: Some(_), .. }), _) => {
            return Err(Fault::no_such_overload());
        }
        _ => false,
    })
}

fn texts_equal(work: &Work<'_>, left: &[u8], right: &[u8]) -> Result<bool, Fault> {
    if left.len() != right.len() {
        return Ok(false);
    }
    work.scan(left.len())?;
    Ok(left == right)
}

fn lists_equal(work: &Work<'_>, left: &List<'_>, right: &List<'_>) -> Result<bool, Fault> {
    if left.len() != right.len() {
        return Ok(false);
    }
    match left.kind() {
        Some(ListKind::Set) => {
            let mut known = BTreeSet::new();
            for key in left.raw_scalars() {
                known.insert(key.charged(work, left.len())?);
            }
            for item in work.items(right) {
                let key = ScalarKey::of_value(&item?).charged(work, left.len())?;
                if !known.contains(&key) {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        Some(ListKind::Map(keys)) => {
            let keys = escaped_keys(keys);
            let own = work.to_vec(left)?;
            // Of elements with the same key the last counts.
            let mut known = BTreeMap::new();
            for item in &own {
                known.insert(map_key(work, item, &keys, own.len())?, item);
            }
            for item in work.items(right) {
                let item = item?;
                match known.get(&map_key(work, &item, &keys, own.len())?) {
                    Some(own) if equal(work, own, &item)? => {}
                    _ => return Ok(false),
                }
            }
            return Ok(true);
        }
        _ => {}
    }
    for (a, b) in left.iter().zip(right.iter()) {
        // An element on the right that does not fit its schema equals nothing.
        let a = work.read(a)?;
        let Ok(b) = work.read(b) else { return work.ended().map_or(Ok(false), Err) };
        if !equal(work, &a, &b)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn maps_equal<'a>(work: &Work<'_>, left: &Map<'a>, right: &Map<'a>) -> Result<bool, Fault> {
    if left.len() != right.len() {
        return Ok(false);
    }
    if let Map::View { members, decl: Some(decl) } = left
        && let DeclKind::Object(object) = decl.kind()
    {
        for (name, value) in members.iter() {
            work.charge(1 + name.len() as u64 / 64)?;
            if let Some(field) = object.field_by_raw_name(name) {
                // Odd: names are unescaped twice, so one with two underscores is found on neither side
                // and never compared.
                if name.contains("__") {
                    continue;
                }
                let own = work.read_found(Map::find_field(members, field))?;
                let other = work.read_found(right.find_str(&field.escaped_name))?;
                match (own, other) {
                    (Some(a), Some(b)) if equal(work, &a, &b)? => {}
                    (None, None) => {}
                    _ => return Ok(false),
                }
            } else if object.is_untyped(name) {
                // A declared property without a type: null is absent, the rest compares as JSON.
                let other = right.raw(name).filter(|v| !v.is_null());
                match (Some(value).filter(|v| !v.is_null()), other) {
                    (None, None) => {}
                    (Some(value), Some(other)) if json_equal(work, value, other)? => {}
                    _ => return Ok(false),
                }
            } else if let Map::Owned(_) = right {
                return Err(Fault::no_such_overload());
            } else if let Some(other) = right.raw(name)
                && !json_equal(work, value, other)?
            {
                // Undeclared members matter only if both sides have them.
                return Ok(false);
            }
        }
        return Ok(true);
    }
    left.charge_walk(work)?;
    for (key, value) in left {
        let value = work.read(value)?;
        work.scan(key.as_str().map_or(0, str::len))?;
        match work.read_found(right.find(&key))? {
            Some(other) if equal(work, &value, &other)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// JSON equality as of [`Value`], but charged.
fn json_equal(work: &Work<'_>, left: &Value, right: &Value) -> Result<bool, Fault> {
    work.charge(1)?;
    match (left, right) {
        _ if left.is_same(right) => Ok(true),
        (Value::String(a), Value::String(b)) => texts_equal(work, a.as_bytes(), b.as_bytes()),
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => grow_stack(|| {
            for (a, b) in a.iter().zip(b.iter()) {
                if !json_equal(work, a, b)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }),
        (Value::Object(a), Value::Object(b)) if a.len() == b.len() => grow_stack(|| {
            for ((a_key, a), (b_key, b)) in a.iter().zip(b.iter()) {
                if !texts_equal(work, a_key.as_bytes(), b_key.as_bytes())? || !json_equal(work, a, b)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }),
        _ => Ok(false),
    }
}

/// Which of two values comes first.
pub(crate) fn compare(work: &Work<'_>, left: &CelValue<'_>, right: &CelValue<'_>) -> Result<Ordering, Fault> {
    use CelValue as V;
    work.charge(1)?;
    match (left, right) {
        (V::String(a), V::String(b)) => work.scan(a.as_str().len().min(b.as_str().len()))?,
        (V::Bytes(a), V::Bytes(b)) => work.scan(a.len().min(b.len()))?,
        _ => {}
    }
    order(left, right)
}

/// The same for what has been charged.
pub(crate) fn order(left: &CelValue<'_>, right: &CelValue<'_>) -> Result<Ordering, Fault> {
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
        let work = Work::new(1_000, None);
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
                assert_eq!(equal(&work, a, b), Ok(i == j), "{a:?} == {b:?}");
                if i != j {
                    assert_eq!(compare(&work, a, b), Err(Fault::no_such_overload()), "{a:?} < {b:?}");
                }
            }
        }
    }

    #[test]
    fn numbers_compare_across_types() {
        let work = Work::new(1_000, None);
        assert_eq!(equal(&work, &CelValue::Int(1), &CelValue::Double(1.0)), Ok(true));
        assert_eq!(compare(&work, &CelValue::Int(-1), &CelValue::Uint(0)), Ok(Ordering::Less));
        assert_eq!(equal(&work, &CelValue::Double(f64::NAN), &CelValue::Double(f64::NAN)), Ok(false));
        assert!(compare(&work, &CelValue::Double(f64::NAN), &CelValue::Int(1)).is_err());
    }
}
