//! Keys of list items.
//!
//! A [`Key`] borrows the fields or value that identify an item; a path element or its text is made from it where
//! one is needed. [`grouped_by_key`] groups the items of two lists that have the same key, in time
//! that is no worse for keys that were chosen to collide.

use std::cmp::Ordering;
use std::hash::{BuildHasher, Hasher};

use pleach_json::{Map, Str, Value};
use pleach_work::charge;
use smallvec::SmallVec;

use crate::element::PathElement;
use crate::fields_v1::{is_all_plain, item_key, text_key, value_key};
use crate::same::{hash, order};
use crate::shape::{ListShape, Relation};

/// The key of an item in its list.
#[derive(Clone, Debug)]
pub(crate) enum Key<'v> {
    /// Its value.
    Value(&'v Value),
    /// The values of these fields, sorted by name.
    Fields(SmallVec<[(&'v Str, &'v Value); 2]>),
}

impl Key<'_> {
    /// The step from the list to the item.
    pub(crate) fn element(&self) -> PathElement {
        match self {
            Self::Value(value) => PathElement::Value((*value).clone()),
            Self::Fields(fields) => PathElement::Key(
                fields.iter().map(|(name, value)| ((*name).clone(), (*value).clone())).collect(),
            ),
        }
    }

    /// The step as `fieldsV1` has it.
    pub(crate) fn text(&self) -> Str {
        match self {
            Self::Value(value) => value_key(value),
            Self::Fields(fields) if let [(name, Value::String(text))] = fields.as_slice() => {
                text_key(name, text)
            }
            Self::Fields(fields) => item_key(fields.iter().map(|(name, value)| (name.as_str(), *value))),
        }
    }

    /// Whether this is the step as `fieldsV1` has it.
    pub(crate) fn is_written(&self, step: &str) -> bool {
        let (plain, is) = match self {
            Self::Value(Value::String(text)) => {
                let written = step.strip_prefix("v:\"").and_then(|rest| rest.strip_suffix('"'));
                (is_all_plain(text), written == Some(text))
            }
            Self::Fields(fields) if let [(name, Value::String(text))] = fields.as_slice() => {
                let written = step.strip_prefix("k:{\"").and_then(|rest| rest.strip_prefix(name.as_str()));
                let written = written.and_then(|rest| rest.strip_prefix("\":\"")?.strip_suffix("\"}"));
                (is_all_plain(name) && is_all_plain(text), written == Some(text))
            }
            _ => (false, false),
        };
        if plain { is } else { self.text() == step }
    }

    /// The order of path elements. Both are keys of one list.
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Value(a), Self::Value(b)) => order(a, b),
            (Self::Fields(a), Self::Fields(b)) => {
                let mut orders = a
                    .iter()
                    .zip(b)
                    .map(|((ka, va), (kb, vb))| ka.as_str().cmp(kb.as_str()).then_with(|| order(va, vb)));
                orders.find(|order| order.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
            }
            (Self::Value(_), Self::Fields(_)) => Ordering::Greater,
            (Self::Fields(_), Self::Value(_)) => Ordering::Less,
        }
    }

    fn hash(&self) -> u64 {
        let mut state = foldhash::fast::FixedState::default().build_hasher();
        match self {
            Self::Value(value) => hash(value, &mut state),
            // Names differ only where a field is left out.
            Self::Fields(fields) => fields.iter().for_each(|(_, value)| hash(value, &mut state)),
        }
        state.finish()
    }
}

/// The key of an item. Atomic lists have no keys.
pub(crate) fn key<'v>(list: &ListShape<'v>, item: &'v Value) -> Result<Key<'v>, String> {
    match list.relation {
        Relation::Atomic => Err("invalid indexing of non-associative list".to_owned()),
        Relation::Set => match item {
            Value::Object(_) => {
                Err("associative list without keys has an element that's a map type".to_owned())
            }
            Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
            Value::Null => {
                Err("associative list without keys has an element that's an explicit null".to_owned())
            }
            scalar => Ok(Key::Value(scalar)),
        },
        Relation::Keys(keys) => keyed(list, keys, item),
    }
}

/// The step from a list to one of its items.
pub(crate) fn step(list: &ListShape<'_>, item: &Value) -> Result<PathElement, String> {
    key(list, item).map(|key| key.element())
}

/// Whether the item has a [`key`].
pub(crate) fn has_key(list: &ListShape<'_>, item: &Value) -> bool {
    match (list.relation, item) {
        (Relation::Set, item) => !matches!(item, Value::Object(_) | Value::Array(_) | Value::Null),
        (Relation::Keys(keys), Value::Object(members)) => {
            charge(keys.len() as u64);
            keys.iter().any(|key| member(members, key).is_some())
                || keys.iter().any(|key| list.items.as_map().is_some_and(|map| map.default_of(key).is_some()))
        }
        (Relation::Atomic | Relation::Keys(_), _) => false,
    }
}

/// Whether no item is there twice.
pub(crate) fn is_each_once(list: &ListShape<'_>, items: &[Value]) -> bool {
    items.len() < 2 || grouped_by_key(list, items, &[]).windows(2).all(|pair| !pair[0].has_same_key(&pair[1]))
}

/// Whether two lists have items with the same keys in the same order.
pub(crate) fn have_same_keys(list: &ListShape<'_>, first: &[Value], second: &[Value]) -> bool {
    first.len() == second.len()
        && first.iter().zip(second).all(|(a, b)| match (key(list, a), key(list, b)) {
            (Ok(a), Ok(b)) => a.cmp(&b).is_eq(),
            _ => false,
        })
}

/// A member. Items are small, and inequality is a faster test than order.
fn member<'v>(members: &'v Map, key: &Str) -> Option<&'v Value> {
    const SMALL: usize = 16;
    if members.len() > SMALL {
        return members.get(key);
    }
    members.entries().iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

fn keyed<'v>(list: &ListShape<'v>, keys: &'v [Str], item: &'v Value) -> Result<Key<'v>, String> {
    charge(keys.len() as u64);
    let members = match item {
        Value::Object(members) => members,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let mut fields: SmallVec<[(&Str, &Value); 2]> = SmallVec::new();
    for key in keys {
        if let Some(value) = member(members, key).or_else(|| list.items.as_map()?.default_of(key)) {
            fields.push((key, value));
        }
    }
    if fields.is_empty() {
        let keys: Vec<_> = keys.iter().map(|key| pleach_go::strconv::quote(key)).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
            keys.join(" ")
        ));
    }
    if fields.len() > 1 {
        fields.sort_by(|a, b| a.0.as_str().cmp(b.0.as_str()));
    }
    Ok(Key::Fields(fields))
}

/// An item of one of two lists.
#[derive(Debug)]
pub(crate) struct Item<'v> {
    hash: u64,
    pub(crate) key: Key<'v>,
    /// Whether it is of the second list.
    pub(crate) second: bool,
    pub(crate) place: usize,
    pub(crate) value: &'v Value,
}

impl Item<'_> {
    /// Whether two items have the same key.
    pub(crate) fn has_same_key(&self, other: &Self) -> bool {
        self.hash == other.hash && self.key.cmp(&other.key).is_eq()
    }

    fn cmp(&self, other: &Self) -> Ordering {
        let by_place = || (self.second, self.place).cmp(&(other.second, other.place));
        self.hash.cmp(&other.hash).then_with(|| self.key.cmp(&other.key)).then_with(by_place)
    }
}

/// The items of two lists, grouped by key: the first list's, then the second's, in their order. The order of the
/// groups is arbitrary. Items without a key are left out.
pub(crate) fn grouped_by_key<'v>(
    list: &ListShape<'v>,
    first: &'v [Value],
    second: &'v [Value],
) -> Vec<Item<'v>> {
    let per_item = match list.relation {
        Relation::Keys(keys) => keys.len(),
        Relation::Atomic | Relation::Set => 1,
    };
    charge(((first.len() + second.len()) * (32 + 4 * per_item)) as u64);
    let mut items = Vec::with_capacity(first.len() + second.len());
    for (second, values) in [(false, first), (true, second)] {
        items.extend(values.iter().enumerate().filter_map(|(place, value)| {
            let key = key(list, value).ok()?;
            Some(Item { hash: key.hash(), key, second, place, value })
        }));
    }
    items.sort_unstable_by(Item::cmp);
    items
}
