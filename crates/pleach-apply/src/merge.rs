//! What becomes of a live value when a configuration is applied to it.
//!
//! Where both say something the configuration wins, at the level of ownership: granular maps and
//! lists whose items are told apart are merged, everything else is replaced. Items that both lists
//! have come in the order of the configuration; items that only the live list has keep their place
//! between their neighbours.

use pleach_json::{Map, Str, Value, grow_stack};

use crate::compare::{is_equal, items_of, members_of, pairs};
use crate::items::{Item, together};
use crate::shape::{ListShape, MapShape, Relation, Shape, Type};

/// Merges a configuration into a live value. Nothing is wrong with the configuration, so that where it
/// says what is there already nothing is to be done.
pub fn merge(live: &Value, config: &Value, of: Type<'_>) -> Value {
    visit(Some(live), Some(config), of, 0).unwrap_or_default()
}

fn visit(live: Option<&Value>, config: Option<&Value>, of: Type<'_>, depth: usize) -> Option<Value> {
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
            if matches!(list.relation, Relation::Atomic) || (was.is_empty() && is.is_empty()) {
                return leaf();
            }
            grow_stack(|| merge_items(&list, was, is, depth + 1))
        }
        Shape::Map(map) => {
            let (was, is) = (members_of(live), members_of(config));
            if map.is_atomic || (was.is_empty() && is.is_empty()) {
                return leaf();
            }
            // What the configuration says nothing about stays as it is.
            if config.is_none() {
                return leaf();
            }
            grow_stack(|| merge_members(&map, was, is, depth + 1))
        }
    }
}

fn merge_members(
    map: &MapShape<'_>,
    live: &[(Str, Value)],
    config: &[(Str, Value)],
    depth: usize,
) -> Option<Value> {
    let (mut fields, others) = (map.fields(), map.others());
    let mut out = Vec::with_capacity(live.len().max(config.len()));
    pairs(live, config, |key, live, config| {
        let merged = match config {
            Some(_) if !is_equal(live, config, depth) => match fields.next(key).or(others) {
                Some(of) => visit(live, config, of, depth),
                None => config.cloned(),
            },
            _ => config.or(live).cloned(),
        };
        if let Some(merged) = merged {
            out.push((key.clone(), merged));
        }
    });
    (!out.is_empty()).then(|| Map::from(out).into())
}

/// What is known of the items that are not told apart.
#[derive(Clone, Copy)]
struct Group<'v> {
    live: Option<&'v Value>,
    /// Whether the live list has several.
    several: bool,
    in_config: bool,
    merged: bool,
}

/// The groups of two lists, and of which the items of each are, in their order.
struct Groups<'v> {
    all: Vec<Group<'v>>,
    live: Vec<(usize, &'v Value)>,
    config: Vec<(usize, &'v Value)>,
}

impl<'v> Groups<'v> {
    fn of(list: &ListShape<'v>, live: &'v [Value], config: &'v [Value]) -> Self {
        let mut all = Vec::with_capacity(live.len().max(config.len()));
        let mut places = [vec![None; live.len()], vec![None; config.len()]];
        for items in together(list, live, config).chunk_by(Item::is_like) {
            let of_live = items.partition_point(|item| !item.second);
            for item in items {
                places[usize::from(item.second)][item.place] = Some((all.len(), item.value));
            }
            all.push(Group {
                live: (of_live > 0).then(|| items[0].value),
                several: of_live > 1,
                in_config: of_live < items.len(),
                merged: false,
            });
        }
        let [live, config] = places.map(|places| places.into_iter().flatten().collect());
        Self { all, live, config }
    }
}

fn merge_items(list: &ListShape<'_>, live: &[Value], config: &[Value], depth: usize) -> Option<Value> {
    let Groups { mut all, live, config } = Groups::of(list, live, config);
    let mut out: Vec<Value> = Vec::with_capacity(live.len().max(config.len()));
    let (mut l, mut c) = (0, 0);
    let is_shared: Vec<bool> = all.iter().map(|group| group.live.is_some()).collect();
    let mut shared = config.iter().map(|(group, _)| *group).filter(|group| is_shared[*group]);
    let mut next_shared = shared.next();
    // An item that the live list has twice is not merged with but replaced.
    let both = |group: &mut Group<'_>, item: &Value| {
        group.merged = true;
        let live = if group.several { Some(&Value::Null) } else { group.live };
        if is_equal(live, Some(item), depth) {
            return Some(item.clone());
        }
        visit(live, Some(item), list.items, depth)
    };
    while l < live.len() || c < config.len() {
        if let (Some(&(found, _)), Some(&(wanted, item))) = (live.get(l), config.get(c)) {
            if found == wanted {
                out.extend(both(&mut all[wanted], item));
                (l, c) = (l + 1, c + 1);
                next_shared = shared.next();
                continue;
            }
            if all[found].in_config && next_shared.is_some_and(|next| next != found) {
                // Shared, but its turn is later.
                l += 1;
                continue;
            }
        }
        if let Some(&(found, item)) = live.get(l) {
            if !all[found].in_config {
                out.extend(visit(Some(item), None, list.items, depth));
                l += 1;
                continue;
            }
            if all[found].merged {
                l += 1;
            }
        }
        if let Some(&(wanted, item)) = config.get(c) {
            out.extend(both(&mut all[wanted], item));
            c += 1;
            if next_shared == Some(wanted) {
                next_shared = shared.next();
            }
        }
    }
    (!out.is_empty()).then(|| out.into())
}
