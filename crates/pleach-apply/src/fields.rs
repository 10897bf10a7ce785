//! Which fields a value has: what an applied configuration owns, and what comes with a new object.
//!
//! A scalar is a member; so is a container that is owned as a whole. Members that are not declared
//! are members themselves beside what is in them, items of lists always are. An empty list of items
//! that are told apart says nothing. When an object is new every container on the way is a member too.
//!
//! Whoever asks for the fields of a value that came with a request must also know whether it fits its
//! type. Both answers come from one walk: it goes where [`fits`](crate::fits) would go.

use pleach_json::{Array, Map, Str, Value, grow_stack};

use crate::encoded::{DOT, Encoded};
use crate::fields_v1::field_key;
use crate::fits::{fits, is_fit};
use crate::items::{Key, is_each_once, key};
use crate::set::Set;
use crate::shape::{ListShape, MapShape, Relation, Shape, Type};

/// The fields of a value.
pub fn fields_of(value: &Value, of: Type<'_>) -> Set {
    let mut walk = Walk { containers: false, checks: false, once: false, fits: true };
    Encoded::from_map(walk.fields(value, of, false).1).to_set()
}

/// The fields that whoever applies a value owns, and whether nothing is wrong with the value. No item
/// may be in a list twice.
pub(crate) fn applied_fields(value: &Value, of: Type<'_>) -> (Encoded, bool) {
    let mut walk = Walk { containers: false, checks: true, once: true, fits: true };
    let fields = walk.fields(value, of, false).1;
    (Encoded::from_map(fields), walk.fits)
}

/// The fields that come with a value where there was nothing: what a comparison with nothing tells.
/// Whether nothing is wrong with the value comes with them; it may have items twice.
pub(crate) fn new_fields(value: &Value, of: Type<'_>) -> (Encoded, bool) {
    let mut walk = Walk { containers: true, checks: true, once: false, fits: true };
    let fields = walk.fields(value, of, false).1;
    (Encoded::from_map(fields), walk.fits)
}

struct Walk {
    /// Whether containers are members that are not owned as a whole.
    containers: bool,
    /// Whether what is owned as a whole is looked into.
    checks: bool,
    /// Whether an item may be in a list only once.
    once: bool,
    /// Whether everything seen fits.
    fits: bool,
}

impl Walk {
    /// Whether the value is a member by itself, and what is in it. `member` says whether it is one
    /// whatever it is.
    fn fields(&mut self, value: &Value, of: Type<'_>, member: bool) -> (bool, Map) {
        match of.shape(Some(value)) {
            Shape::Scalar(scalar) => {
                self.fits &= is_fit(scalar, value);
                (true, Map::new())
            }
            Shape::List(list) => match (list.relation, value) {
                (Relation::Atomic, _) => self.whole(value, of),
                (_, Value::Array(items)) => (false, grow_stack(|| self.items(&list, items, member))),
                _ => {
                    self.fits &= value.is_null();
                    (false, Map::new())
                }
            },
            Shape::Map(map) if map.is_atomic => self.whole(value, of),
            Shape::Map(map) => match value {
                Value::Object(members) => (false, grow_stack(|| self.members(&map, members, member))),
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

    fn members(&mut self, map: &MapShape<'_>, members: &Map, member: bool) -> Map {
        let (mut fields, others) = (map.fields(), map.others());
        let mut steps = begin(members.len(), member);
        for (key, value) in members.entries() {
            let (declared, step) = fields.next_step(key);
            let step = || step.cloned().unwrap_or_else(|| field_key(key));
            // Most members are scalars.
            if let Some(of) = declared.or(others)
                && !matches!(value, Value::Null | Value::Array(_) | Value::Object(_))
                && let Some(scalar) = of.scalar()
            {
                self.fits &= is_fit(scalar, value);
                steps.push((step(), Value::object()));
                continue;
            }
            let empty = match value {
                Value::Null => true,
                Value::Object(members) => members.is_empty(),
                _ => false,
            };
            let member = self.containers || declared.is_none();
            let (whole, below) = match declared.or(others) {
                Some(of) => self.fields(value, of, member),
                None => {
                    self.fits = false;
                    (false, Map::new())
                }
            };
            if member || whole || empty || !below.is_empty() {
                steps.push((step(), below.into()));
            }
        }
        end(steps, member)
    }

    fn items(&mut self, list: &ListShape<'_>, items: &Array, member: bool) -> Map {
        let mut steps = begin(items.len(), member);
        let mut plain = true;
        for item in items {
            let Ok(key) = key(list, item) else {
                self.fits = false;
                continue;
            };
            plain &= is_plain(&key);
            steps.push((key.text(), self.fields(item, list.items, true).1.into()));
        }
        let mut twice = false;
        if !steps.is_sorted_by(|a, b| a.0 < b.0) {
            steps.sort_by(|a, b| a.0.cmp(&b.0));
            // What is there twice is owned once, and what is in it is not told apart.
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
        end(steps, member)
    }
}

/// Whether an item is told apart by exactly what its step is written as.
fn is_plain(key: &Key<'_>) -> bool {
    let is_plain = |value: &Value| matches!(value, Value::String(_) | Value::Int(_) | Value::Bool(_));
    match key {
        Key::Value(value) => is_plain(value),
        Key::Fields(fields) => fields.iter().all(|(_, value)| is_plain(value)),
    }
}

fn begin(capacity: usize, member: bool) -> Vec<(Str, Value)> {
    if capacity == 0 {
        return Vec::new();
    }
    let mut steps = Vec::with_capacity(capacity + usize::from(member));
    if member {
        steps.push((DOT, Value::object()));
    }
    steps
}

/// What is below a step: nothing if there is only the step.
fn end(steps: Vec<(Str, Value)>, member: bool) -> Map {
    if steps.len() <= usize::from(member) { Map::new() } else { Map::from_sorted(steps) }
}
