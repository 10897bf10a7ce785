//! Candidate values for witnesses: valid under the old schema, and perhaps not under the new one.

use pleach_json::{Map, Str, Value};
use pleach_schema::JSONSchemaProps;

use crate::sample::{Extent, put, remove, value, variants};

/// How far below a rule the fields are that it may speak of.
const DEPTH: usize = 4;

/// The constants of a rule: its numbers and its texts.
fn constants(rule: &str) -> (Vec<i64>, Vec<String>) {
    let (mut numbers, mut texts) = (Vec::new(), Vec::new());
    let mut rest = rule;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit() || matches!(c, '\'' | '"')) {
        let quote = rest[start..].chars().next().filter(|c| !c.is_ascii_digit());
        let body = &rest[start + quote.map_or(0, char::len_utf8)..];
        let end = match quote {
            Some(quote) => body.find(quote).unwrap_or(body.len()),
            None => body.find(|c: char| !c.is_ascii_digit()).unwrap_or(body.len()),
        };
        match quote {
            Some(_) => texts.push(body[..end].to_owned()),
            None => numbers.extend(body[..end].parse::<i64>()),
        }
        rest = body.get(end + quote.map_or(0, char::len_utf8)..).unwrap_or_default();
    }
    (numbers, texts)
}

/// Values around the constants of new rules: for the node itself, or one field below it at a time.
fn by_rules(old: &JSONSchemaProps, new: &JSONSchemaProps) -> Vec<Value> {
    let known = |rule: &str| old.validations().iter().any(|known| known.rule == rule);
    let (mut numbers, mut texts) = (Vec::new(), Vec::new());
    for rule in new.validations().iter().filter(|rule| !known(&rule.rule)) {
        let (more_numbers, more_texts) = constants(&rule.rule);
        numbers.extend(more_numbers.into_iter().take(6));
        texts.extend(more_texts.into_iter().take(6));
    }
    if new.validations().is_empty() {
        return Vec::new();
    }
    numbers.push(0);
    let mut leaves = Vec::new();
    find_leaves(old, &mut Vec::new(), &mut leaves);
    let mut out = Vec::new();
    let smallest = value(old, Extent::Minimal, 0);
    for (path, leaf) in leaves.iter().take(40) {
        for tried in around(leaf, &numbers, &texts) {
            if path.is_empty() {
                out.push(tried);
                continue;
            }
            let mut object = smallest.clone();
            let mut schema = old;
            // Everything above the field must be there.
            for (i, name) in path[..path.len() - 1].iter().enumerate() {
                let Some(below) = schema.property(name) else { break };
                if crate::sample::at(&object, &path[..=i]).is_none() {
                    put(&mut object, &path[..=i], value(below, Extent::Minimal, 0));
                }
                schema = below;
            }
            if put(&mut object, path, tried) {
                out.push(object);
            }
        }
    }
    out
}

fn find_leaves<'a>(
    schema: &'a JSONSchemaProps,
    path: &mut Vec<String>,
    out: &mut Vec<(Vec<String>, &'a JSONSchemaProps)>,
) {
    let is_map = schema.additional_properties().is_some();
    if schema.properties().is_empty() || is_map {
        out.push((path.clone(), schema));
    }
    if path.len() == DEPTH {
        return;
    }
    for (name, property) in schema.properties() {
        path.push(name.to_string());
        find_leaves(property, path, out);
        path.pop();
    }
}

/// Values of a field next to the constants of a rule.
fn around(schema: &JSONSchemaProps, numbers: &[i64], texts: &[String]) -> Vec<Value> {
    let near = numbers.iter().flat_map(|n| [n.saturating_add(1), n.saturating_sub(1), *n]);
    match schema.type_.as_str() {
        "integer" | "number" => near.map(Value::Int).collect(),
        "boolean" => vec![Value::Bool(false), Value::Bool(true)],
        "string" => {
            let lengths = near.filter(|n| (0..4096).contains(n));
            let long = lengths.map(|n| Value::from("a".repeat(usize::try_from(n).unwrap_or(0))));
            texts.iter().map(|text| Value::from(text.as_str())).chain(long).chain(["other".into()]).collect()
        }
        "array" => {
            let Some(items) = schema.items() else { return Vec::new() };
            let of = |n: i64| (0..n).map(|i| value(items, Extent::Minimal, usize::try_from(i).unwrap_or(0)));
            near.filter(|n| (0..256).contains(n)).map(|n| of(n).collect::<Vec<_>>().into()).collect()
        }
        "object" => {
            let Some(members) = schema.additional_properties() else { return Vec::new() };
            let named =
                texts.iter().map(|text| vec![(Str::from(text.as_str()), value(members, Extent::Minimal, 0))]);
            let counted = near.filter(|n| (0..64).contains(n)).map(|n| {
                (0..n).map(|i| (Str::from(format!("key{i}")), value(members, Extent::Minimal, 0))).collect()
            });
            named.chain(counted).map(|members: Vec<(Str, Value)>| Map::from(members).into()).collect()
        }
        _ => Vec::new(),
    }
}

/// Lists with two entries that were different before and are the same now.
pub(super) fn twice(old: &JSONSchemaProps, new: &JSONSchemaProps) -> Vec<Value> {
    let Some(items) = old.items() else { return Vec::new() };
    let mut out = Vec::new();
    for extent in [Extent::Minimal, Extent::Full] {
        let mut item = value(items, extent, 0);
        // The keys must be there to be the same.
        for key in new.list_map_keys() {
            if let (None, Some(property)) = (item.get(key), items.property(key)) {
                put(&mut item, &[key.to_string()], value(property, Extent::Minimal, 0));
            }
        }
        let mut other = item.clone();
        for (name, property) in items.properties() {
            if !new.list_map_keys().contains(name) {
                put(&mut other, &[name.to_string()], value(property, Extent::Minimal, 1));
            }
        }
        out.push(vec![item.clone(), other].into());
        out.push(vec![item.clone(), item].into());
    }
    out
}

/// Values that may be valid by the old schema and not by the new one.
pub(super) fn candidates(old: &JSONSchemaProps, new: &JSONSchemaProps) -> Vec<Value> {
    let mut out = Vec::new();
    let mut add = |value: Value| {
        pleach_work::charge(out.len() as u64);
        if !out.contains(&value) {
            out.push(value);
        }
    };
    for tried in by_rules(old, new).into_iter().chain(twice(old, new)) {
        add(tried);
    }
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
    for variant in variants(old).chain(5..12) {
        add(value(old, Extent::Minimal, variant));
    }
    if let (Some(step), number) = (new.value().multiple_of, value(old, Extent::Minimal, 0).as_number()) {
        let number = number.unwrap_or_default() + step / 2.0;
        add(if number.fract() == 0.0 { Value::Int(number as i64) } else { Value::Float(number) });
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
