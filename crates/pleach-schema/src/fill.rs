//! Defaults filled in and the survey made in one walk, for an object that was just read.
//!
//! Most new objects lack some default and have nothing that must go. So defaults are filled in on the
//! walk that looks whether something must. If it must, pruning comes after defaulting for once; that
//! makes no difference, since no default brings in anything that is pruned, and what is pruned has none.
//!
//! Who writes an object again from the same template leaves out the same defaults again. What turns out
//! to be what there was, once they are filled in, is taken from there: whoever compares the two later
//! need not look into it.

use pleach_json::{Array, Map, Value, grow_stack};
use pleach_work::charge;

use crate::compile::Node;
use crate::default::{Growth, default_growing};
use crate::nulls::is_dropped;
use crate::prune::is_resource_member;
use crate::survey::{has_members, must_go, of_member, says_something, wants_default};

/// Fills in the defaults of an object whose schema is `node`. What it shares with one that is settled is
/// not looked at. Whether there are unknown fields in it, or nulls that nothing allows, comes back.
pub(crate) fn fill(object: &mut Value, settled: Option<&Value>, node: &Node) -> bool {
    let mut walk = Walk { pruning: false, growth: Growth::default() };
    walk.visit(object, settled, node, node.preserves_unknown_fields());
    walk.pruning
}

struct Walk {
    /// Something must go.
    pruning: bool,
    growth: Growth,
}

impl Walk {
    /// `preserved`: what no schema names stays here, and in the items if this is an array. Whether
    /// anything was filled in comes back.
    fn visit(&mut self, value: &mut Value, settled: Option<&Value>, node: &Node, preserved: bool) -> bool {
        match value {
            Value::Object(members) => {
                let settled = settled.and_then(Value::as_object);
                let filled = grow_stack(|| self.visit_members(members, settled, node, preserved));
                if filled
                    && let Some(settled) = settled
                    && are_alike(settled.entries(), members.entries(), |a, b| {
                        a.0 == b.0 && is_alike(&a.1, &b.1)
                    })
                {
                    *members = settled.clone();
                }
                filled
            }
            Value::Array(items) => {
                let Some(of_items) = node.items() else {
                    self.pruning |= !preserved && items.iter().any(has_members);
                    return false;
                };
                let settled = settled.and_then(Value::as_array);
                let preserved = preserved || of_items.preserves_unknown_fields();
                let filled = grow_stack(|| self.visit_items(items, settled, of_items, preserved));
                if filled
                    && let Some(settled) = settled
                    && are_alike(settled, items, is_alike)
                {
                    *items = settled.clone();
                }
                filled
            }
            _ => false,
        }
    }

    fn visit_items(
        &mut self,
        items: &mut Array,
        settled: Option<&Array>,
        of_items: &Node,
        preserved: bool,
    ) -> bool {
        charge(items.len() as u64);
        let mut filled = false;
        for i in 0..items.len() {
            match &items[i] {
                Value::Null => {
                    filled |= wants_default(of_items) && replace(&mut items[i], of_items, &mut self.growth);
                }
                item @ (Value::Object(_) | Value::Array(_)) => {
                    let settled = settled.and_then(|settled| settled.get(i));
                    if settled.is_none_or(|settled| !settled.is_same(item)) {
                        filled |= self.visit(&mut items[i], settled, of_items, preserved);
                    }
                }
                _ => {}
            }
        }
        filled
    }

    fn visit_members(
        &mut self,
        members: &mut Map,
        settled: Option<&Map>,
        node: &Node,
        preserved: bool,
    ) -> bool {
        charge(members.len() as u64);
        let (mut from, mut defaulted) = (0, 0);
        let mut filled = false;
        let resource = node.is_resource();
        let mut settled = settled.map(Map::ascending);
        for i in 0..members.len() {
            let (key, member) = &members.entries()[i];
            let declared = node.next_property(&mut from, key).map(|property| &*property.node);
            defaulted += usize::from(declared.is_some_and(|node| node.default().is_some()));
            let Some(of_member) = of_member(node, declared) else {
                self.pruning |= must_go(node, key, member, preserved);
                continue;
            };
            match member {
                Value::Null => {
                    self.pruning |= is_dropped(of_member);
                    filled |= wants_default(of_member)
                        && replace(&mut members.entries_mut()[i].1, of_member, &mut self.growth);
                }
                Value::Object(_) | Value::Array(_) if resource && is_resource_member(key) => {
                    // Not pruned; but there may be nulls in it, and defaults.
                    self.pruning |= says_something(of_member);
                    if of_member.below().defaults() {
                        default_growing(&mut members.entries_mut()[i].1, of_member, &mut self.growth);
                        filled = true;
                    }
                }
                Value::Object(_) | Value::Array(_) => {
                    let settled = settled.as_mut().and_then(|settled| settled.next(key));
                    if settled.is_none_or(|settled| !settled.is_same(member)) {
                        let member = &mut members.entries_mut()[i].1;
                        filled |=
                            self.visit(member, settled, of_member, of_member.preserves_unknown_fields());
                    }
                }
                _ => {}
            }
        }
        let missing = node.defaulted_len().saturating_sub(defaulted);
        if missing > 0 {
            add_missing(members, node, missing, &mut self.growth);
        }
        filled || missing > 0
    }
}

/// Whether two containers have the same in them, as far as that is told without a look into what they hold.
fn are_alike<T>(a: &[T], b: &[T], alike: impl Fn(&T, &T) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
}

fn is_alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        // Two zeros are equal and not written alike.
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        _ => a.is_same(b),
    }
}

/// A null gives way to its default, if it has one.
fn replace(value: &mut Value, node: &Node, growth: &mut Growth) -> bool {
    let Some(new) = node.default() else { return false };
    *value = growth.hand_out(node, new);
    default_growing(value, node, growth);
    true
}

/// Adds the members that have a default and are not there.
fn add_missing(members: &mut Map, node: &Node, missing: usize, growth: &mut Growth) {
    charge((members.len() + 4 * node.defaulted_len()) as u64);
    let defaults = node.defaulted().map(|(property, new)| (&property.name, (property, new)));
    members.fill_in(missing, defaults, |(property, new)| {
        let mut value = growth.hand_out(&property.node, new);
        default_growing(&mut value, &property.node, growth);
        value
    });
}
