//! Defaults filled in and the survey made in one walk, for an object that nobody shares.
//!
//! Most new objects lack some default and have nothing that must go. So defaults are filled in on the
//! walk that looks whether something must. If it must, pruning comes after defaulting for once; that
//! makes no difference, since no default brings in anything that is pruned, and what is pruned has none.

use pleach_json::{Map, Str, Value, grow_stack};

use crate::compile::Node;
use crate::default::default;
use crate::nulls::is_dropped;
use crate::prune::is_resource_member;
use crate::survey::{has_members, must_go, of_member, says_something, wants_default};

/// Fills in the defaults of an object whose schema is `node`. Whether there are unknown fields in it, or
/// nulls that nothing allows, comes back.
pub(crate) fn fill(object: &mut Value, node: &Node) -> bool {
    let mut pruning = false;
    visit(object, node, node.preserves_unknown_fields(), &mut pruning);
    pruning
}

/// `preserved`: what no schema names stays here, and in the items if this is an array.
fn visit(value: &mut Value, node: &Node, preserved: bool, pruning: &mut bool) {
    match value {
        Value::Object(members) => grow_stack(|| visit_members(members, node, preserved, pruning)),
        Value::Array(items) => {
            let Some(of_items) = node.items() else {
                *pruning |= !preserved && items.iter().any(has_members);
                return;
            };
            if items.iter().any(|item| item.is_container() || item.is_null()) {
                let preserved = preserved || of_items.preserves_unknown_fields();
                grow_stack(|| {
                    for item in items.iter_mut() {
                        match item {
                            Value::Null => replace(item, of_items),
                            _ => visit(item, of_items, preserved, pruning),
                        }
                    }
                });
            }
        }
        _ => {}
    }
}

fn visit_members(members: &mut Map, node: &Node, preserved: bool, pruning: &mut bool) {
    let (mut from, mut defaulted) = (0, 0);
    let resource = node.is_resource();
    for i in 0..members.len() {
        let (key, member) = &members.entries()[i];
        let declared = node.next_property(&mut from, key).map(|property| &*property.node);
        defaulted += usize::from(declared.is_some_and(|node| node.default().is_some()));
        let Some(of_member) = of_member(node, declared) else {
            *pruning |= must_go(node, key, member, preserved);
            continue;
        };
        match member {
            Value::Null => {
                *pruning |= is_dropped(of_member);
                if wants_default(of_member) {
                    replace(&mut members.entries_mut()[i].1, of_member);
                }
            }
            Value::Object(_) | Value::Array(_) if resource && is_resource_member(key) => {
                // Not pruned; but there may be nulls in it, and defaults.
                *pruning |= says_something(of_member);
                if of_member.below().defaults() {
                    default(&mut members.entries_mut()[i].1, of_member);
                }
            }
            Value::Object(_) | Value::Array(_) => {
                let member = &mut members.entries_mut()[i].1;
                visit(member, of_member, of_member.preserves_unknown_fields(), pruning);
            }
            _ => {}
        }
    }
    if defaulted < node.defaulted_len() {
        add_missing(members, node);
    }
}

/// A null gives way to a default.
fn replace(value: &mut Value, node: &Node) {
    if let Some(new) = node.default().filter(|_| wants_default(node)) {
        *value = new.clone();
        default(value, node);
    }
}

fn add_missing(members: &mut Map, node: &Node) {
    let missing = node.defaulted().filter(|(property, _)| !members.contains_key(&property.name));
    let added: Vec<(Str, Value)> = missing
        .map(|(property, new)| {
            let mut value = new.clone();
            default(&mut value, &property.node);
            (property.name.clone(), value)
        })
        .collect();
    members.reserve(added.len());
    for (key, value) in added {
        members.insert(key, value);
    }
}
