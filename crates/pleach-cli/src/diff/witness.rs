//! Objects that the old CRD accepts and the new one does not.
//!
//! Constructed for one field: a minimal object with the parents of the field and a value that the change affects,
//! repaired until the old CRD accepts it. The engine then validates it under the new CRD: only an object that is valid
//! under the old and invalid under the new one is a witness.

use pleach_json::{Str, Value};
use pleach_schema::{JSONSchemaProps, Record};

use super::Witness;
use crate::catalog::{DefinedVersion, Definition};
use crate::object;
use crate::sample::{Extent, at, draft, judge, printed_path, put, remove, repair, repair_keeping, value};

/// One step into an object, whichever item or key it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// `.name`
    Property(Str),
    /// An item of a list.
    Item,
    /// A value of a map.
    Member,
}

/// The path as people read it.
pub(super) fn display(steps: &[Step]) -> String {
    let mut out = String::new();
    for step in steps {
        match step {
            Step::Property(name) => {
                out.push('.');
                out.push_str(name);
            }
            Step::Item => out.push_str("[*]"),
            Step::Member => out.push_str("[key]"),
        }
    }
    out
}

/// The two CRDs in one version.
#[derive(Debug)]
pub(super) struct Witnesses<'a> {
    pub(super) old: &'a Definition,
    pub(super) old_version: &'a DefinedVersion,
    pub(super) new_version: &'a DefinedVersion,
}

/// How many values are tried for one change.
const TRIES: usize = 160;

/// A change of one node of the old schema: keywords with their new values, `None` takes one away.
pub(super) type Edit = Vec<(&'static str, Option<Value>)>;

impl Witnesses<'_> {
    /// An object with one of `tries` at a place that is refused now, because of `edit` alone.
    pub(super) fn refused(&self, steps: &[Step], tries: Vec<Value>, edit: Edit) -> Option<Witness> {
        let edited = self.edited(steps, edit)?;
        tries.into_iter().take(TRIES).find_map(|tried| {
            let (mut object, path) = self.with_place(steps)?;
            if path.is_empty() {
                merge(&mut object, tried);
            } else {
                put(&mut object, &path, tried);
            }
            self.check(object, &path, &edited)
        })
    }

    /// An object without a field that is refused now; `required` are the required fields of its parent.
    pub(super) fn without(&self, steps: &[Step], required: Value) -> Option<Witness> {
        let (_, above) = steps.split_last()?;
        let edited = self.edited(above, vec![("required", Some(required))])?;
        let (mut object, path) = self.with_place(steps)?;
        remove(&mut object, &path);
        self.check(object, &path[..path.len() - 1], &edited)
    }

    /// The old version with one node changed.
    fn edited(&self, steps: &[Step], edit: Edit) -> Option<DefinedVersion> {
        let mut schema = self.old_version.props().to_value();
        // The copy is as large as the schema, and read again.
        pleach_work::charge(20 * schema.extent(usize::MAX).values as u64);
        let mut node = &mut schema;
        for step in steps {
            node = match step {
                Step::Property(name) => node.get_mut("properties")?.get_mut(name)?,
                Step::Item => node.get_mut("items")?,
                Step::Member => node.get_mut("additionalProperties")?,
            };
        }
        let members = node.as_object_mut()?;
        for (keyword, value) in edit {
            match value {
                Some(value) => members.insert(keyword, value),
                None => members.remove(keyword),
            };
        }
        let props = JSONSchemaProps::from_value(&schema).ok()?;
        Some(self.old_version.with_schema(props))
    }

    /// An object with a field that is dropped now.
    pub(super) fn dropped(&self, steps: &[Step], schema: &JSONSchemaProps) -> Option<Witness> {
        let (mut object, path) = self.with_place(steps)?;
        put(&mut object, &path, value(schema, Extent::Minimal, 0));
        self.loses(object, &path)
    }

    /// Whether the old CRD accepts an object with all of it, and the new one drops the value at `path`.
    fn loses(&self, mut object: Value, path: &[String]) -> Option<Witness> {
        let kept = [printed_path(path)];
        if !repair_keeping(self.old_version, &mut object, &kept).is_empty() {
            return None;
        }
        let before = object::decode(self.old_version, object.clone(), Record::Unknown).ok()?;
        let after = object::decode(self.new_version, object.clone(), Record::Unknown).ok()?;
        let new = after.unknown.iter().find(|path| !before.unknown.contains(path))?;
        Some(Witness { answer: format!("unknown field \"{new}\""), object })
    }

    /// An object with a key at a place that was kept there, and is dropped now.
    pub(super) fn pruned(&self, steps: &[Step], kept: Value) -> Option<Witness> {
        let (mut object, mut path) = self.with_place(steps)?;
        path.push("anything".to_owned());
        put(&mut object, &path, kept);
        self.loses(object, &path)
    }

    /// The smallest valid object, for changes that affect every object.
    pub(super) fn any(&self, answer: &str) -> Option<Witness> {
        let mut object = draft(self.old, self.old_version, Extent::Minimal);
        let errors = repair(self.old_version, &mut object);
        errors.is_empty().then(|| Witness { object, answer: answer.to_owned() })
    }

    /// Whether the old CRD accepts it, after repairs elsewhere, and neither the old one with the
    /// change nor the new one does.
    fn check(&self, mut object: Value, path: &[String], edited: &DefinedVersion) -> Option<Witness> {
        let kept = [printed_path(path)];
        let kept: &[String] = if path.is_empty() { &[] } else { &kept };
        if !repair_keeping(self.old_version, &mut object, kept).is_empty() {
            return None;
        }
        let answer = judge(edited, &object).first()?.to_string();
        if judge(self.new_version, &object).is_empty() {
            return None;
        }
        Some(Witness { object, answer })
    }

    /// A minimal object in which everything above a place exists, and the concrete path of the place.
    fn with_place(&self, steps: &[Step]) -> Option<(Value, Vec<String>)> {
        let mut object = draft(self.old, self.old_version, Extent::Minimal);
        let mut schema: &JSONSchemaProps = self.old_version.props();
        let mut path: Vec<String> = Vec::new();
        for (i, step) in steps.iter().enumerate() {
            let last = i + 1 == steps.len();
            match step {
                Step::Property(name) => {
                    path.push(name.to_string());
                    match schema.property(name) {
                        Some(below) => schema = below,
                        None if last => return Some((object, path)),
                        None => return None,
                    }
                }
                Step::Item => {
                    path.push("0".to_owned());
                    schema = schema.items()?;
                }
                Step::Member => {
                    path.push("key".to_owned());
                    schema = schema.additional_properties()?;
                }
            }
            if at(&object, &path).is_none() {
                let made = value(schema, Extent::Minimal, 0);
                let above = &path[..path.len() - 1];
                if *step == Step::Item {
                    put(&mut object, above, Value::from(vec![made]));
                } else {
                    put(&mut object, &path, made);
                }
            }
        }
        Some((object, path))
    }
}

fn merge(object: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (object, from) {
        for (key, value) in from.into_vec() {
            if !["apiVersion", "kind", "metadata"].contains(&key.as_str()) {
                into.insert(key, value);
            }
        }
    }
}
