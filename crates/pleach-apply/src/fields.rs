//! Which fields a value has: what an applied configuration owns, and what comes with a new object.
//!
//! A scalar is a member; so is a container that is owned as a whole. Members that are not declared
//! are members themselves beside what is in them, items of lists always are. An empty list of items
//! that are told apart says nothing. When an object is new every container on the way is a member too.

use pleach_json::{Array, Map, Str, Value, grow_stack};

use crate::encoded::{DOT, Encoded};
use crate::fields_v1::field_key;
use crate::items::key;
use crate::set::Set;
use crate::shape::{ListShape, MapShape, Relation, Shape, Type};

/// The fields of a value.
pub fn fields_of(value: &Value, of: Type<'_>) -> Set {
    applied_fields(value, of).to_set()
}

/// The fields that whoever applies a value owns.
pub(crate) fn applied_fields(value: &Value, of: Type<'_>) -> Encoded {
    Encoded::from_map(Walk { containers: false }.fields(value, of, false).1)
}

/// The fields that come with a value where there was nothing: what a comparison with nothing tells.
pub(crate) fn new_fields(value: &Value, of: Type<'_>) -> Encoded {
    Encoded::from_map(Walk { containers: true }.fields(value, of, false).1)
}

struct Walk {
    /// Whether containers are members that are not owned as a whole.
    containers: bool,
}

impl Walk {
    /// Whether the value is a member by itself, and what is in it. `member` says whether it is one
    /// whatever it is.
    fn fields(&self, value: &Value, of: Type<'_>, member: bool) -> (bool, Map) {
        match of.shape(Some(value)) {
            Shape::Scalar(_) => (true, Map::new()),
            Shape::List(list) => match (list.relation, value) {
                (Relation::Atomic, _) => (true, Map::new()),
                (_, Value::Array(items)) => (false, grow_stack(|| self.items(&list, items, member))),
                _ => (false, Map::new()),
            },
            Shape::Map(map) if map.is_atomic => (true, Map::new()),
            Shape::Map(map) => match value {
                Value::Object(members) => (false, grow_stack(|| self.members(&map, members, member))),
                _ => (false, Map::new()),
            },
        }
    }

    fn members(&self, map: &MapShape<'_>, members: &Map, member: bool) -> Map {
        let (mut fields, others) = (map.fields(), map.others());
        let mut steps = begin(members.len(), member);
        for (key, value) in members.entries() {
            let declared = fields.next(key);
            let empty = match value {
                Value::Null => true,
                Value::Object(members) => members.is_empty(),
                _ => false,
            };
            let member = self.containers || declared.is_none();
            let (whole, below) = match declared.or(others) {
                Some(of) => self.fields(value, of, member),
                None => (false, Map::new()),
            };
            if member || whole || empty || !below.is_empty() {
                steps.push((field_key(key), below.into()));
            }
        }
        end(steps, member)
    }

    fn items(&self, list: &ListShape<'_>, items: &Array, member: bool) -> Map {
        let mut steps = begin(items.len(), member);
        for item in items {
            let Ok(key) = key(list, item) else { continue };
            steps.push((key.text(), self.fields(item, list.items, true).1.into()));
        }
        if !steps.is_sorted_by(|a, b| a.0 < b.0) {
            steps.sort_by(|a, b| a.0.cmp(&b.0));
            // What is there twice is owned once, and what is in it is not told apart.
            steps.dedup_by(|later, first| {
                let twice = later.0 == first.0;
                if twice {
                    first.1 = Value::object();
                }
                twice
            });
        }
        end(steps, member)
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
    if steps.len() <= usize::from(member) { Map::new() } else { Map::from(steps) }
}
