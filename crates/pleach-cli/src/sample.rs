//! Objects made up from a schema: the smallest that is valid, and one that shows every field.
//!
//! A first draft follows the schema keyword by keyword. The rest (rules, junctors)
//! is left to the engine: it validates the draft, and errors are repaired, by
//! filling in required fields and leaving out others. The result says whether that was possible.

mod grow;
mod pattern;
mod scalar;

use pleach_json::{Map, Str, Value, grow_stack};
use pleach_meta::{ErrorType, FieldError};
use pleach_schema::{JSONSchemaProps, Record, SchemaOrBool};

use crate::catalog::{DefinedVersion, Definition};
use crate::object;
use grow::Grower;
pub use grow::LeftOut;
pub(crate) use scalar::variants;

/// How much to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Only required fields.
    Minimal,
    /// Every field.
    Full,
}

/// How often a draft is repaired.
const REPAIRS: usize = 200;

/// A made-up object.
#[derive(Debug, Clone)]
pub struct Sample {
    /// The object.
    pub object: Value,
    /// The remaining errors; none for a valid sample.
    pub errors: Vec<FieldError>,
    /// Fields that a full sample should have and has not.
    pub left_out: Vec<LeftOut>,
}

/// A sample of a kind.
pub fn sample(definition: &Definition, version: &DefinedVersion, extent: Extent) -> Sample {
    let mut object = draft(definition, version, extent);
    if extent == Extent::Full {
        if judge(version, &object).is_empty() {
            return Sample { object, errors: Vec::new(), left_out: Vec::new() };
        }
        object = draft(definition, version, Extent::Minimal);
        if definition.crd.spec.is_namespaced() {
            put(&mut object, &["metadata".to_owned(), "namespace".to_owned()], "default".into());
        }
    }
    let errors = repair(version, &mut object);
    if extent == Extent::Minimal || !errors.is_empty() {
        return Sample { object, errors, left_out: Vec::new() };
    }
    let mut grower = Grower::new(version, object);
    grower.grow();
    if !std::mem::take(&mut grower.left_out).is_empty() {
        // Some fields are valid only together with fields that came later.
        grower.grow();
    }
    Sample { object: grower.object, errors, left_out: grower.left_out }
}

/// A first draft, with type and name.
pub fn draft(definition: &Definition, version: &DefinedVersion, extent: Extent) -> Value {
    let mut out = match value(version.props(), extent, 0) {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    let singular = &definition.crd.spec.names.singular;
    let mut metadata = Map::new();
    metadata
        .insert("name", if singular.is_empty() { "example".to_owned() } else { format!("my-{singular}") });
    if definition.crd.spec.is_namespaced() && extent == Extent::Full {
        metadata.insert("namespace", "default");
    }
    out.insert("apiVersion", version.api_version.as_str());
    out.insert("kind", definition.kind());
    out.insert("metadata", metadata);
    if version.status {
        out.remove("status");
    }
    out.into()
}

/// The server's errors about an object.
pub fn judge(version: &DefinedVersion, object: &Value) -> Vec<FieldError> {
    match object::decode(version, object.clone(), Record::Nothing) {
        Ok(mut decoded) => object::create(version, &mut decoded.value).errors,
        Err(error) => vec![FieldError::internal("", error)],
    }
}

/// Changes an object until the server accepts it, or no repair helps; returns the remaining errors.
pub fn repair(version: &DefinedVersion, object: &mut Value) -> Vec<FieldError> {
    repair_keeping(version, object, &[])
}

/// The same, but values at the paths `keep` or above them are not removed.
pub fn repair_keeping(version: &DefinedVersion, object: &mut Value, keep: &[String]) -> Vec<FieldError> {
    let mut errors = judge(version, object);
    for _ in 0..REPAIRS {
        if errors.is_empty() {
            break;
        }
        let better = errors.iter().filter(|e| e.error_type != ErrorType::Internal).find_map(|error| {
            candidates(version.props(), object, error, keep).into_iter().find_map(|changed| {
                let left = judge(version, &changed);
                let solved = left.len() < errors.len()
                    || !left.iter().any(|e| e.field == error.field && e.detail == error.detail);
                solved.then_some((changed, left))
            })
        });
        let Some((changed, left)) = better else { break };
        if left.iter().map(ToString::to_string).eq(errors.iter().map(ToString::to_string)) {
            break;
        }
        (*object, errors) = (changed, left);
    }
    errors
}

/// Objects that may not have the error any more, the most promising first.
fn candidates(root: &JSONSchemaProps, object: &Value, error: &FieldError, keep: &[String]) -> Vec<Value> {
    let field = place(error);
    let steps = steps(field);
    let mut out = Vec::new();
    if error.error_type == ErrorType::Required
        && let Some(schema) = schema_at(root, &steps)
    {
        let mut changed = object.clone();
        if put(&mut changed, &steps, value(schema, Extent::Minimal, 0)) {
            out.push(changed);
        }
    }
    let is_kept = |path: &str| {
        keep.iter().any(|kept| {
            kept == path || kept.starts_with(&format!("{path}.")) || kept.starts_with(&format!("{path}["))
        })
    };
    if let Some(schema) = schema_at(root, &steps)
        && !matches!(schema.type_.as_str(), "object" | "array")
        && !is_kept(field)
    {
        // Other values of the same field.
        for variant in scalar::variants(schema).skip(1) {
            let mut changed = object.clone();
            if put(&mut changed, &steps, value(schema, Extent::Minimal, variant)) {
                out.push(changed);
            }
        }
    }
    // A rule or junctor speaks about the members of its node: leave one out at a time.
    if let Some(node) = at(object, &steps).and_then(Value::as_object) {
        let schema = schema_at(root, &steps);
        for (key, _) in node {
            let path = if matches!(field, "" | "<nil>") { key.to_string() } else { format!("{field}.{key}") };
            let needed = schema.is_some_and(|schema| schema.required().contains(key));
            if needed || is_kept(&path) || ["apiVersion", "kind", "metadata"].contains(&path.as_str()) {
                continue;
            }
            let mut changed = object.clone();
            let mut below = steps.clone();
            below.push(key.to_string());
            if remove(&mut changed, &below) {
                out.push(changed);
            }
        }
        // Or add one that is missing.
        if let Some(schema) = schema {
            for (name, property) in schema.properties() {
                if node.get(name).is_none() {
                    let mut changed = object.clone();
                    let mut below = steps.clone();
                    below.push(name.to_string());
                    if put(&mut changed, &below, value(property, Extent::Minimal, 0)) {
                        out.push(changed);
                    }
                }
            }
        }
    }
    // Leave the field itself out, or the one that holds it.
    for end in (1..=steps.len()).rev() {
        let mut changed = object.clone();
        if !is_kept(&printed_path(&steps[..end]))
            && steps[0] != "metadata"
            && remove(&mut changed, &steps[..end])
        {
            out.push(changed);
        }
    }
    out.truncate(64);
    out
}

/// The field that an error is about. Errors of junctors have it in the message, not beside it.
fn place(error: &FieldError) -> &str {
    let quoted = error.detail.strip_prefix('"').and_then(|rest| rest.split_once("\" must validate"));
    match (error.field.as_str(), quoted) {
        ("" | "<nil>", Some((path, _))) => path,
        (field, _) => field,
    }
}

/// The steps of a printed path; indices are steps too.
pub(crate) fn steps(path: &str) -> Vec<String> {
    let path = if path == "<nil>" { "" } else { path };
    path.split(['.', '[', ']']).filter(|step| !step.is_empty()).map(ToOwned::to_owned).collect()
}

/// A path as errors print it.
pub(crate) fn printed_path(steps: &[String]) -> String {
    let mut out = String::new();
    for step in steps {
        if step.parse::<usize>().is_ok() && !out.is_empty() {
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

fn schema_at<'a>(root: &'a JSONSchemaProps, steps: &[String]) -> Option<&'a JSONSchemaProps> {
    let mut schema = root;
    for step in steps {
        schema = match schema.items() {
            Some(items) if step.parse::<usize>().is_ok() => items,
            _ => schema.property(step).or_else(|| schema.additional_properties())?,
        };
    }
    Some(schema)
}

pub(crate) fn at<'a>(value: &'a Value, steps: &[String]) -> Option<&'a Value> {
    steps.iter().try_fold(value, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    })
}

pub(crate) fn put(value: &mut Value, steps: &[String], new: Value) -> bool {
    let Some((last, above)) = steps.split_last() else { return false };
    let mut place = value;
    for step in above {
        let below = match place {
            Value::Array(items) => step.parse::<usize>().ok().and_then(|i| items.get_mut(i)),
            other => other.get_mut(step),
        };
        let Some(below) = below else { return false };
        place = below;
    }
    match place {
        Value::Object(members) => {
            members.insert(last.as_str(), new);
            true
        }
        Value::Array(items) => match last.parse::<usize>().ok().and_then(|i| items.get_mut(i)) {
            Some(item) => {
                *item = new;
                true
            }
            None => false,
        },
        _ => false,
    }
}

pub(crate) fn remove(value: &mut Value, steps: &[String]) -> bool {
    let Some((last, above)) = steps.split_last() else { return false };
    let mut place = value;
    for step in above {
        let below = match place {
            Value::Array(items) => step.parse::<usize>().ok().and_then(|i| items.get_mut(i)),
            other => other.get_mut(step),
        };
        let Some(below) = below else { return false };
        place = below;
    }
    match place {
        Value::Object(members) => members.remove(last).is_some(),
        Value::Array(items) => match last.parse::<usize>() {
            Ok(i) if i < items.len() => {
                items.remove(i);
                true
            }
            _ => false,
        },
        _ => false,
    }
}

/// A value for a schema; other variants are other values.
pub(crate) fn value(schema: &JSONSchemaProps, extent: Extent, variant: usize) -> Value {
    Maker { extent, room: ROOM }.value(schema, variant)
}

/// How many values one is made of, about: from then on, lists and maps get no more items. Texts count for their length.
const ROOM: usize = 50_000;
/// The steps of a value, by the memory that it takes.
const STEPS_PER_VALUE: usize = 200;
/// The length of a text that counts as a value.
const TEXT: usize = 64;

/// Makes one value.
struct Maker {
    extent: Extent,
    /// How many more values there is room for.
    room: usize,
}

impl Maker {
    fn value(&mut self, schema: &JSONSchemaProps, variant: usize) -> Value {
        let made = self.any_value(schema, variant);
        if let Value::String(text) = &made {
            self.take(text.len() / TEXT);
        }
        made
    }

    /// Counts so many values more.
    fn take(&mut self, values: usize) {
        pleach_work::charge((values * STEPS_PER_VALUE) as u64);
        self.room = self.room.saturating_sub(values);
    }

    /// A value that the schema has.
    fn given(&mut self, value: &Value) -> Value {
        let extent = value.extent(ROOM * TEXT);
        self.take(extent.values.max(extent.bytes / TEXT));
        value.clone()
    }

    fn any_value(&mut self, schema: &JSONSchemaProps, variant: usize) -> Value {
        self.take(1);
        let rare = schema.rare();
        if variant == 0 && self.extent == Extent::Full {
            for given in [&rare.example, &rare.default] {
                if !given.is_null() && scalar::accepts(schema, given) {
                    return self.given(given);
                }
            }
        }
        let flattened = scalar::with_first_branches(schema, variant);
        let schema = flattened.as_ref().unwrap_or(schema);
        if let Some(values) = &schema.value().enum_ {
            let usable: Vec<&Value> = values.iter().filter(|v| !v.is_null()).collect();
            pleach_work::charge(values.len() as u64);
            if !usable.is_empty() {
                return self.given(usable[variant % usable.len()]);
            }
        }
        match schema.type_.as_str() {
            "object" => grow_stack(|| self.members(schema, variant)),
            "array" => grow_stack(|| self.items(schema, variant)),
            "string" => scalar::string(schema, variant),
            "integer" => scalar::integer(schema, variant),
            "number" => scalar::number(schema, variant),
            "boolean" => Value::Bool(variant.is_multiple_of(2)),
            _ if schema.x_int_or_string => scalar::int_or_string(schema, variant),
            _ if !schema.properties().is_empty() => grow_stack(|| self.members(schema, variant)),
            _ => Value::object(),
        }
    }

    fn members(&mut self, schema: &JSONSchemaProps, variant: usize) -> Value {
        let extent = self.extent;
        let mut out = Map::new();
        if schema.x_embedded_resource {
            out.insert("apiVersion", "v1");
            out.insert("kind", "ConfigMap");
            let mut metadata = Map::new();
            metadata.insert("name", "example");
            out.insert("metadata", metadata);
        }
        for (name, property) in schema.properties() {
            pleach_work::charge(1 + schema.required().len() as u64);
            let required = schema.required().contains(name);
            let defaulted = !property.default_value().is_null();
            if out.contains_key(name) || extent == Extent::Minimal && (!required || defaulted) {
                continue;
            }
            out.insert(name.clone(), self.value(property, if required { variant } else { 0 }));
        }
        let (least, most) = (schema.value().min_properties.unwrap_or(0), schema.value().max_properties);
        let wanted = if extent == Extent::Full { least.max(1) } else { least };
        let wanted = usize::try_from(most.map_or(wanted, |most| wanted.min(most))).unwrap_or(0).min(64);
        match &schema.additional_properties {
            Some(SchemaOrBool::Schema(of_members)) => {
                for name in schema.required() {
                    out.get_or_insert_with(name, || self.value(of_members, 0));
                }
                let mut i = 0;
                while out.len() < wanted && self.room > 0 {
                    out.insert(
                        format!("key{}", if i == 0 { String::new() } else { i.to_string() }),
                        self.value(of_members, i),
                    );
                    i += 1;
                }
            }
            _ => {
                let more: Vec<&(Str, JSONSchemaProps)> =
                    schema.properties().iter().filter(|(name, _)| !out.contains_key(name)).collect();
                for (name, property) in more {
                    if out.len() >= usize::try_from(least).unwrap_or(0) {
                        break;
                    }
                    out.insert(name.clone(), self.value(property, 0));
                }
            }
        }
        out.into()
    }

    fn items(&mut self, schema: &JSONSchemaProps, variant: usize) -> Value {
        let (least, most) = (schema.value().min_items.unwrap_or(0), schema.value().max_items);
        let wanted = if self.extent == Extent::Full { least.max(1) } else { least };
        let wanted = usize::try_from(most.map_or(wanted, |most| wanted.min(most))).unwrap_or(0).min(256);
        let Some(of_items) = schema.items() else { return Value::from(Vec::new()) };
        let mut list = Vec::new();
        while list.len() < wanted && self.room > 0 {
            list.push(self.value(of_items, list.len() + variant));
        }
        Value::from(list)
    }
}

#[cfg(test)]
mod tests {
    use pleach_json::json;
    use pleach_work::{Stopped, measure, with_limit};

    use super::*;

    #[test]
    fn lists_in_lists_end_where_the_room_does() {
        let mut schema = json!({"type": "string", "minLength": 100});
        for _ in 0..6 {
            schema = json!({"type": "array", "minItems": 256, "items": schema});
        }
        let schema = JSONSchemaProps::from_value(&schema).unwrap();
        let (made, steps) = measure(|| value(&schema, Extent::Minimal, 0));
        let values = made.extent(usize::MAX).values;
        assert!((ROOM / 4..=ROOM).contains(&values), "{values}");
        assert!(steps as usize <= 2 * ROOM * STEPS_PER_VALUE, "{steps}");
        let stopped = with_limit(1_000_000, || value(&schema, Extent::Minimal, 0));
        assert_eq!(stopped, Err(Stopped::Budget));
    }

    #[test]
    fn long_examples_count_for_their_length() {
        let example = "x".repeat(TEXT * 1000);
        let schema = json!({"type": "array", "minItems": 256,
            "items": {"type": "string", "example": (example.as_str())}});
        let schema = JSONSchemaProps::from_value(&schema).unwrap();
        let made = value(&schema, Extent::Full, 0);
        let length = made.extent(usize::MAX).bytes;
        assert!(length <= 2 * ROOM * TEXT, "{length}");
    }
}
