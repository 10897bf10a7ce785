//! Merging lists of a strategic merge patch, and `$setElementOrder`.
//!
//! Items that the patch names come in the order of the patch, the others in the order they had.
//! The two rows are zipped: an item of the old row goes first only where both it and the next of
//! the new row were there before and it stood in front.

use std::collections::{HashMap, HashSet};

use pleach_go::fmt::{go_type, go_v_list, go_v_short};
use pleach_json::{Map, Str, Value, to_string};

use super::schema::StrategicSchema;
use super::{DELETE_FROM, Directive, ORDER, PATCH, Result, directive, error, merge_maps, without_directives};

/// Merges the items of a list that the schema knows as mergeable.
pub(super) fn merge(original: Vec<Value>, patch: &[Value], schema: &StrategicSchema) -> Result<Vec<Value>> {
    pleach_work::charge(32 * (original.len() + patch.len()) as u64);
    check_types(&original, patch, schema)?;
    let order = names(patch.iter().filter(|item| item.get(PATCH).is_none()), schema)?;
    let before = names(&original, schema)?;
    let merged = merge_items(original, patch, schema)?;
    arrange(merged, &order, &before, schema)
}

/// Merges the lists for which the patch has an order, and names those.
pub(super) fn merge_ordered(
    original: &mut Map,
    patch: &Map,
    schema: &StrategicSchema,
) -> Result<HashSet<Str>> {
    let mut done = HashSet::new();
    for (key, order) in patch {
        let Some(field) = key.strip_prefix(ORDER) else { continue };
        let order = as_list(order)?;
        pleach_work::charge(32 * order.len() as u64);
        let child = schema.field(field);
        let changes = match patch.get(field) {
            Some(Value::Null) | None => None,
            Some(changes) => Some(as_list(changes)?),
        };
        let items = match original.get(field) {
            None => None,
            Some(items) => Some(as_list(items)?.to_vec()),
        };
        if items.as_ref().is_some_and(Vec::is_empty) && changes.is_none_or(<[Value]>::is_empty) {
            return error("no elements in any of the given slices");
        }
        let order_names = names(order, child)?;
        if let Some(changes) = changes {
            check_order(changes, order, &order_names, child)?;
        }
        let mut before = names(items.as_deref().unwrap_or_default(), child)?;
        let merged = match (items, changes) {
            (None, None) => continue,
            (Some(items), None) => items,
            (None, Some(changes)) => changes.iter().filter_map(without_directives).collect(),
            (Some(items), Some(changes)) if child.merges_list() => {
                let merged = merge_items(items, changes, child)?;
                if changes.iter().any(is_deletion) {
                    // Upstream deletes and appends in place, so what it takes for the old order
                    // has lost the deleted items and gained as many of the new ones.
                    let len = before.len();
                    before = names(merged.iter().take(len), child)?;
                }
                merged
            }
            (Some(_), Some(changes)) => changes.to_vec(),
        };
        let deletions = match patch.get(&format!("{DELETE_FROM}{field}")) {
            Some(deletions) => as_list(deletions)?,
            None => &[],
        };
        let deletions = Deletions::of(deletions);
        let merged: Vec<_> = merged.into_iter().filter(|item| !deletions.has(item)).collect();
        let merged = arrange(merged, &order_names, &before, child)?;
        original.insert(field, Value::from(merged));
        done.insert(Str::from(field));
        done.insert(format!("{DELETE_FROM}{field}").into());
    }
    Ok(done)
}

/// Takes scalars out of a list.
pub(super) fn delete_from(original: &mut Map, field: &str, deletions: &Value) {
    if deletions.is_null() {
        original.remove(field);
    } else if let Some(Value::Array(items)) = original.get_mut(field)
        && let Value::Array(deletions) = deletions
    {
        let deletions = Deletions::of(deletions);
        items.retain(|item| !deletions.has(item));
    }
}

/// Values that a list loses, found by their text.
struct Deletions<'v>(HashMap<Str, Vec<&'v Value>>);

impl<'v> Deletions<'v> {
    fn of(values: &'v [Value]) -> Self {
        let mut by_text: HashMap<Str, Vec<&Value>> = HashMap::with_capacity(values.len());
        for value in values {
            // `1` and `1.0` have one text and are two values.
            let alike = by_text.entry(text_of(value)).or_default();
            if !alike.contains(&value) {
                alike.push(value);
            }
        }
        Self(by_text)
    }

    fn has(&self, item: &Value) -> bool {
        !self.0.is_empty() && self.0.get(to_string(item).as_str()).is_some_and(|alike| alike.contains(&item))
    }
}

/// All items must be maps if the list has a key, and scalars if it has none.
fn check_types(original: &[Value], patch: &[Value], schema: &StrategicSchema) -> Result<()> {
    let fits = |item: &Value| match schema.merge_key() {
        Some(_) => matches!(item, Value::Object(_)),
        None => !matches!(item, Value::Object(_) | Value::Array(_)),
    };
    if original.iter().chain(patch).all(fits) {
        return Ok(());
    }
    let (original, patch) = (go_v_list(original), go_v_list(patch));
    error(format!("list element types are not identical: [{original} {patch}]"))
}

fn merge_items(original: Vec<Value>, patch: &[Value], schema: &StrategicSchema) -> Result<Vec<Value>> {
    check_types(&original, patch, schema)?;
    match schema.merge_key() {
        Some(key) => merge_keyed(original, patch, key, schema),
        None => Ok(unique(original.into_iter().chain(patch.iter().cloned()))),
    }
}

/// Merges lists of maps by key.
fn merge_keyed(
    mut original: Vec<Value>,
    patch: &[Value],
    key: &str,
    schema: &StrategicSchema,
) -> Result<Vec<Value>> {
    // Directives first: they are about the list as it was.
    let mut changes: Vec<&Map> = Vec::with_capacity(patch.len());
    let mut replace = false;
    let mut gone: Vec<Value> = Vec::new();
    for item in patch {
        let Value::Object(map) = item else { continue };
        match directive(map)? {
            None => changes.push(map),
            Some(Directive::Replace) => replace = true,
            Some(Directive::Delete) => {
                let name = map.get(key).ok_or_else(|| no_key(item, key))?;
                gone.push(name.clone());
            }
            Some(Directive::Merge) => return error("merging lists cannot yet be specified in the patch"),
        }
    }
    if !gone.is_empty() {
        let gone = Deletions::of(&gone);
        original.retain(|item| !item.get(key).is_some_and(|name| gone.has(name)));
    }
    if replace {
        return Ok(changes.into_iter().map(|map| Value::Object(map.clone())).collect());
    }
    let mut places: HashMap<Str, u32> = HashMap::with_capacity(original.len());
    for (place, item) in original.iter().enumerate() {
        // Of items with the same key the first is the one that changes.
        places.entry(name_of(item, Some(key))?).or_insert(place as u32);
    }
    for change in changes {
        let item = Value::Object(change.clone());
        let name = name_of(&item, Some(key))?;
        if let Some(&place) = places.get(&name) {
            let place = place as usize;
            if let Value::Object(map) = original[place].take() {
                original[place] = Value::Object(merge_maps(map, change, schema)?);
            }
        } else {
            // Nulls stay here, unlike in what is added to a map.
            places.insert(name, original.len() as u32);
            original.push(item);
        }
    }
    Ok(original)
}

/// Where each name comes first.
fn places(names: &[Str]) -> HashMap<&str, u32> {
    let mut places = HashMap::with_capacity(names.len());
    for (place, name) in names.iter().enumerate() {
        places.entry(name.as_str()).or_insert(place as u32);
    }
    places
}

/// Sorts merged items: the ones in `order` by it, the rest as before.
fn arrange(
    merged: Vec<Value>,
    order: &[Str],
    before: &[Str],
    schema: &StrategicSchema,
) -> Result<Vec<Value>> {
    let (order, before) = (places(order), places(before));
    let mut named = Vec::new();
    let mut others = Vec::new();
    for item in merged {
        let name = name_of(&item, schema.merge_key())?;
        let was = before.get(name.as_str()).copied();
        match order.get(name.as_str()) {
            Some(&place) => named.push((place, was, item)),
            None => others.push((was, item)),
        }
    }
    named.sort_by_key(|(place, ..)| *place);
    others.sort_by_key(|(was, _)| *was);
    let mut all = Vec::with_capacity(named.len() + others.len());
    let mut named = named.into_iter().map(|(_, was, item)| (was, item)).peekable();
    let mut others = others.into_iter().peekable();
    loop {
        let old_first = match (others.peek(), named.peek()) {
            (None, None) => return Ok(all),
            (Some(_), None) => true,
            (Some((Some(old), _)), Some((Some(new), _))) => old <= new,
            _ => false,
        };
        let next = if old_first { others.next() } else { named.next() };
        all.extend(next.map(|(_, item)| item));
    }
}

/// The items of the patch must all be in the order and must stand as they do there.
fn check_order(
    changes: &[Value],
    order: &[Value],
    order_names: &[Str],
    schema: &StrategicSchema,
) -> Result<()> {
    let mut rest = order_names.iter().peekable();
    let mut left = changes.iter().filter(|change| !is_deletion(change)).peekable();
    while let Some(change) = left.peek() {
        // Directives have no place in the order, but one behind its end is already too much.
        let Some(next) = rest.peek() else { break };
        if change.get(PATCH).is_some() {
            left.next();
            continue;
        }
        if **next == name_of(change, schema.merge_key())? {
            left.next();
        }
        rest.next();
    }
    if left.peek().is_none() {
        return Ok(());
    }
    let (changes, order) = (go_v_list(changes), go_v_list(order));
    error(format!("The order in patch list:\n{changes}\n doesn't match $setElementOrder list:\n{order}\n"))
}

fn is_deletion(item: &Value) -> bool {
    item.get(PATCH).and_then(Value::as_str) == Some("delete")
}

/// The identity of the items of a list: the merge key, or the value itself.
fn names<'v>(items: impl IntoIterator<Item = &'v Value>, schema: &StrategicSchema) -> Result<Vec<Str>> {
    let key = schema.merge_key();
    let name = |(i, item): (usize, &Value)| match item {
        Value::Object(_) => name_of(item, key),
        _ if key.is_some() => error(format!("value for key {i} is not a map")),
        _ => name_of(item, key),
    };
    items.into_iter().enumerate().map(name).collect()
}

fn name_of(item: &Value, key: Option<&str>) -> Result<Str> {
    match (item, key) {
        (Value::Object(map), Some(key)) => match map.get(key) {
            Some(name) => Ok(text_of(name)),
            None => Err(no_key(item, key)),
        },
        _ => Ok(text_of(item)),
    }
}

/// The text of a value. Short ones take no memory of their own: there may be many.
fn text_of(value: &Value) -> Str {
    Str::from(to_string(value))
}

fn no_key(item: &Value, key: &str) -> crate::StrategicError {
    crate::StrategicError(format!("map: {} does not contain declared merge key: {key}", go_v_short(item)))
}

fn as_list(value: &Value) -> Result<&[Value]> {
    match value {
        Value::Array(items) => Ok(items),
        other => error(format!("expected a []interface {{}}, but received a {}", go_type(other))),
    }
}

fn unique(items: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut seen = std::collections::HashSet::new();
    items.filter(|item| seen.insert(text_of(item))).collect()
}
