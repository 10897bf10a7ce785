//! What becomes of a live value when a configuration is applied to it.
//!
//! Where both say something the configuration wins, at the level of ownership: granular maps and
//! lists whose items are told apart are merged, everything else is replaced. Items that both lists
//! have come in the order of the configuration; items that only the live list has keep their place
//! between their neighbours.

use std::collections::{HashMap, HashSet};

use pleach_json::{Array, Map, Value, grow_stack};

use crate::compare::{items_of, members_of, pairs};
use crate::element::PathElement;
use crate::items::step;
use crate::shape::{ListShape, MapShape, Relation, Shape, Type};

/// Merges a configuration into a live value.
pub fn merge(live: &Value, config: &Value, of: Type<'_>) -> Value {
    visit(Some(live), Some(config), of).unwrap_or_default()
}

fn visit(live: Option<&Value>, config: Option<&Value>, of: Type<'_>) -> Option<Value> {
    let shape = match (live, config) {
        (None, None) => return None,
        // When the two are of different shapes the configuration's counts.
        (_, Some(config)) => of.shape(Some(config)),
        (Some(live), None) => of.shape(Some(live)),
    };
    let leaf = || config.or(live).cloned();
    match shape {
        Shape::Scalar(_) => leaf(),
        Shape::List(list) => {
            let (was, is) = (items_of(live), items_of(config));
            let nothing = was.is_none_or(|l| l.is_empty()) && is.is_none_or(|l| l.is_empty());
            if matches!(list.relation, Relation::Atomic) || nothing {
                return leaf();
            }
            grow_stack(|| merge_items(&list, was, is))
        }
        Shape::Map(map) => {
            let (was, is) = (members_of(live), members_of(config));
            let nothing = was.is_none_or(Map::is_empty) && is.is_none_or(Map::is_empty);
            if map.is_atomic || nothing {
                return leaf();
            }
            // What the configuration says nothing about stays as it is.
            if config.is_none() {
                return leaf();
            }
            grow_stack(|| merge_members(&map, was, is))
        }
    }
}

fn merge_members(map: &MapShape<'_>, live: Option<&Map>, config: Option<&Map>) -> Option<Value> {
    let others = map.others();
    let mut out = Vec::with_capacity(live.map_or(0, Map::len).max(config.map_or(0, Map::len)));
    pairs(live, config, |key, live, config| {
        let merged = match map.field(key).or(others) {
            Some(of) if config.is_some() => visit(live, config, of),
            _ => config.or(live).cloned(),
        };
        if let Some(merged) = merged {
            out.push((key.clone(), merged));
        }
    });
    (!out.is_empty()).then(|| Map::from(out).into())
}

type Found<'v> = HashMap<PathElement, Option<&'v Value>, foldhash::fast::FixedState>;

/// The steps to all items, and the items that are there once.
fn index<'v>(list: &ListShape<'_>, items: Option<&'v Array>) -> (Vec<(PathElement, &'v Value)>, Found<'v>) {
    let (mut steps, mut found) = (Vec::new(), Found::default());
    for item in items.into_iter().flatten() {
        let Ok(element) = step(list, item) else { continue };
        found.entry(element.clone()).and_modify(|item| *item = None).or_insert(Some(item));
        steps.push((element, item));
    }
    (steps, found)
}

fn merge_items(list: &ListShape<'_>, live: Option<&Array>, config: Option<&Array>) -> Option<Value> {
    let (live_steps, live_found) = index(list, live);
    let (config_steps, config_found) = index(list, config);
    let mut shared = config_steps.iter().map(|(e, _)| e).filter(|e| live_found.contains_key(*e));
    let mut next_shared = shared.next();
    let mut merged: HashSet<&PathElement, foldhash::fast::FixedState> = HashSet::default();
    let mut out: Vec<Value> = Vec::with_capacity(live_steps.len().max(config_steps.len()));
    let (mut l, mut c) = (0, 0);
    // An item that the live list has twice is not merged with but replaced.
    let both = |element: &PathElement, item: &Value| match live_found.get(element) {
        Some(Some(old)) => visit(Some(old), Some(item), list.items),
        Some(None) => visit(Some(&Value::Null), Some(item), list.items),
        None => visit(None, Some(item), list.items),
    };
    while l < live_steps.len() || c < config_steps.len() {
        if let (Some((element, _)), Some((wanted, item))) = (live_steps.get(l), config_steps.get(c)) {
            if element == wanted {
                merged.insert(wanted);
                out.extend(both(wanted, item));
                (l, c) = (l + 1, c + 1);
                next_shared = shared.next();
                continue;
            }
            if config_found.contains_key(element) && next_shared.is_some_and(|next| next != element) {
                // Shared, but its turn is later.
                l += 1;
                continue;
            }
        }
        if let Some((element, item)) = live_steps.get(l) {
            if !config_found.contains_key(element) {
                out.extend(visit(Some(item), None, list.items));
                l += 1;
                continue;
            }
            if merged.contains(element) {
                l += 1;
            }
        }
        if let Some((element, item)) = config_steps.get(c) {
            merged.insert(element);
            out.extend(both(element, item));
            c += 1;
            if next_shared == Some(element) {
                next_shared = shared.next();
            }
        }
    }
    (!out.is_empty()).then(|| out.into())
}
