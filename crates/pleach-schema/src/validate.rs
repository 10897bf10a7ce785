//! Value validation: the errors of an object under the keywords of its schema.
//!
//! Two walks. [`Node::accepts`] answers yes or no without allocating and is all that a valid object
//! costs. Only after a no does the second walk run, which reports every error: the order at a node, the
//! errors picked from failing `anyOf` branches and the ratcheting of what did not change are those of
//! the API server.
//!
//! The schema is taken as written, with its junctors; it need not be structural.

pub(crate) mod location;
mod report;
mod unions;

use std::collections::HashSet;

use pleach_json::{Array, Map, Value, grow_stack};
use pleach_meta::{FieldError, FieldErrors, Path};
use pleach_work::charge;

use crate::compile::{Additional, Junctors, Node};
use crate::ratchet::Ratchet;
use location::Location;

/// The errors of a new value. `start` is the field of the value itself in errors; a whole object has none.
pub fn validate(node: &Node, value: &Value, start: Option<&str>) -> Vec<FieldError> {
    validate_against(node, value, None, None, start).0
}

/// The errors of a changed value, ratcheted: those of what did not change are left out.
pub fn validate_update(node: &Node, new: &Value, old: &Value, start: Option<&str>) -> Vec<FieldError> {
    validate_against(node, new, Some(old), None, start).0
}

/// The errors of a value that replaces `old`, and whether its keywords are satisfied without ratcheting.
/// Containers that it shares with `valid`, which satisfies the schema, are skipped.
pub(crate) fn validate_against(
    node: &Node,
    new: &Value,
    old: Option<&Value>,
    valid: Option<&Value>,
    start: Option<&str>,
) -> (Vec<FieldError>, bool) {
    let mut errors = FieldErrors::new();
    let accepted = node.accepts_against(new, valid);
    debug_assert!(valid.is_none() || accepted == node.accepts(new), "the baseline is not valid");
    let ratchet = old.map(|_| Ratchet::default());
    let old = ratchet.as_ref().zip(old);
    if !accepted {
        errors = distinct(report::report(node, new, &Location::root(start), old));
    }
    unions::validate(node, new, &start_path(start), old, &mut errors);
    (errors.into(), accepted)
}

fn start_path(start: Option<&str>) -> Path<'_> {
    start.map_or(Path::ROOT, Path::new)
}

/// Drops repeated errors.
fn distinct(mut errors: FieldErrors) -> FieldErrors {
    if errors.len() > 1 {
        let mut seen = HashSet::with_capacity(errors.len());
        errors.retain(|error| seen.insert(error.to_string()));
    }
    errors
}

impl Node {
    /// Whether a value is valid, unions aside: they are no keywords of JSON schema and are validated
    /// separately.
    pub fn accepts(&self, value: &Value) -> bool {
        self.accepts_itself(value)
            && match value {
                Value::Null => true,
                Value::Object(members) => self.accepts_object(members, value),
                Value::Array(items) => self.accepts_array(items, value),
                _ => self.accepts_by_junctors(value),
            }
    }

    /// Whether a value is valid by the type and keywords of the node itself.
    #[inline]
    fn accepts_itself(&self, value: &Value) -> bool {
        self.types().accepts(value)
            && self.checks().iter().all(|c| !c.gate.admits(value) || c.check.accepts(value))
    }

    /// Whether a container is valid apart from its items or members, and apart from
    /// [required members](Node::has_required).
    #[doc(hidden)]
    pub fn accepts_apart_from_contents(&self, value: &Value) -> bool {
        self.accepts_itself(value) && self.accepts_by_junctors(value)
    }

    /// Whether an object has all required members. `required`: how many of its members are
    /// [required](crate::compile::Property::required) properties.
    #[doc(hidden)]
    pub fn has_required(&self, members: &Map, required: usize) -> bool {
        required == self.required_declared() && self.has_undeclared_required(members)
    }

    /// The same as [`Node::accepts`], skipping the containers that the value shares with a valid one.
    pub(crate) fn accepts_against(&self, value: &Value, valid: Option<&Value>) -> bool {
        let Some(valid) = valid.filter(|_| value.is_container()) else { return self.accepts(value) };
        value.is_same(valid)
            || self.accepts_itself(value)
                && self.accepts_by_junctors(value)
                && grow_stack(|| match (value, valid) {
                    (Value::Object(members), Value::Object(valid)) => {
                        self.accepts_members(members, Some(valid))
                    }
                    (Value::Array(items), Value::Array(valid)) => self.items().is_none_or(|of_items| {
                        charge(items.len() as u64);
                        let mut each = items.iter().enumerate();
                        each.all(|(i, item)| of_items.accepts_against(item, valid.get(i)))
                    }),
                    _ => self.accepts(value),
                })
    }

    // Apart, so that a scalar does not pay for the stack that containers need.
    #[inline(never)]
    fn accepts_object(&self, members: &Map, value: &Value) -> bool {
        grow_stack(|| self.accepts_members(members, None) && self.accepts_by_junctors(value))
    }

    #[inline(never)]
    fn accepts_array(&self, items: &Array, value: &Value) -> bool {
        grow_stack(|| {
            charge(items.len() as u64);
            self.items().is_none_or(|of_items| items.iter().all(|item| of_items.accepts(item)))
                && self.accepts_by_junctors(value)
        })
    }

    #[inline]
    fn accepts_members(&self, members: &Map, valid: Option<&Map>) -> bool {
        charge(members.len() as u64);
        let mut from = 0;
        let mut required = 0;
        let mut valid = valid.map(Map::ascending);
        for (key, member) in members {
            let valid = valid.as_mut().and_then(|valid| valid.next(key));
            if let Some(property) = self.next_property(&mut from, key) {
                required += usize::from(property.required);
                if !property.node.accepts_against(member, valid) {
                    return false;
                }
                continue;
            }
            match self.additional() {
                Additional::Absent | Additional::Bool(true) => {}
                Additional::Bool(false) => return false,
                Additional::Schema(of_member) => {
                    if !of_member.accepts_against(member, valid) {
                        return false;
                    }
                }
            }
        }
        self.has_required(members, required)
    }

    #[inline]
    fn accepts_by_junctors(&self, value: &Value) -> bool {
        self.junctors().is_none_or(|junctors| junctors.accept(value))
    }
}

impl Junctors {
    #[inline(never)]
    fn accept(&self, value: &Value) -> bool {
        let Self { any_of, one_of, all_of, not } = self;
        grow_stack(|| {
            // A scalar costs a branch little more than itself.
            let accepts = |node: &crate::compile::NodeRef| {
                charge(1);
                node.accepts(value)
            };
            (any_of.is_empty() || any_of.iter().any(accepts))
                && (one_of.is_empty() || one_of.iter().filter(|node| accepts(node)).count() == 1)
                && all_of.iter().all(accepts)
                && !not.as_ref().is_some_and(accepts)
        })
    }
}
