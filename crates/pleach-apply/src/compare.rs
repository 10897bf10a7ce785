//! What differs between two values of one type.
//!
//! Everything that comes or goes is told, containers included; what changes is told where it is owned.

use std::collections::HashMap;

use pleach_json::{Array, Map, Str, Value, grow_stack};

use crate::element::PathElement;
use crate::items::step;
use crate::same::same;
use crate::set::Set;
use crate::shape::{ListShape, MapShape, Relation, Shape, Type};

/// What differs between two values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// What only the second has.
    pub added: Set,
    /// What both have, with other values.
    pub modified: Set,
    /// What only the first has.
    pub removed: Set,
}

impl Comparison {
    /// Whether nothing differs.
    pub fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    /// Without these fields and all below them.
    #[must_use]
    pub fn without(&self, fields: &Set) -> Self {
        Self {
            added: self.added.recursive_difference(fields),
            modified: self.modified.recursive_difference(fields),
            removed: self.removed.recursive_difference(fields),
        }
    }

    fn push(&mut self, element: &PathElement, marks: Marks, below: Self) {
        let put = |set: &mut Set, mark: bool, below: Set| {
            if mark || !below.is_empty() {
                set.push(element.clone(), mark, below);
            }
        };
        put(&mut self.added, marks.added, below.added);
        put(&mut self.modified, marks.modified, below.modified);
        put(&mut self.removed, marks.removed, below.removed);
    }

    fn union(&mut self, other: &Self) {
        self.added = self.added.union(&other.added);
        self.modified = self.modified.union(&other.modified);
        self.removed = self.removed.union(&other.removed);
    }
}

/// What is to be said about a value itself.
#[derive(Clone, Copy, Default)]
struct Marks {
    added: bool,
    modified: bool,
    removed: bool,
}

impl Marks {
    fn any(self) -> bool {
        self.added || self.modified || self.removed
    }
}

/// Compares two values.
pub fn compare(old: &Value, new: &Value, of: Type<'_>) -> Comparison {
    visit(Some(old), Some(new), of).1
}

fn visit(old: Option<&Value>, new: Option<&Value>, of: Type<'_>) -> (Marks, Comparison) {
    let (mut marks, mut below) = match (old, new) {
        (None, None) => return Default::default(),
        (Some(old_value), None) => inside(old, new, of.shape(Some(old_value))),
        (None, Some(new_value)) => inside(old, new, of.shape(Some(new_value))),
        (Some(old_value), Some(new_value)) => {
            let (was, is) = (of.shape(Some(old_value)), of.shape(Some(new_value)));
            if was.is_like(&is) {
                inside(old, new, is)
            } else {
                let (marks, mut below) = inside(old, new, was);
                let (more, rest) = inside(old, new, is);
                below.union(&rest);
                let marks = Marks {
                    added: marks.added || more.added,
                    modified: marks.modified || more.modified,
                    removed: marks.removed || more.removed,
                };
                (marks, below)
            }
        }
    };
    marks.added |= old.is_none();
    marks.removed |= new.is_none();
    if marks.any() || !below.is_same() { (marks, std::mem::take(&mut below)) } else { Default::default() }
}

fn inside(old: Option<&Value>, new: Option<&Value>, shape: Shape<'_>) -> (Marks, Comparison) {
    match shape {
        Shape::Scalar(_) => leaf(old, new),
        Shape::List(list) => {
            let (was, is) = (items_of(old), items_of(new));
            let nothing = was.is_none_or(|l| l.is_empty()) && is.is_none_or(|l| l.is_empty());
            if matches!(list.relation, Relation::Atomic) || nothing {
                return leaf(old, new);
            }
            // Lists are long and mostly as they were.
            if was == is {
                return Default::default();
            }
            (Marks::default(), grow_stack(|| compare_items(&list, was, is)))
        }
        Shape::Map(map) => {
            let (was, is) = (members_of(old), members_of(new));
            let nothing = was.is_none_or(Map::is_empty) && is.is_none_or(Map::is_empty);
            if map.is_atomic || nothing {
                return leaf(old, new);
            }
            (Marks::default(), grow_stack(|| compare_members(&map, was, is)))
        }
    }
}

fn leaf(old: Option<&Value>, new: Option<&Value>) -> (Marks, Comparison) {
    let modified = matches!((old, new), (Some(old), Some(new)) if !same(old, new));
    (Marks { modified, ..Marks::default() }, Comparison::default())
}

pub(crate) fn items_of(value: Option<&Value>) -> Option<&Array> {
    value.and_then(Value::as_array)
}

pub(crate) fn members_of(value: Option<&Value>) -> Option<&Map> {
    value.and_then(Value::as_object)
}

/// The members of two objects side by side, in key order.
pub(crate) fn pairs<'v>(
    old: Option<&'v Map>,
    new: Option<&'v Map>,
    mut each: impl FnMut(&'v Str, Option<&'v Value>, Option<&'v Value>),
) {
    let (mut old, mut new) = (old.map_or(&[][..], Map::entries), new.map_or(&[][..], Map::entries));
    while !old.is_empty() || !new.is_empty() {
        let order = match (old.first(), new.first()) {
            (Some((a, _)), Some((b, _))) => a.as_str().cmp(b.as_str()),
            (Some(_), None) => std::cmp::Ordering::Less,
            _ => std::cmp::Ordering::Greater,
        };
        let (a, b) = (old.first().filter(|_| order.is_le()), new.first().filter(|_| order.is_ge()));
        if let Some((key, _)) = a.or(b) {
            each(key, a.map(|(_, value)| value), b.map(|(_, value)| value));
        }
        old = &old[usize::from(a.is_some())..];
        new = &new[usize::from(b.is_some())..];
    }
}

fn compare_members(map: &MapShape<'_>, old: Option<&Map>, new: Option<&Map>) -> Comparison {
    let others = map.others();
    let mut out = Comparison::default();
    pairs(old, new, |key, old, new| {
        // Most members are as they were: scalars need no type to be told equal.
        if let (Some(Value::String(a)), Some(Value::String(b))) = (old, new)
            && a == b
        {
            return;
        }
        let (marks, below) = match map.field(key).or(others) {
            Some(of) => visit(old, new, of),
            None => leaf(old, new),
        };
        if marks.any() || !below.is_same() {
            out.push(&PathElement::Field(key.clone()), marks, below);
        }
    });
    out
}

type Places<'v> = HashMap<PathElement, Vec<&'v Value>, foldhash::fast::FixedState>;

fn places<'v>(list: &ListShape<'_>, items: Option<&'v Array>, order: &mut Vec<PathElement>) -> Places<'v> {
    let mut out = Places::default();
    for item in items.into_iter().flatten() {
        let Ok(element) = step(list, item) else { continue };
        let found = out.entry(element.clone()).or_default();
        if found.is_empty() {
            order.push(element);
        }
        found.push(item);
    }
    out
}

fn compare_items(list: &ListShape<'_>, old: Option<&Array>, new: Option<&Array>) -> Comparison {
    let mut order = Vec::new();
    let was = places(list, old, &mut order);
    let is = places(list, new, &mut order);
    order.sort();
    order.dedup();
    let mut out = Comparison::default();
    for element in &order {
        let found = |places: &Places<'_>| places.get(element).map_or(0, Vec::len);
        // What is there twice is compared as one.
        let (marks, below) = match (found(&was), found(&is)) {
            (0 | 1, 0 | 1) => visit(first(&was, element), first(&is, element), list.items),
            (2.., 2..) => {
                let (a, b) = (&was[element], &is[element]);
                let equal = a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b));
                (Marks { modified: !equal, ..Marks::default() }, Comparison::default())
            }
            (2.., _) => {
                let (marks, below) = visit(None, first(&is, element), list.items);
                (Marks { removed: true, ..marks }, below)
            }
            (_, _) => {
                let (marks, below) = visit(first(&was, element), None, list.items);
                (Marks { added: true, ..marks }, below)
            }
        };
        if marks.any() || !below.is_same() {
            out.push(element, marks, below);
        }
    }
    out
}

fn first<'v>(places: &Places<'v>, element: &PathElement) -> Option<&'v Value> {
    places.get(element).and_then(|items| items.first().copied())
}
