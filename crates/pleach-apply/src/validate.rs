//! Whether a value fits its type well enough to be owned.
//!
//! Far less than validation by the schema: only what must hold so that paths can be told. What is
//! applied must have no unknown fields and no item twice; a live object may have items twice. Messages
//! are upstream's, Go values and all.

use std::collections::HashSet;
use std::fmt::Write as _;

use pleach_json::{Value, grow_stack};
use pleach_meta::go_format::float_v;

use crate::element::PathElement;
use crate::items::step;
use crate::shape::{ListShape, MapShape, Relation, Scalar, Shape, Type};

/// What is wrong with a value, in one text; `duplicates` says whether a list may have an item twice.
pub fn validate(value: &Value, of: Type<'_>, duplicates: bool) -> Result<(), String> {
    let mut walk = Walk { at: Vec::new(), errors: Vec::new(), duplicates };
    walk.visit(value, of);
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

struct Walk<'v> {
    at: Vec<At<'v>>,
    errors: Vec<String>,
    duplicates: bool,
}

/// Where the walk is; paths are made only for errors.
enum At<'v> {
    Field(&'v str),
    Index(usize),
    Item(PathElement),
}

impl<'v> Walk<'v> {
    fn error(&mut self, text: &str) {
        let mut whole = String::new();
        for at in &self.at {
            let _ = match at {
                At::Field(name) => write!(whole, ".{name}"),
                At::Index(index) => write!(whole, "[{index}]"),
                At::Item(element) => write!(whole, "{element}"),
            };
        }
        if !whole.is_empty() {
            whole.push_str(": ");
        }
        whole.push_str(text);
        self.errors.push(whole);
    }

    fn visit(&mut self, value: &'v Value, of: Type<'_>) {
        match (of.shape(Some(value)), value) {
            (_, Value::Null) => {}
            (Shape::Scalar(scalar), value) => {
                if let Some(error) = wrong_scalar(scalar, value) {
                    self.error(&error);
                }
            }
            (Shape::Map(map), Value::Object(members)) => grow_stack(|| self.members(&map, members)),
            (Shape::List(list), Value::Array(items)) => grow_stack(|| self.items(&list, items)),
            (Shape::Map(_), other) => self.error(&format!("expected map, got {}", pointer(other))),
            (Shape::List(_), other) => self.error(&format!("expected list, got {}", pointer(other))),
        }
    }

    fn members(&mut self, map: &MapShape<'_>, members: &'v pleach_json::Map) {
        let others = map.others();
        for (key, value) in members.entries() {
            self.at.push(At::Field(key));
            let of = map.field(key).or(others);
            match of {
                Some(of) => self.visit(value, of),
                None => self.error("field not declared in schema"),
            }
            self.at.pop();
            // Upstream looks no further once a field is unknown.
            if of.is_none() {
                return;
            }
        }
    }

    fn items(&mut self, list: &ListShape<'_>, items: &'v pleach_json::Array) {
        if let Relation::Atomic = list.relation {
            for (i, item) in items.iter().enumerate() {
                self.at.push(At::Index(i));
                self.visit(item, list.items);
                self.at.pop();
            }
            return;
        }
        let mut seen: HashSet<PathElement, foldhash::fast::FixedState> = HashSet::default();
        for (i, item) in items.iter().enumerate() {
            let element = match step(list, item) {
                Ok(element) => element,
                Err(error) => {
                    self.error(&format!("element {i}: {error}"));
                    return;
                }
            };
            // A set of scalars is right when its values are: there is nothing below to walk.
            if !self.duplicates && !seen.insert(element.clone()) {
                self.error(&format!("duplicate entries for key {element}"));
            }
            self.at.push(At::Item(element));
            self.visit(item, list.items);
            self.at.pop();
        }
    }
}

pub(crate) fn wrong_scalar(scalar: Scalar, value: &Value) -> Option<String> {
    match (scalar, value) {
        (_, Value::Null)
        | (Scalar::Numeric, Value::Int(_) | Value::Float(_))
        | (Scalar::String, Value::String(_))
        | (Scalar::Boolean, Value::Bool(_))
        | (Scalar::Untyped, Value::Int(_) | Value::Float(_) | Value::String(_) | Value::Bool(_)) => None,
        (Scalar::Numeric, other) => {
            Some(format!("expected numeric (int or float), got {}", type_name(other)))
        }
        (Scalar::String, other) => {
            Some(format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_syntax(other)))
        }
        (Scalar::Boolean, other) => Some(format!("expected boolean, got {}", pointer(other))),
        (Scalar::Untyped, other) => Some(format!("expected any scalar, got {}", pointer(other))),
    }
}

/// The Go type of a value.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
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
