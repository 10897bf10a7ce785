//! Objects that the old CRD accepts and the new one does not.
//!
//! Made for one place: a minimal object, with everything above the place made too, a value put there
//! that the change speaks about, and the rest repaired until the old CRD accepts it. The engine then
//! judges it by the new CRD; only an object that passes the one and fails the other is a witness.

use pleach_json::{Str, Value};
use pleach_schema::{JSONSchemaProps, Record};

use super::Witness;
use crate::catalog::{DefinedVersion, Definition};
use crate::object;
use crate::sample::{Extent, at, draft, judge, put, remove, repair_keeping, value};

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
    pub(super) new: &'a Definition,
    pub(super) new_version: &'a DefinedVersion,
}

/// A change of one node of the old schema: keywords with their new values, `None` takes one away.
pub(super) type Edit = Vec<(&'static str, Option<Value>)>;

impl Witnesses<'_> {
    /// An object with one of `tries` at a place that is refused now, because of `edit` alone.
    pub(super) fn refused(&self, steps: &[Step], tries: Vec<Value>, edit: Edit) -> Option<Witness> {
        let edited = self.edited(steps, edit)?;
        tries.into_iter().take(48).find_map(|tried| {
            let (mut object, path) = self.with_place(steps)?;
            if path.is_empty() {
                merge(&mut object, tried);
            } else {
                put(&mut object, &path, tried);
            }
            self.check(object, &path, &edited)
        })
    }

    /// An object without a field that is refused now; `required` is what its parent requires.
    pub(super) fn without(&self, steps: &[Step], required: Value) -> Option<Witness> {
        let (_, above) = steps.split_last()?;
        let edited = self.edited(above, vec![("required", Some(required))])?;
        let (mut object, path) = self.with_place(steps)?;
        remove(&mut object, &path);
        self.check(object, &path[..path.len() - 1], &edited)
    }

    /// The old version with one node changed.
    fn edited(&self, steps: &[Step], edit: Edit) -> Option<DefinedVersion> {
        let mut schema = self.old_version.props.to_value();
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
        let kept = [printed(&path)];
        if !repair_keeping(self.old, self.old_version, &mut object, &kept).is_empty() {
            return None;
        }
        let before = object::decode(self.old, self.old_version, object.clone(), Record::Unknown).ok()?;
        let after = object::decode(self.new, self.new_version, object.clone(), Record::Unknown).ok()?;
        let new = after.unknown.iter().find(|path| !before.unknown.contains(path))?;
        Some(Witness { answer: format!("unknown field \"{new}\""), object })
    }

    /// Whether the old CRD accepts it, after repairs elsewhere, and neither the old one with the
    /// change nor the new one does.
    fn check(&self, mut object: Value, path: &[String], edited: &DefinedVersion) -> Option<Witness> {
        let kept = [printed(path)];
        let kept: &[String] = if path.is_empty() { &[] } else { &kept };
        if !repair_keeping(self.old, self.old_version, &mut object, kept).is_empty() {
            return None;
        }
        let answer = judge(self.old, edited, &object).first()?.to_string();
        if judge(self.new, self.new_version, &object).is_empty() {
            return None;
        }
        Some(Witness { object, answer })
    }

    /// A minimal object in which everything above a place exists, and the concrete path of the place.
    fn with_place(&self, steps: &[Step]) -> Option<(Value, Vec<String>)> {
        let mut object = draft(self.old, self.old_version, Extent::Minimal);
        let mut schema: &JSONSchemaProps = &self.old_version.props;
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

fn printed(path: &[String]) -> String {
    let mut out = String::new();
    for step in path {
        if step.parse::<usize>().is_ok() {
            out.push_str(&format!("[{step}]"));
        } else {
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(step);
        }
    }
    out
}

/// Values that may be valid by the old schema and not by the new one.
pub(super) fn candidates(old: &JSONSchemaProps, new: &JSONSchemaProps) -> Vec<Value> {
    let mut out = Vec::new();
    let mut add = |value: Value| {
        if !out.contains(&value) {
            out.push(value);
        }
    };
    for schema in [old, new] {
        let bounds = schema.value();
        for limit in [bounds.maximum, bounds.minimum].into_iter().flatten() {
            for number in [limit, limit + 1.0, limit - 1.0, limit + 0.5, limit - 0.5] {
                add(if number.fract() == 0.0 { Value::Int(number as i64) } else { Value::Float(number) });
            }
        }
        for limit in [bounds.max_length, bounds.min_length].into_iter().flatten() {
            for length in [limit, limit + 1, limit - 1] {
                let length = usize::try_from(length).unwrap_or(0).min(1 << 16);
                add("a".repeat(length).into());
            }
        }
        for limit in [bounds.max_items, bounds.min_items].into_iter().flatten() {
            for length in [limit, limit + 1, limit - 1] {
                let length = usize::try_from(length).unwrap_or(0).min(1 << 12);
                if let Some(items) = old.items() {
                    add((0..length).map(|i| value(items, Extent::Minimal, i)).collect::<Vec<_>>().into());
                }
            }
        }
        for limit in [bounds.max_properties, bounds.min_properties].into_iter().flatten() {
            for length in [limit, limit + 1, limit - 1] {
                let length = usize::try_from(length).unwrap_or(0).min(1 << 12);
                if let Some(members) = old.additional_properties() {
                    let made: pleach_json::Map = (0..length)
                        .map(|i| (format!("key{i}").into(), value(members, Extent::Minimal, i)))
                        .collect();
                    add(made.into());
                }
            }
        }
    }
    for variant in 0..4 {
        add(value(old, Extent::Minimal, variant));
    }
    let full = value(old, Extent::Full, 0);
    // One property at a time: another value of it, or none.
    for (name, property) in old.properties() {
        for variant in 1..3 {
            let mut changed = full.clone();
            if put(&mut changed, &[name.to_string()], value(property, Extent::Minimal, variant)) {
                add(changed);
            }
        }
        let mut changed = full.clone();
        if !old.required().contains(name) && remove(&mut changed, &[name.to_string()]) {
            add(changed);
        }
        let limits = property.value();
        for limit in [limits.maximum, limits.minimum].into_iter().flatten() {
            let mut changed = full.clone();
            if put(&mut changed, &[name.to_string()], Value::Int(limit as i64)) {
                add(changed);
            }
        }
    }
    add(full);
    if old.type_ == "integer" || old.type_ == "number" {
        [0_i64, -1, 1000, 1_000_000_000].into_iter().for_each(|n| add(n.into()));
    }
    if old.type_ == "string" {
        for text in ["", "A", "a b", "0", "-", "example", "Ünï", "a.b/c"] {
            add(text.into());
        }
    }
    out
}
