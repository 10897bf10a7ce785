//! Field sets of values: those that an applied configuration owns, and those of a new object.
//!
//! A scalar is a member; so is a container that is owned as a whole. Members that are not declared
//! are members themselves beside the fields in them, items of associative lists always are. An empty associative
//! list has no fields. In a new object every container on the way is a member too.
//!
//! A value of a request must also fit its type. One walk finds both: it visits what [`fits`](crate::fits) visits.
//!
//! With a [`FieldsBaseline`], the field set of an earlier value, equal parts are shared with it and containers that
//! both values share are skipped.

use pleach_json::{Array, Map, Str, Value, grow_stack};
use pleach_work::charge;
use smallvec::SmallVec;

use crate::encoded::{DOT, Encoded};
use crate::fields_baseline::{FieldsBaseline, Steps, begin, end};
use crate::fields_v1::field_key;
use crate::fits::{fits, is_fit};
use crate::items::{Key, is_each_once, key};
use crate::set::{Node, Set};
use crate::shape::{ListShape, MapShape, Relation, Shape, Type};

/// The fields of a value.
pub fn fields_of(value: &Value, of: Type<'_>) -> Set {
    let mut walk = Walk { containers: false, checks: false, once: false, fits: true };
    Encoded::from_map(walk.fields(value, of, false, None).1).to_set()
}

/// The fields that the applier of a value owns, and whether the value fits its type. Lists must have no
/// duplicates.
pub(crate) fn applied_fields(
    value: &Value,
    of: Type<'_>,
    baseline: Option<FieldsBaseline<'_>>,
) -> (Encoded, bool) {
    let mut walk = Walk { containers: false, checks: true, once: true, fits: true };
    let fields = walk.fields(value, of, false, baseline).1;
    (Encoded::from_map(fields), walk.fits)
}

/// The fields of a new value, as a comparison with nothing finds them, and whether it fits its type; lists may
/// have duplicates.
pub(crate) fn new_fields(value: &Value, of: Type<'_>) -> (Encoded, bool) {
    let mut walk = Walk { containers: true, checks: true, once: false, fits: true };
    let fields = walk.fields(value, of, false, None).1;
    (Encoded::from_map(fields), walk.fits)
}

/// Whether [`applied_fields`], without the unowned ones, are these, and the value fits its type.
pub(crate) fn are_applied_fields(value: &Value, of: Type<'_>, fields: &Map, unowned: &Unowned<'_>) -> bool {
    let mut walk = Walk { containers: false, checks: true, once: true, fits: true };
    walk.whole_object_has(value, of, fields, unowned) && walk.fits
}

/// Fields that get no owner.
pub(crate) struct Unowned<'a> {
    /// Fields that are never owned; fields below them may be.
    pub(crate) stripped: &'a Set,
    /// Fields that the request leaves as they are, with all that is in them.
    pub(crate) reset: Option<&'a Set>,
}

impl Unowned<'_> {
    /// Removes them from a field set.
    pub(crate) fn remove_from(&self, fields: &mut Encoded) {
        if let Some(reset) = self.reset {
            fields.subtract_whole(reset);
        }
        fields.subtract(self.stripped);
    }

    /// The nodes of a top-level field in both sets.
    pub(crate) fn of(&self, field: &str) -> (Option<&Node>, Option<&Node>) {
        (self.reset.and_then(|reset| named(reset, field)), named(self.stripped, field))
    }
}

/// The node of a field.
pub(crate) fn named<'s>(set: &'s Set, field: &str) -> Option<&'s Node> {
    set.nodes().iter().find(|node| node.element.is_field(field))
}

struct Walk {
    /// Whether containers are members that are not owned as a whole.
    containers: bool,
    /// Whether atomic containers are checked too.
    checks: bool,
    /// Whether an item may be in a list only once.
    once: bool,
    /// Whether everything seen fits.
    fits: bool,
}

impl Walk {
    /// Whether the value is a member by itself, and what is in it. `member` says whether it is one
    /// whatever it is.
    fn fields(
        &mut self,
        value: &Value,
        of: Type<'_>,
        member: bool,
        baseline: Option<FieldsBaseline<'_>>,
    ) -> (bool, Map) {
        let same = baseline.and_then(|baseline| baseline.of(value));
        match of.shape(Some(value)) {
            Shape::Scalar(scalar) => {
                self.fits &= is_fit(scalar, value);
                (true, Map::new())
            }
            Shape::List(list) => match (list.relation, value) {
                (Relation::Atomic, _) if same.is_some() => (true, Map::new()),
                (Relation::Atomic, _) => self.whole(value, of),
                (_, Value::Array(items)) => match same {
                    Some(fields) => (false, fields.clone()),
                    None => (false, grow_stack(|| self.items(&list, items, member, baseline))),
                },
                _ => {
                    self.fits &= value.is_null();
                    (false, Map::new())
                }
            },
            Shape::Map(map) if map.is_atomic && same.is_some() => (true, Map::new()),
            Shape::Map(map) if map.is_atomic => self.whole(value, of),
            Shape::Map(map) => match value {
                Value::Object(members) => match same {
                    Some(fields) => (false, fields.clone()),
                    None => (false, grow_stack(|| self.members(&map, members, member, baseline))),
                },
                _ => {
                    self.fits &= value.is_null();
                    (false, Map::new())
                }
            },
        }
    }

    fn whole(&mut self, value: &Value, of: Type<'_>) -> (bool, Map) {
        self.fits = self.fits && (!self.checks || fits(value, of, self.once));
        (true, Map::new())
    }

    fn members(
        &mut self,
        map: &MapShape<'_>,
        members: &Map,
        member: bool,
        baseline: Option<FieldsBaseline<'_>>,
    ) -> Map {
        charge(2 * members.len() as u64);
        let (mut fields, others) = (map.fields(), map.others());
        let mut steps = Steps::new(members.len(), member, baseline);
        for (i, (key, value)) in members.entries().iter().enumerate() {
            let (declared, named) = fields.next_step(key);
            let step = || named.cloned().unwrap_or_else(|| field_key(key));
            let is_step = |step: &str| match named {
                Some(named) => step == named,
                None => step.strip_prefix("f:") == Some(key),
            };
            // Most members are scalars.
            if let Some(of) = declared.or(others)
                && !matches!(value, Value::Null | Value::Array(_) | Value::Object(_))
                && let Some(scalar) = of.scalar()
            {
                self.fits &= is_fit(scalar, value);
                steps.push(is_step, step, Map::new());
                continue;
            }
            let member = self.containers || declared.is_none();
            let baseline = baseline
                .filter(|_| value.is_container())
                .and_then(|baseline| steps.below(key).map(|fields| baseline.member(i, key, fields)));
            let (whole, below) = match declared.or(others) {
                Some(of) => self.fields(value, of, member, baseline),
                None => {
                    self.fits = false;
                    (false, Map::new())
                }
            };
            if member || whole || is_nothing(value) || !below.is_empty() {
                steps.push(is_step, step, below);
            }
        }
        steps.end()
    }

    fn items(
        &mut self,
        list: &ListShape<'_>,
        items: &Array,
        member: bool,
        baseline: Option<FieldsBaseline<'_>>,
    ) -> Map {
        charge(16 * items.len() as u64);
        let mut steps = begin(items.len(), member);
        let mut plain = true;
        for (i, item) in items.iter().enumerate() {
            let Ok(key) = key(list, item) else {
                self.fits = false;
                continue;
            };
            plain &= is_plain(&key);
            let item_baseline = baseline.and_then(|baseline| baseline.item(i, list, &key, steps.len()));
            let step = item_baseline.map_or_else(|| key.text(), |(_, step)| step.clone());
            let below = self.fields(item, list.items, true, item_baseline.map(|(baseline, _)| baseline)).1;
            steps.push((step, below.into()));
        }
        let mut twice = false;
        if !steps.is_sorted_by(|a, b| a.0 < b.0) {
            steps.sort_by(|a, b| a.0.cmp(&b.0));
            // Duplicates are owned once, and the fields in them are not distinguished.
            steps.dedup_by(|later, first| {
                let again = later.0 == first.0;
                if again {
                    first.1 = Value::object();
                    twice = true;
                }
                again
            });
        }
        if self.once && self.fits {
            // Numbers that are equal can be written in two ways.
            self.fits = !twice && (plain || is_each_once(list, items));
        }
        end(steps, member, baseline)
    }
}

/// The same walk along fields that are expected: nothing is made, and it ends where they differ.
impl Walk {
    /// Whether a whole object has exactly these fields, without the unowned ones.
    fn whole_object_has(
        &mut self,
        object: &Value,
        of: Type<'_>,
        expected: &Map,
        unowned: &Unowned<'_>,
    ) -> bool {
        let (Shape::Map(map), Value::Object(members)) = (of.shape(Some(object)), object) else {
            return false;
        };
        if map.is_atomic {
            return false;
        }
        let (mut fields, others) = (map.fields(), map.others());
        let mut expected = expected.entries();
        for (key, value) in members.entries() {
            let (declared, step) = fields.next_step(key);
            let Some(of) = declared.or(others) else { return false };
            let member = self.containers || declared.is_none();
            let is = match unowned.of(key) {
                (None, None) => self.member_is(key, step, value, of, member, &mut expected),
                (Some(reset), _) if reset.member => {
                    self.fits = self.fits && fits(value, of, self.once);
                    true
                }
                (None, Some(unowned)) if unowned.member => {
                    self.left_is(key, value, of, &unowned.children, &mut expected)
                }
                // No such sets exist; the caller builds the set.
                _ => false,
            };
            if !is {
                return false;
            }
        }
        expected.is_empty()
    }

    /// The same for a member that is unowned, like some of its own members.
    fn left_is(
        &mut self,
        key: &str,
        value: &Value,
        of: Type<'_>,
        unowned: &Set,
        expected: &mut &[(Str, Value)],
    ) -> bool {
        let (map, members) = match (of.shape(Some(value)), value) {
            (Shape::Scalar(scalar), _) => {
                self.fits &= is_fit(scalar, value);
                return true;
            }
            (Shape::Map(map), Value::Object(members)) if !map.is_atomic => (map, members),
            _ => return value.is_null(),
        };
        let mut below = match *expected {
            [(next, Value::Object(below)), rest @ ..] if next.strip_prefix("f:") == Some(key) => {
                *expected = rest;
                below.entries()
            }
            _ => &[],
        };
        let (mut fields, others) = (map.fields(), map.others());
        members.entries().iter().all(|(key, value)| {
            let (declared, step) = fields.next_step(key);
            let Some(of) = declared.or(others) else { return false };
            match named(unowned, key) {
                // Fields in a container might be owned.
                Some(_) => {
                    self.fits = self.fits && fits(value, of, self.once);
                    !value.is_container()
                }
                None => {
                    let member = self.containers || declared.is_none();
                    self.member_is(key, step, value, of, member, &mut below)
                }
            }
        }) && below.is_empty()
    }

    /// Whether a value has these fields: whether it is a member by itself comes with it.
    fn has(&mut self, value: &Value, of: Type<'_>, member: bool, expected: &Map) -> (bool, bool) {
        match (of.shape(Some(value)), value) {
            (Shape::List(list), Value::Array(items)) if !matches!(list.relation, Relation::Atomic) => {
                (false, grow_stack(|| self.items_are(&list, items, member, expected)))
            }
            (Shape::Map(map), Value::Object(members)) if !map.is_atomic => {
                (false, grow_stack(|| self.members_are(&map, members, member, expected)))
            }
            _ => {
                let (whole, below) = self.fields(value, of, member, None);
                (whole, below.is_empty() && expected.is_empty())
            }
        }
    }

    fn members_are(&mut self, map: &MapShape<'_>, members: &Map, member: bool, expected: &Map) -> bool {
        charge(members.len() as u64);
        let Some(mut expected) = below(expected, member) else { return false };
        let (mut fields, others) = (map.fields(), map.others());
        members.entries().iter().all(|(key, value)| {
            let (declared, step) = fields.next_step(key);
            let Some(of) = declared.or(others) else { return false };
            self.member_is(key, step, value, of, self.containers || declared.is_none(), &mut expected)
        }) && expected.is_empty()
    }

    /// Whether a member is the next one expected, or one that no manager owns.
    #[inline]
    fn member_is(
        &mut self,
        key: &str,
        step: Option<&Str>,
        value: &Value,
        of: Type<'_>,
        member: bool,
        expected: &mut &[(Str, Value)],
    ) -> bool {
        let next = match *expected {
            [(next, Value::Object(below)), rest @ ..]
                if match step {
                    Some(step) => next == step,
                    None => next.strip_prefix("f:") == Some(key),
                } =>
            {
                *expected = rest;
                Some(below)
            }
            _ => None,
        };
        if let Some(below) = next
            && !matches!(value, Value::Null | Value::Array(_) | Value::Object(_))
            && let Some(scalar) = of.scalar()
        {
            self.fits &= is_fit(scalar, value);
            return below.is_empty();
        }
        let (whole, is) = self.has(value, of, member, next.unwrap_or(const { &Map::new() }));
        let counts = member || whole || is_nothing(value) || next.is_some_and(|below| !below.is_empty());
        is && counts == next.is_some()
    }

    fn items_are(&mut self, list: &ListShape<'_>, items: &Array, member: bool, expected: &Map) -> bool {
        charge(2 * items.len() as u64);
        let Some(expected) = below(expected, member) else { return false };
        // Duplicates are handled by the walk that builds the set.
        if items.len() != expected.len() {
            return false;
        }
        let mut plain = true;
        let mut seen: SmallVec<[bool; 64]> = SmallVec::from_elem(false, items.len());
        for (i, item) in items.iter().enumerate() {
            let Ok(key) = key(list, item) else { return false };
            plain &= is_plain(&key);
            let at = if key.is_written(&expected[i].0) {
                i
            } else {
                let text = key.text();
                let Ok(at) = expected.binary_search_by(|(step, _)| step.cmp(&text)) else { return false };
                at
            };
            let Value::Object(below) = &expected[at].1 else { return false };
            if std::mem::replace(&mut seen[at], true) || !self.has(item, list.items, true, below).1 {
                return false;
            }
        }
        if self.once && self.fits && !plain {
            self.fits = is_each_once(list, items);
        }
        true
    }
}

/// The steps below a step that is a member or is not; none if it is the other.
fn below(expected: &Map, member: bool) -> Option<&[(Str, Value)]> {
    match expected.entries() {
        [] => Some(&[]),
        [(first, _), rest @ ..] if *first == DOT => member.then_some(rest),
        steps => (!member).then_some(steps),
    }
}

/// Whether a value is owned by itself because there is nothing in it.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// Whether an item's key is exactly the text of its path element.
fn is_plain(key: &Key<'_>) -> bool {
    let is_plain = |value: &Value| matches!(value, Value::String(_) | Value::Int(_) | Value::Bool(_));
    match key {
        Key::Value(value) => is_plain(value),
        Key::Fields(fields) => fields.iter().all(|(_, value)| is_plain(value)),
    }
}
