//! Whether a value fits its type well enough to be owned.
//!
//! Far less than validation by the schema: only what field paths need. What is
//! applied must have no unknown fields and no item twice; a live object may have items twice. Messages
//! are upstream's, Go values and all.

use std::fmt::Write as _;

use pleach_go::fmt::{Syntax, go_syntax, go_type, go_v, go_v_short};
use pleach_json::{Array, Map, Value, grow_stack};
use pleach_work::charge;

use crate::fits::fits;
use crate::items::{Item, grouped_by_key, key, step};
use crate::shape::{ListShape, MapShape, Relation, Scalar, Shape, Type};

/// The errors of a value, in one text; `duplicates` says whether lists may have duplicates.
pub fn validate(value: &Value, of: Type<'_>, duplicates: bool) -> Result<(), String> {
    if fits(value, of, !duplicates) { Ok(()) } else { words(value, of, duplicates) }
}

/// The same, without asking first whether there is anything.
pub(crate) fn words(value: &Value, of: Type<'_>, duplicates: bool) -> Result<(), String> {
    let mut walk = Walk { errors: Vec::new(), bytes: 0, duplicates };
    walk.visit(value, of, &At { above: None, step: Step::Root });
    match walk.errors.as_slice() {
        [] => Ok(()),
        [only] => Err(only.clone()),
        several => {
            let mut text = String::from("errors:");
            for error in several {
                let _ = write!(text, "\n  {error}");
            }
            Err(text)
        }
    }
}

/// The text of errors has at most this many bytes.
const MAX_BYTES: usize = 1 << 20;

struct Walk {
    errors: Vec<String>,
    bytes: usize,
    duplicates: bool,
}

/// Where the walk is; paths are made only for errors.
struct At<'p> {
    above: Option<&'p At<'p>>,
    step: Step<'p>,
}

enum Step<'p> {
    Root,
    Field(&'p str),
    Index(usize),
    Item(&'p ListShape<'p>, &'p Value),
}

impl<'p> At<'p> {
    fn below(&'p self, step: Step<'p>) -> Self {
        Self { above: Some(self), step }
    }
}

impl Walk {
    fn error(&mut self, at: &At<'_>, text: &str) {
        let mut steps: Vec<_> = std::iter::successors(Some(at), |at| at.above).map(|at| &at.step).collect();
        steps.reverse();
        let mut whole = String::new();
        for at in steps {
            let _ = match at {
                Step::Root => Ok(()),
                Step::Field(name) => write!(whole, ".{name}"),
                Step::Index(index) => write!(whole, "[{index}]"),
                Step::Item(list, item) => step(list, item).map_or(Ok(()), |step| write!(whole, "{step}")),
            };
        }
        if !whole.is_empty() {
            whole.push_str(": ");
        }
        whole.push_str(text);
        self.bytes += whole.len();
        self.errors.push(whole);
    }

    fn visit(&mut self, value: &Value, of: Type<'_>, at: &At<'_>) {
        if self.bytes > MAX_BYTES {
            return;
        }
        match (of.shape(Some(value)), value) {
            (_, Value::Null) => {}
            (Shape::Scalar(scalar), value) => {
                if let Some(error) = wrong_scalar(scalar, value) {
                    self.error(at, &error);
                }
            }
            (Shape::Map(map), Value::Object(members)) => {
                grow_stack(|| self.members(&map, members, at));
            }
            (Shape::List(list), Value::Array(items)) => {
                grow_stack(|| self.items(&list, items, at));
            }
            (Shape::Map(_), other) => self.error(at, &format!("expected map, got {}", pointer(other))),
            (Shape::List(_), other) => self.error(at, &format!("expected list, got {}", pointer(other))),
        }
    }

    fn members(&mut self, map: &MapShape<'_>, members: &Map, at: &At<'_>) {
        charge(members.len() as u64);
        let (mut fields, others) = (map.fields(), map.others());
        for (key, value) in members.entries() {
            let at = at.below(Step::Field(key));
            match fields.next(key).or(others) {
                Some(of) => self.visit(value, of, &at),
                None => {
                    self.error(&at, "field not declared in schema");
                    // Upstream looks no further once a field is unknown.
                    return;
                }
            }
        }
    }

    fn items(&mut self, list: &ListShape<'_>, items: &Array, at: &At<'_>) {
        charge(items.len() as u64);
        if let Relation::Atomic = list.relation {
            for (i, item) in items.iter().enumerate() {
                self.visit(item, list.items, &at.below(Step::Index(i)));
            }
            return;
        }
        let again = if self.duplicates { Vec::new() } else { again(list, items) };
        for (i, item) in items.iter().enumerate() {
            let key = match key(list, item) {
                Ok(key) => key,
                Err(error) => {
                    self.error(at, &format!("element {i}: {error}"));
                    return;
                }
            };
            if self.bytes > MAX_BYTES {
                return;
            }
            if again.get(i) == Some(&true) {
                self.error(at, &format!("duplicate entries for key {}", key.element()));
            }
            self.visit(item, list.items, &at.below(Step::Item(list, item)));
        }
    }
}

/// Which items are there before; nothing if none is.
fn again(list: &ListShape<'_>, items: &Array) -> Vec<bool> {
    let mut again = Vec::new();
    for same_key in grouped_by_key(list, items, &[]).chunk_by(Item::has_same_key) {
        for item in &same_key[1..] {
            again.resize(items.len(), false);
            again[item.place] = true;
        }
    }
    again
}

pub(crate) fn wrong_scalar(scalar: Scalar, value: &Value) -> Option<String> {
    match (scalar, value) {
        (_, Value::Null)
        | (Scalar::Numeric, Value::Int(_) | Value::Float(_))
        | (Scalar::String, Value::String(_))
        | (Scalar::Boolean, Value::Bool(_))
        | (Scalar::Untyped, Value::Int(_) | Value::Float(_) | Value::String(_) | Value::Bool(_)) => None,
        (Scalar::Numeric, other) => Some(format!("expected numeric (int or float), got {}", go_type(other))),
        (Scalar::String, other) => Some(format!(
            "expected string, got &value.valueUnstructured{{Value:{}}}",
            go_syntax(other, JSON_SYNTAX)
        )),
        (Scalar::Boolean, other) => Some(format!("expected boolean, got {}", pointer(other))),
        (Scalar::Untyped, other) => Some(format!("expected any scalar, got {}", pointer(other))),
    }
}

/// A value as Go's `%v` prints a pointer to a struct that holds it.
fn pointer(value: &Value) -> String {
    format!("&{{{}}}", go_v_short(value))
}

/// How Go's `%#v` prints values that were decoded from JSON.
const JSON_SYNTAX: Syntax =
    Syntax { map_type: "map[string]interface {}", scalar: |value| go_v(value).into_owned() };
