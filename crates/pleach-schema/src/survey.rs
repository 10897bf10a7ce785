//! Looks whether there is anything to settle in an object, before anything in it is opened to change.
//!
//! Nearly every object that comes in has no unknown field and no null that must go, and one that was
//! written before has its defaults. One walk that only reads finds that out; the walks that change
//! ([`crate::prune`], [`crate::nulls`], [`crate::default`]) then need not run. What is said here may
//! err only in that something is to be done.
//!
//! Embedded resources are not looked into: whoever has them settles without asking.

use pleach_json::{Map, Value, grow_stack};
use pleach_work::charge;

use crate::compile::{Additional, Node};
use crate::nulls::is_dropped;
use crate::prune::is_resource_member;

/// What there is to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// There are unknown fields, or nulls that nothing allows.
    pub(crate) pruning: bool,
    /// There are defaults to fill in.
    pub(crate) defaults: bool,
}

impl Needs {
    /// Nothing further can be found out.
    fn is_full(self) -> bool {
        self.pruning && self.defaults
    }
}

/// What there is to do in an object whose schema is `node`. What it shares with one that is settled is
/// not looked at.
pub(crate) fn survey(value: &Value, settled: Option<&Value>, node: &Node) -> Needs {
    let mut needs = Needs::default();
    visit(value, settled, node, node.preserves_unknown_fields(), &mut needs);
    needs
}

/// `preserved`: what no schema names stays here, and in the items if this is an array.
fn visit(value: &Value, settled: Option<&Value>, node: &Node, preserved: bool, needs: &mut Needs) {
    if settled.is_some_and(|settled| settled.is_same(value)) {
        return;
    }
    match value {
        Value::Object(members) => {
            let settled = settled.and_then(Value::as_object);
            grow_stack(|| visit_members(members, settled, node, preserved, needs));
        }
        Value::Array(items) => {
            let settled = settled.and_then(Value::as_array);
            let Some(of_items) = node.items() else {
                needs.pruning |= !preserved && items.iter().any(has_members);
                return;
            };
            grow_stack(|| {
                charge(items.len() as u64);
                for (i, item) in items.iter().enumerate() {
                    match item {
                        Value::Null => needs.defaults |= wants_default(of_items),
                        Value::Object(_) | Value::Array(_) => {
                            let settled = settled.and_then(|settled| settled.get(i));
                            let preserved = preserved || of_items.preserves_unknown_fields();
                            visit(item, settled, of_items, preserved, needs);
                        }
                        _ => {}
                    }
                    if needs.is_full() {
                        return;
                    }
                }
            });
        }
        _ => {}
    }
}

fn visit_members(members: &Map, settled: Option<&Map>, node: &Node, preserved: bool, needs: &mut Needs) {
    charge(members.len() as u64);
    let mut from = 0;
    let mut defaulted = 0;
    let resource = node.is_resource();
    let mut settled = settled.map(Map::ascending);
    for (key, member) in members {
        let declared = node.next_property(&mut from, key).map(|property| &*property.node);
        defaulted += usize::from(declared.is_some_and(|node| node.default().is_some()));
        let Some(of_member) = of_member(node, declared) else {
            needs.pruning |= must_go(node, key, member, preserved);
            continue;
        };
        match member {
            Value::Null => {
                needs.pruning |= is_dropped(of_member);
                needs.defaults |= wants_default(of_member);
            }
            Value::Object(_) | Value::Array(_) if resource && is_resource_member(key) => {
                // Not pruned; but there may be nulls in it, and defaults.
                needs.pruning |= says_something(of_member);
                needs.defaults |= of_member.below().defaults();
            }
            Value::Object(_) | Value::Array(_) => {
                let settled = settled.as_mut().and_then(|settled| settled.next(key));
                visit(member, settled, of_member, of_member.preserves_unknown_fields(), needs);
            }
            _ => {}
        }
        if needs.is_full() {
            return;
        }
    }
    needs.defaults |= defaulted < node.defaulted_len();
}

/// The schema of a member, declared or not; none if there is none.
pub(crate) fn of_member<'n>(node: &'n Node, declared: Option<&'n Node>) -> Option<&'n Node> {
    declared.or_else(|| node.additional().schema().map(|others| &**others))
}

/// Whether a member that has no schema must go, or something in it.
pub(crate) fn must_go(node: &Node, key: &str, member: &Value, preserved: bool) -> bool {
    match node.additional() {
        _ if node.is_resource() && is_resource_member(key) => false,
        Additional::Absent => !preserved,
        Additional::Bool(_) | Additional::Schema(_) => has_members(member),
    }
}

/// Whether a null gives way to a default.
pub(crate) fn wants_default(node: &Node) -> bool {
    !node.is_nullable() && node.default().is_some()
}

/// Whether anything is said of what is below a node.
pub(crate) fn says_something(node: &Node) -> bool {
    !node.properties().is_empty() || node.additional().schema().is_some() || node.items().is_some()
}

/// Whether there is an object that is not empty, here or in the items.
pub(crate) fn has_members(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => grow_stack(|| items.iter().any(has_members)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;

    use super::*;
    use crate::{Schema, SchemaOptions, default, fill, nulls, prune};

    #[test]
    fn it_is_said_what_the_walks_would_change() {
        let schema = json!({"type": "object", "properties": {
            "metadata": {"type": "object"},
            "spec": {"type": "object", "properties": {
                "d": {"type": "string", "default": "x"},
                "nd": {"type": "string", "nullable": true, "default": "x"},
                "n": {"type": "string"},
                "l": {"type": "array", "items": {"type": "object", "properties": {"d": {"type": "integer", "default": 1}}}},
                "m": {"type": "object", "additionalProperties": {"type": "string", "default": "x"}},
                "t": {"type": "object", "additionalProperties": true},
                "k": {"type": "array", "x-kubernetes-preserve-unknown-fields": true, "items": {"type": "object", "properties": {"o": {"type": "object"}}}},
                "p": {"x-kubernetes-preserve-unknown-fields": true},
                "u": {"type": "array"},
            }},
        }});
        let schema = Schema::from_value(&schema, SchemaOptions::default());
        for (why, spec, pruning, defaults) in [
            ("nothing to do", json!({"d": "y", "nd": null}), false, false),
            ("a default is missing", json!({"d": "y"}), false, true),
            ("a null gives way", json!({"d": null, "nd": null}), false, true),
            ("a null goes", json!({"d": "y", "nd": "y", "n": null}), true, false),
            ("an unknown field", json!({"d": "y", "nd": "y", "z": 1}), true, false),
            ("both", json!({"z": 1}), true, true),
            ("in an item", json!({"d": "y", "nd": "y", "l": [{"d": 1}, {}]}), false, true),
            (
                "an unknown field in an item",
                json!({"d": "y", "nd": "y", "l": [{"d": 1, "z": 1}]}),
                true,
                false,
            ),
            ("items that are no objects", json!({"d": "y", "nd": "y", "l": [1, null, "x"]}), false, false),
            ("a null in a map", json!({"d": "y", "nd": "y", "m": {"a": null}}), false, true),
            ("a map", json!({"d": "y", "nd": "y", "m": {"a": "b"}}), false, false),
            (
                "true keeps one level",
                json!({"d": "y", "nd": "y", "t": {"a": 1, "b": {}, "c": [[]]}}),
                false,
                false,
            ),
            ("but no more", json!({"d": "y", "nd": "y", "t": {"a": [[{"b": 1}]]}}), true, false),
            ("preserved items", json!({"d": "y", "nd": "y", "k": [{"z": 1, "o": {}}]}), false, false),
            (
                "what is declared in them",
                json!({"d": "y", "nd": "y", "k": [{"z": 1, "o": {"z": 1}}]}),
                true,
                false,
            ),
            ("anything", json!({"d": "y", "nd": "y", "p": [{"z": {"y": null}}]}), false, false),
            (
                "items of which nothing is said",
                json!({"d": "y", "nd": "y", "u": [1, {}, [{"a": 1}]]}),
                true,
                false,
            ),
        ] {
            let object = json!({"apiVersion": "v1", "kind": "K", "metadata": {"any": null}, "spec": spec});
            let wanted = Needs { pruning, defaults };
            assert_eq!(survey(&object, None, schema.root()), wanted, "{why}");
            let mut settled = object.clone();
            prune::prune(&mut settled, schema.root());
            nulls::drop_nulls(&mut settled, schema.root());
            default::default(&mut settled, schema.root());
            assert_eq!(survey(&object, Some(&settled), schema.root()), wanted, "{why}");
            assert_eq!(survey(&settled, Some(&settled), schema.root()), Needs::default(), "{why}");
            let mut filled = object.clone();
            assert_eq!(fill::fill(&mut filled, None, schema.root()), pruning, "{why}");
            prune::prune(&mut filled, schema.root());
            nulls::drop_nulls(&mut filled, schema.root());
            assert_eq!(filled, settled, "{why}: the other way round");
            let mut pruned = object.clone();
            prune::prune(&mut pruned, schema.root());
            nulls::drop_nulls(&mut pruned, schema.root());
            let mut filled = object.clone();
            default::default(&mut filled, schema.root());
            let mut by_one_walk = object.clone();
            fill::fill(&mut by_one_walk, Some(&settled), schema.root());
            assert_eq!(by_one_walk, filled, "{why}: defaults alone");
            assert_eq!(Needs { pruning: pruned != object, defaults: filled != object }, wanted, "{why}");
        }
    }
}
