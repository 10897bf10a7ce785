//! Applies defaults, as part of the settling walk.
//!
//! A property with a default is set when it is absent, or null without being nullable; the defaults inside a
//! value that was just set are applied too. Nothing is made where no object is: `spec.a.b` has its default
//! only when `spec.a` is there or has one itself. Defaults of items and of map values only ever replace nulls.
//! The default of the root is never used.

use pleach_json::{Map, Value};
use pleach_meta::Path;
use pleach_work::charge;

use super::walk::{Stages, Walk};
use crate::compile::Node;

/// How much applied defaults make an object grow by.
///
/// A default in the schema of items is applied to each item, and defaults have defaults in them: a few
/// kilobytes can become gigabytes. An object that has grown too much ends its request, whatever is left of
/// the budget.
#[derive(Default)]
pub(super) struct Growth(usize);

/// The most bytes that defaults may add to an object.
const MAX_GROWTH: usize = 16 << 20;

/// More steps than any budget has.
const TOO_MUCH: u64 = 1 << 40;

impl Growth {
    fn grow(&mut self, weight: usize) {
        charge(4 + weight as u64 / 64);
        let before = self.0;
        self.0 += weight;
        if before <= MAX_GROWTH && self.0 > MAX_GROWTH {
            charge(TOO_MUCH);
        }
    }
}

impl Walk {
    /// A copy of the default of a schema, for an object; with the defaults inside it.
    pub(super) fn default_of(&mut self, node: &Node, default: &Value, at: &Path<'_>) -> Value {
        self.growth.grow(node.default_weight());
        self.recorder.default_applied(at, default);
        let mut value = default.clone();
        if value.is_container() {
            // Only coercion refuses anything.
            let _ = self
                .with_stages(Stages::INSIDE_DEFAULT, |walk| walk.visit(&mut value, None, node, false, at));
        }
        value
    }

    /// Adds the members that have a default and are absent, `missing` in number.
    pub(super) fn add_missing(&mut self, members: &mut Map, node: &Node, missing: usize, at: &Path<'_>) {
        charge((members.len() + 4 * node.defaulted_len()) as u64);
        let defaults = node.defaulted().map(|(property, default)| (&property.name, (property, default)));
        members.fill_in(missing, defaults, |(property, default)| {
            self.default_of(&property.node, default, &at.child(&property.name))
        });
    }
}
