//! The settling walk: prunes, drops nulls, coerces embedded resources and applies defaults, in one pass over
//! an object and its schema.
//!
//! Upstream does these one after the other, each over the whole object. The result is the same, because what
//! one of them does at a place depends only on what the ones before it did there and above, and no default
//! brings in anything that would be pruned. At each place the order is upstream's.
//!
//! Pruning removes every field the schema does not name. Kept although no property names it:
//! * everything under `x-kubernetes-preserve-unknown-fields`; declared members below are pruned again, and the
//!   items of an array inherit being preserved;
//! * `apiVersion`, `kind` and `metadata` of the object and of embedded resources;
//! * the keys of a map; with `additionalProperties: true` only the keys, because nothing is said about their
//!   values.
//!
//! Items and scalars are never pruned, and types are not looked at.
//!
//! A null member is dropped when its schema is known, is not nullable and has no default. Nulls in arrays stay,
//! for validation to refuse, and so do nulls without a schema.
//!
//! A container that another value shares is copied only on the way to a change, and one that is shared with
//! the baseline at the same place is skipped.

use pleach_json::{Array, Map, Value, grow_stack};
use pleach_meta::{FieldError, Path};
use pleach_work::charge;

use super::Record;
use super::defaults::Growth;
use super::record::Reason;
use super::recorder::Recorder;
use crate::compile::{Additional, Node, Property};

/// The mode of the walk at a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stages {
    pub(super) prune: bool,
    pub(super) drop_nulls: bool,
    pub(super) coerce: bool,
    pub(super) defaults: bool,
    /// Whether this is inside a default that was just applied.
    pub(super) inside_default: bool,
}

impl Stages {
    const NONE: Self =
        Self { prune: false, drop_nulls: false, coerce: false, defaults: false, inside_default: false };
    pub(super) const DROP_NULLS: Self = Self { drop_nulls: true, ..Self::NONE };
    pub(super) const COERCE: Self = Self { coerce: true, ..Self::NONE };
    pub(super) const DEFAULTS: Self = Self { defaults: true, ..Self::NONE };
    pub(super) const PRUNE_AND_COERCE: Self = Self { prune: true, coerce: true, ..Self::NONE };
    pub(super) const INSIDE_DEFAULT: Self = Self { inside_default: true, ..Self::DEFAULTS };

    /// The stages of settling an object.
    pub(super) const fn of_object(prune: bool, coerce: bool, defaults: bool) -> Self {
        Self { prune, drop_nulls: prune, coerce, defaults, ..Self::NONE }
    }

    /// Whether there may be anything to do in a container of this schema.
    #[inline]
    fn concern(self, node: &Node) -> bool {
        self.prune
            || (self.defaults && node.below().defaults())
            || (self.coerce && node.below().embedded_resources())
            || (self.drop_nulls && describes_contents(node))
    }

    /// The stages in `apiVersion`, `kind` and `metadata` of a resource, which are not pruned.
    fn in_resource_member(self, node: &Node) -> Self {
        // Coercion has dropped the nulls before it wrote the member anew.
        let coerced = self.coerce && node.is_embedded_resource();
        Self { prune: false, drop_nulls: self.drop_nulls && !coerced, ..self }
    }
}

/// An embedded resource of a request cannot be coerced.
pub(super) struct Refused(Box<FieldError>);

impl Refused {
    pub(super) fn new(error: FieldError) -> Self {
        Self(Box::new(error))
    }

    pub(super) fn into_error(self) -> FieldError {
        *self.0
    }
}

/// Whether a null member of this schema is dropped.
pub(super) fn is_dropped(node: &Node) -> bool {
    !node.is_nullable() && node.default().is_none()
}

/// Whether a member belongs to every resource, whatever its schema says.
pub(crate) fn is_resource_member(key: &str) -> bool {
    matches!(key, "apiVersion" | "kind" | "metadata")
}

/// Whether a schema says anything about items or members.
fn describes_contents(node: &Node) -> bool {
    !node.properties().is_empty() || node.additional().schema().is_some() || node.items().is_some()
}

pub(super) struct Walk {
    /// The object is from the store: what cannot be coerced is dropped and not refused.
    pub(super) stored: bool,
    pub(super) stages: Stages,
    pub(super) recorder: Recorder,
    pub(super) growth: Growth,
    /// Positions of members to be removed, of all objects that are being walked.
    removed: Vec<usize>,
}

impl Walk {
    pub(super) fn new(stages: Stages, stored: bool, record: Record) -> Self {
        let (recorder, growth) = (Recorder::new(record), Growth::default());
        Self { stored, stages, recorder, growth, removed: Vec::new() }
    }

    /// Runs other stages for a while.
    pub(super) fn with_stages<T>(&mut self, stages: Stages, run: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.stages, stages);
        let done = run(self);
        self.stages = outer;
        done
    }

    /// Settles a value; whether it was changed. `preserved`: unknown fields stay here, and in the items if this
    /// is an array.
    pub(super) fn visit(
        &mut self,
        value: &mut Value,
        baseline: Option<&Value>,
        node: &Node,
        preserved: bool,
        at: &Path<'_>,
    ) -> Result<bool, Refused> {
        match value {
            Value::Object(members) => {
                let baseline = baseline.and_then(Value::as_object);
                let open = &mut *members;
                let changed = grow_stack(move || self.visit_members(open, baseline, node, preserved, at))?;
                // A container that has become what the baseline has is shared with it, so that later
                // comparisons need not look into it.
                if changed
                    && let Some(baseline) = baseline
                    && all_same(baseline.entries(), members.entries(), |a, b| {
                        a.0 == b.0 && is_same(&a.1, &b.1)
                    })
                {
                    *members = baseline.clone();
                }
                Ok(changed)
            }
            Value::Array(items) => {
                let baseline = baseline.and_then(Value::as_array);
                let open = &mut *items;
                let changed = grow_stack(move || self.visit_items(open, baseline, node, preserved, at))?;
                if changed
                    && let Some(baseline) = baseline
                    && all_same(baseline, items, is_same)
                {
                    *items = baseline.clone();
                }
                Ok(changed)
            }
            _ => Ok(false),
        }
    }

    #[inline]
    fn visit_members(
        &mut self,
        members: &mut Map,
        baseline: Option<&Map>,
        node: &Node,
        preserved: bool,
        at: &Path<'_>,
    ) -> Result<bool, Refused> {
        let mut changed =
            self.stages.coerce && node.is_embedded_resource() && self.coerce(members, node, at)?;
        charge(members.len() as u64);
        let mut baseline = baseline.map(Map::ascending);
        let (mut from, mut defaulted) = (0, 0);
        let removed = self.removed.len();
        for i in 0..members.len() {
            let (key, member) = &members.entries()[i];
            let property = node.next_property(&mut from, key);
            defaulted += usize::from(property.is_some_and(Property::has_default));
            let of_member = match (property, node.additional()) {
                (Some(property), _) => &property.node,
                (None, Additional::Schema(of_member)) => of_member,
                (None, additional) => {
                    let keep = matches!(additional, Additional::Bool(_));
                    changed |= self.prune_member(members, i, node, preserved, keep, at);
                    continue;
                }
            };
            match member {
                Value::Object(_) | Value::Array(_) => {
                    let baseline = baseline.as_mut().and_then(|baseline| baseline.next(key));
                    let stages = self.stages;
                    if node.is_resource() && is_resource_member(key) {
                        self.stages = stages.in_resource_member(node);
                    }
                    changed |= self.visit_member(members, i, baseline, of_member, property, at)?;
                    self.stages = stages;
                }
                Value::Null => changed |= self.null_member(members, i, of_member, at),
                _ => {}
            }
        }
        if self.removed.len() > removed {
            remove(members, self.removed.drain(removed..));
            changed = true;
        }
        if self.stages.defaults {
            let missing = node.defaulted_len().saturating_sub(defaulted);
            if missing > 0 {
                self.add_missing(members, node, missing, at);
                changed = true;
            }
            if self.recorder.explains() {
                self.recorder.members(members, node, at);
            }
        }
        Ok(changed)
    }

    /// Visits a member that is a container.
    #[inline]
    fn visit_member(
        &mut self,
        members: &mut Map,
        i: usize,
        baseline: Option<&Value>,
        of_member: &Node,
        property: Option<&Property>,
        at: &Path<'_>,
    ) -> Result<bool, Refused> {
        let member = &members.entries()[i].1;
        if !self.stages.concern(of_member) || self.is_settled(member, baseline, of_member) {
            return Ok(false);
        }
        let preserved = of_member.preserves_unknown_fields();
        if let Some(entries) = members.unshared_entries_mut() {
            let (key, member) = &mut entries[i];
            let at = at_member(at, key, property.is_some());
            return self.visit(member, baseline, of_member, preserved, &at);
        }
        let (key, member) = &members.entries()[i];
        let mut copy = member.clone();
        let at = at_member(at, key, property.is_some());
        let changed = self.visit(&mut copy, baseline, of_member, preserved, &at)?;
        if changed {
            members.entries_mut()[i].1 = copy;
        }
        Ok(changed)
    }

    /// Prunes a member without a schema, or if it is to be kept all that is in it.
    fn prune_member(
        &mut self,
        members: &mut Map,
        i: usize,
        node: &Node,
        preserved: bool,
        keep: bool,
        at: &Path<'_>,
    ) -> bool {
        let (key, member) = &members.entries()[i];
        if !self.stages.prune || node.is_resource() && is_resource_member(key) {
            return false;
        }
        let at = at.child(key);
        if !keep && !preserved {
            self.recorder.pruned(&at);
            self.removed.push(i);
        }
        let emptied = if keep { self.without_fields(member, &at) } else { None };
        let changed = emptied.is_some();
        if let Some(emptied) = emptied {
            members.entries_mut()[i].1 = emptied;
        }
        changed
    }

    /// Drops a null or replaces it by a default.
    fn null_member(&mut self, members: &mut Map, i: usize, of_member: &Node, at: &Path<'_>) -> bool {
        let at = at.child(&members.entries()[i].0);
        if self.stages.drop_nulls && is_dropped(of_member) {
            self.recorder.null_dropped(&at);
            self.removed.push(i);
            return false;
        }
        let default = self.default_for_null(of_member, &at);
        let changed = default.is_some();
        if let Some(default) = default {
            members.entries_mut()[i].1 = default;
        }
        changed
    }

    fn visit_items(
        &mut self,
        items: &mut Array,
        baseline: Option<&Array>,
        node: &Node,
        preserved: bool,
        at: &Path<'_>,
    ) -> Result<bool, Refused> {
        let Some(of_items) = node.items() else { return Ok(self.prune_items(items, node, preserved, at)) };
        charge(items.len() as u64);
        let preserved = preserved || of_items.preserves_unknown_fields();
        let mut changed = false;
        for i in 0..items.len() {
            match &items[i] {
                item @ (Value::Object(_) | Value::Array(_)) => {
                    let baseline = baseline.and_then(|baseline| baseline.get(i));
                    if !self.stages.concern(of_items) || self.is_settled(item, baseline, of_items) {
                        continue;
                    }
                    let at = at.index(i);
                    if let Some(items) = items.unshared_mut() {
                        changed |= self.visit(&mut items[i], baseline, of_items, preserved, &at)?;
                        continue;
                    }
                    let mut copy = items[i].clone();
                    if self.visit(&mut copy, baseline, of_items, preserved, &at)? {
                        items[i] = copy;
                        changed = true;
                    }
                }
                Value::Null => {
                    if let Some(default) = self.default_for_null(of_items, &at.index(i)) {
                        items[i] = default;
                        changed = true;
                    }
                }
                _ => {}
            }
        }
        if self.stages.defaults && self.recorder.explains() {
            self.recorder.items(items, of_items, at);
        }
        Ok(changed)
    }

    /// Prunes all fields in items without a schema.
    fn prune_items(&mut self, items: &mut Array, node: &Node, preserved: bool, at: &Path<'_>) -> bool {
        if self.stages.defaults {
            self.recorder.no_object(&Value::Array(items.clone()), node, at);
        }
        let emptied =
            if self.stages.prune && !preserved { self.items_without_fields(items, at) } else { None };
        let changed = emptied.is_some();
        if let Some(emptied) = emptied {
            *items = emptied;
        }
        changed
    }

    /// Whether a container is shared with the baseline and need not be visited.
    #[inline]
    fn is_settled(&self, value: &Value, baseline: Option<&Value>, node: &Node) -> bool {
        // A stored object may have metadata that cannot be coerced; a request with it is refused.
        baseline.is_some_and(|baseline| baseline.is_same(value))
            && !(self.stages.coerce && node.below().embedded_resources())
    }

    /// The replacement of a null: the default of its schema, unless that is nullable.
    fn default_for_null(&mut self, node: &Node, at: &Path<'_>) -> Option<Value> {
        let default = node.default().filter(|_| self.stages.defaults)?;
        if !node.is_nullable() {
            return Some(self.default_of(node, default, at));
        }
        if !self.stages.inside_default {
            self.recorder.default_withheld(at, Reason::NullKept);
        }
        None
    }

    /// A value without a schema, with all fields pruned; none if there are no fields in it.
    fn without_fields(&mut self, value: &Value, at: &Path<'_>) -> Option<Value> {
        match value {
            Value::Object(members) if !members.is_empty() => {
                charge(members.len() as u64);
                members.keys().for_each(|key| self.recorder.pruned(&at.child(key)));
                Some(Value::object())
            }
            Value::Array(items) => {
                let emptied = grow_stack(|| self.items_without_fields(items, at))?;
                Some(Value::Array(emptied))
            }
            _ => None,
        }
    }

    fn items_without_fields(&mut self, items: &Array, at: &Path<'_>) -> Option<Array> {
        charge(items.len() as u64);
        let mut emptied = None;
        for (i, item) in items.iter().enumerate() {
            if let Some(item) = self.without_fields(item, &at.index(i)) {
                emptied.get_or_insert_with(|| items.clone())[i] = item;
            }
        }
        emptied
    }
}

/// The path of a member: a declared property, or a key of a map.
fn at_member<'a>(at: &'a Path<'a>, key: &'a str, declared: bool) -> Path<'a> {
    if declared { at.child(key) } else { at.key(key) }
}

/// Removes the members at these positions, which ascend.
fn remove(members: &mut Map, positions: impl Iterator<Item = usize>) {
    let (mut at, mut positions) = (0, positions.peekable());
    members.retain(|_, _| {
        let stays = positions.next_if_eq(&at).is_none();
        at += 1;
        stays
    });
}

/// Whether two containers have the same contents, as far as that is seen without a look into nested ones.
fn all_same<T>(a: &[T], b: &[T], is_same: impl Fn(&T, &T) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))
}

fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        // Two zeros are equal and not written alike.
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        _ => a.is_same(b),
    }
}
