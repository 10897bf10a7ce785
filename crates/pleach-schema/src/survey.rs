//! Looks whether there is anything to settle in an object, before anything in it is opened to change.
//!
//! Nearly every object that comes in has no unknown field and no null that must go, and one that was
//! written before has its defaults. One walk that only reads finds that out; the walks that change
//! ([`crate::prune`], [`crate::nulls`], [`crate::default`]) then need not run. What is said here may
//! err only in that something is to be done.
//!
//! Embedded resources are not looked into: whoever has them settles without asking.

use pleach_json::{Map, Value, grow_stack};

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

/// What there is to do in an object whose schema is `node`.
pub(crate) fn survey(value: &Value, node: &Node) -> Needs {
    let mut needs = Needs::default();
    visit(value, node, node.preserves_unknown_fields(), &mut needs);
    needs
}

/// `preserved`: what no schema names stays here, and in the items if this is an array.
fn visit(value: &Value, node: &Node, preserved: bool, needs: &mut Needs) {
    match value {
        Value::Object(members) => grow_stack(|| visit_members(members, node, preserved, needs)),
        Value::Array(items) => {
            let Some(of_items) = node.items() else {
                needs.pruning |= !preserved && items.iter().any(has_members);
                return;
            };
            grow_stack(|| {
                for item in items {
                    match item {
                        Value::Null => needs.defaults |= wants_default(of_items),
                        Value::Object(_) | Value::Array(_) => {
                            visit(item, of_items, preserved || of_items.preserves_unknown_fields(), needs);
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

fn visit_members(members: &Map, node: &Node, preserved: bool, needs: &mut Needs) {
    let mut from = 0;
    let mut defaulted = 0;
    let resource = node.is_resource();
    for (key, member) in members {
        let declared = node.next_property(&mut from, key).map(|property| &*property.node);
        defaulted += usize::from(declared.is_some_and(|node| node.default().is_some()));
        let of_member = match (declared, node.additional()) {
            (Some(of_member), _) => of_member,
            (None, Additional::Schema(of_member)) => of_member,
            (None, Additional::Absent | Additional::Bool(_)) if resource && is_resource_member(key) => {
                continue;
            }
            (None, Additional::Bool(_)) => {
                needs.pruning |= has_members(member);
                continue;
            }
            (None, Additional::Absent) => {
                needs.pruning |= !preserved;
                continue;
            }
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
                visit(member, of_member, of_member.preserves_unknown_fields(), needs);
            }
            _ => {}
        }
        if needs.is_full() {
            return;
        }
    }
    needs.defaults |= defaulted < node.defaulted_len();
}

/// Whether a null gives way to a default.
fn wants_default(node: &Node) -> bool {
    !node.is_nullable() && node.default().is_some()
}

/// Whether anything is said of what is below a node.
fn says_something(node: &Node) -> bool {
    !node.properties().is_empty() || node.additional().schema().is_some() || node.items().is_some()
}

/// Whether there is an object that is not empty, here or in the items.
fn has_members(value: &Value) -> bool {
    match value {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => grow_stack(|| items.iter().any(has_members)),
        _ => false,
    }
}
