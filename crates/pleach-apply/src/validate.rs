//! Whether a value fits its type well enough to be owned.
//!
//! Far less than validation by the schema: only what must hold so that paths can be told. What is
//! applied must have no unknown fields and no item twice; a live object may have items twice. Messages
//! are upstream's, Go values and all.

use std::fmt::Write as _;

use pleach_json::{Array, Map, Value, grow_stack};
use pleach_meta::go_format::{float_v, go_type};

use crate::fits::fits;
use crate::items::{Item, key, step, together};
use crate::shape::{ListShape, MapShape, Relation, Scalar, Shape, Type};

/// What is wrong with a value, in one text; `duplicates` says whether a list may have an item twice.
pub fn validate(value: &Value, of: Type<'_>, duplicates: bool) -> Result<(), String> {
    if fits(value, of, !duplicates) { Ok(()) } else { words(value, of, duplicates) }
}

/// The same, without asking first whether there is anything.
pub(crate) fn words(value: &Value, of: Type<'_>, duplicates: bool) -> Result<(), String> {
    let mut walk = Walk { errors: Vec::new(), duplicates };
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

struct Walk {
    errors: Vec<String>,
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
        self.errors.push(whole);
    }

    fn visit(&mut self, value: &Value, of: Type<'_>, at: &At<'_>) {
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
    for items_alike in together(list, items, &[]).chunk_by(Item::is_like) {
        for item in &items_alike[1..] {
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
        (Scalar::String, other) => {
            Some(format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_syntax(other)))
        }
        (Scalar::Boolean, other) => Some(format!("expected boolean, got {}", pointer(other))),
        (Scalar::Untyped, other) => Some(format!("expected any scalar, got {}", pointer(other))),
    }
}

/// A value as Go's `%v` prints a pointer to a struct that holds it.
fn pointer(value: &Value) -> String {
    format!("&{{{}}}", plain(value))
}

/// A value as Go's `%v` prints it.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Int(i) => i.to_string(),
        Value::Float(f) => float_v(*f),
        Value::String(s) => s.to_string(),
        Value::Array(items) => grow_stack(|| {
            let items: Vec<_> = items.iter().map(plain).collect();
            format!("[{}]", items.join(" "))
        }),
        Value::Object(members) => grow_stack(|| {
            let members: Vec<_> = members.iter().map(|(k, v)| format!("{k}:{}", plain(v))).collect();
            format!("map[{}]", members.join(" "))
        }),
    }
}

/// A value as Go's `%#v` prints it.
fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Int(i) => i.to_string(),
        Value::Float(f) => float_v(*f),
        Value::String(s) => pleach_meta::go_format::quote(s),
        Value::Array(items) => grow_stack(|| {
            let items: Vec<_> = items.iter().map(go_syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }),
        Value::Object(members) => grow_stack(|| {
            let quoted = |k: &str| pleach_meta::go_format::quote(k);
            let members: Vec<_> =
                members.iter().map(|(k, v)| format!("{}:{}", quoted(k), go_syntax(v))).collect();
            format!("map[string]interface {{}}{{{}}}", members.join(", "))
        }),
    }
}
