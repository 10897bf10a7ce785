//! From a small object to one that shows as many fields as one object can.
//!
//! Fields are added one by one to an object that is valid and stays valid: each with everything
//! below it if that goes, else with the least and then more of it. A field that goes with no value
//! that was tried is left out, and is reported with the server's error.

use pleach_json::{Map, Str, Value};
use pleach_schema::JSONSchemaProps;

use super::scalar::variants;
use super::{Extent, at, judge, printed_path, put, repair_keeping, value};
use crate::catalog::DefinedVersion;

/// How many objects are tried before the rest of the fields is left out.
const TRIES: usize = 6000;

/// A field that is not in a sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Which.
    pub field: String,
    /// Why: the server's words, with the rest as it is.
    pub why: String,
}

pub(super) struct Grower<'a> {
    version: &'a DefinedVersion,
    pub(super) object: Value,
    pub(super) left_out: Vec<LeftOut>,
    tries: usize,
}

impl<'a> Grower<'a> {
    /// Starts from a valid object.
    pub(super) fn new(version: &'a DefinedVersion, object: Value) -> Self {
        Self { version, object, left_out: Vec::new(), tries: 0 }
    }

    /// Adds all fields that go.
    pub(super) fn grow(&mut self) {
        let schema = self.version.props();
        let mut steps = Vec::new();
        for (name, property) in schema.properties() {
            let own = ["apiVersion", "kind", "metadata"].contains(&name.as_str());
            if !(own || self.version.status && name == "status") {
                steps.push(name.to_string());
                self.field(&mut steps, property);
                steps.pop();
            }
        }
    }

    /// The field at `steps`: added if it is missing, grown if it is there.
    fn field(&mut self, steps: &mut Vec<String>, schema: &JSONSchemaProps) {
        match at(&self.object, steps) {
            Some(_) => self.below(steps, schema),
            None => {
                if self.add(steps, schema) {
                    self.below(steps, schema);
                }
            }
        }
    }

    /// The fields below one that is there.
    fn below(&mut self, steps: &mut Vec<String>, schema: &JSONSchemaProps) {
        if schema.x_embedded_resource {
            return;
        }
        pleach_json::grow_stack(|| match at(&self.object, steps) {
            Some(Value::Object(members)) => {
                let keys: Vec<String> = members.keys().map(ToString::to_string).collect();
                for (name, property) in schema.properties() {
                    steps.push(name.to_string());
                    self.field(steps, property);
                    steps.pop();
                }
                if let Some(of_members) = schema.additional_properties() {
                    for key in keys.into_iter().filter(|key| schema.property(key).is_none()) {
                        steps.push(key);
                        self.below(steps, of_members);
                        steps.pop();
                    }
                }
            }
            Some(Value::Array(items)) if !items.is_empty() => {
                if let Some(of_items) = schema.items() {
                    steps.push("0".to_owned());
                    self.below(steps, of_items);
                    steps.pop();
                }
            }
            _ => {}
        });
    }

    /// Adds a field that is missing; whether that went.
    fn add(&mut self, steps: &[String], schema: &JSONSchemaProps) -> bool {
        let mut why = String::new();
        let mut tried: Vec<Value> = Vec::new();
        for new in values(schema) {
            if tried.contains(&new) || self.tries >= TRIES {
                continue;
            }
            let mut changed = self.object.clone();
            if !put(&mut changed, steps, new.clone()) {
                return false;
            }
            tried.push(new);
            self.tries += 1;
            let errors = judge(self.version, &changed);
            if errors.is_empty() {
                self.object = changed;
                return true;
            }
            if why.is_empty() {
                why = errors[0].to_string();
            }
        }
        if tried.first().is_some_and(|first| self.repaired(steps, first)) {
            return true;
        }
        self.left_out.push(LeftOut { field: printed_path(steps), why });
        false
    }

    /// Adds a field and repairs the errors that follow, as long as no existing field is lost.
    fn repaired(&mut self, steps: &[String], new: &Value) -> bool {
        for start in [new.clone(), Value::Null] {
            let mut changed = self.object.clone();
            let start = if start.is_null() { least_of(new) } else { start };
            if self.tries >= TRIES || !put(&mut changed, steps, start) {
                return false;
            }
            self.tries += 50;
            let errors = repair_keeping(self.version, &mut changed, &[printed_path(steps)]);
            if errors.is_empty() && at(&changed, steps).is_some() && holds(&changed, &self.object) {
                self.object = changed;
                return true;
            }
        }
        false
    }
}

/// Values for a field, the most telling first; an empty collection shows nothing and comes last.
fn values(schema: &JSONSchemaProps) -> Vec<Value> {
    let mut out: Vec<Value> = (0..3).map(|variant| value(schema, Extent::Full, variant)).collect();
    if let Some(of_items) = schema.items() {
        out.extend((0..3).map(|variant| Value::from(vec![value(of_items, Extent::Minimal, variant)])));
    }
    if let Some(of_members) = schema.additional_properties() {
        for key in KEYS {
            let member = (Str::from(key), value(of_members, Extent::Minimal, 0));
            out.push(Value::Object(Map::from(vec![member])));
        }
    }
    out.extend(variants(schema).map(|variant| value(schema, Extent::Minimal, variant)));
    out
}

/// Keys of maps whose rules want other ones than words.
const KEYS: [&str; 3] = ["key", "1", "example.com/key"];

/// The same kind of value with nothing in it.
fn least_of(value: &Value) -> Value {
    match value {
        Value::Object(_) => Value::object(),
        Value::Array(_) => Value::from(Vec::new()),
        other => other.clone(),
    }
}

/// Whether every field of `before` is still there.
fn holds(after: &Value, before: &Value) -> bool {
    match (after, before) {
        (Value::Object(after), Value::Object(before)) => {
            before.iter().all(|(key, value)| after.get(key).is_some_and(|now| holds(now, value)))
        }
        (Value::Array(after), Value::Array(before)) => {
            after.len() >= before.len()
                && before.iter().zip(after.iter()).all(|(value, now)| holds(now, value))
        }
        (after, before) => after.kind() == before.kind(),
    }
}
