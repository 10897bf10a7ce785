//! Equality and order of values as ownership sees them.
//!
//! Unlike [`Value`]'s own equality an integer equals a float of the same size. The order is the one
//! path elements are sorted by: numbers, strings, booleans, lists, maps, null.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use pleach_json::{Map, Value, grow_stack};

/// Whether to ask, at this depth, if two values are equal before going into both. Asked at every level
/// it would take time in proportion to the square of the depth.
pub(crate) fn asks_first(depth: usize) -> bool {
    depth < 8 || depth.is_power_of_two()
}

/// Whether two values are the same to an owner.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    same_at(a, b, 0)
}

fn same_at(a: &Value, b: &Value, depth: usize) -> bool {
    match (a, b) {
        (Value::Int(a), Value::Float(b)) | (Value::Float(b), Value::Int(a)) => *a as f64 == *b,
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len()
                && ((asks_first(depth) && a == b)
                    || grow_stack(|| a.iter().zip(b).all(|(a, b)| same_at(a, b, depth + 1))))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && ((asks_first(depth) && a == b) || grow_stack(|| are_same(a, b, depth + 1)))
        }
        (a, b) => a == b,
    }
}

fn are_same(a: &Map, b: &Map, depth: usize) -> bool {
    a.entries().iter().zip(b.entries()).all(|((ka, va), (kb, vb))| ka == kb && same_at(va, vb, depth))
}

/// Whether two values are equal in every respect, including the sign of a zero.
pub(crate) fn exact(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        (Value::Array(a), Value::Array(b)) => {
            a.is_same(b) || a.len() == b.len() && grow_stack(|| a.iter().zip(b).all(|(a, b)| exact(a, b)))
        }
        (Value::Object(a), Value::Object(b)) => {
            let pairs = || a.entries().iter().zip(b.entries());
            a.is_same(b)
                || a.len() == b.len()
                    && grow_stack(|| {
                        pairs().all(|((a, _), (b, _))| a == b) && pairs().all(|((_, a), (_, b))| exact(a, b))
                    })
        }
        (a, b) => a == b,
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Int(_) | Value::Float(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

/// The order of values; equal exactly when [`same`].
pub(crate) fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        (Value::Int(a), Value::Float(b)) => (*a as f64).partial_cmp(b).unwrap_or(Ordering::Equal),
        (Value::Float(a), Value::Int(b)) => a.partial_cmp(&(*b as f64)).unwrap_or(Ordering::Equal),
        (Value::String(a), Value::String(b)) => a.as_str().cmp(b.as_str()),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => grow_stack(|| {
            let differs = a.iter().zip(b).map(|(a, b)| order(a, b)).find(|o| o.is_ne());
            differs.unwrap_or_else(|| a.len().cmp(&b.len()))
        }),
        (Value::Object(a), Value::Object(b)) => grow_stack(|| {
            let pairs = a.entries().iter().zip(b.entries());
            let mut orders =
                pairs.map(|((ka, va), (kb, vb))| ka.as_str().cmp(kb.as_str()).then_with(|| order(va, vb)));
            orders.find(|o| o.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }),
        (a, b) => rank(a).cmp(&rank(b)),
    }
}

/// A hash that goes with [`same`]. Containers hash by their size: they are no keys in practice.
pub(crate) fn hash<H: Hasher>(value: &Value, state: &mut H) {
    rank(value).hash(state);
    match value {
        Value::Null => {}
        Value::Bool(b) => b.hash(state),
        // Zero has two signs and one meaning.
        Value::Int(i) => (*i as f64 + 0.0).to_bits().hash(state),
        Value::Float(f) => (*f + 0.0).to_bits().hash(state),
        Value::String(s) => s.as_str().hash(state),
        Value::Array(items) => items.len().hash(state),
        Value::Object(members) => members.len().hash(state),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pleach_json::json;

    #[test]
    fn equality_and_order_agree() {
        let values = [
            json!(-1),
            json!(0),
            json!(1),
            json!(1.5),
            json!(2),
            json!(""),
            json!("a"),
            json!(false),
            json!(true),
            json!([]),
            json!([1]),
            json!([1, 2]),
            json!({}),
            json!({"a": 1}),
            json!({"a": 2}),
            json!(null),
        ];
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate() {
                assert_eq!(order(a, b), i.cmp(&j), "{a} {b}");
                assert_eq!(same(a, b), i == j, "{a} {b}");
            }
        }
        assert!(same(&json!({"a": [1]}), &json!({"a": [1.0]})), "numbers by size, at any depth");
        assert!(!exact(&json!({"a": [1]}), &json!({"a": [1.0]})), "but not exactly");
        assert!(!exact(&json!([0.0]), &json!([(-0.0)])), "zeros are equal and are written differently");
        assert!(exact(&json!({"a": [1.5, "x"]}), &json!({"a": [1.5, "x"]})));
    }
}
