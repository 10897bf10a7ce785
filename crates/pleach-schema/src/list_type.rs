//! Validates list types: lists of type set and map have no duplicates.
//!
//! A stage of validation of its own: only declared fields are validated, not junctors. Of a value that
//! occurs several times, only the second occurrence is reported.
//!
//! On update the errors of the new object count only if the old one had none, anywhere.

use std::collections::HashMap;

use pleach_json::{Array, Map, Str, Value, grow_stack};
use pleach_meta::{FieldError, FieldErrors, Path};
use pleach_work::charge;
use smallvec::SmallVec;

use crate::compile::{ListType, Node};

/// The errors of list types in a new object.
pub fn validate_lists(value: &Value, node: &Node) -> Vec<FieldError> {
    validate_lists_against(value, None, None, node).0
}

/// The errors of list types in an object that replaces `old`, and whether there are none without ratcheting.
/// Containers that it shares with `valid`, which has no such errors, are skipped.
pub(crate) fn validate_lists_against(
    new: &Value,
    old: Option<&Value>,
    valid: Option<&Value>,
    node: &Node,
) -> (Vec<FieldError>, bool) {
    let mut errors = FieldErrors::new();
    visit(new, valid, node, &Path::ROOT, &mut errors);
    debug_assert!(
        valid.is_none() || !errors.is_empty() || validate_lists(new, node).is_empty(),
        "the baseline is not valid"
    );
    let is_valid = errors.is_empty();
    if !is_valid && old.is_some_and(|old| !validate_lists(old, node).is_empty()) {
        errors.truncate(0);
    }
    (errors.into(), is_valid)
}

/// Containers shared with `valid` are skipped.
fn visit(value: &Value, valid: Option<&Value>, node: &Node, at: &Path<'_>, errors: &mut FieldErrors) {
    if !node.below().lists() || errors.is_full() || valid.is_some_and(|valid| value.is_same(valid)) {
        return;
    }
    match value {
        Value::Object(members) => grow_stack(|| {
            charge(members.len() as u64);
            let mut from = 0;
            let mut valid = valid.and_then(Value::as_object).map(Map::ascending);
            for (key, member) in members {
                // Scalars have no list type.
                if !matches!(member, Value::Object(_) | Value::Array(_)) {
                    continue;
                }
                let valid = valid.as_mut().and_then(|valid| valid.next(key));
                if let Some(property) = node.next_property(&mut from, key) {
                    visit(member, valid, &property.node, &at.child(key), errors);
                } else if let Some(of_member) = node.additional().schema() {
                    visit(member, valid, of_member, &at.key(key), errors);
                }
            }
        }),
        Value::Array(items) => {
            match node.list_type() {
                ListType::Set => check_set(items, at, errors),
                ListType::Map => check_map(items, node.list_map_keys(), at, errors),
                ListType::Unset | ListType::Atomic => {}
            }
            let Some(of_items) = node.items().filter(|items| items.below().lists()) else { return };
            let valid = valid.and_then(Value::as_array);
            grow_stack(|| {
                charge(items.len() as u64);
                for (i, item) in items.iter().enumerate() {
                    visit(item, valid.and_then(|valid| valid.get(i)), of_items, &at.index(i), errors);
                }
            });
        }
        _ => {}
    }
}

/// The identity of a value, by which duplicates are found.
#[derive(PartialEq, Eq, Hash)]
enum Identity<'a> {
    /// No element, or no key in it.
    Unspecified,
    Null,
    Bool(bool),
    Int(i64),
    Float(u64),
    Text(&'a Str),
    /// Arrays and objects are identified by their JSON, in which `1` and `1.0` are the same.
    Json(Box<str>),
}

fn identity(value: &Value) -> Identity<'_> {
    charge(4);
    match value {
        Value::Null => Identity::Null,
        Value::Bool(b) => Identity::Bool(*b),
        Value::Int(i) => Identity::Int(*i),
        // Adding zero makes the two zeros one, as they are in Go.
        Value::Float(f) => Identity::Float((f + 0.0).to_bits()),
        Value::String(text) => Identity::Text(text),
        compound => json(compound),
    }
}

fn json(value: &Value) -> Identity<'static> {
    let text = pleach_json::to_string(value);
    charge(4 + text.len() as u64 / 4);
    Identity::Json(text.into_boxed_str())
}

/// Calls `second` with every position where an identity comes for the second time.
fn second_times<'a>(identities: impl Iterator<Item = Identity<'a>>, mut second: impl FnMut(usize)) {
    let mut seen: HashMap<Identity<'_>, bool> = HashMap::new();
    for (i, identity) in identities.enumerate() {
        match seen.entry(identity) {
            std::collections::hash_map::Entry::Vacant(first) => {
                first.insert(false);
            }
            std::collections::hash_map::Entry::Occupied(mut reported) => {
                if !reported.insert(true) {
                    second(i);
                }
            }
        }
    }
}

/// Lists up to this long are compared pair by pair before anything is hashed.
const FEW: usize = 16;

/// Whether two values differ both in their [`Identity`] and in their JSON, as far as that is cheap to find out.
fn surely_differ(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (None, None)
        | (Some(Value::Null), Some(Value::Null))
        | (Some(Value::Int(_)), Some(Value::Float(_)))
        | (Some(Value::Float(_)), Some(Value::Int(_)))
        | (Some(Value::Array(_)), Some(Value::Array(_)))
        | (Some(Value::Object(_)), Some(Value::Object(_))) => false,
        (Some(Value::String(a)), Some(Value::String(b))) => a != b,
        (Some(Value::Int(a)), Some(Value::Int(b))) => a != b,
        (Some(Value::Float(a)), Some(Value::Float(b))) => a != b,
        (Some(Value::Bool(a)), Some(Value::Bool(b))) => a != b,
        // Of different kinds, or only one of them is there.
        _ => true,
    }
}

/// Whether all pairs of a short list surely differ.
fn all_differ<T>(items: &[T], differ: impl Fn(&T, &T) -> bool) -> bool {
    items.len() <= FEW
        && items.iter().enumerate().all(|(i, item)| items[..i].iter().all(|before| differ(before, item)))
}

fn check_set(items: &Array, at: &Path<'_>, errors: &mut FieldErrors) {
    if items.len() > 1 && !all_differ(items, |a, b| surely_differ(Some(a), Some(b))) {
        second_times(items.iter().map(identity), |i| {
            if !errors.is_full() {
                errors.push(FieldError::duplicate(at.index(i), items[i].clone()));
            }
        });
    }
}

fn check_map(items: &Array, keys: &[Str], at: &Path<'_>, errors: &mut FieldErrors) {
    charge(items.len() as u64);
    let misfit = items.iter().position(|item| !matches!(item, Value::Null | Value::Object(_)));
    if let Some(i) = misfit {
        let detail = "must be an object for an array of list-type map";
        errors.push(FieldError::invalid(at.index(i), items[i].clone(), detail));
        return;
    }
    if items.len() <= 1 || have_different_keys(items, keys) {
        return;
    }
    let duplicate = |i: usize| FieldError::duplicate(at.index(i), present_keys(&items[i], keys));
    if let [key] = keys {
        let of_item = |item| Value::get(item, key).map_or(Identity::Unspecified, identity);
        second_times(items.iter().map(of_item), |i| {
            if !errors.is_full() {
                errors.push(duplicate(i));
            }
        });
    } else {
        let of_item = |item| json(&present_keys(item, keys));
        second_times(items.iter().map(of_item), |i| {
            if !errors.is_full() {
                errors.push(duplicate(i));
            }
        });
    }
}

/// Whether the items of a short list surely differ in their keys.
fn have_different_keys(items: &Array, keys: &[Str]) -> bool {
    let Some((first, others)) = keys.split_first().filter(|_| items.len() <= FEW) else { return false };
    charge(keys.len() as u64);
    let firsts: SmallVec<[_; FEW]> = items.iter().map(|item| (item, item.get(first))).collect();
    all_differ(&firsts, |a, b| {
        if surely_differ(a.1, b.1) {
            return true;
        }
        charge(2 * others.len() as u64);
        others.iter().any(|key| surely_differ(a.0.get(key), b.0.get(key)))
    })
}

/// The keys that an item has, with their values.
fn present_keys(item: &Value, keys: &[Str]) -> Value {
    charge(4 * keys.len() as u64);
    let members = keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
    Value::Object(members.collect::<Map>())
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::{Schema, SchemaOptions};

    fn errors(schema: &Value, value: &Value) -> Vec<String> {
        let wrapped = json!({"type": "object", "properties": {"l": (schema.clone())}});
        let schema = Schema::from_value(&wrapped, SchemaOptions::default());
        validate_lists(&json!({"l": (value.clone())}), schema.root())
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn duplicates_in_sets_are_reported() {
        let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"x-kubernetes-preserve-unknown-fields": true}});
        for (why, value, want) in [
            ("all different", json!([1, 1.0, "1", true, "true", {"a": 1}, [1], {}, [], null]), &[][..]),
            (
                "only the second time",
                json!(["a", "b", "a", "b", "a"]),
                &["l[2]: Duplicate value: \"a\"", "l[3]: Duplicate value: \"b\""],
            ),
            (
                "compounds by their JSON",
                json!([{"a": [1]}, {"a": [1.0]}]),
                &["l[1]: Duplicate value: {\"a\":[1]}"],
            ),
            ("null is a value", json!([null, null]), &["l[1]: Duplicate value: null"]),
        ] {
            assert_eq!(errors(&set, &value), want, "{why}");
        }
    }

    #[test]
    fn duplicate_keys_in_maps_are_reported() {
        let map = |keys: Value| json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": {"type": "object"}});
        let (one, two) = (map(json!(["k"])), map(json!(["z", "a"])));
        for (why, schema, value, want) in [
            ("different keys", &one, json!([{"k": 1}, {"k": "1"}, {"k": 1.0}, {"k": null}, {}]), &[][..]),
            (
                "equal keys",
                &one,
                json!([{"k": "a", "v": 1}, {"k": "a", "v": 2}, {"k": "a"}]),
                &["l[1]: Duplicate value: {\"k\":\"a\"}"],
            ),
            ("no key and no item are alike", &one, json!([{"v": 1}, null]), &["l[1]: Duplicate value: {}"]),
            (
                "first of all they are objects",
                &one,
                json!(["x", "x"]),
                &["l[0]: Invalid value: \"x\": must be an object for an array of list-type map"],
            ),
            (
                "two keys, in the order of JSON",
                &two,
                json!([{"a": "1", "z": 2}, {"z": 2.0, "a": "1"}]),
                &["l[1]: Duplicate value: {\"a\":\"1\",\"z\":2}"],
            ),
            ("one of two differs", &two, json!([{"a": "1", "z": 2}, {"a": "1"}]), &[]),
        ] {
            assert_eq!(errors(schema, &value), want, "{why}");
        }
    }

    #[test]
    fn short_and_long_lists_have_the_same_errors() {
        let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"x-kubernetes-preserve-unknown-fields": true}});
        let map = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["z", "a"], "items": {"type": "object"}});
        for n in [2, FEW, FEW + 1, 40] {
            let mut items: Vec<Value> = (0..n as i64).map(Value::from).collect();
            assert!(errors(&set, &Value::from(items.clone())).is_empty(), "{n}");
            items[n - 1] = Value::from(0);
            let told = format!("l[{}]: Duplicate value: 0", n - 1);
            assert_eq!(errors(&set, &Value::from(items)), [told], "{n}");
            let mut items: Vec<Value> = (0..n as i64).map(|i| json!({"z": 1, "a": i})).collect();
            assert!(errors(&map, &Value::from(items.clone())).is_empty(), "{n}");
            items[n - 1] = json!({"z": 1.0, "a": 0});
            let told = format!("l[{}]: Duplicate value: {{\"a\":0,\"z\":1}}", n - 1);
            assert_eq!(errors(&map, &Value::from(items)), [told], "{n}");
        }
    }

    #[test]
    fn any_duplicate_in_the_old_object_ratchets_all() {
        let set = json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}});
        let schema = json!({"type": "object", "properties": {"l": (set.clone()), "m": {"type": "object", "additionalProperties": set}}});
        let schema = Schema::from_value(&schema, SchemaOptions::default());
        let bad = json!({"m": {"k": ["x", "x"]}});
        assert_eq!(
            schema.validate_lists_update(&bad, &json!({}))[0].to_string(),
            "m[k][1]: Duplicate value: \"x\""
        );
        assert!(schema.validate_lists_update(&bad, &json!({"l": ["y", "y"]})).is_empty());
    }
}
