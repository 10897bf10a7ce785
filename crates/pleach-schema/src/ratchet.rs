//! Ratcheting: which values of an object are unchanged, so that their errors do not count.
//!
//! A member corresponds to the old one when both objects have it and the schema declares it; an
//! item only in lists of type map, to the old item with the same keys. A value is *equal* when all
//! it consists of corresponds and is equal, so an object with a preserved, undeclared member never
//! is. Lists of other types are compared whole.
//!
//! Results are cached by the addresses of the values: an ancestor compares again what its descendants have
//! compared before, and the whole stays linear. A value may be in several places of an object, so the key
//! includes the address of the old value.

use std::cell::RefCell;
use std::collections::HashMap;

use pleach_json::{Array, Str, Value, grow_stack};
use pleach_work::charge;

use crate::compile::{ListType, Node};

/// The comparison of one new object with one old object. Both must stay where they are meanwhile.
#[derive(Default)]
pub(crate) struct Ratchet {
    equal: RefCell<HashMap<[usize; 3], bool>>,
    /// For old lists of type map: where the item with these keys is.
    items: RefCell<HashMap<[usize; 2], HashMap<String, usize>>>,
}

fn address<T>(value: &T) -> usize {
    std::ptr::from_ref(value) as usize
}

impl Ratchet {
    /// Whether a value, under this schema, equals the old value it corresponds to.
    pub(crate) fn is_equal(&self, node: &Node, new: &Value, old: &Value) -> bool {
        if !matches!(new, Value::Array(_) | Value::Object(_)) {
            return new == old;
        }
        let key = [address(node), address(new), address(old)];
        if let Some(known) = self.equal.borrow().get(&key) {
            return *known;
        }
        let equal = grow_stack(|| self.compare(node, new, old));
        self.equal.borrow_mut().insert(key, equal);
        equal
    }

    fn compare(&self, node: &Node, new: &Value, old: &Value) -> bool {
        // A cache entry costs more than the comparison.
        charge(8);
        match (new, old) {
            (Value::Object(new), Value::Object(old_members)) => {
                charge(2 * new.len() as u64);
                new.len() == old_members.len()
                    && new.iter().all(|(key, member)| {
                        let (Some(of_member), Some(old)) = (node.member(key), old_members.get(key)) else {
                            return false;
                        };
                        self.is_equal(of_member, member, old)
                    })
            }
            (Value::Array(new), Value::Array(old_items)) => match (node.list_type(), node.items()) {
                (ListType::Map, Some(of_items)) => {
                    new.len() == old_items.len()
                        && new.iter().all(|item| {
                            self.old_item(node, item, old)
                                .is_some_and(|old| self.is_equal(of_items, item, old))
                        })
                }
                _ => new == old_items,
            },
            _ => false,
        }
    }

    /// The old item that corresponds to a new one.
    pub(crate) fn old_item<'o>(&self, list: &Node, item: &Value, old: &'o Value) -> Option<&'o Value> {
        let old = old.as_array()?;
        if list.list_type() != ListType::Map {
            return None;
        }
        let keys = key_tuple(list.list_map_keys(), item)?;
        let mut known = self.items.borrow_mut();
        let positions = known
            .entry([address(list), address(old)])
            .or_insert_with(|| positions(list.list_map_keys(), old));
        positions.get(&keys).map(|&i| &old[i])
    }
}

/// Where the items of a list are, by their keys; of equals the first.
fn positions(keys: &[Str], items: &Array) -> HashMap<String, usize> {
    let mut positions = HashMap::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        if let Some(tuple) = key_tuple(keys, item) {
            positions.entry(tuple).or_insert(i);
        }
    }
    positions
}

/// The values of an item's keys as one text; none unless all are there and scalar.
fn key_tuple(keys: &[Str], item: &Value) -> Option<String> {
    charge(4 + 8 * keys.len() as u64);
    let mut tuple = String::new();
    for key in keys {
        let value = item.get(key)?;
        let kind = match value {
            Value::Bool(_) => 'b',
            Value::Int(_) => 'i',
            Value::Float(_) => 'f',
            Value::String(_) => 's',
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        tuple.push(kind);
        tuple.push_str(&pleach_json::to_string(value));
        tuple.push(',');
    }
    Some(tuple)
}

#[cfg(test)]
mod tests {
    use pleach_json::{Value, json};

    use crate::validate::validate_update;
    use crate::{Schema, SchemaOptions};

    #[track_caller]
    fn check(why: &str, schema: &Value, old: &Value, new: &Value, want: &[&str]) {
        let wrapped =
            json!({"type": "object", "properties": {"f": (schema.clone()), "kind": {"type": "integer"}}});
        let schema = Schema::from_value(&wrapped, SchemaOptions::default());
        // No schema declares metadata, so that the root itself never ratchets, as with real objects.
        let wrap = |f: &Value| json!({"f": (f.clone()), "kind": "K", "metadata": {"name": "x"}});
        let (old, new) = (wrap(old), wrap(new));
        let errors: Vec<_> =
            validate_update(schema.root(), &new, &old, None).iter().map(ToString::to_string).collect();
        let (kind, rest) = errors.split_last().unwrap();
        assert_eq!(
            kind, "kind: Invalid value: \"string\": kind in body must be of type integer: \"string\"",
            "{why}: type meta never ratchets"
        );
        assert_eq!(rest, want, "{why}");
    }

    #[test]
    fn errors_of_unchanged_values_are_ratcheted() {
        let at_least = |n: i64| json!({"type": "integer", "minimum": n});
        let low = "f.v: Invalid value: 2: f.v in body should be greater than or equal to 10";
        let object = json!({"type": "object", "properties": {"v": (at_least(10)), "w": {"type": "integer"}}, "required": ["r"]});
        for (why, old, new, want) in [
            ("all as it was", json!({"v": 1}), json!({"v": 1}), &[][..]),
            (
                "a member changed: the object is another",
                json!({"v": 1}),
                json!({"v": 1, "w": 1}),
                &["f.r: Required value"],
            ),
            ("the member itself changed", json!({"v": 1}), json!({"v": 2}), &[low, "f.r: Required value"]),
            ("an integer is no float", json!({"v": 2.0}), json!({"v": 2}), &[low, "f.r: Required value"]),
        ] {
            check(why, &object, &old, &new, want);
        }
        let mut preserving = object.clone();
        preserving.as_object_mut().unwrap().insert("x-kubernetes-preserve-unknown-fields", true);
        check(
            "an undeclared member makes an object unequal",
            &preserving,
            &json!({"x": 1}),
            &json!({"x": 1}),
            &["f.r: Required value"],
        );
    }

    #[test]
    fn items_correspond_by_keys() {
        let list = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {
            "type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer", "minimum": 10}}, "required": ["k"]}});
        let mut plain = list.clone();
        plain.as_object_mut().unwrap().remove("x-kubernetes-list-type");
        let old = json!([{"k": "a", "v": 1}, {"k": "b", "v": 20}]);
        check("in another order", &list, &old, &json!([{"k": "b", "v": 20}, {"k": "a", "v": 1}]), &[]);
        check("in a longer list", &list, &old, &json!([{"k": "c", "v": 30}, {"k": "a", "v": 1}]), &[]);
        check(
            "a new key",
            &list,
            &old,
            &json!([{"k": "z", "v": 1}]),
            &["f[0].v: Invalid value: 1: f[0].v in body should be greater than or equal to 10"],
        );
        check("other lists as a whole", &plain, &old, &old, &[]);
        check(
            "and not by item",
            &plain,
            &old,
            &json!([{"k": "a", "v": 1}]),
            &["f[0].v: Invalid value: 1: f[0].v in body should be greater than or equal to 10"],
        );
    }

    #[test]
    fn a_value_shared_by_two_fields_is_compared_with_each_old_value() {
        let at_least = json!({"type": "object", "properties": {"v": {"type": "integer", "minimum": 10}}});
        let schema = json!({"type": "object", "properties": {"a": (at_least.clone()), "b": (at_least)}});
        // Copies share their memory.
        let low = json!({"v": 1});
        check(
            "one of them is new",
            &schema,
            &json!({"a": (low.clone())}),
            &json!({"a": (low.clone()), "b": (low.clone())}),
            &["f.b.v: Invalid value: 1: f.b.v in body should be greater than or equal to 10"],
        );
        check(
            "one of them was something else",
            &schema,
            &json!({"a": (low.clone()), "b": {"v": 20}}),
            &json!({"a": (low.clone()), "b": (low)}),
            &["f.b.v: Invalid value: 1: f.b.v in body should be greater than or equal to 10"],
        );
    }

    #[test]
    fn junctors_ratchet_with_their_node() {
        let one = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
        let line = "<nil>: Invalid value: \"\": \"f\" must validate one and only one schema (oneOf). Found 2 valid alternatives";
        check("as it was", &one, &json!({"a": 1, "b": 2}), &json!({"a": 1, "b": 2}), &[]);
        check("changed", &one, &json!({"a": 1, "b": 2}), &json!({"a": 1, "b": 3}), &[line]);
        let any = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "allOf": [{"properties": {"a": {"minimum": 5}}}]});
        check(
            "inside a branch nothing ratchets",
            &any,
            &json!({"a": 1, "b": 2}),
            &json!({"a": 1, "b": 3}),
            &[
                "f.a: Invalid value: 1: f.a in body should be greater than or equal to 5",
                "<nil>: Invalid value: \"\": \"f\" must validate all the schemas (allOf). None validated",
            ],
        );
    }
}
