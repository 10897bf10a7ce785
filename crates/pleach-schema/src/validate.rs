//! Value validation: whether an object is what its schema demands, and what the API server says if not.
//!
//! Two walks. [`Node::accepts`] answers yes or no without allocating and is all that a valid object
//! costs. Only after a no does the second walk run, which finds every fault and words it: the order
//! at a node, the errors picked from failing `anyOf` branches and the ratcheting of what did not
//! change are those of the API server.
//!
//! The schema is taken as written, junctors and all; nothing here asks whether it is structural.

mod report;
pub(crate) mod site;
mod unions;

use std::collections::HashSet;

use pleach_json::{Array, Map, Value, grow_stack};
use pleach_meta::{FieldError, FieldErrors, Path};
use pleach_work::charge;

use crate::compile::{Additional, Junctors, Node};
use crate::ratchet::Ratchet;
use site::Site;

/// Everything wrong with a value. `start` is the field the value itself has in errors; the whole
/// object has none.
pub fn validate(node: &Node, value: &Value, start: Option<&str>) -> Vec<FieldError> {
    let mut errors = FieldErrors::new();
    if !node.accepts(value) {
        errors = distinct(report::report(node, value, &Site::root(start), None));
    }
    unions::validate(node, value, &start_path(start), None, &mut errors);
    errors.into()
}

/// The same without the containers shared with a valid value.
pub(crate) fn validate_except(node: &Node, value: &Value, sound: &Value) -> Vec<FieldError> {
    if !node.accepts_except(value, Some(sound)) {
        return validate(node, value, None);
    }
    debug_assert!(node.accepts(value), "an object is known to be sound that is not");
    let mut errors = FieldErrors::new();
    unions::validate(node, value, &Path::ROOT, None, &mut errors);
    errors.into()
}

/// Everything wrong with a value that was not so before: faults of what did not change are left out.
pub fn validate_update(node: &Node, new: &Value, old: &Value, start: Option<&str>) -> Vec<FieldError> {
    validate_update_of(node, new, Old { value: old, sound: false }, start).0
}

/// What a value was, and whether it is known that nothing was wrong with it.
#[derive(Clone, Copy)]
pub(crate) struct Old<'a> {
    pub(crate) value: &'a Value,
    pub(crate) sound: bool,
}

impl<'a> Old<'a> {
    /// The value, if nothing was wrong with it.
    pub(crate) fn if_sound(self) -> Option<&'a Value> {
        Some(self.value).filter(|_| self.sound)
    }
}

/// The same, and whether nothing at all is wrong with the value.
pub(crate) fn validate_update_of(
    node: &Node,
    new: &Value,
    old: Old<'_>,
    start: Option<&str>,
) -> (Vec<FieldError>, bool) {
    let mut errors = FieldErrors::new();
    let ratchet = Ratchet::default();
    let sound = node.accepts_except(new, old.if_sound());
    debug_assert_eq!(sound, node.accepts(new), "an object is known to be sound that is not");
    if !sound {
        errors = distinct(report::report(node, new, &Site::root(start), Some((&ratchet, old.value))));
    }
    unions::validate(node, new, &start_path(start), Some((&ratchet, old.value)), &mut errors);
    (errors.into(), sound)
}

fn start_path(start: Option<&str>) -> Path<'_> {
    start.map_or(Path::ROOT, Path::new)
}

/// Equal errors are told once.
fn distinct(mut errors: FieldErrors) -> FieldErrors {
    if errors.len() > 1 {
        let mut seen = HashSet::with_capacity(errors.len());
        errors.retain(|error| seen.insert(error.to_string()));
    }
    errors
}

impl Node {
    /// Whether the value has no fault, unions left aside: they are no keywords of JSON schema and are
    /// asked separately.
    pub fn accepts(&self, value: &Value) -> bool {
        self.accepts_itself(value)
            && match value {
                Value::Null => true,
                Value::Object(members) => self.accepts_object(members, value),
                Value::Array(items) => self.accepts_array(items, value),
                _ => self.accepts_by_junctors(value),
            }
    }

    /// Whether the value has no fault by its own type and keywords.
    #[inline]
    fn accepts_itself(&self, value: &Value) -> bool {
        self.types().accepts(value)
            && self.checks().iter().all(|c| !c.gate.admits(value) || c.check.accepts(value))
    }

    /// Whether a container has no fault by itself, whatever is in it: that is asked of the schemas of its
    /// items or members, and of an object [`Node::lacks_nothing`].
    pub fn accepts_alone(&self, value: &Value) -> bool {
        self.accepts_itself(value) && self.accepts_by_junctors(value)
    }

    /// Whether an object has all members that it must have, if it has so many of the properties that are
    /// [required](crate::compile::Property::required).
    pub fn lacks_nothing(&self, members: &Map, required: usize) -> bool {
        required == self.required_declared() && self.has_undeclared_required(members)
    }

    /// The same as [`Node::accepts`] for a value beside another that has no fault: what the two share is
    /// not looked at.
    pub(crate) fn accepts_except(&self, value: &Value, sound: Option<&Value>) -> bool {
        let Some(sound) = sound.filter(|_| value.is_container()) else { return self.accepts(value) };
        value.is_same(sound)
            || self.accepts_itself(value)
                && self.accepts_by_junctors(value)
                && grow_stack(|| match (value, sound) {
                    (Value::Object(members), Value::Object(sound)) => {
                        self.accepts_members(members, Some(sound))
                    }
                    (Value::Array(items), Value::Array(sound)) => self.items().is_none_or(|of_items| {
                        charge(items.len() as u64);
                        let mut each = items.iter().enumerate();
                        each.all(|(i, item)| of_items.accepts_except(item, sound.get(i)))
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
    fn accepts_members(&self, members: &Map, sound: Option<&Map>) -> bool {
        charge(members.len() as u64);
        let mut from = 0;
        let mut required = 0;
        let mut sound = sound.map(Map::ascending);
        for (key, member) in members {
            let sound = sound.as_mut().and_then(|sound| sound.next(key));
            if let Some(property) = self.next_property(&mut from, key) {
                required += usize::from(property.required);
                if !property.node.accepts_except(member, sound) {
                    return false;
                }
                continue;
            }
            match self.additional() {
                Additional::Absent | Additional::Bool(true) => {}
                Additional::Bool(false) => return false,
                Additional::Schema(of_member) => {
                    if !of_member.accepts_except(member, sound) {
                        return false;
                    }
                }
            }
        }
        self.lacks_nothing(members, required)
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
